"""Scopes of dimension variables, with what the user declares about them, and their shapes."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from glassjax.dimensions import expressions
from glassjax.dimensions.bounds import UNKNOWN, Knowledge
from glassjax.dimensions.expressions import Bounds, Dimension, Monomial, Size
from glassjax.dimensions.parsing import Parser
from glassjax_stage2 import ShapedArray
from glassjax_stage2.errors import shown
from glassjax_stage2.source import user_source


class Constraint(NamedTuple):
    """A declaration: `difference >= 0`, or `difference == 0`.

    Attributes:
        text: the declaration as it was given.
        difference: its left side minus its right side, or the reverse for `<=`, in the terms of
            the variables before this declaration.
    """

    text: str
    difference: Size
    is_equality: bool


class SymbolicScope:
    """The dimension variables that occur together, and the constraints that they satisfy.

    Sizes of different scopes do not mix, even if their variables have the same names.

    Arguments:
        constraints_str: constraints of the form `e1 >= e2`, `e1 <= e2` or `e1 == e2`. The left side
            of an equality is a product, with or without a coefficient; it is replaced by the right
            side wherever it occurs.

    Raises:
        ValueError: a constraint is malformed, or cannot be satisfied.

    >>> from glassjax import export
    >>> scope = export.SymbolicScope(["b >= 4", "mod(b, 2) == 0"])
    >>> (b,) = export.symbolic_shape("b", scope=scope)
    >>> b >= 3, b % 2, 2 * (b // 2)
    (True, 0, b)
    """

    def __init__(self, constraints_str: Sequence[str] = ()):
        if isinstance(constraints_str, str):
            raise ValueError(
                "constraints must be a sequence of strings, one for each constraint, found the "
                f"string {constraints_str!r}"
            )
        self._source = user_source(2)
        self.constraints: list[Constraint] = []
        self.rules: dict[Monomial, tuple[int, Size]] = {}
        self._declared = Knowledge(self)
        self._known: dict[Dimension, tuple[Bounds, bool]] = {}  # and whether they are the best
        for text in constraints_str:
            self._declare(text)

    def describe(self) -> str:
        """The place where the scope was made, and its constraints, for a message."""
        where = f"made at {self._source}" if self._source else "made in the library"
        texts = ", ".join(repr(constraint.text) for constraint in self.constraints)
        return f"the scope {where}, {'with constraints ' + texts if texts else 'unconstrained'}"

    __str__ = __repr__ = describe

    def __deepcopy__(self, memo: object) -> "SymbolicScope":
        return self  # scopes are compared by identity

    def bounds(
        self,
        dimension: Dimension,
        enough: Callable[[float, float], bool] = lambda low, high: False,
    ) -> Bounds:
        """The provable bounds of an expression, inclusive."""
        found, are_best = self._known.get(dimension, (UNKNOWN, False))
        if not are_best and not enough(*found):
            knowledge = self._declared.copy()
            knowledge.explore(dimension)
            found = knowledge.bounds(dimension, enough)
            self._known[dimension] = found, not enough(*found)
        return found

    def _declare(self, text: str) -> None:
        if not isinstance(text, str):
            raise ValueError(f"a constraint must be a string, found {shown(text)}")
        sign = next((sign for sign in ("==", ">=", "<=") if sign in text), None)
        if sign is None:
            raise ValueError(f"a constraint must contain '==', '>=' or '<=', found {text!r}")
        left, right = [Parser(side, self).size() for side in text.split(sign, 1)]
        if sign == "<=":
            left, right = right, left
        self._add(text, left, right, sign == "==")

    def _add(self, text: str, left: Size, right: Size, is_equality: bool) -> None:
        difference = left - right
        if isinstance(difference, int):
            if difference < 0 or (is_equality and difference):
                raise ValueError(f"unsatisfiable constraint {text!r}")
            return
        self.constraints.append(Constraint(text, difference, is_equality))
        try:
            self._declared.explore(difference)
            self._declared.learn(difference, is_equality)
        except ValueError:
            earlier = [constraint.text for constraint in self.constraints[:-1]]
            raise ValueError(f"unsatisfiable constraint {text!r}, after {earlier}") from None
        if is_equality:
            self._add_rule(text, left, right)
        self._known.clear()

    def _add_rule(self, text: str, left: Size, right: Size) -> None:
        linear = expressions.linear_of(left)
        if len(linear) != 1 or isinstance(left, int):
            raise ValueError(
                f"invalid constraint {text!r}: the left side of an equality must be a product, "
                f"such as `2*b`, `b*n` or `mod(b, 2)`, found {left}"
            )
        ((monomial, k),) = linear.items()
        self.rules[monomial] = k, right
        atom = monomial.atom
        if atom is not None and atom.name == "mod" and (k, right) == (1, 0):
            x, y = atom.operands
            if isinstance(y, int):
                quotient = y * expressions.apply("floordiv", x, y, self)
                self._add(f"{quotient} == {x}", quotient, x, True)


def scope_of(avals: Iterable[ShapedArray]) -> SymbolicScope | None:
    """The scope of the symbolic sizes of some types, None if they have none."""
    sizes: list[Any] = [size for aval in avals for size in aval.shape]
    return next((size.scope for size in sizes if isinstance(size, Dimension)), None)


# Shapes and bounds, under the names of `jax.export`.


def symbolic_shape(
    shape_spec: str | None,
    *,
    constraints: Sequence[str] = (),
    scope: SymbolicScope | None = None,
    like: Sequence[int | None] | None = None,
) -> tuple[Any, ...]:
    """A shape from its text, in which names are dimension variables.

    A variable is any positive int. Sizes are expressions of ints and variables with `+`, `-`, `*`,
    `^`, `floordiv(x, y)`, `mod(x, y)`, `max(x, y)` and `min(x, y)`.

    Arguments:
        shape_spec: the sizes, separated by commas, in parentheses or not. `_` takes the size of the
            same axis of `like`, and a final `...` all that remain; None means `...`.
        constraints: what always holds for the variables, as for `SymbolicScope`.
        scope: the scope of the variables, for sizes that are combined with others of this scope; it
            has its own constraints. The default is a new scope.
        like: a shape that fills placeholders; ints in `shape_spec` must equal its sizes.

    Raises:
        ValueError: `shape_spec` is malformed, or both `scope` and `constraints` are given.

    >>> from glassjax import export
    >>> export.symbolic_shape("b, 2*n, _", like=(5, 6, 7), constraints=["b >= 2"])
    (b, 2*n, 7)
    """
    if not isinstance(shape_spec, str | None):
        raise ValueError(f"symbolic_shape: shape_spec must be a string, found {shown(shape_spec)}")
    if scope is not None and constraints:
        raise ValueError("symbolic_shape: the scope that is given has its own constraints")
    if scope is None:
        scope = SymbolicScope(constraints)
    return Parser("..." if shape_spec is None else shape_spec, scope, like).shape()


def symbolic_dim_bounds(dimension: Any) -> Bounds:
    """The bounds that can be proved for a size, inclusive; they are infinite where none can.

    Arguments:
        dimension: an int or a symbolic size.

    Raises:
        TypeError: it is neither.
        InconclusiveDimensionOperation: a divisor in it may be 0.

    >>> from glassjax import export
    >>> b, n = export.symbolic_shape("b, n", constraints=["n <= 8"])
    >>> export.symbolic_dim_bounds(b + 2 * n)
    (3, inf)
    """
    return expressions.bounds_of(expressions.require_size("symbolic_dim_bounds", dimension))
