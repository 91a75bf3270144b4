"""Parser of shapes and sizes written as text, such as `"b, 2*n - 1, max(b, n), ..."`."""

import re
from collections.abc import Sequence
from typing import Any, NoReturn

from glassjax.dimensions import expressions
from glassjax.dimensions.expressions import Size

_TOKENS = re.compile(r"\s*(?:(?P<name>[^\W\d]\w*)|(?P<number>\d+)|(?P<sign>\.\.\.|\S))")
_FUNCTIONS = "floordiv", "mod", "max", "min"
_END = ""


class Parser:
    """A recursive-descent parser.

    Attributes:
        text: what is parsed.
        scope: the scope of the variables.
        like: the shape that fills `_` and `...`, if there is one.
    """

    def __init__(self, text: str, scope: Any, like: Sequence[int | None] | None = None):
        self.text, self.scope, self.like = text, scope, like
        self._tokens = list(_TOKENS.finditer(text))
        self._next = 0
        self._sizes: list[Size] = []

    def shape(self) -> tuple[Size, ...]:
        """The sizes of a whole text, separated by commas, in parentheses or not."""
        parentheses = 0
        while self._accept("("):
            parentheses += 1
        while self._token not in (_END, ")"):
            if self._accept("..."):
                self._fill(len(self.like or ()))
                break
            if self._accept("_"):
                self._fill(len(self._sizes) + 1)
            else:
                self._add(self._size())
            if self._token not in (_END, ")"):
                self._expect(",")
        for _ in range(parentheses):
            self._expect(")")
        self._end()
        return tuple(self._sizes)

    def size(self) -> Size:
        """The size that is the whole text."""
        size = self._size()
        self._end()
        return size

    # Placeholders.

    def _fill(self, count: int) -> None:
        if self.like is None:
            self._fail("a placeholder needs the argument `like`, a shape to take the size from")
        if len(self.like) < max(count, len(self._sizes)):
            self._fail(f"the placeholder stands for an axis that like={self.like} does not have")
        for size in self.like[len(self._sizes) : count]:
            if size is None:
                self._fail(f"the placeholder stands for an unknown size in like={self.like}")
            self._add(size)

    def _add(self, size: Size) -> None:
        axis = len(self._sizes)
        expected = [size] if self.like is None else self.like[axis : axis + 1]
        if isinstance(size, int) and [size] != list(expected):
            raise ValueError(
                f"symbolic shape {self.text!r}: it has size {size} in axis {axis}, where the shape "
                f"{self.like} differs. Give that size, a variable, or '_'"
            )
        self._sizes.append(size)

    # Expressions.

    def _size(self) -> Size:
        sign = -1 if self._accept("-") else 1
        if sign > 0:
            self._accept("+")
        total: Size = sign * self._product()
        while self._token in ("+", "-"):
            sign = 1 if self._accept("+") else -1
            if sign < 0:
                self._accept("-")
            total = total + sign * self._product()
        return total

    def _product(self) -> Size:
        total = self._power()
        while self._accept("*"):
            total = total * self._power()
        return total

    def _power(self) -> Size:
        base = self._atom()
        return base ** int(self._take("number")) if self._accept("^") else base

    def _atom(self) -> Size:
        if self._kind == "name":
            name = self._take("name")
            if name not in _FUNCTIONS:
                return expressions.variable(name, self.scope)
            self._expect("(")
            x = self._size()
            self._expect(",")
            y = self._size()
            self._expect(")")
            if name == "max":
                return expressions.max_size(x, y)
            if name == "min":
                return expressions.min_size(x, y)
            return expressions.apply(name, x, y, self.scope)
        sign = -1 if self._accept("-") else 1
        return sign * int(self._take("number"))

    # Tokens.

    @property
    def _token(self) -> str:
        return self._tokens[self._next][0].strip() if self._next < len(self._tokens) else _END

    @property
    def _kind(self) -> str | None:
        return self._tokens[self._next].lastgroup if self._next < len(self._tokens) else None

    def _accept(self, token: str) -> bool:
        found = self._token == token
        self._next += found
        return found

    def _expect(self, token: str) -> None:
        if not self._accept(token):
            self._fail(f"expected {token!r}")

    def _take(self, kind: str) -> str:
        if self._kind != kind:
            self._fail("expected a variable, an integer or a function")
        token, self._next = self._token, self._next + 1
        return token

    def _end(self) -> None:
        if self._token != _END:
            self._fail("expected the end, an operator or a comma")

    def _fail(self, problem: str) -> NoReturn:
        at = self._tokens[self._next].start() if self._next < len(self._tokens) else len(self.text)
        where = f"at {self.text[at:].strip()!r}" if self.text[at:].strip() else "at the end"
        raise ValueError(
            f"syntax error in symbolic shape {self.text!r}, size {len(self._sizes)}, {where}: "
            f"{problem}. A size is an expression of variables and integers with +, -, *, ^, "
            f"{', '.join(name + '(x, y)' for name in _FUNCTIONS)}"
        )
