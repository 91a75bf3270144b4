"""Bounds of expressions, derived by elimination from what is known about their terms.

Knowledge is a set of facts: linear combinations of products, each at least 0 or equal to 0. To
bound an expression, its largest product is eliminated with each fact whose largest product is the
same one; what remains has smaller products only, and is bounded in the same way.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from glassjax.dimensions import expressions
from glassjax.dimensions.expressions import ONE, Linear, Monomial, Size
from glassjax.errors import InconclusiveDimensionOperation

INFINITY = math.inf
UNKNOWN: expressions.Bounds = -INFINITY, INFINITY


class Fact(NamedTuple):
    """`linear >= 0`, or `linear == 0`."""

    linear: tuple[tuple[Monomial, int], ...]
    is_equality: bool


class Knowledge:
    """Facts about the terms of some expressions."""

    def __init__(self, scope: Any):
        self.scope = scope
        self.facts: dict[Monomial, dict[Fact, None]] = {}  # by largest product, in order
        self.explored: set[Monomial] = set()
        self._best: dict[frozenset[tuple[Monomial, int]], expressions.Bounds] = {}

    def copy(self) -> "Knowledge":
        copied = Knowledge(self.scope)
        copied.facts = {leading: dict(facts) for leading, facts in self.facts.items()}
        copied.explored = set(self.explored)
        return copied

    # Learning.

    def learn(self, size: Size, is_equality: bool = False) -> None:
        """Add a fact and what follows from it together with one of the facts known before.

        Raises:
            ValueError: they contradict each other.
        """
        linear = expressions.linear_of(size)
        consequences = list(self._consequences(linear, is_equality))
        self._add(linear, is_equality)
        for consequence in consequences:
            self._add(*consequence)

    def _add(self, linear: Linear, is_equality: bool) -> None:
        """Add a fact, without the common divisor of its coefficients."""
        constant = linear.pop(ONE, 0)
        divisor = math.gcd(*linear.values())
        if is_equality and constant and (divisor == 0 or constant % divisor):
            raise ValueError("no ints satisfy it")
        if divisor == 0 and constant < 0:
            raise ValueError("it contradicts what is known")
        if divisor == 0:
            return
        leading = _leading(linear)
        linear = {monomial: k // divisor for monomial, k in linear.items()}
        if constant // divisor:
            linear[ONE] = constant // divisor
        terms = sorted(linear.items(), key=lambda term: term[0].key, reverse=True)
        self.facts.setdefault(leading, {})[Fact(tuple(terms), is_equality)] = None
        self._best.clear()

    def _consequences(self, linear: Linear, is_equality: bool) -> Iterator[tuple[Linear, bool]]:
        known = [fact for facts in self.facts.values() for fact in facts]
        for monomial, k in linear.items():
            for fact in known:
                c = dict(fact.linear).get(monomial, 0)
                if monomial == ONE or not c:
                    continue
                if c * k < 0 or fact.is_equality:
                    sign = -1 if c * k > 0 else 1
                    joined = _combined(linear, abs(c), fact.linear, sign * abs(k))
                elif is_equality:
                    joined = _combined(linear, -abs(c), fact.linear, abs(k))
                else:
                    continue
                yield joined, is_equality and fact.is_equality

    def explore(self, size: Size) -> None:
        """Learn what holds for the terms of a size by their nature."""
        for monomial in expressions.linear_of(size):
            if monomial == ONE or monomial in self.explored:
                continue
            self.explored.add(monomial)
            if monomial.atom is None:
                self._explore_product(monomial)
            elif not monomial.atom.operands:
                self.learn(self._size(monomial) - 1)
            else:
                for operand in monomial.atom.operands:
                    self.explore(operand)
                _NATURES[monomial.atom.name](self, self._size(monomial), *monomial.atom.operands)

    def _size(self, monomial: Monomial) -> Size:
        return expressions.normalized({monomial: 1}, self.scope)

    def _learn_bounds(self, size: Size, low: float, high: float) -> None:
        if low > -INFINITY:
            self.learn(size - int(low))
        if high < INFINITY:
            self.learn(int(high) - size)

    def _explore_product(self, monomial: Monomial) -> None:
        """Learn the bounds of a product from the bounds of its factors.

        If `low <= x` and `0 <= y`, then `low * y <= x * y`, and the same for an upper bound.
        """
        size, intervals = self._size(monomial), []
        for atom, exponent in monomial.factors:
            part = self._size(Monomial({atom: 1}))
            self.explore(part)
            low, high = self.bounds(part)
            ends = [low**exponent, high**exponent]
            intervals.append([*ends, 0] if exponent % 2 == 0 and low <= 0 <= high else ends)
        corners = [math.prod(x) if 0 not in x else 0 for x in itertools.product(*intervals)]
        self._learn_bounds(size, min(corners), max(corners))
        for atom, _ in monomial.factors:
            rest = monomial.divided_by(Monomial({atom: 1}))
            assert rest is not None
            others, (low, high) = self._size(rest), self.bounds(self._size(Monomial({atom: 1})))
            self.explore(others)
            if self.bounds(others)[0] >= 0:
                if low > -INFINITY:
                    self.learn(size - int(low) * others)
                if high < INFINITY:
                    self.learn(int(high) * others - size)

    def _explore_mod(self, size: Size, x: Size, y: Size) -> None:
        low, high = self.bounds(y)
        if low > 0:
            self._learn_bounds(size, 0, high - 1)
            self.learn(y - 1 - size)
        elif high < 0:
            self._learn_bounds(size, low + 1, 0)
            self.learn(size - y - 1)

    def _explore_floordiv(self, size: Size, x: Size, y: Size) -> None:
        low, high = self.bounds(y)
        if low <= 0 <= high:
            raise InconclusiveDimensionOperation(
                f"the divisor of '{size}' may be 0, as far as is known. Declare in the "
                f"`constraints` of symbolic_shape that '{y} >= 1'"
            )
        corners = [_floor(a, b) for a in self.bounds(x) for b in (low, high)]
        self._learn_bounds(size, min(corners), max(corners))
        remainder = expressions.apply("mod", x, y, self.scope)
        self.explore(remainder)
        self.learn(y * size + remainder - x, is_equality=True)

    def _explore_max(self, size: Size, x: Size, y: Size) -> None:
        (x_low, x_high), (y_low, y_high) = self.bounds(x), self.bounds(y)
        self._learn_bounds(size, max(x_low, y_low), max(x_high, y_high))
        self.learn(size - x)
        self.learn(size - y)

    def _explore_min(self, size: Size, x: Size, y: Size) -> None:
        (x_low, x_high), (y_low, y_high) = self.bounds(x), self.bounds(y)
        self._learn_bounds(size, min(x_low, y_low), min(x_high, y_high))
        self.learn(x - size)
        self.learn(y - size)

    # Answering.

    def bounds(
        self, size: Size, enough: Callable[[float, float], bool] = lambda low, high: False
    ) -> expressions.Bounds:
        """The best bounds that follow, or the first that are `enough`."""
        return self._bounds(expressions.linear_of(size), enough)

    def _bounds(self, linear: Linear, enough: Callable[[float, float], bool]) -> expressions.Bounds:
        leading = _leading(linear)
        if leading == ONE:
            return linear.get(ONE, 0), linear.get(ONE, 0)
        key = frozenset(linear.items())
        if key in self._best:
            return self._best[key]
        low, high = UNKNOWN
        for found in self._derived(leading, linear):
            low, high = max(low, found[0]), min(high, found[1])
            if enough(low, high):
                return low, high
        self._best[key] = low, high
        return low, high

    def _derived(self, leading: Monomial, linear: Linear) -> Iterator[expressions.Bounds]:
        k = linear[leading]
        for fact in self.facts.get(leading, ()):
            c = fact.linear[0][1]
            # abs(c) * linear = rest + sign * fact, where c and k decide the sign.
            rest = _combined(linear, abs(c), fact.linear, -k if c > 0 else k)
            low, high = self._bounds(rest, lambda low, high: False)
            low, high = _ceil(low, abs(c)), _floor(high, abs(c))
            if fact.is_equality:
                yield low, high
            else:
                yield (low, INFINITY) if (c > 0) == (k > 0) else (-INFINITY, high)
        atom = leading.atom
        if atom is not None and atom.name in ("max", "min") and atom.operands:
            choices = []
            for operand in atom.operands:
                chosen = {monomial: n for monomial, n in linear.items() if monomial != leading}
                chosen = _combined(chosen, 1, tuple(expressions.linear_of(operand).items()), k)
                choices.append(self._bounds(chosen, lambda low, high: False))
            choose = max if (atom.name == "max") == (k > 0) else min
            yield choose(low for low, _ in choices), choose(high for _, high in choices)


_NATURES: dict[str, Callable[[Knowledge, Size, Size, Size], None]] = {
    "mod": Knowledge._explore_mod,
    "floordiv": Knowledge._explore_floordiv,
    "max": Knowledge._explore_max,
    "min": Knowledge._explore_min,
}


def _leading(linear: Linear) -> Monomial:
    return max(linear, key=lambda monomial: monomial.key, default=ONE)


def _combined(x: Linear, m: int, y: tuple[tuple[Monomial, int], ...], n: int) -> Linear:
    """The combination `m * x + n * y`."""
    result = {monomial: m * k for monomial, k in x.items()}
    for monomial, k in y:
        result[monomial] = result.get(monomial, 0) + n * k
    return {monomial: k for monomial, k in result.items() if k}


def _floor(x: float, y: float) -> float:
    """The limit of `x // y`, where both may be infinite."""
    if math.isinf(x):
        return INFINITY if (x > 0) == (y > 0) else -INFINITY
    if math.isinf(y):
        return 0 if (x >= 0) == (y > 0) else -1
    return x // y


def _ceil(x: float, y: int) -> float:
    return x if math.isinf(x) else -(-x // y)
