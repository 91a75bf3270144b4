"""A recorder: each operation of a program, which interpreter handled it, and by which rule.

While a recording is on, looking up `interpret_op` of an interpreter gives a method that records its
calls. Otherwise nothing differs: a recorder that is off costs nothing.
"""

import ast
import inspect
import linecache
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partial, singledispatch
from importlib import import_module
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from glassjax_stage1.interpreter import Boxed, EvalInterpreter, Interpreter, evaluator
from glassjax_stage1.staging import StagedValue
from glassjax_watch.recording import Level, Recording, Rule, Shown, Step


@contextmanager
def record(max_steps: int = 10_000) -> Iterator[Recording]:
    """A context that records the operations that run in it, in this thread.

    Arguments:
        max_steps: the number of steps to record; further ones are only counted.

    Returns:
        The recording, which grows. Print it, read its `steps`, or step through it on a page:
        notebooks show one, `save` writes one to a file.

    Raises:
        TypeError: `max_steps` is not an int.

    >>> from glassjax_stage1 import derivative, mul
    >>> with record() as recording:
    ...     slope = derivative(lambda x: mul(x, x), 3.0)
    >>> [(step.primitive, step.depth, step.interpreter) for step in recording.steps[:2]]
    [('mul', 0, 'jvp of `<lambda>`'), ('mul', 1, 'evaluation')]
    >>> recording.steps[0].outcome
    'DualNumber(9.0, 6.0)'
    """
    if not isinstance(max_steps, int):
        raise TypeError(f"record: max_steps must be an int, found {max_steps!r}; write record()")
    _know_stages()
    recording = Recording(max_steps)
    frames = _frames.get()
    _recordings_that_run(+1)
    _frames.set((*frames, _Frame(recording)))
    try:
        yield recording
    finally:
        _frames.set(frames)
        _recordings_that_run(-1)
        recording.end()


def _know_stages() -> None:
    """Import the recorder's support for the stages that the program uses."""
    for number in (2, 3, 4):
        if f"glassjax_stage{number}" in sys.modules:
            import_module(f"glassjax_watch.stage{number}")


class _Frame(NamedTuple):
    """A recording, and the interpreters whose rules are running, innermost last."""

    recording: Recording
    handlers: tuple[Interpreter, ...] = ()


_frames: ContextVar[tuple[_Frame, ...]] = ContextVar("frames_of_recordings", default=())
_number_of_recordings = 0
_lock = Lock()


def _recordings_that_run(change: int) -> None:
    """Count the recordings of all threads; while there are any, `watched` is replaced."""
    global _number_of_recordings
    with _lock:
        was_on = _number_of_recordings > 0
        _number_of_recordings += change
        if was_on == (_number_of_recordings > 0):
            return
        for cls, replacements in watched.items():
            for name, replacement in replacements.items():
                replacements[name] = vars(cls).get(name)  # to restore or replace next time
                if replacement is None:
                    delattr(cls, name)
                else:
                    setattr(cls, name, replacement)


def is_recorded() -> bool:
    """Return True if this thread is recording."""
    return bool(_frames.get())


def _watched(interpreter: Interpreter, name: str) -> Any:
    attribute = object.__getattribute__(interpreter, name)
    if name in ("interpret_op", "process") and is_recorded():  # stage 2's name is `process`
        return partial(_recorded, interpreter, attribute)
    return attribute


# By class, the methods that are replaced during recordings.
watched: dict[type, dict[str, Any]] = {Interpreter: {"__getattribute__": _watched}}


def _recorded(
    interpreter: Interpreter, method: Callable[..., Any], op: Any, args: Any, *params: Any
) -> Any:
    """Call `method` of `interpreter`, and record the call."""
    before = _frames.get()
    frames = [frame for frame in before if not frame.recording.has_ended]
    _frames.set(())  # operations that show values are not recorded
    try:
        steps = [_begin(frame, interpreter, method, op, args, *params) for frame in frames]
        _frames.set(tuple(_Frame(r, (*handlers, interpreter)) for r, handlers in frames))
        try:
            result = method(op, args, *params)
        except BaseException as error:
            for begun in filter(None, steps):
                begun.error = f"{type(error).__name__}: {error}".partition("\n")[0]
            raise
        _frames.set(())
        outs = result if isinstance(result, list) else [result]
        for (recording, _), step in zip(frames, steps, strict=True):
            if step is not None:
                step.results = tuple(shown(out, recording) for out in outs)
                if _is_left_to_parent(interpreter, args, step, recording.steps):
                    step.rule = None
        return result
    finally:
        _frames.set(before)


def _begin(
    frame: _Frame,
    interpreter: Interpreter,
    method: Callable[..., Any],
    op: Any,
    args: Any,
    params: Any = None,
) -> Step | None:
    recording, handlers = frame
    if len(recording.steps) >= recording.max_steps:
        recording.left_out += 1
        return None
    stack = stack_of(interpreter)
    level = len(stack) - 1
    stack += [pending for pending in dict.fromkeys(handlers[::-1]) if pending not in stack]
    place, line = user_line()
    step = Step(
        primitive=op.name,
        args=tuple(shown(x, recording) for x in args),
        params={name: shortened(value) for name, value in (params or {}).items()},
        depth=len(handlers),
        stack=tuple(map(Level, map(_label, stack), recording.color(stack))),
        level=level,
        rule=rule_of(interpreter, method, op, args),
        place=place,
        line=line,
    )
    recording.steps.append(step)
    return step


def user_line() -> tuple[str, str]:
    """The place and the text of the user's running line; empty if there is none."""
    for find in finders:
        if (found := find()) is not None:
            return place_of(*found), linecache.getline(*found).strip()
    return "", ""


def _line_outside() -> tuple[str, int] | None:
    """File and line of the innermost function outside the stages and this package."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(_MACHINERY):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


_MACHINERY = "glassjax_stage", "glassjax_watch", "contextlib", "functools"

# How the user's line is found: stage 2 knows better than stage 1, whose values need no source.
finders: list[Callable[[], tuple[str, int] | None]] = [_line_outside]


def place_of(file: str, line: int) -> str:
    """A place for readers: without the folder, or only the line if it is not a file."""
    return f"line {line}" if file.startswith("<") else f"{Path(file).name}:{line}"


def _is_left_to_parent(interpreter: Interpreter, args: Any, step: Step, steps: list[Step]) -> bool:
    """Return True if a step only applies the same operation in the parent."""
    begin = next(i for i in range(len(steps) - 1, -1, -1) if steps[i] is step)
    inside = [each.primitive for each in steps[begin + 1 :] if each.depth == step.depth + 1]
    is_own = any(isinstance(x, Boxed) and x.interpreter is interpreter for x in args)
    return inside == [step.primitive] and not is_own


def _label(interpreter: Interpreter) -> str:
    if interpreter.function_name != "<unknown>":
        return str(interpreter)
    is_named = interpreter.transformation != Interpreter.transformation
    return interpreter.transformation if is_named else type(interpreter).__name__


def stack_of(interpreter: Interpreter) -> list[Interpreter]:
    """An interpreter and all below it, evaluation first."""
    stack = interpreter.stack()
    bottom = bottom_of(stack[-1])
    return [bottom, *reversed([each for each in stack if each is not bottom])]


@singledispatch
def bottom_of(interpreter: Interpreter) -> Interpreter:
    """The evaluation at the bottom of a stack, below an interpreter without a parent."""
    return evaluator


@bottom_of.register
def _bottom_itself(interpreter: EvalInterpreter) -> Interpreter:
    return interpreter


def shown(x: Any, recording: Recording) -> Shown:
    """`x` for readers."""
    try:
        return show(x, recording)
    except Exception:  # from a user's class
        return Shown(f"<{type(x).__name__}>")


@singledispatch
def show(x: Any, recording: Recording) -> Shown:
    """Show a value, by its class; later stages add theirs."""
    return Shown(shortened(x))


@show.register
def _show_boxed(x: Boxed, recording: Recording) -> Shown:
    apart = "interpreter", "source", "aval"  # some boxes store their type
    parts = [(name, shown(part, recording)) for name, part in vars(x).items() if name not in apart]
    return boxed(x, recording, parts=tuple(parts))


@show.register
def _show_staged(x: StagedValue, recording: Recording) -> Shown:
    name = recording.name_of(x.var, x.interpreter, (f"v_{number}" for number in count(1)))
    return boxed(x, recording, name)


def boxed(x: Boxed, recording: Recording, text: str = "", parts: Any = ()) -> Shown:
    """A box in the color of the interpreter that owns it."""
    *_, color = recording.color(stack_of(x.interpreter))
    return Shown(text, type(x).__name__, color, parts)


def shortened(x: Any, length: int = 60) -> str:
    """The text of a value, on one line, cut to `length`."""
    text = " ".join(repr(x).split())
    return text if len(text) <= length else text[: length - 3] + "..."


@singledispatch
def rule_of(interpreter: Interpreter, method: Callable[..., Any], op: Any, args: Any) -> Rule:
    """The rule by which an interpreter handles an operation: a case of its method."""
    function = getattr(method, "__func__", method)
    return Rule(function.__qualname__, case_of(function, str(op)))


@cache
def case_of(function: Callable[..., Any], pattern: str) -> str:
    """The case for `pattern` in the source of a function; all of it if there is none."""
    text = source_of(function)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.match_case) and ast.unparse(node.pattern) == pattern:
            lines = text.splitlines()[node.pattern.lineno - 1 : node.body[-1].end_lineno]
            return textwrap.dedent("\n".join(lines))
    return text


def source_of(function: Callable[..., Any]) -> str:
    """The source of a function, without indentation; empty if it has no source."""
    try:
        return for_readers(inspect.getsource(function))
    except (OSError, TypeError):
        return ""


def for_readers(text: str) -> str:
    """Source without indentation and comments for type checkers."""
    return textwrap.dedent(re.sub(r"  #\s*type:.*", "", text)).rstrip()
