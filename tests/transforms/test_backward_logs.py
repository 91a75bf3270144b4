"""Logs of backward rules, beside JAX."""

import jax
import numpy as np
import pytest
from tables import for_each

import glassjax

X = np.arange(1.0, 4.0)


def square(lib, name="ct"):
    """The square, whose rule logs the cotangent that it gets."""
    return lib.custom_gradient(with_logs=True)(
        lambda x: (x**2, lambda ct: ((2 * x * ct,), {name: ct}))
    )


def cube(lib):
    function = lib.custom_vjp(lambda x: x**3)

    def backward(x, ct):
        return (3 * x**2 * ct,), {"of the cube": {"ct": ct, "x": lib.numpy.sin(x), "no": None}}

    function.defvjp_with_logs(lambda x: (x**3, x), backward)
    return function


def silent(lib):
    return lib.custom_gradient(with_logs=True)(lambda x: (x, lambda ct: ((ct,), None)))


def logged(lib, f, x, ct=1.0):
    return lib.vjp(f, x)[1].with_logs(ct)


def of_a_scan(lib):
    def step(carry, x):
        return square(lib, "sq")(carry) * x, cube(lib)(x)

    def loss(x):
        last, ys = lib.lax.scan(step, x[0], x)
        return last + ys.sum()

    return loss


PROGRAMS = {
    "a rule": lambda lib: logged(lib, square(lib), 3.0),
    "within others": lambda lib: logged(lib, lambda x: lib.numpy.sin(2 * square(lib)(x)), 3.0),
    "two names": lambda lib: logged(lib, lambda x: square(lib)(x) + cube(lib)(x), 3.0),
    "nothing": lambda lib: logged(lib, silent(lib), 3.0),
    "no custom rule": lambda lib: logged(lib, lib.numpy.sin, 3.0),
    "what is not reached": lambda lib: logged(
        lib, lambda x: x + lib.lax.stop_gradient(square(lib)(x)), 3.0
    ),
    "jit inside": lambda lib: logged(lib, lib.jit(square(lib)), 3.0),
    "jit outside": lambda lib: lib.jit(lambda x: logged(lib, cube(lib), x))(3.0),
    "vmap inside": lambda lib: logged(lib, lib.vmap(cube(lib)), X, np.ones(3)),
    "vmap outside": lambda lib: lib.vmap(lambda x: logged(lib, cube(lib), x))(X),
    "scan": lambda lib: logged(lib, of_a_scan(lib), X),
    "jit of scan": lambda lib: lib.jit(lambda x: logged(lib, of_a_scan(lib), x))(X),
    "map": lambda lib: logged(lib, lambda x: lib.lax.map(square(lib), x).sum(), X),
    "fori_loop": lambda lib: logged(
        lib, lambda x: lib.lax.fori_loop(0, 3, lambda i, c: square(lib)(c), x), 1.1
    ),
    "checkpoint": lambda lib: logged(lib, lib.checkpoint(cube(lib)), 3.0),
    "checkpoint in scan": lambda lib: logged(
        lib,
        lambda x: lib.lax.scan(lib.checkpoint(lambda c, x: (square(lib)(c) * x, None)), x[0], x)[0],
        X,
    ),
    "an inner derivative": lambda lib: logged(lib, lib.grad(square(lib)), 3.0),
    "ignored by grad": lambda lib: lib.jit(lib.value_and_grad(of_a_scan(lib)))(X),
    "ignored by vmap of grad": lambda lib: lib.vmap(lib.grad(of_a_scan(lib)))(np.stack([X, 2 * X])),
    "ignored by hessian": lambda lib: lib.hessian(square(lib))(3.0),
    "of a function that was returned": lambda lib: lib.jit(lambda f: f.with_logs(2.0))(
        lib.jit(lambda x: lib.vjp(cube(lib), x)[1])(3.0)
    ),
}


@pytest.fixture(scope="module")
def of_jax():
    return jax.jit(lambda: {name: program(jax) for name, program in PROGRAMS.items()})()


@for_each("name", PROGRAMS)
def test_logs_are_jaxs(name, of_jax):
    ours, theirs = PROGRAMS[name](glassjax), of_jax[name]
    assert glassjax.tree.structure(glassjax.tree.map(np.asarray, ours)) == glassjax.tree.structure(
        jax.tree.map(np.asarray, theirs)
    )
    for x, y in zip(glassjax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12)


def rule(logs):
    return glassjax.custom_gradient(with_logs=True)(lambda x: (x, lambda ct: ((ct,), logs)))


@for_each(
    ("f", "error", "message"),
    [
        (lambda x: square(glassjax)(square(glassjax)(x)), ValueError, "two .* log the name 'ct'"),
        (rule([1.0]), TypeError, r"None or a dict as logs, found \["),
        (rule({"a": "text"}), TypeError, "expected an array or a number, found 'text'"),
        (
            glassjax.custom_gradient(with_logs=True)(lambda x: (x, lambda ct: (ct,))),
            TypeError,
            "must return a pair of the cotangents and a dict of logs",
        ),
        (
            lambda x: glassjax.lax.cond(x > 0, square(glassjax), glassjax.numpy.sin, x),
            NotImplementedError,
            "a backward rule inside of `cond` logs",
        ),
    ],
)
def test_what_is_refused(f, error, message):
    with pytest.raises(error, match=message):
        logged(glassjax, f, 3.0)


def test_a_name_may_be_logged_twice_if_nobody_asks():
    """JAX refuses that, too."""
    f = square(glassjax)
    assert glassjax.grad(lambda x: f(f(x)))(3.0) == 108.0


def test_options_that_are_not_there():
    with pytest.raises(NotImplementedError, match="remat must be False"):
        glassjax.custom_gradient(remat=True)
