"""Functions traced with symbolic shapes: the types of their results are JAX's."""

import importlib

import jax
import jax.errors
import jax.export
import jax.image
import numpy as np
import pytest

import glassjax
from glassjax import errors, export

SHAPES = {"x": "b, 3", "y": "b, n", "v": "b", "z": "b, 4, 4, 3", "m": "b, 3, 3", "w": "2*b, n + 8"}
# By name, the arguments and the body of a function; jnp, lax, random, nn and jax are in scope.
PROGRAMS = {
    "sum": "x: jnp.sum(x, 0)",
    "mean": "y: jnp.mean(y)",
    "softmax": "x: nn.softmax(x, axis=0)",
    "product": "y: y @ y.T",
    "einsum": "y, x: jnp.einsum('bn,bk,bn->nk', y, x, y)",
    "attention": "z: nn.dot_product_attention(z, z, z)",
    "ravel": "y: y.reshape(-1)",
    "reshape": "w: w.reshape(2, -1)",
    "broadcast": "x, v: x + v[:, None]",
    "concatenate": "x: jnp.concatenate([x, x[1:]])",
    "pad": "x: jnp.pad(x, ((x.shape[0], 2), (0, 1)))",
    "slices": "w: [w[1:], w[:-1], w[::2], w[::-1], w[3:], w[2:5], w[-3:], w[: w.shape[0] // 3]]",
    "steps": "x: [x[1::2], x[::3], x[1::3], x[2::3], x[1:5:2], x[-3::2], x[::-2]]",
    "indices": "w: [w[0], w[-1], w[:, 8], w[w.shape[0] // 2 - 1 :]]",
    "update": "x: x.at[0].set(1.0)",
    "gather": "x: x[jnp.arange(x.shape[0]) // 2]",
    "arange": "y: jnp.arange(1, y.shape[0] * y.shape[1], 3)",
    "creation": "y: [jnp.eye(*y.shape), jnp.zeros_like(y), jnp.full(y.shape, 1), jnp.tril(y)]",
    "triangles": "v: jnp.tril_indices(v.shape[0])",
    "repeat": "x: [jnp.repeat(x, 2, axis=0), jnp.tile(x, (2, 1)), jnp.roll(x, 1, 0)]",
    "split": "w: jnp.split(w, 2, axis=0)",
    "sort": "x: [jnp.sort(x, 0), jnp.argmax(x, 0), jnp.median(x, 0), lax.top_k(x, 2)]",
    "cumsum": "x: [jnp.cumsum(x, 0), jnp.diff(x, axis=0)]",
    "fft": "m: jnp.fft.fft(m)",
    "scan": "x: lax.scan(lambda c, row: (c + row, c), jnp.zeros(3), x)",
    "map": "x: lax.map(jnp.sum, x)",
    "fori_loop": "x: lax.fori_loop(0, x.shape[0], lambda i, c: c + x[i], jnp.zeros(3))",
    "while_loop": "x: lax.while_loop(lambda c: jnp.sum(c) < 9, lambda c: c + 1, x)",
    "cond": "x: lax.cond(x[0, 0] > 0, jnp.sin, jnp.cos, x)",
    "vmap": "y: jax.vmap(lambda row: jnp.sort(row) * jnp.arange(row.shape[0]))(y)",
    "grad": "y: jax.grad(lambda y: jnp.mean(jnp.sin(y[1:]) ** 2) + y[-1].sum())(y)",
    "jvp": "y: jax.jvp(lambda y: y @ y.T, (y,), (y,))",
    "grad_of_scan": "x: jax.grad(lambda x: lax.scan(lambda c, r: (c * r, c), x[0], x)[0][0])(x)",
    "checkpoint": "x: jax.grad(lambda x: jax.checkpoint(lambda x: jnp.sin(x) ** 2)(x).sum())(x)",
    "random": "y: [random.normal(random.key(0), y.shape), random.split(random.key(0), y.shape[0])]",
    "convolution": "z: lax.conv_general_dilated(z, jnp.ones((2, 2, 3, 5), 'f4'), (2, 2), 'SAME', "
    "dimension_numbers=('NHWC', 'HWIO', 'NHWC'))",
    "pooling": "z: lax.reduce_window(z, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), 'VALID')",
    "windows": "w: lax.reduce_window(w, 0.0, lax.add, (1, 3), (1, 2), 'SAME')",
    "resize": "z: jax.image.resize(z, (z.shape[0], 8, 8, 3), 'bilinear')",
    "linalg": "m: [jnp.linalg.cholesky(m), jnp.linalg.solve(m, m), jnp.linalg.svd(m)]",
    "values": "y: [y * y.shape[0], y.shape[0] / 2, jnp.array(y.shape), y / y.size]",
    "static": "y: jax.jit(lambda y, n: y * n)(y, y.shape[1])",
}


def traced(library, text):
    """The jaxpr of a function, by a library."""
    module = importlib.import_module
    scope = {
        **{"jax": library, "jnp": module(f"{library.__name__}.numpy")},
        **{name: module(f"{library.__name__}.{name}") for name in ("lax", "random", "nn", "image")},
    }
    names, _, body = text.partition(":")
    function = eval(f"lambda {names}: {body}", scope)
    symbolic = module(f"{library.__name__}.export")
    shapes_scope = symbolic.SymbolicScope()
    args = [
        library.ShapeDtypeStruct(
            symbolic.symbolic_shape(SHAPES[name.strip()], scope=shapes_scope), np.float32
        )
        for name in names.split(",")
    ]
    return library.make_jaxpr(function)(*args), function, args


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_results_have_the_types_that_jax_finds(text):
    (ours, function, args), (theirs, _, _) = traced(glassjax, text), traced(jax, text)
    assert list(map(str, ours.out_avals)) == [
        aval.str_short(short_dtypes=True) for aval in theirs.out_avals
    ]
    leaves = glassjax.tree.leaves(glassjax.eval_shape(function, *args))
    assert [leaf.shape for leaf in leaves] == [aval.shape for aval in ours.out_avals]


def test_a_jaxpr_shows_its_symbolic_shapes():
    jaxpr, _, _ = traced(glassjax, "x: x * x.shape[0]")
    assert "f32[b,3]" in str(jaxpr)
    assert "dim_as_value[dim=b]" in str(jaxpr)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("x, y: x + y", ValueError, r"\(b, 3\) and \(b, n\)"),
        ("y: y + y.T", ValueError, r"\(b, n\) and \(n, b\)"),
        ("y: y.reshape(2, -1)", ValueError, "does not fit"),
        ("x: [x[i] for i in range(x.shape[0])]", errors.InconclusiveDimensionOperation, "'b'"),
        ("y: y if y.shape[0] > y.shape[1] else y.T", errors.InconclusiveDimensionOperation, "'n'"),
        ("y: jnp.squeeze(y)", ValueError, "give axis="),
    ],
)
def test_what_depends_on_the_variables_is_an_error(text, error, message):
    with pytest.raises(Exception):  # noqa: B017, PT011
        traced(jax, text)
    with pytest.raises(error, match=message):
        traced(glassjax, text)


def test_a_size_has_no_value_outside_a_trace():
    (b,) = export.symbolic_shape("b")
    with pytest.raises(TypeError, match="no value outside a traced function"):
        glassjax.numpy.array(b)
