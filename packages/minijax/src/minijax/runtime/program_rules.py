"""Columns of rules for higher-order primitives only."""

from collections.abc import Callable
from typing import Any

from minijax_stage2 import Primitive
from minijax_stage2.trace import Rules


class ProgramRules(Rules):
    """A column only for higher-order primitives, with None for one that needs no rule.

    >>> costs_of_programs = ProgramRules("the cost of programs", "costs_of_programs")
    >>> repeat_p = Primitive("repeat", higher_order=True)
    >>> costs_of_programs[repeat_p] = None
    >>> costs_of_programs.of(repeat_p), costs_of_programs.of(Primitive("twice"))
    (None, None)
    """

    def of(self, primitive: Primitive) -> Callable[..., Any] | None:
        """The rule of `primitive`; None if it needs none.

        Raises:
            MissingRuleError: it is a higher-order primitive, and the column has no rule for it.
        """
        return self[primitive] if primitive.higher_order else None
