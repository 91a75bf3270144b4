"""`explain`: a function at every stage from its source to a compiled program."""

from __future__ import annotations

import functools
import html
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, TypeVar

import glassjax_watch
from glassjax.errors.arguments import require_call
from glassjax.explaining.memory import Memory
from glassjax.explaining.tracing import compiled_anew, traced_anew
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.runtime.jax_params import read_jaxpr
from glassjax.runtime.named_scope import marking_backward_passes
from glassjax.runtime.printed_jaxpr import printed_jaxpr
from glassjax.runtime.staging import make_jaxpr
from glassjax.settings.names import counted
from glassjax.transforms.autodiff import vjp
from glassjax.transforms.checkpoint import name_p
from glassjax_stage2 import ShapedArray
from glassjax_stage2.arguments import argument_names, require_function
from glassjax_stage2.shaped_array import is_inexact
from glassjax_stage2.source import name_of
from glassjax_stage2.tree import tree_flatten, tree_leaves, tree_unflatten
from glassjax_stage3 import Jaxpr
from glassjax_stage3.jaxpr import Atom, Literal, consts_as_invars
from glassjax_stage3.jit_rules import jvp_jaxpr
from glassjax_stage4.jit_rules import transpose_jaxpr
from glassjax_stage4.partial_eval import partial_eval_jaxpr
from glassjax_watch.highlighting import definition_of_jaxprs, wants_color
from glassjax_watch.stepper import element, page

# Explanations: the stages of a function, as text with headings or as tabs on a page.


_ASSETS = Path(__file__).with_name("explanation.html")
_WIDTH = 80

R = TypeVar("R")


class Section(NamedTuple):
    """A stage of a function.

    Attributes:
        title: its name.
        summary: a sentence about it, or about why it is missing.
        program: the program at that stage, a jaxpr or text; None if there is none.
        seconds: the time it took to make it; None if nothing was made.
    """

    title: str
    summary: str
    program: Jaxpr | str | None = None
    seconds: float | None = None

    @property
    def time(self) -> str:
        """The time as text: `1.5 ms`."""
        if self.seconds is None:
            return ""
        return f"{self.seconds:.2f} s" if self.seconds >= 1 else f"{1e3 * self.seconds:.1f} ms"


class Explanation:
    """The stages of a function from its source to a compiled program.

    Print it; in a notebook, the last line of a cell shows it as tabs.

    Attributes:
        name: the name of the function.
        sections: the stages.
    """

    def __init__(self, name: str, sections: Sequence[Section]):
        self.name = name
        self.sections = list(sections)

    def __getitem__(self, title: str) -> Any:
        """The program of the stage with this title, such as "jaxpr".

        Raises:
            KeyError: there is no such stage.
        """
        for section in self.sections:
            if section.title == title:
                return section.program
        titles = ", ".join(repr(section.title) for section in self.sections)
        raise KeyError(f"there is no stage {title!r}; there are {titles}")

    def pretty_print(self, *, use_color: bool | None = None) -> str:
        """The text, with colors, by default if it is printed on a terminal."""
        in_color = wants_color() if use_color is None else use_color
        return "\n\n".join(_text(section, in_color) for section in self.sections)

    def __str__(self) -> str:
        return self.pretty_print(use_color=False)

    def __repr__(self) -> str:
        return f"<explanation of `{self.name}`>"

    def to_html(self) -> str:
        """The stages as tabs, as a part of a page."""
        first, *others = "".join(map(_panel, self.sections)).split(definition_of_jaxprs())
        panels = first + definition_of_jaxprs() + "".join(others)  # defined once
        return element("glassjax-explanation", panels, _ASSETS)

    def _repr_html_(self) -> str:
        return self.to_html()

    def save(self, path: Any) -> None:
        """Write a page with the stages to a file."""
        text = page(f"From `{self.name}` to the machine", self.to_html())
        Path(path).write_text(text, encoding="utf-8")


def _text(section: Section, in_color: bool) -> str:
    time = f" {section.time}" if section.time else ""
    rule = "─" * max(3, _WIDTH - len(section.title) - len(time) - 4)
    heading = f"── {section.title} {rule}{time}"
    if in_color:
        heading = f"\x1b[1m{heading}\x1b[0m"
    program = section.program
    if isinstance(program, Jaxpr):
        program = glassjax_watch.in_color(program) if in_color else str(program)
    summary = textwrap.fill(section.summary, _WIDTH)
    return "\n".join([heading, summary, *([] if program is None else ["", program.rstrip()])])


def _panel(section: Section) -> str:
    program = section.program
    if isinstance(program, Jaxpr):
        shown = glassjax_watch.to_html(program)
    else:
        shown = "" if program is None else f"<pre>{html.escape(program)}</pre>"
    title, summary = html.escape(section.title), html.escape(section.summary)
    summary = re.sub("`([^`]*)`", r"<code>\1</code>", summary)
    return (
        f'<section data-title="{title}" data-time="{section.time}"><h4>{title}</h4>'
        f"<p>{summary}</p>{shown}</section>"
    )


# `explain`: a function at every stage between its source and a compiled program.


def explain(fun: Callable[..., Any]) -> Callable[..., Explanation]:
    """Show a function at every stage between its source and a compiled program.

    The stages are its source; its jaxpr; its jvp; the known half of the jvp, without tangents, and
    the unknown half; the transpose of the unknown half, which `grad` runs; the function itself
    in StableHLO and as XLA optimizes it; and the memory that this takes, by line. Each has the
    time that it took.

    Arguments:
        fun: function of arrays and pytrees of arrays, jitted or not.

    Returns:
        A function of the same arguments, or of types in their place, that returns an
        `Explanation`. Print it, or look at it in a notebook; `explanation["jaxpr"]` is a stage by
        itself, and `explanation.save("page.html")` writes a page.

    Raises:
        TypeError: `fun` is not a function; when called, an argument is not an array.

    >>> explanation = explain(lambda x: jnp.sin(x) * 2.0)(1.0)
    >>> [section.title for section in explanation.sections][:4]
    ['source', 'jaxpr', 'jvp', 'known']
    >>> explanation["transpose"]
    { lambda ; a:f32[] b:f32[]. let
        c:f32[] = mul b 2.0:f32[]
        d:f32[] = mul c a
      in (d,) }
    """
    require_function("explain", fun)

    @evaluated_by_library
    @functools.wraps(fun)
    def explained(*args: Any, **kwargs: Any) -> Explanation:
        require_call(f"explain of `{name_of(fun)}`", fun, args, kwargs)
        return Explanation(name_of(fun), list(_sections(fun, args, kwargs)))

    return explained


def _sections(fun: Callable[..., Any], args: Any, kwargs: Any) -> Iterator[Section]:
    yield _source(fun)
    with marking_backward_passes():
        traced, seconds = _timed(traced_anew(fun).trace, *args, **kwargs)
    closed = traced.jaxpr
    yield Section(
        "jaxpr", "What the function does to arrays, written down as it ran.", closed, seconds
    )
    yield from _derivatives(closed)
    lowered, seconds = _timed(traced.lower)
    text = lowered.as_text()
    yield Section("StableHLO", "The jaxpr in the language that XLA reads.", text, seconds)
    compiled, seconds = _timed(compiled_anew, lowered)
    text = re.sub(r", metadata=\{[^}]*\}", "", compiled.as_text())
    summary = "The program after XLA's optimizations: operations that run in one loop are fused."
    yield Section("optimized HLO", summary, text, seconds)
    text, seconds = _timed(lambda: Memory(name_of(fun), compiled).pretty_print(_WIDTH))
    summary = "The arrays that live at the same time, by line. `explain_memory` draws them."
    yield Section("memory", summary, text, seconds)


def _timed(step: Callable[..., R], *args: Any, **kwargs: Any) -> tuple[R, float]:
    """The result of a step, and the seconds that it takes."""
    start = perf_counter()
    return step(*args, **kwargs), perf_counter() - start


def _source(fun: Callable[..., Any]) -> Section:
    try:
        text = textwrap.dedent(inspect.getsource(inspect.unwrap(fun))).rstrip()
    except (OSError, TypeError):
        return Section("source", "The source of this function is not available.")
    return Section("source", "The function as it is written.", text)


def _derivatives(closed: Jaxpr) -> Iterator[Section]:
    """The stages of the derivative."""
    jaxpr = consts_as_invars(read_jaxpr(closed))
    num_consts = len(closed.consts)
    varies = [is_inexact(aval.dtype) for aval in jaxpr.in_avals]
    varies[:num_consts] = [False] * num_consts
    if not any(varies):
        yield Section("derivative", "There is none: no argument is real or complex.")
        return
    try:
        (program, consts, varying_outs), seconds = _timed(jvp_jaxpr, jaxpr, tuple(varies))
    except (TypeError, ValueError, NotImplementedError) as error:
        why = str(error).partition("\n")[0]
        yield Section("derivative", f"There is none in forward mode. {why}")
        return
    if not any(varying_outs):
        yield Section("derivative", "It is zero: no result depends smoothly on the arguments.")
        return
    num_tangents = sum(varies)
    num_fixed = len(consts) + num_consts
    num_primals = len(jaxpr.invars) - num_consts
    counts = f"{counted(num_primals, 'primal')} and {counted(num_tangents, 'tangent')}"
    summary = f"The function and its derivative in one program, of {counts}."
    yield Section("jvp", summary, _with_consts(program, num_fixed), seconds)

    is_tangent = [False] * (len(program.invars) - num_tangents) + [True] * num_tangents
    parts, seconds = _timed(partial_eval_jaxpr, program, is_tangent)
    kept = counted(parts.num_residuals, "residual")
    summary = f"What of the jvp needs no tangents: the results, then {kept} for the other half."
    yield Section("known", summary, _with_consts(parts.known, num_fixed), seconds)
    summary = (
        f"What waits for tangents. It takes {kept} and the tangents, in which it is linear. "
        "`linearize` returns it."
    )
    yield Section("unknown", summary, printed_jaxpr(parts.unknown))

    linear = (False,) * parts.num_residuals + (True,) * num_tangents
    try:
        nonzero = (True,) * len(parts.unknown.outvars)
        (transposed, consts, _), seconds = _timed(transpose_jaxpr, parts.unknown, linear, nonzero)
    except (TypeError, ValueError, NotImplementedError) as error:
        why = str(error).partition("\n")[0]
        yield Section("transpose", f"There is none, and so no gradient. {why}")
        return
    summary = (
        f"The unknown half run backwards: from {kept} and the cotangents of the results to the "
        "cotangents of the arguments. `grad` runs it."
    )
    yield Section("transpose", summary, _with_consts(transposed, len(consts)), seconds)


def _with_consts(jaxpr: Jaxpr, count: int) -> Jaxpr:
    """A program with its first arguments replaced by constants."""
    used = {x for eqn in jaxpr.eqns for x in eqn.invars} | {*jaxpr.outvars}
    consts = [var for var in jaxpr.invars[:count] if var in used]
    return printed_jaxpr(Jaxpr(consts, jaxpr.invars[count:], jaxpr.eqns, jaxpr.outvars))


# `print_saved_residuals`: the arrays that reverse mode stores until the backward pass.


def print_saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Print the residuals of `f` in reverse mode: the type and origin of each array, on a line.

    Arguments:
        f: function of arrays and pytrees of arrays.
        args, kwargs: its arguments, or types in their place.

    Raises:
        TypeError: an argument is not an array or a type.

    >>> from glassjax.ad_checkpoint import print_saved_residuals
    >>> f = lambda x, y: jnp.sin(x) * y
    >>> print_saved_residuals(glassjax.checkpoint(f), jnp.ones(3), 2.0)
    f32[3] from the argument x
    f32[] from the argument y
    """
    require_function("print_saved_residuals", f)
    for aval, origin in saved_residuals(f, *args, **kwargs):
        print(f"{aval} {origin}")


def saved_residuals(
    f: Callable[..., Any], *args: Any, **kwargs: Any
) -> list[tuple[ShapedArray, str]]:
    """The type and the origin of each array that reverse mode of `f` keeps."""
    leaves, tree = tree_flatten((args, kwargs))

    def leaves_fun(*leaves: Any) -> Any:
        args, kwargs = tree_unflatten(tree, leaves)
        return f(*args, **kwargs)

    jaxpr, types = make_jaxpr(lambda *leaves: vjp(leaves_fun, *leaves), return_shape=True)(*leaves)
    names = [f"from the argument {name}" for name in argument_names(f, args, kwargs)]
    given = ["from a constant"] * len(jaxpr.constvars) + names
    kept = dict.fromkeys(jaxpr.outvars[len(tree_leaves(types[0])) :])
    return [(each.aval, _origin(jaxpr, each, given.__getitem__)) for each in kept]


def _origin(jaxpr: Jaxpr, atom: Atom, input_origin: Callable[[int], str]) -> str:
    """The equation that computes a value, also in called programs; or its other origin."""
    if isinstance(atom, Literal):
        return "from a literal"
    inputs = [*jaxpr.constvars, *jaxpr.invars]
    if atom in inputs:
        return input_origin(inputs.index(atom))
    eqn = next(eqn for eqn in jaxpr.eqns if atom in eqn.outvars)
    called = eqn.params.get("jaxpr")
    if isinstance(called, Jaxpr) and len(called.outvars) == len(eqn.outvars):
        result = called.outvars[eqn.outvars.index(atom)]
        return _origin(called, result, lambda i: _origin(jaxpr, eqn.invars[i], input_origin))
    is_named = eqn.primitive is name_p
    described = f"named {eqn.params['name']!r}" if is_named else f"output of {eqn.primitive}"
    source = eqn.source
    if source is None:
        return described
    return f"{described} from {source.code.co_filename}:{source.line} ({source.code.co_name})"
