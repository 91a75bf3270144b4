"""Work of a device in one run of a program: matrix products, and collectives."""

import math
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

from minijax.plan.hlo import ArrayType, Computation, HloModule, Instruction
from minijax.plan.replica_groups import axes_of, groups_of

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


def _convolution(computation: Computation, convolution: Instruction) -> int:
    (kernel,) = computation[convolution.operands[1]].types
    return _of_convolution(convolution.types[0], kernel, convolution)


def _call(computation: Computation, call: Instruction) -> int:
    """The operations of a call of cuBLAS or cuDNN; other calls count as none."""
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
        return _of_convolution(output, kernel, call)
    return 0


def _of_convolution(output: ArrayType, kernel: ArrayType, convolution: Instruction) -> int:
    found = _KERNEL.search(convolution.attributes)
    features = kernel.shape[found[1].index("o")] if found else 1
    return 2 * output.size * kernel.size // features


_FLOPS: Mapping[str, Callable[[Computation, Instruction], int]] = {
    "dot": _dot,
    "convolution": _convolution,
    "custom-call": _call,
}


class Collective(NamedTuple):
    """A collective operation, as one device takes part in it.

    Attributes:
        kind: the operation, by HLO's name, such as "all-reduce".
        axes: the axes of the mesh along which the devices lie that take part.
        devices: the number of these devices.
        times: how often it is done in one run of the program.
        bytes: the size of the array, or arrays: of the operand or of the result, whichever is
            larger.
        bytes_sent: the bytes that the device sends if the devices form a ring.
    """

    kind: str
    axes: tuple[Hashable, ...]
    devices: int
    times: int
    bytes: int
    bytes_sent: int

    def to_dict(self) -> dict[str, Any]:
        """The attributes by name, as JSON has them."""
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
        ValueError: there is one of a form that is not known here.
    """
    found = []
    for _, instruction, times in module.instructions():
        kind = instruction.opcode.removesuffix("-start")
        if kind not in _SENT:
            continue
        groups = groups_of(instruction.attributes, math.prod(mesh.values()))
        size = len(groups[0])
        received = sum(each.nbytes for each in _results(instruction))
        nbytes = received * (size if kind == "reduce-scatter" else 1)
        sent = round(_SENT[kind](size) * nbytes)
        found.append(Collective(kind, axes_of(groups, mesh), size, times, nbytes, sent))
    return found


def _results(collective: Instruction) -> Sequence[ArrayType]:
    """The types of its results; one that starts lists those of its operands before them."""
    count = len(collective.operands)
    is_start = collective.opcode.endswith("-start") and len(collective.types) > count
    return collective.types[count : 2 * count] if is_start else collective.types
