"""`checkify`: messages and results, beside JAX."""

from functools import partial

import jax
import jax.experimental.checkify
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import glassjax
from glassjax import lax
from glassjax.experimental import checkify

LIBRARIES = {"jax": jax, "glassjax": glassjax}
ROW = np.arange(5.0, dtype=np.float32)


def positive(library, x):
    library.experimental.checkify.check(x > 0, "not positive: {x}, {} more", x + 1, x=x)
    return x


def in_scan(library, x):
    def body(carry, y):
        library.experimental.checkify.check(y < 3, "y is {y}", y=y)
        return carry + y, carry

    return library.lax.scan(body, 0.0 * x, x * ROW)


def in_while(library, x):
    def body(state):
        library.experimental.checkify.check(state[0] < 3, "i is {}", state[0])
        return state[0] + 1, state[1] * 2

    return library.lax.while_loop(lambda state: state[0] < 5, body, (0, x))[1]


def in_condition(library, x):
    def condition(i):
        library.experimental.checkify.check(i < 3, "condition {}", i)
        return i < 5

    return x + library.lax.while_loop(condition, lambda i: i + 1, 0)


def in_both(library, x):
    """The condition fails before the body does."""
    check = library.experimental.checkify.check

    def condition(i):
        check(i < 3, "condition {}", i)
        return i < 5

    def body(i):
        check(i < 2, "body {}", i)
        return i + 1

    return x + library.lax.while_loop(condition, body, 0)


def in_branch(library, x):
    return library.lax.cond(
        x > 0, lambda x: positive(library, -x), lambda x: positive(library, x), x
    )


def in_switch(library, x):
    branches = [lambda x: x, lambda x: positive(library, -x), lambda x: positive(library, x)]
    return library.lax.switch(library.numpy.int32(x > 0) + 1, branches, x)


def in_fori(library, x):
    def body(i, total):
        positive(library, total - 1)
        return total - i

    return library.lax.fori_loop(0, 4, body, x)


def in_custom_jvp(library, x):
    @library.custom_jvp
    def f(x):
        return 2 * positive(library, x)

    f.defjvp(lambda primals, tangents: (f(*primals), 3 * tangents[0]))
    return f(x)


def in_custom_vjp(library, x):
    check = library.experimental.checkify.check

    @library.custom_vjp
    def f(x):
        return 2 * positive(library, x)

    def backward(residual, ct):
        check(library.numpy.asarray(residual > 5), "backward {}", residual)
        return (ct * residual,)

    f.defvjp(lambda x: (f(x), x), backward)
    return f(x)


def twice(library, x):
    check = library.experimental.checkify.check
    check(x > -2, "first")
    check(x > 2, "second")
    return library.numpy.log(x)


def index(library, x):
    jnp = library.numpy
    i = jnp.int32(x)
    table = jnp.asarray(ROW)
    return table[i] + jnp.take(table, i + 1) + table.at[i + 2].set(1.0).sum()


def slices(library, x):
    lax, jnp = library.lax, library.numpy
    i = jnp.int32(x)
    part = lax.dynamic_slice(jnp.asarray(ROW), (i,), (2,))
    return lax.dynamic_update_slice(jnp.asarray(ROW), part, (i + 1,))


def windows(library, x):
    table = library.numpy.asarray(ROW.reshape(5, 1))
    return table[library.numpy.int32(x) + np.array([0, 3]), 0]


PROGRAMS = [
    positive, in_scan, in_while, in_condition, in_both, in_branch, in_switch, in_fori,
    in_custom_jvp, in_custom_vjp, twice, index, slices, windows,
    lambda library, x: library.numpy.log(x) / x,
    lambda library, x: library.numpy.sqrt(x) + 1,
    lambda library, x: library.jit(lambda x: positive(library, x) * 2)(x),
    lambda library, x: library.checkpoint(lambda x: library.numpy.sin(positive(library, x)))(x),
    lambda library, x: library.nn.relu(positive(library, x)),
    lambda library, x: library.numpy.int32(x) // library.numpy.int32(x - 1),
    lambda library, x: library.numpy.where(x > 0, library.numpy.log(x), 0.0),
    lambda library, x: library.numpy.linalg.norm(library.numpy.outer(x * ROW, ROW)),
]  # fmt: skip
TRANSFORMED = {
    "jitted": lambda library, f: library.jit(f),
    "differentiated": lambda library, f: (
        lambda x: library.tree.map(lambda leaf: leaf.sum(), library.jvp(f, (x,), (x,)))
    ),
}


def checked(library):
    """All programs as one: by their names, what each returns when it is checked."""
    checkify = library.experimental.checkify
    functions = {}
    for number, program in enumerate(PROGRAMS):
        name, f = f"{program.__name__} {number}", partial(program, library)
        for errors in ("user_checks", "all_checks"):
            functions[f"{name}, {errors}"] = checkify.checkify(f, errors=getattr(checkify, errors))
        if number < 11 and program is not in_custom_vjp:
            for how, transform in TRANSFORMED.items():
                functions[f"{name}, {how}"] = checkify.checkify(transform(library, f))
    return library.jit(lambda x: {name: f(x) for name, f in functions.items()})


def test_the_same_messages_and_results():
    ours, theirs = checked(glassjax), checked(jax)
    for x in np.array([-1.0, 1.0, 4.0], np.float32):
        found, expected = ours(x), theirs(x)
        messages = [{name: r[0].get() for name, r in each.items()} for each in (found, expected)]
        assert messages[0] == messages[1]
        for name in found:
            results = glassjax.tree.leaves(found[name][1]), jax.tree.leaves(expected[name][1])
            for mine, other in zip(*results, strict=True):
                np.testing.assert_allclose(mine, other, rtol=1e-6, err_msg=f"{name} of {x}")


@pytest.mark.parametrize("program", [positive, in_custom_jvp, in_custom_vjp, in_branch])
def test_gradients_inside_and_outside(program):
    """A checked function has the derivative of the function, and checks what the gradient does."""
    found = []
    for library in LIBRARIES.values():
        checkify = library.experimental.checkify.checkify

        def f(x, library=library):
            return sum(leaf.sum() for leaf in library.tree.leaves(program(library, x)))

        def swapped(x, f=f, checkify=checkify):
            error, out = checkify(f)(x)
            return out, error

        inside = library.jit(checkify(library.grad(f)))
        outside = library.jit(library.grad(swapped, has_aux=True))
        for x in np.array([1.5, -1.5], np.float32):
            error, slope = inside(x)
            found.append((error.get(), float(slope)))
            try:
                slope, error = outside(x)
                found.append((float(slope), error.get()))
            except ValueError:  # a check in the derivative, which nobody transforms
                found.append(None)
    theirs, ours = found[:4], found[4:]
    for mine, other in zip(ours, theirs, strict=True):
        assert mine == other or None in (mine, other)
    assert None not in ours[::2] + theirs[::2]


def test_a_gradient_of_a_loop_checks_what_the_loop_does():
    """JAX loses these checks when it cuts the loop in two."""

    def total(x):
        return sum(leaf.sum() for leaf in glassjax.tree.leaves(in_scan(glassjax, x)))

    error, _ = checkify.checkify(glassjax.grad(total))(np.float32(1.5))
    assert error.get() == "y is 3.0 (`check` failed)"


@pytest.mark.parametrize("shape", [(3,), (2, 2)])
def test_mapped_checks_have_an_error_each(shape):
    xs = np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape)
    found = []
    for library in LIBRARIES.values():
        f = library.experimental.checkify.checkify(lambda x, lib=library: positive(lib, x))
        for _ in shape:
            f = library.vmap(f)
        error, out = library.jit(f)(xs)
        found.append((error.get(), np.asarray(out).tolist()))
    assert found[0] == found[1]


def test_of_mapped_checks_inside_the_first_fails():
    error, _ = checkify.checkify(glassjax.vmap(lambda x: positive(glassjax, x)))(
        np.array([1.0, -2.0, -3.0], np.float32)
    )
    assert error.get() == "not positive: -2.0, -1.0 more (`check` failed)"
    error, _ = checkify.checkify(glassjax.vmap(lambda x: positive(glassjax, x)))(ROW + 1)
    assert error.get() is None


@glassjax.jit
@partial(checkify.checkify, errors=checkify.all_checks)
def first_error(xs):
    def step(total, i):
        checkify.check(i >= 0, "{i} is negative, after {total}", i=i, total=total)
        return total + glassjax.numpy.arange(5, dtype="int32")[i], None

    return glassjax.lax.scan(step, np.int32(0), xs)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(-2, 6), min_size=1, max_size=4))
def test_a_scan_returns_the_first_error_of_all(values):
    """A law: checks in a loop are those of the same loop in Python."""
    error, _ = first_error(np.asarray(values, np.int32))
    total, expected = 0, None
    for i in values:
        if i < 0:
            expected = f"{i} is negative, after {total} (`check` failed)"
        elif i > 4:
            expected = (
                f"out-of-bounds indexing for array of shape (5,): index {i} is out of bounds for "
                "axis 0 with size 5. "
            )
        if expected:
            break
        total += i
    assert error.get() == expected


def test_an_index_that_is_clipped_is_inside():
    table = glassjax.numpy.arange(4.0)
    error, _ = checkify.checkify(lambda i: table.at[i].get(mode="clip"), checkify.all_checks)(7)
    assert error.get() is None


def test_what_raises():
    with pytest.raises(checkify.JaxRuntimeError, match=r"no \(`check` failed\)"):
        checkify.check(False, "no")
    checkify.check(True, "no")
    checkify.debug_check(False, "no")
    error, _ = checkify.checkify(lambda x: positive(glassjax, x))(-1.0)
    with pytest.raises(checkify.JaxRuntimeError, match=r"not positive: -1\.0") as raised:
        error.throw()
    assert __file__ in raised.value.__notes__[0]
    with pytest.raises(ValueError, match="Transform the function first"):
        glassjax.jit(lambda x: positive(glassjax, x))(1.0)
    with pytest.raises(ValueError, match="Transform the function first"):
        glassjax.lax.map(lambda x: positive(glassjax, x), ROW)
    assert glassjax.jit(lambda x: checkify.debug_check(x > 9, "no") or x)(1.0) == 1
    for pred in (1.0, np.array([True]), "True", None):
        with pytest.raises(TypeError, match="scalar pred"):
            checkify.check(pred, "no")
    with pytest.raises(TypeError, match="found 'a' of type str"):
        checkify.check(True, "{}", "a")
    with pytest.raises(TypeError, match="a set of categories"):
        checkify.checkify(lambda x: x, errors=[ValueError])
    with pytest.raises(TypeError, match="expected an Error"):
        checkify.check_error(None)


def test_errors_are_handed_on():
    checked = checkify.checkify(lambda x: positive(glassjax, x))
    error, _ = checked(-1.0)
    again, _ = checkify.checkify(lambda e: checkify.check_error(e) or 1.0)(error)
    assert again.get() == error.get() is not None
    assert checkify.checkify(checked)(-1.0)[0].get() is None
    assert isinstance(error.get_exception(), tuple(checkify.user_checks))
    assert checkify.init_error.get() is None
    assert str(error) == f"Error({error.get()})"
    leaves, tree = glassjax.tree.flatten(error)
    assert glassjax.tree.unflatten(tree, leaves).get() == error.get()


def test_a_check_that_cannot_return_its_error_says_so():
    def solve(x):
        return glassjax.lax.custom_linear_solve(
            lambda v: positive(glassjax, v) * 2, x, lambda matvec, b: b / 2, symmetric=True
        )

    with pytest.raises(NotImplementedError, match="cannot be returned"):
        checkify.checkify(solve)(np.float32(1.0))


def test_messages_show_arrays_and_keys():
    texts = []
    for library in LIBRARIES.values():
        check = library.experimental.checkify

        def f(x, keys, check=check):
            check.check(x["a"] > 0, "{x} {keys}", x=x, keys=keys)

        keys = library.random.split(library.random.key(0))
        error, _ = library.jit(check.checkify(f))({"a": np.float32(-1)}, keys)
        texts.append(error.get())
    assert texts[0] == texts[1]


class TestLoopsOfExamples:
    """Each example of `vmap` ends after its own number of iterations, and has its own error."""

    @staticmethod
    def of_body(n):
        def body(i):
            checkify.check(i < 5, "too far")
            return i + 1

        return lax.while_loop(lambda i: i < n, body, 0)

    @staticmethod
    def of_condition(n):
        def condition(i):
            checkify.check(i < 5, "too far")
            return i < n

        return lax.while_loop(condition, lambda i: i + 1, 0)

    @pytest.mark.parametrize("name", ["of_body", "of_condition"])
    @pytest.mark.parametrize("jits", [False, True])
    def test_checks_are_those_of_each_example(self, name, jits):
        function = glassjax.vmap(checkify.checkify(getattr(self, name)))
        function = glassjax.jit(function) if jits else function
        error, out = function(np.array([1, 2, 3]))
        assert error.get() is None
        np.testing.assert_array_equal(out, [1, 2, 3])
        error, _ = function(np.array([1, 7, 3]))
        assert error.get().startswith("at mapped index 1: too far")

    def test_divisions_of_each_example(self):
        def sum_of_inverses(n):
            return lax.while_loop(
                lambda s: s[0] > 0, lambda s: (s[0] - 1, s[1] + 1 / s[0]), (n, 0.0)
            )[1]

        checked = checkify.checkify(sum_of_inverses, errors=checkify.float_checks)
        assert glassjax.vmap(checked)(np.array([1.0, 3.0]))[0].get() is None
        for transform in (glassjax.vmap, lambda f: glassjax.vmap(glassjax.vmap(f), axis_size=1)):
            checked = checkify.checkify(transform(sum_of_inverses), errors=checkify.float_checks)
            with pytest.raises(ValueError, match="those that have ended would be checked, too"):
                checked(np.array([1.0, 3.0]) if transform is glassjax.vmap else np.ones((1, 2)))
        unchecked = checkify.checkify(glassjax.vmap(sum_of_inverses))
        assert unchecked(np.array([1.0, 3.0]))[0].get() is None
