"""The intermediate representation: a program as data.

A jaxpr is in A-normal form: a list of equations, each of one primitive, whose arguments are
variables or constants. Variables have identity, not names; names are given when printing, so
variables of two programs are never mistaken for each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from glassjax_stage1.interpreter import Op, current_interpreter


class Var:
    """A variable: nothing but itself."""

    __slots__ = ()


Atom = Any  # a Var, or a constant: anything that is not a Var


@dataclass(frozen=True)
class Equation:
    """One line of a program: `var = op(*args)`."""

    var: Var
    op: Op
    args: tuple[Atom, ...]


@dataclass(frozen=True)
class Jaxpr:
    """A function as data: parameters, equations in order, and the result."""

    parameters: tuple[Var, ...]
    equations: tuple[Equation, ...]
    return_val: Atom

    def __str__(self) -> str:
        bound = [*self.parameters, *(equation.var for equation in self.equations)]
        names = {var: f"v_{number}" for number, var in enumerate(bound, start=1)}

        def show(atom: Atom) -> str:
            return names[atom] if isinstance(atom, Var) else str(atom)

        lines = [", ".join(map(show, self.parameters)) + " ->"]
        for equation in self.equations:
            args = ", ".join(map(show, equation.args))
            lines.append(f"  {show(equation.var)} = {equation.op}({args})")
        return "\n".join([*lines, show(self.return_val)])


def eval_jaxpr(jaxpr: Jaxpr, args: Sequence[Any]) -> Any:
    """Run `jaxpr` on `args` under the current interpreter.

    A staged program is again a program: it can be evaluated, differentiated, or staged.

    Raises:
        TypeError: the number of arguments is not the number of parameters, or an argument is
            not a float or an int.
    """
    if len(args) != len(jaxpr.parameters):
        raise TypeError(
            f"eval_jaxpr: the jaxpr takes {len(jaxpr.parameters)} arguments, found {len(args)}"
        )
    for position, arg in enumerate(args):
        current_interpreter().check(arg, f"argument {position} of eval_jaxpr")
    values: dict[Var, Any] = dict(zip(jaxpr.parameters, args, strict=True))

    def read(atom: Atom) -> Any:
        return values[atom] if isinstance(atom, Var) else atom

    for equation in jaxpr.equations:
        operands = tuple(map(read, equation.args))
        values[equation.var] = current_interpreter().interpret_op(equation.op, operands)
    result = read(jaxpr.return_val)
    current_interpreter().check(result, "result of eval_jaxpr")  # a constant may have leaked
    return result
