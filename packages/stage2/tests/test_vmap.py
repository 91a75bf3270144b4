"""vmap: a mapped function is a loop over its examples, wherever their axes stand."""

from collections import namedtuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassjax_stage2 import (
    Primitive,
    bind1,
    cos,
    impl_rules,
    jacfwd,
    jvp,
    matmul,
    moveaxis,
    reduce_sum,
    reshape,
    sin,
    transpose,
    tree_leaves,
    tree_map,
    typeof,
    vmap,
    vmap_rules,
    where,
)
from glassjax_stage2.primitives import mul_p
from glassjax_stage2.vmap import BatchAxis

settings.register_profile("stage2", deadline=None, max_examples=50)
settings.load_profile("stage2")

SIZE = 3


def loop(f, in_axes, args, out_axes=0):
    """What vmap has to be equal to; `in_axes` with an axis for each argument, an array."""
    outs = []
    for i in range(SIZE):
        row = [x if a is None else np.take(x, i, a) for x, a in zip(args, in_axes, strict=True)]
        outs.append(f(*row))
    return np.stack(outs, out_axes)


def program(x, w, b):
    """Something of everything: products, reductions, shapes, spread scalars, a selection."""
    h = sin(x @ w) + b
    h = where(h > 0.1, h, 0.5 * h)
    rows = reshape(transpose(w), (-1,))
    return h * reduce_sum(rows * rows) / (1.0 + cos(b) ** 2)


@given(
    st.sampled_from([0, -1, None]),
    st.sampled_from([0, 1, 2, -1, -2, -3, None]),
    st.sampled_from([0, None]),
    st.sampled_from([0, 1, -1, -2]),
)
def test_every_choice_of_axes_is_a_loop(x_axis, w_axis, b_axis, out_axis):
    rng = np.random.default_rng(0)
    in_axes = (x_axis, w_axis, b_axis)

    def batch(shape, axis):
        one = rng.normal(size=(*shape, SIZE))
        return one[..., 0] if axis is None else np.moveaxis(one, -1, axis)

    args = batch((4,), x_axis), batch((4, 5), w_axis), batch((), b_axis)
    if in_axes == (None, None, None):
        with pytest.raises(ValueError, match="nothing is mapped"):
            vmap(program, in_axes)(*args)
        return
    mapped = vmap(program, in_axes, out_axis)(*args)
    np.testing.assert_allclose(mapped, loop(program, in_axes, args, out_axis), atol=1e-12)


def test_a_batch_of_products_is_a_product_of_batches():
    """By its rule alone: `vmap` asks it for operands with a batch axis anywhere, or none."""
    rng = np.random.default_rng(0)
    x, y, z = rng.normal(size=(SIZE, 2)), rng.normal(size=(2, SIZE)), rng.normal(size=SIZE)
    for values, dims, expected in [
        ([x, y], [0, 1], x * y.T),
        ([x, y[:, 0]], [0, None], x * y[:, 0]),
        ([2.0, y], [None, 1], 2.0 * y.T),
        ([z, x], [0, 0], z[:, None] * x),
        ([y[:, 0], z], [None, 0], np.outer(z, y[:, 0])),
        ([z, z], [0, 0], z * z),
    ]:
        (out,), (dim,) = vmap_rules[mul_p](BatchAxis(SIZE), values, dims)
        assert dim == 0
        np.testing.assert_array_equal(out, expected)


def test_in_axes_of_one_int_is_for_all_arguments():
    x, y = np.ones((2, SIZE)), np.arange(SIZE)
    np.testing.assert_array_equal(vmap(lambda x, y: x * y, -1)(x, y), np.stack([y, y], axis=1))


def test_in_axes_may_be_prefixes_of_the_arguments():
    Params = namedtuple("Params", "w b")
    params = {"layer": Params(np.ones((SIZE, 2)), np.arange(2.0 * SIZE).reshape(2, SIZE))}
    x = np.arange(2.0)

    def f(params, x, scale):
        return (params["layer"].w @ x + reduce_sum(params["layer"].b)) * scale["s"][0]

    expected = [2.0 * (1.0 + i + (i + SIZE)) for i in range(SIZE)]
    for in_axes in (
        ({"layer": Params(0, 1)}, None, None),
        ({"layer": Params(0, -1)}, None, {"s": None}),
        ({"layer": Params(0, 1)}, None, {"s": [None]}),
    ):
        np.testing.assert_array_equal(vmap(f, in_axes)(params, x, {"s": [2.0]}), expected)


def test_a_prefix_covers_all_that_is_below_it():
    tree = {"a": np.ones((2, SIZE)), "b": [np.zeros((4, SIZE)), None]}
    out = vmap(lambda t, u: t, in_axes=(1, None), out_axes=1)(tree, tree)
    assert tree_map(np.shape, out) == tree_map(np.shape, tree)


def test_out_axes_may_be_prefixes_of_the_result():
    def f(x):
        return {"a": x, "b": (2.0 * x, x + 1.0)}, 7.0

    x = np.arange(2.0 * SIZE).reshape(SIZE, 2)
    out, seven = vmap(f, out_axes=({"a": 0, "b": (1, -1)}, None))(x)
    np.testing.assert_array_equal(out["a"], x)
    np.testing.assert_array_equal(out["b"][0], 2.0 * x.T)
    np.testing.assert_array_equal(out["b"][1], (x + 1.0).T)
    assert seven == 7.0


def test_a_result_that_is_the_same_for_all_is_repeated():
    constant = np.arange(2.0)
    out = vmap(lambda x: (constant, 5, x))(np.zeros(SIZE))
    np.testing.assert_array_equal(out[0], np.stack([constant] * SIZE))
    np.testing.assert_array_equal(out[1], [5] * SIZE)
    assert vmap(lambda x: constant, out_axes=-1)(np.zeros(SIZE)).shape == (2, SIZE)


def test_axis_size_says_how_many_where_nothing_is_mapped():
    out = vmap(lambda x: 2.0 * x, in_axes=None, axis_size=4)(3.0)
    np.testing.assert_array_equal(out, [6.0] * 4)
    np.testing.assert_array_equal(vmap(lambda: 1.0, axis_size=2)(), [1.0, 1.0])
    np.testing.assert_array_equal(vmap(sin, axis_size=2)(np.zeros(2)), [0.0, 0.0])


def test_keyword_arguments_are_mapped_along_their_first_axis():
    def f(x, *, y, z):
        return x * y + z["w"]

    y, z = np.arange(2.0), {"w": np.array([10.0, 20.0])}
    np.testing.assert_array_equal(vmap(f, in_axes=(None,))(3.0, y=y, z=z), [10.0, 23.0])


def test_arguments_without_leaves_and_results_without_leaves():
    assert vmap(lambda x, nothing: (nothing, ()))(np.ones(2), None) == (None, ())


@given(st.permutations([0, 1, 2]))
def test_nested_maps_consume_one_axis_each(order):
    x = np.arange(24.0).reshape(2, 3, 4)
    f = vmap(vmap(vmap(lambda x: x * x - 1.0)))
    np.testing.assert_array_equal(f(x.transpose(order)), x.transpose(order) ** 2 - 1.0)


def test_an_outer_product_by_two_maps():
    x, y = np.arange(2.0), np.arange(3.0)
    outer = vmap(lambda x: vmap(lambda y: x * y)(y))
    np.testing.assert_array_equal(outer(x), np.outer(x, y))
    table = vmap(vmap(lambda x, y: x - y, (None, 0)), (0, None))
    np.testing.assert_array_equal(table(x, y), x[:, None] - y)


def test_matrix_product_from_dot_products():
    dot = lambda x, y: reduce_sum(x * y)  # noqa: E731
    product = vmap(vmap(dot, (None, 1)), (0, None))
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(product(a, b), a @ b)
    np.testing.assert_array_equal(vmap(matmul, (None, 1), 1)(a, b), a @ b)


def test_the_function_runs_once():
    calls = []

    def f(x):
        calls.append(x.shape)
        return x

    vmap(f)(np.zeros((100, 2)))
    assert calls == [(2,)]


def test_what_does_not_depend_on_the_example_is_computed_once():
    count_p = Primitive("count")
    sizes = []
    impl_rules[count_p] = lambda x: [sizes.append(np.size(x)) or x]

    def rule(axis, values, dims):
        return [bind1(count_p, *values)], dims

    vmap_rules[count_p] = rule
    vmap(lambda x, y: (bind1(count_p, x), bind1(count_p, y)), (0, None))(np.ones(5), 2.0)
    assert sizes == [5, 1]


def test_python_control_flow_on_what_is_not_mapped_works():
    def f(x, n, flag):
        for _ in range(n):
            x = x * 2.0
        return x if flag else -x

    np.testing.assert_array_equal(vmap(f, (0, None, None))(np.ones(2), 3, True), [8.0, 8.0])


def test_lists_of_one_shape_can_be_concrete_loops_over_shapes():
    def f(x):
        return reduce_sum(x) / len(x) if x.ndim else x

    np.testing.assert_array_equal(vmap(f)(np.arange(6.0).reshape(2, 3)), [1.0, 4.0])


def test_integers_and_booleans_are_mapped_as_they_are():
    out = vmap(lambda n, b: where(b, n, -n))(np.arange(3), np.array([True, False, False]))
    assert out.dtype == np.int64
    np.testing.assert_array_equal(out, [0, -1, -2])


def test_per_example_derivatives():
    """vmap of jvp, jvp of vmap, and vmap of vmap of jvp give one answer."""
    x, t = np.linspace(0.0, 1.0, 6).reshape(2, 3), np.ones((2, 3))
    expected = np.cos(x)
    derivative = lambda x, t: jvp(sin, (x,), (t,))[1]  # noqa: E731
    for f in (derivative, vmap(derivative), vmap(vmap(derivative)), vmap(derivative, 1, 1)):
        np.testing.assert_allclose(f(x, t), expected)
    np.testing.assert_allclose(jvp(vmap(vmap(sin)), (x,), (t,))[1], expected)


def test_vmap_of_a_jacobian():
    xs = np.arange(6.0).reshape(3, 2)
    out = vmap(jacfwd(lambda x: x * reduce_sum(x)))(xs)
    expected = [np.eye(2) * x.sum() + np.outer(x, np.ones(2)) for x in xs]
    np.testing.assert_allclose(out, expected)


def test_moving_axes_agrees_with_numpy():
    x = np.zeros((2, 3, 4))
    for source in range(-3, 3):
        for destination in range(-3, 3):
            moved = moveaxis(x, source, destination)
            assert moved.shape == np.moveaxis(x, source, destination).shape


def test_a_tracer_shows_one_example():
    def f(x):
        assert repr(x) == "BatchTracer<f32[4]>"
        assert str(typeof(x)) == "f32[4]"
        return x

    assert len(tree_leaves(vmap(f, in_axes=1)(np.zeros((4, 2), np.float32)))) == 1


def test_a_callable_may_have_attributes_that_no_function_has():
    class Double:
        def __init__(self):
            self.__annotations__ = self.__name__ = self.__qualname__ = 7

        def __call__(self, x):
            return x * 2.0

    np.testing.assert_array_equal(vmap(Double())(np.arange(3.0)), [0.0, 2.0, 4.0])
