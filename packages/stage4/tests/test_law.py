"""The law: every primitive in this stage's columns, transposition and both roads to reverse mode.

Each primitive brings examples; each law below is tried on all of them, in one test. Inner products
are sums of products, without conjugation: what they pair are covectors and vectors.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from glassjax_stage2 import Primitive, ShapedArray, bind, float0, jvp, reduce_sum, typeof, vmap
from glassjax_stage2 import primitives as p
from glassjax_stage3 import jit
from glassjax_stage4 import (
    NonlinearError,
    UndefPrimal,
    grad,
    linear_transpose,
    linearize,
    tape,
    transpose_rules,
    vjp,
)

ALL_PRIMITIVES = [x for x in vars(p).values() if isinstance(x, Primitive)]
LINEAR_IN = {  # the operands in which a primitive is linear, one at a time
    p.neg_p: (0,),
    p.add_p: (0, 1),
    p.sub_p: (0, 1),
    p.mul_p: (0, 1),
    p.div_p: (0,),
    p.select_n_p: (1, 2),
    p.convert_element_type_p: (0,),
    p.reduce_sum_p: (0,),
    p.transpose_p: (0,),
    p.reshape_p: (0,),
    p.broadcast_in_dim_p: (0,),
    p.dot_general_p: (0, 1),
}
JOINTLY_LINEAR = (p.add_p, p.sub_p, p.select_n_p)
NONLINEAR = [primitive for primitive in ALL_PRIMITIVES if primitive not in LINEAR_IN]

f64, f32, c64, i32, boolean = map(np.dtype, (np.float64, np.float32, np.complex64, np.int32, bool))
PYTHON = "python"  # in the place of a shape: a Python number


@dataclass
class Example:
    primitive: Primitive
    shapes: tuple[Any, ...]
    dtypes: tuple[Any, ...]
    params: dict[str, Any] = field(default_factory=dict)

    def __str__(self):
        operands = [
            s if s is PYTHON else f"{d.name}{list(s)}"
            for s, d in zip(self.shapes, self.dtypes, strict=True)
        ]
        return "-".join([str(self.primitive), *operands, *map(str, self.params.values())])

    def draw(self, seed=0):
        rng = np.random.default_rng([seed, *map(ord, self.primitive.name)])
        return tuple(draw(rng, s, d) for s, d in zip(self.shapes, self.dtypes, strict=True))

    def __call__(self, *args):
        (out,) = bind(self.primitive, *args, **self.params)
        return out

    def of_operand(self, which, args):
        return lambda x: self(*args[:which], x, *args[which + 1 :])


def draw(rng, shape, dtype):
    if shape is PYTHON:
        return rng.uniform(0.5, 2.0)
    if dtype == boolean:
        return rng.random(shape) < 0.5
    if dtype == i32:
        return np.asarray(rng.integers(1, 5, shape), dtype)[()]
    x = rng.uniform(0.5, 2.0, shape)
    if dtype == c64:
        x = x + 1j * rng.uniform(0.5, 2.0, shape)
    return np.asarray(x, dtype)[()]


def like(rng, x):
    """A tangent or cotangent for `x`."""
    if not is_inexact(x):
        return np.zeros(np.shape(x), float0)
    t = rng.normal(size=np.shape(x))
    if np.result_type(x).kind == "c":
        t = t + 1j * rng.normal(size=np.shape(x))
    return float(t) if type(x) is float else np.asarray(t, np.result_type(x))[()]


def elementwise(primitive, count, dtypes):
    for dtype in dtypes:
        for shape in ((), (2, 3), (0,)):
            yield Example(primitive, (shape,) * count, (dtype,) * count)
    yield Example(primitive, (PYTHON,) * count, (f64,) * count)
    if count == 2:
        for scalar in ((), PYTHON):
            yield Example(primitive, (scalar, (2, 3)), (f64, f64))
            yield Example(primitive, ((2, 3), scalar), (f64, f64))


def structural(primitive, cases, *names, dtypes=(f64, c64, i32)):
    for shape, *values in cases:
        for dtype in dtypes:
            yield Example(primitive, (shape,), (dtype,), dict(zip(names, values, strict=True)))


def dot_numbers():
    """Every kind of axes: contracted, batch and free, of each operand, in any order."""
    yield (3,), (3,), (((0,), (0,)), ((), ()))
    yield (2, 3), (3,), (((1,), (0,)), ((), ()))
    yield (3,), (4, 3), (((0,), (1,)), ((), ()))
    yield (2, 3), (3, 4), (((1,), (0,)), ((), ()))
    yield (2, 3), (2, 4), (((0,), (0,)), ((), ()))
    yield (2,), (3,), (((), ()), ((), ()))
    yield (), (3,), (((), ()), ((), ()))
    yield (2, 3), (2, 3), (((1,), (1,)), ((0,), (0,)))
    yield (2, 3), (3, 2), (((), ()), ((0, 1), (1, 0)))
    yield (5, 2, 3), (5, 3, 4), (((2,), (1,)), ((0,), (0,)))
    yield (2, 5, 3), (3, 4, 5), (((2,), (0,)), ((1,), (2,)))
    yield (2, 3, 4), (4, 3), (((1, 2), (1, 0)), ((), ()))
    yield (2, 3, 4), (4, 5, 2), (((2, 0), (0, 2)), ((), ()))
    yield (2, 3, 4, 5), (5, 6, 3, 2), (((3,), (0,)), ((1, 0), (2, 3)))
    yield (3, 2, 4, 5), (5, 3, 6, 4), (((3, 2), (0, 3)), ((0,), (1,)))
    yield (2, 0), (0, 3), (((1,), (0,)), ((), ()))


def examples(primitive):
    if primitive in p.UNARY:
        return elementwise(primitive, 1, (f64, f32, c64))
    if primitive in p.ARITHMETIC:
        return elementwise(primitive, 2, (f64, f32, c64, i32))
    if primitive in p.COMPARISONS:
        return elementwise(primitive, 2, (f64, i32))
    if primitive is p.select_n_p:
        return (
            Example(primitive, (a, b, c), (boolean, f64, f64))
            for a in ((), (2, 3))
            for b in ((), (2, 3))
            for c in ((), (2, 3), PYTHON)
        )
    if primitive is p.convert_element_type_p:
        pairs = [(f64, f32), (f32, f64), (f64, i32), (i32, f32), (f32, c64), (c64, f32)]
        return (
            Example(primitive, (shape,), (old,), {"new_dtype": new})
            for old, new in pairs
            for shape in ((), (2, 3))
        )
    if primitive is p.reduce_sum_p:
        cases = [((3,), (0,)), ((2, 3), (0, 1)), ((2, 3, 4), (1,)), ((2, 3, 4), (2, 0))]
        cases += [((2, 3), ()), ((0, 3), (0,)), ((), ())]
        return structural(primitive, cases, "axes")
    if primitive is p.transpose_p:
        cases = [((2, 3), (1, 0)), ((2, 3, 4), (2, 0, 1)), ((2, 3, 4), (1, 2, 0)), ((), ())]
        return structural(primitive, cases, "permutation")
    if primitive is p.reshape_p:
        cases = [((), (1,)), ((1,), ()), ((2, 3), (3, 2)), ((2, 3), (6,)), ((0,), (2, 0))]
        return structural(primitive, cases, "new_sizes")
    if primitive is p.broadcast_in_dim_p:
        cases = [((), (2, 3), ()), ((3,), (2, 3), (1,)), ((2,), (2, 3), (0,)), ((), (0,), ())]
        cases += [((1, 3), (2, 3), (0, 1)), ((2, 1), (2, 3), (0, 1)), ((1, 1), (2, 3), (0, 1))]
        cases += [((2, 4), (2, 3, 4), (0, 2)), ((2, 1), (2, 3, 4), (0, 2)), ((1,), (1, 2), (0,))]
        return structural(primitive, cases, "shape", "broadcast_dimensions")
    if primitive is p.dot_general_p:
        return (
            Example(primitive, (a, b), (dtype, dtype), {"dimension_numbers": numbers})
            for a, b, numbers in dot_numbers()
            for dtype in (f64, c64)
        )
    raise AssertionError(f"the law has no examples for {primitive}")


EXAMPLES = [example for primitive in ALL_PRIMITIVES for example in examples(primitive)]
SMOOTH = [
    e
    for e in EXAMPLES
    if any(d not in (i32, boolean) for d in e.dtypes)
    and e.params.get("new_dtype") != i32
    and e.primitive not in p.COMPARISONS
]


def law(examples):
    """Make a test of each primitive of what is stated of one example."""
    of_primitive = {}
    for example in examples:
        of_primitive.setdefault(example.primitive, []).append(example)

    def of_statement(statement):
        @pytest.mark.parametrize("primitive", of_primitive, ids=str)
        def test(primitive):
            errors = []
            for example in of_primitive[primitive]:
                try:
                    statement(example)
                except Exception as error:
                    error.add_note(f"of {example}")
                    errors.append(error)
            if errors:
                raise ExceptionGroup(f"not a law of {primitive}", errors)

        test.__name__, test.__doc__ = statement.__name__, statement.__doc__
        return test

    return of_statement


def is_inexact(x):
    return np.result_type(x).kind in "fc"


def inner(xs, ys):
    pairs = [(x, y) for x, y in zip(xs, ys, strict=True) if is_inexact(x)]
    return sum(np.sum(np.asarray(x, complex) * np.asarray(y, complex)).real for x, y in pairs)


def tolerance(*arrays):
    narrow = any(np.result_type(x) in (f32, c64) for x in arrays)
    return {"rtol": 1e-4, "atol": 1e-4} if narrow else {"rtol": 1e-9, "atol": 1e-9}


def assert_type_of(ct, x):
    assert np.shape(ct) == np.shape(x)
    assert np.result_type(ct) == np.result_type(x)


def assert_close(found, expected):
    assert_type_of(found, expected)
    if is_inexact(expected):
        np.testing.assert_allclose(found, expected, **tolerance(expected))


def test_the_column_keeps_the_order_of_the_primitives():
    ordered = [primitive for primitive in transpose_rules if primitive in ALL_PRIMITIVES]
    assert ordered == list(LINEAR_IN)
    noted = [primitive for primitive in tape.vjp_rules if primitive in ALL_PRIMITIVES]
    assert noted == ALL_PRIMITIVES


@pytest.mark.parametrize("primitive", NONLINEAR, ids=str)
def test_a_primitive_that_is_not_linear_says_so(primitive):
    count = 1 if primitive in p.UNARY else 2
    linear = [UndefPrimal(ShapedArray((), f64))] * count
    assert primitive not in transpose_rules
    with pytest.raises(NonlinearError, match=f"`{primitive}` has no rule for transposition"):
        transpose_rules[primitive]([1.0], *linear)


@law([example for example in SMOOTH if example.primitive in LINEAR_IN])
def test_transposition_satisfies_its_definition(example):
    """<ct, f(x)> = <fT(ct), x>, where the other operands are known."""
    args = example.draw()
    for which in LINEAR_IN[example.primitive]:
        if example.dtypes[which] == i32:
            continue
        f = example.of_operand(which, args)
        x = args[which]
        out = f(x)
        ct = like(np.random.default_rng(1), out)
        (x_bar,) = linear_transpose(f, x)(ct)
        assert_type_of(x_bar, x)
        moved = out - f(0 * x)  # a sum with a known operand is linear but for a constant
        np.testing.assert_allclose(inner([ct], [moved]), inner([x_bar], [x]), **tolerance(x, out))


@law([example for example in SMOOTH if example.primitive in JOINTLY_LINEAR])
def test_transposition_of_what_is_linear_in_all_operands_together(example):
    args = example.draw()
    known, linear = (args[:1], args[1:]) if example.dtypes[0] == boolean else ((), args)

    def f(*linear):
        return example(*known, *linear)

    out = f(*linear)
    ct = like(np.random.default_rng(1), out)
    cts = linear_transpose(f, *linear)(ct)
    for x_bar, x in zip(cts, linear, strict=True):
        assert_type_of(x_bar, x)
    np.testing.assert_allclose(inner([ct], [out]), inner(cts, linear), **tolerance(out))


@pytest.mark.parametrize("primitive", [p.mul_p, p.dot_general_p], ids=str)
def test_a_product_is_not_linear_in_both_operands_together(primitive):
    example = next(e for e in examples(primitive) if e.dtypes[0] == f64)
    with pytest.raises(NonlinearError, match="not linear in operand 0 and operand 1"):
        linear_transpose(lambda x: example(x, x), example.draw()[0])(np.ones(()))


@law(SMOOTH)
def test_vjp_is_the_transpose_of_jvp(example):
    args = example.draw()
    rng = np.random.default_rng(2)
    tangents = tuple(like(rng, x) for x in args)
    out, out_dot = jvp(example, args, tangents)
    ct = like(rng, out)
    primal, f_vjp = vjp(example, *args)
    cts = f_vjp(ct)
    assert_close(primal, out)
    for x_bar, x in zip(cts, args, strict=True):
        if is_inexact(x):
            assert_type_of(x_bar, x)
        else:
            assert x_bar.dtype == float0
    np.testing.assert_allclose(
        inner([ct], [out_dot]), inner(cts, tangents), **tolerance(out, *args)
    )


@law(SMOOTH)
def test_the_tape_gives_what_vjp_gives(example):
    args = example.draw()
    ct = like(np.random.default_rng(3), example(*args))
    staged, taped = vjp(example, *args), tape.vjp(example, *args)
    assert_close(taped[0], staged[0])
    for found, expected in zip(taped[1](ct), staged[1](ct), strict=True):
        assert_close(found, expected)


@law(SMOOTH)
def test_linearize_is_jvp_with_the_point_fixed(example):
    args = example.draw()
    out, f_jvp = linearize(example, *args)
    for seed in (4, 5):
        rng = np.random.default_rng(seed)
        tangents = tuple(like(rng, x) for x in args)
        expected, expected_dot = jvp(example, args, tangents)
        assert_close(out, expected)
        assert_close(f_jvp(*tangents), expected_dot)


@law([e for e in SMOOTH if set(e.dtypes) <= {f64, boolean} and "new_dtype" not in e.params])
def test_grad_is_the_limit_of_differences(example):
    args = example.draw()
    weights = np.random.default_rng(6).normal(size=np.shape(example(*args)))
    for which, x in enumerate(args):
        if not is_inexact(x):
            continue

        def loss(x, which=which):
            return reduce_sum(example.of_operand(which, args)(x) * weights)

        gradient = np.asarray(grad(loss)(x))
        direction = np.random.default_rng(7).normal(size=np.shape(x))
        h = 1e-5
        expected = (loss(x + h * direction) - loss(x - h * direction)) / (2 * h)
        found = np.sum(gradient * direction)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@law(SMOOTH)
def test_vmap_of_vjp_is_a_loop(example):
    draws = [example.draw(seed) for seed in range(2)]
    args = tuple(np.stack(xs) for xs in zip(*draws, strict=True))
    outs = [np.asarray(example(*draw)) for draw in draws]
    cts = np.stack([like(np.random.default_rng(i), out) for i, out in enumerate(outs)])

    def pull(ct, *args):
        cts = vjp(example, *args)[1](ct)
        return [x_bar for x_bar, x in zip(cts, args, strict=True) if typeof(x).dtype.kind in "fc"]

    found = vmap(pull)(cts, *args)
    loop = [pull(ct, *map(np.asarray, draw)) for ct, draw in zip(cts, draws, strict=True)]
    for column, row in zip(found, zip(*loop, strict=True), strict=True):
        assert_close(column, np.stack(row))


@pytest.mark.parametrize("primitive", [*p.UNARY, *LINEAR_IN], ids=str)
def test_jit_of_vjp_gives_what_vjp_gives(primitive):
    """One example each with several axes: a program to compile costs more than all others."""
    example = max(
        (e for e in examples(primitive) if set(e.dtypes) <= {f64, boolean}),
        key=lambda e: sum(len(shape) for shape in e.shapes if shape is not PYTHON),
    )
    args = example.draw()
    ct = like(np.random.default_rng(8), example(*args))

    def pull(ct, *args):
        return [x for x in vjp(example, *args)[1](ct) if typeof(x).dtype != float0]

    for found, expected in zip(jit(pull)(ct, *args), pull(ct, *args), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("primitive", p.COMPARISONS, ids=str)
def test_what_is_piecewise_constant_sends_nothing_back(primitive):
    def f(x):
        return reduce_sum(x * bind(primitive, x, np.full(3, 1.0))[0])

    x = np.array([0.5, 1.0, 2.0])
    expected = np.asarray(bind(primitive, x, np.full(3, 1.0))[0], float)
    np.testing.assert_array_equal(grad(f)(x), expected)
    np.testing.assert_array_equal(tape.grad(f)(x), expected)
