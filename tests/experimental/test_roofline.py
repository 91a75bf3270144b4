"""`experimental.roofline`: the same counts as JAX."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import roofline as theirs
from tables import for_each

import glassjax
import glassjax.numpy as gnp
from glassjax import core
from glassjax.experimental import roofline as ours

SIZES = {"a": 4, "b": 2}
COLLECTIVES = {
    "all_gather": lambda lib, x: lib.lax.all_gather(x, "a"),
    "psum_scatter": lambda lib, x: lib.lax.psum_scatter(x, "a", tiled=True),
    "pmax": lambda lib, x: lib.lax.pmax(x, "a"),
    "pmin of two axes": lambda lib, x: lib.lax.pmin(x, ("a", "b")),
    "all_to_all": lambda lib, x: lib.lax.all_to_all(x, "a", 0, 0, tiled=True),
    "ppermute": lambda lib, x: lib.lax.ppermute(x, "a", [(0, 1), (1, 2), (2, 3), (3, 0)]),
    "ppermute, crossing": lambda lib, x: lib.lax.ppermute(x, "a", [(0, 2), (1, 3), (3, 0)]),
}
IMAGE, KERNEL = ((1, 2, 7, 5), "float32"), ((3, 2, 3, 2), "float32")
MATRIX, VECTOR = ((3, 4), "float32"), ((4,), "float32")
PROGRAMS = {
    "elementwise": (lambda lib, x: lib.numpy.exp(x) * x + lib.numpy.tan(x), MATRIX),
    "product": (lambda lib, x, y: lib.numpy.sin(x @ y), MATRIX, VECTOR),
    "batched product": (lambda lib, x: lib.numpy.matmul(x, x), ((2, 3, 3), "bfloat16")),
    "jit": (lambda lib, x: lib.jit(lambda y: y * 2)(x) @ x.T, MATRIX),
    "sum": (lambda lib, x: lib.lax.reduce_sum_p.bind(x, axes=(0,), out_sharding=None)
            if lib is jax else lib.numpy.sum(x, 0), MATRIX),
    "cumsum": (lambda lib, x: lib.lax.cumsum(x, 1), MATRIX),
    "cumlogsumexp": (lambda lib, x: lib.lax.cumlogsumexp(x, 0), MATRIX),
    "select": (lambda lib, w, x: lib.lax.select_n(w, x, x), ((3, 4), "bool"), MATRIX),
    "scan": (lambda lib, x: lib.lax.scan(lambda c, y: (c * y, y), x[0], x)[0], MATRIX),
    "nothing": (lambda lib, x: lib.numpy.reshape(x, (4, 3)), MATRIX),
    "unused": (lambda lib, x, y: x + 1, MATRIX, VECTOR),
    "convolution": (
        lambda lib, x, k: lib.lax.conv_general_dilated(x, k, (1, 2), "SAME"), IMAGE, KERNEL,
    ),
    "dilated convolution": (
        lambda lib, x, k: lib.lax.conv_general_dilated(
            x, k, (2, 1), [(1, 2), (0, 3)], lhs_dilation=(2, 3), rhs_dilation=(1, 2)
        ),
        IMAGE, KERNEL,
    ),
}  # fmt: skip


def counted(lib, module, name, **options):
    f, *types = PROGRAMS[name]
    args = [lib.ShapeDtypeStruct(shape, dtype) for shape, dtype in types]
    shapes, cost = module.roofline(lambda *args: f(lib, *args), **options)(*args)
    return lib.tree.map(lambda x: (x.shape, x.dtype), shapes), dataclasses.asdict(cost)


@for_each("name", PROGRAMS)
def test_programs(name):
    shapes, cost = counted(glassjax, ours, name)
    expected_shapes, expected = counted(jax, theirs, name)
    assert shapes == expected_shapes
    if name == "scan":  # whose first operand is a slice, in another way
        for found in (cost, expected):
            del found["unfused_hbm_bytes"], found["peak_hbm_bytes"]
    assert cost == expected


@for_each("pins", [(True, False), (False, True)])
def test_pinned_operands(pins):
    options = dict(zip(("pin_lhs_in_vmem", "pin_rhs_in_vmem"), pins, strict=True))
    assert counted(glassjax, ours, "product", **options) == counted(
        jax, theirs, "product", **options
    )


@for_each("name", COLLECTIVES)
def test_collectives(name):
    f = COLLECTIVES[name]

    def cost(lib, module):
        mesh = lib.sharding.AbstractMesh(tuple(SIZES.values()), tuple(SIZES))
        spec = lib.sharding.PartitionSpec(None)
        mapped = lib.shard_map(
            lambda x: f(lib, x), mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False
        )
        with lib.sharding.use_abstract_mesh(mesh):
            x = lib.ShapeDtypeStruct((16, 4), np.float32)
            return dataclasses.asdict(module.roofline(mapped, mesh)(x)[1])

    found, expected = cost(glassjax, ours), cost(jax, theirs)
    assert found["ici_bytes"] == expected["ici_bytes"]
    assert found["ici_latency"] == expected["ici_latency"]


def test_sums_of_devices_and_divided_arguments():
    """A sum is a scatter and a gather of as many bytes."""
    mesh = glassjax.sharding.Mesh(np.array(glassjax.devices()[:1]), ("a",))
    spec = glassjax.sharding.PartitionSpec("a")
    out = glassjax.sharding.PartitionSpec()
    shapes, cost = ours.roofline(lambda x: glassjax.lax.psum(x, "a"), mesh, spec, out)(
        glassjax.ShapeDtypeStruct((4,), np.float32)
    )
    assert (shapes.shape, shapes.sharding.spec) == ((4,), out)
    assert (cost.ici_bytes, cost.ici_latency) == ({"a": 0}, {"a": 0})
    with pytest.raises(ValueError, match="give the mesh"):
        ours.roofline(
            glassjax.shard_map(
                lambda x: glassjax.lax.psum(x, "a"), mesh=mesh, in_specs=spec, out_specs=out
            )
        )(np.ones(4))


def test_derivatives():
    x = glassjax.ShapeDtypeStruct((3, 4), "bfloat16")
    _, forward, backward = ours.roofline_and_grad(lambda x: gnp.sum(x @ x.T), None, None, None)(x)
    assert (forward.flops, backward.flops) == (72, 216)
    y = jax.ShapeDtypeStruct((3, 4), "bfloat16")
    _, expected = theirs.roofline(lambda x: jnp.sum(x @ x.T), vjp=True)(y)
    assert backward.flops == expected.flops


def test_results_and_shapes():
    a = {"flops": 3, "ici_bytes": {"x": 1}, "peak_hbm_bytes": 7}
    b = {"unfused_flops": 5, "ici_bytes": {"x": 2, "y": 3}, "peak_hbm_bytes": 4, "hbm_bytes": 9}
    found, expected = (
        2.5 * (lib.RooflineResult(**a) + lib.RooflineResult(**b)) + lib.RooflineResult.zeros()
        for lib in (ours, theirs)
    )
    assert dataclasses.asdict(found) == dataclasses.asdict(expected)
    shape = ours.RooflineShape.from_aval(glassjax.typeof(gnp.ones((2, 3), "int8")))
    assert (shape.size, shape.bytes) == (6, 6)
    with pytest.raises(TypeError, match="ShapedArray"):
        ours.RooflineShape.from_aval(3)


def test_rules_of_other_primitives(caplog):
    other_p = core.Primitive("other")
    core.declare(
        other_p, abstract_eval=lambda x: [x], lower=lambda b, avals, x: [x]
    )  # fmt: skip
    x = np.ones(3, np.float32)

    def cost():
        return ours.roofline(lambda x: core.bind(other_p, x)[0])(x)[1]

    assert cost().unfused_flops == 0
    assert "other has no rule" in caplog.text
    caplog.clear()
    ours.register_standard_roofline(other_p)
    assert (cost().unfused_flops, caplog.text) == (0, "")

    @ours.register_roofline(other_p)
    def rule(ctx, x):
        assert ctx.primitive is other_p
        assert "roofline(" in ctx.name_stack
        return ours.RooflineResult(unfused_flops=x.size * 5)

    assert cost().unfused_flops == 15
