"""Arguments of the transformations, one by one, beside JAX."""

import jax
import numpy as np
import pytest
from libraries import assert_alike, refused, results_at_once

import glassjax
import glassjax.numpy

pytestmark = pytest.mark.bits(32)

FLOAT0 = jax.dtypes.float0


def matrix(n):
    return n.arange(6.0).reshape(2, 3) + 1


def with_own_jvp(n, lib):
    f = lib.custom_jvp(lambda x, y: (x * 2 + y, y))
    f.defjvp(lambda p, t: (f(*p), (t[0].astype("float32") * 5, t[1].reshape(()))))
    return f


def with_own_vjp(bwd):
    def make(lib, **options):
        f = lib.custom_vjp(lambda x, y: x * y)
        f.defvjp(lambda x, y: (x * y, (x, y)), bwd, **options)
        return f

    return make


plain = with_own_vjp(lambda kept, ct: (ct * 10 * kept[1], None))


def bilinear(p, y):
    return {"out": p["a"] * y, "none": None, "b": p["b"][0] * 2}


TREE = {"a": np.float32([1, 2]), "b": [np.float32(3), None]}
SECTIONS = {
    "argnums": [
        lambda n, lib: lib.grad(lambda x, y: x * y, argnums=(0, 1))(1.0, 2.0),
        lambda n, lib: lib.grad(lambda x, y: x * y, argnums=[-1])(1.0, 2.0),
        lambda n, lib: lib.value_and_grad(lambda x, y: x * y, (1,))(n.float32(1), 2.0),
        lambda n, lib: lib.grad(lambda x, s, *, k: x * len(s) * k)(1.0, "abc", k=2),
        lambda n, lib: lib.jacfwd(lambda x, y: x * y, (0, 1))(n.ones(2), n.ones(2)),
        lambda n, lib: lib.jacrev(lambda x, y: x * y, -1)(n.ones(2), n.ones(2)),
        lambda n, lib: lib.hessian(lambda x, y: n.sum(x**3 * y), (0, 1))(n.ones(2), n.ones(2)),
        refused(lambda n, lib: lib.grad(lambda x: x, argnums="a")(1.0)),
    ],
    "has_aux": [
        lambda n, lib: lib.grad(lambda x: (n.sum(x**2), {"a": x}), has_aux=True)(n.ones(2)),
        lambda n, lib: lib.value_and_grad(lambda x: (x * x, [x, None]), has_aux=True)(2.0),
        lambda n, lib: lib.jvp(lambda x: (n.sin(x), {"k": x * 2}), (1.0,), (2.0,), has_aux=True),
        lambda n, lib: lib.vjp(lambda x: (x * x, n.sin(x)), 2.0, has_aux=True)[::2],
        lambda n, lib: lib.linearize(lambda x: (n.sin(x), x * 3), 2.0, has_aux=True)[::2],
        lambda n, lib: lib.jacfwd(lambda x: (x * x, {"a": x}), has_aux=True)(n.ones(2)),
        lambda n, lib: lib.jacrev(lambda x: (x * x, {"a": x}), has_aux=True)(n.ones(2)),
        lambda n, lib: lib.hessian(lambda x: (n.sum(x**3), x), has_aux=True)(n.ones(2)),
        refused(lambda n, lib: lib.grad(lambda x: x, has_aux=True)(1.0)),
        refused(lambda n, lib: lib.grad(lambda x: (x, x, x), has_aux=True)(1.0)),
    ],
    "allow_int and float0": [
        lambda n, lib: lib.grad(lambda x: n.sum(x) * 1.0, allow_int=True)(n.arange(3)),
        refused(lambda n, lib: lib.grad(lambda x: n.sum(x) * 1.0)(n.arange(3))),
        lambda n, lib: lib.jacrev(lambda x: x * 1.0, allow_int=True)(n.arange(3)),
        lambda n, lib: lib.jacobian(lambda x, y: x * y, (0, 1), allow_int=True)(
            n.arange(3), n.ones(3)
        ),
        lambda n, lib: lib.jvp(lambda x: x * 2, (n.arange(3),), (np.zeros(3, FLOAT0),)),
        lambda n, lib: lib.vjp(lambda x, y: x * y, n.arange(3), n.ones(3))[1](n.ones(3)),
        lambda n, lib: lib.vjp(lambda x: (x * 2, n.arange(2)), n.ones(3))[1](
            (n.ones(3), np.zeros(2, FLOAT0))
        ),
        lambda n, lib: lib.linearize(lambda x, y: x * y, n.arange(2), n.ones(2))[1](
            np.zeros(2, FLOAT0), n.ones(2)
        ),
    ],
    "holomorphic": [
        lambda n, lib: lib.grad(lambda x: n.sin(x) * 1j, holomorphic=True)(n.complex64(1 + 2j)),
        refused(lambda n, lib: lib.grad(lambda x: n.sin(x) * 1j, holomorphic=True)(1.0)),
        lambda n, lib: lib.jacfwd(lambda x: x * x * 1j, holomorphic=True)(n.ones(2) * 1j),
        lambda n, lib: lib.jacrev(lambda x: x * x * 1j, holomorphic=True)(n.ones(2) * 1j),
        lambda n, lib: lib.jacfwd(lambda x: x * x * 1j)(n.ones(2)),
        refused(lambda n, lib: lib.jacrev(lambda x: x * x * 1j)(n.ones(2))),
        lambda n, lib: lib.hessian(lambda x: x**3 * 1j, holomorphic=True)(1j),
    ],
    "weak types of derivatives": [
        lambda n, lib: lib.jacfwd(lambda x: x * x)(2.0),
        lambda n, lib: lib.jacrev(lambda x: x * n.ones(2))(2.0),
        lambda n, lib: lib.hessian(lambda x: x**3)(2.0),
        lambda n, lib: lib.hessian(lambda p: n.sum(p["a"] ** 3 * p["b"]))(
            {"a": n.ones(2), "b": 2.0}
        ),
        lambda n, lib: lib.jacfwd(lambda p: {"a": p["a"] * p["b"], "b": p["b"]})(
            {"a": n.ones(2), "b": 2.0}
        ),
        lambda n, lib: lib.jvp(lambda x: x * x, (n.float32(2),), (1.0,)),
        lambda n, lib: lib.linear_transpose(lambda x: 2 * x, 1.0)(3.0),
    ],
    "linear_transpose": [
        lambda n, lib: lib.linear_transpose(bilinear_in_y(n), TREE)(
            {"out": n.ones(2), "none": None, "b": n.float32(1)}
        ),
        lambda n, lib: lib.linear_transpose(
            lambda x: n.sum(2 * x), lib.ShapeDtypeStruct((3,), n.float32)
        )(n.float32(3)),
        lambda n, lib: lib.linear_transpose(lambda x: n.cumsum(x) * 2, n.arange(3))(n.arange(3)),
        refused(lambda n, lib: lib.linear_transpose(lambda x: 2.0 * x, n.arange(3))(n.ones(3))),
        refused(lambda n, lib: lib.linear_transpose(lambda x: x, n.ones(2), reduce_axes=("i",))),
    ],
    "linear functions are pytrees": [
        lambda n, lib: lib.jit(lambda x: lib.vjp(product(n), x)[1])(2.0)(1.0),
        lambda n, lib: lib.jit(lambda x: lib.linearize(product(n), x)[1])(2.0)(1.0),
        lambda n, lib: lib.jit(lambda x: lib.linear_transpose(lambda y: y * x, 1.0))(2.0)(1.0),
        lambda n, lib: lib.jit(lambda f, ct: f(ct))(lib.vjp(product(n), 2.0)[1], 1.0),
        lambda n, lib: lib.vmap(lambda f, ct: f(ct))(
            lib.vmap(lambda x: lib.vjp(product(n), x)[1])(n.arange(3.0)), n.ones(3)
        ),
        lambda n, lib: lib.lax.cond(
            True, lambda f: f(1.0), lambda f: f(2.0), lib.linearize(product(n), n.float32(2))[1]
        ),
        lambda n, lib: lib.lax.scan(
            lambda c, x: (c, lib.vjp(product(n), x)[1]), n.ones(()), n.arange(3.0)
        )[0],
        lambda n, lib: lib.grad(lambda x: lib.vjp(product(n), x)[1](1.0)[0])(2.0),
    ],
    "axes of vmap": [
        lambda n, lib: lib.vmap(n.sin, -1, -1)(matrix(n)),
        lambda n, lib: lib.vmap(lambda x, y: x * y, [0, None])(matrix(n), 3.0),
        lambda n, lib: lib.vmap(lambda p: p["a"] * p["b"], ({"a": 1, "b": None},), 1)(
            {"a": matrix(n), "b": 2.0}
        ),
        lambda n, lib: lib.vmap(lambda x, y: x * y)(matrix(n), y=n.ones(2)),
        lambda n, lib: lib.vmap(lambda: n.ones(3), axis_size=2)(),
        lambda n, lib: lib.vmap(lambda x: {"a": x, "b": (x, x)}, 0, {"a": 0, "b": (0, 1)})(
            matrix(n)
        ),
        refused(lambda n, lib: lib.vmap(lambda x: x, 0, None)(matrix(n))),
        refused(lambda n, lib: lib.vmap(lambda x: x, axis_size=3)(matrix(n))),
        lambda n, lib: lib.vmap(lambda x: x, spmd_axis_name="i")(matrix(n)),
        refused(lambda n, lib: lib.vmap(lambda x: x, 2)(matrix(n))),
        refused(lambda n, lib: lib.vmap(lambda x: x, 0, 2)(matrix(n))),
        refused(lambda n, lib: lib.vmap(lambda x, y: x, (0,))(matrix(n), 3.0)),
        refused(lambda n, lib: lib.vmap(lambda x: x, None)(matrix(n))),
        lambda n, lib: lib.vmap(
            lambda x: (x, n.sum(x), n.ones(2)), out_axes=(0, None, None), sum_match=True
        )(matrix(n)),
        lambda n, lib: lib.jit(
            lib.grad(lambda x: n.sum(lib.vmap(n.sin, out_axes=None, sum_match=True)(x)))
        )(matrix(n)),
    ],
    "vectorize": [
        lambda n, lib: n.vectorize(n.dot, signature="(n),(n)->()")(matrix(n), n.ones(3)),
        lambda n, lib: n.vectorize(lambda x, k: x * k, excluded={1})(matrix(n), 3),
        lambda n, lib: n.vectorize(lambda x: (n.sum(x), x), signature="(n)->(),(n)")(matrix(n)),
        refused(lambda n, lib: n.vectorize(lambda x: x, signature="(n)->(n,n)")(matrix(n))),
        lambda n, lib: n.vectorize(lambda x: x, signature="(n)->(2)")(matrix(n)),
        refused(lambda n, lib: n.vectorize(lambda x: x, signature="(n)->(),()")(matrix(n))),
        refused(
            lambda n, lib: n.vectorize(lambda x, y: x, signature="(n),(m)->(n)")(matrix(n), None)
        ),
        refused(lambda n, lib: n.vectorize(lambda x: x, signature="(n->n")(matrix(n))),
    ],
    "rules get arrays": [
        lambda n, lib: lib.grad(lambda x: with_own_jvp(n, lib)(x, 2.0)[0])(1.0),
        lambda n, lib: lib.grad(with_own_vjp(lambda kept, ct: (ct.reshape(()), ct * 2))(lib))(
            1.0, 2.0
        ),
        lambda n, lib: lib.grad(with_own_vjp(lambda kept, ct: (ct, ct.astype("float32")))(lib), 1)(
            1.0, n.float32(2)
        ),
    ],
    "what rules return": [
        lambda n, lib: lib.grad(plain(lib), (0, 1))(1.0, 2.0),
        lambda n, lib: lib.grad(plain(lib), 1, allow_int=True)(1.0, 2),
        lambda n, lib: lib.grad(plain(lib, optimize_remat=True))(1.0, 2.0),
        refused(lambda n, lib: lib.grad(with_own_vjp(lambda kept, ct: ct)(lib))(1.0, 2.0)),
        refused(lambda n, lib: lib.grad(with_own_vjp(lambda kept, ct: (ct,))(lib))(1.0, 2.0)),
        refused(
            lambda n, lib: lib.grad(with_own_vjp(lambda kept, ct: (ct, n.ones(2)))(lib))(1.0, 2.0)
        ),
        refused(lambda n, lib: lib.custom_gradient(lambda x: x)(1.0)),
        lambda n, lib: lib.grad(lib.custom_gradient(lambda x, y: (x * y, lambda ct: (ct, 2 * ct))))(
            1.0, 2.0
        ),
    ],
    "checkpoint": [
        lambda n, lib: lib.grad(
            lib.checkpoint(
                lambda x: n.sum(n.sin(n.dot(x, x))),
                policy=lib.checkpoint_policies.offload_dot_with_no_batch_dims("device", "device"),
            )
        )(n.ones((2, 2))),
        lambda n, lib: lib.grad(
            lib.checkpoint(lambda x, b: n.sin(x) if b else x, static_argnums=-1)
        )(1.0, True),
        lambda n, lib: lib.grad(lib.checkpoint(lambda x, k: x * k, prevent_cse=False))(1.0, k=3.0),
        refused(
            lambda n, lib: lib.grad(lib.checkpoint(lambda x, b: n.sin(x) if b else x))(1.0, True)
        ),
    ],
    "staging": [
        lambda n, lib: list(lib.make_jaxpr(n.full, 0, return_shape=True)((2, 3), 1.0)[1].shape),
        refused(lambda n, lib: lib.make_jaxpr(n.sin, abstracted_axes=("n",))(n.ones(3))),
        refused(lambda n, lib: lib.ShapeDtypeStruct((2,), None)),
        lambda n, lib: list(lib.ShapeDtypeStruct((2,), n.int8).update(shape=(4, 5)).shape),
        lambda n, lib: lib.ShapeDtypeStruct((2,), n.int8, sharding=None).sharding,
        refused(lambda n, lib: len(lib.ShapeDtypeStruct((), n.int8))),
    ],
}  # fmt: skip


def product(n):
    return lambda x: n.sin(x) * x


def bilinear_in_y(n):
    return lambda p: bilinear(p, n.ones(2))


@pytest.mark.parametrize("section", SECTIONS)
def test_arguments_mean_what_they_mean_in_jax(section):
    programs = SECTIONS[section]
    results = (results_at_once(programs, lib.numpy, lib) for lib in (glassjax, jax))
    for number, (program, ours, theirs) in enumerate(zip(programs, *results, strict=True)):
        assert isinstance(theirs, Exception) == hasattr(program, "is_refused"), theirs
        try:
            assert_without_float0(ours, theirs)
        except AssertionError as error:
            raise AssertionError(f"program {number} of {section!r}: {error}") from None


def assert_without_float0(ours, theirs):
    """`assert_alike`; what has no tangent is compared by its shape."""
    if isinstance(theirs, Exception) or isinstance(ours, Exception):
        return assert_alike(ours, theirs)
    pairs = list(zip(glassjax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True))
    empty = [getattr(y, "dtype", None) == FLOAT0 for _, y in pairs]
    for (x, y), is_empty in zip(pairs, empty, strict=True):
        assert not is_empty or (x.dtype, x.shape) == (y.dtype, y.shape)
    rest = [pair for pair, is_empty in zip(pairs, empty, strict=True) if not is_empty]
    assert_alike([x for x, _ in rest], [y for _, y in rest])


def test_a_cotangent_is_converted_to_the_dtype_of_its_argument():
    """JAX lets it pass as it is, for the time being."""
    half = glassjax.numpy.ones((), "bfloat16")
    of_wide = with_own_vjp(lambda kept, ct: (ct.astype("float32"), None))(glassjax)
    assert glassjax.grad(of_wide)(half, half).dtype == half.dtype


def test_what_would_be_moved_to_other_memory_is_kept():
    policy = glassjax.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=["a"],
        names_which_can_be_offloaded=["b"],
        offload_src="device",
        offload_dst="pinned_host",
    )
    name = glassjax.ad_checkpoint.checkpoint_name
    f = glassjax.checkpoint(lambda x: name(glassjax.numpy.sin(x), "b") * x, policy=policy)
    jaxpr = glassjax.make_jaxpr(lambda x: glassjax.linearize(f, x)[1](x))(1.0)
    assert str(jaxpr).count("= sin ") == 1
