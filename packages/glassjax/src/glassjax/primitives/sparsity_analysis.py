"""Sparsity analysis: an interpreter of jaxprs whose values are sets of inputs.

Each element of an array has the number of the set of inputs that it depends on. The rules of
primitives are in `sparsity_rules`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from glassjax.primitives.index_sets import Ids, IndexSets
from glassjax.primitives.loops import calls
from glassjax.runtime.evaluation import eval_context
from glassjax_stage2 import ShapedArray, Tracer, bind, typeof
from glassjax_stage2.trace import Rules
from glassjax_stage3 import Jaxpr, JaxprEqn, Literal
from glassjax_stage3.jaxpr import Atom


class Operand:
    """An array whose elements depend on sets of inputs.

    Attributes:
        aval: its type.
        ids: the numbers of these sets.
    """

    def __init__(self, aval: ShapedArray, ids: Ids | None = None, value: Any = None):
        self.aval = aval
        self.is_constant = ids is None
        self.ids = np.broadcast_to(IndexSets.EMPTY if ids is None else ids, aval.shape)
        self._value = value  # an array, a function that computes it, or None

    @property
    def is_known(self) -> bool:
        """True if it has the same elements for all inputs."""
        return self._value is not None

    def value(self) -> np.ndarray[Any, Any] | None:
        """Its elements, if they are known; otherwise None."""
        return np.asarray(self.known()) if self.is_known else None

    def known(self) -> Any:
        """Its known elements, which may be random keys."""
        if callable(self._value):
            self._value = self._value()
        return self._value

    def equation(self) -> Equation | None:
        """The equation that remains to be computed for its elements."""
        return self._value.equation if isinstance(self._value, _Result) else None

    def element(self, index: int) -> Operand:
        """The element at an index of the first axis."""
        aval = self.aval.without_axis(0)
        ids = None if self.is_constant else self.ids[index]
        return Operand(aval, ids, (lambda: self.known()[index]) if self.is_known else None)

    @staticmethod
    def constant(x: Any) -> Operand:
        """A constant of a program; the elements of a tracer are not known."""
        return Operand(typeof(x), None, None if isinstance(x, Tracer) else x)

    def as_constant(self) -> Operand:
        """The same array, as one that depends on nothing."""
        return Operand(self.aval, None, self._value)

    @staticmethod
    def inputs(avals: Sequence[ShapedArray]) -> tuple[IndexSets, list[Operand]]:
        """Inputs of these types; each element is a set of its own."""
        sizes = [aval.size for aval in avals]
        sets = IndexSets(sum(sizes))
        parts = np.split(sets.singles(), np.cumsum(sizes)[:-1])
        return sets, [
            Operand(aval, ids.reshape(aval.shape)) for aval, ids in zip(avals, parts, strict=True)
        ]


class Equation:
    """An equation of known operands, evaluated when a rule asks for a result."""

    def __init__(self, eqn: JaxprEqn, operands: Sequence[Operand]):
        self.eqn = eqn
        self.operands = operands

    @cached_property
    def outs(self) -> list[Any]:
        stack = [self]  # not by recursion, for a chain of equations may be long
        while True:
            last = stack[-1]
            inner = [x.equation() for x in last.operands]
            missing = [x for x in inner if x is not None and "outs" not in vars(x)]
            if missing:
                stack += missing
                continue
            outs = last._evaluated()
            stack.pop()
            if not stack:
                return outs
            vars(last)["outs"] = outs

    def _evaluated(self) -> list[Any]:
        with eval_context():
            outs = bind(self.eqn.primitive, *[x.known() for x in self.operands], **self.eqn.params)
        return outs


class _Result:
    """The elements of one result of an equation."""

    def __init__(self, equation: Equation, number: int):
        self.equation = equation
        self.number = number

    def __call__(self) -> Any:
        return self.equation.outs[self.number]


SparsityRule = Callable[
    ["Analysis", Sequence[Operand], Sequence[ShapedArray], dict[str, Any]], Sequence[Ids]
]

# `rule(analysis, operands, out_avals, params)`: for each result the numbers of the sets. Without a
# rule, each element of the results depends on all that the operands depend on.
sparsity_rules = Rules("sparsity", "sparsity_rules")


class Analysis:
    """An interpreter of programs.

    Attributes:
        sets: the sets that its values depend on.
    """

    def __init__(self, sets: IndexSets):
        self.sets = sets

    def ids(self, jaxpr: Jaxpr, operands: Sequence[Operand]) -> list[Ids]:
        """The sets that the elements of a program's results depend on."""
        return [out.ids for out in self.run(jaxpr, operands)]

    def run(self, jaxpr: Jaxpr, operands: Sequence[Operand]) -> list[Operand]:
        """The results of a program without constants."""
        values: dict[Atom, Operand] = dict(zip(jaxpr.invars, operands, strict=True))

        def read(atom: Atom) -> Operand:
            if isinstance(atom, Literal):
                return Operand(atom.aval, None, np.asarray(atom.val, atom.aval.dtype))
            return values[atom]

        for eqn in jaxpr.eqns:
            outs = self._results(eqn, [read(x) for x in eqn.invars])
            values.update(zip(eqn.outvars, outs, strict=True))
        return [read(x) for x in jaxpr.outvars]

    def _results(self, eqn: JaxprEqn, operands: Sequence[Operand]) -> list[Operand]:
        avals = [var.aval for var in eqn.outvars]
        if eqn.primitive in calls:
            return self.run(eqn.params["jaxpr"], operands)
        if not all(x.is_constant for x in operands):
            rule = sparsity_rules.get(eqn.primitive, dense)
            found = rule(self, operands, avals, eqn.params)
            return [
                Operand(aval, x if x.any() else None) for aval, x in zip(avals, found, strict=True)
            ]
        if not all(x.is_known for x in operands):
            return [Operand(aval) for aval in avals]
        equation = Equation(eqn, operands)
        return [Operand(aval, None, _Result(equation, i)) for i, aval in enumerate(avals)]

    def until_stable(
        self, carry: Sequence[Operand], after_iteration: Callable[[list[Operand]], Sequence[Ids]]
    ) -> list[Operand]:
        """The carry of a loop after any number of iterations."""
        carry = [Operand(x.aval, None if x.is_constant else x.ids) for x in carry]
        for _ in range(_MOST_ITERATIONS):
            found = after_iteration(carry)
            ids = [self.sets.union(x.ids, new) for x, new in zip(carry, found, strict=True)]
            if all(np.array_equal(x.ids, new) for x, new in zip(carry, ids, strict=True)):
                return carry
            carry = [
                Operand(x.aval, new if new.any() else None)
                for x, new in zip(carry, ids, strict=True)
            ]
        # Whatever has grown may depend on all inputs.
        everything = self.sets.union_along(self.sets.singles(), (0,))
        return [
            x if x.is_constant else Operand(x.aval, np.broadcast_to(everything, x.aval.shape))
            for x in carry
        ]


_MOST_ITERATIONS = 30


class Relation:
    """The sparsity of a program of its own, to be applied to many operands at once."""

    def __init__(self, analysis: Analysis, jaxpr: Jaxpr):
        self.analysis = analysis
        self.out_avals = jaxpr.out_avals
        sets, operands = Operand.inputs(jaxpr.in_avals)
        # for each element of the results, the elements of the operands
        self.members = [sets.all_members(x.ravel()) for x in Analysis(sets).ids(jaxpr, operands)]

    def of(self, operands: Sequence[Ids]) -> list[Ids]:
        """The sets of the results, for operands with one more leading axis, of one size."""
        table = np.concatenate([x.reshape(len(x), -1) for x in operands], axis=1)
        count = len(table)
        outs = []
        for aval, (sizes, members) in zip(self.out_avals, self.members, strict=True):
            rows = np.repeat(np.arange(aval.size), sizes)
            groups = np.arange(count)[:, None] * aval.size + rows
            united = self.analysis.sets.united(
                groups.ravel(), table[:, members].ravel(), count * aval.size
            )
            outs.append(united.reshape(count, *aval.shape))
        return outs


def dense(
    analysis: Analysis, operands: Sequence[Operand], out_avals: Sequence[ShapedArray], params: Any
) -> list[Ids]:
    """The rule of a primitive without a rule: everything depends on everything."""
    numbers = np.unique(np.concatenate([np.unique(x.ids) for x in operands]))
    (everything,) = analysis.sets.union_along(numbers, (0,))
    return [np.broadcast_to(everything, aval.shape) for aval in out_avals]
