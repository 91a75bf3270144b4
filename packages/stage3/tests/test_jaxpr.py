"""Jaxprs: what is written down, how it prints, and that it runs like what it was made from."""

import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassjax_stage2 import (
    ShapedArray,
    astype,
    broadcast_to,
    cos,
    exp,
    impl_rules,
    jvp,
    reduce_sum,
    sin,
    where,
)
from glassjax_stage2.primitives import sin_p
from glassjax_stage3 import (
    Literal,
    Var,
    array,
    eval_jaxpr,
    jaxpr_as_fun,
    jit,
    make_jaxpr,
    typecheck_jaxpr,
)

f32 = np.float32
X = np.arange(3.0)
MATRIX = np.ones((2, 3), f32)


@jit
def double(x):
    return 2.0 * x


@jit
def pair(x):
    y = sin(x)
    return y, double(y)


def unused(x):
    sin(x)
    return x


def many(x):
    for _ in range(28):
        x = sin(x)
    return x


TEXTS = [
    (lambda x: x, (1.0,), "{ lambda ; a:f64[]. let  in (a,) }"),
    (lambda: 3.0, (), "{ lambda ; . let  in (3.0:f64[],) }"),
    (lambda x: 3.0, (X,), "{ lambda ; a:f64[3]. let  in (3.0:f64[],) }"),
    (lambda x: (), (X,), "{ lambda ; a:f64[3]. let  in () }"),
    (lambda: sin(1.0), (), "{ lambda ; . let a:f64[] = sin 1.0:f64[] in (a,) }"),
    (
        lambda x: 2.0 * sin(x),
        (1.0,),
        "{ lambda ; a:f64[]. let b:f64[] = sin a; c:f64[] = mul 2.0:f64[] b in (c,) }",
    ),
    (unused, (1.0,), "{ lambda ; a:f64[]. let b:f64[] = sin a in (a,) }"),
    (lambda x: X, (1.0,), "{ lambda a:f64[3]; b:f64[]. let  in (a,) }"),
    (
        lambda x: (X * x, X),
        (1.0,),
        "{ lambda a:f64[3]; b:f64[]. let c:f64[3] = mul a b in (c, a) }",
    ),
    (
        lambda x: {"b": x > 1.0, "a": x.T},
        (MATRIX,),
        """\
{ lambda ; a:f32[2,3]. let
    b:bool[2,3] = gt a 1.0:f32[]
    c:f32[3,2] = transpose[permutation=(1, 0)] a
  in (c, b) }""",
    ),
    (
        lambda x: astype(x, np.int8),
        (MATRIX,),
        """\
{ lambda ; a:f32[2,3]. let
    b:i8[2,3] = convert_element_type[new_dtype=int8] a
  in (b,) }""",
    ),
    (
        lambda x, y: x @ y,
        (MATRIX, MATRIX.T),
        """\
{ lambda ; a:f32[2,3] b:f32[3,2]. let
    c:f32[2,2] = dot_general[dimension_numbers=(((1,), (0,)), ((), ()))] a b
  in (c,) }""",
    ),
    (
        double,
        (X,),
        """\
{ lambda ; a:f64[3]. let
    b:f64[3] = jit[
      name=double
      jaxpr={ lambda ; c:f64[3]. let d:f64[3] = mul 2.0:f64[] c in (d,) }
    ] a
  in (b,) }""",
    ),
]


@pytest.mark.parametrize(("f", "args", "text"), TEXTS)
def test_the_printed_form(f, args, text):
    jaxpr = make_jaxpr(f)(*args)
    typecheck_jaxpr(jaxpr)
    assert str(jaxpr) == text
    assert repr(jaxpr) == str(jaxpr) == str(jaxpr)


def test_a_program_inside_a_program_prints_inside_it():
    assert (
        str(make_jaxpr(pair)(1.0))
        == """\
{ lambda ; a:f64[]. let
    b:f64[] c:f64[] = jit[
      name=pair
      jaxpr={ lambda ; d:f64[]. let
          e:f64[] = sin d
          f:f64[] = jit[
            name=double
            jaxpr={ lambda ; g:f64[]. let h:f64[] = mul 2.0:f64[] g in (h,) }
          ] e
        in (e, f) }
    ] a
  in (b, c) }"""
    )


def test_after_z_comes_ba():
    """As in JAX: names are numbers in base 26 whose digit 0 is the letter a."""
    lines = str(make_jaxpr(many)(1.0)).splitlines()
    assert lines[24:28] == [
        "    y:f64[] = sin x",
        "    z:f64[] = sin y",
        "    ba:f64[] = sin z",
        "    bb:f64[] = sin ba",
    ]


def test_no_two_of_many_variables_have_one_name():
    def longer(x):
        for _ in range(26):
            x = many(x)
        return x

    lines = str(make_jaxpr(longer)(1.0)).splitlines()[1:-1]
    names = [line.split(":")[0].strip() for line in lines]
    assert len(set(names)) == len(names) == 28 * 26
    assert "zz" in names
    assert "baa" in names


def test_one_equation_prints_alone():
    (eqn,) = make_jaxpr(lambda x: x + 1.0)(X).eqns
    assert str(eqn) == "b:f64[3] = add a 1.0:f64[]"


def test_scalars_are_literals_and_arrays_are_constants():
    closed = make_jaxpr(lambda x: (x + f32(2), x * np.array(2, f32)))(f32(1))
    add, mul = closed.eqns
    assert type(add.invars[1]) is Literal
    assert type(add.invars[1].val) is f32
    assert type(mul.invars[1]) is Var
    assert len(closed.consts) == 1


def test_a_constant_is_found_once():
    """However often it is used, also by programs inside."""
    y = np.arange(3.0)

    def f(x):
        return x + y, x * y, y, jit(lambda z: z * y + y)(x)

    closed = make_jaxpr(f)(X)
    assert len(closed.consts) == len(closed.constvars) == 1
    assert closed.consts[0] is y


def test_arrays_that_are_equal_are_two_constants():
    a, b = np.zeros(2), np.zeros(2)
    assert len(make_jaxpr(lambda: (a, b, a))().consts) == 2


def test_a_constant_that_was_freed_is_not_mistaken_for_another():
    """Two temporary arrays may be given the same address, one after the other."""

    def f(x):
        for i in range(50):
            x = x + np.full(3, float(i))
        return x

    closed = make_jaxpr(f)(X)
    assert len(closed.consts) == 50
    np.testing.assert_array_equal(jaxpr_as_fun(closed)(X)[0], X + sum(range(50)))


def test_constants_on_the_device_stay_there():
    y = array(X)
    assert make_jaxpr(lambda x: x + y)(X).consts[0] is y


def test_a_type_stands_for_an_array():
    jaxpr = make_jaxpr(lambda x: x["a"] * 2.0)({"a": ShapedArray((5,), f32)})
    assert jaxpr.in_avals == jaxpr.out_avals == [ShapedArray((5,), f32)]


def test_keyword_arguments_come_last_in_the_order_of_their_names():
    jaxpr = make_jaxpr(lambda x, *, b, a: a)(1.0, b=True, a=1)
    assert str(jaxpr) == "{ lambda ; a:f64[] b:i64[] c:bool[]. let  in (b,) }"


def test_python_numbers_stay_weak():
    jaxpr = make_jaxpr(lambda x, y: (x * y, x * 2, y * 2))(2.0, f32(1))
    assert [aval.weak_type for aval in jaxpr.in_avals] == [True, False]
    assert [repr(aval) for aval in jaxpr.out_avals] == [
        "ShapedArray(f32[])",
        "ShapedArray(f64[], weak_type=True)",
        "ShapedArray(f32[])",
    ]


def f_of_arrays(x, y):
    z = where(x > y, sin(x) * y, exp(-x))
    return z, reduce_sum(z), broadcast_to(reduce_sum(y), (2,))


def test_eval_jaxpr_runs_what_was_staged():
    y = 2 * X[::-1]
    closed = make_jaxpr(f_of_arrays)(X, y)
    for found, expected in zip(jaxpr_as_fun(closed)(X, y), f_of_arrays(X, y), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_a_staged_program_is_a_program_again():
    closed = make_jaxpr(lambda x: sin(x) * x)(1.0)
    f = lambda x: eval_jaxpr(closed, closed.consts, x)[0]  # noqa: E731
    assert f(2.0) == np.sin(2.0) * 2.0
    assert jvp(f, (2.0,), (1.0,))[1] == pytest.approx(np.cos(2.0) * 2.0 + np.sin(2.0))
    assert str(make_jaxpr(f)(1.0)) == str(closed)
    assert jit(f)(2.0).item() == pytest.approx(np.sin(2.0) * 2.0)


def test_a_number_may_be_weak_or_not():
    of_weak, of_strong = make_jaxpr(sin)(1.0), make_jaxpr(sin)(np.float64(1.0))
    for closed in (of_weak, of_strong):
        for x in (1.0, np.float64(1.0), array(1.0)):
            (out,) = eval_jaxpr(closed, [], x)
            assert out == np.sin(1.0)
    with pytest.raises(TypeError, match=r"takes f64\[\], found i64"):
        eval_jaxpr(of_weak, [], 1)


def test_eval_jaxpr_forgets_what_it_no_longer_needs():
    class Watched(np.ndarray):
        pass

    seen = []

    def watch(x):
        assert all(reference() is None for reference in seen[:-1])
        seen.append(weakref.ref(x))

    closed = make_jaxpr(many)(X)
    rule = impl_rules[sin_p]

    def watching(x):
        (out,) = rule(x)
        out = out.view(Watched)
        watch(out)
        return [out]

    impl_rules[sin_p] = watching
    try:
        jaxpr_as_fun(closed)(X)
    finally:
        impl_rules[sin_p] = rule
    assert len(seen) == 28


@pytest.mark.parametrize(
    ("consts", "args", "message"),
    [
        ([], (X,), "eval_jaxpr: as constants the jaxpr takes f64[3], found nothing"),
        ([X], (), "eval_jaxpr: the jaxpr takes f64[3], found nothing"),
        ([X], (X, X), "eval_jaxpr: the jaxpr takes f64[3], found f64[3], f64[3]"),
        (
            [X],
            (np.ones(4),),
            "eval_jaxpr: the jaxpr takes f64[3], found f64[4]",
        ),
        ([X], (np.ones(3, np.float32),), "the jaxpr takes f64[3], found f32[3]"),
        ([np.ones(2)], (X,), "as constants the jaxpr takes f64[3], found f64[2]"),
    ],
)
def test_eval_jaxpr_checks_its_arguments(consts, args, message):
    closed = make_jaxpr(lambda x: x + X)(X)
    with pytest.raises(TypeError) as error:
        eval_jaxpr(closed, consts, *args)
    assert message in str(error.value)


UNARY = {"sin": sin, "cos": cos, "neg": lambda x: -x, "half": lambda x: 0.5 * x}
BINARY = {"add": lambda x, y: x + y, "mul": lambda x, y: x * y}
BINARY["less"] = lambda x, y: where(x < y, x, y)
steps = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(sorted(UNARY)), st.integers(0, 9)),
        st.tuples(st.sampled_from(sorted(BINARY)), st.integers(0, 9), st.integers(0, 9)),
    ),
    max_size=12,
)


def random_program(steps):
    def f(x, y):
        values = [x, y]
        for name, *operands in steps:
            function = UNARY.get(name) or BINARY[name]
            values.append(function(*(values[i % len(values)] for i in operands)))
        return values[-1], values[len(values) // 2]

    return f


@settings(max_examples=60, deadline=None, database=None)
@given(steps)
def test_random_programs_are_staged_well_typed_and_run_the_same(steps):
    f = random_program(steps)
    args = X, 0.7
    closed = make_jaxpr(f)(*args)
    typecheck_jaxpr(closed)
    expected = f(*args)
    for x, y in zip(jaxpr_as_fun(closed)(*args), expected, strict=True):
        np.testing.assert_array_equal(x, y)
    again = make_jaxpr(jaxpr_as_fun(closed))(*args)
    assert str(again) == str(closed)


@settings(max_examples=12, deadline=None, database=None)
@given(steps)
def test_random_programs_compile_to_what_they_compute(steps):
    f = random_program(steps)
    for x, y in zip(jit(f)(X, 0.7), f(X, 0.7), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)
