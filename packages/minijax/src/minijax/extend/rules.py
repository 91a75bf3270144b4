"""Tables of rules as JAX's conventions have them: views of ours."""

from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

from minijax.runtime.evaluation import evaluated_by_library
from minijax_stage2 import Primitive
from minijax_stage2.trace import Rules

Rule = Callable[..., Any]


class RulesByJAX(MutableMapping[Primitive, Rule]):
    """A table of rules by JAX's convention, which are entered in one of ours and read from it.

    Arguments:
        table: our table.
        to_ours: function from a primitive and a rule by JAX's convention to a rule of `table`.
        to_jax: function from a primitive and a rule of `table` to one by JAX's convention.
    """

    def __init__(
        self,
        table: Rules,
        to_ours: Callable[[Primitive, Rule], Rule],
        to_jax: Callable[[Primitive, Rule], Rule],
    ):
        self._table = table
        self._to_ours = to_ours
        self._to_jax = to_jax
        self._given: dict[Rule, Rule] = {}  # rules by JAX's convention, by those made of them

    def __getitem__(self, primitive: Primitive) -> Rule:
        if primitive not in self._table:
            raise KeyError(primitive)
        ours = self._table[primitive]
        if ours in self._given:
            return self._given[ours]
        return evaluated_by_library(self._to_jax(primitive, ours))

    def __setitem__(self, primitive: Primitive, rule: Rule) -> None:
        ours = self._to_ours(primitive, rule)
        self._given[ours] = rule
        self._table[primitive] = ours

    def __delitem__(self, primitive: Primitive) -> None:
        del self._table[primitive]

    def __iter__(self) -> Iterator[Primitive]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)
