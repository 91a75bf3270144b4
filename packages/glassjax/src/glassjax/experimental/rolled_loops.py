"""`roll`: unrolled loops of a program, rolled up again.

A loop of Python leaves a block of equations for each iteration. Where the blocks are alike, one
`scan` computes them all: what an iteration takes from an earlier one is carried, and what differs
from iteration to iteration is stacked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from glassjax import lax
from glassjax.errors.arguments import checking_arguments
from glassjax.primitives.higher_order import staged_call
from glassjax.runtime.array import to_array
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.runtime.repetition import Repetition, find_repetition, is_plain_slice
from glassjax.runtime.templates import expanded
from glassjax.settings.names import wraps
from glassjax.settings.number_types import as_weak_as
from glassjax.transforms.vmap import vmap
from glassjax_stage2 import bind
from glassjax_stage2.arguments import require_function
from glassjax_stage2.source import on_behalf_of
from glassjax_stage3 import Jaxpr, JaxprEqn, Literal, jit_p
from glassjax_stage3.jaxpr import Atom, Var
from glassjax_stage4.partial_eval import without_dead_code


@checking_arguments
def roll(fun: Callable[..., Any], *, at_least: int = 16) -> Callable[..., Any]:
    """Compute repeated blocks of a program's equations by `scan`.

    XLA compiles each equation of an unrolled loop of Python. `jit(roll(fun))` traces `fun`, finds
    blocks of equations that follow one another and are alike, and compiles one for all of them.
    Iterations may differ in literals, in arrays, and in where slices begin, and may use results of
    several earlier iterations. Results are the same, except for the rounding of operations that
    XLA fuses differently.

    Arguments:
        fun: function of arrays and pytrees of arrays.
        at_least: how often a block must be repeated; fewer stay unrolled.

    Returns:
        A function of the same arguments, to be jitted; it composes with other transformations.

    Raises:
        ValueError: `at_least` is less than 2.

    >>> def power(x):
    ...     for _ in range(100):
    ...         x = x * 2.0
    ...     return x
    >>> f = glassjax.jit(glassjax.experimental.roll(power))
    >>> f(1.0)
    Array(1.2676506e+30, dtype=float32, weak_type=True)
    >>> [str(eqn.primitive) for eqn in f.trace(1.0).jaxpr.eqns]
    ['scan']
    """
    require_function("roll", fun)
    if at_least < 2:
        raise ValueError(f"roll: at_least must be 2 or more, found {at_least}")

    @evaluated_by_library
    @wraps(fun)
    def rolled(*args: Any, **kwargs: Any) -> Any:
        jaxpr, operands, finish = staged_call("roll", fun, args, kwargs)
        program = without_dead_code(expanded(jaxpr))
        return finish(_evaluate(program, list(map(to_array, operands)), at_least))

    return rolled


def _evaluate(jaxpr: Jaxpr, args: Sequence[Any], at_least: int) -> list[Any]:
    """Evaluate a program, with loops in place of repeated blocks."""
    values: dict[Atom, Any] = dict(zip(jaxpr.invars, args, strict=True))
    done = 0
    for loop in _loops(jaxpr, 0, len(jaxpr.eqns), at_least):
        _run(jaxpr.eqns[done : loop.start], values, at_least)
        loop.run(values, at_least)
        done = loop.stop
    _run(jaxpr.eqns[done:], values, at_least)
    return [_read(values, atom) for atom in jaxpr.outvars]


def _run(eqns: Sequence[JaxprEqn], values: dict[Atom, Any], at_least: int) -> None:
    for eqn in eqns:
        operands = [_read(values, atom) for atom in eqn.invars]
        with on_behalf_of(eqn.source):
            if eqn.primitive is jit_p and _repeats(eqn.params["jaxpr"], at_least):
                outs = _evaluate(expanded(eqn.params["jaxpr"]), operands, at_least)
            else:
                outs = bind(eqn.primitive, *operands, **eqn.params)
        values.update(zip(eqn.outvars, outs, strict=True))


class _Row(NamedTuple):
    """A result of one iteration in the stack of all, not read yet."""

    stack: Any
    number: int


def _read(values: Mapping[Atom, Any], atom: Atom) -> Any:
    if isinstance(atom, Literal):
        return atom.val
    x = values[atom]
    if type(x) is _Row:
        return as_weak_as(atom.aval, lax.index_in_dim(x.stack, x.number, keepdims=False))
    return x


def _repeats(jaxpr: Jaxpr, at_least: int) -> bool:
    return find_repetition(expanded(jaxpr).eqns, at_least) is not None


def _loops(jaxpr: Jaxpr, begin: int, end: int, at_least: int) -> Iterator[_Loop]:
    """The loops among some equations, in their order: the largest, and those beside it."""
    found = find_repetition(jaxpr.eqns[begin:end], at_least)
    loop = found and _loop_of(jaxpr, replace(found, start=begin + found.start), at_least)
    if not loop:
        return
    yield from _loops(jaxpr, begin, loop.start, at_least)
    yield loop
    yield from _loops(jaxpr, loop.stop, end, at_least)


# Loops: where the operands of an iteration come from.


class _Fixed(NamedTuple):
    """The same value in all iterations, computed before them."""

    atom: Atom


class _Stacked(NamedTuple):
    """A value for each iteration, computed before all of them."""


class _Local(NamedTuple):
    """A result of this iteration (`ago` is 0) or of an earlier one."""

    ago: int
    eqn: int
    out: int


_Origin = _Fixed | _Stacked | _Local


class _Blocks:
    """A part of a program as blocks of equations that are alike."""

    def __init__(self, jaxpr: Jaxpr, start: int, period: int, count: int):
        self.jaxpr, self.start, self.period, self.count = jaxpr, start, period, count
        self.defined = {
            var: (i // period, i % period, out)
            for i, eqn in enumerate(jaxpr.eqns[start : start + count * period])
            for out, var in enumerate(eqn.outvars)
        }

    def eqn(self, block: int, number: int) -> JaxprEqn:
        return self.jaxpr.eqns[self.start + block * self.period + number]

    def local(self, block: int, atom: Atom) -> _Local | None:
        """The place of an operand of a block among the results of the blocks."""
        if isinstance(atom, Literal) or atom not in self.defined:
            return None
        other, number, out = self.defined[atom]
        return _Local(block - other, number, out)

    def origin(self, block: int, number: int, operand: int) -> _Origin | None:
        """The origin of an operand in a block and the next one; None if these differ."""
        atom, following = (self.eqn(b, number).invars[operand] for b in (block, block + 1))
        if isinstance(atom, Literal):
            return _Stacked()
        if atom is following:
            return _Fixed(atom)
        local = self.local(block, atom)
        if local != self.local(block + 1, following):
            return None
        return local or _Stacked()

    def agrees(self, block: int, number: int, operand: int, origin: _Origin) -> bool:
        """Return True if an operand of a block has this origin."""
        atom = self.eqn(block, number).invars[operand]
        if isinstance(origin, _Fixed):
            return atom is origin.atom
        if isinstance(origin, _Local):
            return self.local(block, atom) == origin
        return self.local(block, atom) is None


def _loop_of(jaxpr: Jaxpr, found: Repetition, at_least: int) -> _Loop | None:
    """The loop of as many blocks as possible around the middle one; None if there is none."""
    period = found.period
    start = found.start + _best_cut(jaxpr, found)
    blocks = _Blocks(jaxpr, start, period, (found.start + found.length - start) // period)
    middle = blocks.count // 2
    if middle + 1 >= blocks.count:
        return None
    operands = [(n, m) for n in range(period) for m in range(len(blocks.eqn(0, n).invars))]
    origins: dict[tuple[int, int], _Origin] = {}
    for each in operands:
        origin = blocks.origin(middle, *each)
        if origin is None:
            return None
        origins[each] = origin
    slices = [n for n in range(period) if is_plain_slice(blocks.eqn(0, n))]
    moving = {n for n in slices if _start(blocks, middle, n) != _start(blocks, middle + 1, n)}
    if not all(isinstance(origins[n, 0], _Fixed) for n in moving):
        return None
    resting = [n for n in slices if n not in moving]

    def fits(block: int, is_first: bool = False) -> bool:
        """Return True if a block is like the middle one; the first may use other initial values."""
        return all(_start(blocks, block, n) == _start(blocks, middle, n) for n in resting) and all(
            blocks.agrees(block, *each, origin)
            or (
                (is_first and isinstance(origin, _Local) and origin.ago > 0)
                and _is_from_before(blocks, block, *each)
            )
            for each, origin in origins.items()
        )

    # What all iterations use must exist before the first.
    earliest = 0
    for origin in origins.values():
        if isinstance(origin, _Fixed) and origin.atom in blocks.defined:
            earliest = max(earliest, blocks.defined[origin.atom][0] + 1)
    first, last = middle, middle
    while first > earliest and fits(first - 1):
        first -= 1
    if first > earliest and fits(first - 1, is_first=True):
        first -= 1
    while last + 1 < blocks.count and fits(last + 1):
        last += 1
    count = last + 1 - first
    if count < at_least or first > middle:
        return None
    eqns = [[blocks.eqn(first + k, n) for k in range(count)] for n in range(period)]
    return _Loop(jaxpr, start + first * period, eqns, origins, moving)


def _best_cut(jaxpr: Jaxpr, found: Repetition) -> int:
    """The place in a block where fewest values pass from one equation to later ones."""
    period = found.period
    begin = found.start + found.count // 2 * period  # a block in the middle
    defined: dict[Atom, int] = {
        var: i
        for i, eqn in enumerate(jaxpr.eqns[begin : begin + period], begin)
        for var in eqn.outvars
    }
    last_uses: dict[Atom, int] = {}
    for i, eqn in enumerate(jaxpr.eqns[begin : begin + 2 * period], begin):
        last_uses.update(dict.fromkeys((x for x in eqn.invars if x in defined), i))
    crossing = [0] * period
    for var, last in last_uses.items():
        for i in range(defined[var] + 1, min(last, defined[var] + period) + 1):
            crossing[(i - found.start) % period] += 1
    return min(range(period), key=crossing.__getitem__)


def _start(blocks: _Blocks, block: int, number: int) -> Any:
    return blocks.eqn(block, number).params["start_indices"]


def _is_from_before(blocks: _Blocks, block: int, number: int, operand: int) -> bool:
    local = blocks.local(block, blocks.eqn(block, number).invars[operand])
    return local is None or local.ago > 0


@dataclass(eq=False)
class _Loop:
    """A loop over blocks of equations that are alike.

    Attributes:
        jaxpr: the program that it is in.
        start: the number of its first equation.
        eqns: for each equation of a block, that equation in all iterations.
        origins: the origin of each operand, by equation and position.
        moving: the slices that begin elsewhere in each iteration.
    """

    jaxpr: Jaxpr
    start: int
    eqns: list[list[JaxprEqn]]
    origins: dict[tuple[int, int], _Origin]
    moving: set[int]

    @property
    def count(self) -> int:
        return len(self.eqns[0])

    @property
    def stop(self) -> int:
        return self.start + len(self.eqns) * self.count

    def run(self, values: dict[Atom, Any], at_least: int) -> None:
        """Compute what is needed of all iterations by a `scan`, and add it to the values."""
        count = self.count
        # Variables of the body: what is carried, by origin and initial values; and elements.
        queues: dict[tuple[Any, ...], tuple[_Local, Var, list[Any]]] = {}
        stacks: dict[Any, tuple[Var, Any]] = {}
        fixed: dict[Var, None] = {}
        body: list[JaxprEqn] = []
        for number, alike in enumerate(self.eqns):
            eqn = alike[0]
            if number in self.moving:
                source = self.origins[number, 0].atom  # type: ignore[union-attr]
                stacks[number] = eqn.outvars[0], _slices(_read(values, source), alike)
                continue
            invars: list[Atom] = []
            for position, atom in enumerate(eqn.invars):
                origin = self.origins[number, position]
                atoms = [each.invars[position] for each in alike]
                if isinstance(origin, _Fixed) or _are_equal(atoms):
                    invars.append(atom)
                    if isinstance(atom, Var):
                        fixed[atom] = None
                elif isinstance(origin, _Stacked):
                    key = tuple(map(id, atoms))
                    if key not in stacks:
                        stacks[key] = Var(atom.aval), self._stacked(values, atoms)
                    invars.append(stacks[key][0])
                elif origin.ago == 0:
                    invars.append(self.eqns[origin.eqn][0].outvars[origin.out])
                else:
                    first = atoms[: origin.ago]
                    queue = origin, *map(id, first)
                    if queue not in queues:
                        initial = [_read(values, x) for x in first]
                        queues[queue] = origin, Var(atom.aval), initial
                    invars.append(queues[queue][1])
            body.append(JaxprEqn(eqn.primitive, invars, eqn.outvars, eqn.params, eqn.source))

        carried = list(queues.values())
        wanted = self._wanted([origin for origin, *_ in carried])
        carried += [
            (local, Var(self._var(local).aval), [self._zeros(local)]) for local in wanted.last
        ]
        variables = [*(var for _, var, _ in carried), *(var for var, _ in stacks.values())]
        results = [*(self._var(local) for local, *_ in carried), *map(self._var, wanted.all)]
        block = without_dead_code(Jaxpr([], [*fixed, *variables], body, results))
        closed_over = [_read(values, var) for var in fixed]

        def iteration(carry: Any, elements: Any) -> Any:
            given = [*(queue[0] for queue in carry), *elements]
            typed = [as_weak_as(var.aval, x) for var, x in zip(variables, given, strict=True)]
            outs = _evaluate(block, [*closed_over, *typed], at_least)
            following = [[*queue[1:], out] for queue, out in zip(carry, outs, strict=False)]
            return following, outs[len(carry) :]

        initial = [queue for *_, queue in carried]
        elements = [stack for _, stack in stacks.values()]
        final, ys = lax.scan(iteration, initial, elements, length=count)

        # The results that are needed afterwards.
        queued = list(zip((local for local, *_ in carried), final, strict=True))
        for (block_number, local), var in wanted.variables.items():
            back = count - block_number  # 1: from the last iteration
            at_end = (
                queue[len(queue) - back]
                for source, queue in queued
                if (source.eqn, source.out) == local[1:] and back <= len(queue)
            )
            x = next(at_end, None)
            if x is not None:
                values[var] = as_weak_as(var.aval, x)
            elif local.eqn in self.moving:
                values[var] = _Row(stacks[local.eqn][1], block_number)
            else:
                values[var] = _Row(ys[wanted.all.index(local)], block_number)

    def _var(self, local: _Local) -> Var:
        return self.eqns[local.eqn][0].outvars[local.out]

    def _zeros(self, local: _Local) -> Any:
        aval = self._var(local).aval
        return as_weak_as(aval, lax.full(aval.shape, 0, aval.dtype))

    def _wanted(self, carried: Sequence[_Local]) -> _Wanted:
        """The results that are used after the loop."""
        used = set(self.jaxpr.outvars)
        for eqn in self.jaxpr.eqns[self.stop :]:
            used.update(eqn.invars)
        variables = {
            (block, _Local(0, number, out)): var
            for number, alike in enumerate(self.eqns)
            for block, eqn in enumerate(alike)
            for out, var in enumerate(eqn.outvars)
            if var in used
        }
        first: dict[_Local, int] = {}  # the earliest iteration that is needed
        for block, local in variables:
            first[local] = min(block, first.get(local, block))
        last: list[_Local] = []
        every: list[_Local] = []
        for local, block in first.items():
            longest = max((x.ago for x in carried if x[1:] == local[1:]), default=0)
            if local.eqn in self.moving or self.count - block <= longest:
                continue
            is_number = self._var(local).aval.dtype.kind in "biufc"
            (last if block == self.count - 1 and is_number else every).append(local)
        return _Wanted(variables, last, every)

    def _stacked(self, values: Mapping[Atom, Any], atoms: Sequence[Atom]) -> Any:
        """The values of atoms as one array; rows of an array are not copied one by one."""
        aval = atoms[0].aval
        if isinstance(atoms[0], Literal):
            return np.array([x.val for x in atoms if isinstance(x, Literal)], aval.dtype)
        found = [values[x] for x in atoms]
        if all(type(x) is _Row and x.stack is found[0].stack for x in found):
            numbers = [x.number for x in found]
            if numbers == list(range(numbers[0], numbers[0] + len(atoms))):
                return lax.slice_in_dim(found[0].stack, numbers[0], numbers[-1] + 1)
        makers = [eqn for eqn in self.jaxpr.eqns[: self.start] if atoms[0] in eqn.outvars]
        if makers and makers[0].primitive.name == "unstack" and makers[0].params["axis"] == 0:
            rows, (stack,) = makers[0].outvars, makers[0].invars
            first = rows.index(atoms[0])
            if [*rows[first : first + len(atoms)]] == [*atoms]:
                return lax.slice_in_dim(_read(values, stack), first, first + len(atoms))
        return lax.concatenate([lax.reshape(_read(values, x), (1, *aval.shape)) for x in atoms], 0)


class _Wanted(NamedTuple):
    """The results of a loop that are needed after it.

    Attributes:
        variables: by iteration and place in the block.
        last: the places where only the last iteration's is needed.
        all: the places that are stacked.
    """

    variables: dict[tuple[int, _Local], Var]
    last: list[_Local]
    all: list[_Local]


def _are_equal(atoms: Sequence[Atom]) -> bool:
    """Return True for literals with the same bits."""
    if not isinstance(atoms[0], Literal):
        return False
    return len({np.asarray(x.val).tobytes() for x in atoms if isinstance(x, Literal)}) == 1


def _slices(x: Any, alike: Sequence[JaxprEqn]) -> Any:
    """Slices of an array, of the same sizes, along a new first axis."""
    starts = np.array([eqn.params["start_indices"] for eqn in alike])
    sizes = alike[0].outvars[0].aval.shape
    steps = np.unique(np.diff(starts, axis=0), axis=0)
    if len(steps) == 1 and sizes[0] == 1 and not steps[0, 1:].any() and steps[0, 0]:
        step, (first, *rest) = int(steps[0, 0]), starts.min(axis=0)
        limits = [first + abs(step) * (len(alike) - 1) + 1, *np.add(rest, sizes[1:])]
        strides = (abs(step), *[1] * len(rest))
        rows = lax.slice(x, (first, *rest), limits, strides)
        rows = rows if step > 0 else lax.rev(rows, (0,))
        return lax.reshape(rows, (len(alike), *sizes))
    return vmap(lambda start: lax.dynamic_slice(x, list(start), sizes))(starts.astype(np.int32))
