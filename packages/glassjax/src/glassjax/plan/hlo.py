"""The operations and bytes of a compiled program, from its text."""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

# Optimized programs in HLO notation: computations and their trip counts.


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
    """A program, parsed from its text.

    Attributes:
        computations: the instructions of each computation, by name; callees precede callers.
        entry: the name of the computation that is the program.
        argument_types: the type of the part of each argument that a device holds.
        times: how often each computation runs, from the trip counts known to XLA; branches count as
            taken.
        unbounded: the number of loops with unknown trip counts, which count once.
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
        """Each instruction, with its computation, and how often it runs."""
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
        _parse_types(text[:end]),
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


def _parse_types(text: str) -> tuple[ArrayType, ...]:
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


# Groups of devices that communicate, and their mesh axes.


Groups = Sequence[Sequence[int]]

_LISTED = re.compile(r"(?:replica_groups|source_target_pairs)=\{((?:\{[\d,]*\},?)*)\}")
_COUNTED = re.compile(r"replica_groups=\[([\d,]+)\]<=\[([\d,]+)\](?:T\(([\d,]+)\))?")
_BY_AXES = re.compile(r"replica_groups=mesh\[([^\]]*)\] \{([^}]*)\}")
_AXIS_SIZE = re.compile(r"'([^']*)'=(\d+)")
_PART_OF_AXIS = re.compile(r"'([^']*)'(?::\((\d+)\)(\d+))?")


def groups_of(attributes: str, num_devices: int) -> Groups:
    """The groups of devices, by number, in the attributes of a collective in HLO.

    HLO writes them in three ways: as lists, as a reshaped and transposed range of numbers, and as
    axes of its own mesh.

    Raises:
        ValueError: they are written in an unknown way.
    """
    if found := _LISTED.search(attributes):
        groups = [_ints(each) for each in re.findall(r"\{([\d,]+)\}", found[1])]
        return groups or [range(num_devices)]
    if found := _COUNTED.search(attributes):
        shape, sizes, order = map(_ints, (found[1], found[2], found[3] or ""))
        numbers = np.arange(num_devices).reshape(sizes)
        return _lists(numbers.transpose(order or range(len(sizes))).reshape(shape))
    if found := _BY_AXES.search(attributes):
        return _groups_by_axes(found[1], found[2])
    raise ValueError(f"cannot read the groups of devices in{attributes[:200]}")


def _groups_by_axes(mesh: str, chosen: str) -> Groups:
    """Groups along axes, such as `'y','x':(2)4` of `'x'=8,'y'=2`; `'x':(2)4` is a part of `x`."""
    parts = [(name, int(before or 1), int(size or 0)) for name, before, size in
             _PART_OF_AXIS.findall(chosen)]  # fmt: skip
    sizes: list[int] = []
    position: dict[tuple[str, int], int] = {}  # by axis and parts before, the index in `sizes`
    for name, text in _AXIS_SIZE.findall(mesh):
        size = int(text)
        cuts = {1, size}
        for part, before, length in parts:
            if part == name:
                cuts |= {before, before * (length or size)}
        ordered = sorted(cuts)
        for before, after in zip(ordered, ordered[1:] or [size], strict=False):
            position[name, before] = len(sizes)
            sizes.append(after // before)
    within = []
    for name, before, length in parts:
        end = before * length if length else None
        starts = [at for each, at in position if each == name and at >= before]
        within += [position[name, at] for at in sorted(starts) if end is None or at < end]
    others = [axis for axis in range(len(sizes)) if axis not in within]
    numbers = np.arange(np.prod(sizes, dtype=int)).reshape(sizes).transpose([*others, *within])
    return _lists(numbers.reshape(-1, int(np.prod([sizes[axis] for axis in within], dtype=int))))


def axes_of(groups: Groups, mesh: Mapping[Hashable, int]) -> tuple[Hashable, ...]:
    """The mesh axes along which the devices of a group differ."""
    sizes = tuple(mesh.values())
    differ = np.zeros(len(sizes), bool)
    for group in groups:
        at = np.array(np.unravel_index(np.asarray(group), sizes))
        differ |= (at != at[:, :1]).any(axis=1)
    return tuple([name for name, differs in zip(mesh, differ, strict=True) if differs])


def _ints(text: str) -> list[int]:
    return [int(each) for each in text.split(",") if each]


def _lists(groups: np.ndarray[Any, Any]) -> list[list[int]]:
    found: list[list[int]] = groups.tolist()
    return found


# One device's work in a run of a program: matrix products and collectives.


_CONTRACTING = re.compile(r"lhs_contracting_dims=\{([\d,]*)\}")
_CONTRACTING_IN_CALL = re.compile(r'"lhs_contracting_dimensions":\[([^\]]*)\]')
_TARGET = re.compile(r'custom_call_target="([^"]*)"')
_KERNEL = re.compile(r"dim_labels=\w+_(\w+)->")


def flops(module: HloModule) -> int:
    """The floating-point operations of all matrix products and convolutions in a program.

    A multiplication and an addition count as two. Loops count as often as they run; XLA's own cost
    analysis counts their bodies once.
    """
    return sum(
        _FLOPS[instruction.opcode](computation, instruction) * times
        for computation, instruction, times in module.instructions()
        if instruction.opcode in _FLOPS
    )


def _dot(computation: Computation, dot: Instruction) -> int:
    (left,) = computation[dot.operands[0]].types
    found = _CONTRACTING.search(dot.attributes)
    axes = [int(axis) for axis in found[1].split(",") if axis] if found else []
    return 2 * dot.types[0].size * math.prod([left.shape[axis] for axis in axes])


def _convolution_operation_flops(computation: Computation, convolution: Instruction) -> int:
    (kernel,) = computation[convolution.operands[1]].types
    return _convolution_flops(convolution.types[0], kernel, convolution)


def _library_call_flops(computation: Computation, call: Instruction) -> int:
    """The operations of a call of cuBLAS or cuDNN; other calls count as zero."""
    target = _TARGET.search(call.attributes)
    name = target[1] if target else ""
    if name.startswith("__cublas$"):
        (left,) = computation[call.operands[0]].types
        found = _CONTRACTING_IN_CALL.search(call.attributes)
        axes = [int(axis) for axis in re.findall(r"\d+", found[1])] if found else []
        return 2 * call.types[0].size * math.prod([left.shape[axis] for axis in axes])
    if name.startswith("__cudnn$conv"):
        left, right = (computation[operand].types[0] for operand in call.operands[:2])
        result = call.types[0]
        output, kernel = result, right
        if "BackwardInput" in name:
            output = left
        elif "BackwardFilter" in name:
            output, kernel = right, result
        return _convolution_flops(output, kernel, call)
    return 0


def _convolution_flops(output: ArrayType, kernel: ArrayType, convolution: Instruction) -> int:
    found = _KERNEL.search(convolution.attributes)
    features = kernel.shape[found[1].index("o")] if found else 1
    return 2 * output.size * kernel.size // features


_FLOPS: Mapping[str, Callable[[Computation, Instruction], int]] = {
    "dot": _dot,
    "convolution": _convolution_operation_flops,
    "custom-call": _library_call_flops,
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


def collectives(module: HloModule, mesh: Mapping[Hashable, int]) -> list[Collective]:
    """The collectives of a program for a mesh of these sizes, in the order of its text.

    An asynchronous one counts where it starts.

    Raises:
        ValueError: a collective has an unknown form.
    """
    found = []
    for _, instruction, times in module.instructions():
        kind = instruction.opcode.removesuffix("-start")
        if kind not in _SENT:
            continue
        groups = groups_of(instruction.attributes, math.prod(mesh.values()))
        size = len(groups[0])
        received = sum(each.nbytes for each in _collective_results(instruction))
        nbytes = received * (size if kind == "reduce-scatter" else 1)
        sent = round(_SENT[kind](size) * nbytes)
        found.append(Collective(kind, axes_of(groups, mesh), size, times, nbytes, sent))
    return found


def _collective_results(collective: Instruction) -> Sequence[ArrayType]:
    """The types of its results; a start operation lists its operands' types first."""
    count = len(collective.operands)
    is_start = collective.opcode.endswith("-start") and len(collective.types) > count
    return collective.types[count : 2 * count] if is_start else collective.types
