"""Templates: programs of library functions, traced once per types and copied afterwards."""

import sys
from collections.abc import Callable, Sequence
from enum import Enum
from functools import cache
from itertools import chain, count
from types import FrameType, NoneType
from typing import Any, NamedTuple
from weakref import WeakSet

import numpy as np

import glassjax_stage3 as stage3
from glassjax.dimensions.expressions import Dimension, as_array
from glassjax.runtime.array import Array
from glassjax.runtime.evaluation import adds_equations, device_trace, evaluators
from glassjax.runtime.nesting import INLINED, compositions, nests_calls
from glassjax.runtime.signature import StaticArguments, exact_type
from glassjax.settings.config import Switch
from glassjax.settings.names import named
from glassjax.settings.number_types import withheld_warnings
from glassjax.settings.tracers import Tracer, library_tracer
from glassjax.shardings.mesh import mesh_in_context
from glassjax_stage1.interpreter import in_context, set_interpreter
from glassjax_stage2 import Primitive, ShapedArray, Zero, primitives, typeof
from glassjax_stage2.jvp import JVPTrace as PlainJVPTrace
from glassjax_stage2.jvp import JVPTracer as PlainJVPTracer
from glassjax_stage2.jvp import jvp_flat
from glassjax_stage2.shaped_array import dialect, python_scalars
from glassjax_stage2.source import Source, on_behalf_of, user_source
from glassjax_stage2.tangent import tangent_type
from glassjax_stage2.trace import Params, Trace
from glassjax_stage2.tree import tree_flatten, tree_unflatten
from glassjax_stage2.vmap import BatchAxis, BatchDim, BatchTracer, vmap_flat
from glassjax_stage2.vmap import BatchTrace as PlainBatchTrace
from glassjax_stage3 import Jaxpr, JaxprEqn, Literal, Var
from glassjax_stage3.abstract_eval import abstract_eval
from glassjax_stage3.jaxpr import Atom, eval_jaxpr, inner_jaxprs
from glassjax_stage3.jit import jit_p
from glassjax_stage3.staging import JaxprTrace as PlainJaxprTrace
from glassjax_stage3.staging import JaxprTracer
from glassjax_stage4.partial_eval import PartialEvalTrace as PlainPartialEvalTrace
from glassjax_stage4.partial_eval import PartialVal, partial_eval
from glassjax_stage4.stop_gradient import stop_gradient_p
from glassjax_stage4.transpose import UndefPrimal, backward_pass, transpose_rules

# Templates: programs of library functions, traced once per types and copied afterwards.
#
# The operations of a library function depend on the types of its arguments, on Python values among
# them, and on settings. The first call in a trace stages it as a program, the template; later calls
# with the same key copy its equations, with the variables renamed and the line of this call, and
# run no Python of the function. The jvp, vmap and transpose of a template also depend only on
# types: each is a template in turn, made once.
#
# Users' programs contain no templates: interpreters pass them to each other as `template_p`, until
# a staging trace writes their equations.


Avals = Sequence[ShapedArray]
Apply = Callable[["Template", Sequence[Any], Source | None], list[Any]]
Some = tuple[ShapedArray | None, ...]  # types; None for a value that is left out

template_p = Primitive("template")

# Primitives with fixed rules: the stages' and this library's. Users may redefine the rules of their
# own primitives at any time, without notice.
own_primitives = {x for x in vars(primitives).values() if isinstance(x, Primitive)} | {
    jit_p,
    stop_gradient_p,
}


def note_declaration(primitive: Primitive) -> None:
    """Add a primitive to `own_primitives` if a module of this library is declaring it."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("glassjax."):
        if frame.f_code.co_name == "<module>":
            own_primitives.add(primitive)
            break
        frame = frame.f_back


class Template:
    """A program that is copied where it is applied.

    Attributes:
        jaxpr: the program.
        consts: the values of its constants.
        literals: the numbers that are written into it.
        avals: the types of the variables of its equations.
        steps: its equations, with variables as indices into the list of all atoms: the arguments,
            the constants, the literals, and then the variables, in order.
        outs: the index of each result in that list.
        are_computed: whether equations compute all results.
    """

    __slots__ = (
        "are_computed",
        "avals",
        "consts",
        "derived",
        "jaxpr",
        "literals",
        "out_avals",
        "outs",
        "parts",
        "steps",
    )

    def __init__(self, jaxpr: Jaxpr, consts: Sequence[Any]):
        self.jaxpr = jaxpr
        self.consts = consts
        self.out_avals = jaxpr.out_avals
        self.derived: dict[Any, Any] = {}
        atoms = chain(*(eqn.invars for eqn in jaxpr.eqns), jaxpr.outvars)
        self.literals = list(dict.fromkeys(x for x in atoms if isinstance(x, Literal)))
        place: dict[Any, int] = {}
        for atom in (*jaxpr.invars, *jaxpr.constvars, *self.literals):
            place[atom] = len(place)
        first = len(place)
        self.avals = [var.aval for eqn in jaxpr.eqns for var in eqn.outvars]
        self.steps = []
        for eqn in jaxpr.eqns:
            operands = [place[atom] for atom in eqn.invars]
            begin = len(place)
            for var in eqn.outvars:
                place[var] = len(place)
            self.steps.append((eqn.primitive, operands, begin, len(place), eqn.params))
        self.outs = [place[atom] for atom in jaxpr.outvars]
        self.are_computed = all(place >= first for place in self.outs)
        self.parts = consts, self.literals, self.avals, self.steps, self.outs, self.are_computed

    def run(self, *args: Any) -> list[Any]:
        """The results, by the current interpreter."""
        return stage3.eval_jaxpr(self.jaxpr, self.consts, *args)

    def once(self, key: Any, make: Callable[["Template", Any], Any]) -> Any:
        """The result of `make` for this template and a key, cached."""
        under = dialect(), key
        found = self.derived.get(under, self)  # `self`: not found
        if found is self:
            found = self.derived[under] = make(self, key)
        return found


class TakesTemplates(Trace):
    """A trace that applies templates without running their functions."""

    def apply(self, template: Template, args: Sequence[Any], source: Source | None) -> list[Any]:
        """The results of a template, on behalf of a user's line."""
        raise NotImplementedError(f"{type(self).__name__} must define apply")


def apply_in(trace: Trace) -> Apply:
    """The function by which a trace applies a template, whether or not it takes them."""
    if isinstance(trace, TakesTemplates):
        return trace.apply

    def run(template: Template, args: Sequence[Any], source: Source | None) -> list[Any]:
        with set_interpreter(trace), on_behalf_of(source):
            return template.run(*args)

    return run


class Transforming(TakesTemplates):
    """A trace that transforms a template and passes the result to its parent."""

    def __init__(self, *args: Any):
        super().__init__(*args)
        parent: Any = self.parent
        # `linearize` puts partial evaluation below a jvp. It takes no templates itself, but passes
        # on those whose operands are known, so the trace below it decides.
        while isinstance(parent, PartialEvalTrace):
            parent = parent.parent
        self.takes_templates = self.copies_rules = getattr(parent, "takes_templates", False)
        self.nests_calls = getattr(parent, "nests_calls", False)
        linearizes = parent is not self.parent
        self.groups_rules = linearizes and getattr(parent, "groups_rules", False)

    def process(self, primitive: Primitive, args: Sequence[Any], params: Params) -> list[Any]:
        if self.nests_calls and primitive in compositions:
            with set_interpreter(self):
                return _call_of()(primitive, args, params)
        template: Template | None = None
        if primitive is template_p:
            template = params["template"]
        elif not primitive.higher_order and (
            self.copies_rules or (self.groups_rules and _has_own_program(primitive, args))
        ):
            template = _primitive_template(primitive, args, params)
        if template is not None:
            return self.apply(template, args, user_source())
        return super().process(primitive, args, params)

    def run_rules(
        self, template: Template, args: Sequence[Any], source: Source | None
    ) -> list[Any]:
        """The results of a template without a transformed one: rules run for each equation."""
        # Otherwise `process` would make the same template of each equation again, without end.
        before, self.copies_rules = self.copies_rules, False
        try:
            with set_interpreter(self), on_behalf_of(source):
                return template.run(*args)
        finally:
            self.copies_rules = before

    @property
    def apply_below(self) -> Apply:
        """The function by which the current parent applies a template."""
        parent: Any = self.parent
        return (
            parent.apply if isinstance(parent, TakesTemplates) else apply_in(parent or device_trace)
        )


# --8<-- [start:copy]
class JaxprTrace(TakesTemplates, PlainJaxprTrace):
    """Stages a program, into which it copies templates."""

    tracer = library_tracer(JaxprTracer)
    takes_templates = True

    def __init__(self, *args: Any):
        super().__init__(*args)
        self.nests_calls = nests_calls()
        self.groups_rules = self.nests_calls and self.takes_templates
        if self.nests_calls:
            self.takes_templates = False

    def process(self, primitive: Primitive, args: Sequence[Any], params: Params) -> list[Any]:
        if primitive is template_p:
            return self.apply(params["template"], args, user_source())
        if primitive is jit_p and params["name"] == INLINED:
            before, source = len(self.eqns), user_source()
            for x in args:  # constants come in the order of the operands
                self.to_atom(x)
            with set_interpreter(self):
                outs = eval_jaxpr(params["jaxpr"], [], *args)
            for eqn in self.eqns[before:]:  # not the line and scope where the program was traced
                eqn.source = source
            return outs
        if self.nests_calls and primitive in compositions:
            return _call_of()(primitive, args, params)
        return super().process(primitive, args, params)

    def to_atom(self, x: Any) -> Any:
        if type(x) is self.tracer and x.interpreter is self:
            return x.variable
        if isinstance(x, Dimension):
            with set_interpreter(self):
                x = as_array(x)
        return super().to_atom(x)

    def apply(self, template: Template, args: Sequence[Any], source: Source | None) -> list[Any]:
        """Write the equations of a template, each with the same line."""
        tracer, to_atom = self.tracer, self.to_atom
        consts, literals, avals, steps, outs, are_computed = template.parts
        if consts:
            args = [*args, *consts]
        atoms: list[Any] = [
            x.variable if type(x) is tracer and x.interpreter is self else to_atom(x) for x in args
        ]
        atoms += literals
        atoms += [Var(aval) for aval in avals]
        self.eqns += [
            JaxprEqn(
                primitive, [atoms[place] for place in operands], atoms[begin:end], params, source
            )
            for primitive, operands, begin, end, params in steps
        ]
        if are_computed:
            return [tracer(self, atoms[place], source) for place in outs]
        # A result may also be an argument, a constant or a literal.
        before = len(atoms) - len(avals)
        return [
            tracer(self, atoms[place], source)
            if place >= before
            else args[place]
            if place < len(args)
            else atoms[place].val
            for place in outs
        ]


# --8<-- [end:copy]


@cache
def _call_of() -> Callable[[Primitive, Sequence[Any], Params], list[Any]]:
    return named("glassjax.transforms.custom_derivatives", "call_of")


_OPERATORS = {primitives.mul_p, primitives.div_p, primitives.pow_p}


def _has_own_program(primitive: Primitive, args: Sequence[Any]) -> bool:
    """Return True if JAX transposes the derivative of an operation as a program of its operands.

    If one operand is given twice, it does so for operators only, which are jitted functions. Inside
    a function of `lax`, which is not, weak types are kept.
    """
    is_jitted = primitive in _OPERATORS and dialect().converts_weak
    return is_jitted or len({*map(id, args)}) == len(args)


_MOST_PRIMITIVES = 4096
templates_of_primitives: dict[Any, Template] = {}


def _primitive_template(
    primitive: Primitive, args: Sequence[Any], params: Params
) -> Template | None:
    """The template that applies one primitive; None if its rules may depend on more than types."""
    if primitive not in own_primitives or (Switch.used and adds_equations()):
        return None
    if any(type(value) in (float, complex) for value in params.values()):
        return None  # 0.0 and -0.0 are equal but differ
    # Rules may depend on a concrete operand or on its sharding, so only plain tracers are described
    # by their types.
    avals = []
    for x in args:
        if not isinstance(x, Tracer) or type(x.aval) is not ShapedArray:
            return None
        avals.append(x.aval)
    key = dialect(), primitive, tuple(avals), tuple(params.items())
    try:
        template = templates_of_primitives.get(key)
    except TypeError:  # a parameter is not hashable
        return None
    if template is None:
        outs = abstract_eval(primitive, tuple(avals), params)
        if not outs or any(type(aval) is not ShapedArray for aval in outs):
            return None
        invars, outvars = list(map(Var, avals)), list(map(Var, outs))
        eqn = JaxprEqn(primitive, invars, outvars, params)
        if len(templates_of_primitives) >= _MOST_PRIMITIVES:
            templates_of_primitives.clear()
        template = templates_of_primitives[key] = Template(Jaxpr([], invars, [eqn], outvars), [])
    return template


class PartialEvalTrace(Transforming, PlainPartialEvalTrace):
    """Writes one equation for a template with unknown operands, the linear half of one.

    Its rules mix known and unknown values, so whole functions are not templates here.
    """

    tracer = library_tracer(JaxprTracer)

    def __init__(self, *args: Any):
        super().__init__(*args)
        self.takes_templates = self.copies_rules = self.nests_calls = False

    def apply(self, template: Template, args: Sequence[Any], source: Source | None) -> list[Any]:
        tracer, constants = self.tracer, self.constants
        operands: list[Any] = [
            x.variable if type(x) is tracer and x.interpreter is self else None for x in args
        ]
        if operands.count(None) == len(operands):
            return self.apply_below(template, args, source)
        for place, atom in enumerate(operands):
            if atom is None:
                x = args[place]
                if isinstance(x, Tracer) and x.interpreter is self.parent:
                    if id(x) not in constants:
                        constants[id(x)] = Var(x.aval), x
                    operands[place] = constants[id(x)][0]
                else:
                    operands[place] = self.to_atom(x)
        outvars = [Var(aval) for aval in template.out_avals]
        params = {"template": template}
        self.eqns.append(JaxprEqn(template_p, operands, outvars, params, source))
        return [tracer(self, var, source) for var in outvars]


class JVPTracer(Tracer, PlainJVPTracer):
    """A primal with its tangent, with a cached type."""

    aval: Any = None  # an attribute, not a property

    def __init__(self, trace: "JVPTrace", primal: Any, tangent: Any, source: Source | None = None):
        self.interpreter = trace
        self.source = source or user_source()
        self.primal = primal
        self.tangent = tangent
        self.aval = primal.aval if isinstance(primal, Tracer) else typeof(primal)


# --8<-- [start:jvp]
class JVPTrace(Transforming, PlainJVPTrace):
    """Differentiates a template once per types, and applies both halves of its derivative."""

    tracer: type[JVPTracer] = JVPTracer

    def __init__(self, *args: Any):
        super().__init__(*args)
        if self.nests_calls:
            self.rules = named("glassjax.jax_programs.derivatives", "jvp_rules_of_jax")

    def apply(self, template: Template, args: Sequence[Any], source: Source | None) -> list[Any]:
        apply, tracer = self.apply_below, self.tracer
        primals: list[Any] = []
        tangents: list[Any] = []
        nonzero: list[ShapedArray | None] = []
        for x in args:
            if type(x) is tracer and x.interpreter is self:
                primals.append(x.primal)
                tangent = x.tangent
                tangents.append(tangent)
                nonzero.append(tangent.aval if isinstance(tangent, Tracer) else typeof(tangent))
            else:
                primals.append(x)
                nonzero.append(None)
        if not tangents:
            return apply(template, args, source)
        halves: Linearized | None = template.once(tuple(nonzero), _linearize)
        if halves is None:
            return self.run_rules(template, args, source)
        outs = apply(halves.known, primals, source)
        residuals = outs[len(template.outs) :]
        dots = apply(halves.linear, residuals + tangents, source)
        return [
            outs[i] if place is None else tracer(self, outs[i], dots[place], source)
            for i, place in halves.outs
        ]


# --8<-- [end:jvp]


class BatchTrace(Transforming, PlainBatchTrace):
    """Batches a template once per types and axes."""

    tracer = library_tracer(BatchTracer)

    def apply(self, template: Template, args: Sequence[Any], source: Source | None) -> list[Any]:
        values, dims = self.unbox(args)
        if dims.count(None) < len(dims):
            key = self.axis, tuple(dims), tuple(map(typeof, values))
            batched: Batched | None = template.once(key, _batch)
            if batched is None:
                return self.run_rules(template, args, source)
            outs = self.apply_below(batched.template, values, source)
            return list(map(self.box, outs, batched.dims))
        return self.apply_below(template, args, source)


class TemplateTrace(JaxprTrace):
    """Stages a template. Library functions that it calls run instead of being copied."""

    takes_templates = False

    def is_literal(self, scalar: Any) -> bool:
        return isinstance(scalar, (*python_scalars, np.generic))


def staged(function: Callable[..., Sequence[Any]], in_avals: Avals) -> Template | None:
    """The template of a function from arrays to a list of arrays; None if it cannot be copied."""
    trace = TemplateTrace("a template")
    trace.parent = None  # it serves all calls, whatever surrounds this one
    with trace.run():
        outs = function(*trace.new_args(in_avals))
    closed = trace.to_jaxpr(outs)
    # The function closes over a value of the surrounding trace, which later calls do not have.
    if any(isinstance(const, Tracer) for const in closed.consts):
        return None
    # A user's primitive may get other rules later, and types with shardings depend on the mesh.
    for eqn in closed.eqns:
        is_plain = all(type(var.aval) is ShapedArray for var in eqn.outvars)
        if eqn.primitive not in own_primitives or not is_plain:
            return None
        _forget_lines(eqn)
    return Template(closed, closed.consts)


def _forget_lines(eqn: JaxprEqn) -> None:
    """Give the equations of `eqn`'s inner programs its line."""
    for program in inner_jaxprs(eqn):
        for inner in program.eqns:
            inner.source = None
            _forget_lines(inner)


# Transformed templates.


class Linearized(NamedTuple):
    """The halves of the derivative of a template, for tangents of some operands.

    Attributes:
        known: from the operands to the results, then the residuals.
        linear: from the residuals, then the tangents, to the tangents of results that have one.
        outs: the index of each result, and of its tangent or None.
    """

    known: Template
    linear: Template
    outs: list[tuple[int, int | None]]


# --8<-- [start:linearize]
def _linearize(template: Template, nonzero: Some) -> Linearized | None:
    dots: list[Any] = []
    parts: list[Any] = []

    def known(*primals: Any) -> list[Any]:
        outs: list[Any] = []

        # Operations on primals run in the trace that stages `known`, and become the first half.
        # Only the tangents are unknown to `partial_eval`: operations on them become the second
        # half.
        def tangents_of(*given: Any) -> list[Any]:
            rest = iter(given)
            tangents = [
                Zero(tangent_type(typeof(x))) if aval is None else next(rest)
                for x, aval in zip(primals, nonzero, strict=True)
            ]
            outs[:], dots[:] = jvp_flat(template.run, primals, tangents, None)
            return [dot for dot in dots if type(dot) is not Zero]

        unknown = [PartialVal.unknown(aval) for aval in nonzero if aval is not None]
        jaxpr, found, residuals = partial_eval(tangents_of, unknown)
        parts[:] = jaxpr, found
        return [*outs, *residuals]

    halves = staged(known, template.jaxpr.in_avals)
    jaxpr, found = parts
    is_own = own_primitives.issuperset(eqn.primitive for eqn in jaxpr.eqns)
    # A known tangent would be a result of the first half, for which there is no place.
    if halves is None or not is_own or any(dot.is_known for dot in found):
        return None
    program = Jaxpr([], [*jaxpr.constvars, *jaxpr.invars], jaxpr.eqns, jaxpr.outvars)
    places = count()
    outs = [(i, None if type(dot) is Zero else next(places)) for i, dot in enumerate(dots)]
    return Linearized(halves, Template(program, []), outs)


# --8<-- [end:linearize]


class Batched(NamedTuple):
    """A batched template, and the batch axes of its results."""

    template: Template
    dims: list[BatchDim]


def _batch(template: Template, key: tuple[BatchAxis, Sequence[BatchDim], Avals]) -> Batched | None:
    axis, dims, avals = key
    out_dims: list[BatchDim] = []

    def batched(*values: Any) -> list[Any]:
        outs, out_dims[:] = vmap_flat(template.run, values, dims, axis, None)
        return outs

    found = staged(batched, avals)
    return None if found is None else Batched(found, out_dims)


class Transposed(NamedTuple):
    """The transpose of a template with respect to some operands, for cotangents of some results.

    Attributes:
        template: from the other operands, then the cotangents, to the cotangents of operands.
        places: the indices of those operands.
    """

    template: Template
    places: list[int]


def _run_backwards(cts: Sequence[Any], *operands: Any, template: Template) -> list[Any]:
    """The cotangents of the `UndefPrimal` operands, by a rule for each equation."""
    jaxpr = template.jaxpr
    program = Jaxpr([], [*jaxpr.constvars, *jaxpr.invars], jaxpr.eqns, jaxpr.outvars)
    return backward_pass(program, [*template.consts, *operands], cts)[len(template.consts) :]


def transposed_template(template: Template, key: tuple[Any, ...]) -> Transposed | None:
    """The transpose of a template, or None if it cannot be copied.

    The key says for each operand whether it is linear, and for each result the type of its
    cotangent, or None.
    """
    avals = template.jaxpr.in_avals
    linear, given = key[: len(avals)], key[len(avals) :]
    places: list[int] = []

    def backwards(*values: Any) -> list[Any]:
        rest = iter(values)
        operands = [
            UndefPrimal(aval) if is_linear else next(rest)
            for aval, is_linear in zip(avals, linear, strict=True)
        ]
        cts = [
            Zero(tangent_type(atom.aval)) if ct is None else next(rest)
            for atom, ct in zip(template.jaxpr.outvars, given, strict=True)
        ]
        in_cts = _run_backwards(cts, *operands, template=template)
        places[:] = [i for i, ct in enumerate(in_cts) if type(ct) not in (NoneType, Zero)]
        return [in_cts[i] for i in places]

    known = [aval for aval, is_linear in zip(avals, linear, strict=True) if not is_linear]
    found = staged(backwards, [*known, *(aval for aval in given if aval is not None)])
    return None if found is None else Transposed(found, places)


def expanded(jaxpr: Jaxpr) -> Jaxpr:
    """A program with the templates that it applies expanded; they must have no constants."""
    if not any(eqn.primitive is template_p for eqn in jaxpr.eqns):
        return jaxpr
    renamed: dict[Atom, Any] = {}
    eqns: list[JaxprEqn] = []
    for eqn in jaxpr.eqns:
        invars = [renamed.get(atom, atom) for atom in eqn.invars]
        if eqn.primitive is not template_p:
            eqns.append(JaxprEqn(eqn.primitive, invars, eqn.outvars, eqn.params, eqn.source))
            continue
        template: Template = eqn.params["template"]
        atoms: list[Any] = [*invars, *template.literals]
        atoms += map(Var, template.avals)
        for primitive, operands, begin, end, params in template.steps:
            invars = [atoms[place] for place in operands]
            eqns.append(JaxprEqn(primitive, invars, atoms[begin:end], params, eqn.source))
        for var, place in zip(eqn.outvars, template.outs, strict=True):
            renamed[var] = atoms[place]
    outvars = [renamed.get(atom, atom) for atom in jaxpr.outvars]
    return Jaxpr(jaxpr.constvars, jaxpr.invars, eqns, outvars)


transpose_rules[template_p] = _run_backwards
evaluators[template_p] = lambda *operands, template: template.run(*operands)


# Library functions that are copied into programs: the template of a call.
#
# The key of a template has everything that its function may depend on: the types of arrays, values
# of Python numbers and other static arguments, and the settings and the mesh in force. A call
# without a key, for instance with a function among its arguments, runs the function itself.


_interpreter = in_context.get
_mesh = mesh_in_context.get

_MOST_KEYS = 1024  # per function; keys contain Python numbers, which may differ in each call
_ARRAYS = frozenset((Array, np.ndarray))
_VALUES = frozenset((bool, int, str, bytes, type(None), type))


_all_templates: "WeakSet[Templates]" = WeakSet()

not_copied: Any = object()


def forget_templates() -> None:
    """Forget the templates of all functions."""
    templates_of_primitives.clear()
    for templates in list(_all_templates):
        templates.clear()


class _Unknown(Exception):
    """An argument that keys cannot describe."""


class Templates:
    """The templates of one function, by the types and values of its arguments.

    Arguments:
        function: the function.
        static: its static arguments, of any class.
    """

    __slots__ = ("__weakref__", "_by_key", "function", "static")

    def __init__(self, function: Callable[..., Any], static: StaticArguments | None = None):
        self.function = function
        self.static = static
        self._by_key: dict[Any, Any] = {}
        _all_templates.add(self)

    def clear(self) -> None:
        """Forget them."""
        self._by_key.clear()

    def call(self, trace: Any, args: Any, kwargs: Any, depth: int = 4) -> Any:
        """The result of a call in a trace; `not_copied` if the function itself has to run.

        The trace must take templates. The frames below `depth` are known to be the library's.
        """
        if Switch.used and adds_equations():
            return not_copied
        key: list[Any] = [dialect(), _mesh()]
        arrays: list[Any] = []
        place = 0
        try:
            for x in args:
                if isinstance(x, Tracer):
                    arrays.append(x)
                    key.append(x.aval)
                else:
                    self._describe(x, place, key, arrays)
                place += 1
            for name in kwargs:
                key.append(name)
                self._describe(kwargs[name], name, key, arrays)
            under = tuple(key)
            found = self._by_key.get(under)
        except (_Unknown, TypeError, OverflowError, RecursionError):
            return not_copied
        if found is None:
            found = self._make(under, arrays, args, kwargs)
        template, tree = found
        if template is None:
            return not_copied
        outs = trace.apply(template, arrays, user_source(depth))
        return outs[0] if tree is None else tree_unflatten(tree, outs)

    def _describe(self, x: Any, where: int | str, key: list[Any], arrays: list[Any]) -> None:
        """Add to a key what a template depends on: the type of an array, or a value."""
        cls = x.__class__
        if isinstance(x, Tracer) or cls in _ARRAYS:
            arrays.append(x)
            key.append(typeof(x))
        elif cls in _VALUES:
            key += cls, x
        elif cls is float or cls is complex:  # 0.0 == -0.0
            key += cls, repr(x)
        elif isinstance(x, np.dtype | Enum):
            key += cls, x
        elif cls is tuple or cls is list:
            key += cls, len(x)
            for item in x:
                self._describe(item, where, key, arrays)
        elif isinstance(x, np.generic):
            # by its bits: zeros of both signs are equal, and NaN is not equal to itself
            key += cls, x.tobytes()
        # A user's function may do something else in the next call, even if it is the same object.
        elif self._is_static(where) and not (callable(x) and getattr(x, "is_users", True)):
            key += exact_type(x), x
        else:
            raise _Unknown

    def _is_static(self, where: int | str) -> bool:
        """Return True if an argument, by position or name, is static."""
        static = self.static
        return static is not None and where in (*static.argnums, *static.argnames)

    def _make(self, key: Any, arrays: Sequence[Any], args: Any, kwargs: Any) -> Any:
        trees: list[Any] = []

        def template_function(*values: Any) -> list[Any]:
            rest = iter(values)
            given, named = _replaced(args, rest), _replaced(kwargs, rest)
            outs, tree = tree_flatten(self.function(*given, **named))
            trees.append(tree)
            return outs

        avals = list(map(typeof, arrays))
        template = None
        outside, warnings = withheld_warnings.get(), list[str]()
        withheld_warnings.set(warnings)
        try:
            if all(type(aval) is ShapedArray for aval in avals):
                template = staged(template_function, avals)
        except Exception:  # the function itself raises a better error
            pass
        finally:
            withheld_warnings.set(outside)
        if warnings:  # every call must warn
            template = None
        found = template, None if template is None else _one_leaf_or(trees[0])
        if len(self._by_key) >= _MOST_KEYS:
            self._by_key.clear()
        self._by_key[key] = found
        return found


def copied(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: a function of values that is called outside of traces, and copied inside."""
    call = Templates(function).call

    def copied_or_called(*values: Any) -> Any:
        trace: Any = _interpreter()
        if getattr(trace, "takes_templates", False) and not trace.ended:
            out = call(trace, values, {}, 3)
            if out is not not_copied:
                return out
        return function(*values)

    return copied_or_called


def _one_leaf_or(tree: Any) -> Any:
    """The structure, or None if it is a single leaf."""
    return None if tree.nodes == (None,) else tree


def _replaced(x: Any, arrays: Any) -> Any:
    """An argument with other arrays in place of its own."""
    cls = x.__class__
    if isinstance(x, Tracer) or cls in _ARRAYS:
        return next(arrays)
    if cls is tuple or cls is list:
        return cls([_replaced(item, arrays) for item in x])
    return {name: _replaced(item, arrays) for name, item in x.items()} if cls is dict else x
