"""What happens once for each program: tracing, lowering, compiling."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import programs
from benchmarks.measure import QUICK_PAIRS, Action, Case, Line, Row, row_of, timed, versus_jax
from benchmarks.programs import Library, libraries

# A program of a library: a function, and the arguments to stage it for.
Program = Callable[[Library], tuple[Callable[..., Any], tuple[Any, ...]]]


def chain(lib: Library) -> Any:
    return programs.chain(lib, 1_000), (lib.numpy.asarray(np.float32(1)),)


def mlp_loss(lib: Library) -> Any:
    return programs.mlp_loss(lib), (programs.mlp_params(lib), programs.mlp_batch(lib))


def transformer_loss(lib: Library) -> Any:
    loss = programs.transformer_loss(lib, heads=4, length=16)
    params = programs.transformer_params(lib, layers=12, width=32, vocabulary=64)
    return loss, (params, programs.transformer_batch(lib, 4, 16, 64))


def lstm_loss(lib: Library) -> Any:
    params = programs.lstm_params(lib, inputs=64, width=128)
    return programs.lstm_loss(lib), (params, programs.lstm_batch(lib, 64, 32, 64))


def ode_solve(lib: Library) -> Any:
    return programs.ode_solve(lib), programs.ode_start(lib, 1_000)


def ode_sensitivity(lib: Library) -> Any:
    """The solution and its derivative by a parameter, in forward mode."""
    solve, given = ode_solve(lib)

    def sensitivity(x: Any, forcing: Any) -> Any:
        return lib.core.jvp(lambda forcing: solve(x, forcing), (forcing,), (forcing,))

    return sensitivity, given


def deep_loss(lib: Library) -> Any:
    return programs.deep_loss(lib), (
        programs.deep_params(lib, layers=32, width=64),
        programs.deep_batch(lib, size=128, width=64),
    )


def grad_of(program: Program) -> Program:
    def gradient(lib: Library) -> Any:
        f, args = program(lib)
        return lib.core.grad(f), args

    return gradient


def step_of(loss: Program) -> Program:
    def step(lib: Library) -> Any:
        f, args = loss(lib)
        return programs.step_of(lib, f), args

    return step


LOSSES: dict[str, Program] = {
    "MLP loss": mlp_loss,
    "12-layer transformer loss": transformer_loss,
}
GRADIENTS: dict[str, Program] = {
    "grad of 1,000 operations": grad_of(chain),
}
WHOLE: dict[str, Program] = {
    "1,000 operations": chain,
    "MLP step": step_of(mlp_loss),
    "12-layer transformer step": step_of(transformer_loss),
}
# Of a loop, the body is all there is to trace, while JAX's caches know the functions in it.
LOOPS: dict[str, Program] = {
    "LSTM step, a scan": step_of(lstm_loss),
    "ODE solve, a while_loop": ode_solve,
    "ODE solve and its derivative": ode_sensitivity,
    "deep step, a scan with checkpoint": step_of(deep_loss),
}


def fresh(f: Callable[..., Any]) -> Callable[..., Any]:
    """The same function as another object, so that no cache knows it."""
    return lambda *args: f(*args)


def trace(program: Program) -> Case:
    def case(lib: Library) -> Action:
        f, args = program(lib)
        return lambda: lib.core.make_jaxpr(fresh(f))(*args)

    return case


def trace_and_lower(program: Program) -> Case:
    def case(lib: Library) -> Action:
        f, args = program(lib)
        return lambda: lib.core.jit(fresh(f)).lower(*args)

    return case


def compilation(name: str, program: Program) -> Line:
    """Only the compilation is timed, of a program lowered anew for each pair."""

    def measure(quick: bool) -> Row:
        given = [(lib, *program(lib)) for lib in libraries()]
        pairs = []
        for _ in range(1 if quick else QUICK_PAIRS):
            lowered = [lib.core.jit(fresh(f)).lower(*args) for lib, f, args in given]
            with given[0][0].core.config.override(enable_compilation_cache=False):  # as JAX's is
                ours, peer = (timed(each.compile) for each in lowered)
            pairs.append((ours, peer))
        return row_of(name, pairs, note="XLA's own time")

    return Line(name, measure)


def another_size(name: str, program: Program) -> Line:
    """Lowering for a batch of another size, by `jit(symbolic=...)` and by `jit`, both ours."""

    def measure(quick: bool) -> Row:
        (lib, _) = libraries()
        f, (params, batch) = program(lib)
        tree_map = lib.core.tree_util.tree_map
        symbolic = (None, tree_map(lambda x: "b, ...", batch))
        general, plain = lib.core.jit(fresh(f), symbolic=symbolic), lib.core.jit(fresh(f))

        def lowered(jitted: Any, size: int) -> float:
            types = tree_map(
                lambda x: lib.core.ShapeDtypeStruct((size, *x.shape[1:]), x.dtype), batch
            )
            return timed(lambda: jitted.lower(params, types))

        lowered(general, 1), lowered(plain, 1)
        sizes = range(2, 2 + QUICK_PAIRS)
        pairs = [(lowered(general, size), lowered(plain, size)) for size in sizes]
        return row_of(name, pairs, note="peer: jit, without symbolic")

    return Line(name, measure)


LINES = [
    *(
        versus_jax(f"trace {name}", trace(program), budget=0.15, pairs=9)
        for name, program in {**LOSSES, **WHOLE, **GRADIENTS}.items()
    ),
    *(
        versus_jax(f"trace {name}", trace(program), budget=0.2, pairs=9)
        for name, program in LOOPS.items()
    ),
    *(
        versus_jax(f"trace and lower {name}", trace_and_lower(program), budget=0.15, pairs=9)
        for name, program in WHOLE.items()
    ),
    *(
        versus_jax(f"trace and lower {name}", trace_and_lower(program), pairs=9)
        for name, program in LOOPS.items()
    ),
    *(compilation(f"compile {name}", program) for name, program in {**WHOLE, **LOOPS}.items()),
    another_size("lower an MLP step for another size", WHOLE["MLP step"]),
    another_size(
        "lower a 12-layer transformer step for another size", WHOLE["12-layer transformer step"]
    ),
]
