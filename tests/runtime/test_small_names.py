"""Names, attributes and results that take one line to compare with JAX."""

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
from tables import for_each

import glassjax
import glassjax.ad_checkpoint
import glassjax.debug
import glassjax.export
import glassjax.extend
import glassjax.extend.core
import glassjax.interpreters.batching
import glassjax.interpreters.mlir

X = np.float32(3)


# Errors.
def test_classes_of_errors(lib):
    errors = lib.errors
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
        lib.jit(lambda x: float(x))(X)
    with pytest.raises(errors.JAXIndexError):
        lib.jit(lambda x: x[x > 0])(np.ones(3, np.float32))
    with pytest.raises(errors.JAXTypeError, match="mine"):
        raise errors.JAXTypeError("mine")


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
    assert eval(line, {**globals(), "j": glassjax}) == expected
