"""Live buffers: what a compiled program holds in memory at each moment of its execution.

XLA's buffer assignment tells where the buffers are, and the schedule in which order instructions
run. A value lives from the instruction that computes it to its last use. Values at one place in
memory, such as the state of a loop before it, in it and after it, count once.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from glassjax.xla import hlo
from glassjax.xla import protocol_buffers as protobuf
from glassjax.xla.protocol_buffers import Fields, fields_of, messages

_VIEWS = {"bitcast", "optimization-barrier", "add-dependency", "domain", "tuple"}
_PARTS = "get-tuple-element"
_CALLS = {"while", "conditional", "call", "async-start"}  # their computations run in the schedule


class Place(NamedTuple):
    """A range of memory: of an allocation, or the whole of an anonymous one."""

    allocation: int
    offset: int
    size: int


@dataclass(eq=False)
class Buffer:
    """A value in memory.

    Attributes:
        instruction: the instruction that computes it.
        path: its place in the result, if that is a tuple.
        shape: its type.
        place: where it is.
        begin, end: the first and the last moment when it is needed.
        uses: the instructions that read it.
        is_argument, is_result, is_constant: of the program; if none, it is temporary.
    """

    instruction: hlo.Instruction
    path: hlo.Path
    shape: hlo.Shape
    place: Place
    begin: int
    end: int
    uses: list[hlo.Instruction] = field(default_factory=list)
    is_argument: bool = False
    is_result: bool = False
    is_constant: bool = False


Values = dict[hlo.Path, Buffer]  # for each array in the result


class LiveBuffers:
    """The buffers of a compiled program over the time of one execution.

    An iteration of a loop stands for all, and branches follow one another.

    Arguments:
        module: the program.
        assignment: its serialized `BufferAssignmentProto`. Without one, values have places of
            their own, except that loops and branches work in place.

    Attributes:
        buffers: all buffers, in the order of their computation.
        times: for each instruction in the schedule, its first and last moment.
        moments: their number.
    """

    def __init__(self, module: hlo.Module, assignment: bytes = b""):
        self.module = module
        self.buffers: list[Buffer] = []
        self.times: dict[int, tuple[int, int]] = {}
        # For an instruction that is in the schedule, the buffer of each array in its result.
        self._values: dict[int, Values] = {}
        self._places = _assigned_places(fields_of(assignment))
        self._shared: dict[tuple[int, hlo.Path], Place] = {}
        self.moments = self._run(module.entry, 0, None)
        for buffer in self._values[module.entry.root].values():
            buffer.is_result, buffer.end = True, self.moments - 1
        for buffer in self.buffers:
            if buffer.is_argument or buffer.is_constant:
                buffer.begin, buffer.end = 0, self.moments - 1

    def _run(
        self, computation: hlo.Computation, now: int, arguments: Sequence[Values] | None
    ) -> int:
        """Run a computation on the buffers of its arguments; the moment when it has ended."""
        for x in computation.instructions:
            begin = now
            operands = [self._values[each] for each in x.operands if each in self._values]
            if x.opcode in _CALLS:
                now = self._call(x, operands, now)
            elif x.opcode == "parameter" and arguments is not None:
                self._values[x.id] = arguments[x.number] if x.number < len(arguments) else {}
            elif x.opcode == "tuple":
                self._values[x.id] = {
                    (index, *path): buffer
                    for index, operand in enumerate(operands)
                    for path, buffer in operand.items()
                }
            elif x.opcode == _PARTS:
                self._values[x.id] = _part(operands[0], x.number) if operands else {}
            elif x.opcode in _VIEWS:
                self._values[x.id] = operands[0] if operands else {}
            else:
                self._values[x.id] = self._computed(x, now)
            if x.opcode not in _VIEWS and x.opcode != _PARTS:
                now = max(now, begin + 1)
                # What a call passes on lives as long as its computations read it.
                last = begin if x.opcode in _CALLS else now - 1
                for operand in operands:
                    self._use(operand, x, last)
            self.times[x.id] = begin, max(begin, now - 1)
        return now

    def _call(self, x: hlo.Instruction, operands: Sequence[Values], now: int) -> int:
        """Run the computations that an instruction calls; the moment when they have ended."""
        called = [self.module.computations[each] for each in x.called]
        if x.opcode == "while":
            # The state has one place before, in and after the loop.
            for path, buffer in operands[0].items():
                self._shared[x.id, path] = buffer.place
            state = self._computed(x, now)
            body, condition = called
            self._share(body, x)
            now = self._run(condition, now, [state])
            self._use(self._values[condition.root], x, now - 1)
            now = self._run(body, now, [state])
            self._use(self._values[body.root], x, now - 1)
            self._values[x.id] = self._computed(x, now - 1)
        elif x.opcode == "conditional":
            for branch, operand in zip(called, operands[1:], strict=False):
                self._share(branch, x)
                now = self._run(branch, now, [operand])
                self._use(self._values[branch.root], x, now - 1)
            self._values[x.id] = self._computed(x, now - 1)
        else:
            (computation, *_) = called
            now = self._run(computation, now, operands)
            self._values[x.id] = self._values[computation.root]
        return now

    def _computed(self, x: hlo.Instruction, now: int) -> Values:
        """New buffers for the result of an instruction."""
        found = {}
        for path, shape in x.shape.leaves():
            buffer = Buffer(x, path, shape, self._place(x.id, path, shape), now, now)
            buffer.is_argument = x.opcode == "parameter"
            buffer.is_constant = x.opcode == "constant"
            self.buffers.append(buffer)
            found[path] = buffer
        return found

    def _place(self, instruction: int, path: hlo.Path, shape: hlo.Shape) -> Place:
        """The place of a value: as assigned, or shared with a loop's state, or a new one."""
        key = instruction, path
        if key in self._places:
            return self._places[key]
        if key not in self._shared:
            self._shared[key] = Place(-1 - len(self._shared), 0, shape.bytes)
        return self._shared[key]

    def _share(self, computation: hlo.Computation, caller: hlo.Instruction) -> None:
        """Let what a computation returns be computed where its caller has it."""
        root = self.module.instructions[computation.root]
        for path, shape in caller.shape.leaves():
            place = self._place(caller.id, path, shape)
            if not path:
                self._shared[root.id, ()] = place
            elif root.opcode == "tuple":
                self._shared[root.operands[path[0]], path[1:]] = place

    def _use(self, values: Values, x: hlo.Instruction, now: int) -> None:
        for buffer in values.values():
            buffer.end = max(buffer.end, now)
            buffer.uses.append(x)

    def at(self, moment: int) -> list[Buffer]:
        """The buffers that live at a moment; of those at one place, the newest."""
        newest: dict[Place, Buffer] = {}
        for buffer in self.buffers:
            if buffer.begin <= moment <= buffer.end and buffer.place.size:
                newest[buffer.place] = buffer
        return list(newest.values())

    def bytes_over_time(self) -> list[int]:
        """The bytes that live at each moment."""
        by_place: defaultdict[Place, list[tuple[int, int]]] = defaultdict(list)
        for buffer in self.buffers:
            by_place[buffer.place].append((buffer.begin, buffer.end))
        changes = [0] * (self.moments + 1)
        for place, lives in by_place.items():
            ended = -1
            for begin, end in sorted(lives):
                begin = max(begin, ended + 1)  # while another value at that place lives
                if begin <= end:
                    changes[begin] += place.size
                    changes[end + 1] -= place.size
                    ended = end
        found, total = [], 0
        for change in changes[:-1]:
            total += change
            found.append(total)
        return found

    def peak(self) -> int:
        """The first moment when most bytes live."""
        totals = self.bytes_over_time()
        return max(range(len(totals)), key=totals.__getitem__)


def _part(values: Values, index: int) -> Values:
    return {path[1:]: buffer for path, buffer in values.items() if path[0] == index}


def _assigned_places(assignment: Fields) -> dict[tuple[int, hlo.Path], Place]:
    """The place of each array in the result of each instruction."""
    located = {}
    for each in messages(assignment, 1):
        at = protobuf.message(each, 3)
        located[protobuf.number(each, 1)] = protobuf.number(at, 4), tuple(protobuf.numbers(at, 3))
    places = {}
    for allocation in messages(assignment, 3):
        for each in messages(allocation, 9):
            numbers = (protobuf.number(each, field) for field in (2, 3))
            buffer = located[protobuf.number(each, 1)]
            places[buffer] = Place(protobuf.number(allocation, 1), *numbers)
    return places
