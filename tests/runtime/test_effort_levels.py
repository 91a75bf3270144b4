"""Smaller names of JAX, held against JAX's: levels of effort, effects, checks, stacks of names."""

import importlib
import io

import jax
import jax.debug
import jax.errors
import jax.export
import jax.extend
import jax.ffi
import jax.interpreters.batching
import jax.interpreters.mlir
import numpy as np
import pytest
from jax import ad_checkpoint as _jax_ad_checkpoint  # noqa: F401
from jax.experimental import io_callback as jax_io_callback
from tables import for_each

import minijax
import minijax.ad_checkpoint
import minijax.debug
import minijax.export
import minijax.extend
import minijax.extend.core
import minijax.interpreters.batching
import minijax.interpreters.mlir
from minijax.experimental import io_callback
from minijax.transforms import custom_vmap, transformations

X = np.float32(3)
BOTH = pytest.mark.parametrize("j", [jax, minijax], ids=["jax", "minijax"])

# Levels of effort.
LEVELS = ["UNKNOWN", "O0", "O1", "O2", "O3"]


def test_levels_of_effort_are_jaxs():
    ours, theirs = minijax.CompilerEffortLevel, jax.CompilerEffortLevel
    assert [(x.name, x.value) for x in ours] == [(x.name, x.value) for x in theirs]
    assert [ours(name).value for name in LEVELS] == [theirs(name).value for name in LEVELS]


@BOTH
@pytest.mark.parametrize("option", ["optimization_level", "memory_fitting_level"])
def test_programs_are_compiled_with_levels_of_effort(j, option):
    for level in ("O1", 29, j.CompilerEffortLevel.O0):
        assert j.jit(lambda x: x * 2, compiler_options={option: level})(X) == 6
    for wrong in ("O9", 5, "foo"):
        with pytest.raises(ValueError, match="is not a valid CompilerEffortLevel"):
            j.jit(lambda x: x * 2, compiler_options={option: wrong})(X)
    compiled = j.jit(lambda x: x + 1).lower(X).compile({option: j.CompilerEffortLevel.O1})
    assert compiled(X) == 4


@BOTH
@for_each(
    ("setting", "value"),
    [("optimization_level", "O1"), ("memory_fitting_level", "O0"),
     ("disable_most_optimizations", True)],
)  # fmt: skip
def test_settings_say_the_effort_for_all_programs(j, setting, value):
    before = j.config.values[f"jax_{setting}"]
    j.config.update(f"jax_{setting}", value)
    try:
        assert j.jit(lambda x: x * 3)(X) == 9
    finally:
        j.config.update(f"jax_{setting}", before)


def test_options_of_a_program_come_before_the_settings():
    chosen = minijax.jit(lambda x: x, compiler_options={"optimization_level": "O3"})
    with minijax.config.override(optimization_level="O1", disable_most_optimizations=True):
        plain = minijax.jit(lambda x: x).lower(X).compiler_options
        assert plain["optimization_level"] == 19
        assert plain["xla_backend_optimization_level"] == 0
        assert chosen.lower(X).compiler_options["optimization_level"] == 39
    with minijax.config.override(disable_most_optimizations=False):
        assert minijax.jit(lambda x: x).lower(X).compiler_options == {}


def test_levels_reach_the_options_of_jaxlib():
    from minijax.xla.clients import options_with

    build = options_with({"optimization_level": 19}).executable_build_options
    assert build.optimization_level == 19
    assert build.memory_fitting_level == 0


# Errors.
@BOTH
def test_classes_of_errors(j):
    errors = j.errors
    for name in (
        "ConcretizationTypeError", "TracerArrayConversionError", "TracerBoolConversionError",
        "TracerIntegerConversionError", "UnexpectedTracerError", "KeyReuseError",
    ):  # fmt: skip
        assert issubclass(getattr(errors, name), errors.JAXTypeError)
    assert issubclass(errors.NonConcreteBooleanIndexError, errors.JAXIndexError)
    assert issubclass(errors.JAXTypeError, TypeError)
    assert issubclass(errors.JAXIndexError, IndexError)
    assert issubclass(errors.InconclusiveDimensionOperation, Exception)
    with pytest.raises(errors.JAXTypeError):
        j.jit(lambda x: float(x))(X)
    with pytest.raises(errors.JAXIndexError):
        j.jit(lambda x: x[x > 0])(np.ones(3, np.float32))
    with pytest.raises(errors.JAXTypeError, match="mine"):
        raise errors.JAXTypeError("mine")


# Effects.
@BOTH
@for_each("ordered", [False, True])
def test_programs_have_effects(j, ordered):
    def printing(x):
        j.debug.print("{}", x, ordered=ordered)
        return x

    call = io_callback if j is minijax else jax_io_callback
    expected = j.debug.OrderedDebugEffect if ordered else j.debug.DebugEffect
    nested = lambda x: j.lax.scan(lambda c, _: (j.jit(printing)(c), None), x, length=2)[0]  # noqa: E731
    for function in (printing, j.jit(printing), nested):
        jaxpr = j.make_jaxpr(function)(X)
        assert list(map(type, jaxpr.effects)) == [expected]
        assert {e for eqn in jaxpr.eqns for e in eqn.effects} == set(jaxpr.effects)
    assert j.make_jaxpr(lambda x: x * 2)(X).effects == set()
    (io_effect,) = j.make_jaxpr(lambda x: call(abs, x, x, ordered=ordered))(X).effects
    assert str(type(io_effect).__name__) == ("OrderedIOEffect" if ordered else "IOEffect")
    assert str(expected()) == ("OrderedDebug" if ordered else "Debug")


# Checks of exports.
@pytest.mark.newest_jax
@BOTH
def test_disabled_checks_of_exports(j):
    check = j.export.DisabledSafetyCheck
    assert [str(check.platform()), repr(check.custom_call("a"))] == ["platform", "custom_call:a"]
    assert [check.platform().is_custom_call(), check.custom_call("a").is_custom_call()] == [
        None,
        "a",
    ]
    assert check.custom_call("a") == check.custom_call("a") != check.custom_call("b")
    assert len({check.platform(), check.platform(), check.custom_call("b")}) == 2
    call = j.ffi.ffi_call("no_function", j.ShapeDtypeStruct((), "float32"))
    foreign = j.jit(lambda x: j.jit(lambda y: call(y) + 1)(x))
    with pytest.raises(ValueError, match=r"custom_call\('"):
        j.export.export(foreign)(X)
    allowed = (check.custom_call("no_function"),)
    exported = j.export.export(foreign, disabled_checks=allowed)(X)
    assert tuple(exported.disabled_safety_checks) == allowed
    with pytest.raises((TypeError, AttributeError)):
        j.export.export(foreign, disabled_checks=["platform"])(X)
    lowest = j.export.minimum_supported_calling_convention_version
    highest = j.export.maximum_supported_calling_convention_version
    assert lowest <= exported.calling_convention_version <= highest == 10


@BOTH
def test_programs_for_another_platform_run_where_the_check_is_disabled(j):
    check = j.export.DisabledSafetyCheck.platform()
    double = j.jit(lambda x: x * 2)
    with pytest.raises(ValueError, match="platform"):
        j.export.export(double, platforms=["cuda"])(X).call(X)
    exported = j.export.export(double, platforms=["cuda"], disabled_checks=[check])(X)
    assert exported.call(X) == 6
    if j is jax:  # which writes files by a package that need not be there
        return
    loaded = j.export.deserialize(exported.serialize(vjp_order=1))
    assert loaded.call(X) == 6
    assert tuple(loaded.disabled_safety_checks) == (check,)
    assert j.grad(loaded.call)(X) == 2


# Kinds of devices.
@pytest.mark.newest_jax
@BOTH
def test_abstract_devices(j):
    device = j.sharding.AbstractDevice("cpu", None, "cpu")
    assert repr(device) == "AbstractDevice(device_kind=cpu, num_cores=None, platform=cpu)"
    assert device == j.sharding.AbstractDevice("cpu", num_cores=None, platform="cpu")
    types = (j.sharding.AxisType.Explicit,)
    mesh = j.sharding.AbstractMesh((2,), ("x",), types, abstract_device=device)
    assert mesh.abstract_device is device
    assert mesh != j.sharding.AbstractMesh((2,), ("x",), types)
    assert j.sharding.AbstractMesh((2,), ("x",)).axis_types == types
    assert str(mesh) == (
        "AbstractMesh('x': 2, axis_types=(Explicit,), device_kind=cpu, num_cores=None, "
        "platform=cpu)"
    )


# Stacks of names.
def of_stacks(j):
    module = j.extend.source_info_util
    stack = module.new_name_stack("a")
    yield str(stack)
    yield str(module.new_name_stack()), len(module.new_name_stack())
    yield str(stack.extend("b").transform("jvp"))
    yield str(stack.transform("jvp").extend("c").extend("d"))
    yield str(stack.transform("jvp").transform("vmap").extend("c"))
    yield len(stack), str((stack + stack.extend("c"))[1:])
    yield str(module.current_name_stack())
    with j.named_scope("x"), module.extend_name_stack("y") as inside:
        yield str(inside), str(module.current_name_stack())
        with module.reset_name_stack():
            yield str(module.current_name_stack())
        with module.set_name_stack(stack):
            yield str(module.current_name_stack())
        with module.transform_name_stack("vmap") as transformed:
            yield str(transformed), str(module.current_name_stack())
            with j.named_scope("z"):
                yield str(module.current_name_stack())
        found = []

        def f(x):
            found.append(str(module.current_name_stack()))
            with j.named_scope("in"):
                found.append(str(module.current_name_stack()))
            return x

        j.jit(f)(1.0)
        yield found
    yield str(module.current_name_stack())
    yield stack == module.new_name_stack("a"), hash(stack) == hash(module.new_name_stack("a"))


def test_stacks_of_names_agree():
    assert [*of_stacks(minijax)] == [*of_stacks(jax)]


def test_equations_say_the_names_of_the_parts_they_are_in():
    def names(j):
        def f(x):
            with j.named_scope("outer"):
                x = x * 2
                with j.named_scope("inner"):
                    return j.lax.sin(x)

        closed = j.make_jaxpr(lambda x: f(x) + 1)(1.0)
        return [(e.primitive.name, str(e.source_info.name_stack)) for e in closed.jaxpr.eqns]

    assert names(minijax) == names(jax)


def test_names_are_in_compiled_programs():
    module = minijax.extend.source_info_util

    def f(x):
        with module.transform_name_stack("mine"), minijax.named_scope("part"):
            return minijax.numpy.sin(x)

    assert "mine(part)/sin" in minijax.jit(f).lower(X).compile().as_text()


# Linear functions with a transpose.
def divided(j):
    return lambda x, r=2.0: j.custom_derivatives.linear_call(
        lambda r, x: x / r, lambda r, ct: 7 * ct / r, r, x
    )


CALLS = {
    "eager": lambda j, f: f(3.0),
    "jit": lambda j, f: j.jit(f)(3.0),
    "grad": lambda j, f: j.grad(f)(3.0),
    "grad of jit": lambda j, f: j.grad(j.jit(f))(3.0),
    "jvp": lambda j, f: j.jvp(f, (3.0,), (1.0,)),
    "linearize": lambda j, f: j.linearize(f, 3.0)[1](1.0),
    "transpose": lambda j, f: j.linear_transpose(f, 1.0)(1.0),
    "transpose twice": lambda j, f: j.linear_transpose(
        lambda y: j.linear_transpose(f, 1.0)(y)[0], 1.0
    )(1.0),
    "grad of product": lambda j, f: j.grad(lambda x: f(x) * f(x))(3.0),
    "second": lambda j, f: j.grad(j.grad(lambda x: f(x) ** 3))(3.0),
    "value": lambda j, f: j.value_and_grad(lambda x: f(x * 2, 4.0))(3.0),
}


def test_linear_calls_agree():
    def called(j):
        return {name: call(j, divided(j)) for name, call in CALLS.items()}

    theirs = jax.jit(lambda: called(jax))()
    for ours in (called(minijax), minijax.jit(lambda: called(minijax))()):
        minijax.tree.map(np.testing.assert_allclose, ours, theirs)


@BOTH
def test_linear_calls_of_trees(j):
    call = j.custom_derivatives.linear_call

    def f(x, y):
        return call(
            lambda r, xs: {"sum": r[0] * xs[0] + xs[1]},
            lambda r, ct: (r[0] * ct["sum"], ct["sum"]),
            (2.0,),
            (x, y),
        )["sum"]

    assert f(3.0, 4.0) == 10
    assert j.grad(f, (0, 1))(3.0, 4.0) == (2, 1)


def test_linear_calls_are_mapped_and_residuals_differentiated_where_jax_cannot():
    f, xs = divided(minijax), minijax.numpy.arange(3.0)
    np.testing.assert_allclose(minijax.vmap(f)(xs), xs / 2)
    np.testing.assert_allclose(minijax.vmap(minijax.grad(f))(xs), np.full(3, 3.5))
    np.testing.assert_allclose(minijax.vmap(f)(xs, xs + 1), xs / (xs + 1))
    np.testing.assert_allclose(minijax.grad(f, 1)(3.0, 2.0), -3 / 4)


@BOTH
def test_wrong_transposes_are_errors(j):
    def f(transpose):
        return lambda x: j.custom_derivatives.linear_call(lambda r, x: x, transpose, (), x)

    with pytest.raises(TypeError):
        j.grad(f(lambda r, ct: (ct, ct)))(3.0)
    with pytest.raises(ValueError, match="float32" if j is jax else "f32"):
        j.grad(f(lambda r, ct: ct * j.numpy.ones(3)))(X)


@BOTH
def test_named_values_of_forward_rules(j):
    named = j.ad_checkpoint.checkpoint_name_fwd
    jaxpr = j.make_jaxpr(lambda x: named({"a": x}, "kept"))(X)
    assert [eqn.params["name"] for eqn in jaxpr.eqns] == ["kept"]
    assert j.grad(lambda x: named(x, "kept") ** 2)(X) == 6


def test_the_linear_part_of_custom_derivatives_is_a_primitive():
    (eqn,) = minijax.make_jaxpr(divided(minijax))(X).eqns
    assert eqn.primitive is minijax.extend.core.primitives.custom_lin_p


# Classes that vmap maps over by functions of their library.
class Pair:
    """Examples along an axis, and what all of them share."""

    def __init__(self, x, y):
        self.x, self.y = x, y


@BOTH
def test_vmap_maps_over_registered_classes(j, monkeypatch):
    seen = []

    def to_elt(cont, get_idx, pair, spec):
        seen.append(spec)
        return Pair(cont(pair.x, spec), pair.y)

    def from_elt(cont, axis_size, pair, spec):
        return Pair(cont(axis_size, pair.x, spec), pair.y)

    batching = j.interpreters.batching
    if j is minijax:  # whose vmap does without what is registered, until something is
        monkeypatch.setattr(custom_vmap, "vmappables", vmappables := {})
        monkeypatch.setattr(transformations, "vmappables", vmappables)
    batching.register_vmappable(Pair, int, int, to_elt, from_elt, None)
    batching.unregister_vmappable(Pair)  # of no effect
    pair, xs = Pair(j.numpy.arange(6.0).reshape(3, 2), 7.0), j.numpy.arange(3.0)
    f = lambda pair, s: Pair(pair.x * s, pair.y)  # noqa: E731
    out = j.vmap(f, axis_size=3)(pair, xs)
    np.testing.assert_array_equal(out.x, [[0, 0], [2, 3], [8, 10]])
    assert out.y == 7.0
    out = j.vmap(f, in_axes=(1, None), out_axes=1, axis_size=2)(pair, 2.0)
    np.testing.assert_array_equal(out.x, [[0, 2], [4, 6], [8, 10]])
    assert j.vmap(lambda pair: pair.x.sum() + pair.y, axis_size=3)(pair).tolist() == [8, 12, 16]
    assert j.jit(lambda xs: j.vmap(lambda x: Pair(x, 1))(xs).x)(xs).tolist() == [0, 1, 2]
    assert j.vmap(lambda x: x * 2)(xs).tolist() == [0, 2, 4]
    assert seen == [0, 1, 0]
    with pytest.raises(ValueError, match="axis_size"):
        j.vmap(lambda pair: pair)(pair)  # nothing says how many examples there are


@BOTH
@for_each("has_side_effect", [False, True])
def test_lowering_rules_call_python(j, has_side_effect):
    def rule(ctx, x):
        double = lambda x: (np.asarray(x) * 2,)  # noqa: E731
        (out,), token, keepalive = j.interpreters.mlir.emit_python_callback(
            ctx, double, None, [x], ctx.avals_in, ctx.avals_out, has_side_effect=has_side_effect
        )
        assert token is None
        ctx.module_context.add_keepalive(keepalive)
        return [out]

    double_p = j.extend.core.Primitive(f"double_{has_side_effect}")
    double_p.def_abstract_eval(lambda x: x)
    j.interpreters.mlir.register_lowering(double_p, rule)
    assert j.jit(lambda x: double_p.bind(x) + 1)(X) == 7


@BOTH
def test_vectorized_functions_return_trees_that_have_a_shape(j):
    class Tree:
        def __init__(self, leaf):
            self.leaf = leaf
            self.shape = np.shape(leaf)

    j.tree_util.register_pytree_node(Tree, lambda t: ((t.leaf,), None), lambda _, xs: Tree(*xs))
    f = j.numpy.vectorize(lambda k: Tree(j.numpy.arange(3.0) * k), signature="()->(n)")
    assert f(j.numpy.ones(4)).leaf.shape == (4, 3)


# Names, attributes and results of one line.
def failing_call(j):
    def fail(x):
        raise ZeroDivisionError

    try:
        j.jit(lambda x: j.pure_callback(fail, x, x))(X).block_until_ready()
    except j.errors.JaxRuntimeError as error:
        return error.error_code, type(error.error_message)


def in_shard_map(j):
    found = []
    mesh = j.make_mesh((1,), ("x",), axis_types=(j.sharding.AxisType.Auto,))
    spec = j.sharding.PartitionSpec("x")

    def f(x):
        found.append(j.typeof(x).manual_axis_type)
        return x

    j.jit(j.shard_map(f, mesh=mesh, in_specs=spec, out_specs=spec)).lower(np.ones(2, np.float32))
    mat = found[0].update(varying=frozenset())
    return (
        str(found),
        mat == j.sharding.ManualAxisType(),
        isinstance(mat, j.sharding.ManualAxisType),
    )


def user_context(j):
    context = j.make_user_context(3)
    found = [context.get_global(), context.value]
    context.set_global(5)
    with context(7):
        found += [context.get_global(), context.value]
    found += [context.get_global(), context.value]
    context.set_global(3)
    return found


def closed_jaxpr(j):
    closed = j.make_jaxpr(lambda x, y: (x * np.arange(3, dtype=np.float32), y))(X, X)
    return [
        [len(program.invars), len(program.outvars), len(program.constvars), program.num_consts,
         len(program.all_invars), program.is_high, len(program.eqns)]
        for program in (closed, closed.jaxpr)
    ]  # fmt: skip


def removed(j):
    for name in ("device_put_sharded", "device_put_replicated"):
        with pytest.raises(AttributeError, match=rf"{name}.*use (jax\.)?device_put"):
            getattr(j, name)


def like(j):
    mesh = j.make_mesh((1,), ("x",))
    sharding = j.sharding.NamedSharding(mesh, j.sharding.PartitionSpec("x"))
    x = j.device_put(j.numpy.ones(3, "int8"), sharding)
    kinds = x, j.numpy.ones(2), 2.0, np.ones((2, 3), np.float32), j.ShapeDtypeStruct((), "int8")
    found = [j.ShapeDtypeStruct.like(kind) for kind in kinds]
    traced = []
    j.jit(lambda x: traced.append(j.ShapeDtypeStruct.like(x)))(X)
    return [(x.shape, x.dtype, x.weak_type, x.sharding is None) for x in [*found, *traced]]


def infinite_inits(j):
    n, infinity = j.numpy.arange(6, dtype="int32"), np.inf
    return [
        j.lax.reduce_window(n, -infinity, j.lax.max, (2,), (2,), "VALID").tolist(),
        j.lax.reduce_window(n, infinity, j.lax.min, (2,), (2,), "VALID").tolist(),
        int(j.lax.reduce(n, np.float32(-infinity), j.lax.max, (0,))),
    ]


def equal_cotangents_of_integers(j):
    cotangent = j.jit(lambda n: j.vjp(lambda n: n * 2.0, n)[1](1.0)[0])(1)
    return bool(cotangent == cotangent)


def loaded_bfloat16(j):
    file = io.BytesIO()
    j.numpy.save(file, j.numpy.array([1.5, 2.0], "bfloat16"))
    file.seek(0)
    loaded = j.numpy.load(file)
    return isinstance(loaded, j.Array), loaded.dtype, loaded.astype("float32").tolist()


def what_rules_are_given(j):
    """The implementation of a primitive is called on tracers, and rules are given tuples."""
    library = j.__name__
    ad, batching, core = (
        importlib.import_module(f"{library}.{name}")
        for name in ("interpreters.ad", "interpreters.batching", "extend.core")
    )
    given = []

    def rule(values, others):
        given.append((type(values), type(others)))
        return j.numpy.add(*values), (others[0] if isinstance(others[0], int) else values[0])

    p = core.Primitive("p")
    p.def_impl(j.numpy.add)
    p.def_abstract_eval(lambda x, y: x)
    ad.primitive_jvps[p] = batching.primitive_batchers[p] = rule
    j.jvp(p.bind, (X, X), (X, X))
    j.vmap(p.bind)(j.numpy.ones(2), j.numpy.ones(2))
    jaxpr = j.make_jaxpr(lambda x: p.impl(j.numpy.sin(x), x))(X)
    return given, [eqn.primitive.name for eqn in jaxpr.eqns]


def function_of_a_custom_call(j):
    f = j.custom_jvp(j.numpy.sin)
    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0]))
    (eqn,) = j.make_jaxpr(f)(X).eqns
    params = eqn.primitive.get_bind_params(eqn.params)
    (out,) = eqn.primitive.bind(X, **params)
    return np.allclose(out, params["subfuns"][0].call_wrapped(X)[0])


def products_of_floats_of_a_byte(j):
    """Products of float8 and wider operands, or in a wider dtype, and their derivatives."""
    e4, e5, f32 = (np.full((2, 2), 0.5, j.numpy.dtype(d)) for d in EIGHT_BITS)
    numbers = (((1,), (0,)), ((), ()))

    def product(x, y):
        return j.lax.dot_general(x, y, numbers, preferred_element_type=np.float32)

    pairs = (e4, e4), (e4, e5), (e4, f32), (f32, e5)
    found = [product(*pair) for pair in pairs]
    for x, y in pairs:
        found += j.grad(lambda x, y: product(x, y).sum(), (0, 1))(x, y)
    found.append(j.lax.dot_general(e4, f32, numbers))
    return [(x.dtype, x.astype("float32").tolist()) for x in found]


EIGHT_BITS = "float8_e4m3fn", "float8_e5m2", "float32"
SPEC = "(lambda P: {})(j.sharding.PartitionSpec)"
ONE_LINERS = [
    *map(SPEC.format, ["P('a') == ('a',)", "('a',) == P('a')", "P('a') == P('a')", "P() == ()",
                       "P(('a',)) == P('a')", "hash(P('a', None)) == hash(P('a', None))"]),
    "type(j.lax.top_k(j.numpy.arange(4.0), 2))",
    "type(j.jit(lambda x: j.lax.top_k(x, 2))(j.numpy.arange(4.0)))",
    "type(j.lax.approx_min_k(j.numpy.arange(4.0), 2))",
    "type(j.numpy.top_k(j.numpy.arange(4.0), 2))",
    "float(j.lax.add_p.impl(1.0, 2.0))",
    "float(j.jit(lambda: j.lax.mul_p.impl(X, X))())",
    "str(j.typeof(X).manual_axis_type)",
    "j.errors.JaxRuntimeError('abc').error_code",
    *(f"{function.__name__}(j)" for function in (
        failing_call, in_shard_map, user_context, closed_jaxpr, removed, like, infinite_inits,
        equal_cotangents_of_integers, loaded_bfloat16, what_rules_are_given,
        function_of_a_custom_call, products_of_floats_of_a_byte,
    )),
]  # fmt: skip


@for_each("line", ONE_LINERS, ids=ONE_LINERS)
def test_lines_give_what_they_give_in_jax(line):
    expected = eval(line, {**globals(), "j": jax})
    assert eval(line, {**globals(), "j": minijax}) == expected


# What JAX says is deprecated.
@BOTH
def test_meshes_as_contexts_are_deprecated(j):
    mesh = j.make_mesh((1,), ("x",))
    with pytest.warns(DeprecationWarning, match="with mesh:"), mesh:
        pass
