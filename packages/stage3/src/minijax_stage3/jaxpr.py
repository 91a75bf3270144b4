"""Typed jaxprs: a program of arrays as data.

Every variable and literal has a type. Variables have identity; the printer names them.
"""

from collections.abc import Callable, Sequence
from typing import Any

from minijax_stage2 import Primitive, ShapedArray, current_trace, typeof
from minijax_stage2.source import Source, on_behalf_of
from minijax_stage2.trace import Rules
from minijax_stage3.printing import eqn_to_str, jaxpr_to_str


class Var:
    """A variable: its identity and its type.

    >>> from minijax_stage3 import make_jaxpr
    >>> (x,) = make_jaxpr(lambda x: x + 1.0)(2.0).jaxpr.invars
    >>> type(x).__name__, x.aval.shape
    ('Var', ())
    """

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray):
        self.aval = aval

    def __repr__(self) -> str:
        return f"Var(id={id(self)}):{self.aval}"


class Literal:
    """A scalar written into the program.

    >>> from minijax_stage3 import make_jaxpr
    >>> x, one = make_jaxpr(lambda x: x + 1.0)(2.0).eqns[0].invars
    >>> type(one).__name__, one.val
    ('Literal', 1.0)
    """

    __slots__ = ("aval", "val")

    def __init__(self, val: Any, aval: ShapedArray | None = None):
        self.val = val
        self.aval = aval or typeof(val)

    def __repr__(self) -> str:
        return f"Literal({self.val})"


Atom = Var | Literal


class JaxprEqn:
    """One line of a program: `outvars = primitive[params] invars`, and its source location.

    >>> from minijax_stage3 import make_jaxpr
    >>> (eqn,) = make_jaxpr(lambda x: x + 1.0)(2.0).eqns
    >>> eqn.primitive, len(eqn.invars), len(eqn.outvars), eqn.params
    (add, 2, 1, {})
    """

    __slots__ = ("invars", "outvars", "params", "primitive", "source")

    def __init__(
        self,
        primitive: Primitive,
        invars: Sequence[Atom],
        outvars: Sequence[Var],
        params: dict[str, Any],
        source: Source | None = None,
    ):
        self.primitive = primitive
        self.invars = invars
        self.outvars = outvars
        self.params = params
        self.source = source

    def __str__(self) -> str:
        return eqn_to_str(self)


class Jaxpr:
    """A function as data: parameters, equations in order, and results.

    `constvars` are the values that the function closes over, `invars` its arguments. Jaxprs compare
    by identity.

    >>> import numpy as np
    >>> from minijax_stage3 import make_jaxpr
    >>> make_jaxpr(lambda x: (x + 1.0) * x)(np.float32(2)).jaxpr
    { lambda ; a:f32[]. let b:f32[] = add a 1.0:f32[]; c:f32[] = mul b a in (c,) }
    """

    __slots__ = ("__weakref__", "constvars", "eqns", "invars", "outvars")

    def __init__(
        self,
        constvars: Sequence[Var],
        invars: Sequence[Var],
        eqns: Sequence[JaxprEqn],
        outvars: Sequence[Atom],
    ):
        self.constvars = list(constvars)
        self.invars = list(invars)
        self.eqns = list(eqns)
        self.outvars = list(outvars)

    @property
    def in_avals(self) -> list[ShapedArray]:
        return [var.aval for var in self.invars]

    @property
    def out_avals(self) -> list[ShapedArray]:
        return [atom.aval for atom in self.outvars]

    def __str__(self) -> str:
        return jaxpr_to_str(self)

    __repr__ = __str__


class ClosedJaxpr:
    """A jaxpr together with the values of its constants.

    >>> import numpy as np
    >>> from minijax_stage3 import make_jaxpr
    >>> weights = np.array([1.0, 2.0], np.float32)
    >>> make_jaxpr(lambda x: x * weights)(np.float32(3)).consts
    [array([1., 2.], dtype=float32)]
    """

    __slots__ = ("consts", "jaxpr")

    def __init__(self, jaxpr: Jaxpr, consts: Sequence[Any]):
        self.jaxpr = jaxpr
        self.consts = list(consts)

    @property
    def eqns(self) -> list[JaxprEqn]:
        return self.jaxpr.eqns

    @property
    def in_avals(self) -> list[ShapedArray]:
        return self.jaxpr.in_avals

    @property
    def out_avals(self) -> list[ShapedArray]:
        return self.jaxpr.out_avals

    def __str__(self) -> str:
        return jaxpr_to_str(self.jaxpr)

    __repr__ = __str__


class ProgramRules(Rules):
    """A column with rules for higher-order primitives only; None if one needs no rule.

    >>> costs_of_programs = ProgramRules("the cost of programs", "costs_of_programs")
    >>> repeat_p = Primitive("repeat", higher_order=True)
    >>> costs_of_programs[repeat_p] = None
    >>> costs_of_programs.of(repeat_p), costs_of_programs.of(Primitive("twice"))
    (None, None)
    """

    def of(self, primitive: Primitive) -> Callable[..., Any] | None:
        """The rule of `primitive`; None if it needs none.

        Raises:
            MissingRuleError: it is a higher-order primitive, and the column has no rule for it.
        """
        return self[primitive] if primitive.higher_order else None


def inner_jaxprs(eqn: JaxprEqn) -> list[Jaxpr]:
    """The jaxprs among the parameters of an equation.

    >>> from minijax_stage3 import jit, make_jaxpr
    >>> (eqn,) = make_jaxpr(jit(lambda x: -x))(1.0).eqns
    >>> inner_jaxprs(eqn)
    [{ lambda ; a:f64[]. let b:f64[] = neg a in (b,) }]
    """
    found: list[Jaxpr] = []
    for value in eqn.params.values():
        candidates = value if isinstance(value, tuple) else (value,)
        found.extend(x for x in candidates if isinstance(x, Jaxpr))
    return found


def consts_as_invars(jaxpr: Jaxpr) -> Jaxpr:
    """The same program with its constants as its first arguments."""
    return Jaxpr([], [*jaxpr.constvars, *jaxpr.invars], jaxpr.eqns, jaxpr.outvars)


def eval_jaxpr(jaxpr: Jaxpr, consts: Sequence[Any], *args: Any) -> list[Any]:
    """Run a jaxpr under the current trace; a staged program is again a program.

    Arguments:
        jaxpr: the program.
        consts: the values of its constants.
        args: the values of its arguments.

    Returns:
        The list of its results.

    Raises:
        TypeError: the number of constants or arguments, or the type of one, does not match.

    >>> import numpy as np
    >>> from minijax_stage3 import make_jaxpr
    >>> x = np.array([4.0, 5.0], np.float32)
    >>> closed = make_jaxpr(lambda x: x * x + x)(x)
    >>> [np.asarray(out) for out in eval_jaxpr(closed.jaxpr, closed.consts, x)]
    [array([20., 30.], dtype=float32)]
    """
    for role, variables, given in (
        ("constants", jaxpr.constvars, consts),
        ("arguments", jaxpr.invars, args),
    ):
        if len(variables) != len(given):
            raise TypeError(
                f"eval_jaxpr: the jaxpr has {len(variables)} {role}, found {len(given)}"
            )
        for position, (var, x) in enumerate(zip(variables, given, strict=True)):
            aval = typeof(x)
            if aval is not var.aval and not var.aval.accepts(aval):
                raise TypeError(
                    f"eval_jaxpr: the jaxpr takes {var.aval} as number {position} of its {role}, "
                    f"found {aval}"
                )
    values: dict[Var, Any] = dict(
        zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args], strict=True)
    )

    def read(atom: Atom) -> Any:
        return values[atom] if type(atom) is Var else atom.val  # type: ignore[union-attr]

    last_use = last_uses(jaxpr)
    for index, eqn in enumerate(jaxpr.eqns):
        with on_behalf_of(eqn.source):
            outs = current_trace().process(eqn.primitive, [*map(read, eqn.invars)], eqn.params)
        values.update(zip(eqn.outvars, outs, strict=True))
        for var in last_use.get(index, ()):
            values.pop(var, None)
    return [read(atom) for atom in jaxpr.outvars]


def last_uses(jaxpr: Jaxpr) -> dict[int, list[Var]]:
    """The variables that are not used after each equation, by its number."""
    last: dict[Var, int] = {}
    for index, eqn in enumerate(jaxpr.eqns):
        last.update((var, index) for var in eqn.outvars)
        last.update((atom, index) for atom in eqn.invars if type(atom) is Var)
    for atom in jaxpr.outvars:
        if type(atom) is Var:
            last.pop(atom, None)
    uses: dict[int, list[Var]] = {}
    for var, index in last.items():
        uses.setdefault(index, []).append(var)
    return uses


def jaxpr_as_fun(closed_jaxpr: ClosedJaxpr) -> Callable[..., list[Any]]:
    """The program as a Python function of its arguments that returns a list of results.

    >>> import numpy as np
    >>> from minijax_stage3 import make_jaxpr
    >>> x = np.array([4.0, 5.0], np.float32)
    >>> f = jaxpr_as_fun(make_jaxpr(lambda x: x * x + x)(x))
    >>> [np.asarray(out) for out in f(x)]
    [array([20., 30.], dtype=float32)]
    """
    return lambda *args: eval_jaxpr(closed_jaxpr.jaxpr, closed_jaxpr.consts, *args)
