"""`explain_memory`: the memory that a compiled program takes, by line of the user's program."""

from __future__ import annotations

import html
import linecache
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

from glassjax import xla
from glassjax.errors.arguments import require_call
from glassjax.explaining.live_buffers import Buffer, LiveBuffers
from glassjax.explaining.tracing import compiled_anew, traced_anew
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.runtime.named_scope import BACKWARD, marking_backward_passes
from glassjax.runtime.stages import Compiled, Traced
from glassjax.settings.names import counted, wraps
from glassjax.transforms.chosen_checkpoints import checkpoints_in
from glassjax.xla import hlo
from glassjax_stage2.arguments import require_function
from glassjax_stage2.source import name_of
from glassjax_stage3 import Jaxpr
from glassjax_stage3.jaxpr import inner_jaxprs
from glassjax_watch.stepper import element, page

_ASSETS = Path(__file__).with_name("memory.html")
_MOST_CHECKPOINTS = 3  # each is compiled


class Place(NamedTuple):
    """The owner of a buffer: a line of the program, or a name such as "arguments"."""

    file: str
    line: int

    @property
    def text(self) -> str:
        """The text of the line."""
        return linecache.getline(self.file, self.line).strip() if self.line else ""

    def __str__(self) -> str:
        return f"{Path(self.file).name}:{self.line}" if self.line else self.file


ARGUMENTS = Place("arguments", 0)
CONSTANTS = Place("constants", 0)
UNKNOWN = Place("lines unknown to XLA", 0)


class Row(NamedTuple):
    """The memory of a place at the peak.

    Attributes:
        place: the line, or another origin.
        bytes: the bytes of all its live buffers.
        residuals: the part that the backward pass still needs.
        arrays: the type of each buffer.
    """

    place: Place
    bytes: int
    residuals: int
    arrays: list[str]


class Saving(NamedTuple):
    """The effect of a checkpoint, as measured: the program was compiled with it.

    Attributes:
        name: the function that was put under the checkpoint.
        first, last: its first and last line that has residuals at the peak.
        bytes: by how much the peak falls; negative if it rises.
    """

    name: str
    first: Place
    last: Place
    bytes: int

    def __str__(self) -> str:
        lines = str(self.first)
        if self.last.line > self.first.line:
            lines += f" to {self.last.line}"
        effect = f"saves {_size(self.bytes)}" if self.bytes > 0 else "saves nothing"
        return f"checkpoint around {lines} in `{self.name}` {effect}"


class Memory:
    """The memory of a compiled program over its time, by line.

    Print it; in a notebook, the last line of a cell shows it as a picture.

    Attributes:
        name: the name of the function.
        over_time: the bytes that live at each moment of the schedule.
        peak: the moment when most live.
        rows: what lives at the peak, the largest first.
        lines_over_time: for each place, its bytes at each moment.
        savings: what checkpoints would save.
        allocated: the bytes that XLA sets aside: arguments, results and temporaries.
    """

    def __init__(self, name: str, compiled: Compiled, savings: Sequence[Saving] = ()):
        origins = _Origins(_live_buffers(compiled))
        live = origins.live
        self.name = name
        self.over_time = live.bytes_over_time()
        self.peak = live.peak()
        self.rows = origins.rows(self.peak)
        self.lines_over_time = origins.lines_over_time()
        self.savings = list(savings)
        sizes = compiled.memory_analysis()
        self.allocated = (
            sizes.argument_size_in_bytes
            + sizes.output_size_in_bytes
            + sizes.temp_size_in_bytes
            - sizes.alias_size_in_bytes
        )

    @property
    def peak_bytes(self) -> int:
        """The bytes that live at the peak."""
        return self.over_time[self.peak]

    def __str__(self) -> str:
        return self.pretty_print()

    def __repr__(self) -> str:
        return f"<memory of `{self.name}`: {_size(self.peak_bytes)} at the peak>"

    def pretty_print(self, width: int = 80) -> str:
        """The text: the peak by line, the program's time, and what checkpoints save."""
        lines = [self._summary(), "", *_table(self.rows, self.peak_bytes, width), ""]
        lines += [f"over time, {counted(len(self.over_time), 'instruction')}", ""]
        lines += _bars(self.over_time, width)
        if self.savings:
            lines += ["", *map(str, self.savings), "(measured: compiled with each checkpoint)"]
        return "\n".join(lines)

    def _summary(self) -> str:
        return (
            f"`{self.name}`: {_size(self.peak_bytes)} live at the peak, "
            f"XLA sets {_size(self.allocated)} aside"
        )

    def to_html(self) -> str:
        """The picture and the table, as a part of a page."""
        return element("glassjax-memory", _drawn(self), _ASSETS)

    def _repr_html_(self) -> str:
        return self.to_html()

    def save(self, path: Any) -> None:
        """Write a page with the picture to a file."""
        Path(path).write_text(page(f"The memory of `{self.name}`", self.to_html()), "utf-8")


def explain_memory(fun: Callable[..., Any], *, checkpoints: bool = True) -> Callable[..., Memory]:
    """Show the memory that a function takes, by line of the program.

    XLA's buffer assignment and schedule tell which arrays live at the same time, and each belongs
    to the line that computes it: at the peak, and over the time of the program. Residuals are
    arrays of the forward pass that the backward pass reads.

    Arguments:
        fun: function of arrays and pytrees of arrays, jitted or not: a training step, for example.
        checkpoints: whether to compile the program again with a `checkpoint` around each of the
            functions whose lines hold most residuals, three at most, and measure what that saves.

    Returns:
        A function of the same arguments, or of types in their place, that returns a `Memory`.
        Print it, or look at it in a notebook; `memory.save("page.html")` writes a page.

    Raises:
        TypeError: `fun` is not a function; when called, an argument is not an array.

    >>> memory = explain_memory(lambda x: jnp.sin(x) @ jnp.cos(x))(jnp.ones((64, 64)))
    >>> memory.peak_bytes
    65536
    """
    require_function("explain_memory", fun)

    @evaluated_by_library
    @wraps(fun)
    def explained(*args: Any, **kwargs: Any) -> Memory:
        require_call(f"explain_memory of `{name_of(fun)}`", fun, args, kwargs)
        traced, compiled = _compiled(fun, args, kwargs)
        memory = Memory(name_of(fun), compiled)
        if checkpoints:
            memory.savings.extend(_savings(fun, args, kwargs, memory, traced))
        return memory

    return explained


def _compiled(fun: Callable[..., Any], args: Any, kwargs: Any) -> tuple[Traced, Compiled]:
    with marking_backward_passes():
        traced = traced_anew(fun).trace(*args, **kwargs)
        return traced, compiled_anew(traced.lower())


def _live_buffers(compiled: Compiled) -> LiveBuffers:
    executable = compiled.compiled.executable
    module = hlo.read_module(xla.optimized_module(executable))
    return LiveBuffers(module, xla.buffer_assignment(executable))


def _savings(
    fun: Callable[..., Any], args: Any, kwargs: Any, memory: Memory, traced: Traced
) -> Iterator[Saving]:
    """Measure checkpoints around the functions with most residuals."""
    codes = _functions_of_lines(traced.jaxpr)
    rows: defaultdict[CodeType, list[Row]] = defaultdict(list)
    for row in memory.rows:
        if row.residuals and row.place in codes:
            rows[codes[row.place]].append(row)
    by_size = sorted(rows, key=lambda code: -sum(row.residuals for row in rows[code]))
    for code in by_size[:_MOST_CHECKPOINTS]:
        places = sorted(row.place for row in rows[code])
        with checkpoints_in(code):
            _, compiled = _compiled(fun, args, kwargs)
        peak = max(_live_buffers(compiled).bytes_over_time())
        yield Saving(code.co_name, places[0], places[-1], memory.peak_bytes - peak)


def _functions_of_lines(jaxpr: Jaxpr) -> dict[Place, CodeType]:
    """The function that each line of a program belongs to."""
    found, programs, seen = {}, [jaxpr], set()
    while programs:
        for eqn in programs.pop().eqns:
            if eqn.source is not None:
                found[Place(eqn.source.code.co_filename, eqn.source.line)] = eqn.source.code
            for inner in inner_jaxprs(eqn):
                if inner not in seen:
                    seen.add(inner)
                    programs.append(inner)
    return found


# The origin of a buffer: the equation that computes it, though XLA fuses and moves it.


class _Origins:
    """The lines of a program that its buffers belong to."""

    def __init__(self, live: LiveBuffers):
        self.live = live
        self.module = live.module
        self.callers: dict[int, hlo.Instruction] = {}  # by computation
        self.within: dict[int, int] = {}  # the computation of an instruction
        for key, computation in self.module.computations.items():
            for x in computation.instructions:
                self.within[x.id] = key
                self.callers.update(dict.fromkeys(x.called, x))
        self._backward: dict[int, bool] = {}

    def rows(self, moment: int) -> list[Row]:
        """The memory at a moment by place, the largest first."""
        buffers: defaultdict[Place, list[Buffer]] = defaultdict(list)
        for buffer in self.live.at(moment):
            buffers[self.place(buffer)].append(buffer)
        rows = [
            Row(
                place,
                sum(each.place.size for each in group),
                sum(each.place.size for each in group if self.is_residual(each)),
                [str(each.shape) for each in group],
            )
            for place, group in buffers.items()
        ]
        return sorted(rows, key=lambda row: (-row.bytes, row.place))

    def lines_over_time(self) -> dict[Place, list[int]]:
        """The bytes of each place at each moment."""
        found: dict[Place, list[int]] = {}
        places = {id(buffer): self.place(buffer) for buffer in self.live.buffers}
        for moment in range(self.live.moments):
            for buffer in self.live.at(moment):
                series = found.setdefault(places[id(buffer)], [0] * self.live.moments)
                series[moment] += buffer.place.size
        return found

    def place(self, buffer: Buffer) -> Place:
        """The place that a buffer belongs to."""
        if buffer.is_argument:
            return ARGUMENTS
        if buffer.is_constant:
            return CONSTANTS
        origin, _ = self.origin(buffer.instruction, buffer.path)
        if origin is None:
            return UNKNOWN
        return Place(origin.file, origin.line) if origin.line else ARGUMENTS

    def is_residual(self, buffer: Buffer) -> bool:
        """Return True if the backward pass reads what the forward pass computed."""
        if buffer.is_argument or buffer.is_constant:
            return False
        origin, maker = self.origin(buffer.instruction, buffer.path)
        if origin is None or not origin.line or self.is_backward(maker or origin):
            return False
        return any(map(self.is_backward, [buffer.instruction, *buffer.uses]))

    def is_backward(self, x: hlo.Instruction) -> bool:
        """Return True if an instruction belongs to a backward pass, or one fused in it does.

        One without a place does if an operand does.
        """
        if x.id not in self._backward:
            self._backward[x.id] = False  # in a loop, while it is being found
            caller = self.callers.get(self.within[x.id])
            inner = [
                each
                for key in (x.called if x.opcode == "fusion" else ())
                for each in self.module.computations[key].instructions
            ]
            self._backward[x.id] = (
                any(BACKWARD in each.scope.split("/") for each in [x, *inner])
                or (caller is not None and caller.opcode != "fusion" and self.is_backward(caller))
                or (not x.line and any(map(self.is_backward, self._operands(x))))
            )
        return self._backward[x.id]

    def origin(
        self, x: hlo.Instruction, path: hlo.Path
    ) -> tuple[hlo.Instruction | None, hlo.Instruction | None]:
        """The instruction whose place a value has, and the one that computes it.

        The state of a loop comes from its body, or from before it; what is written into a stack,
        from where it was computed. If what computes the value has no place, an operand's counts.
        """
        pending: list[tuple[hlo.Instruction, hlo.Path, hlo.Instruction | None]]
        pending = [(x, path, None)]
        seen: set[tuple[int, hlo.Path]] = set()
        argument: tuple[hlo.Instruction | None, hlo.Instruction | None] = None, None
        while pending:
            x, path, maker = pending.pop()
            if (x.id, path) in seen:
                continue
            seen.add((x.id, path))
            if x.opcode == "parameter" and self.within[x.id] not in self.callers:
                argument = x, maker
                continue
            sources = self._sources(x, path)
            if not sources:
                maker = maker or x
                if x.line:
                    return x, maker
                sources = [(each, ()) for each in self._operands(x)]
            pending.extend((each, inner, maker) for each, inner in reversed(sources))
        return argument

    def _operands(self, x: hlo.Instruction) -> list[hlo.Instruction]:
        return [self.module.instructions[each] for each in x.operands]

    def _root(self, key: int) -> hlo.Instruction:
        return self.module.instructions[self.module.computations[key].root]

    def _sources(
        self, x: hlo.Instruction, path: hlo.Path
    ) -> list[tuple[hlo.Instruction, hlo.Path]]:
        """The sources of a value, the likeliest first, if an instruction only passes it on."""
        operands = self._operands(x)
        match x.opcode:
            case "tuple" if path:
                return [(operands[path[0]], path[1:])]
            case "get-tuple-element":
                return [(operands[0], (x.number, *path))]
            case "bitcast" | "copy" | "reshape":
                return [(operands[0], path)]
            case "dynamic-update-slice":
                return [(operands[1], ())]
            case "fusion" | "call":
                return [(self._root(x.called[0]), path)]
            case "while":
                return [(self._root(x.called[0]), path), (operands[0], path)]
            case "parameter":
                caller = self.callers[self.within[x.id]]
                given = self._operands(caller)
                if caller.opcode == "while":
                    return [(self._root(caller.called[0]), path), (given[0], path)]
                if caller.opcode == "conditional":
                    return [(given[1 + caller.called.index(self.within[x.id])], path)]
                return [(given[x.number], path)]
        return []


# Sizes, tables and pictures.


def _size(count: int) -> str:
    """Bytes as text: `1.5 MiB`."""
    size = float(abs(count))
    for unit in "B", "KiB", "MiB", "GiB":
        if size < 1024 or unit == "GiB":
            break
        size /= 1024
    sign = "-" if count < 0 else ""
    return f"{sign}{size:.0f} {unit}" if unit == "B" else f"{sign}{size:.1f} {unit}"


def _table(rows: Sequence[Row], total: int, width: int) -> list[str]:
    cells = [("line", "at the peak", "residuals", "")]
    for row in _large(rows, total):
        residuals = _size(row.residuals) if row.residuals else ""
        cells.append((str(row.place), _size(row.bytes), residuals, row.place.text))
    first, second, third, _ = (max(map(len, column)) for column in zip(*cells, strict=True))
    lines = [
        f"{place:{first}}  {size:>{second}}  {residuals:>{third}}  {text}".rstrip()
        for place, size, residuals, text in cells
    ]
    return [line if len(line) <= width else line[: width - 1] + "…" for line in lines]


def _large(rows: Sequence[Row], total: int) -> list[Row]:
    """The rows of at least a thousandth of the total."""
    return [row for row in rows if row.bytes >= total / 1000]


def _counts(arrays: Sequence[str]) -> str:
    """The types of the largest group of arrays, and how many others there are."""
    (first, count), *others = Counter(arrays).most_common()
    more = f", {counted(sum(number for _, number in others), 'other')}" if others else ""
    return f"{count} {first}{more}"


_EIGHTHS = " ▁▂▃▄▅▆▇█"
_HEIGHT = 6  # lines of a picture in text


def _bars(series: Sequence[int], width: int) -> list[str]:
    """The bytes over time as bars of blocks, the largest of each column's moments."""
    columns = min(len(series), width)
    tops = [
        max(series[i * len(series) // columns : max((i + 1) * len(series) // columns, 1)])
        for i in range(columns)
    ]
    most = max([*tops, 1])
    lines = []
    for level in reversed(range(_HEIGHT)):
        eighths = [round(8 * _HEIGHT * top / most) - 8 * level for top in tops]
        lines.append("".join(_EIGHTHS[min(max(each, 0), 8)] for each in eighths).rstrip())
    return lines


_SERIES = 5  # places with a color of their own in the picture
_WIDE, _HIGH = 720, 240  # pixels of the picture
_LEFT, _TOP = 8, 22  # where the graph begins


def _drawn(memory: Memory) -> str:
    """The picture over the program's time, and the table of the peak, whose colors it has."""
    places = [row.place for row in memory.rows][:_SERIES]
    total = memory.over_time
    columns = min(len(total), _WIDE // 2)
    # A column stands for some moments, and shows the one when most lives.
    moments = [
        max(
            range(i * len(total) // columns, (i + 1) * len(total) // columns),
            key=total.__getitem__,
        )
        for i in range(columns)
    ]
    stacked = [0] * columns
    areas = []
    scale = (_HIGH - _TOP) / max(memory.peak_bytes, 1)
    step = (_WIDE - _LEFT) / columns

    def edge(heights: Sequence[int]) -> list[tuple[float, float]]:
        corners = []
        for i, height in enumerate(heights):
            y = _HIGH - scale * height
            corners += [(_LEFT + i * step, y), (_LEFT + (i + 1) * step, y)]
        return corners

    for number, place in enumerate([*places, None]):
        if place is None:
            upper = [total[moment] for moment in moments]
        else:
            series = memory.lines_over_time[place]
            upper = [s + series[m] for s, m in zip(stacked, moments, strict=True)]
        points = [*edge(upper), *reversed(edge(stacked))]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        title = html.escape("other lines" if place is None else f"{place} {place.text}")
        areas.append(
            f'<polygon class="gj-area gj-{number}" points="{path}"><title>{title}</title></polygon>'
        )
        stacked = upper
    at = _LEFT + (next(i for i, m in enumerate(moments) if total[m] == memory.peak_bytes)) * step
    label = f"{_size(memory.peak_bytes)} at the peak"
    anchor = "end" if at > _WIDE / 2 else "start"
    svg = (
        f'<svg viewBox="0 0 {_WIDE} {_HIGH + 20}" role="img">'
        f"<title>Bytes that live over the time of {html.escape(memory.name)}</title>"
        f'{"".join(areas)}<line x1="{at:.1f}" x2="{at:.1f}" y1="6" y2="{_HIGH}"/>'
        f'<text x="{at + (-6 if anchor == "end" else 6):.1f}" y="14" text-anchor="{anchor}">'
        f'{label}</text><text x="{_LEFT}" y="{_HIGH + 15}">'
        f"{counted(len(total), 'instruction')}, in their order</text></svg>"
    )
    return f"{svg}{_html_table(memory, places)}"


def _html_table(memory: Memory, places: Sequence[Place]) -> str:
    rows = []
    for row in _large(memory.rows, memory.peak_bytes):
        number = places.index(row.place) if row.place in places else _SERIES
        cells = (
            f'<i class="gj-{number}"></i>{html.escape(str(row.place))}',
            f"<code>{html.escape(row.place.text)}</code>",
            _size(row.bytes),
            _size(row.residuals) if row.residuals else "",
            _counts(row.arrays),
        )
        rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    savings = "".join(f"<li>{_with_code(str(saving))}</li>" for saving in memory.savings)
    measured = f"<p>Measured, compiled with each checkpoint:</p><ul>{savings}</ul>"
    return (
        f"<p>{_with_code(memory._summary())}.</p><table><thead><tr><th>line</th><th></th>"
        f"<th>at the peak</th><th>residuals</th>"
        f"<th>arrays</th></tr></thead><tbody>{''.join(rows)}</tbody></table>"
        f"{measured if memory.savings else ''}"
    )


def _with_code(text: str) -> str:
    return re.sub("`([^`]*)`", r"<code>\1</code>", html.escape(text))
