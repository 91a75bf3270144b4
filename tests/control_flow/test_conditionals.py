"""`cond`, `switch` and `platform_dependent`, also under `vmap`, beside JAX."""

import re

import jax
import numpy as np
import pytest
from libraries import LIBRARIES, assert_same_program
from shares import IS_NIGHT
from tables import for_each

import glassjax
import glassjax.numpy
from glassjax import lax


@pytest.mark.parametrize(("lib", "jnp"), LIBRARIES)
def test_a_branch_that_is_there_twice_is_one_program(lib, jnp):
    calls = []

    def f(x):
        calls.append(None)
        return x * 2

    def chosen(i, x):
        return lib.lax.switch(i, [f, jnp.sin, f, f], x)

    assert [float(lib.jit(chosen)(i, 3.0)) for i in (0, 2, 3)] == [6.0] * 3
    assert len(calls) == 1
    (eqn,) = [e for e in lib.make_jaxpr(chosen)(0, 3.0).eqns if e.primitive.name == "cond"]
    assert len({id(branch) for branch in eqn.params["branches"]}) == 2


ON_CUDA = {"lowering_platforms": ("cuda",)}


# Functions by platform


def of_platforms(lib, x):
    """`x` is doubled on a CPU, tripled on a GPU; what would not be lowered is not there chosen."""
    return lib.lax.platform_dependent(
        x,
        cpu=lambda x: lib.lax.linalg.schur(x)[0] * 0 + 2 * x,
        cuda=lambda x: lib.lax.linalg.cholesky(x) * 0 + 3 * x,
        default=lambda x: x,
    )


@for_each("transformed", ["plain", "grad", "vmap", "scan"])
@for_each("platform", ["cpu", "cuda"])
def test_functions_are_chosen_for_the_platform_that_is_lowered_for(transformed, platform):
    def program(lib, x):
        match transformed:
            case "grad":
                return lib.grad(
                    lambda x: lib.lax.platform_dependent(x, cpu=lib.lax.sin, cuda=lib.lax.cos)
                )(x[0, 0])
            case "vmap":
                return lib.vmap(lambda x: of_platforms(lib, x))(x[None])
            case "scan":
                return lib.lax.scan(lambda c, _: (of_platforms(lib, c), None), x, None, length=2)[0]
            case _:
                return of_platforms(lib, x)

    texts = []
    for lib in (glassjax, jax):
        traced = lib.jit(lambda x, lib=lib: program(lib, x)).trace(np.eye(2, dtype="float32"))
        texts.append(traced.lower(lowering_platforms=(platform,)).as_text())
    names = r"lapack_\w+|cusolver_\w+|stablehlo.(?:sine|cosine)"
    ours, theirs = (set(re.findall(names, text)) for text in texts)
    assert ours == theirs != set()
    assert "stablehlo.case" not in texts[0]


def test_functions_by_platform_on_this_one():
    x = np.eye(2)
    expected = np.asarray(jax.jit(lambda x: of_platforms(jax, x))(x))
    for function in (
        lambda x: of_platforms(glassjax, x),
        glassjax.jit(lambda x: of_platforms(glassjax, x)),
    ):
        np.testing.assert_allclose(function(x), expected)


def test_no_function_for_the_platform_that_is_lowered_for():
    traced = glassjax.jit(lambda x: lax.platform_dependent(x, cpu=lambda x: x + 1)).trace(1.0)
    with pytest.raises(NotImplementedError, match="no function for 'cuda' among 'cpu'"):
        traced.lower(**ON_CUDA)


# Functions of a library, its numpy, and a scalar, whose branches are not finite everywhere.
CHOICES = {
    "log": lambda lib, jnp, x: lib.lax.cond(x > 0, jnp.log, lambda x: x, x),
    "sqrt": lambda lib, jnp, x: lib.lax.cond(x > 0, jnp.sqrt, lambda x: 0 * x, x),
    "quotient": lambda lib, jnp, x: lib.lax.cond(
        x == 0, lambda x: 1.0, lambda x: jnp.sin(x) / x, x
    ),
    "of three": lambda lib, jnp, x: lib.lax.switch(
        (x > 0).astype(int) + (x >= 0), [lambda x: -x, lambda x: 3 * x, jnp.log], x
    ),
    "in a loop": lambda lib, jnp, x: lib.lax.scan(
        lambda c, _: (lib.lax.cond(c > 0, jnp.log, lambda y: 2 * y, c), c), x, None, length=3
    )[0],
    "of what is shared": lambda lib, jnp, x: lib.lax.cond(
        x > 0, lambda: jnp.log(x), lambda: jnp.cos(x)
    ),
}


@pytest.mark.parametrize("name", CHOICES)
def test_derivatives_of_vmapped_choices(name):
    """What a branch that is not taken gives is no number, and must not spoil the others."""

    def everything(lib, jnp):
        def f(x):
            return CHOICES[name](lib, jnp, x)

        def scaled(x, w):
            return CHOICES[name](lib, jnp, x * w)

        xs = jnp.array([-1.0, 0.0, 2.0])
        return [
            lib.vmap(f)(xs),
            lib.grad(lambda xs: jnp.sum(lib.vmap(f)(xs)))(xs),
            lib.grad(lambda w: jnp.sum(lib.vmap(scaled, (0, None))(xs, w)))(3.0),
            lib.vmap(lib.grad(f))(xs),
            lib.jacrev(lib.vmap(f))(xs),
            lib.jvp(lib.vmap(f), (xs,), (xs + 2,)),
            *([lib.vmap(lib.hessian(f))(xs)] if IS_NIGHT else []),
        ]

    assert_same_program(lambda lib: lambda: everything(lib, lib.numpy))
