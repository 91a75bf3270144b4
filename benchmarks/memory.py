"""What glassjax and JAX hold in memory, each in processes of its own, and what a step takes."""

import statistics
from typing import Any

from benchmarks import measure as measures
from benchmarks import programs
from benchmarks.footprint import require_status
from benchmarks.measure import QUICK_PAIRS, Line, Row, figures_of
from benchmarks.programs import Library, libraries

PAIRS = 5

IMPORT = """
import numpy
from benchmarks.footprint import peak
before = peak()
import {module}
print(peak() - before)
"""

FIRST_RESULT = """
import numpy
from benchmarks.footprint import peak
before = peak()
import {module}
import {module}.numpy
{module}.jit({module}.numpy.sin)(numpy.float32(1)).block_until_ready()
print(peak() - before)
"""

TRACE = """
from benchmarks import measure as measures
from benchmarks import programs
from benchmarks.footprint import peak
lib = programs.library("{module}")
lib.core.make_jaxpr(programs.chain(lib, 10))(1.0)
before = peak()
jaxpr = lib.core.make_jaxpr(programs.chain(lib, 100_000))(1.0)
print(peak() - before)
"""

EXECUTABLES = """
import gc
from benchmarks import measure as measures
from benchmarks import programs
from benchmarks.footprint import current
lib = programs.library("{module}")
x = lib.numpy.asarray(1.0, "float32")

def program(number):
    f = lib.core.jit(lambda x: lib.numpy.sin(x) * number)
    f(x).block_until_ready()
    return f

for number in range(20):
    program(number + 0.5)
gc.collect()
before = current()
kept = [program(number) for number in range({count})]
gc.collect()
held = current() - before
del kept
gc.collect()
print(held / {count}, (held + before - current()) / {count})
"""


def in_fresh_processes(name: str, program: str, note: str) -> Line:
    def measure(quick: bool) -> Row:
        require_status()
        pairs = []
        for _ in range(QUICK_PAIRS if quick else PAIRS):
            (ours,), (peer,) = (
                figures_of(program.format(module=module)) for module in ("glassjax", "jax")
            )
            pairs.append((ours, peer))
        return measures.row_of(name, pairs, unit="B", note=note)

    return Line(name, measure)


def cached_executable(count: int = 200) -> Line:
    name = "memory: one cached executable"

    def measure(quick: bool) -> Row:
        require_status()
        held, freed = [], []
        for _ in range(1 if quick else QUICK_PAIRS):
            ours, peer = (
                figures_of(EXECUTABLES.format(module=module, count=count))
                for module in ("glassjax", "jax")
            )
            held.append((ours[0], peer[0]))
            freed.append((ours[1] / ours[0], peer[1] / peer[0]))
        shares = [statistics.median(side) for side in zip(*freed, strict=True)]
        note = "given back once the functions are gone: {:.0%}, JAX {:.0%}".format(*shares)
        return measures.row_of(name, held, unit="B", note=note)

    return Line(name, measure)


def bytes_of_deep_step(lib: Library, checkpointed: bool = True) -> float:
    """What XLA sets aside for a step, beside its arguments and results."""
    step = programs.step_of(lib, programs.deep_loss(lib, checkpointed))
    params, batch = programs.deep_params(lib, 32, 64), programs.deep_batch(lib, 128, 64)
    compiled = lib.core.jit(step).lower(params, batch).compile()
    return float(compiled.memory_analysis().temp_size_in_bytes)


def deep_step() -> Line:
    name = "memory: deep step with checkpoint"

    def measure(quick: bool) -> Row:
        ours, peer = map(bytes_of_deep_step, libraries())
        return measures.row_of(name, [(ours, peer)], unit="B", note="set aside by XLA")

    return Line(name, measure, 1.05)


def share_of_checkpoint() -> Line:
    name = "memory: deep step, checkpoint / none"

    def measure(quick: bool) -> Row:
        lib, _ = libraries()
        little, much = bytes_of_deep_step(lib), bytes_of_deep_step(lib, checkpointed=False)
        return measures.row_of(
            name, [(little, much)], unit="B", note="the peer is glassjax without"
        )

    return Line(name, measure, 0.5)


def share_of_chunks() -> Line:
    name = "memory: Jacobian of 256 columns, chunks of 32 / at once"

    def measure(quick: bool) -> Row:
        lib, _ = libraries()
        jnp = lib.numpy
        args = jnp.ones(256), jnp.ones((256, 4096)), jnp.ones((4096, 256))

        def layer(x: Any, inner: Any, outer: Any) -> Any:
            return jnp.tanh(jnp.sin(x @ inner) @ outer)

        def size(batch_size: int | None) -> float:
            jacobian = lib.core.jit(lib.core.jacfwd(layer, batch_size=batch_size))
            return float(jacobian.lower(*args).compile().memory_analysis().temp_size_in_bytes)

        return measures.row_of(
            name, [(size(32), size(None))], unit="B", note="the peer is glassjax without"
        )

    return Line(name, measure, 0.25)


def explained_deep_step() -> Line:
    name = "memory: deep step by line, explain_memory / compile"

    def measure(quick: bool) -> Row:
        lib, _ = libraries()
        step = programs.step_of(lib, programs.deep_loss(lib, False))
        args = programs.deep_params(lib, 32, 64), programs.deep_batch(lib, 128, 64)
        explain = lib.core.explain_memory(step, checkpoints=False)
        with lib.core.config.override(enable_compilation_cache=False):
            pairs = measures.interleaved(
                lambda: explain(*args),
                lambda: lib.core.jit(lambda *args: step(*args)).lower(*args).compile(),
                QUICK_PAIRS if quick else PAIRS,
            )
        return measures.row_of(name, pairs, note="the peer is glassjax without")

    return Line(name, measure, 2.0)


LINES = [
    in_fresh_processes("memory: import", IMPORT, "beside Python and numpy"),
    in_fresh_processes("memory: first result of a small jit", FIRST_RESULT, "import included"),
    in_fresh_processes("memory: trace of 100,000 equations", TRACE, "peak"),
    cached_executable(),
    deep_step(),
    share_of_checkpoint(),
    share_of_chunks(),
    explained_deep_step(),
]
