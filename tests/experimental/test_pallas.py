"""Kernels: against loops over blocks in numpy, against functions of arrays, and beside JAX."""

import itertools
import math
import re
from functools import partial

import jax
import jax.experimental.pallas as jax_pallas
import jax.experimental.pallas.triton as jax_triton
import numpy as np
import pytest

import glassjax
import glassjax.numpy as jnp
from glassjax import lax
from glassjax.experimental import pallas as pl
from glassjax.experimental.pallas import tpu, triton

ROWS = pl.BlockSpec((2,), lambda i: (i,))


def struct(*shape, dtype=np.float32):
    return glassjax.ShapeDtypeStruct(shape, dtype)


def drawn(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


# The law: a grid is a loop over blocks.


def random_program(seed):
    """A grid, an array and the windows of a random kernel that adds scaled blocks to its result."""
    rng = np.random.default_rng(seed)
    ndim = int(rng.integers(1, 4))
    grid = tuple(int(size) for size in rng.integers(1, 4, ndim))
    dims, shape, steps = [], [], []
    for size in grid:
        block = int(rng.integers(1, 4))
        kind = rng.choice(["blocked", "squeezed", "element"])
        missing = int(rng.integers(0, block)) if kind == "blocked" else 0  # of the last block
        step = int(rng.integers(1, block + 1)) if kind == "element" else 1
        covered = {
            "blocked": size * block - missing,
            "squeezed": size,
            "element": (size - 1) * step + block,
        }
        dims.append({"blocked": block, "squeezed": None, "element": pl.Element(block)}[kind])
        shape.append(covered[kind])
        steps.append(step)
    return grid, tuple(shape), dims, steps


def window_of(array, dims, index):
    """The block of a numpy array, with NaN behind its end, and its slices."""
    slices = []
    for dim, i in zip(dims, index, strict=True):
        if dim is None:
            slices.append(slice(i, i + 1))
        elif isinstance(dim, int):
            slices.append(slice(i * dim, (i + 1) * dim))
        else:
            slices.append(slice(i, i + dim.block_size))
    block = array[tuple(slices)]
    sizes = [s.stop - s.start for s in slices]
    widths = [(0, size - n) for size, n in zip(sizes, block.shape, strict=True)]
    block = np.pad(block, widths, constant_values=np.nan)
    return block, tuple(slices)


@pytest.mark.parametrize("seed", range(12))
def test_a_grid_is_a_loop_over_blocks(seed):
    grid, shape, dims, steps = random_program(seed)
    x, start = drawn(*shape), drawn(*shape, seed=1)

    def index_map(*indices):
        return tuple(i * step for i, step in zip(indices, steps, strict=True))

    def kernel(x_ref, start_ref, out_ref):
        weight = 1.0 + sum(pl.program_id(axis) for axis in range(len(grid)))
        out_ref[...] = out_ref[...] * 0.5 + weight * x_ref[...]

    spec = pl.BlockSpec(dims, index_map)
    call = pl.pallas_call(
        kernel, struct(*shape), grid=grid, in_specs=[spec, spec], out_specs=spec,
        input_output_aliases={1: 0},
    )  # fmt: skip

    expected = start.copy()
    for indices in itertools.product(*map(range, grid)):
        block, _ = window_of(x, dims, index_map(*indices))
        before, slices = window_of(expected, dims, index_map(*indices))
        after = before * 0.5 + np.float32(1 + sum(indices)) * block
        inside = tuple(slice(0, n) for n in expected[slices].shape)
        expected[slices] = after[inside]
    np.testing.assert_allclose(call(x, start), expected, rtol=1e-5)
    np.testing.assert_allclose(glassjax.jit(call)(x, start), expected, rtol=1e-5)
    with glassjax.disable_jit():
        np.testing.assert_allclose(call(x, start), expected, rtol=1e-5)


# Kernels, and the same functions of arrays.


def matmul(pl, memory, jnp):
    def kernel(x_ref, y_ref, out_ref, total):
        @pl.when(pl.program_id(2) == 0)
        def _():
            total[...] = jnp.zeros_like(total)

        total[...] += x_ref[...] @ y_ref[...]

        @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
        def _():
            out_ref[...] = total[...]

    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((4, 6), np.float32),
        grid=(2, 3, 2),
        in_specs=[
            pl.BlockSpec((2, 4), lambda i, j, k: (i, k)),
            pl.BlockSpec((4, 2), lambda i, j, k: (k, j)),
        ],
        out_specs=pl.BlockSpec((2, 2), lambda i, j, k: (i, j)),
        scratch_shapes=[memory((2, 2), np.float32)],
        interpret=True,
    )


def softmax(pl, memory, jnp):
    def kernel(x_ref, _, out_ref):
        x = jnp.exp(x_ref[...] - jnp.max(x_ref[...]))
        out_ref[...] = x / jnp.sum(x)

    row = pl.BlockSpec((None, 8), lambda i: (i, 0))
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((4, 8), np.float32),
        grid=(4,),
        in_specs=[row, pl.no_block_spec],
        out_specs=row,
        interpret=True,
    )


def windows(pl, memory, jnp):
    """Sums of overlapping windows, so that each element is in several blocks."""

    def kernel(x_ref, y_ref, out_ref):
        out_ref[0, 0] = jnp.sum(jnp.sin(x_ref[...]) * y_ref[:3, :3])

    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((2, 6), np.float32),
        grid=(2, 6),
        in_specs=[
            pl.BlockSpec((pl.Element(3), pl.Element(3)), lambda i, j: (i, j)),
            pl.BlockSpec((8, 6), lambda i, j: (0, 0)),
        ],
        out_specs=pl.BlockSpec((1, 1), lambda i, j: (i, j)),
        interpret=True,
    )


def inner_loop(pl, memory, jnp):
    def kernel(x_ref, y_ref, out_ref):
        out_ref[...] = jnp.zeros_like(out_ref)

        @pl.loop(0, 8, step=2)
        def _(k):
            out_ref[...] += x_ref[:, pl.ds(k, 2)] @ jnp.cos(y_ref[pl.ds(k, 2), :])

    return pl.pallas_call(
        kernel, out_shape=jax.ShapeDtypeStruct((4, 6), np.float32), interpret=True
    )


def windows_of_arrays(x, y):
    parts = [
        [jnp.sum(jnp.sin(x[i : i + 3, j : j + 3]) * y[:3, :3]) for j in range(6)] for i in (0, 1)
    ]
    return jnp.stack([jnp.stack(row) for row in parts])


KERNELS = {
    matmul: lambda x, y: x @ y,
    softmax: lambda x, y: glassjax.nn.softmax(x),
    windows: windows_of_arrays,
    inner_loop: lambda x, y: x @ jnp.cos(y),
}
each_kernel = pytest.mark.parametrize(
    ("make", "function"), KERNELS.items(), ids=lambda f: f.__name__
)
X, Y = drawn(4, 8), drawn(8, 6, seed=1)


def close(found, expected):
    for x, y in zip(glassjax.tree.leaves(found), glassjax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(x, y, rtol=2e-4, atol=2e-5)


@each_kernel
def test_a_kernel_is_its_function_of_arrays_under_all_transformations(make, function):
    call = make(pl, pl.ANY, jnp)
    dots = drawn(4, 8, seed=2), drawn(8, 6, seed=3)
    batches = drawn(3, 4, 8, seed=4), drawn(8, 6, 3, seed=5)

    def transformed(f):
        def loss(x, y):
            return jnp.sum(jnp.sin(f(x, y)))

        each = glassjax.vmap(f, in_axes=(0, 2))
        return {
            "value": f(X, Y),
            "jit": glassjax.jit(f)(X, Y),
            "jvp": glassjax.jvp(f, (X, Y), dots),
            "grad": glassjax.grad(loss, (0, 1))(X, Y),
            "vmap": each(*batches),
            "vmap of one": glassjax.vmap(f, in_axes=(None, 2))(X, batches[1]),
            "grad of vmap": glassjax.grad(lambda *xs: jnp.sum(jnp.sin(each(*xs))), (0, 1))(
                *batches
            ),
            "vmap of grad": glassjax.vmap(glassjax.grad(loss), in_axes=(0, 2))(*batches),
            "jvp of grad": glassjax.jvp(glassjax.grad(loss), (X, Y), dots),
            "checkpoint": glassjax.grad(glassjax.checkpoint(loss))(X, Y),
        }

    found, expected = (glassjax.jit(partial(transformed, f))() for f in (call, function))
    for name in expected:
        close(found[name], expected[name])


@each_kernel
def test_kernels_are_those_of_jax(make, function):
    ours, theirs = make(pl, pl.ANY, jnp), make(jax_pallas, jax_pallas.ANY, jax.numpy)
    close(ours(X, Y), theirs(X, Y))
    batches = drawn(3, 4, 8, seed=4), drawn(8, 6, 3, seed=5)
    close(glassjax.vmap(ours, in_axes=(0, 2))(*batches), jax.vmap(theirs, in_axes=(0, 2))(*batches))


def test_vmap_adds_an_axis_to_the_grid():
    def double_kernel(x_ref, out_ref):
        out_ref[...] = 2 * x_ref[...]

    double = pl.pallas_call(
        double_kernel, struct(6), grid=3, in_specs=[ROWS], out_specs=ROWS, name="double"
    )
    mapped = glassjax.vmap(glassjax.vmap(double))
    text = str(glassjax.make_jaxpr(mapped)(np.ones((5, 4, 6), np.float32)))
    assert "grid=(5, 4, 3)" in text
    assert "name=double" in text


# What kernels are given.


def test_blocks_at_the_edge_hold_nan_and_drop_what_is_written():
    def kernel(x_ref, out_ref, seen_ref):
        out_ref[...] = x_ref[...] + 1
        seen_ref[...] = x_ref[...]

    block = pl.BlockSpec((4,), lambda i: i)
    for dtype, filler in ((np.float32, np.nan), (np.int32, np.iinfo(np.int32).min)):
        out, seen = pl.pallas_call(
            kernel, [struct(6, dtype=dtype), struct(8, dtype=dtype)], grid=2, in_specs=[block],
            out_specs=[block, block],
        )(np.arange(6, dtype=dtype))  # fmt: skip
        np.testing.assert_array_equal(out, np.arange(1, 7, dtype=dtype))
        np.testing.assert_array_equal(seen, [*range(6), filler, filler])


def test_elements_may_be_padded():
    def call(pl):
        return pl.pallas_call(
            lambda x, y: y.__setitem__(..., x[...]), jax.ShapeDtypeStruct((6,), np.float32),
            grid=(1,), in_specs=[pl.BlockSpec((pl.Element(6, (1, 2)),), lambda i: 0)],
            interpret=True,
        )(np.float32([1, 2, 3]))  # fmt: skip

    np.testing.assert_array_equal(call(pl), call(jax_pallas))
    np.testing.assert_array_equal(call(pl), [np.nan, 1, 2, 3, np.nan, np.nan])


def test_a_bounded_slice_is_written_within_its_bounds():
    """Programs that take 1, 2 and 3 elements from where the one before ended."""
    part = pl.BlockSpec((pl.BoundedSlice(3),), lambda i: (pl.ds(i * (i + 1) // 2, i + 1),))

    def kernel(x_ref, out_ref):
        assert x_ref.shape == (3,)
        out_ref[...] = x_ref[...] + 10 * pl.program_id(0)

    out = pl.pallas_call(kernel, struct(6), grid=3, in_specs=[part], out_specs=part)(
        np.arange(6.0, dtype=np.float32)
    )
    np.testing.assert_array_equal(out, [0, 11, 12, 23, 24, 25])


def test_index_maps_and_kernels_read_prefetched_scalars():
    def kernel(order_ref, x_ref, out_ref):
        out_ref[...] = x_ref[...] + order_ref[pl.program_id(0)]

    spec = tpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(3,),
        in_specs=[pl.BlockSpec((2,), lambda i, order: (order[i],))],
        out_specs=pl.BlockSpec((2,), lambda i, order: (i,)),
    )
    call = pl.pallas_call(kernel, struct(6), grid_spec=spec)
    order = np.int32([2, 0, 1])
    expected = np.float32([6, 7, 0, 1, 3, 4])
    np.testing.assert_array_equal(call(order, np.arange(6, dtype=np.float32)), expected)
    batch = glassjax.vmap(call, in_axes=(0, None))(
        np.stack([order, order]), np.arange(6, dtype=np.float32)
    )
    np.testing.assert_array_equal(batch, [expected, expected])


def test_the_grid_may_be_traced_and_named():
    def kernel(out_ref):
        out_ref[pl.program_id(0)] = pl.num_programs(0) * 10 + pl.program_id(0)

    @glassjax.jit
    def filled(n):
        return pl.pallas_call(kernel, struct(4, dtype=np.int32), grid=(n,))()

    least = np.iinfo(np.int32).min
    np.testing.assert_array_equal(filled(3), [30, 31, 32, least])

    def named(out_ref):
        assert lax.axis_size("rows") == 4
        out_ref[lax.axis_index("rows")] = lax.axis_index("rows")

    np.testing.assert_array_equal(
        pl.pallas_call(named, struct(4, dtype=np.int32), grid=(("rows", 4),))(), range(4)
    )


def test_jitted_functions_of_several_kernels_ask_for_their_place():
    """A jitted function is traced once per grid, and gets the index of each program."""

    @glassjax.jit
    def place():
        return 100 * pl.num_programs(0) + pl.program_id(0)

    def kernel(out_ref):
        out_ref[pl.program_id(0)] = place()

    for n in (2, 3, 2):
        found = pl.pallas_call(kernel, struct(n, dtype=np.int32), grid=n)()
        np.testing.assert_array_equal(found, 100 * n + np.arange(n))
    with pytest.raises(ValueError, match="program_id is for kernels"):
        pl.program_id(0)


def test_trees_scratch_by_name_and_scoped_memory():
    def kernel(inputs, outputs, *, total):
        total[...] = inputs["x"][...]

        def add(part):
            part[...] = inputs["y"][...]
            total[...] += part[...]

        pl.run_scoped(add, pl.ANY((3,), np.float32))
        pl.with_scoped(part=pl.ANY((3,), np.float32))(lambda part: add(part))()
        outputs["sum"][...] = total[...]

    call = pl.pallas_call(
        lambda inputs, out, total: kernel(inputs, {"sum": out}, total=total),
        out_shape=struct(3),
        scratch_shapes={"total": pl.ANY((3,), np.float32)},
    )
    found = call({"x": np.ones(3, np.float32), "y": np.ones(3, np.float32)})
    np.testing.assert_array_equal(found, [3, 3, 3])


def test_a_kernel_is_traced_once_for_its_types():
    traced = []

    def kernel(x_ref, out_ref):
        traced.append(x_ref.shape)
        out_ref[...] = x_ref[...] + 1

    call = pl.pallas_call(kernel, struct(3))
    for _ in range(2):
        glassjax.jit(lambda x: call(call(x)))(np.ones(3, np.float32))
    assert traced == [(3,)]


def test_a_kernel_sees_values_if_jit_is_disabled():
    seen = []

    def kernel(x_ref, out_ref):
        seen.append((int(pl.program_id(0)), float(x_ref[0])))
        out_ref[...] = x_ref[...]

    call = pl.pallas_call(kernel, struct(6), grid=3, in_specs=[ROWS], out_specs=ROWS)
    with glassjax.disable_jit():
        call(np.arange(6, dtype=np.float32))
    assert seen == [(0, 0.0), (1, 2.0), (2, 4.0)]


def test_prints_of_each_program(capsys):
    def kernel(x_ref, out_ref):
        pl.debug_print("program {}:", pl.program_id(0), x_ref[0])
        out_ref[...] = x_ref[...]

    pl.pallas_call(kernel, struct(6), grid=3, in_specs=[ROWS], out_specs=ROWS)(
        np.arange(6, dtype=np.float32)
    )
    glassjax.effects_barrier()
    printed = capsys.readouterr().out
    assert all(f"program {i}:" in printed for i in range(3))


# Masks, and the ends of references.


def test_masked_loads_and_stores_are_those_of_jax():
    def call(pl, triton, jnp):
        def kernel(x_ref, start_ref, out_ref):
            index = jnp.arange(4)
            at = pl.ds(start_ref[0], 4)
            part = triton.load(x_ref.at[at], mask=index < 3, other=-1.0)
            out_ref[...] = jnp.zeros_like(out_ref)
            triton.store(out_ref.at[at], part, mask=index > 0)

        return pl.pallas_call(kernel, jax.ShapeDtypeStruct((8,), np.float32), interpret=True)

    for start in (0, 3, 4, 6):  # the last one ends behind the array
        args = np.arange(1, 9, dtype=np.float32), np.int32([start])
        found = call(pl, triton, jnp)(*args)
        np.testing.assert_array_equal(found, call(jax_pallas, jax_triton, jax.numpy)(*args))

    def loss(x):
        return jnp.sum(call(pl, triton, jnp)(x, np.int32([3])) ** 2)

    x = np.arange(1, 9, dtype=np.float32)
    np.testing.assert_array_equal(glassjax.grad(loss)(x), [0, 0, 0, 0, 10, 12, 0, 0])


OPERATIONS = {"add": np.add, "max": np.maximum, "min": np.minimum, "xchg": lambda old, new: new}
BITS = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}


@pytest.mark.parametrize(("name", "combined"), (OPERATIONS | BITS).items())
def test_atomic_updates_return_the_old_value(name, combined):
    update = getattr(triton, f"atomic_{name}")

    def kernel(x_ref, y_ref, mask_ref, out_ref, old_ref):
        out_ref[...] = x_ref[...]
        old_ref[...] = update(out_ref, pl.ds(1, 3), y_ref[...], mask=mask_ref[...])

    x, y, mask = np.int32([5, 6, 7, 8]), np.int32([9, 3, 12]), np.array([True, True, False])
    out, old = pl.pallas_call(kernel, [struct(4, dtype=np.int32), struct(3, dtype=np.int32)])(
        x, y, mask
    )
    np.testing.assert_array_equal(old, x[1:])
    np.testing.assert_array_equal(out, [5, *np.where(mask, combined(x[1:], y), x[1:])])


def test_atomic_add_counts_every_value_and_cas_compares():
    def kernel(index_ref, out_ref):
        out_ref[...] = jnp.zeros_like(out_ref)
        triton.atomic_add(out_ref, index_ref[...], 1)
        for expected, new in ((0, 7), (0, 9)):
            triton.atomic_cas(out_ref.at[0], expected, new)

    found = pl.pallas_call(kernel, struct(4, dtype=np.int32))(np.int32([1, 3, 1, 1]))
    np.testing.assert_array_equal(found, [7, 3, 0, 1])


# Numbers, beside JAX's.


def test_small_functions_are_those_of_jax():
    for name, args in {
        "cdiv": (10, 4), "align_to": (10, 4), "next_power_of_2": (33,),
        "strides_from_shape": ((2, 3, 4),),
    }.items():  # fmt: skip
        assert getattr(pl, name)(*args) == getattr(jax_pallas, name)(*args)
    assert pl.strides_from_shape(()) == jax_pallas.strides_from_shape(())
    assert int(glassjax.jit(pl.cdiv)(10, 4)) == 3
    a, b = drawn(3, 4), drawn(5, 4)
    np.testing.assert_allclose(triton.dot(a, b, trans_b=True), a @ b.T, rtol=1e-5)
    np.testing.assert_allclose(tpu.reciprocal(a, approx=True), 1 / a, rtol=1e-2)


def test_estimated_costs_are_those_of_jax():
    def f(jnp):
        return lambda x, y: jnp.exp(x @ y) + jnp.tanh(x[:, :6]) ** 3 - 1.0

    ours, theirs = (
        each(X, Y)
        for each in (
            partial(pl.estimate_cost, f(jnp)),
            partial(jax_pallas.estimate_cost, f(jax.numpy)),
        )
    )
    assert vars(ours) == vars(theirs)
    assert ours.to_json() == theirs.to_json()


# Errors name the array, the function and the way out.


def wrong(message, **options):
    arguments = {"kernel": lambda x_ref, out_ref: None, "out_shape": struct(6), **options}
    return pytest.param(arguments, message, id=message[:30])


def two(i):
    return i, i


def real(i):
    return 1.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        wrong("the block shape (1, 2) of args[0] must have as many axes as the array, which has "
              "shape (6,)", grid=3, in_specs=[pl.BlockSpec((1, 2), lambda i: (i, 0))]),
        wrong("of outputs must have as many axes", grid=3,
              out_specs=pl.BlockSpec((1, 2), lambda i: (i, 0))),
        wrong("one index for each of the 1 axis", grid=3, in_specs=[pl.BlockSpec((2,), two)]),
        wrong("the index map `two` at", grid=3, in_specs=[pl.BlockSpec((2,), two)]),
        wrong("must return integer scalars, found f", grid=3,
              in_specs=[pl.BlockSpec((2,), real)]),
        wrong("given 2 axes of the grid: too many positional arguments", grid=(3, 2),
              in_specs=[ROWS]),
        wrong("must return a pl.ds(start, size) for axis 0", grid=3,
              in_specs=[pl.BlockSpec((pl.BoundedSlice(2),), lambda i: i)]),
        wrong("in_specs must have the structure of the args", grid=3, in_specs=[ROWS, ROWS]),
        wrong("`in_specs` must be a tuple or a list", in_specs=ROWS),
        wrong("must be a BlockSpec, found 3", in_specs=[3]),
        wrong("grid must be a tuple of ints, found 'x'", grid=("x",)),
        wrong("an axis of block_shape is an int", in_specs=[pl.BlockSpec(("x",))]),
        wrong("outputs must be an array or its type", out_shape=3),
        wrong("should return None", kernel=lambda x_ref, out_ref: 1),
        wrong("2 is not the number of an argument", input_output_aliases={2: 0}),
        wrong("there are 1 result", input_output_aliases={0: 1}),
        wrong("args[0] has type f32[6], outputs f32[3]", input_output_aliases={0: 0},
              out_shape=struct(3)),
        wrong("give both the same blocks", input_output_aliases={0: 0}, grid=2,
              in_specs=[pl.BlockSpec((4,), lambda i: i)]),
        wrong("pass either grid_spec or grid, not both", grid=3, grid_spec=pl.GridSpec(grid=3)),
        wrong("axis 1 is out of bounds for the grid (3,)", grid=3,
              kernel=lambda x_ref, out_ref: pl.program_id(1)),
        wrong("collective_axes", kernel=lambda x_ref, out_ref: pl.run_scoped(
            print, collective_axes="x")),
    ],
)  # fmt: skip
def test_errors(arguments, message):
    with pytest.raises((TypeError, ValueError, NotImplementedError), match=re.escape(message)):
        pl.pallas_call(**arguments)(np.arange(6, dtype=np.float32))


def test_names_for_the_compilers_of_other_backends_are_absent_in_words():
    from glassjax.experimental.pallas import mosaic_gpu

    for module, name in (
        (tpu, "make_async_copy"),
        (triton, "debug_barrier"),
        (mosaic_gpu, "wgmma"),
    ):
        with pytest.raises(NotImplementedError, match="Kernels are interpreted on every device"):
            getattr(module, name)()
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = tpu.nothing
    assert math.prod(tpu.VMEM((2, 3), np.float32).shape) == 6
