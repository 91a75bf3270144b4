"""How long compiled programs run: the compiler is the same, so nothing may be lost around it."""

from typing import Any

import numpy as np

from benchmarks import programs
from benchmarks.measure import Row, Rows, interleaved
from benchmarks.programs import Library


def compiled_step(lib: Library) -> Any:
    params = programs.mlp_params(lib, (256, 512, 512, 10))
    batch = programs.mlp_batch(lib, size=256, inputs=256)
    step = lib.core.jit(programs.step_of(lib, programs.mlp_loss(lib)))
    return lambda: step(params, batch)[1].block_until_ready()


def compiled_transformer(lib: Library) -> Any:
    loss = programs.transformer_loss(lib, heads=4, length=32)
    params = programs.transformer_params(lib, layers=4, width=64, vocabulary=64)
    batch = programs.transformer_batch(lib, 8, 32, 64)
    step = lib.core.jit(programs.step_of(lib, loss))
    return lambda: step(params, batch)[1].block_until_ready()


def compiled_chain(lib: Library) -> Any:
    f = lib.core.jit(programs.chain(lib, 20))
    x = lib.numpy.asarray(np.linspace(0, 1, 1_000_000, dtype=np.float32))
    return lambda: f(x).block_until_ready()


def matrix_product(lib: Library, size: int = 1_024) -> Any:
    f = lib.core.jit(lambda x: x @ x)
    x = lib.numpy.asarray(np.ones((size, size), np.float32) / size)
    return lambda: f(x).block_until_ready()


CASES = {
    "MLP step": (compiled_step, 5),
    "transformer step": (compiled_transformer, 3),
    "20 sines of 1,000,000": (compiled_chain, 3),
    "matrix product 1,024": (matrix_product, 5),
}


def run() -> Rows:
    ours, peer = programs.libraries()
    for name, (case, number) in CASES.items():
        yield interleaved(
            f"run {name}", case(ours), case(peer), budget=1.02, number=number, pairs=21
        )
    yield share_of_peak(ours)


def share_of_peak(lib: Library, size: int = 1_024) -> Row:
    """A matrix product against numpy's BLAS, taken as the machine's peak."""
    x = np.ones((size, size), np.float32) / size
    row = interleaved("matrix product / BLAS", matrix_product(lib, size), lambda: x @ x, number=5)
    row.note = f"{2 * size**3 / row.ours / 1e9:.0f} GFlop/s"
    return row
