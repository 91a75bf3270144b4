"""Transformations in chunks give what they give at once, in less memory."""

import numpy as np
import pytest

import glassjax
import glassjax.numpy as jnp
from glassjax import grad, hessian, jacfwd, jacrev, jit, lax, vmap

X = jnp.linspace(0.0, 1.0, 70).reshape(7, 10)
SIZES = (1, 2, 3, 7, 9)


def same(found, expected):
    assert glassjax.tree.structure(found) == glassjax.tree.structure(expected)
    leaves = zip(glassjax.tree.leaves(found), glassjax.tree.leaves(expected), strict=True)
    for x, y in leaves:
        assert glassjax.typeof(x) == glassjax.typeof(y)
        np.testing.assert_allclose(x, y, rtol=1e-6, atol=1e-6)


def examples(x, y, scale=1.0):
    return {"a": jnp.sin(x) * y["b"], "b": y["b"], "c": x.sum() * scale}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("in_axes", "out_axes"),
    [
        ((0, None), {"a": 0, "b": None, "c": 0}),
        ((1, None), {"a": 1, "b": None, "c": 0}),
        ((-1, {"b": None}), {"a": -1, "b": None, "c": -1}),
        ([0, None], 0),
    ],
)
def test_vmap_in_chunks_is_vmap(size, in_axes, out_axes):
    args = (X, {"b": 2.0})
    expected = vmap(examples, in_axes, out_axes)(*args)
    chunked = vmap(examples, in_axes, out_axes, batch_size=size)
    same(chunked(*args), expected)
    same(jit(chunked)(*args), expected)


def test_keywords_are_mapped_and_numbers_stay_numbers():
    def f(x, n, *, y):
        return x[:n] * y

    mapped = lambda **options: vmap(f, (0, None), **options)  # noqa: E731
    same(mapped(batch_size=3)(X, 4, y=X[:, 0]), mapped()(X, 4, y=X[:, 0]))
    same(vmap(lambda: 3.0, axis_size=5, batch_size=2)(), vmap(lambda: 3.0, axis_size=5)())


@pytest.mark.parametrize("transformation", [jacfwd, jacrev])
@pytest.mark.parametrize("size", [1, 3, 100])
def test_jacobians_in_chunks_are_jacobians(transformation, size):
    def f(p, y):
        return {"u": jnp.tanh(p["x"] @ p["v"]) * y, "v": p["v"].sum()}, y

    args = ({"x": X, "v": jnp.ones(10)}, 2.0)
    expected = transformation(f, has_aux=True, argnums=(0, 1))(*args)
    chunked = transformation(f, has_aux=True, argnums=(0, 1), batch_size=size)
    same(chunked(*args), expected)
    same(jit(chunked)(*args), expected)


def test_hessians_in_chunks_are_hessians_and_have_derivatives():
    def energy(x):
        return jnp.sum(jnp.sin(x) ** 3 * x[::-1])

    x = X[0]
    same(hessian(energy, batch_size=4)(x), hessian(energy)(x))
    norm = lambda **options: lambda x: jnp.sum(hessian(energy, **options)(x) ** 2)  # noqa: E731
    same(jit(grad(norm(batch_size=4)))(x), grad(norm())(x))
    same(grad(lambda x: vmap(jnp.prod, batch_size=3)(x).sum())(X), vmap(grad(jnp.prod))(X))


def test_complex_and_integer_arguments_keep_their_rules():
    z = jnp.array([1 + 2j, 3 - 1j, 0.5j])
    square = lambda z: z * z[::-1]  # noqa: E731
    for transformation in (jacfwd, jacrev):
        same(
            transformation(square, holomorphic=True, batch_size=2)(z),
            transformation(square, holomorphic=True)(z),
        )
    n = jnp.arange(3)
    same(
        jacrev(lambda n: n * 2.0, allow_int=True, batch_size=2)(n),
        jacrev(lambda n: n * 2.0, allow_int=True)(n),
    )


def peak(transformation, size):
    x, inner, outer = (jnp.ones(n, "float32") for n in (256, (256, 4096), (4096, 256)))
    f = transformation(lambda x, v, w: jnp.tanh(jnp.sin(x @ v) @ w), batch_size=size)
    compiled = jit(f).lower(x, inner, outer).compile()
    return compiled.memory_analysis().temp_size_in_bytes


@pytest.mark.parametrize("transformation", [jacfwd, jacrev])
def test_peak_memory_falls_with_the_chunk(transformation):
    sizes = [peak(transformation, size) for size in (None, 64, 16)]
    assert sizes[0] > 2 * sizes[1] > 4 * sizes[2]


def test_lax_map_is_vmap_in_chunks():
    def chunked(x):
        return lax.map(jnp.sin, x, batch_size=3)

    programs = [str(glassjax.make_jaxpr(f)(X)) for f in (chunked, vmap(jnp.sin, batch_size=3))]
    assert programs[0].count("scan[") == programs[1].count("scan[") == 1
    same(chunked(X), vmap(jnp.sin, batch_size=3)(X))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"batch_size": 0}, ValueError, "vmap: batch_size must be positive, found 0"),
        ({"batch_size": True}, TypeError, "vmap: batch_size must be an int, found True"),
        ({"batch_size": 1.5}, TypeError, "vmap: batch_size must be an int"),
        ({"batch_size": 2, "axis_name": "i"}, ValueError, "axis_name and batch_size exclude"),
        ({"batch_size": 2, "spmd_axis_name": "i"}, ValueError, "spmd_axis_name and batch_size"),
        ({"batch_size": 2, "sum_match": True}, ValueError, "sum_match and batch_size"),
        ({"batch_size": 2, "out_axes": 5}, ValueError, "out_axes"),
        ({"batch_size": 2, "out_axes": None}, ValueError, "out_axes is None for a result"),
        ({"batch_size": 2, "in_axes": (0, 0)}, ValueError, "in_axes has 2 entries"),
    ],
)
def test_what_cannot_be_done_in_chunks_is_an_error(options, error, message):
    with pytest.raises(error, match=message):
        vmap(jnp.sin, **options)(X)


@pytest.mark.parametrize("transformation", [jacfwd, jacrev, hessian])
def test_jacobians_check_the_size_of_a_chunk(transformation):
    name = transformation.__name__
    with pytest.raises(ValueError, match=f"{name}: batch_size must be positive, found -1"):
        transformation(jnp.sin, batch_size=-1)


def test_references_are_not_mapped_in_chunks():
    ref = glassjax.new_ref(X)
    with pytest.raises(TypeError, match="references cannot be mapped in chunks"):
        vmap(lambda r: r[...], batch_size=2)(ref)
