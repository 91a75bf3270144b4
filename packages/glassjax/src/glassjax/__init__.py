"""glassjax: JAX rebuilt from first principles. The full library, with JAX's public names.

It is built on four stages, `glassjax_stage1` to `glassjax_stage4`, each a package to learn from.
"""

# ruff: noqa: F401
from typing import Any as _Any

# What sets the methods of arrays, and what declares settings, which the environment may give.
import glassjax.lax.precision as _precision
import glassjax.numpy.array_methods as _array_methods
import glassjax.runtime.devices as _devices
import glassjax.settings.options as _options
from glassjax.settings.facades import lazy_facade as _lazy_facade
from glassjax_stage2.source import hide_frames_of as _hide_frames_of

_hide_frames_of(__file__)


def _finish(name: str, value: _Any) -> _Any:
    if name == "Device":  # jaxlib's class, and jaxlib is imported when it is first needed
        from glassjax.xla import device_class

        return device_class()
    return value


def _otherwise(module: str, name: str) -> _Any:
    if name in ("device_put_replicated", "device_put_sharded"):
        raise AttributeError(
            f"{name} was removed from JAX: use device_put with a NamedSharding of a mesh of the "
            "devices, of the shards stacked along an axis sharded over the mesh, or of the one "
            "value for all with an empty PartitionSpec"
        )
    raise AttributeError(f"module {module!r} has no attribute {name!r}")


_lazy_facade(
    globals(),
    {
        ".": """
            ad ad_checkpoint api_util checkpoints core custom_batching custom_derivatives debug
            distributed dlpack dtypes errors experimental export extend ffi flatten_util image
            interpreters lax memory nn numpy ops profiler random ref scipy sharding stages test_util
            tree tree_util typing version
        """,
        ".as_jax": "coverage install_as_jax",
        ".callbacks": "effects_barrier pure_callback",
        ".checks": "check_tracer_leaks checking_leaks clear_caches print_environment_info",
        ".errors": "explain_error",
        ".explaining.explain": "explain",
        ".explaining.memory": "explain_memory",
        ".explaining.recorder": "record",
        ".lax.placement": "device_put",
        ".lax.precision": "default_matmul_precision",
        ".lax.resharding": "reshard",
        ".numpy.indexing": "ds",
        ".parallel.jacobian": "hessian jacfwd jacobian jacrev",
        ".parallel.pmap": "pmap",
        ".parallel.shard_map": "shard_map smap",
        ".parallel.vmap": "vmap",
        ".ref": "empty_ref free_ref freeze new_ref",
        ".runtime.array": "Array Shard",
        ".runtime.devices": """
            Device array_garbage_collection_guard block_until_ready copy_to_host_async
            default_backend default_device device_count device_get devices host_count host_id
            host_ids live_arrays local_device_count local_devices process_count process_index
            process_indices thread_guard transfer_guard transfer_guard_device_to_device
            transfer_guard_device_to_host transfer_guard_host_to_device
        """,
        ".runtime.evaluation": """
            enable_x64 ensure_compile_time_eval numpy_dtype_promotion numpy_rank_promotion
        """,
        ".runtime.inlining": "Inline",
        ".runtime.jit": "jit",
        ".runtime.make_array": """
            make_array_from_callback make_array_from_process_local_data
            make_array_from_single_device_arrays
        """,
        ".runtime.named_scope": "named_call named_scope",
        ".runtime.refs": "Ref",
        ".runtime.staging": "ShapeDtypeStruct eval_shape make_jaxpr",
        ".settings.config": "config",
        ".settings.options": """
            CompilerEffortLevel allow_f16_reductions auto_pcast debug_infs debug_key_reuse
            debug_nans default_prng_impl disable_jit enable_checks enable_custom_prng
            explain_cache_misses jax2tf_associative_scan_reductions legacy_prng_key log_compiles
            make_user_context no_execution no_tracing remove_size_one_mesh_axis_from_type
            softmax_custom_jvp threefry_partitionable
        """,
        ".shardings.mesh": "get_abstract_mesh get_mesh make_mesh set_mesh use_abstract_mesh",
        ".shardings.partition_spec": "PartitionSpec:P",
        ".shardings.sharding": "NamedSharding",
        ".transforms.autodiff": """
            fwd_and_bwd grad jvp linear_transpose linearize typeof value_and_grad vjp
        """,
        ".transforms.checkpoint": "checkpoint checkpoint:remat checkpoint_policies",
        ".transforms.custom_derivatives": "closure_convert custom_gradient custom_jvp custom_vjp",
        ".version": "__version__ __version_info__",
        "glassjax_stage2.shaped_array": "float0",
    },
    _finish,
    _otherwise,
)
