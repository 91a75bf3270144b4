"""Arguments for calls, drawn as sources: arrays of all dtypes and shapes, axes, dtypes, options.

Whatever is drawn shrinks: to fewer dimensions, to float32, to ones, to options left out.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fuzzing.search.choices import Choices

# The first of each kind is what a case shrinks to.
DTYPES = {
    "f": ["float32", "bfloat16", "float16"],
    "i": ["int32", "int8", "int16"],
    "u": ["uint8", "uint32", "uint16"],
    "b": ["bool"],
    "c": ["complex64"],
}
DTYPES_OF_64_BITS = {"f": "float64", "i": "int64", "u": "uint64", "c": "complex128"}
ALL = "fiubc"
NUMBERS = "fiuc"
REAL = "fiub"

# The values of arrays, by domain.
FLOATS = {
    "tame": [1.0, 0.5, 2.0, -1.0, 3.0, -0.25, 0.75, -2.5],
    "any": [1.0, 0.0, -0.0, math.nan, math.inf, -math.inf, -1.5, 0.5, 100.0, 1e-3, -7.0, 3e4],
    "positive": [1.0, 0.5, 2.0, 3.25, 0.1, 7.5],
    "unit": [0.5, 0.25, 0.9, 0.1, 0.625],
    "whole": [1.0, 2.0, 0.0, 3.0, 5.0],
}
INTEGERS = {
    "tame": [1, 2, 3, 0, 5, 7],
    "positive": [1, 2, 3, 5],
    "unit": [0, 1],
    "whole": [1, 2, 0, 3],
}


@dataclass(frozen=True)
class Array:
    """An operand: the source that names it, and what is known about its values' type."""

    source: str
    shape: tuple[int, ...]
    dtype: str

    def __str__(self) -> str:
        return self.source

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True)
class Input:
    """A definition before the function: one of its parameters, or what it closes over."""

    name: str
    source: str
    is_parameter: bool


def kind_of(dtype: str) -> str:
    """The letter of a dtype's kind; of keys and what else is unknown, another."""
    for kind, names in DTYPES.items():
        if dtype in names or dtype == DTYPES_OF_64_BITS.get(kind):
            return kind
    return "?"


def call(name: str, *args: Any, **kwargs: Any) -> str:
    """The source of a call; arguments that are None are left out."""
    given = [str(arg) for arg in args if arg is not None]
    given += [f"{key}={value}" for key, value in kwargs.items() if value is not None]
    return f"{name}({', '.join(given)})"


class Arguments:
    """Draws the arguments of the calls of one program, and keeps the inputs that they need."""

    def __init__(self, choices: Choices, *, x64: bool):
        self.choices = choices
        self.x64 = x64
        self.inputs: list[Input] = []
        self.results: list[Array] = []  # of the calls before
        self.must_use_a_result = False

    # Choices

    def one_of(self, *options: Any) -> Any:
        return self.choices.one_of(options)

    def chance(self, of: int) -> bool:
        """True once in `of` times; shrinks to False."""
        return self.choices.below(of) == of - 1

    def number(self, least: int, most: int) -> int:
        return least + self.choices.below(most - least + 1)

    def some(self, **options: Any) -> dict[str, Any]:
        """Each option by chance, with the value that is given or that a function draws."""
        return {
            key: value() if callable(value) else value
            for key, value in options.items()
            if self.chance(3)
        }

    # Types

    def dtype(self, kinds: str = ALL) -> str:
        kind = self.one_of(*kinds)
        names = list(DTYPES[kind])
        if self.x64 and kind in DTYPES_OF_64_BITS:
            names.append(DTYPES_OF_64_BITS[kind])
        return str(self.one_of(*names))

    def quoted_dtype(self, kinds: str = ALL) -> str:
        return repr(self.dtype(kinds))

    def shape(self, least: int = 0, most: int = 3, smallest: int = 0) -> tuple[int, ...]:
        sizes = [size for size in (2, 3, 1, 4, 0) if size >= smallest]
        ndims = [ndim for ndim in (1, 2, 0, 3, 4) if least <= ndim <= most]
        return tuple(self.one_of(*sizes) for _ in range(self.one_of(*ndims)))

    # Arrays

    def array(
        self,
        kinds: str = ALL,
        *,
        shape: Sequence[int] | None = None,
        ndims: tuple[int, int] = (0, 3),
        smallest: int = 0,
        dtype: str | None = None,
        domain: str | None = None,
        constant: bool = False,
        square: bool = False,
    ) -> Array:
        """An array of one of the kinds of dtypes: a result of a call before, or an input."""
        if not constant and domain in (None, "tame"):
            for result in reversed(self.results):
                fits = (
                    kind_of(result.dtype) in kinds
                    and (dtype is None or result.dtype == dtype)
                    and (shape is None or result.shape == tuple(shape))
                    and ndims[0] <= result.ndim <= ndims[1]
                    and min(result.shape, default=smallest) >= smallest
                    and (not square or result.shape[-2:] == ((*result.shape, 0))[-2:-1] * 2)
                )
                if fits and (self.must_use_a_result or self.chance(4)):
                    self.must_use_a_result = False
                    return result
        dtype = dtype or self.dtype(kinds)
        if shape is None:
            shape = self.shape(*ndims, smallest)
            if square:
                shape = (*shape[:-2], shape[-1], shape[-1])
        elif shape == () and not constant and self.chance(4):
            return self.scalar(kinds, domain)
        return self.input(dtype, tuple(shape), domain, constant=constant)

    def input(
        self,
        dtype: str,
        shape: tuple[int, ...],
        domain: str | None = None,
        *,
        constant: bool = False,
        add_to_diagonal: int = 0,
    ) -> Array:
        size = math.prod(shape)
        if size:
            pool = self.pool(kind_of(dtype), dtype, domain)
            drawn = [self.choices.one_of(pool) for _ in range(min(size, 5))]
            values = [drawn[(i + i // 5) % len(drawn)] for i in range(size)]
            if add_to_diagonal:
                for i in range(size):
                    if i % shape[-1] == i // shape[-1] % shape[-2]:
                        values[i] += add_to_diagonal
            text = nested(values, shape)
            module = "np" if dtype != "bfloat16" and self.chance(5) else "jnp"
            source = f'{module}.array({text}, "{dtype}")'
        else:
            source = f'jnp.zeros({shape}, "{dtype}")'
        return self.defined(source, shape, dtype, constant=constant)

    def pool(self, kind: str, dtype: str, domain: str | None) -> list[Any]:
        domain = domain or self.one_of("tame", "tame", "any")
        if kind == "b":
            return [True, False]
        if kind == "f":
            return FLOATS[domain]
        if kind == "c":
            parts = FLOATS[domain]
            return [complex(x, y) for x, y in zip(parts, parts[1:] + parts[:1], strict=True)]
        if domain in INTEGERS:
            values = INTEGERS[domain]
            return [*values, -1, -3] if kind == "i" and domain == "tame" else values
        bits = int(dtype.lstrip("uint"))
        if kind == "i":
            return [1, 0, -1, 3, -7, 2 ** (bits - 1) - 1, -(2 ** (bits - 1))]
        return [1, 0, 3, 7, 2**bits - 1]

    def defined(self, source: str, shape: Any, dtype: str, *, constant: bool = False) -> Array:
        name = f"x{len(self.inputs)}"
        self.inputs.append(Input(name, source, is_parameter=not constant and not self.chance(6)))
        return Array(name, tuple(shape), dtype)

    def scalar(self, kinds: str = REAL, domain: str | None = None) -> Array:
        """A number of Python, or an array of such a number, which is of a weak type."""
        kind = self.one_of(*kinds.replace("u", "i"))
        dtype = DTYPES[kind][0]
        value = self.one_of(*self.pool(kind, dtype, domain or "tame"))
        source = literal(value)
        if self.chance(3):
            source = f"jnp.asarray({source})"
        return self.defined(source, (), dtype)

    def key(self) -> Array:
        seed = self.number(0, 3)
        make = self.one_of(f"key({seed})", f"key({seed}, impl='rbg')", f"PRNGKey({seed})")
        return self.defined(f"jax.random.{make}", (), "key")

    def broadcastable(self, x: Array, kinds: str = ALL, domain: str | None = None) -> Array:
        """An array whose shape goes with that of `x`."""
        how = self.number(0, 3)
        if how == 0:
            return self.array(kinds, shape=x.shape, domain=domain)
        if how == 1:
            return self.array(kinds, shape=(), domain=domain)
        if how == 2 and x.ndim:
            return self.array(kinds, shape=x.shape[1:], domain=domain)
        return self.array(
            kinds, shape=tuple(self.one_of(size, 1) for size in x.shape), domain=domain
        )

    def same_type(self, x: Array, domain: str | None = None) -> Array:
        return self.array(ALL, shape=x.shape, dtype=x.dtype, domain=domain)

    def matrices(self, kinds: str = "fc", *, wide: bool = False) -> Array:
        """Well-conditioned square matrices, or matrices of any shape; batched by chance."""
        dtype = self.dtype(kinds)
        batch = self.one_of((), (), (2,), (0,))
        n = self.one_of(2, 1, 3, 0)
        m = self.one_of(2, 3, 1, 4, 0) if wide else n
        return self.input(dtype, (*batch, n, m), "tame", add_to_diagonal=0 if wide else 4)

    # What goes with an array

    def axis(self, x: Array) -> int:
        return self.number(-x.ndim, x.ndim - 1) if x.ndim else 0

    def some_axis(self, x: Array) -> int | None:
        return self.axis(x) if x.ndim and self.chance(2) else None

    def axes(self, x: Array) -> Any:
        """None, an axis, or a tuple of some."""
        how = self.number(0, 3)
        if how <= 1 or not x.ndim:
            return None if how == 0 else self.some_axis(x)
        axes = self.permutation(x.ndim)
        return tuple(axes[: self.number(0, x.ndim)])

    def permutation(self, n: int) -> list[int]:
        left = list(range(n))
        return [left.pop(self.choices.below(len(left))) for _ in range(n)]

    def indices(self, size: int, shape: Sequence[int] | None = None) -> Array:
        """Integers into an axis; seldom beyond its end."""
        shape = self.shape(0, 2) if shape is None else tuple(shape)
        most = max(size - 1, 0) + (2 if self.chance(6) else 0)
        dtype = self.one_of("int32", "int8", "uint8")
        least = -size if dtype[0] == "i" and self.chance(3) else 0
        count = math.prod(shape)
        values = [self.number(least, most) for _ in range(min(count, 5))]
        values = [values[i % len(values)] for i in range(count)]
        source = f'jnp.array({nested(values, shape)}, "{dtype}")' if count else None
        return self.defined(source or f'jnp.zeros({shape}, "{dtype}")', shape, dtype)

    def factored(self, size: int) -> tuple[int, ...]:
        """A shape of `size` elements."""
        if size == 0:
            return self.one_of((0,), (2, 0), (0, 3))
        options = [(size,), (1, size), (size, 1), *((d, size // d) for d in (2, 3) if not size % d)]
        return self.one_of(*options, *([()] if size == 1 else []))


def literal(value: Any) -> str:
    if isinstance(value, complex):
        return f"complex({value.real!r}, {value.imag!r})"
    return repr(value)


def nested(values: list[Any], shape: Sequence[int]) -> str:
    """The source of nested lists of the values, in rows."""
    if not shape:
        return literal(values[0])
    if len(shape) == 1:
        return f"[{', '.join(map(literal, values))}]"
    step = len(values) // shape[0]
    rows = [nested(values[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]
    return f"[{', '.join(rows)}]"
