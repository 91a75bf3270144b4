"""Sparse Jacobians and Hessians: equal to the dense ones, on the programs of the fuzz, too."""

import random
import re
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shares import examples, one_in

import glassjax
import glassjax.numpy as jnp
from fuzzing.search import running, worker
from fuzzing.search.choices import Choices
from fuzzing.search.programs import drawn
from fuzzing.search.recipes import RECIPES
from fuzzing.search.transformations import LAST, TRANSFORMATIONS, of_inexact
from glassjax import grad, hessian, jacfwd, jit, lax, vmap
from glassjax.experimental import Sparsity, sparse_hessian, sparse_jacobian, sparsity
from glassjax.experimental.sparse_derivatives.coloring import color_columns, color_symmetric
from glassjax.primitives.index_sets import IndexSets

X = jnp.linspace(0.5, 2.0, 12)
MATRIX = X.reshape(3, 4)


def is_sparse(x):
    return hasattr(x, "todense")


def dense(tree):
    return glassjax.tree.map(lambda x: x.todense(), tree, is_leaf=is_sparse)


def assert_close(found, expected, tolerance=1e-5):
    assert glassjax.tree.structure(found) == glassjax.tree.structure(expected)
    for x, y in zip(glassjax.tree.leaves(found), glassjax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


# The number of places that may be nonzero is written beside each function: it is what can be known
# for all values of the argument.


@glassjax.custom_vjp
def squared(x):
    return x * x


squared.defvjp(lambda x: (x * x, x), lambda x, ct: (2 * ct * x,))

FUNCTIONS = {
    "differences": (jnp.diff, X, 22),
    "cumulative sum": (jnp.cumsum, X, 78),
    "from the end": (lambda x: lax.cumsum(x, reverse=True), X, 78),
    "convolution": (lambda x: jnp.convolve(x, jnp.array([1.0, 2.0, 3.0])), X, 36),
    "largest": (lambda x: jnp.max(x, 0), MATRIX, 12),
    "softmax": (lambda x: glassjax.nn.softmax(x, axis=1), MATRIX, 48),
    "known matrix": (lambda x: jnp.eye(12, k=1) @ x, X, 11),
    "matrix product": (lambda x: x @ x.T, MATRIX, 60),
    "batched product": (lambda x: jnp.einsum("bi,bj->bij", x, x), MATRIX, 84),
    "known index": (lambda x: x[jnp.array([3, 1, -1])], X, 3),
    "unknown index": (lambda x: x[x[:3].astype(int)], X, 36),
    "unknown row": (lambda x: x[x[0, :2].astype(int)], MATRIX, 24),
    "added at": (lambda x: jnp.zeros(20).at[jnp.array([3, 1, 3])].add(x[:3]), X, 3),
    "put at": (lambda x: x.at[jnp.array([3, 1])].set(x[:2]), X, 12),
    "put at unknown rows": (
        lambda x: jnp.zeros((5, 4)).at[x[0, :2].astype(int)].add(x[:2]),
        MATRIX,
        40,
    ),
    "slice": (lambda x: lax.dynamic_slice(x, (3,), (4,)), X, 4),
    "unknown slice": (
        lambda x: lax.dynamic_slice(x, (x[0, 0].astype(int), 0), (2, 4)),
        MATRIX,
        24,
    ),
    "unknown update": (
        lambda x: lax.dynamic_update_slice(x, x[:1], (x[0, 0].astype(int), 0)),
        MATRIX,
        20,
    ),
    "Fourier": (lambda x: jnp.abs(jnp.fft.fft(x)), MATRIX, 48),
    "mask": (lambda x: jnp.where(jnp.arange(12) > 3, x, x[::-1]), X, 12),
    "known factor": (lambda x: (jnp.arange(12) % 3 == 0) * x, X, 4),
    "cond": (lambda x: lax.cond(x[0] > 0, lambda x: x, lambda x: x[::-1], x), X, 24),
    "scan": (lambda x: lax.scan(lambda c, y: (c * y, c + y), x[0], x)[1], X, 78),
    "loop with an index": (
        lambda x: lax.fori_loop(0, 5, lambda i, y: y.at[i].set(y[i + 1] * y[i]), x),
        X,
        17,
    ),
    "long loop": (lambda x: lax.fori_loop(0, 9000, lambda i, y: y * 0.999, x), X, 12),
    "long map": (lambda x: lax.map(lambda y: y * x[0], jnp.repeat(x, 500))[::500], X, 23),
    "pooling": (
        lambda x: lax.reduce_window(x, -np.inf, lax.max, (1, 2), (1, 2), "SAME"),
        MATRIX,
        12,
    ),
    "image": (
        lambda x: lax.conv_general_dilated(x[None, None], jnp.ones((2, 1, 2, 2)), (1, 1), "VALID"),
        MATRIX,
        48,
    ),
    "checkpoint": (glassjax.checkpoint(lambda x: jnp.sin(x)[1:]), X, 11),
    "constant": (lambda x: jnp.ones(3), X, 0),
    "held constant": (lambda x: x * lax.stop_gradient(x[::-1]), X, 12),
    "scalar": (lambda x: x**2, jnp.float32(3), 1),
    "custom": (lambda x: squared(x)[1:], X, 11),
    "pytree": (lambda p: {"a": p[0] * p[1], "b": p[1][::-1]}, (MATRIX, X[:4]), 28),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_sparse_jacobian_is_the_dense_one_and_no_fuller_than_it_must_be(name):
    f, x, places = FUNCTIONS[name]
    assert sparsity(f, x).nse == places
    expected = (glassjax.jacrev if name == "custom" else jacfwd)(f)(x)
    assert_close(dense(jit(lambda x: sparse_jacobian(f, x))(x)), expected)
    if "long" not in name:
        assert_close(dense(sparse_jacobian(f, x, mode="rev")), expected)


def test_a_while_loop_may_run_any_number_of_times():
    def rolled(x):
        return lax.while_loop(lambda c: c[0] < x[0], lambda c: (c[0] + 1, c[1] * 2), (0.0, x))[1]

    assert sparsity(rolled, X).nse == 12
    assert_close(dense(sparse_jacobian(rolled, X)), jacfwd(rolled)(X))


@pytest.mark.parametrize("seed", one_in(100, range(10_000, 10_400)))
@pytest.mark.newest_jax
def test_it_is_the_dense_one_on_the_programs_of_the_fuzz(seed):
    program = drawn(Choices(random.Random(seed)), list(RECIPES), worker.types_of)
    running.libraries()
    quiet = np.errstate(all="ignore")
    with glassjax.enable_x64(program.x64), warnings.catch_warnings(), quiet:
        warnings.simplefilter("ignore")
        try:
            f, args = running.made(program, glassjax)
            for name in program.transformations:
                f, args = TRANSFORMATIONS[name](glassjax, f, args)
            g, primals = of_inexact(glassjax, f, args)
            argnums = tuple(range(len(primals)))
            expected = jacfwd(g, argnums)(*primals)
            avals = [*map(glassjax.typeof, primals), *glassjax.eval_shape(g, *primals)]
        except Exception:
            pytest.skip("no Jacobian")
        if LAST & {*program.transformations} or any(x.dtype.kind == "c" for x in avals):
            pytest.skip("not real")
        found = dense(sparse_jacobian(g, *primals, argnums=argnums, mode="fwd"))
        epsilon = max([float(jnp.finfo(x.dtype).eps) for x in avals], default=0)
        for x, y in zip(glassjax.tree.leaves(found), glassjax.tree.leaves(expected), strict=True):
            x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
            known = np.isfinite(y)
            scale = np.abs(y[known]).max(initial=1.0)
            np.testing.assert_allclose(x[known], y[known], atol=1e3 * epsilon * scale)


# Hessians.

ENERGIES = {
    "chain": (lambda x: jnp.sum((x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2), 3),
    "arrow": (lambda x: jnp.sum(x[0] * x**3), 2),
    "full": (lambda x: jnp.prod(x), 12),
    "blocks": (lambda x: jnp.sum(jnp.sin(x.reshape(3, 4)).sum(0) ** 2), 3),
    "linear": (lambda x: jnp.sum(x), 0),
}


@pytest.mark.parametrize("name", ENERGIES)
def test_the_sparse_hessian_is_the_dense_one_with_few_products(name):
    f, colors = ENERGIES[name]
    pattern = sparsity(grad(f), X).symmetrized()
    if name != "linear":
        assert pattern.symmetric_colors.max() + 1 == colors
    assert_close(sparse_hessian(f, X).todense(), hessian(f)(X), 1e-4)
    assert_close(sparse_hessian(f, X, pattern=sparsity(grad(f), X)).todense(), hessian(f)(X), 1e-4)


def test_a_hessian_has_the_structure_of_its_arguments_twice():
    def loss(p, scale):
        return jnp.sum(p["a"] ** 2 * p["b"]) * scale, scale + 1

    p = {"a": MATRIX, "b": X[:4]}
    found, aux = sparse_hessian(loss, p, 2.0, has_aux=True)
    expected, _ = hessian(loss, has_aux=True)(p, 2.0)
    assert aux == 3.0
    assert_close(dense(found), expected, 1e-4)


# Under other transformations, and options.


def product(x):
    return x[1:] * x[:-1]


def test_it_is_a_function_like_others():
    jacobian = lambda x: sparse_jacobian(product, x)  # noqa: E731
    expected = jacfwd(product)
    xs = jnp.stack([X, X[::-1]])
    assert_close(vmap(lambda x: jacobian(x).todense())(xs), vmap(expected)(xs))
    weights = jnp.cos(jnp.arange(11 * 12.0)).reshape(11, 12)
    assert_close(
        jit(grad(lambda x: jnp.sum(weights * jacobian(x).todense())))(X),
        grad(lambda x: jnp.sum(weights * expected(x)))(X),
    )
    assert_close(jacobian(X) @ X, expected(X) @ X)


def test_arguments_to_differentiate_are_chosen():
    f = lambda x, n, y: (x * y[:1] * n, {"aux": y})  # noqa: E731
    found, aux = sparse_jacobian(f, X, 2, X, argnums=(0, -1), has_aux=True)
    expected, _ = jacfwd(f, (0, -1), has_aux=True)(X, 2, X)
    assert_close(dense(found), expected)
    assert_close(aux, {"aux": X})


def test_the_analysis_can_be_saved():
    pattern = sparsity(product, X)
    assert_close(dense(sparse_jacobian(jnp.diff, X, pattern=pattern)), jacfwd(jnp.diff)(X))
    with pytest.raises(ValueError, match=re.escape("the pattern belongs to a function from")):
        sparse_jacobian(jnp.cumsum, X, pattern=pattern)
    with pytest.raises(TypeError, match="pattern must be a Sparsity"):
        sparse_jacobian(product, X, pattern=pattern.todense())


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: sparse_jacobian(product, X, mode="forward"), ValueError, "mode must be 'fwd'"),
        (lambda: sparse_jacobian(product, jnp.arange(3)), TypeError, "must be real or complex"),
        (lambda: sparse_jacobian(lambda x: x > 0, X), TypeError, "must be real or complex"),
        (lambda: sparse_jacobian(product, X + 1j), TypeError, "is complex"),
        (lambda: sparsity(lambda x: x * 1j, X), TypeError, "result.* is complex"),
        (lambda: sparse_hessian(product, X), TypeError, "scalar"),
        (lambda: sparse_jacobian(3, X), TypeError, "function"),
        (lambda: sparse_jacobian(squared, X, mode="fwd"), TypeError, "reverse mode only"),
    ],
)
def test_what_cannot_be_is_an_error(call, error, message):
    with pytest.raises(error, match=message):
        call()


# The parts: sets, colorings, drawings.

COORDINATES = st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)))


@given(COORDINATES)
@examples(20, 200)
def test_columns_of_one_color_share_no_row(places):
    rows, columns = np.array(sorted(places), int).reshape(-1, 2).T
    colors = color_columns(rows, columns, (8, 8))
    assert len({*zip(rows, colors[columns], strict=True)}) == len(places)


@given(COORDINATES)
@examples(20, 200)
def test_each_element_or_its_mirror_image_stands_alone_in_a_color(places):
    places = {*places, *((j, i) for i, j in places)}
    rows, columns = np.array(sorted(places), int).reshape(-1, 2).T
    colors = color_symmetric(rows, columns, 8)
    counts = np.zeros((8, 9), int)
    np.add.at(counts, (rows, colors[columns]), 1)
    assert all(1 in (counts[i, colors[j]], counts[j, colors[i]]) for i, j in places)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=40))
@examples(20, 200)
def test_equal_sets_have_one_number(pairs):
    sets = IndexSets(6)
    numbers, expected = [0, *range(1, 7)], [set(), *({i} for i in range(6))]
    for i, j in pairs:
        i, j = i % len(numbers), j % len(numbers)
        (number,) = sets.union(np.array([numbers[i]]), np.array([numbers[j]]))
        numbers.append(int(number))
        expected.append(expected[i] | expected[j])
    assert [{*sets.members(n).tolist()} for n in numbers] == expected
    assert len({*numbers}) == len({frozenset(s) for s in expected})
    (everything,) = sets.union_along(np.array(numbers), (0,))
    assert {*sets.members(everything).tolist()} == set(range(6))


def test_a_pattern_is_drawn():
    pattern = sparsity(product, X[:7])
    assert repr(pattern) == "Sparsity of 6 by 7, 12 nonzeros\n⠙⢦⡀\n⠀⠀⠙⠂"
    assert pattern._repr_svg_().count("<rect") == 1 + pattern.nse
    assert "Sparsity of 6 by 7" in pattern._repr_svg_()
    transposed = pattern.T
    assert isinstance(transposed, Sparsity)
    np.testing.assert_array_equal(transposed.todense(), pattern.todense().T)
