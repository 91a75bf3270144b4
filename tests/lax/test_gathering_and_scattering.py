"""Gather and scatter by dimension numbers: values, derivatives and errors, beside JAX."""

import functools
import itertools
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from libraries import assert_alike, assert_all_same_results, refused

import glassjax
import glassjax.numpy as gnp

pytestmark = pytest.mark.bits(32)


x = np.arange(12.0, dtype=np.float32).reshape(3, 4) + 1


v = np.arange(6.0, dtype=np.float32)


k = np.arange(24, dtype=np.int32).reshape(2, 3, 4)


MODES = ("clip", "fill", "drop", "promise_in_bounds", None)


def gathered(lib, operand, indices, numbers, sizes, **options):
    """A gather with dimension numbers that either library takes."""
    numbers = lib.lax.GatherDimensionNumbers(*numbers)
    return lib.lax.gather(operand, indices, numbers, sizes, **options)


def scattered(lib, name, operand, indices, updates, numbers, **options):
    numbers = lib.lax.ScatterDimensionNumbers(*numbers)
    return getattr(lib.lax, name)(operand, indices, updates, numbers, **options)


# Cases: the operand, the indices, the numbers, and the sizes of slices.
ROWS = (x, np.array([[0], [2], [5], [-1]]), ((1,), (0,), (0,)), (1, 4))


COLUMNS = (x, np.array([[1], [3]]), ((0,), (1,), (1,)), (3, 1))


BLOCKS = (x, np.array([[[0, 1]], [[1, 2]], [[2, 3]]]), ((1, 2), (), (0, 1)), (2, 2))


POINTS = (x, np.array([[0, 1], [2, 3], [-1, 0], [3, 0]]), ((), (0, 1), (0, 1)), (1, 1))


SWAPPED = (x, np.array([[1, 0], [3, 2], [4, 1]]), ((), (0, 1), (1, 0)), (1, 1))


NOWHERE = (x, np.zeros((2, 0), np.int32), ((1, 2), (), ()), (3, 4))


SCALAR_BATCH = (v, np.array([2]), ((0,), (), (0,)), (3,))


MIDDLE = (k, np.array([[[0], [1]], [[2], [9]]]), ((1, 3), (1,), (1,)), (2, 1, 4))


BATCHED = (k, np.array([[[0, 1]], [[2, 3]]]), ((), (1, 2), (1, 2), (0,), (0,)), (1, 1, 1))


BATCHED_ROWS = (k, np.array([[[0], [2], [7]]] * 2), ((2,), (1,), (1,), (0,), (0,)), (1, 1, 4))


BATCHED_TWICE = (
    k,
    np.array([[[0], [1]], [[2], [3]], [[5], [-2]]]),
    ((), (2,), (2,), (0, 1), (1, 0)),
    (1, 1, 1),
)


NARROW = (v, np.array([[0], [5], [200]], np.uint8), ((), (0,), (0,)), (1,))


SHORT = (v, np.array([[0], [5], [-100]], np.int8), ((), (0,), (0,)), (1,))


LAYOUTS = {
    "rows": ROWS,
    "columns": COLUMNS,
    "blocks": BLOCKS,
    "points": POINTS,
    "swapped": SWAPPED,
    "nowhere": NOWHERE,
    "scalar batch": SCALAR_BATCH,
    "middle": MIDDLE,
    "batched": BATCHED,
    "batched rows": BATCHED_ROWS,
    "batched twice": BATCHED_TWICE,
    "narrow": NARROW,
    "short": SHORT,
}


WITHIN = {"columns", "nowhere", "scalar batch", "batched"}  # where all indices are in bounds


def updates_for(layout):
    operand, indices, numbers, sizes = LAYOUTS[layout]
    shape = jax.eval_shape(lambda: gathered(jax, operand, indices, numbers, sizes)).shape
    count = int(np.prod(shape))
    return (np.arange(count).reshape(shape) % 7 - 2).astype(operand.dtype)


def modes_for(layout):
    return [mode for mode in MODES if mode != "promise_in_bounds" or layout in WITHIN]


def test_gather():
    programs = {}
    for layout, (operand, *others) in LAYOUTS.items():

        def gather(n, lib, operand=operand, others=others, **options):
            return gathered(lib, operand, *others, **options)

        for mode in modes_for(layout):
            programs[layout, mode] = functools.partial(gather, mode=mode)
        programs[layout, "of 7"] = functools.partial(gather, mode="fill", fill_value=7)
        programs[layout, "of bytes"] = functools.partial(gather, operand=operand.astype(np.uint8))
        programs[layout, "of booleans"] = functools.partial(gather, operand=operand > 3)
        programs[layout, "of numbers"] = lambda n, lib, shape=operand.shape, gather=gather: gather(
            n, lib, n.full(shape, 2.0)
        )
    assert_all_same_results(programs)


SCATTERS = ["scatter_add", "scatter_sub", "scatter_mul", "scatter_min", "scatter_max", "scatter"]


def scatters(layout, name, **options):
    """A program of one function, of the indices and updates of a layout."""
    operand, indices, numbers, _ = LAYOUTS[layout]
    updates = updates_for(layout)
    return lambda n, lib: scattered(lib, name, operand, indices, updates, numbers, **options)


def test_scatter():
    assert_all_same_results(
        {
            (layout, mode, name): scatters(layout, name, mode=mode)
            for layout in LAYOUTS
            for mode in modes_for(layout)
            for name in SCATTERS
            if (name, mode) != ("scatter", "clip")  # two updates meet: either may stay
        }
    )


def test_what_is_promised_of_indices_changes_nothing():
    promises = {"indices_are_sorted": True, "unique_indices": True}
    assert_all_same_results(
        [
            lambda n, lib: gathered(lib, *COLUMNS, **promises),
            lambda n, lib: gathered(lib, *BATCHED, mode="clip", **promises),
            *(scatters("columns", name, **promises) for name in SCATTERS),
        ]
    )


def derivatives(layout, mode):
    """A program of values and tangents, cotangents, and of the tangents of cotangents."""
    operand, indices, numbers, sizes = LAYOUTS[layout]
    operand, updates = operand.astype(np.float32), updates_for(layout).astype(np.float32) / 3
    names = ["scatter_add", "scatter_sub"]
    unique = layout != "batched rows" and mode == "fill"  # clipped, two updates meet
    if mode == "fill":
        names += ["scatter_min", "scatter_max"]
    if unique:
        names += ["scatter", "scatter_mul"]

    def program(n, lib):
        def f(operand, updates):
            out = [gathered(lib, operand * operand, indices, numbers, sizes, mode=mode)]
            for name in names:
                options = {"mode": mode, "unique_indices": unique and name == "scatter_mul"}
                out.append(
                    scattered(lib, name, operand * 2, indices, n.sin(updates), numbers, **options)
                )
            return tuple(out)

        primals, tangents = (operand, updates), (updates_like(operand), updates_like(updates))
        out, tangent = lib.jvp(f, primals, tangents)

        def pulled(*primals):
            return lib.vjp(f, *primals)[1](tuple(n.cos(n.nan_to_num(x)) for x in out))

        return lib.tree.leaves([out, tangent, *lib.jvp(pulled, primals, tangents)])

    return program


@pytest.mark.parametrize("mode", ["clip", "fill"])
def test_derivatives(mode):
    layouts = ["rows", "blocks", "swapped", "batched rows", "scalar batch"]
    assert_all_same_results({layout: derivatives(layout, mode) for layout in layouts})


def test_updates_that_are_moved_inside_share_their_derivative_too():
    """JAX counts those alone that are inside; moved by hand, they are what ours are."""
    operand, indices, numbers, _ = ROWS
    updates = np.tile(np.float32([3, 9, 12, 1]), (4, 1))

    def program(n, lib, indices, mode):
        def f(x, u):
            return scattered(lib, "scatter_max", x, indices, u, numbers, mode=mode)

        out, tangent = lib.jvp(f, (operand, updates), (operand, updates_like(updates)))
        return [out, tangent, *lib.vjp(f, operand, updates)[1](out)]

    inside = np.clip(indices, 0, 2)
    ours = glassjax.jit(lambda: program(gnp, glassjax, indices, "clip"))()
    assert_alike(ours, jax.jit(lambda: program(jnp, jax, inside, "drop"))())


def updates_like(x):
    return x * 0.25 + 1


MEETING = {  # shapes of an array and of updates at 0, 1, 1, 3, 0; and the dimension numbers
    "elements": ((4,), (5,), ((), (0,), (0,))),
    "rows": ((4, 2), (5, 2), ((1,), (0,), (0,))),
    "overlapping windows": ((6,), (5, 3), ((1,), (), (0,))),
}


@pytest.mark.parametrize("case", MEETING)
def test_tangents_are_those_of_the_updates_that_stay(case, monkeypatch):
    """Where updates meet, any may stay: this device takes every second scatter in reverse."""
    module = sys.modules["glassjax.lax.scattering"]
    bind1, orders = module.bind1, itertools.cycle((1, -1))

    def in_any_order(primitive, x, *others, **params):
        order = next(orders) if primitive is module.scatter_p else 1
        return bind1(primitive, x, *[each[::order] for each in others], **params)

    shape, of_updates, numbers = MEETING[case]
    indices = gnp.array([[0], [1], [1], [3], [0]])
    x = gnp.arange(float(np.prod(shape))).reshape(shape)
    updates = -gnp.arange(float(np.prod(of_updates))).reshape(of_updates)  # among them is -0.0
    params = {
        "dimension_numbers": glassjax.lax.ScatterDimensionNumbers(*numbers),
        "indices_are_sorted": False,
        "unique_indices": False,
        "mode": glassjax.lax.GatherScatterMode.FILL_OR_DROP,
    }

    def f(x, updates):
        return module.bind1(module.scatter_p, x, indices, updates, **params)

    first = f(x, updates)
    monkeypatch.setattr(module, "winners_vary", lambda: True)
    assert_alike(glassjax.jvp(f, (x, updates), (x, updates)), (first, first))
    monkeypatch.setattr(module, "bind1", in_any_order)
    for _ in range(2):
        out, tangent = glassjax.jvp(f, (x, updates), (x, updates))
        assert_alike(out, tangent)  # which are equal, so that each value tells its own tangent
        out, pull = glassjax.vjp(f, x, updates)
        of_x, of_updates = pull(gnp.ones_like(out))
        # The updates that stay have a cotangent, and the rest of the array.
        assert out.sum() == (of_x * x).sum() + (of_updates * updates).sum()
        assert out.size == of_x.sum() + of_updates.sum()
    assert not np.array_equal(f(x, updates), f(x, updates))


def test_derivatives_that_are_not_there_say_so():
    operand, indices, numbers, _ = ROWS
    updates = updates_for("rows")

    def program(n, lib):
        return lib.jvp(
            lambda u: scattered(lib, "scatter_mul", operand, indices, u, numbers),
            (updates,),
            (updates,),
        )

    slope = refused(
        lambda n, lib: lib.grad(
            lambda x: lib.lax.scatter_apply(
                x,
                indices,
                n.sin,
                lib.lax.ScatterDimensionNumbers(*numbers),
                update_shape=updates.shape,
            ).sum()
        )(operand)
    )
    assert_all_same_results([refused(program), slope])


def batches(layout):
    """A program whose operand, indices and updates are batches: alone, and with others."""
    operand, indices, numbers, sizes = LAYOUTS[layout]
    updates = updates_for(layout)
    operands = np.stack([operand, operand * 2], -1)
    others = np.stack([indices, indices[::-1]], 1)
    several = np.stack([updates, updates - 1])

    def program(n, lib):
        out = []
        for axes in [(-1, None, None), (None, 1, None), (-1, 1, None), (None, 1, 0), (-1, 1, 0)]:
            x_axis, index_axis, update_axis = axes
            xs = operand if x_axis is None else operands
            ii = indices if index_axis is None else others
            us = updates if update_axis is None else several

            def gathers(x, i):
                return gathered(lib, x, i, numbers, sizes, mode="fill", fill_value=-1)

            def scatters(x, i, u):
                return [
                    scattered(lib, name, x, i, u, numbers, mode=mode)
                    for name, mode in [("scatter_add", "clip"), ("scatter_max", "drop")]
                ]

            if axes[:2] != (None, None):
                out.append(lib.vmap(gathers, axes[:2])(xs, ii))
            out += lib.vmap(scatters, axes)(xs, ii, us)
        return out

    return program


def test_a_batch_is_a_loop():
    layouts = ["rows", "points", "swapped", "batched rows", "nowhere"]
    assert_all_same_results({layout: batches(layout) for layout in layouts})


def applied(lib, func, layout=ROWS, shape=(4, 4), **options):
    operand, indices, numbers, _ = layout
    numbers = lib.lax.ScatterDimensionNumbers(*numbers)
    return lib.lax.scatter_apply(operand, indices, func, numbers, update_shape=shape, **options)


APPLIED = [
    lambda n, lib: applied(lib, n.sin),
    lambda n, lib: applied(lib, lambda y: y * 2, mode="clip"),
    lambda n, lib: applied(lib, lambda y: -y, POINTS, (4,), mode="drop", unique_indices=True),
    lambda n, lib: applied(lib, lambda y: y + 0.5, SHORT, (3,)),
    lambda n, lib: lib.jit(lambda: applied(lib, lambda y: y + 1, MIDDLE, (2, 2, 2, 4)))(),
    lambda n, lib: applied(lib, n.sin, shape=(4, 3)),
]


def test_functions_are_applied_where_indices_point():
    assert_all_same_results(APPLIED)


# What fits nothing: operand, indices, numbers, and sizes or updates.
def gathered_wrongly(operand=x, indices=ROWS[1], numbers=ROWS[2], sizes=(1, 4), **options):
    return refused(lambda n, lib: gathered(lib, operand, indices, numbers, sizes, **options))


def scattered_wrongly(operand=x, indices=ROWS[1], updates=x[[0] * 4], numbers=ROWS[2], **options):
    return refused(
        lambda n, lib: [
            scattered(lib, "scatter_add", operand, indices, updates, numbers, **options)
        ]
    )


WRONG = {
    "float indices": gathered_wrongly(indices=np.zeros((4, 1), np.float32)),
    "boolean indices": gathered_wrongly(indices=np.zeros((4, 1), bool)),
    "scalar indices": gathered_wrongly(indices=np.int32(1)),
    "another number of indices": gathered_wrongly(indices=np.zeros((4, 2), int)),
    "sizes for other axes": gathered_wrongly(sizes=(1,)),
    "sizes too large": gathered_wrongly(sizes=(1, 5)),
    "sizes below 0": gathered_wrongly(sizes=(1, -1)),
    "a collapsed axis with a size": gathered_wrongly(sizes=(2, 4)),
    "collapsed twice": gathered_wrongly(numbers=((1,), (0, 0), (0,))),
    "a collapsed axis that is not there": gathered_wrongly(numbers=((1,), (2,), (0,))),
    "collapsed out of order": gathered_wrongly(numbers=((), (1, 0), (0,)), sizes=(1, 1)),
    "offset out of order": gathered_wrongly(x, ROWS[1], ((1, 0), (), (0,))),
    "an offset that is not there": gathered_wrongly(numbers=((2,), (0,), (0,))),
    "offsets missing": gathered_wrongly(numbers=((), (0,), (0,))),
    "an index for no axis": gathered_wrongly(numbers=((1,), (0,), (2,))),
    "two indices for one axis": gathered_wrongly(
        indices=np.zeros((4, 2), int), numbers=((1,), (0,), (0, 0))
    ),
    "a batch also collapsed": gathered_wrongly(k, MIDDLE[1], ((), (0, 1), (1,), (0,), (0,))),
    "a batch of another size": gathered_wrongly(
        k, np.zeros((3, 1), int), ((1,), (1,), (1,), (0,), (0,)), (1, 1, 4)
    ),
    "a batch of indices only": gathered_wrongly(
        k, np.zeros((2, 1), int), ((1, 2), (1,), (1,), (), (0,)), (2, 1, 4)
    ),
    "a batch along the numbers": gathered_wrongly(
        k, np.zeros((2, 2), int), ((1,), (1,), (1, 2), (0,), (1,)), (1, 1, 4)
    ),
    "an unknown mode": gathered_wrongly(mode="wrap"),
    "float places": scattered_wrongly(indices=np.zeros((4, 1), np.float32)),
    "scalar places": scattered_wrongly(indices=np.int32(1)),
    "another number of places": scattered_wrongly(indices=np.zeros((4, 2), int)),
    "updates of another size": scattered_wrongly(updates=x),
    "updates too large": scattered_wrongly(updates=np.zeros((4, 5), np.float32)),
    "updates of too few axes": scattered_wrongly(updates=x[:, 0]),
    "updates of too many axes": scattered_wrongly(updates=np.zeros((4, 4, 1), np.float32)),
    "windows out of order": scattered_wrongly(
        updates=np.zeros((4, 1, 4), np.float32), numbers=((2, 1), (), (0,))
    ),
    "a window that is not there": scattered_wrongly(numbers=((2,), (0,), (0,))),
    "inserted twice": scattered_wrongly(numbers=((1,), (0, 0), (0,))),
    "an inserted axis that is not there": scattered_wrongly(numbers=((1,), (2,), (0,))),
    "a place for no axis": scattered_wrongly(numbers=((1,), (0,), (2,))),
    "updates of a wider dtype": scattered_wrongly(k[0], ROWS[1], x[[0] * 4]),
    "an unknown mode of updates": scattered_wrongly(mode="raise"),
}


def test_what_does_not_fit_is_refused_with_jaxs_class_of_error():
    assert_all_same_results(WRONG)


@pytest.mark.parametrize("name", [*SCATTERS, "scatter_apply"])
def test_several_updates_of_a_scalar(name):
    """XLA compiles none of these programs, and so JAX refuses most of them."""
    indices, numbers = np.zeros((3, 0), np.int32), glassjax.lax.ScatterDimensionNumbers((), (), ())
    if name == "scatter_apply":
        found = glassjax.lax.scatter_apply(
            gnp.float32(5), indices, lambda x: x * 2, numbers, update_shape=(3,)
        )
        assert found == 40
        return
    scatter = getattr(glassjax.lax, name)
    step = {"add": 5 + 9, "sub": 5 - 9, "mul": 5 * 24, "min": 2, "max": 5}.get(name[8:])
    updates = np.array([2, 3, 4], np.float32)
    for wrap in (lambda f: f, glassjax.jit, lambda f: lambda x: glassjax.jvp(f, (x,), (x,))[0]):
        found = wrap(lambda x: scatter(x, indices, updates, numbers))(gnp.float32(5))
        assert found in (step,) if step else found in updates
