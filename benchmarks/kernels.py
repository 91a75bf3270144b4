"""Pallas kernels, beside JAX's interpret mode: until the program is compiled, and its run."""

from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.measure import Line, versus_jax
from benchmarks.programs import Library
from benchmarks.staging import compilation, trace_and_lower

SIZE, BLOCK = 512, 128  # of a matrix, of a block of it
ROWS, COLUMNS = 256, 1_024  # of a softmax


def pallas_of(lib: Library) -> Any:
    return import_module(f"{lib.name}.experimental.pallas")


def matrix(lib: Library, rows: int, columns: int) -> Any:
    drawn = np.random.default_rng(0).normal(size=(rows, columns)).astype(np.float32)
    return lib.numpy.asarray(drawn)


def blocked_product(lib: Library) -> Any:
    """A matrix product whose blocks are summed in a scratch array."""
    pl, jnp = pallas_of(lib), lib.numpy

    def kernel(x: Any, y: Any, out: Any, total: Any) -> None:
        @pl.when(pl.program_id(2) == 0)
        def begin() -> None:
            total[...] = jnp.zeros_like(total)

        total[...] += x[...] @ y[...]

        @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
        def end() -> None:
            out[...] = total[...]

    block = (BLOCK, BLOCK)
    product = pl.pallas_call(
        kernel,
        out_shape=lib.core.ShapeDtypeStruct((SIZE, SIZE), np.float32),
        grid=(SIZE // BLOCK,) * 3,
        in_specs=[
            pl.BlockSpec(block, lambda i, j, k: (i, k)),
            pl.BlockSpec(block, lambda i, j, k: (k, j)),
        ],
        out_specs=pl.BlockSpec(block, lambda i, j, k: (i, j)),
        scratch_shapes=[pl.MemorySpace.ANY(block, np.float32)],
        interpret=True,
    )
    return product, (matrix(lib, SIZE, SIZE),) * 2


def row_softmax(lib: Library) -> Any:
    """A softmax of one row at a time."""
    pl, jnp = pallas_of(lib), lib.numpy

    def kernel(x: Any, out: Any) -> None:
        y = jnp.exp(x[...] - jnp.max(x[...]))
        out[...] = y / jnp.sum(y)

    row = pl.BlockSpec((None, COLUMNS), lambda i: (i, 0))
    softmax = pl.pallas_call(
        kernel,
        out_shape=lib.core.ShapeDtypeStruct((ROWS, COLUMNS), np.float32),
        grid=(ROWS,),
        in_specs=[row],
        out_specs=row,
        interpret=True,
    )
    return softmax, (matrix(lib, ROWS, COLUMNS),)


def compiled(program: Any) -> Any:
    def case(lib: Library) -> Any:
        f, args = program(lib)
        f = lib.core.jit(f)
        return lambda: f(*args).block_until_ready()

    return case


PROGRAMS = {"blocked product": blocked_product, "softmax by rows": row_softmax}

LINES: list[Line] = [
    line
    for name, program in PROGRAMS.items()
    for line in (
        versus_jax(f"trace and lower kernel, {name}", trace_and_lower(program), pairs=9),
        compilation(f"compile kernel, {name}", program),
        versus_jax(f"run kernel, {name}", compiled(program), budget=1.05, number=3, pairs=15),
    )
]
