"""Indexing and `x.at[...]`: values, dtypes, derivatives and errors, beside numpy and JAX."""

import functools
import itertools

import jax
import jax.numpy
import jax.numpy as jnp
import jax.scipy.fft
import jax.scipy.special
import jax.scipy.stats
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from libraries import assert_all_same_results, assert_close

import glassjax
import glassjax.numpy as gnp

SHAPE = (4, 3, 5)


X = np.arange(60.0).reshape(SHAPE)


def slices(size):
    bound = st.none() | st.integers(-size - 2, size + 2)
    step = st.sampled_from([None, 1, 2, -1, -2, 7])
    return st.builds(slice, bound, bound, step)


@st.composite
def indices(draw):
    """An index of X: a part for each of the first axes, with new axes and an ellipsis."""
    parts = []
    common = draw(st.sampled_from([(2,), (3, 2), ()]))
    for size in SHAPE[: draw(st.integers(0, 3))]:
        kind = draw(st.sampled_from(["int", "slice", "slice", "array", "array", "mask"]))
        rng = np.random.default_rng(draw(st.integers(0, 99)))
        if kind == "int":
            parts.append(draw(st.integers(-size, size - 1)))
        elif kind == "slice":
            parts.append(draw(slices(size)))
        elif kind == "mask" and common:
            parts.append(rng.permutation(np.arange(size) < 2))
        else:
            shape = draw(st.sampled_from([common, common[-1:], ()]))
            parts.append(rng.integers(-size, size, shape))
        if draw(st.integers(0, 5)) == 0:
            parts.append(None)
    if len(parts) and draw(st.booleans()):
        parts.append(Ellipsis)
    return tuple(parts)


# Several for each program, as it is the compilation that takes the time.
six_indices = st.lists(indices(), min_size=6, max_size=6)


@given(drawn=six_indices)
@settings(max_examples=4)
def test_any_index_gives_what_numpy_gives(drawn):
    x = gnp.asarray(X)
    found = glassjax.jit(lambda traced: [(x[index], traced[index]) for index in drawn])(X)
    for index, outs in zip(drawn, found, strict=True):
        for out in outs:
            np.testing.assert_array_equal(out, X[index], strict=True, err_msg=str(index))
    np.testing.assert_array_equal(x[drawn[0]], X[drawn[0]], strict=True)


@given(drawn=six_indices)
@settings(max_examples=2)
def test_under_jit_and_grad_indices_are_jaxs(drawn):
    def f(lib):
        def loss(x):
            return sum((x[index] * np.cos(X)[index]).sum() for index in drawn)

        return lib.jit(lambda x: (lib.value_and_grad(loss)(x), [x[i] for i in drawn]))(X)

    assert_close(f(glassjax), f(jax))


UPDATES = ["set", "add", "subtract", "multiply", "min", "max", "divide", "power"]


NUMPYS = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "divide": np.divide,
    "power": np.power,
}


updates = st.tuples(indices(), st.sampled_from(UPDATES), st.booleans())


@given(drawn=st.lists(updates, min_size=6, max_size=6))
@settings(max_examples=4)
def test_any_update_is_numpys(drawn):
    calls = []
    for index, method, is_scalar in drawn:
        shape = () if is_scalar or method == "set" else X[index].shape
        calls.append((index, method, np.random.default_rng(0).uniform(0.5, 1.5, shape)))
    x = gnp.asarray(X)
    found = glassjax.jit(
        lambda: [getattr(x.at[i], method)(values) for i, method, values in calls]
    )()
    for out, (index, method, values) in zip(found, calls, strict=True):
        expected = X.copy()
        if method == "set":
            expected[index] = values
        else:
            NUMPYS[method].at(expected, index, values)
        np.testing.assert_allclose(out, expected, rtol=1e-12, err_msg=f"{method} {index}")


@pytest.mark.parametrize(
    "index",
    [(slice(None), 1), (np.array([1, 0]), slice(None, None, -2))],
    ids=["slices", "arrays"],
)
def test_updates_have_jaxs_derivatives(index):
    values = np.random.default_rng(0).uniform(0.5, 1.5, X[index].shape)

    def gradients(lib):
        def loss(x, v):
            outs = [getattr(x.at[index], method)(v, unique_indices=True) for method in UPDATES]
            return sum((out * out).sum() for out in outs)

        return lib.jit(lib.grad(loss, (0, 1)))(X + 0.5, values)

    assert_close(gradients(glassjax), gradients(jax))


def test_where_updates_meet_the_derivatives_are_jaxs():
    index, values = np.array([1, 1, 0]), np.array([2.0, 7.0, 1.0])

    def gradients(lib):
        def loss(x, v, method):
            return (getattr(x.at[index], method)(v) ** 2).sum()

        x, methods = np.array([1.0, 7.0, 3.0]), ("set", "add", "min", "max")
        return lib.jit(lambda: [lib.grad(loss, (0, 1))(x, values, method) for method in methods])()

    assert_close(gradients(glassjax), gradients(jax))


def test_out_of_bounds_is_as_in_jax():
    i = np.array([0, 5, -7])
    programs = {}

    def of(x, index, method, *args, **options):
        key = (*(str(each) for each in (x, index, method)), *args, *options.items())
        programs[key] = lambda n, lib: getattr(n.asarray(x).at[index], method)(*args, **options)

    for dtype, mode in itertools.product(
        (np.float32, np.uint8), (None, "fill", "clip", "promise_in_bounds")
    ):
        x = np.arange(3).astype(dtype)
        for index in (i, 4, -9, (np.array([1, 3]),)):
            of(x, index, "get", mode=mode)
            if mode != "promise_in_bounds":
                of(x, index, "set", dtype(1), mode="drop" if mode == "fill" else mode)
        of(x, i, "get", mode="fill", fill_value=1)
        programs[dtype, 5] = lambda n, lib, x=x: n.asarray(x)[5]
        programs[dtype, "i"] = lambda n, lib, x=x: n.asarray(x)[i]
    x = np.arange(3.0)
    of(x, -1, "get", mode="fill", wrap_negative_indices=False)
    of(x, np.array([-1, 1]), "get", mode="fill", wrap_negative_indices=False)
    of(x, -1, "set", 9.0, wrap_negative_indices=False)
    of(x, slice(None), "set", 9.0, wrap_negative_indices=False)  # an index without columns
    assert_all_same_results(programs, 1e-12, 1e-12)


@pytest.mark.parametrize("index", [2**40, -(2**40)])
def test_an_index_of_more_than_32_bits_is_out_of_bounds(index):
    """JAX raises for some, and takes others modulo 2**32."""
    x, near = np.arange(3.0), 9 if index > 0 else -9
    for wrapped in (lambda f: f, glassjax.jit):
        for f in (
            lambda x, i: x[i],
            lambda x, i: x.at[i].get(mode="fill"),
            lambda x, i: x.at[i].set(7.0),
            lambda x, i: x.at[i].add(7.0, mode="clip"),
            lambda x, i: (x + gnp.zeros((2, 1)))[[0, 1], i],
            lambda x, i: (x + gnp.zeros((2, 1))).at[[0, 1], i].mul(7.0),
            lambda x, i: x[i:],
        ):
            found, expected = (
                wrapped(lambda x, f=f, i=i: f(gnp.asarray(x), i))(x) for i in (index, near)
            )
            np.testing.assert_array_equal(found, expected)


def test_a_traced_index_and_a_batch_of_indices_are_jaxs():
    def f(lib):
        def g(x, i, j):
            return (
                x[i],
                x[i, 1:],
                x[:, j],
                x[i, ..., j],
                x[0, i],
                x.at[i].set(0),
                x.at[:, j].add(x[:, :2]),
            )

        i, j = np.array([0, -1, 9]), np.array([[0, 1], [2, 0], [1, 1]])
        square = X[:3, :3, 0]
        jitted = lib.jit(lambda x, i, j: (x[i], x[i, 1:], x[:, j], x.at[i].set(0)))
        return (
            lib.jit(g)(X, 2, np.array([0, 2])),
            jitted(square, -1, j[0]),
            lib.vmap(jitted, (None, 0, 0))(square, i, j),
            lib.vmap(jitted, (0, 0, None))(X[:3, :, :3], i, j[0]),
            lib.grad(lambda x: lib.vmap(jitted, (None, 0, 0))(x, i, j)[1].sum())(square),
        )

    assert_close(glassjax.jit(lambda: f(glassjax))(), jax.jit(lambda: f(jax))())


def test_arrays_are_iterated_and_unpacked(monkeypatch):
    monkeypatch.setattr("glassjax.numpy.indexing.CHUNK", 4)
    rows = [*gnp.asarray(X)]
    p, q = glassjax.jit(lambda x: (list(x)[1], next(y * 2 for y in x)))(X)
    for found, expected in ((rows, [*X]), ([p, q], [X[1], X[0] * 2])):
        np.testing.assert_array_equal(found, expected, strict=True)
    numbers = list(gnp.arange(10))
    assert [x.item() for x in numbers] == list(range(10))
    assert {(x.dtype, x.weak_type) for x in numbers} == {(np.dtype(int), False)}
    with pytest.raises(TypeError, match="scalar"):
        iter(gnp.asarray(3.0))


def test_apply_is_jaxs():
    def f(lib, np_of):
        x = np_of.asarray(X[:, :, 0])
        return (
            x.at[1].apply(np_of.sin),
            x.at[np.array([0, 0, 1])].apply(lambda v: v * 2 + 1),
            x.at[np.array([0, 2])].apply(np_of.cos, unique_indices=True),
            x.at[::2, 1].apply(np_of.exp),
            x.at[9].apply(np_of.exp),
        )

    assert_close(glassjax.jit(lambda: f(glassjax, gnp))(), jax.jit(lambda: f(jax, jnp))())
    with pytest.raises(NotImplementedError, match="unique_indices"):
        glassjax.grad(lambda x: x.at[np.array([0, 0])].apply(gnp.sin).sum())(X[0, 0])


def test_numbers_are_converted_as_in_jax():
    index = np.array([1, 1])
    programs = [
        *(
            lambda n, lib, method=method, value=value: getattr(
                n.ones(3, np.int32).at[index], method
            )(value)
            for value in (1.5, np.float32(2.5))  # 1.5 is no integer, which is warned of
            for method in ("set", "add", "multiply")
        ),
        lambda n, lib: n.ones(3, np.int32).at[index].divide(2),
        lambda n, lib: n.ones(3, np.complex64).at[0].set(1.5),
    ]
    with jax.enable_x64(False), glassjax.enable_x64(False):
        assert_all_same_results(programs)
    with pytest.warns(FutureWarning, match="int32"):
        gnp.ones(3, np.int32).at[0].set(1.5)
    assert_all_same_results(
        [
            lambda n, lib: n.ones(3, bool).at[0].apply(n.invert),
            lambda n, lib: n.full(3, 2.0)[0],
            lambda n, lib: n.asarray(2.0)[None],
        ]
    )


REFUSED = {
    "a list": lambda x: x[[0, 1]],
    "a string": lambda x: x["a"],
    "a float": lambda x: x[1.5],
    "floats": lambda x: x[np.array([1.0])],
    "too many": lambda x: x[0, 0, 0, 0],
    "two ellipses": lambda x: x[..., ...],
    "another mask": lambda x: x[np.zeros(9, bool)],
    "no step": lambda x: x[::0],
    "values of another shape": lambda x: x.at[0].set(np.zeros(7)),
    "shapes that do not broadcast": lambda x: x[np.array([0, 1]), np.array([0, 1, 2])],
    "an unknown mode": lambda x: x.at[0].get(mode="wrap"),
}


def test_what_is_no_index_is_refused_with_jaxs_class_of_error():
    for name, program in REFUSED.items():
        with pytest.raises(Exception) as theirs:  # noqa: PT011
            pytest.fail(f"{name}: JAX gives {program(jnp.asarray(X))}")
        with pytest.raises((TypeError, IndexError, ValueError)) as ours:
            pytest.fail(f"{name}: {program(gnp.asarray(X))}")
        related = isinstance(ours.value, theirs.type) or issubclass(theirs.type, ours.type)
        assert related, (name, ours.value)


def test_what_has_to_be_known_says_the_way_out():
    with pytest.raises(IndexError, match="where"):
        glassjax.jit(lambda x: x[x > 0])(X)
    with pytest.raises(glassjax.errors.ConcretizationTypeError, match="size="):
        glassjax.jit(lambda x: x.at[x > 0].set(1))(X)
    with pytest.raises(IndexError, match="dynamic_slice"):
        glassjax.jit(lambda x, i: x[i:])(X, 1)
    assert_close(  # known although differentiated
        glassjax.grad(lambda x: x[x > 30].sum())(X), jax.grad(lambda x: x[x > 30].sum())(X)
    )


def test_empty_indices_and_arrays():
    programs = [
        lambda n, lib: n.asarray(X)[True],
        lambda n, lib: n.asarray(X)[False, 1],
        lambda n, lib: n.asarray(X).at[True, 1].add(1.0),
    ]
    for index in (np.zeros(0, int), slice(2, 2), (0, slice(0, 0)), np.zeros(4, bool)):
        programs.append(lambda n, lib, index=index: n.asarray(X)[index])
        programs.append(lambda n, lib, index=index: n.asarray(X).at[index].set(1.0))
    assert_all_same_results(programs, 1e-12, 1e-12)
    with pytest.raises(IndexError, match="size 0"):
        gnp.zeros(0)[0]


def test_a_program_for_an_index_is_no_longer_than_jaxs():
    def length(lib, f, *args):
        return len(lib.make_jaxpr(f)(*args).jaxpr.eqns)

    for f in (
        lambda x, i: x[0],
        lambda x, i: x[1:, None, 2],
        lambda x, i: x[i],
        lambda x, i: x[:, i, 1:3],
        lambda x, i: x[np.array([0, 1])],
        lambda x, i: x.at[0].set(1.0),
        lambda x, i: x.at[i].set(1.0),
        lambda x, i: x.at[:, i].add(1.0),
    ):
        assert length(glassjax, f, X, 1) <= length(jax, f, X, 1)


def test_an_array_that_is_changed_everywhere_keeps_its_type():
    """As where something of it is left; and numbers of Python fit numbers that are as weak."""

    def program(n, lib, is_weak):
        x = n.where(True, 1.0, 0.0) if is_weak else n.ones((), np.float32)
        x = n.broadcast_to(x, (2,))
        return [
            x.at[:].set(2.0),
            x.at[...].set(2),
            x.at[:1].set(3.0)[:1].at[0].set(4.0),
            x.at[:].set(np.float32(2)),
            x.at[:].add(1.0),
            x.at[:].multiply(np.float32(2)),
            x.at[:].apply(lambda x: 0 * x + 1.0),
        ]

    with jax.enable_x64(False), glassjax.enable_x64(False):
        assert_all_same_results(
            {weak: functools.partial(program, is_weak=weak) for weak in (True, False)}
        )


@pytest.mark.newest_jax
def test_fill_value_must_be_a_scalar():
    x, i = glassjax.numpy.ones(3), glassjax.numpy.array([0, 7])
    for take in (
        lambda: x.at[i].get(mode="fill", fill_value=(1,)),
        lambda: glassjax.numpy.take(x, i, mode="fill", fill_value=(1, 2)),
    ):
        with pytest.raises(TypeError, match="fill_value must be a scalar"):
            take()


@pytest.mark.newest_jax
def test_an_index_of_an_empty_axis_is_an_index_error(lib):
    at = lib.numpy.zeros((0, 4)).at[0]
    for access in (lambda: at.get(mode="fill"), lambda: at.apply(lib.numpy.square)):
        with pytest.raises(IndexError, match=r"out of bounds for (an )?axis .*size 0"):
            access()


USES = {
    "one axis": lambda ds, x: x[ds],
    "beside an int": lambda ds, x: x[ds, 1],
    "second axis": lambda ds, x: x[:, ds],
    "after an ellipsis": lambda ds, x: x[..., ds],
    "new axis": lambda ds, x: x[None, ds],
    "two": lambda ds, x: x[ds, ds],
    "get": lambda ds, x: x.at[ds].get(),
    "set": lambda ds, x: x.at[ds].set(-1.0),
    "set beside an int": lambda ds, x: x.at[ds, 0].set(-1.0),
    "add": lambda ds, x: x.at[:, ds].add(1.0),
}


M = np.arange(12, dtype=np.float32).reshape(3, 4)


def test_traced_starts_give_what_jax_gives():
    cases = list(itertools.product(USES, (0, 1, 2, 3)))

    def results(library):
        of_start = library.jit(lambda x, i: [USES[use](library.ds(i, n), x) for use, n in cases])
        return [of_start(M, i) for i in (-4, -1, 0, 1, 2, 5)]

    for ours, theirs in zip(results(glassjax), results(jax), strict=True):
        for case, found, expected in zip(cases, ours, theirs, strict=True):
            np.testing.assert_array_equal(found, expected, err_msg=str(case), strict=True)


@pytest.mark.newest_jax
def test_known_starts_give_what_jax_gives():
    assert_all_same_results(
        {
            (use, args): lambda n, lib, use=use, args=args: USES[use](lib.ds(*args), n.asarray(M))
            for use, args in itertools.product(USES, [(None,), (2,), (1, 2), (0, 3, 2)])
        },
        rtol=0,
        atol=0,
    )


def test_gradients_and_references():
    total = glassjax.grad(lambda x, i: gnp.sum(x[glassjax.ds(i, 2)] ** 2))
    np.testing.assert_array_equal(total(gnp.arange(5.0), 1), [0, 2, 4, 0, 0])
    ref = glassjax.new_ref(gnp.arange(5.0))
    ref[glassjax.ds(gnp.int32(1), 2)] = gnp.zeros(2)
    np.testing.assert_array_equal(ref[...], [0, 0, 0, 3, 4])
    assert glassjax.tree.leaves(glassjax.ds(gnp.int32(3), 2)) == [3]


@pytest.mark.parametrize(
    ("args", "error"),
    [((1.5, 2), TypeError), (("a", 2), TypeError), ((0, -1), ValueError), ((0, 2, 0), ValueError)],
)
def test_wrong_slices(args, error):
    with pytest.raises(error, match="ds"):
        glassjax.ds(*args)


@pytest.mark.parametrize("index", [np.s_[::2, 3], np.s_[::-2, 3], np.s_[4:0:-3, ::2]])
def test_only_ascending_indices_are_promised_to_be_sorted(index):
    jaxpr = glassjax.make_jaxpr(lambda x: x.at[index].set(0.0))(gnp.ones((6, 8)))
    (scatter,) = (eqn for eqn in jaxpr.eqns if eqn.primitive.name == "scatter")
    ascends = all(not isinstance(part, slice) or (part.step or 1) > 0 for part in index)
    assert scatter.params["indices_are_sorted"] == ascends
