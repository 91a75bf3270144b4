"""The law: every primitive has a rule in every column, and every rule is right.

Each primitive brings examples; each law below is tried on all of them.
"""

import itertools

import numpy as np
import pytest
from law_examples import ALL_PRIMITIVES, EXAMPLES, cast, is_close, is_inexact, tangents_for

from glassjax_stage2 import bind, float0, impl_rules, jvp, jvp_rules, typeof, vmap, vmap_rules
from glassjax_stage2 import primitives as p

BATCH = 2


def every_example(law):
    """A test of each primitive: the law holds for all of its examples."""

    @pytest.mark.parametrize("primitive", ALL_PRIMITIVES, ids=str)
    def test(primitive):
        for example in EXAMPLES:
            if example.primitive is primitive:
                try:
                    law(example)
                except Exception as error:
                    error.add_note(f"example {example}")
                    raise

    test.__name__, test.__doc__ = law.__name__, law.__doc__
    return test


def is_same_tangent(x, y):
    if np.asarray(x).dtype == float0:
        assert np.asarray(y).dtype == float0
        assert np.shape(x) == np.shape(y)
    else:
        is_close(x, y)


@pytest.mark.parametrize("rules", [impl_rules, jvp_rules, vmap_rules], ids=lambda r: r.table)
@pytest.mark.parametrize("primitive", ALL_PRIMITIVES, ids=str)
def test_every_primitive_has_a_rule(primitive, rules):
    assert primitive in rules


@pytest.mark.parametrize("rules", [impl_rules, jvp_rules], ids=lambda r: r.table)
def test_the_columns_keep_the_order_of_the_primitives(rules):
    assert [primitive for primitive in rules if primitive in ALL_PRIMITIVES] == ALL_PRIMITIVES


@every_example
def test_jvp_is_the_limit_of_differences(example):
    args = example.draw()
    tangents = tangents_for(args, seed=1)
    out, out_tangent = jvp(example, args, tangents)
    is_close(out, example(*args))
    if not is_inexact(out):
        assert np.asarray(out_tangent).dtype == float0
        assert np.shape(out_tangent) == np.shape(out)
        return
    h = 1e-4

    def shifted(sign):
        return example(
            *(
                x + sign * h * np.asarray(t, np.result_type(t, np.float64)) if is_inexact(x) else x
                for x, t in zip(args, tangents, strict=True)
            )
        )

    expected = np.asarray((shifted(1) - shifted(-1)) / (2 * h), np.result_type(out))
    narrow = np.result_type(out) in (np.float32, np.complex64)
    is_close(out_tangent, expected, tolerance=1e-2 if narrow else 1e-6)


@every_example
def test_jvp_is_linear_in_the_tangent(example):
    args = example.draw()
    s, t = tangents_for(args, seed=1), tangents_for(args, seed=2)
    combined = tuple(
        2 * a - 3 * b if is_inexact(x) else a for x, a, b in zip(args, s, t, strict=True)
    )
    out, of_combined = jvp(example, args, combined)
    if is_inexact(out):
        of_s, of_t = jvp(example, args, s)[1], jvp(example, args, t)[1]
        is_close(of_combined, cast(2 * of_s - 3 * of_t, out), tolerance=1e-4)


@every_example
def test_a_constant_is_an_operand_of_tangent_zero(example):
    """Each operand in turn is closed over: no formula is asked about a tangent of zero."""
    args = example.draw()
    tangents = tangents_for(args, seed=1)
    for i in range(len(args)):
        x, t = args[i], tangents[i]
        zeros = [0 * s if is_inexact(s) else s for s in tangents]
        zeros[i] = t

        def of_one(x, i=i):
            return example(*args[:i], x, *args[i + 1 :])

        alone, explicit = jvp(of_one, (x,), (t,)), jvp(example, args, tuple(zeros))
        is_close(alone[0], explicit[0])
        is_same_tangent(alone[1], explicit[1])


def batches(example):
    """Every choice of operands to batch, each along its first or its last axis."""
    for which in itertools.product((False, True), repeat=len(example.specs)):
        if any(which):
            ends = [(0, -1) if batched else (None,) for batched in which]
            yield from itertools.product(*ends)


def batched(draws, in_axes):
    return tuple(
        xs[0] if axis is None else np.stack(xs, axis=axis)
        for xs, axis in zip(zip(*draws, strict=True), in_axes, strict=True)
    )


def one_of(args, in_axes, i):
    return tuple(
        x if axis is None else np.take(x, i, axis) for x, axis in zip(args, in_axes, strict=True)
    )


@every_example
def test_vmap_is_a_loop(example):
    draws = [example.draw(seed) for seed in range(BATCH)]
    for in_axes in batches(example):
        args = batched(draws, in_axes)
        loop = [example(*one_of(args, in_axes, i)) for i in range(BATCH)]
        is_close(vmap(example, in_axes)(*args), np.stack(loop))
        is_close(vmap(example, in_axes, out_axes=-1)(*args), np.stack(loop, axis=-1))


@every_example
def test_the_type_of_a_tracer_is_the_type_of_one_value(example):
    draws = [example.draw(seed) for seed in range(BATCH)]
    expected = typeof(np.asarray(example(*draws[0])))
    seen = []

    def look(*args):
        out = example(*args)
        seen.append(typeof(out).strip_weak_type())
        return out

    in_axes = (0,) * len(example.specs)
    vmap(look)(*batched(draws, in_axes))
    jvp(look, draws[0], tangents_for(draws[0], seed=1))
    assert seen == [expected, expected]


@every_example
def test_vmap_over_no_examples_has_the_shape_of_none(example):
    args = tuple(np.zeros((0, *np.shape(x)), np.result_type(x)) for x in example.draw())
    out = np.asarray(example(*example.draw()))
    empty = vmap(example)(*args)
    assert empty.shape == (0, *out.shape)
    assert empty.dtype == out.dtype


@every_example
def test_vmap_of_vmap_is_two_loops(example):
    draws = [[example.draw(3 * i + j) for j in range(3)] for i in range(BATCH)]
    args = tuple(
        np.stack([np.stack([draw[k] for draw in row]) for row in draws])
        for k in range(len(example.specs))
    )
    loop = np.stack([np.stack([example(*draw) for draw in row]) for row in draws])
    is_close(vmap(vmap(example))(*args), loop)
    swapped = vmap(vmap(example, in_axes=0), in_axes=1, out_axes=1)
    is_close(swapped(*args), loop)


@every_example
def test_jvp_of_vmap_is_vmap_of_jvp(example):
    draws = [example.draw(seed) for seed in range(BATCH)]
    for in_axes in batches(example):
        args = batched(draws, in_axes)
        tangents = tangents_for(args, seed=1)
        mapped = vmap(example, in_axes)
        outside = jvp(mapped, args, tangents)
        inside = vmap(lambda x, t: jvp(example, x, t), in_axes=(in_axes, in_axes))(args, tangents)
        is_close(outside[0], inside[0])
        is_same_tangent(outside[1], inside[1])


@pytest.mark.parametrize("primitive", [p.sin_p, p.cos_p, p.exp_p, p.log_p], ids=str)
def test_derivatives_have_derivatives(primitive):
    """The rules are made of primitives, so they differentiate again: third order, by numbers."""

    def f(x):
        return bind(primitive, x)[0]

    def d(f):
        return lambda x: jvp(f, (x,), (1.0,))[1]

    x, h = 1.3, 1e-4
    third = d(d(d(f)))(x)
    assert third == pytest.approx((d(d(f))(x + h) - d(d(f))(x - h)) / (2 * h), abs=1e-6)
