"""How time grows with the size of a program: every walk over one should be linear.

The program is a chain of sines. A note gives the exponent b of the best fit time = a * size ** b
over all sizes, where 1 is linear, and the time per equation, in microseconds, at each size. The
figures in the columns are those of the largest size that both have.
"""

import gc
import statistics
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from benchmarks import measure as measures
from benchmarks import programs
from benchmarks.measure import Action, Line, Row, timed
from benchmarks.programs import Library, library
from glassjax.runtime.repetition import find_repetition
from glassjax_stage2 import jvp, sin
from glassjax_stage3 import Jaxpr, dce_jaxpr, eval_jaxpr, make_jaxpr, typecheck_jaxpr
from glassjax_stage3.jaxpr import consts_as_invars
from glassjax_stage4 import UndefPrimal, grad, partial_eval_jaxpr
from glassjax_stage4.linearize import linearize_flat
from glassjax_stage4.transpose import backward_pass

REPEATS = {1_000: 7, 10_000: 5, 100_000: 3}
SIZES = tuple(REPEATS)
UP_TO_10_000 = SIZES[:2]


# What a user asks for, of either library.
def trace(lib: Library, size: int) -> Action:
    return lambda: lib.core.make_jaxpr(programs.chain(lib, size))(np.float32(1))


def trace_of_grad(lib: Library, size: int) -> Action:
    return lambda: lib.core.make_jaxpr(lib.core.grad(programs.chain(lib, size)))(np.float32(1))


def trace_and_lower(lib: Library, size: int) -> Action:
    return lambda: lib.core.jit(programs.chain(lib, size)).lower(np.float32(1))


def compilation(lib: Library, size: int) -> Action:
    return trace_and_lower(lib, size)().compile  # type: ignore[no-any-return]


# The walks that ours are made of.
def chain_of(size: int) -> Callable[[Any], Any]:
    def chain(x: Any) -> Any:
        for _ in range(size):
            x = sin(x)
        return x

    return chain


@cache
def closed_chain(size: int) -> Jaxpr:
    return make_jaxpr(chain_of(size))(1.0)


@cache
def transposition(size: int) -> Action:
    chain = chain_of(size)
    _, linear, residuals = linearize_flat(lambda x: [chain(x)], [1.0], chain)
    undefined = [UndefPrimal(var.aval) for var in linear.jaxpr.invars]
    program = consts_as_invars(linear.jaxpr)
    return lambda: backward_pass(program, [*residuals, *undefined], [1.0])


WALKS: dict[str, Callable[[int], Action]] = {
    "trace of jvp": lambda size: lambda: make_jaxpr(lambda x: jvp(chain_of(size), (x,), (x,)))(1.0),
    "grad, eager": lambda size: lambda: grad(chain_of(size))(1.0),
    "transpose": transposition,
    "partial evaluation": lambda size: lambda: partial_eval_jaxpr(closed_chain(size), [True]),
    "dead-code elimination": lambda size: lambda: dce_jaxpr(closed_chain(size)),
    "typecheck": lambda size: lambda: typecheck_jaxpr(closed_chain(size)),
    "evaluate": lambda size: lambda: eval_jaxpr(closed_chain(size), [], 1.0),
    "print": lambda size: lambda: str(closed_chain(size)),
    "search for repeated blocks": lambda size: lambda: find_repetition(closed_chain(size).eqns, 50),
}


def seconds_by_size(make: Callable[[int], Action], sizes: Sequence[int]) -> dict[int, float]:
    """The median time at each size, of an action made anew for each repetition."""

    def seconds(size: int) -> float:
        action = make(size)
        gc.collect()  # what earlier repetitions left; what this one leaves is its own affair
        return timed(action)

    return {size: statistics.median(seconds(size) for _ in range(REPEATS[size])) for size in sizes}


def growth(seconds: dict[int, float]) -> str:
    exponent = float(np.polyfit(np.log(list(seconds)), np.log(list(seconds.values())), 1)[0])
    per_equation = ", ".join(f"{1e6 * time / size:.3g}" for size, time in seconds.items())
    return f"exponent {exponent:.2f}; us an equation: {per_equation}"


def walk(what: str, make: Callable[[int], Action]) -> Line:
    name = f"growth: {what}"

    def measure(quick: bool) -> Row:
        seconds = seconds_by_size(make, UP_TO_10_000 if quick else SIZES)
        return Row(name, seconds[max(seconds)], note=growth(seconds))

    return Line(name, measure)


def beside_jax(
    what: str,
    case: Callable[[Library, int], Action],
    peer_sizes: Sequence[int] = UP_TO_10_000,
    sizes: Sequence[int] = SIZES,
    budget: float | None = None,
) -> Line:
    name = f"growth: {what}"

    def measure(quick: bool) -> Row:
        ours, peer = (
            seconds_by_size(lambda size, lib=lib: case(lib, size), chosen[:2] if quick else chosen)
            for lib, chosen in ((library("glassjax"), sizes), (library("jax"), peer_sizes))
        )
        both = max(size for size in ours if size in peer)
        note = f"{growth(ours)}; JAX: {growth(peer)}"
        return Row(name, ours[both], peer[both], ours[both] / peer[both], note=note)

    return Line(name, measure, budget)


def rolled_chain(iterations: int = 1_000) -> Line:
    name = "growth: 1,000 unrolled sines, trace and compile, roll / none"

    def measure(quick: bool) -> Row:
        lib = library("glassjax")
        chain = programs.chain(lib, iterations)

        def compiled(fun: Callable[[Any], Any]) -> Action:
            return lambda: lib.core.jit(lambda x: fun(x)).lower(1.0).compile()

        settings = {"enable_compilation_cache": False, "repeated_block_notice": 0}
        with lib.core.config.override(**settings):
            rolled, unrolled = compiled(lib.core.experimental.roll(chain)), compiled(chain)
            pairs = measures.interleaved(rolled, unrolled, 2 if quick else 5)
        return measures.row_of(name, pairs, note="the peer is glassjax without")

    return Line(name, measure, 0.5)


LINES = [
    beside_jax("trace", trace, SIZES, budget=0.15),
    beside_jax("trace of grad", trace_of_grad, budget=0.15),
    beside_jax("trace and lower", trace_and_lower, SIZES, budget=0.15),
    beside_jax("compile", compilation, sizes=UP_TO_10_000),  # a minute at 100,000, all XLA's
    *(walk(what, make) for what, make in WALKS.items()),
    rolled_chain(),
]
