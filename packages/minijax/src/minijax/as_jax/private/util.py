"""Functions of sequences."""

import functools
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from minijax.api_util import safe_map
from minijax.settings.names import wraps
from minijax_stage2.functions import canonical_axis

cache = functools.lru_cache


def safe_zip(*args: Sequence[Any]) -> list[tuple[Any, ...]]:
    """The items of sequences of one length side by side, in a list.

    Raises:
        ValueError: they differ in length.
    """
    return list(zip(*args, strict=True))


def foreach(f: Callable[..., Any], *args: Sequence[Any]) -> None:
    """Call `f` with the items of sequences of one length."""
    safe_map(f, *args)


def _unzip(count: int, items: Iterable[Any]) -> tuple[tuple[Any, ...], ...]:
    return tuple(zip(*items, strict=True)) or ((),) * count


unzip2 = functools.partial(_unzip, 2)
unzip3 = functools.partial(_unzip, 3)


def split_list(args: Sequence[Any], ns: Sequence[int]) -> list[list[Any]]:
    """Parts of these lengths, and what is left as the last part."""
    ends = list(itertools.accumulate(ns, initial=0))
    return [list(args[i:j]) for i, j in zip(ends, [*ends[1:], None], strict=True)]


def partition_list(bs: Sequence[bool], items: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The items at False, and those at True."""
    pairs = list(zip(bs, items, strict=True))
    return [x for b, x in pairs if not b], [x for b, x in pairs if b]


def merge_lists(bs: Sequence[bool], at_false: Sequence[Any], at_true: Sequence[Any]) -> list[Any]:
    """The inverse of `partition_list`."""
    first, second = iter(at_false), iter(at_true)
    return [next(second if b else first) for b in bs]


def concatenate(xs: Iterable[Sequence[Any]]) -> list[Any]:
    """One list of all items."""
    return list(itertools.chain.from_iterable(xs))


def canonicalize_axis(axis: int, num_dims: int) -> int:
    """An axis as a number that is not negative.

    Raises:
        ValueError: there is no such axis.
    """
    return canonical_axis("canonicalize_axis", axis, num_dims)


def tuple_insert(t: tuple[Any, ...], idx: int, val: Any) -> tuple[Any, ...]:
    """The tuple with one more item."""
    return (*t[:idx], val, *t[idx:])


def tuple_delete(t: tuple[Any, ...], idx: int) -> tuple[Any, ...]:
    """The tuple without an item."""
    return (*t[:idx], *t[idx + 1 :])


def tuple_update(t: tuple[Any, ...], idx: int, val: Any) -> tuple[Any, ...]:
    """The tuple with another item."""
    return (*t[:idx], val, *t[idx + 1 :])


__all__ = [
    "cache", "canonicalize_axis", "concatenate", "foreach", "merge_lists", "partition_list",
    "safe_map", "safe_zip", "split_list", "tuple_delete", "tuple_insert", "tuple_update", "unzip2",
    "unzip3", "wraps",
]  # fmt: skip
