"""One device's work in a run of a compiled program: matrix products and collectives."""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from glassjax.xla import protocol_buffers as protobuf
from glassjax.xla.hlo import Instruction, Module, Shape
from glassjax.xla.protocol_buffers import Fields, messages

# How often each computation of a program runs.

_LENGTH = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')


class Runs:
    """The instructions of a program, with the number of times that each runs.

    Trip counts are those known to XLA; branches count as taken.

    Attributes:
        module: the program.
        unbounded: the number of loops with unknown trip counts, which count once.
    """

    def __init__(self, module: Module):
        self.module = module
        self.unbounded = 0
        self._times: dict[int, int] = defaultdict(int)
        for key, computation in reversed(module.computations.items()):
            if computation is module.entry:
                self._times[key] = 1
            for instruction in computation.instructions:
                count = 1
                if instruction.opcode == "while":
                    length = _LENGTH.search(_backend_config(instruction))
                    self.unbounded += length is None
                    count = int(length[1]) if length else 1
                for callee in instruction.called:
                    self._times[callee] += count * self._times[key]

    def __iter__(self) -> Iterator[tuple[Instruction, int]]:
        for key, computation in self.module.computations.items():
            if times := self._times[key]:
                for instruction in computation.instructions:
                    yield instruction, times


def _backend_config(instruction: Instruction) -> str:
    return protobuf.text(instruction.fields, 43)


# Groups of devices that communicate, and their mesh axes.

Groups = Sequence[Sequence[int]]

_PAIRS, _LISTED, _COUNTED, _BY_AXES = 52, 87, 92, 93  # fields of `HloInstructionProto`


def groups_of(collective: Instruction, num_devices: int) -> Groups:
    """The groups of devices, by number, that take part in a collective together.

    XLA has them in four forms: pairs of a source and a target, lists, a reshaped and transposed
    range of numbers, and axes of a mesh of its own.

    Raises:
        ValueError: they have an unknown form.
    """
    fields = collective.fields
    if _PAIRS in fields:
        return [[protobuf.number(pair, at) for at in (1, 2)] for pair in messages(fields, _PAIRS)]
    if _LISTED in fields:
        lists = messages(protobuf.message(fields, _LISTED), 1)
        return [protobuf.numbers(each, 1) for each in lists] or [range(num_devices)]
    if _COUNTED in fields:
        counted = protobuf.message(fields, _COUNTED)
        count, size = protobuf.number(counted, 1), protobuf.number(counted, 2)
        sizes, order = protobuf.numbers(counted, 3), protobuf.numbers(counted, 4)
        numbers = np.arange(num_devices).reshape(sizes)
        return _lists(numbers.transpose(order or range(len(sizes))).reshape(count, size))
    if _BY_AXES in fields:
        return _groups_by_axes(protobuf.message(fields, _BY_AXES))
    raise ValueError(f"cannot read the groups of devices of the collective {collective.name}")


def _groups_by_axes(fields: Fields) -> Groups:
    """Groups along axes of a mesh, or along parts of them.

    A part has a number of parts before it, and a size: of an axis of 8, (1)2 varies slowest, before
    (2)2 and (4)2.
    """
    whole = [protobuf.number(axis, 2) for axis in messages(protobuf.message(fields, 1), 1)]
    parts = []
    for each in messages(fields, 2):
        axis, part = protobuf.number(each, 1), protobuf.message(each, 2)
        before = protobuf.number(part, 1) or 1
        parts.append((axis, before, before * protobuf.number(part, 2) or whole[axis]))
    sizes: list[int] = []
    position: dict[tuple[int, int], int] = {}  # by axis and parts before, the index in `sizes`
    for axis, size in enumerate(whole):
        cuts = {1, size, *(cut for each, *ends in parts if each == axis for cut in ends)}
        for before, after in pairwise(sorted(cuts)):
            position[axis, before] = len(sizes)
            sizes.append(after // before)
    within = [
        position[axis, at]
        for axis, before, end in parts
        for each, at in position
        if each == axis and before <= at < end
    ]
    others = [axis for axis in range(len(sizes)) if axis not in within]
    numbers = np.arange(math.prod(sizes)).reshape(sizes).transpose([*others, *within])
    return _lists(numbers.reshape(-1, math.prod([sizes[axis] for axis in within])))


def axes_of(groups: Groups, mesh: Mapping[Hashable, int]) -> tuple[Hashable, ...]:
    """The mesh axes along which the devices of a group differ."""
    sizes = tuple(mesh.values())
    differ = np.zeros(len(sizes), bool)
    for group in groups:
        at = np.array(np.unravel_index(np.asarray(group), sizes))
        differ |= (at != at[:, :1]).any(axis=1)
    return tuple([name for name, differs in zip(mesh, differ, strict=True) if differs])


def _lists(groups: np.ndarray[Any, Any]) -> list[list[int]]:
    found: list[list[int]] = groups.tolist()
    return found


# Matrix products and collectives.

_CONTRACTING = re.compile(r'"lhs_contracting_dimensions":\[([^\]]*)\]')


def flops(runs: Runs) -> int:
    """The floating-point operations of all matrix products and convolutions in a program.

    A multiplication and an addition count as two. Loops count as often as they run; XLA's own cost
    analysis counts their bodies once.
    """
    return sum(
        _FLOPS[instruction.opcode](
            instruction, [runs.module.instructions[each].shape for each in instruction.operands]
        )
        * times
        for instruction, times in runs
        if instruction.opcode in _FLOPS
    )


def _dot(dot: Instruction, operands: Sequence[Shape]) -> int:
    axes = protobuf.numbers(protobuf.message(dot.fields, 30), 1)
    return _product_flops(dot.shape, operands[0], axes)


def _convolution(convolution: Instruction, operands: Sequence[Shape]) -> int:
    return _convolution_flops(convolution.shape, operands[1], convolution)


def _library_call(call: Instruction, operands: Sequence[Shape]) -> int:
    """The operations of a call of cuBLAS or cuDNN; other calls count as zero."""
    target = protobuf.text(call.fields, 28)
    if not target.startswith(("__cublas$", "__cudnn$conv")):
        return 0
    _, result = next(call.shape.leaves())
    if target.startswith("__cublas$"):
        found = _CONTRACTING.search(_backend_config(call))
        axes = [int(axis) for axis in re.findall(r"\d+", found[1])] if found else []
        return _product_flops(result, operands[0], axes)
    left, right = operands[:2]
    output, kernel = result, right
    if "BackwardInput" in target:
        output = left
    elif "BackwardFilter" in target:
        output, kernel = right, result
    return _convolution_flops(output, kernel, call)


def _product_flops(result: Shape, left: Shape, axes: Sequence[int]) -> int:
    return 2 * math.prod(result.sizes) * math.prod([left.sizes[axis] for axis in axes])


def _convolution_flops(output: Shape, kernel: Shape, convolution: Instruction) -> int:
    axis = protobuf.number(protobuf.message(convolution.fields, 16), 4)
    return 2 * math.prod(output.sizes) * math.prod(kernel.sizes) // kernel.sizes[axis]


_FLOPS: Mapping[str, Callable[[Instruction, Sequence[Shape]], int]] = {
    "dot": _dot,
    "convolution": _convolution,
    "custom-call": _library_call,
}


class Collective(NamedTuple):
    """A collective operation, as seen by one device.

    Attributes:
        kind: the operation, by HLO's name, such as "all-reduce".
        axes: the mesh axes of the participating devices.
        devices: the number of these devices.
        times: how often it runs in one run of the program.
        bytes: the size of the operand or of the result, whichever is larger.
        bytes_sent: the bytes that the device sends if the devices form a ring.
    """

    kind: str
    axes: tuple[Hashable, ...]
    devices: int
    times: int
    bytes: int
    bytes_sent: int

    def to_dict(self) -> dict[str, Any]:
        """The attributes by name, for JSON."""
        return {**self._asdict(), "axes": [str(axis) for axis in self.axes]}


# For each collective in HLO, the part of the bytes that a device sends in a ring of n devices.
_SENT: Mapping[str, Callable[[int], float]] = {
    "all-reduce": lambda n: 2 * (n - 1) / n,
    "all-gather": lambda n: (n - 1) / n,
    "reduce-scatter": lambda n: (n - 1) / n,
    "all-to-all": lambda n: (n - 1) / n,
    "ragged-all-to-all": lambda n: (n - 1) / n,
    "collective-permute": lambda n: 1.0,
    "collective-broadcast": lambda n: 1.0,
}


def collectives(runs: Runs, mesh: Mapping[Hashable, int]) -> list[Collective]:
    """The collectives of a program for a mesh of these sizes, in the order of its text.

    An asynchronous one counts where it starts.

    Raises:
        ValueError: a collective has an unknown form.
    """
    found = []
    for instruction, times in runs:
        kind = instruction.opcode.removesuffix("-start")
        if kind not in _SENT:
            continue
        groups = groups_of(instruction, math.prod(mesh.values()))
        size = len(groups[0])
        received = sum(each.bytes for each in _collective_results(instruction))
        nbytes = received * (size if kind == "reduce-scatter" else 1)
        sent = round(_SENT[kind](size) * nbytes)
        found.append(Collective(kind, axes_of(groups, mesh), size, times, nbytes, sent))
    return found


def _collective_results(collective: Instruction) -> Sequence[Shape]:
    """The types of its results; a start operation lists its operands' types first."""
    shapes = [shape for _, shape in collective.shape.leaves()]
    count = len(collective.operands)
    is_start = collective.opcode.endswith("-start") and len(shapes) > count
    return shapes[count : 2 * count] if is_start else shapes
