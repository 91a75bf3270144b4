"""The text of types, tracers, arrays, shardings, functions and stages, beside JAX.

Expressions are evaluated by both libraries; addresses, and the modules of classes, may differ.
"""

import collections
import dataclasses
import functools
import re
from types import SimpleNamespace

import jax
import numpy as np
from tables import for_each

import glassjax
from fuzzing import text_differences

X = np.arange(3, dtype=np.float32)
M = np.ones((2, 3), np.float32)
Point = collections.namedtuple("Point", "x y")


def library(lib):
    names = ("numpy", "lax", "random", "sharding", "tree", "tree_util", "memory")
    modules = {name: getattr(lib, name) for name in names}
    return SimpleNamespace(jax=lib, np=lib.numpy, P=lib.sharding.PartitionSpec, **modules)


LIBRARIES = [library(glassjax), library(jax)]


def normalised(x):
    text = x if isinstance(x, str) else repr(x)
    text = re.sub(r"0x[0-9a-f]+|(?<=id=)\d+(?=\))", "", text)
    return re.sub(r"\b(glassjax|jax|jaxlib)(\.\w+)*\.(?=\w)", "", text)


def texts(x):
    return [repr(x), str(x), f"{x}", [x], {"x": x}]


def mesh(j, *types):
    types = types or ("Auto",)
    names = ("x", "y")[: len(types)]
    axis_types = tuple(getattr(j.sharding.AxisType, name) for name in types)
    return j.jax.make_mesh((1,) * len(types), names, axis_types=axis_types)


def sharded(j, *types):
    return j.jax.device_put(j.np.asarray(M), j.sharding.NamedSharding(mesh(j, *types), j.P("x")))


ARRAYS = {
    "vector": lambda j: j.np.asarray(X),
    "matrix": lambda j: j.np.asarray(M),
    "weak float": lambda j: j.np.asarray(1.0),
    "weak int": lambda j: j.np.asarray(1),
    "scalar": lambda j: j.np.float32(2),
    "small ints": lambda j: j.np.array([1, 2], "int8"),
    "bfloat16": lambda j: j.np.ones(2, j.np.bfloat16),
    "float8": lambda j: j.np.ones(2, j.np.float8_e4m3fn),
    "bool": lambda j: j.np.array([True, False]),
    "complex": lambda j: j.np.array([1 + 2j], "complex64"),
    "not finite": lambda j: j.np.array([np.nan, np.inf, -np.inf], "float32"),
    "very different": lambda j: j.np.array([1e-10, 1e10]),
    "empty": lambda j: j.np.zeros((0, 3)),
    "long": lambda j: j.np.arange(2000),
    "wide": lambda j: j.np.arange(60.0),
    "large": lambda j: j.np.zeros((200, 200)),
    "three axes": lambda j: j.np.arange(8).reshape(2, 2, 2),
    "key": lambda j: j.random.key(0),
    "keys": lambda j: j.random.split(j.random.key(0, impl="rbg"), 2),
    "reference": lambda j: j.jax.new_ref(j.np.asarray(X)),
    "divided": sharded,
    "explicit": lambda j: sharded(j, "Explicit", "Auto"),
}


@for_each("name", ARRAYS)
def test_arrays(name):
    def shown(j):
        x = ARRAYS[name](j)
        aval = j.jax.typeof(x)
        more = [aval.str_short(), aval.str_short(short_dtypes=True)] if name != "reference" else []
        if name not in ("key", "keys", "reference"):
            more += [repr(x.sharding), repr(x.at), repr(x.at[0]), repr(x.addressable_shards)]
            more += [repr(j.jax.ShapeDtypeStruct(x.shape, x.dtype)), str(x.dtype)]
        return texts(x) + texts(aval) + more

    ours, theirs = map(shown, LIBRARIES)
    assert normalised(ours) == normalised(theirs)


def traced(wrap, x):
    """The texts of a tracer, and of its type."""
    found = []

    def f(x):
        found.append(texts(x) + texts(x * 2) + texts(lib.jax.typeof(x)))
        return lib.np.sum(x)

    for lib in LIBRARIES:
        wrap(lib)(f)(x(lib) if callable(x) else x)
    return found


def in_scan(j):
    return lambda f: j.jax.jit(lambda x: j.lax.scan(lambda c, a: (c + f(a), a), 0.0, x))


def in_while(j):
    def until(f):
        step = lambda c: (c[0] + 1, c[1] + f(c[1]))  # noqa: E731
        return j.jax.jit(lambda x: j.lax.while_loop(lambda c: c[0] < 1, step, (0, x)))

    return until


def in_shard_map(j):
    P, m = j.P, mesh(j)
    return lambda f: j.jax.jit(
        j.jax.shard_map(lambda x: f(x)[None], mesh=m, in_specs=P("x"), out_specs=P("x"))
    )


TRACERS = {
    "jit": (lambda j: j.jax.jit, X),
    "weak float": (lambda j: j.jax.jit, 1.0),
    "weak int": (lambda j: j.jax.jit, 1),
    "bool": (lambda j: j.jax.jit, True),
    "explicit": (lambda j: j.jax.jit, ARRAYS["explicit"]),
    "make_jaxpr": (lambda j: j.jax.make_jaxpr, X),
    "eval_shape": (lambda j: lambda f: lambda x: j.jax.eval_shape(f, x), X),
    "vmap": (lambda j: j.jax.vmap, M),
    "vmap of vmap": (lambda j: lambda f: j.jax.vmap(j.jax.vmap(f)), np.ones((2, 3, 4))),
    "grad": (lambda j: j.jax.grad, X),
    "grad of a number": (lambda j: j.jax.grad, 2.0),
    "jvp": (lambda j: lambda f: lambda x: j.jax.jvp(f, (x,), (x,)), X),
    "linearize": (lambda j: lambda f: lambda x: j.jax.linearize(f, x), X),
    "vjp": (lambda j: lambda f: lambda x: j.jax.vjp(f, x), X),
    "grad in jit": (lambda j: lambda f: j.jax.jit(j.jax.grad(f)), X),
    "jit in grad": (lambda j: lambda f: j.jax.grad(j.jax.jit(f)), X),
    "grad in vmap": (lambda j: lambda f: j.jax.vmap(j.jax.grad(f)), M),
    "vmap in jit": (lambda j: lambda f: j.jax.jit(j.jax.vmap(f)), M),
    "jit in vmap": (lambda j: lambda f: j.jax.vmap(j.jax.jit(f)), M),
    "jacfwd": (lambda j: j.jax.jacfwd, X),
    "hessian": (lambda j: j.jax.hessian, X),
    "checkpoint": (lambda j: j.jax.checkpoint, X),
    "scan": (in_scan, X),
    "while": (in_while, X),
    "shard_map": (in_shard_map, X),
}


@for_each("name", TRACERS)
def test_tracers(name):
    ours, theirs, *_ = traced(*TRACERS[name])
    assert normalised(ours) == normalised(theirs)


class Model:
    def method(self, x):
        return x


def function(x, *, k=1):
    """What it does."""
    return x


FUNCTIONS = {
    "function": function,
    "lambda": lambda x: x,
    "method": Model().method,
}
TRANSFORMATIONS = {
    "jit": lambda j: j.jax.jit,
    "grad": lambda j: j.jax.grad,
    "value_and_grad": lambda j: j.jax.value_and_grad,
    "jacfwd": lambda j: j.jax.jacfwd,
    "jacrev": lambda j: j.jax.jacrev,
    "vmap": lambda j: j.jax.vmap,
    "checkpoint": lambda j: j.jax.checkpoint,
    "make_jaxpr": lambda j: j.jax.make_jaxpr,
    "vectorize": lambda j: j.np.vectorize,
    "named_call": lambda j: j.jax.named_call,
    "named_scope": lambda j: j.jax.named_scope("scope"),
    "custom_jvp": lambda j: j.jax.custom_jvp,
    "custom_vjp": lambda j: j.jax.custom_vjp,
    "custom_vmap": lambda j: j.jax.custom_batching.custom_vmap,
    "shard_map": lambda j: functools.partial(
        j.jax.shard_map, mesh=mesh(j), in_specs=j.P(), out_specs=j.P()
    ),
    "grad of jit": lambda j: lambda f: j.jax.grad(j.jax.jit(f)),
    "jit of grad": lambda j: lambda f: j.jax.jit(j.jax.grad(f)),
    "Partial": lambda j: j.tree_util.Partial,
}


def described(f):
    """What is to be seen of a function; an error where there is no such name."""
    found = [repr(f), type(f).__name__]
    for name in ("__name__", "__qualname__", "__wrapped__"):
        try:
            found.append(repr(getattr(f, name)))
        except AttributeError:
            found.append(name)
    return [*found, bool(f.__doc__)]


@for_each("name", TRANSFORMATIONS)
def test_transformed_functions(name):
    for f in FUNCTIONS.values():
        ours, theirs = (described(TRANSFORMATIONS[name](j)(f)) for j in LIBRARIES)
        assert normalised(ours) == normalised(theirs)


def jaxpr_of(f, *args):
    return lambda j: j.jax.make_jaxpr(f(j))(*args)


sine = jaxpr_of(lambda j: lambda x: j.np.sin(x) * 2.5 + j.np.array([1.0, 2.0, 3.0]), X)
nested = jaxpr_of(lambda j: j.jax.jit(lambda x: j.np.sin(x) * 2), X)
branches = jaxpr_of(lambda j: lambda x: j.lax.cond(x[0] > 0, j.np.sin, j.np.cos, x), X)
TREES = {
    "leaf": 1,
    "list": [1, None],
    "dict": {"b": 1, "a": (2,)},
    "nothing": None,
    "named": Point(1, 2),
    "ordered": collections.OrderedDict(a=1),
    "default": collections.defaultdict(int, a=1),
    "deque": collections.deque([1]),
}


def printing(j):
    return lambda x: j.jax.debug.print("{}", x)


def registered(j):
    @dataclasses.dataclass
    class Pair:
        a: int
        b: int

    return j.tree_util.register_dataclass(Pair, ["a", "b"], [])(1, 2)


def lowered(j):
    return j.jax.jit(function, donate_argnums=0).lower(X)


TEXTS = {
    "closed jaxpr": lambda j: texts(sine(j)) + texts(sine(j).jaxpr),
    "equations": lambda j: texts(sine(j).eqns[0]) + [str(eqn) for eqn in sine(j).eqns],
    "equation of a program": lambda j: texts(nested(j).eqns[0]),
    "literal": lambda j: texts(sine(j).eqns[1].invars[1]),
    "primitive": lambda j: texts(sine(j).eqns[0].primitive),
    "inner jaxpr": lambda j: str(nested(j).eqns[0].params["jaxpr"]),
    "inner jaxprs": lambda j: str(branches(j).eqns[-1].params["branches"]),
    "effects": lambda j: [sine(j).effects, jaxpr_of(printing, 1.0)(j).effects],
    "treedefs": lambda j: {n: texts(j.tree.structure(tree)) for n, tree in TREES.items()},
    "registered": lambda j: j.tree.structure(registered(j)),
    "paths": lambda j: j.tree_util.tree_flatten_with_path({"a": [registered(j)], "b": Point(1, 2)})[
        0
    ],
    "keys": lambda j: [
        [repr(key), str(key)]
        for key in (
            j.tree_util.DictKey("a"),
            j.tree_util.SequenceKey(1),
            j.tree_util.GetAttrKey("a"),
            j.tree_util.FlattenedIndexKey(2),
        )
    ],
    "Partial": lambda j: texts(j.tree_util.Partial(max, 1, key=2)),
    "struct": lambda j: texts(j.jax.ShapeDtypeStruct((2, 3), "float32")),
    "weak struct": lambda j: texts(j.jax.ShapeDtypeStruct((), "float32", weak_type=True)),
    "struct of keys": lambda j: texts(j.jax.eval_shape(lambda: j.random.key(0))),
    "divided struct": lambda j: j.jax.ShapeDtypeStruct(
        (4,), "float32", sharding=j.sharding.NamedSharding(mesh(j), j.P("x"))
    ),
    "structs": lambda j: j.jax.eval_shape(lambda x: {"a": x, "b": (x.sum(), 1.0)}, X),
    "types": lambda j: j.tree.map(j.jax.typeof, {"a": X, "b": (1.0, 2, True, 1j)}),
    "mesh": lambda j: texts(mesh(j)) + texts(mesh(j, "Auto", "Explicit")),
    "abstract mesh": lambda j: (
        texts(j.sharding.AbstractMesh((2,), ("x",), axis_types=(j.sharding.AxisType.Manual,)))
        + texts(j.sharding.AbstractMesh((), ()))
    ),
    "axis types": lambda j: [texts(each) for each in j.sharding.AxisType],
    "specs": lambda j: [
        texts(spec)
        for spec in (j.P(), j.P("x"), j.P(None, "x"), j.P(("x", "y"), None), j.P(j.P.UNCONSTRAINED))
    ],
    "named sharding": lambda j: texts(
        j.sharding.NamedSharding(mesh(j, "Auto", "Explicit"), j.P("x", None))
    ),
    "abstract sharding": lambda j: j.sharding.NamedSharding(
        j.sharding.AbstractMesh((2,), ("x",), (j.sharding.AxisType.Auto,)), j.P("x")
    ),
    "single device": lambda j: texts(j.sharding.SingleDeviceSharding(j.jax.devices()[0])),
    "device": lambda j: texts(j.jax.devices()[0]),
    "memory": lambda j: [texts(each) for each in j.memory.Space],
    "format": lambda j: texts(j.np.asarray(X).format),
    "dtypes": lambda j: [texts(j.np.dtype(name)) for name in ("float32", "bfloat16", "int4")],
    "scalar types": lambda j: [repr(j.np.float32), repr(j.np.bfloat16), repr(j.np.int4)],
    "finfo": lambda j: [texts(j.np.finfo(name)) for name in ("float32", "bfloat16", "float16")],
    "iinfo": lambda j: [texts(j.np.iinfo(name)) for name in ("int8", "uint4", "int64")],
    "implementation": lambda j: texts(j.random.key_impl(j.random.key(0))),
    "info of arguments": lambda j: [lowered(j).args_info, lowered(j).in_avals, lowered(j).in_tree],
    "info of results": lambda j: [lowered(j).out_info, lowered(j).out_tree],
    "compiled": lambda j: [
        lowered(j).compile().args_info,
        lowered(j).compile().in_tree,
        lowered(j).compile().input_shardings,
        lowered(j).compile().output_shardings,
    ],
    "traced": lambda j: [j.jax.jit(function).trace(X).jaxpr, j.jax.jit(function).trace(X).out_info],
    "precision": lambda j: texts(j.lax.Precision.HIGHEST),
    "algorithm": lambda j: (
        texts(j.lax.DotAlgorithmPreset.F32_F32_F32)
        + texts(j.lax.DotAlgorithm(np.float32, np.float32, np.float32))
    ),
    "modes": lambda j: [
        texts(each)
        for each in (
            j.lax.GatherScatterMode.CLIP,
            j.lax.RandomAlgorithm.RNG_DEFAULT,
            j.lax.FftType.FFT,
            j.lax.RoundingMethod.TO_NEAREST_EVEN,
            j.lax.AccuracyMode.HIGHEST,
        )
    ],
    "dimension numbers": lambda j: [
        j.lax.GatherDimensionNumbers((0,), (0,), (0,)),
        j.lax.ScatterDimensionNumbers((0,), (0,), (0,)),
        j.lax.conv_dimension_numbers((1, 1, 2), (1, 1, 2), ("NCH", "OIH", "NCH")),
    ],
    "ufunc": lambda j: texts(j.np.add),
    "reference in jit": lambda j: (
        j.jax.eval_shape(lambda x: SEEN.append(repr(j.jax.new_ref(x))) or x, X) and SEEN.pop()
    ),
    "eqn.params": lambda j: str(sine(j).eqns[0].params),
    "formatted": lambda j: [f"{j.np.float32(2.5):.2f}", "%s %r" % ((j.np.asarray(X),) * 2)],
}
SEEN = []


@for_each("name", TEXTS)
def test_texts(name):
    ours, theirs = (TEXTS[name](j) for j in LIBRARIES)
    assert normalised(ours) == normalised(theirs)


# Expressions whose texts differ, by the names that their reasons have.
DIFFERENT = {
    "`x.aval`": lambda j: j.np.asarray(X).aval,
    "`repr` of a variable of a jaxpr": lambda j: sine(j).eqns[0].invars[0],
    "dtypes of random keys": lambda j: j.random.key(0).dtype,
    "`Traced`, `Lowered` and `Compiled`": lowered,
    "functions made by `vjp` and `linearize`": lambda j: j.jax.vjp(function, X)[1],
    "functions made of callables without a name": lambda j: j.jax.grad(
        functools.partial(function, k=2)
    ),
    "`mesh.abstract_mesh`": lambda j: mesh(j).abstract_mesh,
    "`print(x)` in `shard_map` outside of `jit`": lambda j: within(
        lambda f: j.jax.shard_map(f, mesh=mesh(j), in_specs=j.P(), out_specs=j.P()), j
    ),
    "values computed under `vmap(f, in_axes=1)`": lambda j: within(
        lambda f: j.jax.vmap(lambda x: f(x * 2), in_axes=1), j
    ),
}


def within(wrap, j):
    """The text of the argument of a function, in the function."""
    found = []
    wrap(lambda x: found.append(repr(x)) or x)(j.np.asarray(M))
    return found


@for_each("name", text_differences.DIFFERENT)
def test_the_texts_that_are_listed_differ(name):
    ours, theirs = map(DIFFERENT[name], LIBRARIES)
    assert normalised(ours) != normalised(theirs)
