"""The law: every primitive has a rule in the columns of this stage, and every rule is right.

All examples of a primitive make one program, so that each law costs one compilation each.
"""

import itertools
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from glassjax_stage2 import Primitive, bind, float0, jvp, typeof, vmap
from glassjax_stage2 import primitives as p
from glassjax_stage3 import (
    Array,
    abstract_eval_rules,
    array,
    eval_jaxpr,
    jit,
    jit_p,
    lowering_rules,
    make_jaxpr,
    typecheck_jaxpr,
)

ALL_PRIMITIVES = [x for x in vars(p).values() if isinstance(x, Primitive)]
BATCH = 2

BF16 = ml_dtypes.bfloat16
BOOL, I8, I32, I64, U8, U64 = np.bool_, np.int8, np.int32, np.int64, np.uint8, np.uint64
F16, F32, F64, C64, C128 = np.float16, np.float32, np.float64, np.complex64, np.complex128
INTEGERS, REALS, COMPLEX = (I8, I32, I64, U8, U64), (F16, BF16, F32, F64), (C64, C128)
EVERY_DTYPE = (BOOL, *INTEGERS, *REALS, *COMPLEX)

TOLERANCE = {F16: 4e-3, BF16: 3e-2, F32: 2e-6, C64: 2e-6, F64: 1e-13, C128: 1e-13}


@dataclass
class Spec:
    """The shape and dtype of an operand; `python` for a Python number."""

    shape: tuple[int, ...] = ()
    dtype: Any = F64
    python: bool = False

    def draw(self, rng):
        kind = "f" if self.dtype is BF16 else np.dtype(self.dtype).kind
        if kind == "b":
            x = rng.random(self.shape) < 0.5
        elif kind in "iu":
            x = rng.integers(1, 5, self.shape)
        else:
            x = rng.uniform(0.5, 2.0, self.shape)
            x = x + 1j * rng.uniform(0.5, 2.0, self.shape) if kind == "c" else x
        x = np.asarray(x, self.dtype)[()]
        return x.item() if self.python else x


@dataclass
class Example:
    primitive: Primitive
    specs: tuple[Spec, ...]
    params: dict[str, Any] = field(default_factory=dict)

    def draw(self, seed=0):
        rng = np.random.default_rng([seed, *map(ord, self.primitive.name)])
        return tuple(spec.draw(rng) for spec in self.specs)

    def __call__(self, *args):
        (out,) = bind(self.primitive, *args, **self.params)
        return out


def elementwise(primitive, count, dtypes):
    for dtype in dtypes:
        yield Example(primitive, (Spec((2, 3), dtype),) * count)
    for shape in ((), (0,)):
        yield Example(primitive, (Spec(shape, dtypes[-1]),) * count)
    yield Example(primitive, (Spec(python=True),) * count)
    if count == 2:
        yield Example(primitive, (Spec((), I64, python=True),) * count)
        for scalar in (Spec(), Spec(python=True)):
            yield Example(primitive, (scalar, Spec((2, 3))))
            yield Example(primitive, (Spec((2, 3)), scalar))


def examples(primitive):
    if primitive in p.UNARY:
        dtypes = (*REALS, *COMPLEX)
        return elementwise(primitive, 1, (*INTEGERS, *dtypes) if primitive is p.neg_p else dtypes)
    if primitive in p.ARITHMETIC:
        no_booleans = primitive in (p.sub_p, p.div_p, p.pow_p)
        return elementwise(primitive, 2, EVERY_DTYPE[no_booleans:])
    if primitive in p.COMPARISONS:
        ordered = (BOOL, *INTEGERS, *REALS)
        return elementwise(primitive, 2, (*ordered, *COMPLEX) if primitive in EQUALITY else ordered)
    if primitive is p.select_n_p:
        shapes = itertools.product(((), (2, 3)), repeat=3)
        every_spread = [(Spec(a, BOOL), Spec(b), Spec(c)) for a, b, c in shapes]
        every_dtype = [(Spec((3,), BOOL), Spec((3,), t), Spec((3,), t)) for t in EVERY_DTYPE]
        weak = [(Spec((), BOOL, python=True), Spec(python=True), Spec(python=True))]
        weak += [(Spec((3,), BOOL), Spec(python=True), Spec(python=True))]
        return [Example(primitive, specs) for specs in every_spread + every_dtype + weak]
    if primitive is p.convert_element_type_p:
        pairs = itertools.product((BOOL, I8, U64, BF16, F64, C128), repeat=2)
        return [
            Example(primitive, (Spec((3,), old),), {"new_dtype": np.dtype(new)})
            for old, new in pairs
            if old is not C128 or new in (C128, BOOL)
        ] + [
            Example(primitive, (Spec(python=True),), {"new_dtype": np.dtype(new)}) for new in REALS
        ]  # fmt: skip
    if primitive is p.reduce_sum_p:
        cases = [((3,), (0,)), ((2, 3), (0, 1)), ((2, 3, 4), (1,)), ((2, 3, 4), (2, 0))]
        cases += [((2, 3), ()), ((0, 3), (0,)), ((), ())]
        return [
            Example(primitive, (Spec(shape),), {"axes": axes}) for shape, axes in cases
        ] + [
            Example(primitive, (Spec((2, 3), dtype),), {"axes": (0,)}) for dtype in EVERY_DTYPE
        ]  # fmt: skip
    if primitive is p.transpose_p:
        cases = [((2, 3), (1, 0)), ((2, 3, 4), (2, 0, 1)), ((2, 3, 4), (0, 2, 1)), ((0, 2), (1, 0))]
        return [
            Example(primitive, (Spec(shape, dtype),), {"permutation": permutation})
            for (shape, permutation), dtype in cases_of_every_dtype(cases)
        ]
    if primitive is p.reshape_p:
        cases = [((), (1,)), ((1,), ()), ((2, 3), (3, 2)), ((2, 3), (6,)), ((0,), (2, 0))]
        return [
            Example(primitive, (Spec(shape, dtype),), {"new_sizes": sizes})
            for (shape, sizes), dtype in cases_of_every_dtype(cases)
        ]
    if primitive is p.broadcast_in_dim_p:
        cases = [((), (2, 3), ()), ((3,), (2, 3), (1,)), ((2,), (2, 3), (0,))]
        cases += [((1, 3), (2, 3), (0, 1)), ((2, 4), (2, 3, 4), (0, 2)), ((), (0,), ())]
        params = ("shape", "broadcast_dimensions")
        return [
            Example(primitive, (Spec(shape, dtype),), dict(zip(params, values, strict=True)))
            for (shape, *values), dtype in cases_of_every_dtype(cases)
        ] + [
            Example(primitive, (Spec(python=True),), {"shape": n, "broadcast_dimensions": ()})
            for n in ((), (2,))
        ]
    if primitive is p.dot_general_p:
        cases = [
            ((3,), (3,), (((0,), (0,)), ((), ()))),
            ((2, 3), (3,), (((1,), (0,)), ((), ()))),
            ((3,), (4, 3), (((0,), (1,)), ((), ()))),
            ((2, 3), (3, 4), (((1,), (0,)), ((), ()))),
            ((2, 3), (2, 4), (((0,), (0,)), ((), ()))),
            ((2,), (3,), (((), ()), ((), ()))),
            ((5, 2, 3), (5, 3, 4), (((2,), (1,)), ((0,), (0,)))),
            ((2, 5, 3), (3, 4, 5), (((2,), (0,)), ((1,), (2,)))),
            ((2, 3, 4), (4, 3), (((1, 2), (1, 0)), ((), ()))),
            ((2, 0), (0, 3), (((1,), (0,)), ((), ()))),
        ]
        return [
            Example(primitive, (Spec(a, dtype), Spec(b, dtype)), {"dimension_numbers": numbers})
            for (a, b, numbers), dtype in cases_of_every_dtype(cases)
            if dtype is not BF16  # of which numpy has no matrix product
        ]
    raise AssertionError(f"the law has no examples for {primitive}")


EQUALITY = (p.eq_p, p.ne_p)


def cases_of_every_dtype(cases):
    return zip(itertools.cycle(cases), EVERY_DTYPE * 2, strict=False)


EXAMPLES = {primitive: list(examples(primitive)) for primitive in ALL_PRIMITIVES}
every_primitive = pytest.mark.parametrize("primitive", ALL_PRIMITIVES, ids=str)


def program(primitive, step=1):
    """All examples, or every so many, as one function of all their operands, and those."""
    chosen = EXAMPLES[primitive][::step]

    def all_examples(*operands):
        return [example(*args) for example, args in zip(chosen, operands, strict=True)]

    return all_examples, tuple(example.draw() for example in chosen)


def tangents_for(operands):
    rng = np.random.default_rng(1)

    def draw(x):
        dtype = np.result_type(x)
        if dtype.kind in "biu":
            return np.zeros(np.shape(x), float0)
        t = rng.normal(size=np.shape(x))
        return t if type(x) is float else np.asarray(t, dtype)[()]

    return tuple(tuple(map(draw, args)) for args in operands)


def batches_for(primitive, step=1):
    """Operands of all examples with a batch axis at the front, at the end, or nowhere."""
    rng = np.random.default_rng(2)
    operands, in_axes = [], []
    for example in EXAMPLES[primitive][::step]:
        draws = zip(*(example.draw(seed) for seed in range(BATCH)), strict=True)
        axes = tuple((None, 0, -1)[i] for i in rng.integers(0, 3, len(example.specs)))
        axes = axes if any(a is not None for a in axes) else (0,) * len(axes)
        in_axes.append(axes)
        operands.append(
            tuple(
                xs[0] if a is None else np.stack(xs, axis=a)
                for xs, a in zip(draws, axes, strict=True)
            )
        )
    return tuple(operands), tuple(in_axes)


def are_same(found, expected, scale=1):
    """Shapes and dtypes agree, and the numbers up to rounding, for each example in turn."""
    for index, (x, y) in enumerate(zip(found, expected, strict=True)):
        where = f"example {index}"
        assert np.shape(x) == np.shape(y), where
        assert np.result_type(x) == np.result_type(y), where
        dtype = np.result_type(y)
        if dtype == float0:
            continue
        tolerance = scale * TOLERANCE.get(dtype.type, 0)
        wide = np.complex128 if dtype.kind == "c" else np.float64
        x, y = np.asarray(x).astype(wide), np.asarray(y).astype(wide)
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance, err_msg=where)


@pytest.mark.parametrize("rules", [abstract_eval_rules, lowering_rules], ids=lambda r: r.table)
@pytest.mark.parametrize("primitive", [*ALL_PRIMITIVES, jit_p], ids=str)
def test_every_primitive_has_a_rule(primitive, rules):
    assert primitive in rules


@pytest.mark.parametrize("rules", [abstract_eval_rules, lowering_rules], ids=lambda r: r.table)
def test_the_columns_keep_the_order_of_the_primitives(rules):
    assert [primitive for primitive in rules if primitive in ALL_PRIMITIVES] == ALL_PRIMITIVES


@every_primitive
def test_abstract_evaluation_gives_the_type_of_the_result(primitive):
    for example in EXAMPLES[primitive]:
        args = example.draw()
        (aval,) = abstract_eval_rules[primitive](*map(typeof, args), **example.params)
        assert repr(aval) == repr(typeof(example(*args))), example


@every_primitive
def test_operations_on_arrays_are_those_of_numpy(primitive):
    for example in EXAMPLES[primitive][::5]:
        args = example.draw()
        out = example(*map(array, args))
        assert isinstance(out, Array)
        are_same([out], [example(*args)])
        assert out.aval == typeof(example(*args))


@every_primitive
def test_jit_changes_nothing(primitive):
    f, operands = program(primitive)
    expected = f(*operands)
    for found in jit(lambda *xs: (f(*xs), jit(f)(*xs)))(*operands):
        are_same(found, expected)
        assert [repr(x.aval) for x in found] == [repr(typeof(y)) for y in expected]


@every_primitive
def test_jit_and_vmap_commute(primitive):
    f, _ = program(primitive, step=3)
    operands, in_axes = batches_for(primitive, step=3)
    expected = vmap(f, in_axes)(*operands)
    for found in jit(lambda *xs: [vmap(g, in_axes)(*xs) for g in (f, jit(f))])(*operands):
        are_same(found, expected)


@every_primitive
def test_jit_and_jvp_commute(primitive):
    f, operands = program(primitive, step=3)
    tangents = tangents_for(operands)
    outs, out_tangents = jvp(f, operands, tangents)
    both = jit(lambda xs, ts: [jvp(g, xs, ts) for g in (f, jit(f))])
    for found, found_tangents in both(operands, tangents):
        are_same(found, outs)
        are_same(found_tangents, out_tangents, scale=8)


@every_primitive
def test_jit_at_every_level(primitive):
    f, _ = program(primitive, step=6)
    operands, in_axes = batches_for(primitive, step=6)
    tangents = tangents_for(operands)

    def pushforward(f):
        return lambda xs, ts: jvp(f, xs, ts)

    expected = jvp(vmap(f, in_axes), operands, tangents)
    both = vmap(pushforward(jit(f)), (in_axes, in_axes))
    found = jit(both)(operands, tangents)
    are_same(found[0], expected[0])
    are_same(found[1], expected[1], scale=8)


@every_primitive
def test_what_is_staged_is_well_typed_and_computes_the_same(primitive):
    f, operands = program(primitive)
    tangents = tangents_for(operands)
    batched, in_axes = batches_for(primitive)
    programs = [
        (f, operands),
        (jit(f), operands),
        (lambda *xs: jvp(f, xs, tangents), operands),
        (lambda *xs: jvp(jit(f), xs, tangents), operands),
        (vmap(f, in_axes), batched),
        (vmap(jit(f), in_axes), batched),
        (vmap(lambda *xs: jvp(f, xs, tangents), in_axes), batched),
    ]
    for g, args in programs:
        closed = make_jaxpr(g)(*args)
        in_avals, out_avals = typecheck_jaxpr(closed)
        assert in_avals == [typeof(x) for xs in args for x in xs]
        assert len(out_avals) == len(closed.outvars)
    closed = make_jaxpr(f)(*operands)
    leaves = [x for xs in operands for x in xs]
    are_same(eval_jaxpr(closed, closed.consts, *leaves), f(*operands))
