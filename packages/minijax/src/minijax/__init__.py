"""minijax: JAX rebuilt from first principles. The full library, with JAX's public names.

It is built on four stages, `minijax_stage1` to `minijax_stage4`, each a package to learn from.
"""

# ruff: noqa: F401
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

# What sets the methods of arrays, and what declares settings, which the environment may give.
import minijax.lax.precision as _precision
import minijax.numpy.array_methods as _array_methods
import minijax.runtime.devices as _devices
import minijax.runtime.devices as _guards
import minijax.settings.options as _debugging
import minijax.settings.options as _effort_levels
import minijax.settings.options as _jax_options
import minijax.settings.options as _prng
from minijax.settings.facades import lazy_facade as _lazy_facade
from minijax_stage2.source import hide_frames_of as _hide_frames_of

if _TYPE_CHECKING:
    from minijax import (
        ad,
        ad_checkpoint,
        api_util,
        checkpoints,
        core,
        custom_batching,
        custom_derivatives,
        debug,
        distributed,
        dlpack,
        dtypes,
        errors,
        experimental,
        export,
        extend,
        ffi,
        flatten_util,
        image,
        interpreters,
        lax,
        memory,
        nn,
        numpy,
        ops,
        profiler,
        random,
        ref,
        scipy,
        sharding,
        stages,
        test_util,
        tree,
        tree_util,
        typing,
        version,
    )
    from minijax.as_jax import coverage, install_as_jax
    from minijax.callbacks import effects_barrier, pure_callback
    from minijax.checks import (
        check_tracer_leaks,
        checking_leaks,
        clear_caches,
        print_environment_info,
    )
    from minijax.custom_derivatives import (
        closure_convert,
        custom_gradient,
        custom_jvp,
        custom_vjp,
    )
    from minijax.errors import explain_error
    from minijax.explaining.explain import explain
    from minijax.explaining.recorder import record
    from minijax.lax.precision import default_matmul_precision
    from minijax.lax.resharding import reshard
    from minijax.lax.sharding import device_put
    from minijax.numpy.indexing import ds
    from minijax.parallel.pmap import pmap
    from minijax.parallel.shard_map import shard_map, smap
    from minijax.ref import empty_ref, free_ref, freeze, new_ref
    from minijax.runtime.array import Array, Shard
    from minijax.runtime.devices import (
        Device,
        array_garbage_collection_guard,
        block_until_ready,
        copy_to_host_async,
        default_backend,
        default_device,
        device_count,
        device_get,
        devices,
        host_count,
        host_id,
        host_ids,
        live_arrays,
        local_device_count,
        local_devices,
        process_count,
        process_index,
        process_indices,
        thread_guard,
        transfer_guard,
        transfer_guard_device_to_device,
        transfer_guard_device_to_host,
        transfer_guard_host_to_device,
    )
    from minijax.runtime.evaluation import (
        enable_x64,
        ensure_compile_time_eval,
        numpy_dtype_promotion,
        numpy_rank_promotion,
    )
    from minijax.runtime.jit import Inline, jit
    from minijax.runtime.make_array import (
        make_array_from_callback,
        make_array_from_process_local_data,
        make_array_from_single_device_arrays,
    )
    from minijax.runtime.named_scope import named_call, named_scope
    from minijax.runtime.refs import Ref
    from minijax.runtime.staging import ShapeDtypeStruct, eval_shape, make_jaxpr
    from minijax.settings.config import config
    from minijax.settings.options import (
        CompilerEffortLevel,
        allow_f16_reductions,
        auto_pcast,
        debug_infs,
        debug_key_reuse,
        debug_nans,
        default_prng_impl,
        disable_jit,
        enable_checks,
        enable_custom_prng,
        explain_cache_misses,
        jax2tf_associative_scan_reductions,
        legacy_prng_key,
        log_compiles,
        make_user_context,
        no_execution,
        no_tracing,
        remove_size_one_mesh_axis_from_type,
        softmax_custom_jvp,
        threefry_partitionable,
    )
    from minijax.shardings.mesh import (
        get_abstract_mesh,
        get_mesh,
        make_mesh,
        set_mesh,
        use_abstract_mesh,
    )
    from minijax.shardings.partition_spec import PartitionSpec as P
    from minijax.shardings.sharding import NamedSharding
    from minijax.transforms.checkpoint import checkpoint, checkpoint_policies
    from minijax.transforms.checkpoint import checkpoint as remat
    from minijax.transforms.transformations import (
        fwd_and_bwd,
        grad,
        hessian,
        jacfwd,
        jacobian,
        jacrev,
        jvp,
        linear_transpose,
        linearize,
        typeof,
        value_and_grad,
        vjp,
        vmap,
    )
    from minijax.version import __version__ as __version__
    from minijax.version import __version_info__ as __version_info__
    from minijax_stage2.shaped_array import float0

__all__ = [
    "Array", "CompilerEffortLevel", "Device", "Inline", "NamedSharding", "P", "Ref",
    "ShapeDtypeStruct", "Shard", "ad", "ad_checkpoint", "allow_f16_reductions", "api_util",
    "array_garbage_collection_guard", "auto_pcast", "block_until_ready", "check_tracer_leaks",
    "checking_leaks", "checkpoint",
    "checkpoint_policies", "checkpoints", "clear_caches", "closure_convert", "config",
    "copy_to_host_async", "core", "coverage", "custom_batching", "custom_derivatives",
    "custom_gradient", "custom_jvp", "custom_vjp", "debug", "debug_infs", "debug_key_reuse",
    "debug_nans", "default_backend", "default_device", "default_matmul_precision",
    "default_prng_impl", "device_count", "device_get", "device_put", "devices", "disable_jit",
    "distributed", "dlpack", "ds", "dtypes", "effects_barrier", "empty_ref", "enable_checks",
    "enable_custom_prng", "enable_x64", "ensure_compile_time_eval", "errors", "eval_shape",
    "experimental", "explain", "explain_cache_misses", "explain_error", "export", "extend",
    "ffi", "flatten_util", "float0", "free_ref", "freeze", "fwd_and_bwd", "get_abstract_mesh",
    "get_mesh", "grad", "hessian", "host_count", "host_id", "host_ids", "image", "install_as_jax",
    "interpreters", "jacfwd", "jacobian", "jacrev", "jax2tf_associative_scan_reductions", "jit",
    "jvp", "lax", "legacy_prng_key", "linear_transpose", "linearize", "live_arrays",
    "local_device_count", "local_devices", "log_compiles", "make_array_from_callback",
    "make_array_from_process_local_data", "make_array_from_single_device_arrays", "make_jaxpr",
    "make_mesh", "make_user_context", "memory", "named_call", "named_scope", "new_ref", "nn",
    "no_execution", "no_tracing", "numpy", "numpy_dtype_promotion", "numpy_rank_promotion", "ops",
    "pmap", "print_environment_info", "process_count", "process_index", "process_indices",
    "pure_callback", "random", "record", "ref", "remat", "remove_size_one_mesh_axis_from_type",
    "reshard", "scipy", "set_mesh", "shard_map", "sharding", "smap", "softmax_custom_jvp", "stages",
    "test_util", "thread_guard", "threefry_partitionable", "transfer_guard",
    "transfer_guard_device_to_device", "transfer_guard_device_to_host",
    "transfer_guard_host_to_device", "tree", "tree_util", "typeof", "typing", "use_abstract_mesh",
    "value_and_grad", "version", "vjp", "vmap",
]  # fmt: skip

_hide_frames_of(__file__)


def _finish(name: str, value: _Any) -> _Any:
    if name == "Device":  # jaxlib's class, and jaxlib is imported when it is first needed
        from minijax.xla import device_class

        return device_class()
    return value


def _otherwise(module: str, name: str) -> _Any:
    if name in ("device_put_replicated", "device_put_sharded"):
        raise AttributeError(
            f"{name} was removed from JAX: use device_put with a NamedSharding of a mesh of the "
            "devices, of the shards stacked along an axis that the mesh divides, or of the one "
            "value for all with an empty PartitionSpec"
        )
    raise AttributeError(f"module {module!r} has no attribute {name!r}")


_lazy_facade(globals(), _finish, _otherwise)
