"""`custom_partitioning` on eight devices, beside JAX."""

import jax
import jax.experimental.custom_partitioning
import numpy as np
import pytest
from eight_devices import CAN_READ

import glassjax
import glassjax.experimental.custom_partitioning

pytestmark = pytest.mark.skipif(not CAN_READ, reason="jaxlib cannot read sharded arrays")

TWO = np.float32(2)
X = np.arange(32, dtype=np.float32).reshape(8, 4)
Y = np.arange(24, dtype=np.float32).reshape(4, 6)


class Lib:
    """A library with eight devices in a mesh, and what the functions under test have seen."""

    def __init__(self, lib):
        self.lib, self.np, self.seen = lib, lib.numpy, []
        self.module = lib.experimental.custom_partitioning
        self.mesh = lib.sharding.Mesh(np.array(lib.devices()).reshape(4, 2), ("a", "b"))

    def sharding(self, *spec, mesh=None):
        return self.lib.sharding.NamedSharding(mesh or self.mesh, self.lib.P(*spec))

    def see(self, *types):
        for x in self.lib.tree.leaves(types):
            self.seen.append((x.shape, str(x.dtype), tuple(x.sharding.spec)))


def cumulative(lib):
    f = lib.module.custom_partitioning(lambda x: lib.np.cumsum(x, axis=-1))

    def partition(mesh, args, result):
        lib.see(args, result)
        rows = lib.sharding(args[0].sharding.spec[0], None, mesh=mesh)
        return mesh, f.fun, rows, (rows,)

    options = {"need_replication_factors": ("i",)}
    f.def_partition(partition, sharding_rule="... i -> ... i", **options)
    return lambda x: f(x * 2) + 1, (X,)


def product(lib):
    """A product whose devices sum their parts, and say so."""

    @lib.module.custom_partitioning
    def f(x, y):
        return {"xy": x @ y, "sum": x.sum(1)}

    def partition(mesh, args, result):
        lib.see(args, result)
        inner = lib.lib.P(None, "b")

        def lower(x, y):
            index = lib.lib.lax.axis_index("a")
            one = {"xy": x @ y, "sum": x.sum(1) + 0 * index}
            return lib.lib.lax.psum(one, "b")

        rows = lib.sharding("a", mesh=mesh)
        args = (lib.sharding("a", *inner[1:], mesh=mesh), lib.sharding("b", mesh=mesh))
        return mesh, lower, {"xy": rows, "sum": rows}, args

    rule = lib.module.SdyShardingRule(
        (lib.module.ArrayMapping("i", "j"), lib.module.ArrayMapping("j", "k")),
        (lib.module.ArrayMapping("i"), lib.module.ArrayMapping("i", "k")),
        reduction_factors=("j",),
    )
    f.def_partition(partition, sharding_rule=rule)
    return f, (X, Y)


def static(lib):
    """A function of static arguments, with a rule that is made of types."""

    def fun(x, power, y=TWO, axis=1):
        return (x**power).sum(axis) * y

    f = lib.module.custom_partitioning(fun, static_argnums=(1, 3))

    def partition(power, axis, mesh, args, result):
        lib.see(args, result)
        lib.seen.append((power, axis))
        rows = args[0].sharding.spec[0]
        places = (lib.sharding(rows, mesh=mesh), lib.sharding(mesh=mesh))
        return mesh, lambda x, y: fun(x, power, y, axis), lib.sharding(rows, mesh=mesh), places

    def rule(power, axis, mesh, ins, outs):
        lib.seen.append((power, axis, dict(mesh.shape), [tuple(t.shape) for t in (*ins, *outs)]))
        return "i j, -> i", {"reduction_factors": ("j",)}

    f.def_partition(partition, sharding_rule=rule)
    return lambda x: f(x, 2, axis=1), (X,)


def inside_shard_map(lib):
    f, _ = cumulative(lib)
    return lib.lib.shard_map(
        f, mesh=lib.mesh, in_specs=lib.lib.P("a"), out_specs=lib.lib.P("a"), check_vma=False
    ), (X,)


PROGRAMS = [cumulative, product, static, inside_shard_map]
SPECS = [("a", "b"), ("a",), (None, "b"), (("a", "b"),), ()]


@pytest.mark.parametrize("spec", SPECS, ids=str)
@pytest.mark.parametrize("program", PROGRAMS)
def test_functions_are_divided_as_they_say(program, spec):
    outs, seen = [], []
    for lib in map(Lib, (glassjax, jax)):
        f, args = program(lib)
        first = lib.lib.device_put(args[0], lib.sharding(*spec))
        out = lib.lib.tree.leaves(lib.lib.jit(f)(first, *args[1:]))
        outs.append([(np.asarray(x), tuple(x.sharding.spec)) for x in out])
        seen.append(lib.seen)
        for x, y in zip(out, lib.lib.tree.leaves(f(*args)), strict=True):
            np.testing.assert_allclose(x, y)
    assert seen[0] == seen[1]
    assert program is inside_shard_map or seen[0]
    for (x, of_x), (y, of_y) in zip(*outs, strict=True):
        np.testing.assert_allclose(x, y)
        assert of_x == of_y


def test_what_is_refused():
    lib = Lib(glassjax)
    x = glassjax.device_put(X, lib.sharding("a"))
    make = lib.module.custom_partitioning

    def divided(partition, rule="i j -> i j", fun=lambda x: x * 2):
        f = make(fun)
        f.def_partition(partition, sharding_rule=rule)
        return glassjax.jit(f)(x)

    def parts(mesh, args, result):
        return mesh, lambda x: x.sum(), result.sharding, (args[0].sharding,)

    with pytest.raises(Exception, match="must return f32"):
        divided(parts)
    with pytest.raises(Exception, match="must return shardings"):
        divided(lambda mesh, args, result: (mesh, lambda x: x, None, (None,)))
    with pytest.raises(Exception, match="mine"):
        divided(lambda mesh, args, result: {}["mine"])
    with pytest.raises(ValueError, match="has 1 axes"):
        divided(parts, "i -> i")
    with pytest.raises(ValueError, match="closes over arrays"):
        divided(parts, fun=lambda y: y * x)
    with pytest.raises(ValueError, match="call def_partition first"):
        make(lambda x: x)(x)
    f = make(lambda x: x * 2)
    f.def_partition(parts, infer_sharding_from_operands=parts)
    with pytest.raises(NotImplementedError, match="pass a sharding_rule"):
        f(x)
    f.def_partition(parts, sharding_rule="i j -> i j")
    with pytest.raises(NotImplementedError, match="no rule for its derivative"):
        glassjax.grad(lambda x: f(x).sum())(x)
    with pytest.raises(NotImplementedError, match="nor for vmap"):
        glassjax.vmap(f)(x)


def test_a_program_with_a_partition_is_not_kept_on_disk(tmp_path):
    before = glassjax.config.compilation_cache_dir
    lib = Lib(glassjax)
    f, _ = cumulative(lib)
    with glassjax.config.override(enable_compilation_cache=True):
        try:
            glassjax.config.update("compilation_cache_dir", str(tmp_path))
            glassjax.jit(f)(glassjax.device_put(X, lib.sharding("a")))
        finally:
            glassjax.config.update("compilation_cache_dir", before)
    assert len(lib.seen) == 2
