"""Bad calls, and the message that each must give: what, where, and the way out."""

import math

import numpy as np
import pytest

from glassjax_stage2 import (
    ConcretizationTypeError,
    MissingRuleError,
    Primitive,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    add,
    bind,
    broadcast_to,
    deriv,
    exp,
    float0,
    jacfwd,
    jvp,
    matmul,
    moveaxis,
    neg,
    reduce_sum,
    reshape,
    select_n,
    sin,
    sub,
    transpose,
    typeof,
    vmap,
)
from glassjax_stage2 import abs as absolute


def identity(x):
    return x


def two(x, y):
    return x


def keyword(x, *, y):
    return x


class HasArray:
    def __array__(self, dtype=None, copy=None):
        return np.ones(2)


tanh_p = Primitive("tanh")
ones = np.ones
no_array = "expected an array or a number, found"
make_array = "numpy.array(...) makes it an array."

CALLS = [
    # what is not an array
    (lambda: sin([1, 2]), TypeError, f"{no_array} [1, 2] of type list. {make_array}"),
    (lambda: sin((1, 2)), TypeError, f"{no_array} (1, 2) of type tuple. {make_array}"),
    (lambda: sin(range(2)), TypeError, f"{no_array} range(0, 2) of type range. {make_array}"),
    (lambda: sin("a"), TypeError, f"{no_array} 'a' of type str"),
    (lambda: sin(None), TypeError, f"{no_array} None of type NoneType."),
    (lambda: sin({"a": 1.0}), TypeError, f"{no_array} {{'a': 1.0}} of type dict."),
    (lambda: sin(HasArray()), TypeError, f"of type HasArray. {make_array}"),
    (
        lambda: sin(np.ma.masked_array([1.0, 2.0], [0, 1])),
        TypeError,
        f"of type MaskedArray. {make_array}",
    ),
    (
        lambda: vmap(identity)(np.ma.masked_array([1.0, 2.0], [0, 1])),
        TypeError,
        "vmap of `identity`: x: expected an array or a number, found masked_array",
    ),
    (
        lambda: sin(np.array([[1.0]]).view(np.matrix)),
        TypeError,
        f"of type matrix. {make_array}",
    ),
    (lambda: sin(np.array(["a"])), TypeError, "expected an array of numbers, found dtype <U1"),
    (lambda: typeof(np.array([None])), TypeError, "found dtype object"),
    (lambda: typeof(np.array(["2020"], "M8[D]")), TypeError, "found dtype datetime64[D]"),
    (lambda: add(2**70, 1), OverflowError, "does not fit in 64 bits; use a float"),
    # shapes and dtypes
    (
        lambda: add(ones(2), ones(3)),
        ValueError,
        "Incompatible shapes for broadcasting: (2,) and (3,). Aligned from the right, sizes must "
        "be equal or 1",
    ),
    (
        lambda: jvp(lambda x: x + ones(3), (ones(2),), (ones(2),)),
        ValueError,
        "Incompatible shapes for broadcasting: (2,) and (3,)",
    ),
    (
        lambda: broadcast_to(ones(2), (3,)),
        ValueError,
        "an array of shape (2,) does not broadcast to shape (3,)",
    ),
    (
        lambda: matmul(ones((2, 3)), ones(2)),
        ValueError,
        "matmul: axis 1 of shape (2, 3) is contracted with axis 0 of shape (2,), but their sizes "
        "are 3 and 2",
    ),
    (
        lambda: matmul(2.0, ones(2)),
        ValueError,
        "matmul: operands need an axis, found shapes (), (2,)",
    ),
    (
        lambda: matmul(ones((2, 3, 4)), ones((5, 4, 3))),
        ValueError,
        "Incompatible shapes for broadcasting: (2,) and (5,)",
    ),
    (
        lambda: reduce_sum(ones(2), 1),
        ValueError,
        "reduce_sum: axis 1 is out of range for ndim 1",
    ),
    (
        lambda: reduce_sum(ones((2, 2)), (0, -2)),
        ValueError,
        "reduce_sum: axis (0, -2) is out of range for ndim 2, or given twice",
    ),
    (
        lambda: transpose(ones((2, 2)), (0,)),
        TypeError,
        "transpose: (0,) does not permute the axes of f64[2,2]",
    ),
    (
        lambda: transpose(ones((2, 2)), (1, 1)),
        ValueError,
        "transpose: axis (1, 1) is out of range for ndim 2, or given twice",
    ),
    (lambda: moveaxis(ones(2), 0, 1), ValueError, "moveaxis: axis 1 is out of range"),
    (
        lambda: reshape(ones(3), (2, -1)),
        ValueError,
        "reshape: f64[3], of size 3, does not fit shape (2, -1)",
    ),
    (lambda: reshape(ones(4), (-1, -1)), ValueError, "does not fit shape (-1, -1)"),
    (
        lambda: reshape(ones(4), (2.0, 2)),
        TypeError,
        "reshape: shape must be an int or ints",
    ),
    (lambda: sub(True, False), TypeError, "sub: found boolean arrays; to see where they differ"),
    (
        lambda: select_n(np.array([True, False]), ones(3), ones(3)),
        TypeError,
        "select_n: operands must have one shape or be scalars, found bool[2], f64[3], f64[3]",
    ),
    (
        lambda: select_n(True, ones(3), ones(3, np.float32)),
        TypeError,
        "select_n: operands must have one dtype, found f64[3] and f32[3]",
    ),
    (
        lambda: vmap(lambda x: select_n(x > 0, ones(3), ones(3)))(ones((3, 2))),
        TypeError,
        "select_n: operands must have one shape, sizes of 1 aside, or be scalars, found bool[2], "
        "f64[3], f64[3]",
    ),
    (lambda: select_n(1, 2.0, 3.0), TypeError, "select_n: the first operand must be boolean"),
    (lambda: neg(True), TypeError, "neg: found a boolean array; to negate one use `x == False`"),
    (lambda: absolute(1j), TypeError, "abs: expected integers or reals, found c128[]"),
    # a rule that is missing
    (
        lambda: bind(tanh_p, 1.0),
        MissingRuleError,
        "the primitive `tanh` has no rule for evaluation. Add one: impl_rules[tanh_p] = rule",
    ),
    (
        lambda: deriv(lambda x: bind(tanh_p, x)[0])(1.0),
        MissingRuleError,
        "the primitive `tanh` has no rule for jvp. Add one: jvp_rules[tanh_p] = rule",
    ),
    (
        lambda: vmap(lambda x: bind(tanh_p, x)[0])(ones(2)),
        MissingRuleError,
        "the primitive `tanh` has no rule for vmap. Add one: vmap_rules[tanh_p] = rule",
    ),
    # jvp
    (
        lambda: jvp(identity, 1.0, 1.0),
        TypeError,
        "jvp: primals must be a tuple or list, such as (x,); found 1.0",
    ),
    (lambda: jvp(identity, (1.0,), 1.0), TypeError, "jvp: tangents must be a tuple or list"),
    (
        lambda: jvp(identity, (1.0,), (1.0, 2.0)),
        TypeError,
        "trees differ in structure at jvp of `identity`: tangents: expected tuple of 1, found",
    ),
    (
        lambda: jvp(identity, ({"a": 1.0},), ({"b": 1.0},)),
        TypeError,
        "trees differ in structure at jvp of `identity`: tangents[0]: expected dict of 1 with aux "
        "data ('a',), found dict of 1 with aux data ('b',)",
    ),
    (
        lambda: jvp(identity, ({"w": ones(2)},), ({"w": ones(3)},)),
        TypeError,
        "jvp of `identity`: tangents[0]['w'] must have type f64[2]; found f64[3]. Tangents and "
        "cotangents have the shape and dtype of their value",
    ),
    (
        lambda: jvp(identity, (np.float32(1),), (np.float64(1),)),
        TypeError,
        "must have type f32[]; found f64[]",
    ),
    (
        lambda: jvp(identity, (1,), (1.0,)),
        TypeError,
        "jvp of `identity`: tangents[0] must have type float0[]; found f64[]. Tangents and "
        "cotangents have the shape and dtype of their value; for an integer give "
        "numpy.zeros(shape, float0), or make it a float.",
    ),
    (
        lambda: jvp(identity, (1.0,), (np.zeros((), float0),)),
        TypeError,
        "must have type f64[]; found float0[]",
    ),
    (
        lambda: jvp(identity, (["a"],), ([1.0],)),
        TypeError,
        f"jvp of `identity`: primals[0][0]: {no_array} 'a' of type str",
    ),
    (
        lambda: jvp(lambda x: {"b": [x, "a"]}, (1.0,), (1.0,)),
        TypeError,
        f"result['b'][1] of `<lambda>`: {no_array} 'a' of type str",
    ),
    (lambda: jvp(1, (1.0,), (1.0,)), TypeError, "jvp: expected a function, found 1"),
    # deriv and jacfwd
    (
        lambda: jacfwd(identity, argnums=1)(1.0),
        TypeError,
        "jacfwd: argnums 1 must name different arguments of `identity`; "
        "given by position: 1. Count from 0",
    ),
    (
        lambda: deriv(identity)(np.arange(3)),
        TypeError,
        "tangents[0] must have type float0[3]; found i64[3]",
    ),
    (lambda: jacfwd(identity, argnums=-2)(1.0), TypeError, "jacfwd: argnums -2 must name"),
    (
        lambda: jacfwd(identity)(3),
        TypeError,
        "jacfwd: argument 0 of `identity` must be real or complex, found i64[]. Make it a float, "
        "or leave it out.",
    ),
    (lambda: jacfwd(lambda x: "a")(1.0), TypeError, f"result of `<lambda>`: {no_array} 'a'"),
    (
        lambda: jacfwd(lambda x: {"n": x > 0})(1.0),
        TypeError,
        "jacfwd: result['n'] of `<lambda>` must be real or complex, found bool[]",
    ),
    (lambda: jacfwd(identity)(()), ValueError, "jacfwd of `identity`: argnums 0 hold no arrays"),
    # vmap
    (
        lambda: vmap(identity)(1.0),
        ValueError,
        "vmap of `identity`: x of type f64[] has no axis 0 to map over",
    ),
    (
        lambda: vmap(identity, in_axes=2)({"w": ones((2, 2))}),
        ValueError,
        "vmap of `identity`: x['w'] of type f64[2,2] has no axis 2 to map over",
    ),
    (
        lambda: vmap(lambda *xs: xs)(ones(2), 1.0),
        ValueError,
        "vmap of `<lambda>`: xs[1] of type f64[] has no axis 0 to map over",
    ),
    (lambda: vmap(max)(1.0), ValueError, "vmap of `max`: args[0] of type f64[] has no axis 0"),
    (
        lambda: vmap(identity)("a"),
        TypeError,
        f"vmap of `identity`: x: {no_array} 'a' of type str",
    ),
    (
        lambda: vmap(two, in_axes=(0,))(ones(2), ones(2)),
        ValueError,
        "trees differ in structure at vmap of `two`: in_axes, a prefix of args: "
        "expected tuple of 1, found tuple of 2",
    ),
    (
        lambda: vmap(identity, in_axes=None)(ones(2)),
        ValueError,
        "vmap: nothing is mapped",
    ),
    (lambda: vmap(identity)(), ValueError, "in_axes"),
    (
        lambda: vmap(identity, in_axes=1.0)(ones(2)),
        TypeError,
        "vmap of `identity`: in_axes must hold ints and None, found 1.0",
    ),
    (
        lambda: vmap(identity, out_axes={"a": True})({"a": ones(2)}),
        TypeError,
        "vmap of `identity`: out_axes must hold ints and None, found True",
    ),
    (
        lambda: vmap(identity, in_axes=({"a": 0},))({"b": ones(2)}),
        ValueError,
        "trees differ in structure at vmap of `identity`: in_axes, a prefix of "
        "args[0]: expected dict of 1 with aux data ('a',), found dict of 1 with aux data ('b',)",
    ),
    (
        lambda: vmap(identity, out_axes=(0, 0))(ones(2)),
        ValueError,
        "trees differ in structure at vmap of `identity`: out_axes, a prefix of result: ",
    ),
    (
        lambda: vmap(identity, out_axes=None)(ones(2)),
        ValueError,
        "vmap of `identity`: out_axes is None for a result that differs between examples",
    ),
    (
        lambda: vmap(identity, out_axes=1)(ones(2)),
        ValueError,
        "vmap of `identity`: out_axes: axis 1 is out of range for ndim 1",
    ),
    (
        lambda: vmap(lambda x: [x, object()])(ones(2)),
        TypeError,
        f"result[1] of `<lambda>`: {no_array} <object object",
    ),
    # what a tracer has no answer to
    (
        lambda: vmap(lambda x: x if x > 0 else -x)(ones(3)),
        TracerBoolConversionError,
        "vmap maps `<lambda>` over 3 examples at once: there is one value of type bool[] for each "
        "of them.\nUse where(condition, x, y)",
    ),
    (
        lambda: vmap(lambda x: deriv(lambda y: y if y > 0 else -y)(x))(ones(3)),
        TracerBoolConversionError,
        "over 3 examples at once",
    ),
    (
        lambda: vmap(deriv(lambda y: 1.0 if y else 0.0))(ones(3)),
        TracerBoolConversionError,
        "over 3 examples at once: there is one value of type f64[] for each",
    ),
    (
        lambda: jvp(lambda x: 1.0 if x else 0.0, (ones(2),), (ones(2),)),
        ValueError,
        "truth value of an array",
    ),
    (
        lambda: vmap(lambda n: [1, 2][n])(np.arange(2)),
        TracerIntegerConversionError,
        "To convert use astype; else close over it, or make it static.",
    ),
    (
        lambda: vmap(lambda n: reshape(ones(2), n))(np.arange(2)),
        TracerIntegerConversionError,
        f"reshape: shape must be known, as a Python int: a Python integer is needed of a traced "
        f"value at {__file__}",
    ),
    (
        lambda: deriv(lambda x: int(x))(1.0),
        TracerIntegerConversionError,
        "a Python integer is needed",
    ),
    (
        lambda: deriv(float)(1.0),
        ConcretizationTypeError,
        "but the result would lose its derivative.\nKeep it an array",
    ),
    (lambda: deriv(math.sin)(1.0), ConcretizationTypeError, "a Python float is needed"),
    (lambda: deriv(complex)(1.0), ConcretizationTypeError, "a Python float is needed"),
    (
        lambda: jvp(lambda x: tuple(x), (ones(2),), (ones(2),)),
        ConcretizationTypeError,
        "each element is needed of a traced value",
    ),
    (
        lambda: deriv(lambda x: np.asarray(x))(1.0),
        TracerArrayConversionError,
        "Use the functions of this package in place of numpy's",
    ),
    (
        lambda: deriv(lambda x: np.array([x, 1.0]))(1.0),
        TracerArrayConversionError,
        "a numpy array is needed",
    ),
    (
        lambda: deriv(np.sin)(1.0),
        TracerArrayConversionError,
        "Use the functions of this package in place of numpy's",
    ),
    (
        lambda: vmap(lambda x: np.add(x, 1.0))(ones(2)),
        TracerArrayConversionError,
        "Use the functions of this package in place of numpy's",
    ),
    (
        lambda: vmap(lambda x: np.add(ones(2), x))(ones((2, 2))),
        TracerArrayConversionError,
        "Use the functions of this package in place of numpy's",
    ),
    (
        lambda: vmap(lambda x: np.linalg.norm(x))(ones((2, 2))),
        TracerArrayConversionError,
        f"a numpy array is needed of a traced value at {__file__}",
    ),
    (lambda: deriv(hash)(1.0), TypeError, "unhashable type: 'JVPTracer'"),
    (lambda: deriv(len)(1.0), TypeError, "len: f64[] is a scalar and has no length"),
    (
        lambda: deriv(lambda x: x + "a")(1.0),
        TypeError,
        "unsupported operand type(s) for +: 'JVPTracer' and 'str'",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), CALLS, ids=[m[:60] for *_, m in CALLS])
def test_message(call, error, message):
    with pytest.raises(error) as info:
        call()
    assert message in str(info.value)


def test_sizes_that_differ_are_shown_as_a_table_with_the_line_of_the_call():
    def predict(params, batch, scale):
        return batch

    args = {"w": ones((3, 4))}, ones((5, 4)), 1.0
    with pytest.raises(ValueError, match="differ in size") as info:
        vmap(predict, in_axes=(0, 0, None))(*args)
    line = info.traceback[0].lineno + 1
    assert str(info.value).splitlines() == [
        "vmap: mapped axes differ in size",
        "    argument             shape          axis  size",
        "    params['w']          (3, 4)         0     3",
        "    batch                (5, 4)         0     5",
        f"  in call of `predict` at {__file__}:{line} "
        "(in test_sizes_that_differ_are_shown_as_a_table_with_the_line_of_the_call)",
        "Give in_axes an axis for at least one argument, all of one size, and None for those that "
        "are not mapped; or give axis_size.",
    ]


def test_an_axis_size_that_differs_is_in_the_table():
    with pytest.raises(ValueError, match=r"axis_size +3\n +x +\(2,\) +0 +2"):
        vmap(identity, axis_size=3)(ones(2))
    with pytest.raises(ValueError, match=r"y +\(3,\) +0 +3"):
        vmap(keyword)(ones(2), y=ones(3))


def test_a_message_names_the_users_line_and_function():
    def model(x):
        if x > 0:
            return x
        return exp(x)

    with pytest.raises(TracerBoolConversionError) as info:
        vmap(model)(ones(2))
    line = model.__code__.co_firstlineno + 1
    assert f"{__file__}:{line} (in model)" in str(info.value)


def test_errors_are_of_pythons_kinds():
    """`except TypeError` and `except NotImplementedError` catch what they should."""
    assert issubclass(ConcretizationTypeError, TypeError)
    assert issubclass(MissingRuleError, NotImplementedError)


@pytest.mark.parametrize("x", ["a", b"a", object(), {1, 2}, None, len, {"a": 1.0}])
def test_what_becomes_no_array_is_not_said_to(x):
    with pytest.raises(TypeError, match="expected an array or a number") as info:
        sin(x)
    assert "numpy" not in str(info.value)


def test_subclasses_of_numpys_array_that_only_add_to_it_are_arrays():
    class Named(np.ndarray):
        name = "n"

    x = np.ones(2).view(Named)
    np.testing.assert_array_equal(sin(x), np.sin(np.ones(2)))
    np.testing.assert_array_equal(vmap(lambda x: x * 2.0)(x), [2.0, 2.0])
