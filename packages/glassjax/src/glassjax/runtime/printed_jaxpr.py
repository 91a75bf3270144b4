"""Jaxprs as JAX prints them: its parameters' names, order and defaults, and its line breaks."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

import glassjax_stage3 as stage3
import glassjax_watch
from glassjax.runtime import jax_params
from glassjax.runtime.jax_params import Params, read_jaxpr
from glassjax.settings.names import named
from glassjax_stage3 import Jaxpr, JaxprEqn, Var
from glassjax_stage3.jaxpr import Atom
from glassjax_stage3.printing import LINE_WIDTH, all_names

LONG_PROGRAM = 10  # equations; a longer program within another is printed before it, by its name


class Break(NamedTuple):
    """A place where a group that does not fit on a line is broken."""

    flat: str = " "


class Nest(NamedTuple):
    """Text whose continuation lines are indented."""

    indent: int
    parts: Sequence["Doc"]


class Group(NamedTuple):
    """Text on one line if it fits, otherwise broken at each of its breaks."""

    parts: Sequence["Doc"]


Doc: TypeAlias = str | Break | Nest | Group


def _flat_doc(doc: Doc) -> str:
    if isinstance(doc, str):
        return doc
    return doc.flat if isinstance(doc, Break) else "".join(map(_flat_doc, doc.parts))


def _render(parts: Sequence[Doc], width: Callable[[str], int]) -> str:
    """The text of `parts`: a group is flat if it fits in the rest of its line."""
    text, line = [], ""
    pending: list[tuple[int, bool, Doc]] = [(0, False, doc) for doc in reversed(parts)]
    while pending:
        indent, is_flat, doc = pending.pop()
        if isinstance(doc, Break):
            if is_flat:
                line += doc.flat
            else:
                text.append(line)
                line = " " * indent
        elif isinstance(doc, str):
            line += doc
        else:
            if isinstance(doc, Nest):
                indent += doc.indent
            elif not is_flat:
                is_flat = width(line + _flat_doc(doc)) <= LINE_WIDTH
            pending.extend((indent, is_flat, part) for part in reversed(doc.parts))
    return "\n".join([*text, line])


def _joined(docs: Sequence[Doc], separator: Doc) -> list[Doc]:
    return [part for doc in docs for part in (separator, doc)][1:]


class JaxPrinter:
    """Writes jaxprs in JAX's notation; programs that are used twice are written once, in front."""

    def __init__(self) -> None:
        self.names: dict[Var, str] = defaultdict(all_names().__next__)
        self.shared: dict[int, str] = {}

    def width(self, line: str) -> int:
        return len(line)

    def text(self, jaxpr: Jaxpr) -> str:
        parts: list[Doc] = []
        shared = self._name_shared(jaxpr)
        for program in shared:
            parts += [f"let {self.shared[id(program)]} = ", self._program(program), " in", Break()]
        return _render([*parts, self._program(jaxpr)], self.width)

    def _name_shared(self, jaxpr: Jaxpr) -> list[Jaxpr]:
        """Name the programs that are printed in front, and return them, outer ones first."""
        uses: Counter[int] = Counter()
        found: dict[int, tuple[str, Jaxpr]] = {}
        pending = [("jaxpr", jaxpr)]
        for name, program in pending:
            # A long program counts twice, so that it is written in front even if it is used once.
            uses[id(program)] += 1 + (program is not jaxpr and len(program.eqns) > LONG_PROGRAM)
            found.setdefault(id(program), (name, program))
            for eqn in program.eqns:
                inner_name = str(eqn.params.get("name", "jaxpr")).strip("<>")
                pending += [(inner_name, inner) for inner in _programs(eqn.params.values())]
        taken: Counter[str] = Counter()
        shared = [found[key] for key, count in uses.items() if count > 1]
        for name, program in shared:
            number, taken[name] = taken[name], taken[name] + 1
            self.shared[id(program)] = f"{name}{number}" if number else name
        return [program for _, program in shared]

    def eqn(self, eqn: JaxprEqn, used: set[int] | None = None) -> list[Doc]:
        """The parts of an equation; results that are not `used` have no names."""
        name, params = printed(eqn)
        if name == "jit" and id(params["jaxpr"]) not in self.shared:
            self._name_alike(params["jaxpr"].invars, eqn.invars)
            outvars = [var if used is None or id(var) in used else None for var in eqn.outvars]
            self._name_alike(params["jaxpr"].outvars, outvars)
        outs = " ".join(
            self._bound(var) if used is None or id(var) in used else f"_:{var.aval}"
            for var in eqn.outvars
        )
        head = f"{outs} = {name}" if outs else name
        operands = " " + " ".join(map(self._atom, _shown_operands(eqn)))
        if not params:
            return [head, operands]
        pairs: list[Doc] = [Nest(0, [f"{key}=", self._value(x)]) for key, x in params.items()]
        inside = Nest(2, ["[", Break(""), *_joined(pairs, Break())])
        return [head, Group([inside, Break(""), "]"]), operands]

    def _program(self, jaxpr: Jaxpr) -> Doc:
        head = [" ".join(map(self._bound, xs)) for xs in (jaxpr.constvars, jaxpr.invars)]
        used = {id(x) for eqn in jaxpr.eqns for x in _shown_operands(eqn)}
        used |= {id(x) for x in jaxpr.outvars}
        shown = [eqn for eqn in jaxpr.eqns if not _only_names_an_axis(eqn, used)]
        eqns: list[Doc] = [Nest(0, self.eqn(eqn, used)) for eqn in shown]
        outs = ", ".join(map(self._atom, jaxpr.outvars))
        outs += "," if len(jaxpr.outvars) == 1 else ""
        body = Nest(2, [Break(), *_joined(eqns, Break("; "))])
        parts: list[Doc] = [f"{{ lambda {head[0]}; {head[1]}. let", body, Break(), f"in ({outs})"]
        return Group([Nest(2, parts), " }"])

    def _value(self, value: Any) -> Doc:
        if isinstance(value, Jaxpr):
            return self.shared.get(id(value)) or self._program(value)
        if isinstance(value, tuple) and value and all(isinstance(x, Jaxpr) for x in value):
            inside = Nest(2, ["(", Break(""), *_joined(list(map(self._value, value)), Break())])
            return Group([inside, Break(""), ")"])
        if isinstance(value, np.dtype):
            return value.name
        return re.sub(r"0x[0-9a-f]+", "0xXXXXXXXXXXXX", str(value))  # the same in each process

    def _name_alike(self, inner: Sequence[Any], outer: Sequence[Any]) -> None:
        """Name a called program's variables like the caller's that they stand for."""
        if len(inner) != len(outer):
            return
        seen: set[int] = set()
        for var, like in zip(inner, outer, strict=True):
            is_free = isinstance(var, Var) and isinstance(like, Var) and var not in self.names
            if is_free and id(like) not in seen:
                seen.add(id(like))
                self.names[var] = self.names[like]

    def _bound(self, var: Var) -> str:
        return f"{self.names[var]}:{var.aval}"

    def _atom(self, atom: Any) -> str:
        if not isinstance(atom, stage3.Literal):
            return self.names[atom]
        value, dtype = atom.val, atom.aval.dtype
        if type(value) is float and dtype.kind == "f":
            value = float(dtype.type(value))  # with the digits of its dtype
        return f"{value}:{atom.aval}"


def _programs(values: Any) -> list[Jaxpr]:
    found = []
    for value in values:
        for x in value if isinstance(value, tuple) else (value,):
            if isinstance(x, Jaxpr):
                found.append(x)
    return found


def _shown_operands(eqn: JaxprEqn) -> Sequence[Atom]:
    """The operands that are shown: axis names are operands here, but parameters in JAX."""
    return eqn.invars[:1] if str(eqn.primitive) in _COLLECTIVES else eqn.invars


def _only_names_an_axis(eqn: JaxprEqn, used: set[int]) -> bool:
    """Return True for an axis index that at most collectives use."""
    return str(eqn.primitive) == "axis_index" and id(eqn.outvars[0]) not in used


def _axes(eqn: JaxprEqn) -> tuple[Any, ...]:
    """The names of the axes of a collective."""
    return tuple(x.aval.axis.name for x in eqn.invars[1:])  # type: ignore[attr-defined]


def printed(eqn: JaxprEqn) -> tuple[str, Params]:
    """The name of an equation's primitive and its parameters, as JAX prints them."""
    name = str(eqn.primitive)
    params = eqn.params if isinstance(eqn, PrintedEqn) else jax_params.written(eqn)
    if name in _RULES:
        params = _RULES[name](params, eqn)
    if name == "call_hi_primitive":
        return type(params["_prim"]).__name__, params["_prim"].params
    ordered = dict(sorted(params.items()))
    if name == "psum" and any(x.aval.axis.checked for x in eqn.invars[1:]):  # type: ignore[attr-defined]
        name = "psum_invariant"
        del ordered["axis_index_groups"]
    if "name" in ordered:
        ordered = {"name": ordered.pop("name")} | ordered
    return name, ordered


def _without(*names: str) -> Callable[[Params, JaxprEqn], Params]:
    return lambda params, _: {key: x for key, x in params.items() if key not in names}


def _without_default(**values: Any) -> Callable[[Params, JaxprEqn], Params]:
    return lambda params, _: {
        key: x for key, x in params.items() if key not in values or x != values[key]
    }


def _print_broadcast(params: Params, _: JaxprEqn) -> Params:
    return {key: x for key, x in params.items() if key == "broadcast_dimensions" and x}


def _print_custom_jvp(params: Params, _: JaxprEqn) -> Params:
    return _print_custom_call(params, params["jvp_jaxpr_fun"].names)


def _print_custom_vjp(params: Params, _: JaxprEqn) -> Params:
    return _print_custom_call(params, params["fwd_jaxpr_thunk"].names)


def _print_custom_call(params: Params, names: Params) -> Params:
    """The program, the number of its constants if it has any, and the names of functions."""
    shown = {"call_jaxpr": params["call_jaxpr"], **names}
    return shown | {"num_consts": params["num_consts"]} if params["num_consts"] else shown


def _print_dot_general(params: Params, eqn: JaxprEqn) -> Params:
    pairs = tuple((list(lhs), list(rhs)) for lhs, rhs in params["dimension_numbers"])
    shown = {k: x for k, x in params.items() if x is not None} | {"dimension_numbers": pairs}
    if isinstance(params["precision"], tuple):
        both = ", ".join(f"Precision.{each}" for each in params["precision"])
        shown["precision"] = f"({both})"
    return shown


def _shard_map(params: Params, _: JaxprEqn) -> Params:
    params = dict(params)
    manual = params.pop("manual")
    newly = frozenset(manual.names)
    return {**params, "check_vma": manual.checked, "newly_manual_axes": newly}


def _all_gather(params: Params, eqn: JaxprEqn) -> Params:
    return _gathering(params, eqn, "all_gather_dimension")


def _psum_scatter(params: Params, eqn: JaxprEqn) -> Params:
    return _gathering(params, eqn, "scatter_dimension")


def _gathering(params: Params, eqn: JaxprEqn, dimension: str) -> Params:
    return {
        dimension: params["axis"],
        "axis_index_groups": params.get("groups"),
        "axis_name": _axes(eqn),
        "axis_size": params["size"],
        "tiled": False,
    }


def _all_to_all(params: Params, eqn: JaxprEqn) -> Params:
    return {
        "axis_index_groups": params.get("groups"),
        "axis_name": _axes(eqn)[0],
        "concat_axis": params["concat"],
        "split_axis": params["split"],
        "tiled": False,
    }


def _reduce_over_devices(params: Params, eqn: JaxprEqn) -> Params:
    return {"axes": _axes(eqn), "axis_index_groups": params.get("groups")}


def _linear_solve(params: Params, _: JaxprEqn) -> Params:
    jaxprs = [x if x is None else printed_jaxpr(x) for x in params["jaxprs"]]
    return {**params, "jaxprs": str(params["jaxprs"]._make(jaxprs))}


_REDUCING = ("psum", "pmax", "pmin")
_CASTS = ("pvary", "preduced", "vary_unreduced_cast", "reduced_vary_cast")
_GATHERING = ("all_gather", "all_gather_reduced")
_SCATTERING = ("reduce_scatter", "unreduced_reduce_scatter")
_COLLECTIVES = (
    *_REDUCING, "unreduced_psum", *_GATHERING, *_SCATTERING, "all_to_all", "ppermute", *_CASTS,
)  # fmt: skip

# Parameters that JAX names or shows differently.
_RULES: dict[str, Callable[[Params, JaxprEqn], Params]] = {
    "broadcast_in_dim": _print_broadcast,
    "dot_general": _print_dot_general,
    "jit": lambda params, _: {"name": params["name"], "jaxpr": params["jaxpr"]},
    "convert_element_type": _without("sharding"),
    "mul": _without_default(out_dtype=None),
    "shard_map": _shard_map,
    "axis_index": lambda params, _: {"axis_name": params["axis"].name},
    **dict.fromkeys((*_CASTS, "unreduced_psum"), lambda params, eqn: {"axes": _axes(eqn)}),
    "ppermute": lambda params, eqn: {"axis_name": _axes(eqn), "perm": params["perm"]},
    **dict.fromkeys(_REDUCING, _reduce_over_devices),
    **dict.fromkeys(_GATHERING, _all_gather),
    **dict.fromkeys(_SCATTERING, _psum_scatter),
    "all_to_all": _all_to_all,
    "custom_linear_solve": _linear_solve,
    "custom_jvp_call": _print_custom_jvp,
    "custom_vjp_call": _print_custom_vjp,
    **dict.fromkeys(jax_params.ELEMENTARY, _without_default(accuracy=None)),
}


class PrintedEqn(JaxprEqn):
    """An equation whose text is JAX's."""

    def __str__(self) -> str:
        printer = JaxPrinter()
        return _render(printer.eqn(self), printer.width)

    __repr__ = __str__


class DebugInfo(NamedTuple):
    """A description of a traced function, for messages.

    Attributes:
        traced_for: the transformation.
        func_src_info: the name of the function, possibly followed by its place in the source.
        arg_names: the names of its arguments, if they are known.
        result_paths: the names of its results, if they are known.
    """

    traced_for: str
    func_src_info: str
    arg_names: tuple[str, ...] | None = None
    result_paths: tuple[str, ...] | None = None

    @property
    def func_name(self) -> str:
        """The name of the function."""
        return self.func_src_info.partition(" ")[0]


class PrintedJaxpr(Jaxpr):
    """A jaxpr whose text is JAX's, and so are its equations and inner programs."""

    _are_printed: bool
    _describe: Callable[[], DebugInfo | None] = staticmethod(lambda: None)

    @property
    def debug_info(self) -> DebugInfo | None:
        """A description of the traced function, if there was one."""
        return self._describe()

    @property
    def jaxpr(self) -> "PrintedJaxpr":
        """The program itself, for code that was written when JAX had closed jaxprs of their own."""
        return self

    @property
    def eqns(self) -> list[JaxprEqn]:
        if not self._are_printed:
            self._eqns[:] = map(_printed_eqn, self._eqns)
            self._are_printed = True
        return self._eqns

    @eqns.setter
    def eqns(self, eqns: list[JaxprEqn]) -> None:
        self._eqns, self._are_printed = eqns, False

    def __str__(self) -> str:
        return JaxPrinter().text(self)

    __repr__ = __str__

    def pretty_print(self, *, use_color: bool | None = None) -> str:
        """The text of the program, with colors, by default if it is printed on a terminal.

        The environment variable `NO_COLOR` turns them off.
        """
        wanted = glassjax_watch.wants_color() if use_color is None else use_color
        return glassjax_watch.in_color(read_jaxpr(self)) if wanted else str(self)

    def to_dot(self) -> str:
        """The graph of the program as text for Graphviz's `dot`."""
        return glassjax_watch.to_dot(read_jaxpr(self))

    def _repr_html_(self) -> str:
        return glassjax_watch.to_html(read_jaxpr(self))


@cache
def _set_methods() -> None:
    named("glassjax.primitives.methods", "set_methods")()


def _printed_eqn(eqn: JaxprEqn) -> JaxprEqn:
    if isinstance(eqn, PrintedEqn):
        return eqn
    params = {key: _printed_value(value) for key, value in jax_params.written(eqn).items()}
    return PrintedEqn(eqn.primitive, _typed_literals(eqn), eqn.outvars, params, eqn.source)


def _typed_literals(eqn: JaxprEqn) -> Sequence[Atom]:
    """The operands; a number has the type of those that it is combined with, which JAX writes."""
    if eqn.primitive.higher_order or not any(isinstance(x, stage3.Literal) for x in eqn.invars):
        return eqn.invars
    strong = {x.aval.dtype for x in eqn.invars if not x.aval.weak_type}
    return [
        stage3.Literal(x.val, x.aval.strip_weak_type())
        if isinstance(x, stage3.Literal) and x.aval.dtype in strong
        else x
        for x in eqn.invars
    ]


def _printed_value(value: Any) -> Any:
    if isinstance(value, Jaxpr):
        return printed_jaxpr(value)
    if isinstance(value, tuple) and value and all(isinstance(x, Jaxpr) for x in value):
        printed = map(printed_jaxpr, value)
        return value._make(printed) if hasattr(value, "_make") else tuple(printed)
    return value


def printed_jaxpr(
    jaxpr: Jaxpr, describe: Callable[[], DebugInfo | None] | None = None
) -> PrintedJaxpr:
    """The same program, whose text is JAX's, and so are attributes and methods of its parts.

    Arguments:
        jaxpr: the program.
        describe: returns a description of the traced function.
    """
    _set_methods()
    if isinstance(jaxpr, PrintedJaxpr):
        return jaxpr
    same = _same.get(jaxpr)
    if same is None:
        eqns = [*jaxpr.eqns]
        same = PrintedJaxpr(jaxpr.constvars, jaxpr.invars, eqns, jaxpr.outvars, jaxpr.consts)
        _same[jaxpr] = same
    if describe is not None:
        same._describe = describe
    return same


# The printed form of each program, so that shared programs stay shared.
_same: WeakKeyDictionary[Jaxpr, PrintedJaxpr] = WeakKeyDictionary()


def _literal_text(literal: Any) -> str:
    return f"Literal({literal.val})"


stage3.Literal.__repr__ = _literal_text  # type: ignore[method-assign]
