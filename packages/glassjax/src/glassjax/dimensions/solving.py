"""The values of dimension variables from the sizes of arguments.

Each size of an argument gives an equation. One with a single unknown, which is linear in it, gives
the value of a variable; the others become checks. The same solution serves ints, when a function
is called, sizes of another scope, when it is called while being traced, and the text of a program.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from glassjax.dimensions import expressions
from glassjax.dimensions.expressions import Dimension
from glassjax_stage2 import ShapedArray

T = TypeVar("T")


class Equation(NamedTuple, Generic[T]):
    """A size of an argument: as specified, as given, and where it stands, for messages."""

    size: Any
    given: T
    place: str


class Check(NamedTuple, Generic[T]):
    """A condition `left >= right` or `left == right`.

    Attributes:
        relation: "GE" or "EQ".
        left, right: the two sides.
        message: the error if it does not hold, with `{0}`, `{1}` for `shown`.
        shown: the values in the message.
    """

    relation: str
    left: T
    right: T
    message: str
    shown: tuple[T, ...]


class Solution(NamedTuple, Generic[T]):
    """The values of the variables, and the conditions under which they are right."""

    values: dict[str, T]
    checks: list[Check[T]]


def solve(
    equations: Sequence[Equation[T]],
    constant: Callable[[int], T],
    operations: Mapping[str, Callable[[T, T], T]],
) -> Solution[T]:
    """The values of all variables in some equations.

    Arguments:
        equations: sizes, and what they are.
        constant: returns the value of an int.
        operations: binary functions of values, as for `fold`.

    Raises:
        ValueError: no equation determines one of the variables.
    """
    values: dict[str, T] = {}
    checks: list[Check[T]] = []

    def value_of(size: Any) -> T:
        return expressions.fold(size, values.__getitem__, constant, operations)

    def check(relation: str, left: T, right: int | T, reason: str, *shown: T) -> None:
        found = [f"'{x.size}' = {{{n + len(shown)}}} for {x.place}" for n, x in enumerate(symbolic)]
        message = f"{reason}. The arguments have the sizes {', '.join(found)}"
        limit = constant(right) if isinstance(right, int) else right
        given = [x.given for x in symbolic]
        checks.append(Check(relation, left, limit, message, (*shown, *given)))

    symbolic = [x for x in equations if isinstance(x.size, Dimension)]
    left = [x for x in equations if isinstance(x.size, Dimension) or x.size != x.given]
    while left:
        for equation in left:
            unknown = [name for name in expressions.variables(equation.size) if name not in values]
            parts = _divided_by(equation.size, unknown[0]) if unknown else None
            if not unknown or (len(unknown) == 1 and parts):
                break
        else:
            names = sorted(
                {name for x in left for name in expressions.variables(x.size)} - values.keys()
            )
            specified = ", ".join(f"{x.place} = {x.size}" for x in symbolic)
            raise ValueError(
                f"the values of the dimension variables {', '.join(names)} do not follow from "
                f"{specified}. Each needs an axis whose size is linear in it, and has no other "
                "variable without a value"
            )
        left.remove(equation)
        if not unknown:
            message = f"expected the size {equation.size} for {equation.place}, found {{0}}"
            check("EQ", equation.given, value_of(equation.size), message, equation.given)
            continue
        assert parts
        (name,), (coefficient, rest) = unknown, parts
        product = equation.given
        if rest != 0:
            product = operations["add"](product, value_of(-rest))
        if coefficient == 1:
            values[name] = product
        else:
            divisor = value_of(coefficient)
            remainder = operations["mod"](product, divisor)
            reason = f"no integer '{name}' gives the size {equation.size}: dividing leaves {{0}}"
            check("EQ", remainder, 0, reason, remainder)
            values[name] = operations["floordiv"](product, divisor)
        reason = f"the dimension variable '{name}' must be at least 1, found {{0}}"
        check("GE", values[name], 1, reason, values[name])
    scope = symbolic[0].size.scope if symbolic else None
    for text, difference, is_equality in scope.constraints if scope else ():
        involved = expressions.variables(difference)
        for name in involved:
            # A declared equality may have replaced the variable in all sizes.
            equal = expressions.variable(name, scope)
            if name not in values and values.keys() >= {*expressions.variables(equal)}:
                values[name] = value_of(equal)
        if values.keys() >= {*involved}:
            excess = value_of(difference)
            reason = f"the constraint '{text}' does not hold: its sides differ by {{0}}"
            check("EQ" if is_equality else "GE", excess, 0, reason, excess)
    return Solution(values, checks)


def _divided_by(size: Dimension, name: str) -> tuple[Any, Any] | None:
    """`coefficient` and `rest` for `size == coefficient * variable + rest`, or None."""
    variable = expressions.Monomial({expressions.Atom(name): 1})
    divisible: expressions.Linear = {}
    others: expressions.Linear = {}
    for monomial, k in size.terms:
        quotient = monomial.divided_by(variable)
        if quotient is None:
            others[monomial] = k
        else:
            divisible[quotient] = k
    parts = [expressions.normalized(linear, size.scope) for linear in (divisible, others)]
    is_linear = not any(name in expressions.variables(part) for part in parts)
    return (parts[0], parts[1]) if is_linear else None


def solved_sizes(caller: str, equations: Sequence[Equation[Any]]) -> dict[str, Any]:
    """The values of variables from given sizes, which may be symbolic in another scope.

    Raises:
        ValueError: the equations have no solution, or do not determine the variables.
        InconclusiveDimensionOperation: that depends on the variables of the given sizes.
    """
    solution = solve(equations, int, expressions.OPERATIONS)
    for relation, left, right, message, shown in solution.checks:
        if not (left == right if relation == "EQ" else left >= right):
            raise ValueError(f"{caller}: {message.format(*shown)}")
    return solution.values


def fits(takes: ShapedArray, found: ShapedArray) -> bool:
    """Return True if types are the same except where a symbolic size is expected."""
    if takes.dtype != found.dtype or takes.ndim != found.ndim:
        return False
    pairs = zip(takes.shape, found.shape, strict=True)
    return all(isinstance(size, Dimension) or size == given for size, given in pairs)


def type_at(aval: ShapedArray, values: Mapping[str, Any]) -> ShapedArray:
    """The type with these values of the variables in its sizes."""
    if not expressions.is_symbolic(aval.shape):
        return aval
    return aval.update(shape=tuple([expressions.evaluate(size, values) for size in aval.shape]))
