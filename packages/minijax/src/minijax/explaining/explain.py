"""`explain`: a function at every stage between its source and a compiled program."""

import functools
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

from minijax.explaining.explanation import Explanation, Section
from minijax.runtime.evaluation import evaluated_by_library
from minijax.runtime.jit import PjitFunction, jit
from minijax.runtime.printed_jaxpr import printed_jaxpr
from minijax.settings.counted import counted
from minijax_stage2.arguments import require_function
from minijax_stage2.shaped_array import is_inexact
from minijax_stage2.source import name_of
from minijax_stage3 import ClosedJaxpr, Jaxpr
from minijax_stage3.jaxpr import consts_as_invars
from minijax_stage3.jit_rules import jvp_jaxpr
from minijax_stage4.jit_rules import transpose_jaxpr
from minijax_stage4.partial_eval import partial_eval_jaxpr


def explain(fun: Callable[..., Any]) -> Callable[..., Explanation]:
    """Show a function at every stage between its source and a compiled program.

    The stages are its source; its jaxpr; the program of its jvp; the known and the unknown half of
    that, of which one can run before there are tangents; the transpose of the unknown half, which
    `grad` runs; and the program of the function itself in StableHLO and as XLA optimizes it. Each
    has the time that it took.

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
        require_call("explain", fun, args, kwargs)
        return Explanation(name_of(fun), list(_sections(fun, args, kwargs)))

    return explained


def require_call(caller: str, fun: Callable[..., Any], args: Any, kwargs: Any) -> None:
    """Raise TypeError if `fun` does not take these arguments."""
    try:
        signature = inspect.signature(fun)
    except (TypeError, ValueError):  # one that Python does not know
        return
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{caller} of `{name_of(fun)}`: {error}; it takes {signature}") from None


def _sections(fun: Callable[..., Any], args: Any, kwargs: Any) -> Iterator[Section]:
    yield _source(fun)
    function = traced_anew(fun)
    start = perf_counter()
    traced = function.trace(*args, **kwargs)
    seconds = perf_counter() - start
    closed = traced.jaxpr
    yield Section(
        "jaxpr", "What the function does to arrays, written down as it ran.", closed, seconds
    )
    yield from _derivatives(closed)
    start = perf_counter()
    lowered = traced.lower()
    text = lowered.as_text()
    seconds = perf_counter() - start
    yield Section("StableHLO", "The jaxpr in the language that XLA reads.", text, seconds)
    start = perf_counter()
    compiled = lowered.compile()
    seconds = perf_counter() - start
    text = re.sub(r", metadata=\{[^}]*\}", "", compiled.as_text())
    summary = "The program after XLA's optimizations: operations that run in one loop are fused."
    yield Section("optimized HLO", summary, text, seconds)


def _source(fun: Callable[..., Any]) -> Section:
    try:
        text = textwrap.dedent(inspect.getsource(inspect.unwrap(fun))).rstrip()
    except (OSError, TypeError):
        return Section("source", "Python does not know the source of this function.")
    return Section("source", "The function as it is written.", text)


def traced_anew(fun: Callable[..., Any]) -> PjitFunction:
    """The function, jitted, without what is known of it from earlier calls."""
    own: Any = fun if isinstance(fun, PjitFunction) else jit(fun)
    return PjitFunction(own._fun, own._static, own._options, {}, False, own._given_places)


def _derivatives(closed: ClosedJaxpr) -> Iterator[Section]:
    """The program of the derivative, and what becomes of it."""
    jaxpr = consts_as_invars(closed.jaxpr)
    num_consts = len(closed.consts)
    varies = [is_inexact(aval.dtype) for aval in jaxpr.in_avals]
    varies[:num_consts] = [False] * num_consts
    if not any(varies):
        yield Section("derivative", "There is none: no argument is real or complex.")
        return
    try:
        start = perf_counter()
        program, consts, varying_outs = jvp_jaxpr(jaxpr, tuple(varies))
        seconds = perf_counter() - start
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
    what = f"{counted(num_primals, 'primal')} and {counted(num_tangents, 'tangent')}"
    summary = f"The function and its derivative in one program, of {what}."
    yield Section("jvp", summary, _with_consts(program, num_fixed), seconds)

    start = perf_counter()
    is_tangent = [False] * (len(program.invars) - num_tangents) + [True] * num_tangents
    parts = partial_eval_jaxpr(program, is_tangent)
    seconds = perf_counter() - start
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
        start = perf_counter()
        nonzero = (True,) * len(parts.unknown.outvars)
        transposed, consts, _ = transpose_jaxpr(parts.unknown, linear, nonzero)
        seconds = perf_counter() - start
    except (TypeError, ValueError, NotImplementedError) as error:
        why = str(error).partition("\n")[0]
        yield Section("transpose", f"There is none, and so no gradient. {why}")
        return
    summary = (
        f"The unknown half run backwards: from {kept} and the cotangents of the results to those "
        "of the arguments. `grad` runs it."
    )
    yield Section("transpose", summary, _with_consts(transposed, len(consts)), seconds)


def _with_consts(jaxpr: Jaxpr, count: int) -> Jaxpr:
    """A program whose first arguments are constants, written as such."""
    used = {x for eqn in jaxpr.eqns for x in eqn.invars} | {*jaxpr.outvars}
    consts = [var for var in jaxpr.invars[:count] if var in used]
    return printed_jaxpr(Jaxpr(consts, jaxpr.invars[count:], jaxpr.eqns, jaxpr.outvars))


__all__ = ["explain"]
