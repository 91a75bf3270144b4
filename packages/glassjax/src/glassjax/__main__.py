"""The commands of `python -m glassjax`, which show the stages of a function."""

import argparse
import ast
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from glassjax.errors.arguments import require_call
from glassjax.explaining.explain import explain
from glassjax.explaining.memory import explain_memory
from glassjax.explaining.step import step
from glassjax.numpy.creation import asarray
from glassjax.runtime.staging import ShapeDtypeStruct
from glassjax.settings.names import function_named
from glassjax.transforms.autodiff import value_and_grad
from glassjax_stage2.source import name_of
from glassjax_stage2.tree import tree_map

FUNCTION = "FILE:FUNCTION or MODULE:FUNCTION"
ARGUMENT = "a type, such as f32[3,4], or a literal of Python; nested lists of numbers are arrays"

_TYPE = re.compile(r"(bool|bf16|[fiuc]\d+)\[([\d, ]*)\]")
_KINDS = {"f": "float", "i": "int", "u": "uint", "c": "complex"}


def parse_argument(text: str) -> Any:
    """Parse a value or type: `f32[3,4]`, `2.0`, `[1.0, 2.0]`, `{"w": 3}`.

    Raises:
        ValueError: the text is neither.

    >>> parse_argument("f32[3,4]")
    ShapeDtypeStruct(shape=(3, 4), dtype=float32)
    >>> parse_argument("(2.0, [1, 2])")
    (2.0, Array([1, 2], dtype=int32))
    """
    if found := _TYPE.fullmatch(text.strip()):
        name, shape = found.groups()
        sizes = tuple(int(size) for size in shape.split(",") if size.strip())
        if name == "bf16":
            return ShapeDtypeStruct(sizes, "bfloat16")
        name = re.sub(r"^[fiuc](?=\d)", lambda kind: _KINDS[kind[0]], name)
        try:
            return ShapeDtypeStruct(sizes, name)
        except TypeError:
            raise ValueError(f"{text!r} is not a type: there is no dtype {name}") from None
    try:
        return _with_arrays(ast.literal_eval(text))
    except (SyntaxError, ValueError):
        raise ValueError(f"expected {ARGUMENT}; found {text!r}") from None


def _with_arrays(x: Any) -> Any:
    """A literal, with arrays in place of lists of numbers."""
    if isinstance(x, list):
        numbers = np.asarray(x)  # raises ValueError for ragged lists
        return asarray(x) if numbers.dtype.kind in "biufc" else list(map(_with_arrays, x))
    if isinstance(x, tuple):
        return tuple(map(_with_arrays, x))
    if isinstance(x, dict):
        return {key: _with_arrays(value) for key, value in x.items()}
    return x


def _explain(given: argparse.Namespace) -> None:
    explanation = explain(given.function)(*given.arguments)
    if given.save:
        explanation.save(given.save)
    else:
        print(explanation.pretty_print())


def _memory(given: argparse.Namespace) -> None:
    function = value_and_grad(given.function) if given.grad else given.function
    memory = explain_memory(function)(*given.arguments)
    if given.save:
        memory.save(given.save)
    else:
        print(memory)


def _step(given: argparse.Namespace) -> None:
    execution = step(given.function)(*tree_map(_random_numbers, given.arguments))
    for where in given.breakpoint:
        try:
            execution.break_at(where)
        except ValueError as error:
            raise SystemExit(f"step: {error}") from None
    if not given.save:
        execution.prompt()
        return
    while not execution.has_ended:
        execution.run()
    execution.save(given.save)


def _random_numbers(x: Any) -> Any:
    """Numbers for a type: normally distributed, or small integers."""
    if not isinstance(x, ShapeDtypeStruct):
        return x
    generator = np.random.default_rng(0)
    is_integer = x.dtype.kind in "iub"
    numbers = generator.integers(0, 2, x.shape) if is_integer else generator.normal(size=x.shape)
    return asarray(numbers, x.dtype)


def _type(function: Callable[[str], Any]) -> Callable[[str], Any]:
    """A function of a text, with ValueErrors converted for argparse."""

    def parsed(text: str) -> Any:
        try:
            return function(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return parsed


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m glassjax", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, command, summary in (
        ("explain", _explain, "show a function at every stage from its source to XLA's program"),
        ("memory", _memory, "show the memory that a function takes, by line of its program"),
        ("step", _step, "execute a function equation by equation; types stand for random numbers"),
    ):
        add = commands.add_parser(name, help=summary, description=summary)
        add.add_argument("function", metavar="FUNCTION", type=_type(function_named), help=FUNCTION)
        add.add_argument(
            "arguments", metavar="ARGUMENT", type=_type(parse_argument), nargs="*", help=ARGUMENT
        )
        add.add_argument("--save", metavar="FILE", help="write a page in place of text")
        if command is _step:
            add.add_argument(
                "--breakpoint",
                metavar="WHERE",
                action="append",
                default=[],
                help="the number of an equation, or FILE:LINE, where it stops",
            )
        if command is _memory:
            add.add_argument("--grad", action="store_true", help="of the function and its gradient")
        add.set_defaults(command=command, name=name)
    given = parser.parse_args(arguments)
    try:
        who = f"{given.name} of `{name_of(given.function)}`"
        require_call(who, given.function, given.arguments, {})
    except TypeError as error:
        parser.error(str(error))
    given.command(given)


if __name__ == "__main__":
    main()
