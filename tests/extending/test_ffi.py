"""`ffi`: one foreign function, called by programs of both libraries."""

import ctypes
import itertools
import shutil
import subprocess
from functools import partial
from pathlib import Path

import jax
import jax.experimental.layout
import jax.ffi
import ml_dtypes
import numpy as np
import pytest
from jax.extend.core import Primitive as TheirPrimitive
from jax.interpreters import mlir as their_mlir
from jaxlib.mlir import ir
from tables import for_each

import glassjax
import glassjax.experimental.layout
import glassjax.extend.core
import glassjax.interpreters.mlir
from glassjax import ffi

SOURCE = Path(__file__).with_name("foreign_functions.cc")
COMPILER = shutil.which("g++") or shutil.which("clang++")
X = np.arange(6, dtype=np.float32).reshape(2, 3)

pytestmark = pytest.mark.skipif(COMPILER is None, reason="needs a C++ compiler")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The compiled functions, registered once for both libraries."""
    path = tmp_path_factory.mktemp("ffi") / "functions.so"
    options = ["-std=c++17", "-O0", "-w", "-shared", "-fPIC", f"-I{ffi.include_dir()}"]
    subprocess.run([COMPILER, *options, str(SOURCE), "-o", str(path)], check=True)
    found = ctypes.CDLL(str(path))
    glassjax.devices()  # types are registered with a client
    for name in ("raw", "shapes", "increase", "count", "fail", "attributes"):
        ffi.register_ffi_target(name, ffi.pycapsule(getattr(found, name)))
    ffi.register_ffi_target("plain function", ffi.pycapsule(found.plain), api_version=0)
    of_type = {}
    for key in ("type_id", "type_info"):
        address = getattr(found, f"start_{key}")
        address.restype = ctypes.c_void_p
        of_type[key] = ffi.pycapsule(address())
    ffi.register_ffi_type("Start", of_type)
    stages = {"instantiate": found.make_start, "execute": found.from_start}
    ffi.register_ffi_target("from_start", {k: ffi.pycapsule(v) for k, v in stages.items()})
    found.number_of_calls.restype = ctypes.c_int64
    return found


def f32(lib, *shape):
    return lib.ShapeDtypeStruct(shape, np.float32)


def like(ours, theirs):
    """Assert that results are the same, of the same dtypes, in the same containers."""
    assert type(ours) is type(theirs) or not isinstance(theirs, list | tuple)
    for x, y in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_array_equal(x, y)
        assert x.dtype == y.dtype


@pytest.mark.parametrize("many", [None, list, tuple])
def test_results_are_in_the_container_of_their_types(library, many):
    def results(lib):
        types = f32(lib, 3, 2) if many is None else many([f32(lib, 3, 2)])
        f = lib.ffi.ffi_call("raw", types)
        return [f(X), lib.jit(f)(X)]

    like(results(glassjax), results(jax))


def test_layouts(library):
    def call(lib, inner, outer, method):
        inner = lib.experimental.layout.Layout((1, 0)) if inner == "layout" else inner
        layouts = {"input_layouts": [inner], "output_layouts": outer}
        return lib.ffi.ffi_call("raw", f32(lib, 2, 3), **layouts, vmap_method=method)

    def results(lib):
        outs = []
        for inner, outer in itertools.product([None, (1, 0), "layout"], [None, (1, 0)]):
            # XLA takes calls that differ in layouts alone for one: no two have the same operand.
            x = X + len(outs)
            outs.append(call(lib, inner, outer, None)(x))
            for method in ("sequential", "expand_dims"):
                f, x = call(lib, inner, outer, method), X + len(outs)
                outs += [lib.vmap(f)(np.stack([x, -x])), lib.vmap(f, 1, 2)(np.stack([x, -x], 1))]
        return outs

    theirs = jax.jit(lambda: results(jax))()
    like(glassjax.jit(lambda: results(glassjax))(), theirs)
    like([call(glassjax, (1, 0), None, None)(X + 10)], theirs[10:11])


METHODS = [
    "sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized",
]  # fmt: skip


def test_what_a_mapped_function_is_given(library):
    x, y = np.ones((4, 3), np.float32), np.ones((3, 4), np.float32)

    def results(lib, method):
        f = lib.ffi.ffi_call("shapes", f32(lib, 2), vmap_method=method)
        once = lib.vmap(f, (0, None))(x, y), lib.vmap(f, (None, 1))(x, y)
        return once, lib.vmap(lib.vmap(f, (None, 0)), (0, None))(x, y)

    ours, theirs = (
        lib.jit(lambda lib=lib: [results(lib, method) for method in METHODS])()
        for lib in (glassjax, jax)
    )
    like(ours, theirs)
    like(results(glassjax, METHODS[0]), theirs[0])


def test_attributes(library):
    def results(lib):
        f = lib.ffi.ffi_call("attributes", lib.ShapeDtypeStruct((8,), np.float64))
        given = {
            "i": -3, "f": 0.1, "b": True, "s": 'a "b"\n\\ü', "f32": np.float32(1e-30),
            "u8": np.uint8(200), "xs": np.array([1, 2, 3], np.int32), "d": {"inner": 2**40},
        }  # fmt: skip
        edge = {**given, "f": -np.inf, "f32": np.float32(np.nan), "xs": np.zeros(0, np.int32)}
        both = [partial(f, **attributes) for attributes in (given, edge)]
        return [g() for f in both for g in (f, lib.jit(f))]

    like(results(glassjax), results(jax))


@for_each(
    "value",
    [
        True, np.bool_(False), 3, -(2**63), 1.5, 1e300, "text", b"\x00\xff", np.int8(-1),
        np.uint64(2**40), np.float16(0.1), ml_dtypes.bfloat16(3), np.dtype("complex64"),
        np.array(2), np.zeros((2, 0)), np.array([[True, False]]), {}, (),
        (1, "a", (np.float32(2),)), {"a b": {"c": [1.0]}},
    ],
)  # fmt: skip
def test_attributes_of_mlir(value):
    def attribute(lib):
        mlir = lib.interpreters.mlir
        with mlir.make_ir_context(), ir.Location.unknown():
            return str(mlir.ir_attribute(value))

    assert attribute(glassjax) == attribute(jax)


@for_each("value", [None, {1, 2}, 1j, np.complex64(1)])
@for_each("lib", [jax, glassjax])
def test_what_is_no_attribute(library, lib, value):
    with pytest.raises(TypeError):
        lib.ffi.ffi_call("raw", f32(lib, 2, 3))(X, value=value)


def test_a_result_in_the_place_of_an_operand(library, lib):
    f = lib.ffi.ffi_call(
        "increase", f32(lib, 2, 3), input_output_aliases={0: 0}, vmap_method="broadcast_all"
    )
    x = lib.numpy.asarray(X)
    for each in (f, lib.jit(f), lib.vmap(lambda row: f(row[None] * np.ones((2, 1), "f"))[0])):
        np.testing.assert_array_equal(each(x), X + 1)
    np.testing.assert_array_equal(x, X)  # a copy is changed
    np.testing.assert_array_equal(lib.jit(lambda x: f(f(x)) + x)(x), 2 * X + 2)


def test_side_effects(library, lib):
    def calls(f, *args):
        before = library.number_of_calls()
        lib.block_until_ready(f(*args))
        lib.effects_barrier()
        return library.number_of_calls() - before

    def unused(has_side_effect, x):
        lib.ffi.ffi_call("count", [], has_side_effect=has_side_effect)()
        lib.ffi.ffi_call("increase", f32(lib, 3), has_side_effect=has_side_effect)(x)
        return x + 1

    x = np.ones(3, np.float32)
    assert calls(unused, True, x) == 2
    assert calls(lib.jit(unused, static_argnums=0), True, x) == 2
    assert calls(lib.jit(unused, static_argnums=0), False, x) == 0
    scan = lib.jit(lambda x: lib.lax.scan(lambda c, _: (unused(True, c), None), x, None, 3)[0])
    assert calls(scan, x) == 6
    cond = lib.jit(lambda x: lib.lax.cond(x[0] > 0, lambda: unused(True, x), lambda: x))
    assert (calls(cond, x), calls(cond, -x)) == (2, 0)
    gradient = lib.jit(lib.grad(lambda x: (unused(True, lib.lax.stop_gradient(x)) * x).sum()))
    assert calls(gradient, x) == 2


def test_derivatives(library, lib):
    f = lib.ffi.ffi_call("increase", f32(lib, 2, 3), input_output_aliases={0: 0})
    with pytest.raises(ValueError, match="custom_jvp"):
        lib.grad(lambda x: f(x).sum())(X)
    with pytest.raises(ValueError, match="custom_jvp"):
        lib.jvp(lib.jit(f), (X,), (X,))
    np.testing.assert_array_equal(lib.jvp(lambda x: f(lib.lax.stop_gradient(x)), (X,), (X,))[1], 0)
    g = lib.custom_jvp(f)
    g.defjvp(lambda xs, ts: (g(*xs), 5 * ts[0]))
    np.testing.assert_array_equal(lib.jit(lib.grad(lambda x: g(x).sum()))(X), np.full_like(X, 5))
    np.testing.assert_array_equal(
        lib.grad(lambda x: (lib.checkpoint(g)(x) * x).sum())(X), 6 * X + 1
    )


def test_a_state_made_at_compile_time(library, lib):
    f = lib.ffi.ffi_call("from_start", f32(lib, 2))
    for value in (1, 2):
        got = lib.jit(lambda value=value: f(value=np.float32(value)))()
        np.testing.assert_array_equal(got, [value, value + 1])


def test_the_interface_before(library, lib):
    f = lib.ffi.ffi_call(
        "plain function", f32(lib), custom_call_api_version=3, legacy_backend_config="four"
    )
    assert lib.jit(f)(np.float32(3)) == 7
    with pytest.raises(ValueError, match="api_version"):
        f(np.float32(3), attribute=1)
    with pytest.raises(ValueError, match="api_version"):
        lib.ffi.ffi_call("raw", f32(lib), legacy_backend_config="four")


def test_errors(library, lib):
    call, raw = lib.ffi.ffi_call, f32(lib, 2, 3)
    with pytest.raises(ValueError, match="vmap_method"):
        call("raw", raw, vmap_method="all")
    with pytest.raises(NotImplementedError, match="vmap_method"):
        lib.vmap(call("raw", f32(lib, 3)))(X)
    with pytest.raises(ValueError, match="result_shape_dtypes"):
        call("raw", [3])(X)
    with pytest.raises(ValueError, match="layouts"):
        call("raw", raw, input_layouts=[])(X)
    with pytest.raises(ValueError, match="layouts"):
        call("raw", [raw], output_layouts=[None, None])(X)
    with pytest.raises(ValueError, match="til"):
        call("raw", raw, input_layouts=[lib.experimental.layout.Layout((0, 1), ((2,),))])(X)
    for aliases in ({1: 0}, {0: 1}):
        with pytest.raises(ValueError, match="input_output_aliases"):
            call("raw", raw, input_output_aliases=aliases)(X)
    with pytest.raises(ValueError, match="input_output_aliases"):
        call("raw", f32(lib, 3, 2), input_output_aliases={0: 0})(X)
    with pytest.raises(ValueError, match="layout"):
        call("raw", raw, input_output_aliases={0: 0}, output_layouts=(1, 0))(X)
    with pytest.raises(Exception, match="this function fails"):
        lib.block_until_ready(lib.jit(call("fail", [], has_side_effect=True))())
    with pytest.raises(Exception, match="is_nowhere"):
        call("is_nowhere", raw)(X)
    with pytest.raises(ValueError, match="register_ffi_type_id"):
        lib.ffi.register_ffi_type_id("a", None)
    with pytest.raises(Exception, match="INVALID_ARGUMENT"):
        lib.ffi.register_ffi_target("a", 3)


def test_a_layout_that_is_none():
    with pytest.raises(ValueError, match=r"each of them once, found \(0, 0\)"):
        ffi.ffi_call("raw", f32(glassjax, 2, 3), input_layouts=[(0, 0)])(X)


def test_routines_of_lapack_are_there():
    matrix = np.array([[4, 1], [2, 3]], np.float32)
    types = [glassjax.ShapeDtypeStruct(s, d) for s, d in (((2, 2), "f4"), ((2,), "i4"), ((), "i4"))]
    f = ffi.ffi_call("lapack_sgetrf_ffi", types, input_output_aliases={0: 0})
    np.testing.assert_array_equal(f(matrix.T)[0].T, glassjax.lax.linalg.lu(matrix)[0])


@pytest.mark.parametrize("layout", [None, (1, 0), (0, 1)])
def test_lowering_rules(library, layout):
    def results(lib, primitive, mlir):
        p = primitive("raw_in_order")
        p.def_abstract_eval(lambda x, **params: x)
        rule = lib.ffi.ffi_lowering(
            "raw",
            operand_layouts=None if layout is None else [layout],
            operand_output_aliases=None,
            backend_config=None,
        )
        mlir.register_lowering(p, rule)
        q = primitive("counted")
        q.def_abstract_eval(lambda x: x)
        build = lib.ffi.build_ffi_lowering_function(
            "increase", has_side_effect=True, operand_output_aliases={0: 0}
        )
        mlir.register_lowering(q, lambda ctx, x: [build(ctx, x).result])
        r = primitive("attributes_of_it")
        r.multiple_results = True
        out = lib.numpy.zeros(8, np.float64)
        r.def_abstract_eval(lambda **params: [lib.typeof(out)])
        config = {"b": True, "s": "ab", "f32": np.float32(1), "u8": np.uint8(3)}
        rule = lib.ffi.ffi_lowering("attributes")
        mlir.register_lowering(
            r,
            lambda ctx, *, i: rule(
                ctx, i=i, f=0.5, d={"inner": 3}, xs=np.arange(3, dtype=np.int32), **config
            ),
        )
        return [lib.jit(p.bind)(X), lib.jit(q.bind)(X), lib.jit(lambda: r.bind(i=7))()]

    ours = results(glassjax, glassjax.extend.core.Primitive, glassjax.interpreters.mlir)
    like(ours, results(jax, TheirPrimitive, their_mlir))


def test_a_function_that_devices_may_divide(library, lib):
    lib.ffi.register_ffi_target_as_batch_partitionable("raw")
    np.testing.assert_array_equal(lib.ffi.ffi_call("raw", f32(lib, 2, 3))(X), X)
    assert lib.ffi.include_dir() == ffi.include_dir()
