"""Compiled programs as data: instructions in order of execution, from XLA's protocol buffers."""

import math
from collections.abc import Iterator
from typing import NamedTuple

from glassjax.xla import protocol_buffers as protobuf
from glassjax.xla.protocol_buffers import Fields, fields_of, messages

# Types, by their numbers in `xla_data.proto`: the name and the bits of an element.

_TYPES = {
    1: ("bool", 8), 2: ("i8", 8), 3: ("i16", 16), 4: ("i32", 32), 5: ("i64", 64), 6: ("u8", 8),
    7: ("u16", 16), 8: ("u32", 32), 9: ("u64", 64), 10: ("f16", 16), 11: ("f32", 32),
    12: ("f64", 64), 15: ("c64", 64), 16: ("bf16", 16), 17: ("token", 0), 18: ("c128", 128),
    21: ("i4", 4), 22: ("u4", 4),
}  # fmt: skip
_TUPLE = 13

Path = tuple[int, ...]  # into nested tuples


class Shape(NamedTuple):
    """The type of an array, or of the parts of a tuple."""

    dtype: str
    sizes: tuple[int, ...]
    bytes: int
    parts: tuple["Shape", ...] | None = None

    def leaves(self, path: Path = ()) -> Iterator[tuple[Path, "Shape"]]:
        """The arrays in it, with their paths."""
        if self.parts is None:
            yield path, self
            return
        for index, part in enumerate(self.parts):
            yield from part.leaves((*path, index))

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.sizes))}]"


def _shape(fields: Fields) -> Shape:
    kind = protobuf.number(fields, 2)
    if kind == _TUPLE:
        return Shape("tuple", (), 0, tuple(map(_shape, messages(fields, 4))))
    name, bits = _TYPES.get(kind, ("f8", 8))  # there are many formats of eight bits
    sizes = tuple(protobuf.numbers(fields, 3))
    return Shape(name, sizes, (bits * math.prod(sizes) + 7) // 8)


class Instruction(NamedTuple):
    """An operation of a compiled program.

    Attributes:
        id: its number in the module.
        name, opcode: as in the program's text.
        shape: the type of its result.
        operands: the numbers of its operands.
        called: the numbers of the computations that it calls.
        number: of a parameter, its position; of a `get-tuple-element`, the part that it reads.
        scope: the names of the program's parts, and of the primitive, that it belongs to.
        file, line: the place in the user's program; empty and 0 if XLA keeps none.
        fields: the rest of its message, such as the groups of a collective.
    """

    id: int
    name: str
    opcode: str
    shape: Shape
    operands: list[int]
    called: list[int]
    number: int
    scope: str
    file: str
    line: int
    fields: Fields


class Computation(NamedTuple):
    """A part of a compiled program: instructions in order of execution, and the last's number."""

    instructions: list[Instruction]
    root: int


class Module(NamedTuple):
    """A compiled program: its computations and instructions by number, and the one that runs.

    Callees precede their callers.
    """

    computations: dict[int, Computation]
    instructions: dict[int, Instruction]
    entry: Computation

    @property
    def arguments(self) -> list[Instruction]:
        """The parameters of the program, in their order."""
        parameters = [x for x in self.entry.instructions if x.opcode == "parameter"]
        return sorted(parameters, key=lambda x: x.number)


def read_module(data: bytes) -> Module:
    """The module in a serialized `HloModuleProto`."""
    fields = fields_of(data)
    order: dict[int, list[int]] = {}
    for entry in messages(protobuf.message(fields, 7), 1):  # a map is a list of pairs
        order[protobuf.number(entry, 1)] = protobuf.numbers(protobuf.message(entry, 2), 1)
    computations, instructions = {}, {}
    for each in messages(fields, 3):
        found = {x.id: x for x in map(_instruction, messages(each, 2))}
        instructions.update(found)
        key = protobuf.number(each, 5)
        scheduled = order.get(key, found)  # what runs inside of one instruction has no order
        computations[key] = Computation([found[x] for x in scheduled], protobuf.number(each, 6))
    return Module(computations, instructions, computations[protobuf.number(fields, 6)])


def _instruction(fields: Fields) -> Instruction:
    opcode, metadata = protobuf.text(fields, 2), protobuf.message(fields, 7)
    return Instruction(
        protobuf.number(fields, 35),
        protobuf.text(fields, 1),
        opcode,
        _shape(protobuf.message(fields, 3)),
        protobuf.numbers(fields, 36),
        protobuf.numbers(fields, 38),
        protobuf.number(fields, 9 if opcode == "parameter" else 13),
        protobuf.text(metadata, 2),
        protobuf.text(metadata, 3),
        protobuf.number(metadata, 4),
        fields,
    )
