"""How time grows with the size of a program: every walk over one should be linear.

The program is a chain of sines. For each size the time per equation is given, in microseconds,
and over all sizes the exponent b of the best fit time = a * size ** b: 1 is linear.
"""

import statistics
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.measure import Row, Rows, timed
from minijax_stage2 import jvp, sin
from minijax_stage3 import ClosedJaxpr, dce_jaxpr, eval_jaxpr, make_jaxpr, typecheck_jaxpr
from minijax_stage3.lowering import lower_to_module
from minijax_stage4 import UndefPrimal, grad, partial_eval_jaxpr
from minijax_stage4.linearize import linearize_flat
from minijax_stage4.transpose import backward_pass

SIZES = (1_000, 10_000, 100_000)
REPEATS = {1_000: 7, 10_000: 5, 100_000: 3}


def chain_of(size: int) -> Callable[[Any], Any]:
    def chain(x: Any) -> Any:
        for _ in range(size):
            x = sin(x)
        return x

    return chain


def measured(size: int) -> dict[str, Callable[[], Any]]:
    """What is timed for one size, in the order of the table."""
    chain = chain_of(size)
    closed: ClosedJaxpr = make_jaxpr(chain)(1.0)
    jaxpr = closed.jaxpr
    _, linear = linearize_flat(lambda x: [chain(x)], [1.0], chain)
    undefined = [UndefPrimal(var.aval) for var in linear.jaxpr.invars]
    return {
        "trace": lambda: make_jaxpr(chain)(1.0),
        "trace of jvp": lambda: make_jaxpr(lambda x: jvp(chain, (x,), (x,)))(1.0),
        "trace of grad": lambda: make_jaxpr(grad(chain))(1.0),
        "grad, eager": lambda: grad(chain)(1.0),
        "transpose": lambda: backward_pass(linear.jaxpr, undefined, [1.0]),
        "partial evaluation": lambda: partial_eval_jaxpr(jaxpr, [True]),
        "dead-code elimination": lambda: dce_jaxpr(jaxpr),
        "typecheck": lambda: typecheck_jaxpr(jaxpr),
        "evaluate": lambda: eval_jaxpr(jaxpr, [], 1.0),
        "lower": lambda: lower_to_module(jaxpr, "chain"),
        "print": lambda: str(closed),
    }


def run() -> Rows:
    seconds: dict[str, list[float]] = {}
    for size in SIZES:
        for what, action in measured(size).items():
            times = [timed(action) for _ in range(REPEATS[size])]
            seconds.setdefault(what, []).append(statistics.median(times))
    for what, row in seconds.items():
        exponent = float(np.polyfit(np.log(SIZES), np.log(row), 1)[0])
        per_equation = ", ".join(
            f"{1e6 * t / size:.1f}" for size, t in zip(SIZES, row, strict=True)
        )
        note = f"exponent {exponent:.2f}; us an equation: {per_equation}"
        yield Row(f"growth: {what}", row[-1], note=note)
