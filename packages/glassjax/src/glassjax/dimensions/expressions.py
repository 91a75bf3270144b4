"""Expressions over dimension variables in normal form, with the arithmetic of Python ints."""

import numbers
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from functools import reduce
from typing import Any, Protocol, TypeVar

from glassjax.errors import InconclusiveDimensionOperation
from glassjax.settings.names import later
from glassjax_stage2.errors import shown
from glassjax_stage2.shaped_array import aval_rules, dialect

T = TypeVar("T")

# True while a module is written: symbolic sizes stand in brackets there.
in_brackets: ContextVar[bool] = ContextVar("in_brackets", default=False)

Bounds = tuple[float, float]

as_array = later("glassjax.lax.dimension_values", "dimension_as_value")


class Scope(Protocol):
    """Protocol of the scope of an expression; `scopes.SymbolicScope` implements it.

    Attributes:
        rules: by product, the coefficient `k` and the size `e` of each declared equality `k *
            product == e`.
    """

    rules: "dict[Monomial, tuple[int, Size]]"

    def bounds(
        self, dimension: "Dimension", enough: Callable[[float, float], bool] = ...
    ) -> Bounds: ...

    def describe(self) -> str: ...


class _Ordered:
    """A value that is compared by a key: nested tuples of ints and strings."""

    __slots__ = ("_hash", "key")

    key: tuple[Any, ...]

    def _set_key(self, *key: Any) -> None:
        self.key, self._hash = key, hash(key)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.key == self.key

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return str(self)


# The key begins with the size of the expression, so terms are printed from the most complex to the
# constant.
class Atom(_Ordered):
    """A variable, or `floordiv`, `mod`, `max` or `min` of two sizes."""

    __slots__ = ("name", "operands")

    def __init__(self, name: str, *operands: "Size"):
        self.name, self.operands = name, operands
        keys = [key_of(x) for x in operands]
        self._set_key(1 + sum(key[0] for key in keys), name, *keys)

    def __str__(self) -> str:
        operands = [
            f"- {-x}" if isinstance(x, int) and x < 0 else text_of(x) for x in self.operands
        ]
        return f"{self.name}({', '.join(operands)})" if operands else self.name


class Monomial(_Ordered):
    """A product of powers of atoms, the largest first; the empty product is one."""

    __slots__ = ("factors",)

    def __init__(self, powers: Mapping[Atom, int]):
        self.factors = tuple(
            sorted(powers.items(), key=lambda power: (power[0].key, power[1]), reverse=True)
        )
        self._set_key(
            sum(1 + exponent * atom.key[0] for atom, exponent in self.factors),
            tuple((atom.key, exponent) for atom, exponent in self.factors),
        )

    def __str__(self) -> str:
        smallest_first = reversed(self.factors)
        return "*".join(f"{atom}^{n}" if n > 1 else str(atom) for atom, n in smallest_first)

    def __mul__(self, other: "Monomial") -> "Monomial":
        powers = dict(self.factors)
        for atom, exponent in other.factors:
            powers[atom] = powers.get(atom, 0) + exponent
        return Monomial(powers)

    def divided_by(self, other: "Monomial") -> "Monomial | None":
        """The quotient, or None if it is not a product of atoms."""
        powers = dict(self.factors)
        for atom, exponent in other.factors:
            powers[atom] = powers.get(atom, 0) - exponent
        if min(powers.values(), default=0) < 0:
            return None
        return Monomial({atom: exponent for atom, exponent in powers.items() if exponent})

    @property
    def atom(self) -> Atom | None:
        """The atom that this product consists of, if it is a single one."""
        return self.factors[0][0] if [n for _, n in self.factors] == [1] else None


ONE = Monomial({})

Linear = dict[Monomial, int]  # products and their coefficients, none of them zero


class Dimension(_Ordered):
    """A size that depends on dimension variables, as an immutable expression in normal form.

    Arithmetic with ints and other dimensions of the same scope gives sizes; with other numbers, an
    array that is computed from the sizes of the arguments. `==` tells whether two expressions have
    the same normal form: it is False where the answer depends on the variables. An order that
    depends on them is an error.

    >>> b, n = glassjax.export.symbolic_shape("b, n")
    >>> 2 * b + n - b, (b * n) // n, b + 1 > 1
    (n + b, b, True)
    """

    __slots__ = ("scope", "terms")
    __array_priority__ = 1000  # numpy's arrays leave arithmetic to this class

    def __init__(self, linear: Linear, scope: Any):
        self.scope = scope
        self.terms = tuple(sorted(linear.items(), key=lambda term: term[0].key, reverse=True))
        self._set_key(*_key(self.terms))
        self._hash = hash((self.key, id(scope)))

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other) and other.scope is self.scope  # type: ignore[attr-defined]

    __hash__ = _Ordered.__hash__

    def __str__(self) -> str:
        return f"⟦{text_of(self)}⟧" if in_brackets.get() else text_of(self)

    def __deepcopy__(self, memo: object) -> "Dimension":
        return self

    def __add__(self, other: Any) -> Any:
        return self._with(operator.add, other, lambda y: sum_of(self, 1, y))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._with(operator.sub, other, lambda y: sum_of(self, -1, y))

    def __rsub__(self, other: Any) -> Any:
        return self._with(_swapped(operator.sub), other, lambda y: sum_of(y, -1, self))

    def __neg__(self) -> Any:
        return sum_of(0, -1, self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return max_size(self, -self)

    def __mul__(self, other: Any) -> Any:
        return self._with(operator.mul, other, lambda y: product(self, y))

    __rmul__ = __mul__

    def __pow__(self, power: Any) -> Any:
        if not is_int(power) and not isinstance(power, float):
            return as_array(self) ** power
        if power < 0 or power != int(power):
            raise ValueError(f"a power of the size '{self}' must be an int from 0, found {power}")
        return reduce(operator.mul, [self] * int(power), 1)

    def __rpow__(self, base: Any) -> Any:
        return base ** as_array(self)

    def __divmod__(self, other: Any) -> Any:
        return self._with(divmod, other, lambda y: quotient_and_remainder(self, y))

    def __rdivmod__(self, other: Any) -> Any:
        return self._with(_swapped(divmod), other, lambda y: quotient_and_remainder(y, self))

    def __floordiv__(self, other: Any) -> Any:
        return self._with(operator.floordiv, other, lambda y: quotient_and_remainder(self, y)[0])

    def __rfloordiv__(self, other: Any) -> Any:
        return self._with(
            _swapped(operator.floordiv), other, lambda y: quotient_and_remainder(y, self)[0]
        )

    def __mod__(self, other: Any) -> Any:
        return self._with(operator.mod, other, lambda y: quotient_and_remainder(self, y)[1])

    def __rmod__(self, other: Any) -> Any:
        return self._with(
            _swapped(operator.mod), other, lambda y: quotient_and_remainder(y, self)[1]
        )

    def __truediv__(self, other: Any) -> Any:
        return as_array(self) / other

    def __rtruediv__(self, other: Any) -> Any:
        return other / as_array(self)

    def __ge__(self, other: Any) -> Any:
        return self._with(operator.ge, other, lambda y: _is_at_least(self, y, f"'{self}' >= '{y}'"))

    def __le__(self, other: Any) -> Any:
        return self._with(operator.le, other, lambda y: _is_at_least(y, self, f"'{self}' <= '{y}'"))

    def __gt__(self, other: Any) -> Any:
        return self._with(
            operator.gt, other, lambda y: not _is_at_least(y, self, f"'{self}' > '{y}'")
        )

    def __lt__(self, other: Any) -> Any:
        return self._with(
            operator.lt, other, lambda y: not _is_at_least(self, y, f"'{self}' < '{y}'")
        )

    def __bool__(self) -> bool:
        low, high = bounds_of(self, lambda low, high: low > 0 or high < 0)
        if low > 0 or high < 0:
            return True
        raise _inconclusive(f"'{self}' != '0'", self)

    def __int__(self) -> int:
        raise InconclusiveDimensionOperation(
            f"an int is needed where the size is '{self}', which depends on {_listed(self)}. Use "
            "the size itself, jnp.array(size) for an array with its value, or a static shape"
        )

    __index__ = __int__

    def _with(self, operation: Any, other: Any, operate: Callable[["Size"], Any]) -> Any:
        """`operate(other)` if `other` is a size, else the operation on the value of this one."""
        if isinstance(other, Dimension):
            return operate(other)
        if is_int(other):
            return operate(operator.index(other))
        return operation(as_array(self), other)


# In arithmetic with arrays, a size is a Python int whose value the compiled program computes.
numbers.Integral.register(Dimension)
aval_rules[Dimension] = lambda size: dialect().int_type(0)
# Functions for shapes return Any, as the types of shapes are annotated as ints elsewhere.
Size = int | Dimension

# Sizes are taken to be smaller: XLA's sizes of dynamic axes have 32 bits.
LARGEST = 2**31 - 1


def is_symbolic_dim(p: Any) -> bool:
    """Return True if a size depends on dimension variables.

    >>> b, three = glassjax.export.symbolic_shape("b, 3")
    >>> glassjax.export.is_symbolic_dim(b), glassjax.export.is_symbolic_dim(three)
    (True, False)
    """
    return isinstance(p, Dimension)


def is_symbolic(shape: Iterable[Any]) -> bool:
    """Return True if any of the sizes depends on dimension variables."""
    return any(isinstance(size, Dimension) for size in shape)


def is_int(x: Any) -> bool:
    """Return True for an int, or an integer of another class, which an index may be."""
    if isinstance(x, int):
        return True
    try:
        operator.index(x)
    except Exception:  # tracers raise their own
        return False
    return True


def require_size(role: str, x: Any) -> Any:
    """`x` as a size, an int of any class as a Python int; the error names its `role`."""
    if isinstance(x, Dimension):
        return x
    if not is_int(x):
        raise TypeError(f"{role}: expected a size, an int or a symbolic one, found {shown(x)}")
    return operator.index(x)


# Making expressions.


def variable(name: str, scope: Any) -> Size:
    """The dimension variable of this name, or the size to which the scope declares it equal."""
    return normalized({Monomial({Atom(name): 1}): 1}, scope)


def apply(name: str, x: Size, y: Size, scope: Any = None) -> Size:
    """The atom `floordiv`, `mod`, `max` or `min` of two sizes, without simplification."""
    return normalized({Monomial({Atom(name, x, y): 1}): 1}, scope or common_scope(name, x, y))


def normalized(linear: Linear, scope: Any) -> Size:
    """The normal form of a linear combination: an int if it is constant."""
    linear = {monomial: k for monomial, k in linear.items() if k}
    for _ in range(_REWRITES * len(scope.rules)):
        replaced = _rewritten(linear, scope.rules)
        if replaced is None:
            break
        linear = replaced
    if not linear.keys() - {ONE}:
        return linear.get(ONE, 0)
    return Dimension(linear, scope)


_REWRITES = 8  # by one equality; more than one as it may apply to several terms, or be circular


def _rewritten(linear: Linear, rules: "dict[Monomial, tuple[int, Size]]") -> Linear | None:
    """The combination after applying the declared equality of one product, or None."""
    for monomial, coefficient in linear.items():
        for part, (k, equal) in rules.items():
            rest = monomial.divided_by(part)
            if rest is None or coefficient % k:
                continue
            changed = {other: n for other, n in linear.items() if other != monomial}
            for other, n in linear_of(equal).items():
                changed[rest * other] = changed.get(rest * other, 0) + coefficient // k * n
            return {other: n for other, n in changed.items() if n}
    return None


def linear_of(size: Size) -> Linear:
    """A size as a linear combination of products."""
    if isinstance(size, Dimension):
        return dict(size.terms)
    return {ONE: size} if size else {}


def key_of(size: Size) -> tuple[Any, ...]:
    """A key that orders sizes by their text, not by their value."""
    return size.key if isinstance(size, Dimension) else _key(((ONE, size),))


def _key(terms: Sequence[tuple[Monomial, int]]) -> tuple[Any, ...]:
    length = sum(1 + abs(coefficient) * monomial.key[0] for monomial, coefficient in terms)
    return length, tuple((monomial.key, coefficient) for monomial, coefficient in terms)


def common_scope(operation: str, *sizes: Size) -> Any:
    """The scope of the sizes; ValueError: they belong to several."""
    symbolic = [size for size in sizes if isinstance(size, Dimension)]
    first = symbolic[0]
    for other in symbolic[1:]:
        if other.scope is not first.scope:
            raise ValueError(
                f"{operation} mixes symbolic scopes:\n"
                f"'{first}' belongs to {first.scope.describe()}\n"
                f"'{other}' belongs to {other.scope.describe()}\n"
                "Pass all specifications to one call of symbolic_shape or symbolic_args_specs, or "
                "give the calls the same `scope`."
            )
    return first.scope


def sum_of(x: Size, k: int, y: Size) -> Size:
    """The size `x + k * y`."""
    linear = linear_of(x)
    for monomial, coefficient in linear_of(y).items():
        linear[monomial] = linear.get(monomial, 0) + k * coefficient
    return normalized(linear, common_scope("a sum", x, y))


def product(x: Size, y: Size) -> Size:
    """The size `x * y`."""
    linear: Linear = {}
    for left, m in linear_of(x).items():
        for right, n in linear_of(y).items():
            linear[left * right] = linear.get(left * right, 0) + m * n
    return normalized(linear, common_scope("a product", x, y))


def quotient_and_remainder(x: Size, y: Size) -> tuple[Size, Size]:
    """Quotient and remainder, as by `divmod`.

    If the division of polynomials leaves no remainder but an int, they are polynomials, otherwise
    the atoms `floordiv` and `mod`.
    """
    scope = common_scope("a division", x, y)
    (largest, k), *_ = y.terms if isinstance(y, Dimension) else ((ONE, y),)
    rest, quotient, steps = x, 0, 0
    while isinstance(rest, Dimension):
        monomial, n = rest.terms[0]
        part = monomial.divided_by(largest)
        if part is None or n % k:
            break
        step = normalized({part: n // k}, scope)
        quotient, rest = quotient + step, rest - step * y
        steps += 1
        if steps > _DIVISION_STEPS:
            break
    else:
        if isinstance(y, int):
            more, rest = divmod(rest, y)
            return quotient + more, rest
        if rest == 0:
            return quotient, 0
    return apply("floordiv", x, y, scope), apply("mod", x, y, scope)


_DIVISION_STEPS = 64  # declared equalities could keep the division from ending


def max_size(x: Size, y: Size) -> Any:
    """The larger of two sizes; an atom if that depends on the variables."""
    return _chosen("max", x, y)


def min_size(x: Size, y: Size) -> Any:
    """The smaller of two sizes; an atom if that depends on the variables."""
    return _chosen("min", x, y)


def _chosen(name: str, x: Size, y: Size) -> Size:
    if isinstance(x, int) and isinstance(y, int):
        return max(x, y) if name == "max" else min(x, y)
    low, high = bounds_of(x - y, lambda low, high: low >= 0 or high <= 0)
    if low >= 0 or high <= 0:
        return x if (low >= 0) == (name == "max") else y
    return apply(name, x, y)


def bounds_of(
    size: Size, enough: Callable[[float, float], bool] = lambda low, high: False
) -> Bounds:
    """The provable bounds of a size, inclusive; a search for better ones ends when they suffice."""
    return size.scope.bounds(size, enough) if isinstance(size, Dimension) else (size, size)


def surely_at_least(x: Size, y: Size) -> bool:
    """Return True if `x >= y` for all values of the variables, False if not or if not known."""
    difference = x - y
    if isinstance(difference, int):
        return difference >= 0
    return bounds_of(difference, lambda low, high: low >= 0 or high < 0)[0] >= 0


def surely_less(x: Size, y: Size) -> bool:
    """Return True if `x < y` for all values of the variables, False if not or if not known."""
    return _is_beyond(x, y) or surely_at_least(y, x + 1)


def _is_beyond(x: Size, y: Size) -> bool:
    """Return True if `y` is an int that no symbolic size `x` attains."""
    return isinstance(x, Dimension) and isinstance(y, int) and y >= LARGEST


def _is_at_least(x: Size, y: Size, shown: str) -> bool:
    common_scope(f"the comparison {shown}", x, y)
    if _is_beyond(x, y):
        return False
    low, high = bounds_of(x - y, lambda low, high: low >= 0 or high < 0)
    if low >= 0 or high < 0:
        return low >= 0
    raise _inconclusive(shown, x - y)


def _inconclusive(shown: str, difference: Size) -> InconclusiveDimensionOperation:
    scope = common_scope("a comparison", difference)
    return InconclusiveDimensionOperation(
        f"the comparison {shown} of symbolic sizes is inconclusive: nothing declared about "
        f"{_listed(difference)} decides it. If it always holds, declare it in the `constraints` of "
        "symbolic_shape; core.max_dim and core.min_dim choose without comparing. The variables "
        f"belong to {scope.describe()}"
    )


def _listed(size: Size) -> str:
    return ", ".join(map(repr, variables(size)))


def text_of(size: Size) -> str:
    """The text of a size, which the parser reads."""
    if not isinstance(size, Dimension):
        return str(size)
    text = "".join(map(_term_text, size.terms))
    return text.removeprefix(" + ") if text[1] == "+" else text.lstrip()


def _term_text(term: tuple[Monomial, int]) -> str:
    monomial, coefficient = term
    sign, k = "-" if coefficient < 0 else "+", abs(coefficient)
    if monomial == ONE:
        return f" {sign} {k}"
    return f" {sign} {monomial}" if k == 1 else f" {sign} {k}*{monomial}"


def _swapped(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda x, y: operation(y, x)


# Walking expressions.


def fold(
    size: Size,
    variable: Callable[[str], T],
    constant: Callable[[int], T],
    operations: Mapping[str, Callable[[T, T], T]],
) -> T:
    """The value of an expression, computed from the values of its leaves.

    Arguments:
        size: an int or a dimension.
        variable: returns the value of a variable.
        constant: returns the value of an int.
        operations: the binary functions `add`, `mul`, `floordiv`, `mod`, `max` and `min`.
    """

    def size_value(size: Size) -> T:
        if not isinstance(size, Dimension):
            return constant(size)
        return reduce(operations["add"], [term_value(*term) for term in size.terms])

    def term_value(monomial: Monomial, coefficient: int) -> T:
        factors = [value for atom, n in monomial.factors for value in [atom_value(atom)] * n]
        if coefficient != 1 or not factors:
            factors.append(constant(coefficient))
        return reduce(operations["mul"], factors)

    def atom_value(atom: Atom) -> T:
        if not atom.operands:
            return variable(atom.name)
        return operations[atom.name](*map(size_value, atom.operands))

    return size_value(size)


def evaluate(size: Size, environment: Mapping[str, Any]) -> Any:
    """The value of a size for values of the variables: ints, other sizes, or arrays.

    Raises:
        KeyError: a variable has no value.

    >>> (size,) = glassjax.export.symbolic_shape("2*b + floordiv(n, 3)")
    >>> evaluate(size, {"b": 4, "n": 7})
    10
    """

    def value_of(name: str) -> Any:
        if name not in environment:
            known = ", ".join(map(repr, environment)) or "none"
            raise KeyError(f"the dimension variable {name!r} has no value; known are {known}")
        return environment[name]

    return fold(size, value_of, int, OPERATIONS)


def _larger(x: Any, y: Any) -> Any:
    return max_size(x, y) if _are_sizes(x, y) else _array_operation("max")(x, y)


def _smaller(x: Any, y: Any) -> Any:
    return min_size(x, y) if _are_sizes(x, y) else _array_operation("min")(x, y)


def _are_sizes(*values: Any) -> bool:
    return all(isinstance(x, int | Dimension) for x in values)


_array_operation = later("glassjax.lax.dimension_values", "operation_of_values")

OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "mul": operator.mul,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "max": _larger,
    "min": _smaller,
}


def variables(size: Any) -> tuple[str, ...]:
    """The names of the variables of a size, sorted.

    >>> (size,) = glassjax.export.symbolic_shape("n + max(b, 2*n)")
    >>> variables(size)
    ('b', 'n')
    """
    if not isinstance(size, Dimension):
        return ()
    found: set[str] = set()
    for monomial, _ in size.terms:
        for atom, _ in monomial.factors:
            found.update([atom.name] if not atom.operands else ())
            found.update(name for x in atom.operands for name in variables(x))
    return tuple(sorted(found))


def variables_of(shapes: Iterable[Iterable[Any]]) -> tuple[str, ...]:
    """The names of the variables in some shapes, sorted."""
    return tuple(sorted({name for shape in shapes for size in shape for name in variables(size)}))
