"""The figures of a plan, and their table."""

import json
import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from minijax.plan.work import Collective


class Plan:
    """Memory, work and communication of one run of a program on each device of a mesh.

    Attributes:
        name: the name of the function.
        mesh: the size of each axis of the mesh, by name.
        topology: the kind of GPU; None: a CPU.
        argument_bytes: the bytes of each argument that a device holds, by name.
        output_bytes: the bytes of the results that it holds.
        alias_bytes: those of them that are in the memory of donated arguments.
        temporary_bytes: the bytes of values that live during the run: activations, gradients,
            buffers of collectives.
        flops: the floating-point operations of matrix products and convolutions.
        collectives: a `Collective` for each in the program.
        unbounded_loops: the number of loops that count as if they ran once, since XLA does not know
            how often they do.

    `str` and `print` show a table; `rich.print` shows it in colors.
    """

    def __init__(
        self,
        name: str,
        mesh: Mapping[Hashable, int],
        argument_bytes: Mapping[str, int],
        memory: Mapping[str, int],
        flops: int,
        collectives: Sequence[Collective],
        unbounded_loops: int,
        topology: str | None = None,
    ):
        self.name = name
        self.mesh = dict(mesh)
        self.argument_bytes = dict(argument_bytes)
        self.output_bytes = memory["output_size_in_bytes"]
        self.alias_bytes = memory["alias_size_in_bytes"]
        self.temporary_bytes = memory["temp_size_in_bytes"]
        self.flops = flops
        self.collectives = list(collectives)
        self.unbounded_loops = unbounded_loops
        self.topology = topology

    @property
    def peak_bytes(self) -> int:
        """The bytes of arguments, results and temporaries together."""
        outputs = self.output_bytes - self.alias_bytes
        return sum(self.argument_bytes.values()) + outputs + self.temporary_bytes

    @property
    def bytes_sent(self) -> int:
        """The bytes that a device sends in one run."""
        return sum(each.times * each.bytes_sent for each in self.collectives)

    def to_dict(self) -> dict[str, Any]:
        """All figures by name: numbers, strings, lists and dicts."""
        return {
            "name": self.name,
            "mesh": {str(name): size for name, size in self.mesh.items()},
            "topology": self.topology,
            "per_device": {
                "argument_bytes": self.argument_bytes,
                "output_bytes": self.output_bytes,
                "alias_bytes": self.alias_bytes,
                "temporary_bytes": self.temporary_bytes,
                "peak_bytes": self.peak_bytes,
                "flops": self.flops,
                "bytes_sent": self.bytes_sent,
            },
            "collectives": [each.to_dict() for each in self.collectives],
            "unbounded_loops": self.unbounded_loops,
        }

    def to_json(self) -> str:
        """`to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=2)

    # The table

    @property
    def _title(self) -> str:
        axes = ", ".join(f"{name}={size}" for name, size in self.mesh.items())
        device = "device" if self.topology is None else self.topology
        return f"`{self.name}` on each {device} of {axes}"

    def _figures(self) -> list[tuple[str, str]]:
        by_argument: dict[str, int] = {}
        for name, nbytes in self.argument_bytes.items():
            first = re.split(r"[.\[]", name, maxsplit=1)[0]
            by_argument[first] = by_argument.get(first, 0) + nbytes
        return [
            ("arguments", _bytes(sum(by_argument.values()))),
            *[(f"  {name}", _bytes(nbytes)) for name, nbytes in by_argument.items()],
            ("results", _bytes(self.output_bytes)),
            ("  in the memory of arguments", _bytes(self.alias_bytes)),
            ("temporaries", _bytes(self.temporary_bytes)),
            ("peak memory", _bytes(self.peak_bytes)),
            ("matrix products", _scaled(self.flops, "FLOP")),
            *[("loops counted once", str(count)) for count in [self.unbounded_loops] if count],
        ]

    def _rows(self) -> list[tuple[str, ...]]:
        """The collectives, those of one kind along the same axes together."""
        groups: dict[Any, list[Collective]] = {}
        for each in self.collectives:
            groups.setdefault((each.kind, each.axes, each.devices), []).append(each)
        totals = {
            key: [
                sum(each.times for each in found),
                sum(each.times * each.bytes for each in found),
                sum(each.times * each.bytes_sent for each in found),
            ]
            for key, found in groups.items()
        }
        return [
            (
                kind,
                ", ".join(map(str, axes)) or "nothing",
                str(devices),
                str(times),
                _bytes(nbytes),
                _bytes(sent),
            )
            for (kind, axes, devices), (times, nbytes, sent) in sorted(
                totals.items(), key=lambda item: -item[1][2]
            )
        ]

    def __str__(self) -> str:
        lines = [self._title, *_aligned(self._figures(), 1)]
        rows = self._rows()
        lines += _aligned([_HEADS, *rows], 2) if rows else ["no collectives"]
        return "\n".join(line.rstrip() for line in lines)

    def __repr__(self) -> str:
        return f"<Plan: {self._title}>"

    def __rich__(self) -> Any:
        from rich.console import Group
        from rich.table import Table

        figures, exchanged = Table(title=self._title, show_header=False), Table()
        figures.add_column()
        figures.add_column(justify="right")
        for row in self._figures():
            figures.add_row(*row)
        for number, head in enumerate(_HEADS):
            exchanged.add_column(head, justify="left" if number < 2 else "right")
        for cells in self._rows():
            exchanged.add_row(*cells)
        return Group(figures, exchanged)


_HEADS = ("collectives", "along", "devices", "times", "bytes", "sent")


def _aligned(rows: Sequence[Sequence[str]], left: int) -> list[str]:
    """Rows as lines, of which the first `left` columns are aligned at the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            text.ljust(width) if number < left else text.rjust(width)
            for number, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]


def _bytes(count: int) -> str:
    return _scaled(count, "B")


def _scaled(count: int, unit: str) -> str:
    """A number with three digits at least, and a decimal prefix."""
    value, prefixes = float(count), iter(("", "k", "M", "G", "T", "P", "E"))
    prefix = next(prefixes)
    while value >= 999.5 and prefix != "E":
        value, prefix = value / 1000, next(prefixes)
    digits = 0 if not prefix or value >= 100 else 1 if value >= 10 else 2
    return f"{value:.{digits}f} {prefix}{unit}"
