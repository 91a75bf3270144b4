"""Errors as values: which check failed first, and the numbers that its message shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from minijax.lax import promoting as lax
from minijax.runtime.array import Array
from minijax.runtime.conversion import to_array
from minijax.runtime.evaluation import evaluated_by_library
from minijax_stage2 import Primitive, bind
from minijax_stage2.source import Source
from minijax_stage2.tree import PyTreeDef, register_pytree_node, tree_unflatten

# Its operands are the code of an error and what the messages show, its parameter are the sites.
check_p = Primitive("check", higher_order=True)


class JaxRuntimeError(ValueError):
    """A check has failed."""


class JaxException(Exception):
    """A kind of errors that `checkify` looks for."""


class FailedCheckError(JaxException):
    """A call of `check` whose predicate is False."""


class NaNError(JaxException):
    """An operation whose result is not a number."""


class OOBError(JaxException):
    """An index that is out of bounds."""


class DivisionByZeroError(JaxException):
    """A division by zero."""


ErrorCategory = type[JaxException]

user_checks: frozenset[ErrorCategory] = frozenset({FailedCheckError})
nan_checks: frozenset[ErrorCategory] = frozenset({NaNError})
index_checks: frozenset[ErrorCategory] = frozenset({OOBError})
div_checks: frozenset[ErrorCategory] = frozenset({DivisionByZeroError})
float_checks: frozenset[ErrorCategory] = nan_checks | div_checks
automatic_checks: frozenset[ErrorCategory] = float_checks | index_checks
all_checks: frozenset[ErrorCategory] = automatic_checks | user_checks


@dataclass(frozen=True)
class Site:
    """A place in a program that is checked.

    Attributes:
        category: the kind of its errors.
        text: the format of its message.
        structure: that of the pair of positional and keyword arguments of the format.
        sizes: of an index, the shape of the indexed array; its message is given an axis, too.
        source: the line of the program.
    """

    category: ErrorCategory
    text: str
    structure: PyTreeDef
    sizes: tuple[int, ...] | None = None
    source: Source | None = field(default=None, compare=False)

    @property
    def num_numbers(self) -> int:
        """The number of arrays that the message shows."""
        return self.structure.num_leaves

    def message(self, numbers: Sequence[Array]) -> str:
        """The message of a failure with these arrays."""
        args, kwargs = tree_unflatten(self.structure, numbers)
        if self.sizes is not None:
            kwargs = {**kwargs, "size": self.sizes[int(kwargs["axis"])], "shape": self.sizes}
        return self.text.format(*args, **kwargs)


class Error:
    """The first check that failed, if any did: a pytree, so that programs can return it.

    A function that is mapped returns an `Error` that has one for each example.
    """

    def __init__(self, code: Any, numbers: Sequence[Any] = (), sites: tuple[Site, ...] = ()):
        self._code = code  # 0: none failed; k: the site k - 1 did
        self._numbers = tuple(numbers)  # what the messages of all sites show, one after the other
        self._sites = sites

    def get(self) -> str | None:
        """The message of the check that failed; None if none did.

        >>> from minijax.experimental import checkify
        >>> def root(x):
        ...     checkify.check(x >= 0, "{x} has no real root", x=x)
        ...     return jnp.sqrt(x)
        >>> error, out = minijax.jit(checkify.checkify(root))(-4.0)
        >>> error.get()
        '-4.0 has no real root (`check` failed)'
        """
        codes = np.asarray(self._code)
        if not codes.any():
            return None
        if codes.ndim == 0:
            return self._message(())
        return "\n".join(
            f"at mapped index {', '.join(map(str, index))}: {self._message(index)}"
            for index in zip(*map(np.ndarray.tolist, np.nonzero(codes)), strict=True)
        )

    def _message(self, index: tuple[int, ...]) -> str:
        position = int(np.asarray(self._code)[index]) - 1
        site = self._sites[position]
        start = sum(each.num_numbers for each in self._sites[:position])
        numbers = self._numbers[start : start + site.num_numbers]
        return site.message([to_array(x)[index] for x in numbers])

    def get_exception(self) -> JaxException | None:
        """The failed check as an exception of its category; None if none failed."""
        message = self.get()
        if message is None:
            return None
        first = next(code for code in np.ravel(self._code).tolist() if code)
        return self._sites[first - 1].category(message)

    def throw(self) -> None:
        """Raise an exception if a check failed.

        Raises:
            JaxRuntimeError: a check failed; the message is that of `get`, and a note says where.
        """
        self.hand_on(debug=False)

    @evaluated_by_library
    def hand_on(self, debug: bool) -> None:
        """Make it the error of the function that `checkify` transforms, if one is at work."""
        if self._sites:
            bind(check_p, self._code, *self._numbers, sites=self._sites, debug=debug)

    def require_none(self) -> None:
        """Raise what `throw` raises, of known values."""
        message = self.get()
        if message is not None:
            error = JaxRuntimeError(message)
            first = next(code for code in np.ravel(self._code).tolist() if code)
            source = self._sites[first - 1].source
            if source is not None:
                error.add_note(f"the check that failed is at {source}")
            raise error

    def __str__(self) -> str:
        known = isinstance(self._code, np.ndarray | np.generic | int | Array)
        return f"Error({self.get() if known else self._code})"

    __repr__ = __str__


register_pytree_node(
    Error,
    lambda error: ((error._code, error._numbers), error._sites),
    lambda sites, parts: Error(parts[0], parts[1], sites),
)


def no_code() -> Any:
    """The code of no error."""
    return to_array(np.int32(0))


init_error = Error(np.int32(0))


def first_of(errors: Sequence[Error]) -> Error:
    """The first error of several, none of them mapped, in the order of a program."""
    if not errors:
        return Error(no_code())
    code, count = no_code(), 0
    for error in errors:
        later = lax.select(lax.gt(error._code, 0), lax.add(error._code, count), no_code())
        code = lax.select(lax.eq(code, 0), later, code)
        count += len(error._sites)
    numbers = [x for error in errors for x in error._numbers]
    return Error(code, numbers, tuple(site for error in errors for site in error._sites))


def first_of_mapped(error: Sequence[Any]) -> list[Any]:
    """The code and the numbers of the first example, along the first axis, that has an error."""
    first = lax.argmax(lax.gt(error[0], 0), 0, np.int32)
    return [lax.dynamic_index_in_dim(x, first, keepdims=False) for x in error]
