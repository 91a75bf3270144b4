"""Typed jaxprs: a program of arrays as data.

Every variable and literal has a type. Variables have identity; the printer names them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from glassjax_stage2 import Primitive, ShapedArray, current_trace, typeof
from glassjax_stage2.source import Source, on_behalf_of
from glassjax_stage3.printing import Printer


@dataclass(eq=False)
class Var:
    """A variable: its identity and its type.

    >>> from glassjax_stage3 import make_jaxpr
    >>> (x,) = make_jaxpr(lambda x: x + 1.0)(2.0).invars
    >>> type(x).__name__, x.aval.shape
    ('Var', ())
    """

    aval: ShapedArray


@dataclass(eq=False)
class Literal:
    """A scalar written into the program.

    >>> from glassjax_stage3 import make_jaxpr
    >>> x, one = make_jaxpr(lambda x: x + 1.0)(2.0).eqns[0].invars
    >>> type(one).__name__, one.val
    ('Literal', 1.0)
    """

    val: Any
    aval: ShapedArray


Atom = Var | Literal


@dataclass(eq=False)
class JaxprEqn:
    """One line of a program: `outvars = primitive[params] invars`, and its source location.

    >>> from glassjax_stage3 import make_jaxpr
    >>> (eqn,) = make_jaxpr(lambda x: x + 1.0)(2.0).eqns
    >>> eqn.primitive, len(eqn.invars), len(eqn.outvars), eqn.params
    (add, 2, 1, {})
    """

    primitive: Primitive
    invars: Sequence[Atom]
    outvars: Sequence[Var]
    params: dict[str, Any]
    source: Source | None = None

    def __repr__(self) -> str:
        return "\n".join(Printer().eqn_lines(self))


@dataclass(eq=False)
class Jaxpr:
    """A function as data: parameters, equations in order, and results.

    `constvars` stand for the values that the function closes over, `invars` for its arguments.
    `consts` are the values of `constvars`, if the program has them: then it is closed. Jaxprs
    compare by identity.

    >>> import numpy as np
    >>> from glassjax_stage3 import make_jaxpr
    >>> make_jaxpr(lambda x: (x + 1.0) * x)(np.float32(2))
    { lambda ; a:f32[]. let b:f32[] = add a 1.0:f32[]; c:f32[] = mul b a in (c,) }
    >>> weights = np.array([1.0, 2.0], np.float32)
    >>> make_jaxpr(lambda x: x * weights)(np.float32(3)).consts
    [array([1., 2.], dtype=float32)]
    """

    constvars: list[Var]
    invars: list[Var]
    eqns: list[JaxprEqn]
    outvars: Sequence[Atom]
    consts: list[Any] = field(default_factory=list)

    @property
    def in_avals(self) -> list[ShapedArray]:
        return [var.aval for var in self.invars]

    @property
    def out_avals(self) -> list[ShapedArray]:
        return [atom.aval for atom in self.outvars]

    def __repr__(self) -> str:
        return "\n".join(Printer().jaxpr_lines(self))


def inner_jaxprs(eqn: JaxprEqn) -> list[Jaxpr]:
    """The jaxprs among the parameters of an equation.

    >>> from glassjax_stage3 import jit, make_jaxpr
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


def require_accepted(
    caller: str, takes: Sequence[ShapedArray], found: Sequence[ShapedArray]
) -> None:
    """Raise an error if a program does not accept operands of these types.

    >>> require_accepted("f", [ShapedArray((), "float32")], [ShapedArray((2,), "float32")])
    Traceback (most recent call last):
    TypeError: f takes f32[], found f32[2]
    """
    fits = [x is y or x.accepts(y) for x, y in zip(takes, found, strict=False)]
    if len(takes) != len(found) or not all(fits):
        expected, given = (", ".join(map(str, avals)) or "nothing" for avals in (takes, found))
        raise TypeError(f"{caller} takes {expected}, found {given}")


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
    >>> from glassjax_stage3 import make_jaxpr
    >>> x = np.array([4.0, 5.0], np.float32)
    >>> closed = make_jaxpr(lambda x: x * x + x)(x)
    >>> [np.asarray(out) for out in eval_jaxpr(closed, closed.consts, x)]
    [array([20., 30.], dtype=float32)]
    """
    const_avals = [var.aval for var in jaxpr.constvars]
    require_accepted("eval_jaxpr: as constants the jaxpr", const_avals, list(map(typeof, consts)))
    require_accepted("eval_jaxpr: the jaxpr", jaxpr.in_avals, list(map(typeof, args)))
    values: dict[Atom, Any] = dict(
        zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args], strict=True)
    )

    def read(atom: Atom) -> Any:
        return atom.val if isinstance(atom, Literal) else values[atom]

    last_uses = {atom: eqn for eqn in jaxpr.eqns for atom in (*eqn.outvars, *eqn.invars)}
    results = set(jaxpr.outvars)
    for eqn in jaxpr.eqns:
        with on_behalf_of(eqn.source):
            outs = current_trace().process(eqn.primitive, [*map(read, eqn.invars)], eqn.params)
        values.update(zip(eqn.outvars, outs, strict=True))
        for atom in (*eqn.invars, *eqn.outvars):
            if last_uses[atom] is eqn and atom not in results:
                values.pop(atom, None)
    return [read(atom) for atom in jaxpr.outvars]


def jaxpr_as_fun(closed_jaxpr: Jaxpr) -> Callable[..., list[Any]]:
    """The program as a Python function of its arguments that returns a list of results.

    >>> import numpy as np
    >>> from glassjax_stage3 import make_jaxpr
    >>> x = np.array([4.0, 5.0], np.float32)
    >>> f = jaxpr_as_fun(make_jaxpr(lambda x: x * x + x)(x))
    >>> [np.asarray(out) for out in f(x)]
    [array([20., 30.], dtype=float32)]
    """
    return lambda *args: eval_jaxpr(closed_jaxpr, closed_jaxpr.consts, *args)
