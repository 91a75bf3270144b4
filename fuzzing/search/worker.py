"""The process that computes: it may hang or die, and is replaced then."""

import contextlib
import math
import multiprocessing
import re
import time
import traceback
import warnings
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from fuzzing.search import comparing
from fuzzing.search.arguments import Array
from fuzzing.search.comparing import Difference, Leaf, Raised
from fuzzing.search.differences import as_meant, is_deliberate
from fuzzing.search.programs import Program
from fuzzing.search.running import libraries, made, quiet_numpy, result_of, with_results_moved

TIME_LIMIT = 60.0  # seconds for one program, of which JAX uses a second
MOST_PROGRAMS = 400  # a process keeps what it has compiled


@dataclass
class Outcome:
    """What came of a program: a difference or none, and the seconds that each library took.

    The seconds are those of this process, not of others beside it; infinite where JAX refuses.
    """

    difference: Difference | None = None
    ours: float = 0.0
    theirs: float = 0.0


class Worker:
    """A process that computes programs, one after another; a new one after it died or hung."""

    def __init__(self, most_programs: int = MOST_PROGRAMS) -> None:
        self.process: Any = None
        self.done = 0
        self.most_programs = most_programs

    def outcome(self, program: Program) -> Outcome:
        """Compares what the libraries give for a program."""
        answer = self._ask(("compare", program))
        return answer if isinstance(answer, Outcome) else Outcome()

    def types(self, program: Program) -> list[Array] | None:
        """The results of a program's function, as JAX says; None if it refuses."""
        answer = self._ask(("types", program))
        return answer if isinstance(answer, list) else None

    def _ask(self, request: tuple[str, Program]) -> Any:
        if self.process is None or self.done >= self.most_programs:
            self._start()
        self.done += 1
        library = ""
        try:
            self.connection.send(request)
            end = time.monotonic() + TIME_LIMIT
            while self.connection.poll(max(0.0, end - time.monotonic())):
                answer = self.connection.recv()
                if not isinstance(answer, str):
                    return answer
                library = answer  # which library has its turn
                end = time.monotonic() + TIME_LIMIT
            kind = "hang"
            detail = f"no result after {TIME_LIMIT:.0f} s"
        except (EOFError, ConnectionError, BrokenPipeError):
            self.process.join(5)
            kind, detail = "crash", f"the process ended with {self.process.exitcode}"
        self.close()
        if library == "glassjax":
            return Outcome(Difference(kind, detail))
        return None  # JAX, or the asking for types

    def _start(self) -> None:
        self.close()
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()
        self.done = 0

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.connection.close()
            self.process = None


# In the process


def serve(connection: Connection) -> None:
    """Answers requests for ever."""
    warnings.simplefilter("ignore")
    with contextlib.suppress(EOFError):
        while True:
            kind, program = connection.recv()
            if kind == "types":
                connection.send(types_of(program))
                continue
            try:
                outcome = compared(program, connection.send)
            except Exception:  # the comparison's own, which must not look like an agreement
                outcome = Outcome(Difference("comparison", traceback.format_exc()))
            connection.send(outcome)


def types_of(program: Program) -> list[Array] | None:
    _, jax = libraries()
    try:
        with jax.enable_x64(program.x64):
            f, args = made(program, jax)
            result = jax.eval_shape(f, *args)
    except Exception:
        return None
    parts = {"y": result}
    if isinstance(result, tuple | list):
        parts = {f"y[{i}]": part for i, part in enumerate(result)}
    return [
        Array(source, tuple(part.shape), str(part.dtype))
        for source, part in parts.items()
        if isinstance(part, jax.ShapeDtypeStruct)
    ]


def compared(program: Program, turn: Any = lambda library: None) -> Outcome:
    """Computes a program by both libraries, JAX first, and compares."""
    glassjax, jax = libraries()
    turn("jax")
    start = time.process_time()
    theirs = result_of(program, jax)
    turn("glassjax")
    middle = time.process_time()
    ours = result_of(program, glassjax)
    end = time.process_time()
    turn("jax")
    seconds_of_jax = math.inf if isinstance(theirs, Raised) else middle - start
    theirs = as_meant(program, ours, theirs)
    found = comparing.difference(ours, theirs)
    if found and found.kind == "value" and is_ill_conditioned(program, ours, theirs):
        found = None
    if found and found.kind == "value" and is_nearer(program, ours, theirs):
        found = None
    if found and is_deliberate(program, found, ours, theirs):
        found = None
    return Outcome(found, end - middle, seconds_of_jax)


def is_ill_conditioned(program: Program, ours: Any, theirs: Any) -> bool:
    """True if JAX itself gives as different results, computed a little differently."""
    _, jax = libraries()
    under = tuple(name for name in program.transformations if name != "disable_jit")
    others = [
        result_of(program, jax, change=2),
        result_of(program, jax, change=-2),
        result_of(replace(program, transformations=under), jax, inner_jit=True),
        result_of(program, jax, one_by_one=True),
        *(result_of(with_results_moved(program, times), jax) for times in (2, -2)),
    ]
    expected = comparing.leaves(theirs)
    results = [expected]
    for other in others:
        leaves: list[Leaf] = [] if isinstance(other, Raised) else comparing.leaves(other)
        if [leaf.shape for leaf in leaves] == [leaf.shape for leaf in expected]:
            results.append(leaves)
    return all(
        x.values is None or comparing.is_among(x.values, [y.values for y in those])
        for x, *those in zip(comparing.leaves(ours), *results, strict=True)
    )


def is_nearer(program: Program, ours: Any, theirs: Any) -> bool:
    """True if what JAX gives in 64 bits is no farther from our result than from JAX's.

    Random numbers of 64 bits are others.
    """
    if any(name.startswith("jax.random.") for name in program.functions):
        return False
    _, jax = libraries()
    # Of integers, too, where these are made numbers of: JAX computes such in float32.
    wide = (
        WIDE
        if all(each.dtype in comparing.TOLERANCES for each in comparing.leaves(ours))
        else WIDE_FLOATS
    )
    inputs = tuple(
        replace(
            each, source=DTYPE.sub(lambda found: f'"{wide.get(found[1], found[1])}"', each.source)
        )
        for each in program.inputs
    )
    truth = result_of(replace(program, inputs=inputs, x64=True), jax)
    exact = [] if isinstance(truth, Raised) else comparing.leaves(truth)
    triples = list(zip(comparing.leaves(ours), comparing.leaves(theirs), exact, strict=False))
    if len(triples) != len(comparing.leaves(ours)):
        return False
    for x, y, true in triples:
        if x.values is None or y.values is None or true.values is None:
            continue
        if not x.shape == y.shape == true.shape or x.values.dtype.kind != true.values.dtype.kind:
            return False
        if comparing.agree(x.values, y.values):
            continue
        with quiet_numpy():
            rounded = true.values.astype(x.values.dtype)
        ours_off, theirs_off = (comparing.spread(each.values, rounded) for each in (x, y))
        if np.any((ours_off > theirs_off) | np.isinf(ours_off)):
            return False
    return True


# The dtypes in the sources of inputs, and those of 64 bits in their place.
DTYPE = re.compile(r'"(\w+)"')
WIDE_FLOATS = {
    "float16": "float64",
    "bfloat16": "float64",
    "float32": "float64",
    "complex64": "complex128",
}
WIDE = WIDE_FLOATS | dict.fromkeys(("int8", "int16", "int32", "uint8", "uint16", "uint32"), "int64")
