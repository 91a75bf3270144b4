"""`interpreters.mlir`, `interpreters.pxla` and lowering rules, beside JAX."""

from importlib import import_module

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

pytestmark = pytest.mark.compiled_anew


X = np.arange(3, dtype=np.float32)


def both(program):
    """What a program returns, given the modules of one library, is the same for the other."""
    found = [
        program(lib, import_module(f"{lib.__name__}.interpreters.mlir")) for lib in (jax, glassjax)
    ]
    assert str(found[1]) == str(found[0])


def applied(lib, mlir, rule, *args):
    """The results of a primitive with a lowering rule, whose types are those of its operands."""
    core = import_module(f"{lib.__name__}.extend.core")
    p = core.Primitive("of_a_rule")
    p.multiple_results = True
    p.def_abstract_eval(lambda *avals: list(avals))
    mlir.register_lowering(p, rule)
    outs = lib.jit(p.bind)(*args)
    return [(np.asarray(x).tolist(), x.dtype) for x in outs]


def test_types_and_constants_of_mlir():
    def program(lib, mlir):
        with mlir.make_ir_context(), mlir.ir.Location.unknown():
            kind = mlir.ir.RankedTensorType.get((2,), mlir.ir.F32Type.get())
            return [
                kind, mlir.token_type(), mlir.DEVICE_TO_DEVICE_TYPE, mlir.SEND_TO_HOST_TYPE,
                mlir.RECV_FROM_HOST_TYPE, mlir.Mesh.__name__, mlir.Value,
            ]  # fmt: skip

    both(program)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_trees_of_values_and_types():
    def program(lib, mlir):
        with mlir.make_ir_context():
            f32, i32 = mlir.ir.F32Type.get(), mlir.ir.IntegerType.get_signless(32)
            nested = [f32, (i32, [f32]), ()]
            flat, tree = mlir.ir_tree_registry.flatten(nested)
            return [
                flat, tree.unflatten([1, 2, 3]), mlir.flatten_ir_types(nested),
                mlir.unflatten_ir_values_like_types([1, 2, 3], nested),
            ]  # fmt: skip

    both(program)


class Twice:
    def __init__(self, value):
        self.value = value


def test_constants_of_classes():
    def program(lib, mlir):
        handler = lambda val, aval: mlir.ir_constant(np.float32(2 * val.value))  # noqa: E731
        mlir.register_constant_handler(Twice, handler)

        def rule(ctx, x):
            (first,) = mlir.ir_constants(np.array([5, 6, 7], np.float32))
            return [first, mlir.ir_constant(Twice(4))][: len(ctx.avals_out)]

        two = lambda ctx, x, y: rule(ctx, x)  # noqa: E731
        return applied(lib, mlir, two, X, X[0])

    both(program)


def test_sizes_as_a_tensor():
    def program(lib, mlir):
        def rule(ctx, x, n):
            return [mlir.shape_tensor(ctx.module_context, [4, n, 5]), n]

        some = applied(lib, mlir, rule, np.zeros(3, np.int32), np.int32(7))
        one = applied(
            lib, mlir, lambda ctx, x: [mlir.shape_tensor(ctx.module_context, [3])],
            np.zeros(1, np.int32),
        )  # fmt: skip
        none = applied(
            lib, mlir, lambda ctx, x: [mlir.shape_tensor(ctx.module_context, [])],
            np.zeros(0, np.int32),
        )  # fmt: skip
        return some, one, none

    both(program)


@pytest.mark.parametrize("way", ["core_call_lowering", "jaxpr_subcomp"])
def test_jaxprs_within_rules(way):
    def program(lib, mlir):
        closed = lib.make_jaxpr(lambda x: [lib.numpy.sin(x) * lib.jit(lib.numpy.cos)(x), x + 1])(X)

        def rule(ctx, x, y):
            if way == "core_call_lowering":
                inner = ctx.replace(avals_in=ctx.avals_in[:1])
                return mlir.core_call_lowering(inner, x, name="inner", call_jaxpr=closed)
            tokens = getattr(ctx, "tokens_in", None)
            outs, after = mlir.jaxpr_subcomp(
                ctx.module_context, closed.jaxpr, getattr(ctx, "name_stack", None), tokens, (), x,
                dim_var_values=(), const_lowering={}, outer_traceback=None,
            )  # fmt: skip
            assert after is tokens or after == tokens or len(after) == 0
            return outs

        return applied(lib, mlir, rule, X, X)

    both(program)


SOURCE = """
module @source {
  func.func public @main(%x: tensor<f32>) -> tensor<f32> {
    %y = func.call @helper(%x) : (tensor<f32>) -> tensor<f32>
    return %y : tensor<f32>
  }
  func.func private @helper(%x: tensor<f32>) -> tensor<f32> {
    return %x : tensor<f32>
  }
}
"""


def test_modules():
    def program(lib, mlir):
        with mlir.make_ir_context():
            target = mlir.ir.Module.parse(SOURCE)
            sources = [mlir.ir.Module.parse(SOURCE) for _ in range(3)]
            names = [
                mlir.merge_mlir_modules(target, name, source)
                for name, source in zip(("main", "added", "added"), sources, strict=True)
            ]
            assert target.operation.verify()
            text = mlir.module_to_string(target)
            again = mlir.ir.Module.parse(mlir.module_to_bytecode(target))
            return (
                len(set(names)),
                names[1],
                mlir.module_to_string(again) == text,
                text.count("@helper"),
            )

    both(program)


def test_contexts():
    def program(lib, mlir):
        lowering = import_module(f"{lib.__name__}.extend.lowering")
        context = lowering.JaxIrContext()
        assert isinstance(context, mlir.ir.Context)
        context.append_dialect_registry(lowering.upstream_dialects)
        context.load_all_available_dialects()
        module = mlir.ir.Module.parse(SOURCE, context)
        assert lowering.LoweringRuleContext is mlir.LoweringRuleContext
        return module.operation.verify()

    both(program)


def test_options_of_compilations():
    def shown(options):
        build, devices = options.executable_build_options, options.device_assignment
        return [
            options.num_replicas, options.num_partitions, options.parameter_is_tupled_arguments,
            dict(options.env_option_overrides), build.use_spmd_partitioning,
            build.use_shardy_partitioner, build.fdo_profile, devices and str(devices),
            build.allow_spmd_sharding_propagation_to_output,
        ]  # fmt: skip

    def program(lib, mlir):
        get = import_module(f"{lib.__name__}.extend.backend").get_compile_options
        create = import_module(f"{lib.__name__}.interpreters.pxla").create_compile_options
        with mlir.make_ir_context():
            module = mlir.ir.Module.parse(SOURCE)
        devices, options = np.array(lib.devices()[:1]), {"xla_dump_to": "there"}
        for wrong in ([[0]], [[0, 1], [2, 3]]):
            with pytest.raises(ValueError, match="device_assignment"):
                get(1, 2, wrong)
        return [
            shown(get(1, 1)), shown(get(2, 1, [3, 4])), shown(get(1, 2, [[0, 1]], options)),
            shown(get(1, 1, devices[None], None, b"profile")),
            shown(create(module, True, [True], [False, True], None, devices, options)),
        ]  # fmt: skip

    both(program)


@pytest.mark.parametrize("stage", ["PRE_SCHEDULER", "POST_SCHEDULER"])
def test_transformations_of_programs(stage):
    def program(lib, mlir):
        xla = import_module(f"{lib.__name__}.extend.xla")
        when, seen = xla.PipelineStage[stage], []
        xla.register_hlo_module_transformation(
            seen.append, name="looks", stage=when, platforms="cpu"
        )
        out = lib.jit(lambda x: x * 3 + len(stage))(X)
        kinds = {type(each) for each in seen}
        cleared = [xla.clear_hlo_module_transformation("looks", when) for _ in range(2)]
        count = len(seen)
        lib.jit(lambda x: x * 5 - len(stage))(X).block_until_ready()
        return kinds, cleared, len(seen) == count, np.asarray(out), when.value

    both(program)


THREE = np.float32(3)


@for_each("has_side_effect", [False, True])
def test_lowering_rules_call_python(lib, has_side_effect):
    def rule(ctx, x):
        double = lambda x: (np.asarray(x) * 2,)  # noqa: E731
        (out,), token, keepalive = lib.interpreters.mlir.emit_python_callback(
            ctx, double, None, [x], ctx.avals_in, ctx.avals_out, has_side_effect=has_side_effect
        )
        assert token is None
        ctx.module_context.add_keepalive(keepalive)
        return [out]

    double_p = lib.extend.core.Primitive(f"double_{has_side_effect}")
    double_p.def_abstract_eval(lambda x: x)
    lib.interpreters.mlir.register_lowering(double_p, rule)
    assert lib.jit(lambda x: double_p.bind(x) + 1)(THREE) == 7
