"""`trace`, `lower`, `compile` and `eval_shape`."""

import gc
import weakref
from collections import namedtuple

import numpy as np
import pytest
from rows import for_each

import glassjax
import glassjax.numpy as jnp
from glassjax import Array, ShapeDtypeStruct, enable_x64, eval_shape, grad, jit, make_jaxpr, stages
from glassjax.core import Jaxpr, typecheck_jaxpr
from glassjax.errors import JaxRuntimeError
from glassjax_stage2 import ShapedArray

X = np.arange(3.0)
CONSTANT = np.array([1.0, 2.0, 4.0])


def f(params, x, *, n=2):
    return {"y": params["w"] * x + CONSTANT * n, "n": (x.shape[0], None)}


class AnyType:
    """Not glassjax's, but it has a shape and a dtype."""

    shape = (3,)
    dtype = np.float64


TYPES = [X, jnp.asarray(X), ShapeDtypeStruct((3,), "float64"), ShapedArray((3,), np.float64)]
TYPES.append(AnyType())


@for_each("x", TYPES)
def test_whatever_has_a_type_may_stand_for_an_array(x):
    traced = jit(f).trace({"w": 2.0}, x)
    assert traced.out_info["y"] == ShapeDtypeStruct((3,), "float64")
    assert str(traced.jaxpr) == str(make_jaxpr(f)({"w": 2.0}, x))
    assert jit(f).eval_shape({"w": 2.0}, x) == eval_shape(f, {"w": 2.0}, x) == traced.out_info
    compiled = jit(f).lower({"w": 2.0}, x).compile()
    assert compiled({"w": 2.0}, X)["y"].tolist() == [2.0, 6.0, 12.0]


@for_each(
    "trace",
    [
        lambda f: eval_shape(f, X),
        lambda f: str(make_jaxpr(f)(X)),
        lambda f: make_jaxpr(f)(X).debug_info,
        lambda f: jit(f).trace(X).jaxpr.debug_info,
        lambda f: jit(f).lower(X).compile(),
    ],
)
def test_a_traced_function_is_freed(trace):
    """The description of a program once kept the program, and with it the function, for ever."""

    def traced():
        def function(x):
            return x * 2

        trace(function)
        return weakref.ref(function)

    reference = traced()
    gc.collect()
    assert reference() is None


class TestTraced:
    def test_the_program_and_its_types(self):
        traced = jit(f, static_argnames="n").trace({"w": 2.0}, X, n=3)
        assert isinstance(traced, stages.Traced)
        assert isinstance(traced.jaxpr, Jaxpr)
        typecheck_jaxpr(traced.jaxpr.jaxpr)
        assert [x.tolist() for x in traced.jaxpr.consts] == [(3 * CONSTANT).tolist()]
        assert (traced.fun_name, repr(traced)) == ("f", "<Traced of `f`>")
        assert traced.in_avals == (
            ({"w": ShapedArray((), np.float64, True)}, ShapedArray((3,), np.float64)),
            {},
        )
        assert [str(aval) for aval in traced.out_avals] == ["i64[]", "f64[3]"]
        assert traced.out_tree == glassjax.tree.structure({"y": 0, "n": (0, None)})

    def test_tracing_is_shared_with_calls(self):
        count = 0

        @jit
        def g(x):
            nonlocal count
            count += 1
            return x + 1

        g.trace(X), g.lower(X), g.eval_shape(X), g(X), g.lower(X).compile()(X)
        assert count == 1

    def test_what_is_no_type(self):
        for stage in (jit(f).trace, jit(f).lower, jit(f).eval_shape):
            with pytest.raises(TypeError, match=r"argument params\['w'\]: expected an array"):
                stage({"w": "heavy"}, X)


class TestLowered:
    def test_the_text(self):
        lowered = jit(f).lower({"w": 2.0}, X)
        assert "stablehlo.multiply" in lowered.as_text()
        assert "loc(" not in lowered.as_text()
        assert f'loc("{__file__}"' in lowered.as_text(debug_info=True)
        assert lowered.as_text("stablehlo") == lowered.as_text()
        assert lowered.as_text("hlo").startswith("HloModule jit_f")
        assert lowered.compiler_ir().operation.name == "builtin.module"
        assert lowered.compiler_ir("hlo").program_shape().parameter_shapes()
        for stage in (lowered.as_text, lowered.compiler_ir):
            with pytest.raises(ValueError, match="'stablehlo' or 'hlo', found 'llvm'"):
                stage("llvm")

    def test_the_cost_before_optimisation(self):
        cost = jit(lambda x: (jnp.sin(x) + 1) * 2).lower(X).cost_analysis()
        assert cost["flops"] == 6
        assert cost["transcendentals"] == 3

    def test_what_is_donated(self):
        lowered = jit(f, donate_argnums=0).lower({"w": X}, X)
        assert lowered.args_info[0][0]["w"].donated is True
        assert lowered.args_info[0][1] == (ShapedArray((3,), np.float64), False)
        assert (lowered.args_info[0][1].shape, lowered.args_info[0][1].dtype) == ((3,), np.float64)
        assert lowered.donate_argnums == (0,)
        assert lowered.as_text().count("tf.aliasing_output = 1 : i32") == 1


class TestCompiled:
    def test_what_it_says_of_itself(self):
        compiled = jit(f, donate_argnums=1).lower({"w": X}, X).compile()
        assert "HloModule" in compiled.as_text()
        assert compiled.cost_analysis()["flops"] > 0
        memory = compiled.memory_analysis()
        assert memory.alias_size_in_bytes == memory.argument_size_in_bytes // 3 == 24
        assert compiled.in_tree == glassjax.tree.structure((({"w": 0}, 0), {}))
        assert compiled.out_tree == glassjax.tree.structure({"y": 0, "n": (0, None)})
        assert compiled.out_info["n"][0].dtype == np.int64

    def test_it_donates(self):
        compiled = jit(lambda x, y: x + y, donate_argnums=0).lower(X, 1.0).compile()
        x = jnp.asarray(X)
        out = compiled(x, 1.0)
        assert type(out) is Array
        assert out.tolist() == [1.0, 2.0, 3.0]
        assert x.is_deleted()
        with pytest.raises(RuntimeError, match=r"was donated to `<lambda>`"):
            compiled(x, 1.0)

    def test_it_takes_what_it_was_compiled_for(self):
        compiled = jit(lambda x, y, unused: x + y).lower(X, 1.0, X).compile()
        assert compiled(X, 2.0, X).tolist() == [2.0, 3.0, 4.0]
        for call, message in (
            (
                lambda: compiled(X, X, X),
                r"was compiled for f64\[3\], f64\[\], f64\[3\], called with",
            ),
            (lambda: compiled(X, 1.0), "was compiled for arguments of structure"),
            (lambda: jit(compiled)(X, 1.0, X), "is compiled, so it can no longer"),
        ):
            with pytest.raises(TypeError, match=message):
                call()

    def test_with_32_bits(self):
        with enable_x64(False):
            f = jit(lambda x, y: x + y)
            compiled = f.lower(X, 1.0).compile()
            assert [str(aval) for aval in compiled._leaf_avals] == ["f32[3]", "f32[]"]
            assert compiled(X, 2.0).dtype == f(X, 2.0).dtype == np.float32
            assert jit(lambda x: x + 1, donate_argnums=0)(X).dtype == np.float32
        with pytest.raises(TypeError, match=r"was compiled for f32\[3\]"):
            compiled(X, 2.0)
        assert f(X, 2.0).dtype == np.float64

    def test_options_of_xla(self):
        lowered = jit(lambda x: x + 1).lower(X)
        compiled = lowered.compile(compiler_options={"xla_cpu_enable_fast_math": True})
        assert compiled(X).tolist() == [1.0, 2.0, 3.0]
        with pytest.raises(JaxRuntimeError, match=r"does not accept compiler_options"):
            lowered.compile(compiler_options={"xla_no_such_option": True})


class TestTypesOfResults:
    def test_make_jaxpr(self):
        jaxpr, shape = make_jaxpr(lambda x, n: {"a": x * n}, static_argnums=1, return_shape=True)(
            X, 3
        )
        assert "mul" in str(jaxpr)
        assert shape == {"a": ShapeDtypeStruct((3,), "float64")}
        assert "sin" in str(make_jaxpr(jnp.sin)(ShapeDtypeStruct((2,), "float32")))
        with pytest.raises(ValueError, match=r"not hashable"):
            make_jaxpr(lambda x, n: x, static_argnums=1)(X, [3])
        with pytest.raises(TypeError, match=r"make_jaxpr: expected a function"):
            make_jaxpr(3)

    def test_eval_shape_computes_nothing(self):
        huge = ShapeDtypeStruct((10**6, 10**6), "float32")
        Pair = namedtuple("Pair", "a b")
        out = eval_shape(lambda x: Pair(x @ x, jnp.sum(x)), huge)
        assert out == Pair(huge, ShapeDtypeStruct((), "float32"))
        assert eval_shape(grad(lambda x: jnp.sum(x * x)), X) == ShapeDtypeStruct((3,), "float64")

    def test_shape_dtype_struct(self):
        struct = ShapeDtypeStruct((2, 3), jnp.float32)
        assert (struct.ndim, struct.size, len(struct)) == (2, 6, 2)
        assert struct == ShapeDtypeStruct([2, 3], "float32")
        assert struct == ShapeDtypeStruct((2, 3), "float32", sharding=None)
        assert struct.sharding is None
        here = glassjax.sharding.SingleDeviceSharding(glassjax.devices()[0])
        assert ShapeDtypeStruct((2,), "float32", sharding=here).update(shape=()).sharding == here
        assert struct != struct.update(sharding=here)
        with pytest.raises(ValueError, match="sharding must be a Sharding"):
            struct.update(sharding="here")
        assert hash(struct) == hash(ShapeDtypeStruct([2, 3], "float32"))
        assert struct != ShapeDtypeStruct((2, 3), "float64")
        assert struct != ShapeDtypeStruct((2, 3), "float32", weak_type=True)
        assert repr(struct) == "ShapeDtypeStruct(shape=(2, 3), dtype=float32)"
        for bad, error in (((-1,), "float32"), TypeError), (((1,), "text"), TypeError):
            with pytest.raises(error):
                ShapeDtypeStruct(*bad)
        with pytest.raises(TypeError, match=r"scalar"):
            len(ShapeDtypeStruct((), "float32"))
