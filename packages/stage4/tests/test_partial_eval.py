"""Partial evaluation: the known half and the unknown half together are the whole.

Programs are random: arithmetic, jitted calls and `cond`, nested. They run here by a loop over
equations that also walks the programs inside equations, so nothing has to be compiled.
"""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassjax_stage2 import (
    MissingRuleError,
    Primitive,
    ShapedArray,
    bind,
    bind1,
    cos,
    impl_rules,
    mul,
    neg,
    reduce_sum,
    sin,
    typeof,
)
from glassjax_stage3 import (
    Literal,
    Var,
    abstract_eval_rules,
    dce_jaxpr,
    jit,
    jit_p,
    make_jaxpr,
    typecheck_jaxpr,
)
from glassjax_stage4 import (
    PartialVal,
    cond,
    cond_p,
    partial_eval,
    partial_eval_jaxpr,
    typecheck_partial_eval,
)
from glassjax_stage4.partial_eval import merge, partition

scalar = ShapedArray((), np.float64)


def run(jaxpr, *args):
    values = dict(zip(jaxpr.invars, args, strict=True))

    def read(atom):
        return atom.val if isinstance(atom, Literal) else values[atom]

    for eqn in jaxpr.eqns:
        operands = [read(atom) for atom in eqn.invars]
        if eqn.primitive is jit_p:
            outs = run(eqn.params["jaxpr"], *operands)
        elif eqn.primitive is cond_p:
            outs = run(eqn.params["branches"][bool(operands[0])], *operands[1:])
        else:
            outs = bind(eqn.primitive, *operands, **eqn.params)
        values.update(zip(eqn.outvars, outs, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def staged(f, *args):
    """The program of `f`, without constants."""
    closed = make_jaxpr(f)(*args)
    assert not closed.consts
    return closed


def every_choice(count):
    return list(itertools.product((False, True), repeat=count))


def primitives_of(jaxpr):
    return [eqn.primitive.name for eqn in jaxpr.eqns]


# A random program is a list of steps; a step is an operation and the numbers of its operands,
# counted from the latest value. Its results are its last values.
@st.composite
def programs(draw, depth=2):
    steps = []
    for _ in range(draw(st.integers(1, 5))):
        kinds = ["sin", "neg", "add", "mul", "scale"] + (["jit", "cond"] if depth else [])
        kind = draw(st.sampled_from(kinds))
        operands = draw(st.lists(st.integers(0, 9), min_size=3, max_size=3))
        inner = [draw(programs(depth - 1)) for _ in range({"jit": 1, "cond": 2}.get(kind, 0))]
        steps.append((kind, operands, inner))
    return steps, draw(st.integers(1, 3))


def as_function(program, outs=None):
    steps, count = program

    def f(*args):
        values = list(args)
        for kind, operands, inner in steps:
            x, y, z = (values[-1 - i % len(values)] for i in operands)
            if kind == "sin":
                values.append(sin(x))
            elif kind == "neg":
                values.append(neg(x))
            elif kind == "add":
                values.append(x + y)
            elif kind == "mul":
                values.append(mul(x, y))
            elif kind == "scale":
                values.append(0.5 * x)
            elif kind == "jit":
                values.extend(jit(as_function(inner[0]))(x, y))
            else:
                branches = [as_function(branch, outs=2) for branch in inner]
                values.extend(cond(x > 0.3, *branches, y, z))
        wanted = outs or count
        return [values[-1 - i % len(values)] for i in range(wanted)]

    return f


@settings(deadline=None, max_examples=60)
@given(programs(), st.lists(st.floats(-1, 1), min_size=3, max_size=3), st.data())
def test_both_halves_are_the_whole(program, numbers, data):
    args = [np.float64(x) for x in numbers]
    jaxpr = staged(as_function(program), *args)
    typecheck_jaxpr(jaxpr)
    whole = run(jaxpr, *args)
    instantiate = data.draw(st.lists(st.booleans(), min_size=len(whole), max_size=len(whole)))
    for unknown_ins in every_choice(3):
        for forced in (None, instantiate):
            parts = partial_eval_jaxpr(jaxpr, unknown_ins, forced)
            typecheck_partial_eval(jaxpr, unknown_ins, parts)
            known_args, unknown_args = partition(unknown_ins, args)
            known = run(parts.known, *known_args)
            count = len(known) - parts.num_residuals
            unknown = run(parts.unknown, *known[count:], *unknown_args)
            np.testing.assert_array_equal(merge(parts.unknown_outs, known[:count], unknown), whole)
            if forced:
                assert all(u for u, must in zip(parts.unknown_outs, forced, strict=True) if must)
            assert residuals_are_needed_and_distinct(parts)


def residuals_are_needed_and_distinct(parts):
    _, used = dce_jaxpr(parts.unknown)
    residuals = parts.known.outvars[len(parts.known.outvars) - parts.num_residuals :]
    return all(used[: parts.num_residuals]) and len(set(residuals)) == len(residuals)


@settings(deadline=None, max_examples=60)
@given(programs(), st.lists(st.floats(-1, 1), min_size=3, max_size=3))
def test_both_halves_are_the_whole_while_tracing(program, numbers):
    """Known values are traced by make_jaxpr here, so known jitted calls are only written down."""
    args = [np.float64(x) for x in numbers]
    f = as_function(program)
    whole = run(staged(f, *args), *args)
    for unknown_ins in every_choice(3):
        known_args, unknown_args = partition(unknown_ins, args)
        seen = []

        def known_half(*known, unknown_ins=unknown_ins, seen=seen):
            rest = iter(known)
            pvals = [
                PartialVal.unknown(scalar) if u else PartialVal.known(next(rest))
                for u in unknown_ins
            ]
            jaxpr, out_pvals, consts = partial_eval(f, pvals)
            typecheck_jaxpr(jaxpr)
            seen[:] = jaxpr, [pval.is_known for pval in out_pvals]
            return [pval.const for pval in out_pvals if pval.is_known], consts

        program_of_known = staged(known_half, *known_args)
        jaxpr, is_known = seen
        outs = iter(run(program_of_known, *known_args))
        known_outs = [next(outs) for known in is_known if known]
        jaxpr_of_consts = type(jaxpr)([], [*jaxpr.constvars, *jaxpr.invars], *body(jaxpr))
        unknown_outs = run(jaxpr_of_consts, *outs, *unknown_args)
        found = merge([not known for known in is_known], known_outs, unknown_outs)
        np.testing.assert_array_equal(found, whole)


def body(jaxpr):
    return jaxpr.eqns, jaxpr.outvars


# While tracing.


def test_known_operations_are_done_and_unknown_ones_written():
    done = []
    traced_p = Primitive("traced")
    impl_rules[traced_p] = lambda x: [done.append(x) or x]
    abstract_eval_rules[traced_p] = lambda x: [x]

    def f(x, y):
        return [bind1(traced_p, x) * y, bind1(traced_p, y)]

    jaxpr, out_pvals, consts = partial_eval(f, [PartialVal.known(3.0), PartialVal.unknown(scalar)])
    assert done == [3.0]
    assert [str(eqn) for eqn in jaxpr.eqns] == [
        "b:f64[] = mul 3.0:f64[] a",
        "b:f64[] = traced a",
    ]
    assert [pval.is_known for pval in out_pvals] == [False, False]
    assert consts == []


def test_residuals_are_the_constants_of_the_jaxpr():
    x = np.arange(3.0)
    jaxpr, _, consts = partial_eval(
        lambda x, y: [cos(x) * y + cos(x)], [PartialVal.known(x), PartialVal.unknown(typeof(x))]
    )
    assert primitives_of(jaxpr) == ["mul", "add"]
    np.testing.assert_array_equal(consts, [np.cos(x), np.cos(x)])
    assert [var.aval for var in jaxpr.constvars] == [typeof(x)] * 2


def test_a_residual_that_is_used_twice_is_one():
    x = np.arange(3.0)

    def f(x, y):
        c = cos(x)
        return [c * y + c * c * y + c]

    jaxpr, _, consts = partial_eval(f, [PartialVal.known(x), PartialVal.unknown(typeof(x))])
    assert len(consts) == 2  # cos(x), and its square
    assert primitives_of(jaxpr) == ["mul", "mul", "add", "add"]


def test_what_no_unknown_result_needs_is_not_kept():
    x = np.arange(3.0)

    def f(x, y):
        sin(x) * y
        return [cos(x), y * y]

    jaxpr, out_pvals, consts = partial_eval(f, [PartialVal.known(x), PartialVal.unknown(scalar)])
    assert primitives_of(jaxpr) == ["mul"]
    assert (jaxpr.constvars, consts) == ([], [])
    np.testing.assert_array_equal(out_pvals[0].const, np.cos(x))
    assert out_pvals[1] == PartialVal.unknown(scalar)


def test_an_unknown_argument_can_be_a_result():
    jaxpr, out_pvals, consts = partial_eval(
        lambda x, y: [y, x, y], [PartialVal.known(1.0), PartialVal.unknown(scalar)]
    )
    assert str(jaxpr) == "{ lambda ; a:f64[]. let  in (a, a) }"
    assert [pval.is_known for pval in out_pvals] == [False, True, False]
    assert consts == []


def test_a_jitted_call_of_unknown_values_only_is_staged_whole():
    jaxpr, _, consts = partial_eval(jit_of_two, [PartialVal.unknown(scalar)] * 2)
    assert primitives_of(jaxpr) == ["jit"]
    assert consts == []


def jit_of_two(x, y):
    return jit(lambda x, y: [sin(x) * y])(x, y)


def test_a_jitted_call_is_split_and_the_halves_are_found_again():
    f = jit(lambda x, y: [sin(x) * cos(y), sin(x)])

    def split(x):
        pvals = [PartialVal.known(x), PartialVal.unknown(scalar)]
        jaxpr, out_pvals, consts = partial_eval(f, pvals)
        return jaxpr, out_pvals, consts

    jaxpr, (first, second), (residual,) = split(1.0)
    (eqn,) = jaxpr.eqns
    assert primitives_of(eqn.params["jaxpr"]) == ["cos", "mul"]
    assert not first.is_known
    np.testing.assert_allclose([residual, second.const], np.sin(1.0))
    assert split(2.0)[0].eqns[0].params["jaxpr"] is eqn.params["jaxpr"]


# Of a jaxpr.


def test_a_known_argument_that_is_needed_later_is_a_residual():
    jaxpr = staged(lambda x, y: x * y, 1.0, 2.0)
    parts = partial_eval_jaxpr(jaxpr, [False, True])
    assert str(parts.known) == "{ lambda ; a:f64[]. let  in (a,) }"
    assert str(parts.unknown) == "{ lambda ; a:f64[] b:f64[]. let c:f64[] = mul a b in (c,) }"
    assert parts.unknown_outs == [True]
    assert parts.num_residuals == 1


def test_nothing_unknown_and_nothing_known():
    jaxpr = staged(lambda x, y: (x * y, y), 1.0, 2.0)
    parts = partial_eval_jaxpr(jaxpr, [False, False])
    assert primitives_of(parts.known) == ["mul"]
    assert (parts.unknown.outvars, parts.unknown_outs) == ([], [False, False])
    parts = partial_eval_jaxpr(jaxpr, [True, True])
    assert primitives_of(parts.unknown) == ["mul"]
    assert (parts.known.outvars, parts.num_residuals) == ([], 0)


def test_instantiate_makes_a_known_result_unknown():
    jaxpr = staged(lambda x, y: (sin(x), y), 1.0, 2.0)
    parts = partial_eval_jaxpr(jaxpr, [False, True], instantiate=[True, False])
    assert parts.unknown_outs == [True, True]
    assert primitives_of(parts.known) == ["sin"]
    assert str(parts.unknown) == "{ lambda ; a:f64[] b:f64[]. let  in (a, b) }"
    typecheck_partial_eval(jaxpr, [False, True], parts)


def test_a_literal_can_be_an_unknown_result():
    jaxpr = staged(lambda x: (x, 2.0), 1.0)
    parts = partial_eval_jaxpr(jaxpr, [True], instantiate=[False, True])
    assert str(parts.unknown) == "{ lambda ; a:f64[]. let  in (a, 2.0:f64[]) }"
    assert parts.num_residuals == 0


def test_nested_jit_is_split_at_every_depth():
    @jit
    def inner(x, y):
        return sin(x) * y

    jaxpr = staged(jit(lambda x, y: inner(cos(x), y) + x), 1.0, 2.0)
    parts = partial_eval_jaxpr(jaxpr, [False, True])
    typecheck_partial_eval(jaxpr, [False, True], parts)
    (known,), (unknown,) = parts.known.eqns, parts.unknown.eqns
    assert primitives_of(known.params["jaxpr"]) == ["cos", "jit"]
    assert primitives_of(unknown.params["jaxpr"]) == ["jit", "add"]
    (innermost,) = (e for e in unknown.params["jaxpr"].eqns if e.primitive is jit_p)
    assert primitives_of(innermost.params["jaxpr"]) == ["mul"]


def test_branches_share_residuals_of_one_type():
    def f(x, y):
        return cond(
            x > 0.0,
            lambda x, y: sin(x) * y,
            lambda x, y: y * reduce_sum(cos(x)) * reduce_sum(sin(x)),
            x,
            y,
        )

    jaxpr = staged(f, 1.0, 2.0)
    parts = partial_eval_jaxpr(jaxpr, [False, True])
    typecheck_partial_eval(jaxpr, [False, True], parts)
    known = parts.known.eqns[-1]
    assert [primitives_of(branch) for branch in known.params["branches"]] == [
        ["cos", "reduce_sum", "sin", "reduce_sum"],
        ["sin"],
    ]
    assert parts.num_residuals == 3  # the predicate, and as many as the first branch has
    for x in (1.0, -1.0):
        pred, *residuals = run(parts.known, x)
        expected = (np.sin(x), 0.0) if x > 0 else (np.cos(x), np.sin(x))
        assert (bool(pred), *residuals) == (x > 0, *expected)


def test_cond_of_an_unknown_predicate_is_unknown_as_a_whole():
    jaxpr = staged(lambda p, x: cond(p, lambda x: sin(x), lambda x: x, x), True, 2.0)
    parts = partial_eval_jaxpr(jaxpr, [True, False])
    typecheck_partial_eval(jaxpr, [True, False], parts)
    assert primitives_of(parts.unknown) == ["cond"]
    assert parts.known.eqns == []


def test_the_verifier_notices_halves_that_do_not_fit():
    jaxpr = staged(lambda x, y: sin(x) * y, 1.0, 2.0)
    parts = partial_eval_jaxpr(jaxpr, [False, True])
    typecheck_partial_eval(jaxpr, [False, True], parts)
    for wrong in (
        parts._replace(known=parts.unknown),
        parts._replace(num_residuals=0),
        parts._replace(unknown_outs=[False]),
        parts._replace(unknown=with_other_argument(parts.unknown)),
    ):
        with pytest.raises(TypeError, match="partial evaluation: a half has types"):
            typecheck_partial_eval(jaxpr, [False, True], wrong)


def with_other_argument(jaxpr):
    other = Var(ShapedArray((7,), np.float64))
    return type(jaxpr)([], [other, *jaxpr.invars[1:]], [], [jaxpr.invars[1]])


def test_what_has_no_rule_says_so_when_it_is_staged():
    unknown_p = Primitive("unknown")
    impl_rules[unknown_p] = lambda x: [x]
    with pytest.raises(MissingRuleError, match="no rule for abstract evaluation"):
        partial_eval(lambda x: bind(unknown_p, x), [PartialVal.unknown(scalar)])
