"""Sets of indices, each with a number: arrays of these numbers go through a program of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Ids = np.ndarray[Any, np.dtype[np.int64]]

_MOST = 1 << 24  # members to sort at once


class IndexSets:
    """Sets of the indices 0, 1, ... `count` - 1; equal sets have one number.

    The empty set has the number 0, and the set of index `i` alone the number `i + 1`. An operation
    that only moves elements moves the numbers; one that combines elements takes unions.

    >>> sets = IndexSets(3)
    >>> number = sets.union(np.array([1, 0]), np.array([3, 2]))
    >>> [sets.members(x).tolist() for x in number]
    [[0, 2], [1]]
    """

    EMPTY = 0

    def __init__(self, count: int):
        self.count = count
        # The members of all sets in turn; set `n` has `_members[_starts[n] : _starts[n + 1]]`.
        self._members: Ids = np.arange(count)
        self._starts: Ids = np.concatenate([[0], np.arange(count + 1)])
        self._numbers: dict[bytes, int] = {}  # for sets of two members or more
        self._full = 1 if count == 1 else -1  # the number of the set of all indices

    def singles(self) -> Ids:
        """The numbers of the sets of one index."""
        return np.arange(1, self.count + 1)

    def members(self, number: int) -> Ids:
        """The sorted members of a set."""
        return self._members[self._starts[number] : self._starts[number + 1]]

    def all_members(self, ids: Ids) -> tuple[Ids, Ids]:
        """The sizes of the sets `ids`, a vector, and their members in turn."""
        starts = self._starts[ids]
        sizes = self._starts[ids + 1] - starts
        ends = np.cumsum(sizes)
        skipped = starts - np.concatenate([[0], ends[:-1]]) if len(ids) else starts
        return sizes, self._members[np.repeat(skipped, sizes) + np.arange(sizes.sum())]

    def union(self, first: Ids, *others: Ids) -> Ids:
        """The numbers of the unions, element by element; shapes are broadcast."""
        for other in others:
            first, other = np.broadcast_arrays(first, other)
            out = np.where(first == self.EMPTY, other, first)
            new = (first != other) & (first != self.EMPTY) & (other != self.EMPTY)
            if new.any():
                pairs = np.sort(np.stack([first[new], other[new]], axis=-1))
                keys, places = np.unique(
                    pairs[:, 0] * len(self._starts) + pairs[:, 1], return_inverse=True
                )
                pairs = np.stack(np.divmod(keys, len(self._starts)), axis=-1)
                groups = np.repeat(np.arange(len(keys)), 2)
                out[new] = self.united(groups, pairs.ravel(), len(keys))[places]
            first = out
        return first

    def union_along(self, ids: Ids, axes: tuple[int, ...]) -> Ids:
        """The unions along axes, which remain with size 1."""
        axes = tuple(axis for axis in axes if ids.shape[axis] != 1)
        if not axes:
            return ids
        kept = [1 if axis in axes else size for axis, size in enumerate(ids.shape)]
        groups = np.broadcast_to(np.arange(int(np.prod(kept))).reshape(kept), ids.shape)
        return self.united(groups.ravel(), ids.ravel(), int(np.prod(kept))).reshape(kept)

    def united(self, groups: Ids, ids: Ids, count: int) -> Ids:
        """The union of each of `count` groups; set `ids[i]` is in group `groups[i]`."""
        groups, ids = groups[ids != self.EMPTY].astype(np.int64), ids[ids != self.EMPTY]
        pairs = _distinct(groups * len(self._starts) + ids)
        groups, ids = np.divmod(pairs, len(self._starts))
        out = np.zeros(count, np.int64)
        out[groups] = ids
        out[groups[ids == self._full]] = self._full
        several = (np.bincount(groups, minlength=count) > 1) & (out != self._full)
        chosen = several[groups]
        groups, ids = groups[chosen], ids[chosen]
        sizes = np.cumsum(self._starts[ids + 1] - self._starts[ids])
        start, found = 0, []
        while start < len(ids):  # whole groups, as many as fit
            before = sizes[start - 1] if start else 0
            stop = max(int(np.searchsorted(sizes, before + _MOST)), start + 1)
            stop = int(np.searchsorted(groups, groups[stop - 1], "right"))
            found.append(self._combined(groups[start:stop], ids[start:stop]))
            start = stop
        if found:
            out[np.flatnonzero(several)] = np.concatenate(found)
        return out

    def transposed(
        self, out_sets: IndexSets, in_ids: Sequence[Ids], ids: Sequence[Ids], outs: Sequence[Any]
    ) -> list[Ids]:
        """The sets of the results of a linear map, given by the sparsity of its transpose.

        Arguments:
            out_sets: sets of elements of the results.
            in_ids: for each element of the operands the set of results that it reaches.
            ids: the sets of these operands.
            outs: the types of the results.
        """
        sizes, groups = out_sets.all_members(np.concatenate([x.ravel() for x in in_ids]))
        found = np.repeat(np.concatenate([x.ravel() for x in ids]), sizes)
        united = self.united(groups, found, out_sets.count)
        parts = np.split(united, np.cumsum([out.size for out in outs])[:-1])
        return [x.reshape(out.shape) for x, out in zip(parts, outs, strict=True)]

    def _combined(self, groups: Ids, ids: Ids) -> Ids:
        """The union of each group; groups are sorted, and each has several sets."""
        sizes, members = self.all_members(ids)
        base = groups[0]
        keys = _distinct((np.repeat(groups, sizes) - base) * self.count + members)
        groups, members = np.divmod(keys, self.count)
        bounds = np.flatnonzero(np.concatenate([[True], groups[1:] != groups[:-1], [True]]))
        out, new = np.empty(len(bounds) - 1, np.int64), list[int]()
        end = len(self._starts) - 1
        for i, (start, stop) in enumerate(
            zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
        ):
            text = members[start:stop].tobytes()
            number = self._numbers.get(text)
            if number is None:
                number = self._numbers[text] = end + len(new)
                new.append(i)
                if stop - start == self.count:
                    self._full = number
            out[i] = number
        if new:
            is_new = np.zeros(len(out), bool)
            is_new[new] = True
            sizes = np.diff(bounds)
            self._members = np.concatenate([self._members, members[np.repeat(is_new, sizes)]])
            ends = self._starts[-1] + np.cumsum(sizes[is_new])
            self._starts = np.concatenate([self._starts, ends])
        return out


def _distinct(keys: Ids) -> Ids:
    """The sorted keys without repetitions; faster than `np.unique`, which hashes them first."""
    keys = np.sort(keys)
    return keys[np.concatenate([[True], keys[1:] != keys[:-1]])] if len(keys) else keys
