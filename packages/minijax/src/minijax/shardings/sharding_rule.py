"""Sharding rules of operations, as Shardy has them: which axes correspond to each other.

A rule names the factors of each axis of the operands and results. The axes of a factor that is in
an operand and in a result are divided alike; other factors have a kind.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod
from typing import Any

from minijax_stage2 import ShapedArray
from minijax_stage2.errors import shown

BATCHING = "…"  # the leading axes of an array; digits after it tell groups of them apart


def _is_batching(factor: str) -> bool:
    return factor[:1] == BATCHING and (len(factor) == 1 or factor[1:].isdigit())


def _require_factor(factor: Any) -> None:
    if not isinstance(factor, str) or not re.fullmatch(r"[^\W\d_]\w*", factor):
        raise ValueError(
            f"a factor is named by letters, digits and underscores, a letter first, found "
            f"{shown(factor)}"
        )


class CompoundFactor(tuple[str, ...]):
    """The factors of one axis, the major one first; at least two.

    >>> from minijax.experimental.custom_partitioning import CompoundFactor
    >>> CompoundFactor("heads", "width")
    ('heads', 'width')
    """

    def __new__(cls, *factors: str) -> CompoundFactor:
        if len(factors) < 2:
            raise ValueError(f"CompoundFactor: expected two factors or more, found {factors}")
        for factor in factors:
            _require_factor(factor)
        return super().__new__(cls, factors)


class ArrayMapping(tuple[Any, ...]):
    """The factors of the axes of an array: a name or a `CompoundFactor` for each.

    `BATCHING`, first, stands for any number of leading axes.

    >>> from minijax.experimental.custom_partitioning import BATCHING, ArrayMapping
    >>> ArrayMapping(BATCHING, "rows")[1]
    'rows'
    """

    def __new__(cls, *dim_mappings: Any) -> ArrayMapping:
        for i, factor in enumerate(dim_mappings):
            is_first = i == 0 and isinstance(factor, str) and _is_batching(factor)
            if not is_first and not isinstance(factor, CompoundFactor):
                _require_factor(factor)
        return super().__new__(cls, dim_mappings)


class SdyShardingRule:
    """A sharding rule.

    Arguments:
        operand_mappings: an `ArrayMapping` for each operand.
        result_mappings: one for each result.
        reduction_factors: those that are summed: results are partial sums where they are divided.
        need_replication_factors: those that must not be divided.
        permutation_factors: those along which devices exchange data where they are divided.
        factor_sizes: the sizes of factors that are only in compound ones.

    Raises:
        ValueError: a factor is not used, has two kinds, or its size is missing or known already.

    >>> from minijax.experimental.custom_partitioning import ArrayMapping, SdyShardingRule
    >>> mapping = ArrayMapping("rows", "columns")
    >>> print(SdyShardingRule((mapping,), (mapping,), need_replication_factors=("columns",)))
    (rows columns) -> (rows columns), need_replication_factors=('columns',)
    """

    def __init__(
        self,
        operand_mappings: tuple[ArrayMapping, ...],
        result_mappings: tuple[ArrayMapping, ...],
        *,
        reduction_factors: tuple[str, ...] = (),
        need_replication_factors: tuple[str, ...] = (),
        permutation_factors: tuple[str, ...] = (),
        **factor_sizes: int,
    ):
        self.operand_mappings, self.result_mappings = operand_mappings, result_mappings
        self.factor_sizes = factor_sizes
        self.reduction_factors = reduction_factors
        self.need_replication_factors = need_replication_factors
        self.permutation_factors = permutation_factors
        dims = [dim for mapping in (*operand_mappings, *result_mappings) for dim in mapping]
        whole = {dim for dim in dims if isinstance(dim, str)}
        parts = {factor for dim in dims if not isinstance(dim, str) for factor in dim} - whole
        for factor in factor_sizes:
            if factor not in parts:
                where = "is a whole axis" if factor in whole else "is not in the rule"
                raise ValueError(f"SdyShardingRule: {factor} {where}; do not give its size")
        for factor in parts:
            if factor not in factor_sizes:
                raise ValueError(
                    f"SdyShardingRule: {factor} is only in compound factors; give its size"
                )
        seen: set[str] = set()
        for kind, factors in self._kinds().items():
            if not isinstance(factors, tuple):
                raise ValueError(f"SdyShardingRule: {kind} must be a tuple, found {shown(factors)}")
            for factor in factors:
                if factor not in whole | parts:
                    raise ValueError(f"SdyShardingRule: {factor} of {kind} is not in the rule")
                if factor in seen:
                    raise ValueError(f"SdyShardingRule: {factor} of {kind} is named twice")
                seen.add(factor)

    def _kinds(self) -> dict[str, tuple[str, ...]]:
        names = ("reduction_factors", "need_replication_factors", "permutation_factors")
        return {name: getattr(self, name) for name in names}

    def __str__(self) -> str:
        sides = [
            ", ".join("(" + " ".join(map(str, mapping)) + ")" for mapping in mappings)
            for mappings in (self.operand_mappings, self.result_mappings)
        ]
        rest = [f"{name}={value}" for name, value in {**self._kinds(), **self.factor_sizes}.items()]
        return ", ".join([" -> ".join(sides), *[each for each in rest if not each.endswith("=()")]])

    def as_text(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray]) -> str:
        """The rule in Shardy's notation, for operands and results of these types.

        Raises:
            ValueError: it does not fit the types.
        """
        sides = {"operand": in_avals, "result": out_avals}
        given = {"operand": self.operand_mappings, "result": self.result_mappings}
        sizes: dict[str, int | None] = {}
        groups: dict[str, int] = {}
        expanded: dict[str, list[list[tuple[str, ...]]]] = {"operand": [], "result": []}
        for side, avals in sides.items():
            if len(given[side]) != len(avals):
                raise ValueError(
                    f"sharding_rule: it has {len(given[side])} {side}s, the function {len(avals)}"
                )
            for number, (mapping, aval) in enumerate(zip(given[side], avals, strict=True)):
                what = f"sharding_rule: {side} {number}"
                axes = _axes(what, mapping, aval, groups)
                expanded[side].append(axes)
                for factors, size in zip(axes, aval.shape, strict=True):
                    if len(factors) == 1:
                        self._add(what, sizes, factors[0], size)
                    else:
                        for factor in factors:
                            if sizes.get(factor) is None:
                                sizes[factor] = self.factor_sizes.get(factor)
        for side, avals in sides.items():
            for number, (axes, aval) in enumerate(zip(expanded[side], avals, strict=True)):
                for factors, size in zip(axes, aval.shape, strict=True):
                    found = prod([sizes[factor] or 0 for factor in factors])
                    if len(factors) > 1 and found != size:
                        raise ValueError(
                            f"sharding_rule: {side} {number} has an axis of {size}, and its "
                            f"factors {factors} make {found}"
                        )
        symbols = {factor: _symbol(index) for index, factor in enumerate(sizes)}

        def text(arrays: Sequence[Sequence[tuple[str, ...]]]) -> str:
            each = [["".join(symbols[x] for x in factors) for factors in axes] for axes in arrays]
            return "(" + ", ".join("[" + ", ".join(axes) + "]" for axes in each) + ")"

        parts = [f"{text(expanded['operand'])}->{text(expanded['result'])}"]
        parts.append("{" + ", ".join(f"{symbols[x]}={size}" for x, size in sizes.items()) + "}")
        for kind, factors in self._kinds().items():
            if factors:
                names = ", ".join(symbols[x] for x in sorted(factors, key=[*sizes].index))
                parts.append(f"{kind.removesuffix('_factors')}={{{names}}}")
        return f"#sdy.op_sharding_rule<{' '.join(parts)}, custom>"

    @staticmethod
    def _add(what: str, sizes: dict[str, int | None], factor: str, size: int) -> None:
        """Add the size of a factor; of several the smallest counts."""
        before = sizes.get(factor)
        if before is not None and before != size and factor.startswith(BATCHING):
            raise ValueError(f"{what}: {BATCHING} stands for axes of {before} and of {size}")
        sizes[factor] = size if before is None else min(before, size)


def _axes(
    what: str, mapping: Sequence[Any], aval: ShapedArray, groups: dict[str, int]
) -> list[tuple[str, ...]]:
    """The factors of each axis of an array."""
    rest, batch = [*mapping], []
    if rest and isinstance(rest[0], str) and _is_batching(rest[0]):
        group = rest.pop(0)[1:] or "0"
        count = groups.setdefault(group, max(aval.ndim - len(rest), 0))
        batch = [f"{BATCHING}{group} {number}" for number in range(count)]
    if len(batch) + len(rest) != aval.ndim:
        raise ValueError(f"{what} has {len(batch) + len(rest)} axes, the array is {aval}")
    return [(dim,) if isinstance(dim, str) else tuple(dim) for dim in (*batch, *rest)]


def _symbol(index: int) -> str:
    """Shardy's name of a factor: i to z, and z_1, z_2 and so on."""
    last = ord("z") - ord("i")
    return chr(ord("i") + index) if index <= last else f"z_{index - last}"


def rule_of_text(rule: str, **options: Any) -> SdyShardingRule:
    """The rule of a text such as `"... i, i j -> ... j"`; the options are those of the rule.

    Raises:
        ValueError: it is not of that form.
        TypeError: it is not a string, or a size is not an int.
    """
    if not isinstance(rule, str):
        raise TypeError(f"sharding_rule: expected a string, found {shown(rule)}")
    for name, size in options.items():
        if not name.endswith("_factors") and not isinstance(size, int):
            raise TypeError(f"sharding_rule: the size of {name} must be an int, found {size!r}")
    sides = rule.replace("...", BATCHING).split("->")
    if len(sides) != 2 or BATCHING in rule:
        raise ValueError(f"sharding_rule: expected 'operands -> results', found {rule!r}")
    return SdyShardingRule(*[_mappings(rule, side) for side in sides], **options)


def _mappings(rule: str, side: str) -> tuple[ArrayMapping, ...]:
    found: list[ArrayMapping] = []
    dims: list[Any] = []
    compound: list[str] | None = None

    def require(fits: Any) -> None:
        if not fits:
            raise ValueError(f"sharding_rule: expected 'operands -> results', found {rule!r}")

    for token in re.findall(rf"{BATCHING}\d*|\w+|\S", side):
        if token == "(":
            require(compound is None)
            compound = []
        elif token == ")":
            require(compound and len(compound) > 1)
            dims.append(CompoundFactor(*(compound or ())))
            compound = None
        elif token == ",":
            require(compound is None)
            found.append(ArrayMapping(*dims))
            dims = []
        elif token[0] == BATCHING:
            require(compound is None and not dims)
            dims.append(f"{BATCHING}{int(token[1:] or 0)}")
        else:
            (dims if compound is None else compound).append(token)
    require(compound is None)
    return (*found, ArrayMapping(*dims))


def as_rule(rule: Any) -> SdyShardingRule:
    """A rule, from one, from a text, or from a text and the options of the rule."""
    if isinstance(rule, list | tuple) and len(rule) == 2:
        return rule_of_text(rule[0], **rule[1])
    if isinstance(rule, SdyShardingRule):
        return rule
    if isinstance(rule, str):
        return rule_of_text(rule)
    raise ValueError(f"sharding_rule: expected an SdyShardingRule or a string, found {shown(rule)}")
