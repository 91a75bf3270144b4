"""How long compiled programs run: the compiler is the same, so nothing may be lost around it."""

from typing import Any

import numpy as np

from benchmarks import programs
from benchmarks.measure import QUICK_PAIRS, Line, Row, interleaved, row_of, versus_jax
from benchmarks.programs import Library, libraries


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


def compiled_lstm(lib: Library) -> Any:
    params = programs.lstm_params(lib, inputs=64, width=128)
    batch = programs.lstm_batch(lib, length=64, size=32, inputs=64)
    step = lib.core.jit(programs.step_of(lib, programs.lstm_loss(lib)))
    return lambda: step(params, batch)[1].block_until_ready()


def compiled_ode(lib: Library) -> Any:
    start = programs.ode_start(lib, size=1_000)
    solve = lib.core.jit(programs.ode_solve(lib, end=10.0))
    return lambda: solve(*start).block_until_ready()


def compiled_pinn(lib: Library) -> Any:
    """A step for a network whose second derivatives are in its loss."""
    jnp, core = lib.numpy, lib.core

    def network(params: Any, x: Any) -> Any:
        y = jnp.reshape(x, (1,))
        for layer in params[:-1]:
            y = jnp.tanh(y @ layer["w"] + layer["b"])
        return (y @ params[-1]["w"] + params[-1]["b"])[0]

    def loss(params: Any, points: Any) -> Any:
        curvature = core.vmap(core.grad(core.grad(network, 1), 1), (None, 0))(params, points)
        return jnp.mean((curvature + jnp.sin(points)) ** 2)

    params = programs.mlp_params(lib, (1, 64, 64, 1))
    points = jnp.asarray(np.linspace(0, 3, 256, dtype=np.float32))
    step = core.jit(programs.step_of(lib, loss))
    return lambda: step(params, points)[1].block_until_ready()


def compiled_deep(lib: Library) -> Any:
    params = programs.deep_params(lib, layers=32, width=64)
    batch = programs.deep_batch(lib, size=128, width=64)
    step = lib.core.jit(programs.step_of(lib, programs.deep_loss(lib)))
    return lambda: step(params, batch)[1].block_until_ready()


CASES = {
    "MLP step": (compiled_step, 5),
    "transformer step": (compiled_transformer, 3),
    "step with nested gradients": (compiled_pinn, 5),
    "20 sines of 1,000,000": (compiled_chain, 3),
    "matrix product 1,024": (matrix_product, 5),
}
# A loop that XLA runs has more places where a copy or a wait can differ by chance.
LOOPS = {
    "LSTM step, a scan": (compiled_lstm, 3),
    "ODE solve, a while_loop": (compiled_ode, 3),
    "deep step, a scan with checkpoint": (compiled_deep, 3),
}


def share_of_peak(size: int = 1_024) -> Line:
    """The speed of a matrix product beside that of numpy's BLAS, taken as the machine's peak."""
    name = f"matrix product {size:,} / peak"

    def measure(quick: bool) -> Row:
        x = np.ones((size, size), np.float32) / size
        action = matrix_product(libraries()[0], size)
        seconds = interleaved(action, lambda: x @ x, QUICK_PAIRS if quick else 21, number=5)
        work = 2 * size**3
        return row_of(name, [(work / a, work / b) for a, b in seconds], unit="Flop/s")

    return Line(name, measure)


LINES = [
    *(
        versus_jax(f"run {name}", case, budget=budget, number=number, pairs=21)
        for cases, budget in ((CASES, 1.02), (LOOPS, 1.05))
        for name, (case, number) in cases.items()
    ),
    share_of_peak(),
]
