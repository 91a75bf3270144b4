"""Bad input: every parameter of every public function and method is what it must not be.

    python -m fuzzing.bad_input --seconds 600 --seed 1
    python -m fuzzing.bad_input numpy.pad random.split
    python -m fuzzing.bad_input --part 2/8 --seconds 3600

What has to come of it is a result, or an error that our code raises on purpose; not an error from
the insides of glassjax, numpy or jaxlib, a call that does not end, a process that dies, nor a
result where JAX raises an error, unless `fuzzing/accepted_calls.py` says that it is meant.
"""

import argparse
import contextlib
import inspect
import os
import random
import resource
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from dis import opmap
from multiprocessing import get_context
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, NamedTuple

from fuzzing.accepted_calls import is_meant
from fuzzing.bad_values import BAD_VALUES
from fuzzing.docstring_calls import Call, calls_of, function_of, public_functions
from fuzzing.method_calls import is_method, parameters_of

TIME_LIMIT = 20.0  # seconds for one call; a machine that does much else is slow
MEMORY_LIMIT = 8 << 30  # bytes of a worker's data

# Functions that change the process, wait for somebody, or write what is theirs to write.
LEFT_OUT = {
    "clear_caches", "debug.breakpoint", "live_arrays", "numpy.save", "numpy.savez",
    "print_environment_info",
}  # fmt: skip

# What an error from the insides is. A class of ours may be one of these, too.
INTERNAL = (
    AssertionError,
    AttributeError,
    KeyError,
    RecursionError,
    SystemError,
    UnboundLocalError,
)


# What the class int says, which is called as any function is where it is passed for one.
OF_THE_CLASS_INT = ("TypeError: int() ", "TypeError: int expected ")


class Case(NamedTuple):
    """One call in which one argument is bad."""

    function: str
    number: int  # of the call in the example
    place: int | str | tuple[int, int]  # an argument, or (call of the result, its argument)
    parameter: str  # its name, or its number where it has none
    value: str

    def __str__(self) -> str:
        of_result = "(...)" if isinstance(self.place, tuple) else ""
        return f"{self.function}{of_result}({self.parameter}={self.value})"


@dataclass(frozen=True)
class Outcome:
    kind: str  # "result", "error", "meant", "internal", "accepted", "hang", "death"
    text: str = ""
    where: str = ""

    @property
    def is_finding(self) -> bool:
        return self.kind not in ("result", "error", "meant")


# Cases


def places(name: str, function: Any, call: Call) -> list[int | str | tuple[int, int]]:
    """Which arguments of a call can be replaced, those with a default included."""
    found: list[int | str | tuple[int, int]] = [*range(len(call.args)), *call.kwargs]
    if is_method(name):  # `self` is what it is
        return [*found[1:], *(p for p in parameters_of(name) if p not in call.kwargs)]
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    for i, parameter in enumerate(parameters):
        by_name = parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        is_given = i < len(call.args) or parameter.name in call.kwargs
        has_star = any(p.kind is p.VAR_POSITIONAL for p in parameters[:i])
        if by_name and (has_star or not is_given):
            found.append(parameter.name)
    for number, (args, _) in enumerate(call.of_result[:1]):
        found += [(number, i) for i in range(len(args))]
    return found


def cases_of(name: str) -> Iterator[Case]:
    """All cases of a function: of the first call of its example that is not an error there."""
    for number, call in enumerate(calls_of("glassjax", name)[:1]):
        for place in places(name, function_of("glassjax", name), call):
            parameter = _parameter_at(name, place)
            yield from (Case(name, number, place, parameter, value) for value in BAD_VALUES)


def _parameter_at(name: str, place: int | str | tuple[int, int]) -> str:
    """The name of the parameter at a place; its number where it has none of its own."""
    number = place[1] if isinstance(place, tuple) else place
    if isinstance(place, int) and not is_method(name):
        with contextlib.suppress(TypeError, ValueError, IndexError):
            parameter = list(inspect.signature(function_of("glassjax", name)).parameters.values())[
                place
            ]
            if parameter.kind is not parameter.VAR_POSITIONAL:
                return parameter.name
    return str(number)


def run(library: Any, calls: list[Call], case: Case) -> Any:
    """Calls the function with the bad argument, and what it returns if the example does."""
    call = calls[case.number]
    bad = BAD_VALUES[case.value](library)
    args, kwargs, of_result = list(call.args), dict(call.kwargs), list(call.of_result[:1])
    if isinstance(case.place, tuple):
        number, place = case.place
        theirs, named = of_result[number]
        theirs = tuple(bad if i == place else x for i, x in enumerate(theirs))
        of_result[number] = theirs, named
    elif isinstance(case.place, int):
        args[case.place] = bad
    else:
        kwargs[case.place] = bad
    result = function_of(library.__name__, case.function)(*args, **kwargs)
    if hasattr(result, "__enter__") and hasattr(result, "__exit__"):
        with result:
            pass
    for more, named in of_result:
        result(*more, **named)
    return result


# What became of a case


def _is_ours(filename: str) -> bool:
    return f"{os.sep}glassjax" in filename and "site-packages" not in filename


def is_on_purpose(error: BaseException) -> bool:
    """Return True if a `raise` of ours, or of the program that is tried, raised the error."""
    if type(error).__module__.startswith("glassjax"):
        return True
    last: TracebackType | None = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    assert last is not None
    if isinstance(error, OSError):  # of a file that is not there
        return True
    *_, above, frame = [None, *(f for f, _ in traceback.walk_tb(error.__traceback__))]
    is_operator = frame is not None and frame.f_code.co_name in ("__bool__", "__index__")
    if above is not None and is_operator and above.f_code.co_filename.startswith("<example"):
        return True
    code = last.tb_frame.f_code
    if code.co_filename == __file__ or code.co_filename.startswith("<example"):
        return True
    if not _is_ours(code.co_filename) or isinstance(error, INTERNAL):
        return False
    return code.co_code[last.tb_lasti] == opmap["RAISE_VARARGS"]


def place_of(error: BaseException) -> str:
    """The innermost line of ours, and the function that raised the error."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if _is_ours(f.filename)] or frames
    where = f"{ours[-1].filename.partition('/src/')[2]}:{ours[-1].lineno} {ours[-1].name}"
    return where if frames[-1] is ours[-1] else f"{where} -> {frames[-1].name}"


class Trial:
    """The trials of one function, with what its example calls in both libraries."""

    def __init__(self, name: str, with_jax: bool):
        self.name = name
        self.ours = calls_of("glassjax", name)
        self.theirs = calls_of("jax", name) if with_jax else []

    def ours_of(self, case: Case) -> Outcome:
        """What becomes of the case here."""
        import glassjax

        try:
            run(glassjax, self.ours, case)
        except Exception as error:
            text = f"{type(error).__name__}: {_first_line(error)}"
            if is_on_purpose(error) or text.startswith(OF_THE_CLASS_INT):
                return Outcome("error", text)
            return Outcome("internal", text, place_of(error))
        return Outcome("result")

    def beside_jax(self, case: Case) -> Outcome:
        """What becomes of a case that has a result here: whether JAX has one, too."""
        if len(self.theirs) != len(self.ours):
            return Outcome("result")
        import jax

        try:
            run(jax, self.theirs, case)
        except Exception as error:
            text = f"{type(error).__name__}: {_first_line(error)}"
            return Outcome("meant" if is_meant(str(case), text) else "accepted", text)
        return Outcome("result")


def _first_line(error: BaseException) -> str:
    try:
        return (str(error).splitlines() or [""])[0][:200]
    except Exception as another:
        return f"(its message is an error: {another!r:.60})"


# The worker


def work(pipe: Connection, with_jax: bool) -> None:
    """Tells for each case that comes what became of it, until the pipe is closed."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_LIMIT, MEMORY_LIMIT))
    os.chdir(tempfile.mkdtemp())
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.dup2(nowhere, sys.stderr.fileno())
    import glassjax

    glassjax.config.update("traceback_filtering", "off")
    warnings.simplefilter("ignore")
    trial: Trial | None = None
    while True:
        try:
            asked = pipe.recv()
        except EOFError:
            return
        if isinstance(asked, str):
            pipe.send(list(cases_of(asked)))
            continue
        if trial is None or trial.name != asked.function:
            trial = Trial(asked.function, with_jax)
        pipe.send(None)  # the time runs from here
        outcome = trial.ours_of(asked)
        if outcome.kind == "result":
            pipe.send(None)  # and from here on it is JAX that hangs or dies
            outcome = trial.beside_jax(asked)
        pipe.send(outcome)


class Worker:
    """A process that runs cases, and is replaced by another when one hangs or kills it."""

    def __init__(self, with_jax: bool):
        self.with_jax = with_jax
        self._start()

    def _start(self) -> None:
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=work, args=(theirs, self.with_jax), daemon=True)
        self.process.start()
        theirs.close()

    def restart(self) -> None:
        self.stop()
        self._start()

    def stop(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()

    def cases(self, name: str) -> list[Case]:
        self.pipe.send(name)
        found = self._received(10 * TIME_LIMIT)
        return found if isinstance(found, list) else []

    def outcome(self, case: Case) -> Outcome:
        with contextlib.suppress(OSError):
            self.pipe.send(case)
        found = self._received(10 * TIME_LIMIT)  # the first case compiles its example
        if found is None:
            found = self._received(TIME_LIMIT)
        if found is None:
            found = self._received(TIME_LIMIT)
            return found if found.kind in ("accepted", "meant") else Outcome("result")
        return found  # type: ignore[no-any-return]

    def _received(self, seconds: float) -> Any:
        try:
            if self.pipe.poll(seconds):
                return self.pipe.recv()
            outcome = Outcome("hang", f"no answer in {seconds:.0f} s")
        except (EOFError, OSError):
            self.process.join()
            outcome = Outcome("death", f"exit code {self.process.exitcode}")
        self.restart()
        return outcome


def tried(cases_of_all: list[str], seconds: float, seed: int, share: float, with_jax: bool,
          values: list[str] | None = None) -> dict[Case, Outcome]:  # fmt: skip
    """The outcomes of the cases, in an order drawn, until the time is over."""
    draw = random.Random(seed)
    names = list(cases_of_all)
    draw.shuffle(names)
    worker = Worker(with_jax)
    end = time.monotonic() + seconds
    found: dict[Case, Outcome] = {}
    try:
        for name in names:
            if time.monotonic() > end:
                break
            doubtful = []
            for case in worker.cases(name):
                chosen = values is None or case.value in values
                if chosen and (draw.random() < share) and time.monotonic() < end:
                    found[case] = worker.outcome(case)
                    if found[case].kind == "accepted":
                        doubtful.append(case)
            if doubtful:  # an earlier case may have spoiled JAX, which refuses all since then
                worker.restart()
                found |= {case: worker.outcome(case) for case in doubtful}
    finally:
        worker.stop()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("functions", nargs="*", help="only these, such as numpy.pad")
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10_000))
    parser.add_argument("--share", type=float, default=1.0, help="of the cases of each function")
    parser.add_argument("--value", action="append", choices=BAD_VALUES, help="only such values")
    parser.add_argument(
        "--part", default="1/1", help="2/8: every eighth function, the second first"
    )
    parser.add_argument("--no-jax", action="store_true", help="do not compare with JAX")
    options = parser.parse_args()
    names = options.functions or [n for n in public_functions() if n not in LEFT_OUT]
    part, parts = map(int, options.part.split("/"))
    names = names[part - 1 :: parts]
    found = tried(names, options.seconds, options.seed, options.share, not options.no_jax,
                  options.value)  # fmt: skip
    report(found, options.seed)
    return int(any(outcome.is_finding for outcome in found.values()))


def report(found: dict[Case, Outcome], seed: int) -> None:
    kinds = Counter(outcome.kind for outcome in found.values())
    print(f"seed {seed}: {len(found)} calls of {len({c.function for c in found})} functions")
    print(", ".join(f"{kind}: {count}" for kind, count in kinds.most_common()))
    groups: dict[tuple[str, str], list[tuple[Case, Outcome]]] = {}
    for case, outcome in found.items():
        if outcome.is_finding:
            key = outcome.where or case.function
            groups.setdefault((outcome.kind, key), []).append((case, outcome))
    for (kind, where), members in sorted(groups.items(), key=lambda g: (g[0][0], -len(g[1]))):
        case, outcome = members[0]
        print(f"{kind} x{len(members)} {where}: {case}: {outcome.text}")
        for other, its in members[1:3]:
            print(f"    {other}: {its.text[:120]}")


if __name__ == "__main__":
    sys.exit(main())
