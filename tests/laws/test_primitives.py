"""The laws of all primitives of the stages and the library together.

Every primitive has a rule in every column or is declared not to need one. The tests of each
stage try its own columns, primitive by primitive. Here are the products: partial evaluation of
every program into two halves, jit, vmap and grad in every order, and `jit` and `cond`, which hold
programs, under every law.
"""

import itertools
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from law_examples import ALL_PRIMITIVES, EXAMPLES, Spec, cast, is_close, is_inexact, tangents_for
from shares import one_in

import glassjax_stage2 as s2
from glassjax_stage2 import float0, jvp, mul, neg, reduce_sum, sin, typeof, vmap
from glassjax_stage2 import primitives as p
from glassjax_stage3 import abstract_eval_rules, eval_jaxpr, jit, jit_p, lowering_rules, make_jaxpr
from glassjax_stage3.dce import dce_rules
from glassjax_stage3.jaxpr import consts_as_invars
from glassjax_stage4 import (
    PartialVal,
    cond,
    grad,
    linearize,
    partial_eval,
    partial_eval_jaxpr,
    partial_eval_rules,
    tape,
    transpose_rules,
    vjp,
)
from glassjax_stage4.cond import cond_p
from glassjax_stage4.partial_eval import merge, partition, typecheck_partial_eval

HIGHER_ORDER = [jit_p, cond_p]
NONLINEAR = [p.sin_p, p.cos_p, p.exp_p, p.log_p, p.pow_p, *p.COMPARISONS]
BATCH = 2


@dataclass
class CallExample:
    """An example of a primitive that holds programs, made by calling a function."""

    name: str
    specs: tuple[Spec, ...]
    function: Any

    def __str__(self):
        return self.name

    def draw(self, seed=0):
        rng = np.random.default_rng([seed, *map(ord, self.name)])
        return tuple(spec.draw(rng) for spec in self.specs)

    def __call__(self, *args):
        return self.function(*args)


def choice(which, x, y):
    return cond(which, lambda x, y: mul(sin(x), y), lambda x, y: x, x, y)


number, row, matrix, truth = Spec(), Spec((3,)), Spec((2, 3)), Spec((), np.bool_)
inner = jit(lambda x: mul(x, x))
HIGHER_ORDER_EXAMPLES = [
    CallExample("jit-of-one", (row,), jit(sin)),
    CallExample("jit-of-two", (row, row), jit(lambda x, y: mul(sin(x), y))),
    CallExample("jit-spreads", (number, matrix), jit(lambda x, y: mul(x, y))),
    CallExample("jit-of-jit", (row,), jit(lambda x: neg(inner(inner(x))))),
    CallExample("jit-python", (Spec(python=True),), jit(lambda x: mul(x, x))),
    CallExample("jit-constant", (row,), jit(lambda x: mul(x, np.arange(3.0)))),
    CallExample("jit-f32", (Spec((3,), np.float32),), jit(sin)),
    CallExample("jit-ignores", (row, row), jit(lambda x, y: mul(y, y))),
    CallExample("cond", (truth, row, row), choice),
    CallExample("cond-scalars", (truth, number, number), choice),
    CallExample("jit-of-cond", (truth, row, row), jit(choice)),
    CallExample("cond-of-jit", (truth, row, row), lambda c, x, y: cond(c, jit(mul), mul, x, y)),
    CallExample(
        "cond-of-cond", (truth, truth, row, row),
        lambda c, d, x, y: cond(c, lambda x, y: choice(d, x, y), lambda x, y: neg(y), x, y),
    ),
    CallExample(
        "cond-closes-over", (truth, row, row),
        lambda c, x, y: cond(c, lambda: mul(x, y), lambda: sin(x)),
    ),
]  # fmt: skip
ALL_EXAMPLES = [*EXAMPLES, *HIGHER_ORDER_EXAMPLES]

BY_PRIMITIVE = defaultdict(list)
for each in ALL_EXAMPLES:
    BY_PRIMITIVE[str(each).partition("-")[0]].append(each)
every_primitive = pytest.mark.parametrize("name", BY_PRIMITIVE)
every_higher_order_example = pytest.mark.parametrize("example", HIGHER_ORDER_EXAMPLES, ids=str)


# The table


@pytest.mark.parametrize(
    "rules",
    [s2.impl_rules, s2.jvp_rules, s2.vmap_rules, abstract_eval_rules, lowering_rules],
    ids=lambda r: r.table,
)
def test_every_primitive_has_a_rule(rules):
    missing = [
        primitive for primitive in [*ALL_PRIMITIVES, *HIGHER_ORDER] if primitive not in rules
    ]
    assert not missing


def test_every_primitive_has_a_transpose_or_is_nonlinear():
    linear = [x for x in [*ALL_PRIMITIVES, *HIGHER_ORDER] if x not in NONLINEAR]
    assert [x for x in linear if x not in transpose_rules] == []
    assert [x for x in NONLINEAR if x in transpose_rules] == []


def test_the_tape_has_a_rule_for_every_primitive_that_holds_no_program():
    assert [x for x in ALL_PRIMITIVES if x not in tape.vjp_rules] == []


@pytest.mark.parametrize("rules", [partial_eval_rules, dce_rules])
def test_only_primitives_that_hold_programs_are_split_or_made_smaller(rules):
    of_the_stages = [primitive for primitive in rules if primitive in ALL_PRIMITIVES]
    assert of_the_stages == []
    assert [primitive for primitive in HIGHER_ORDER if primitive not in rules] == []


@pytest.mark.parametrize(
    "rules", [s2.jvp_rules, abstract_eval_rules, lowering_rules, transpose_rules, tape.vjp_rules]
)
def test_the_columns_keep_the_order_of_the_primitives(rules):
    here = [primitive for primitive in rules if primitive in ALL_PRIMITIVES]
    assert here == [primitive for primitive in ALL_PRIMITIVES if primitive in rules]


# Partial evaluation: the two halves do what the whole does


def splits(example):
    return itertools.product((False, True), repeat=len(example.specs))


def on_each_example(name, law):
    for example in BY_PRIMITIVE[name]:
        try:
            law(example)
        except Exception as error:
            error.add_note(f"for {example}")
            raise


@every_primitive
def test_the_halves_of_a_program_are_the_whole(name):
    on_each_example(name, halves_are_the_whole)


def halves_are_the_whole(example):
    args = example.draw()
    closed = make_jaxpr(example)(*args)
    jaxpr = consts_as_invars(closed.jaxpr)
    expected = eval_jaxpr(jaxpr, [], *closed.consts, *args)
    for unknown in splits(example):
        unknown_ins = (False,) * len(closed.consts) + unknown
        parts = partial_eval_jaxpr(jaxpr, unknown_ins)
        typecheck_partial_eval(jaxpr, unknown_ins, parts)
        known_args, unknown_args = partition(unknown_ins, [*closed.consts, *args])
        known = eval_jaxpr(parts.known, [], *known_args)
        count = len(known) - parts.num_residuals
        waiting = eval_jaxpr(parts.unknown, [], *known[count:], *unknown_args)
        (out,) = merge(parts.unknown_outs, known[:count], waiting)
        is_close(out, expected[0])


@every_primitive
def test_partial_evaluation_while_tracing_is_evaluation(name):
    on_each_example(name, partial_evaluation_is_evaluation)


def partial_evaluation_is_evaluation(example):
    args = example.draw()
    for unknown in splits(example):
        pvals = [
            PartialVal.unknown(typeof(x)) if is_unknown else PartialVal.known(x)
            for x, is_unknown in zip(args, unknown, strict=True)
        ]
        jaxpr, (out,), consts = partial_eval(lambda *xs: [example(*xs)], pvals)
        waiting = [x for x, is_unknown in zip(args, unknown, strict=True) if is_unknown]
        rest = eval_jaxpr(jaxpr, consts, *waiting)
        is_close(out.const if out.is_known else rest[0], example(*args))
        assert out.is_known or len(rest) == 1


# `jit` and `cond` obey the laws of every column


@every_higher_order_example
def test_jvp_is_the_limit_of_differences(example):
    args = example.draw()
    tangents = tangents_for(args, seed=1)
    h = 1e-2 if np.float32 in [np.result_type(x) for x in args] else 1e-5

    def shifted(sign):
        return np.asarray(
            example(
                *(
                    cast(x + sign * h * t, x) if is_inexact(x) else x
                    for x, t in zip(args, tangents, strict=True)
                )
            )
        )

    expected = (shifted(1) - shifted(-1)) / (2 * h)
    np.testing.assert_allclose(jvp(example, args, tangents)[1], expected, rtol=1e-3, atol=1e-6)


@every_higher_order_example
def test_vmap_is_a_loop(example):
    draws = [example.draw(seed) for seed in range(BATCH)]
    loop = np.stack([np.asarray(example(*draw)) for draw in draws])
    batches = [np.stack(xs) for xs in zip(*draws, strict=True)]
    is_close(vmap(example)(*batches), loop)
    for i in range(len(draws[0])):
        in_axes = tuple(0 if k == i else None for k in range(len(batches)))
        mixed = [batch if k == i else draws[0][k] for k, batch in enumerate(batches)]
        expected = [
            np.asarray(example(*draws[0][:i], draw[i], *draws[0][i + 1 :])) for draw in draws
        ]
        is_close(vmap(example, in_axes)(*mixed), np.stack(expected))


@every_higher_order_example
def test_jit_is_evaluation(example):
    args = example.draw()
    is_close(jit(lambda *xs: example(*xs))(*args), example(*args))


@every_higher_order_example
def test_the_type_in_a_program_is_the_type_of_the_result(example):
    args = example.draw()
    (aval,) = make_jaxpr(example)(*args).out_avals
    assert aval.strip_weak_type() == typeof(example(*args)).strip_weak_type()


def product(xs, ys):
    """The inner product of tangents and cotangents, without conjugation."""
    pairs = zip(xs, ys, strict=True)
    return sum(np.sum(np.asarray(x) * np.asarray(y)).real for x, y in pairs if is_inexact(x))


def is_near(x, y, out):
    narrow = np.result_type(out) in (np.float32, np.complex64)
    assert x == pytest.approx(y, rel=1e-4 if narrow else 1e-10, abs=1e-4 if narrow else 1e-10)


def assert_cotangents_fit(cts, args):
    for ct, x in zip(cts, args, strict=True):
        assert np.shape(ct) == np.shape(x)
        assert np.asarray(ct).dtype == (np.result_type(x) if is_inexact(x) else float0)


@every_higher_order_example
def test_vjp_is_the_transpose_of_jvp(example):
    args = example.draw()
    tangents = tangents_for(args, seed=1)
    out, out_tangent = jvp(example, args, tangents)
    value, f_vjp = vjp(example, *args)
    is_close(value, out)
    (ct,) = tangents_for([np.asarray(out)[()]], seed=2)
    cts = f_vjp(ct)
    assert_cotangents_fit(cts, args)
    if is_inexact(out):
        narrowest = min(
            (*args, out), key=lambda x: np.result_type(x).itemsize if is_inexact(x) else 99
        )
        is_near(product([ct], [out_tangent]), product(cts, tangents), narrowest)


@every_higher_order_example
def test_linearize_is_jvp(example):
    args = example.draw()
    tangents = tangents_for(args, seed=1)
    out, out_tangent = jvp(example, args, tangents)
    value, f_jvp = linearize(example, *args)
    is_close(value, out)
    if is_inexact(out):
        is_close(f_jvp(*tangents), out_tangent)
    else:
        assert np.asarray(f_jvp(*tangents)).dtype == float0


# Products: jit, vmap and grad in every order


def is_real(example):
    """Whether the example takes and returns f64, and booleans at most besides."""
    dtypes = {np.dtype(spec.dtype) for spec in example.specs} - {np.dtype(bool)}
    out = np.asarray(example(*example.draw()))
    is_f64 = dtypes == {np.dtype(np.float64)} and out.dtype == np.float64
    return is_f64 and out.size and not any(spec.python for spec in example.specs)


REAL_EXAMPLES = [example for example in ALL_EXAMPLES if is_real(example)]
ORDERS = list(itertools.permutations(["jit", "vmap", "grad"]))


@pytest.mark.parametrize("part", one_in(2, range(2)))
def test_jit_vmap_and_grad_in_every_order(part):
    """In one program, whose compilation is the outermost one, are all examples."""
    examples = REAL_EXAMPLES[part::2]

    def everything(batches):
        return [in_every_order(*each) for each in zip(examples, batches, strict=True)]

    draws = [[example.draw(seed) for seed in range(BATCH)] for example in examples]
    batches = [tuple(np.stack(xs) for xs in zip(*each, strict=True)) for each in draws]
    found = jit(everything)(batches)
    for example, each, gradients in zip(examples, draws, found, strict=True):
        expected = [gradient_of(example)(*draw) for draw in each]
        expected = [np.stack([np.asarray(x) for x in xs]) for xs in zip(*expected, strict=True)]
        for order, ours in zip(ORDERS, gradients, strict=True):
            for x, right in zip(ours, expected, strict=True):
                try:
                    is_close(x, right)
                except AssertionError as error:
                    error.add_note(f"for {example}, {order}")
                    raise


def weighted_sum(example):
    def loss(*args):
        out = example(*args)
        return reduce_sum(mul(out, np.cos(np.arange(1.0, 1 + out.size)).reshape(out.shape)))

    return loss


def gradient_of(example, f=None):
    argnums = tuple(i for i, spec in enumerate(example.specs) if spec.dtype != np.bool_)
    return grad(f or weighted_sum(example), argnums)


def in_every_order(example, batches):
    found = []
    for order in ORDERS:
        f, is_mapped = weighted_sum(example), False
        for transformation in reversed(order):
            if transformation == "jit":
                f = jit(f)
            elif transformation == "vmap":
                f, is_mapped = vmap(f), True
            elif is_mapped:  # the sum over examples, whose gradient is that of each example
                f = gradient_of(example, lambda *args, f=f: reduce_sum(f(*args)))
            else:
                f = gradient_of(example, f)
        found.append(f(*batches))
    return found
