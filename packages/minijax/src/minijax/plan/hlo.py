"""Optimized programs in HLO notation: their computations, and how often each of them runs."""

import math
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple


class ArrayType(NamedTuple):
    """The dtype, by HLO's name, and the shape of an array."""

    dtype: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The number of bytes."""
        width = _WIDTH.match(self.dtype)
        bits = int(width[1]) if width else 8 if self.dtype == "pred" else 0  # a token has none
        return -(-self.size * bits // 8)


class Instruction(NamedTuple):
    """An instruction: the types of its results, its operation, operands by name, and attributes."""

    types: tuple[ArrayType, ...]
    opcode: str
    operands: tuple[str, ...]
    attributes: str

    @property
    def nbytes(self) -> int:
        """The bytes of its results."""
        return sum(each.nbytes for each in self.types)


Computation = dict[str, Instruction]

_WIDTH = re.compile(r"[a-z]+(\d+)")
_ARRAY = re.compile(r"([a-z]\w*)\[([\d,<=]*)\]")
_NAME = re.compile(r"%?([\w.-]+)$")
_HEAD = re.compile(r"^(ENTRY )?%?([\w.-]+) \(.*\{$")
_CALL = re.compile(r"(\w+)=(?:%?([\w.-]+)|\{((?:%[\w.-]+(?:, )?)+)\})")
_CALLING = {
    "body", "branch_computations", "called_computations", "calls", "condition", "false_computation",
    "to_apply", "true_computation",
}  # fmt: skip
_LENGTH = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')


class HloModule:
    """A program, read from its text.

    Attributes:
        computations: the instructions of each computation, by name; callees precede callers.
        entry: the name of the computation that is the program.
        argument_types: the type of the part of each argument that a device holds.
        times: how often each computation runs, where a loop counts as often as XLA knows that it
            runs, and each branch as if it were taken.
        unbounded: the number of loops of which XLA does not know how often they run; they count
            once.
    """

    def __init__(self, text: str):
        self.computations: dict[str, Computation] = {}
        self.entry = ""
        current: Computation = {}
        for line in text.splitlines():
            if head := _HEAD.match(line):
                self.computations[head[2]] = current = {}
                if head[1]:
                    self.entry = head[2]
            elif " = " in line and line.startswith(" "):
                name, _, rest = line.strip().removeprefix("ROOT ").partition(" = ")
                current[name.removeprefix("%")] = _instruction(rest)
        if not self.entry:
            raise ValueError("HLO text has no ENTRY computation")
        self.argument_types = _arguments(self.computations[self.entry])
        self.unbounded = 0
        self.times = self._times()

    def instructions(self) -> Iterator[tuple[Computation, Instruction, int]]:
        """Each instruction, with the computation that it is in, and how often it runs."""
        for name, computation in self.computations.items():
            for instruction in computation.values():
                if times := self.times[name]:
                    yield computation, instruction, times

    def _times(self) -> dict[str, int]:
        times: dict[str, int] = defaultdict(int)
        times[self.entry] = 1
        for name in reversed(self.computations):
            for instruction in self.computations[name].values():
                count = 1
                if instruction.opcode == "while":
                    length = _LENGTH.search(instruction.attributes)
                    self.unbounded += length is None
                    count = int(length[1]) if length else 1
                for callee in _callees(instruction):
                    times[callee] += count * times[name]
        return times


def _callees(instruction: Instruction) -> Iterator[str]:
    for role, name, names in _CALL.findall(instruction.attributes):
        if role in _CALLING:
            yield from [name] if name else [each.strip(" %") for each in names.split(",")]


def _instruction(text: str) -> Instruction:
    """An instruction from its text after the equals sign."""
    end = _closing(text, 0) if text.startswith("(") else text.index(" ")
    opcode, _, _ = text[end:].strip().partition("(")
    start = text.index("(", end)
    end_of_operands = _closing(text, start)
    operands = text[start + 1 : end_of_operands - 1]
    names = [_NAME.search(each.strip()) for each in operands.split(",")]
    return Instruction(
        _types(text[:end]),
        opcode,
        tuple([name[1] for name in names if name]),
        text[end_of_operands:],
    )


def _closing(text: str, start: int) -> int:
    """The position after the parenthesis that closes the one at `start`."""
    depth = 0
    for position in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        if depth == 0:
            return position + 1
    raise ValueError(f"HLO text has an open parenthesis: {text[:80]}")


def _types(text: str) -> tuple[ArrayType, ...]:
    return tuple(
        ArrayType(dtype, tuple([int(size.strip("<=")) for size in sizes.split(",") if size]))
        for dtype, sizes in _ARRAY.findall(text)
    )


def _arguments(entry: Computation) -> list[ArrayType]:
    found = {}
    for instruction in entry.values():
        if instruction.opcode == "parameter":
            (number,) = instruction.operands
            (found[int(number)],) = instruction.types
    return [found[number] for number in sorted(found)]
