"""JAX's settings that mean nothing here, or one thing only, so that programs may name them.

Of the first kind any value is accepted; the description says why it changes nothing. Of the second
kind only the default is, for another value would ask for something that is not here. `str | None`
in the place of a default is a string whose default is None.
"""

import functools
from collections.abc import Callable, Iterator
from types import UnionType
from typing import Any

from minijax.settings.config import Option, config, unlisted_options
from minijax.settings.reusable_contexts import ReusableContext, reusable_context
from minijax_stage2.errors import shown

# By reason, the settings that change nothing here, each with JAX's default.
WITHOUT_EFFECT: dict[str, dict[str, Any]] = {
    "It is about accelerators that are not a CPU or an NVIDIA GPU, or about simulated ones": {
        "backend_target": "", "mock_gpu_topology": "", "mock_num_gpu_processes": 0,
        "mosaic_allow_hlo": False,
        "mosaic_unzip_debug_locations": True, "oneapi_visible_devices": "all",
        "pallas_auto_assign_collective_ids": "no", "pallas_auto_assign_collective_ids_limit": 25,
        "pallas_enable_debug_checks": False, "pallas_poison_buffers": False,
        "pallas_verbose_errors": False, "rocm_visible_devices": "all", "xla_backend": "",
    },
    "Programs for GPUs call the same libraries whatever it says": {
        "bcoo_cusparse_lowering": False, "threefry_gpu_kernel_lowering": False, "use_magma": "auto",
    },
    "It chooses among implementations inside of JAX; here there is one, with the same results": {
        "check_vma": False, "compiler_enable_remat_pass": True, "custom_jvp3": False,
        "custom_vjp3": False, "disable_bwd_checks": False, "disable_vmap_shmap_error": False,
        "disallow_mesh_context_manager": False, "eager_constant_folding": False,
        "embedded_constants_max_bytes": 32, "mutable_array_checks": True,
        "ragged_dot_use_ragged_dot_instruction": True, "remat3": False,
        "remat_barrier_no_cotangents": False, "scan3": False, "use_cpp_shard_args": False,
        "use_direct_linearize": True, "use_emit_pipeline_primitive": False,
        "use_hlo_logistic_lowering": str | None, "use_rgv3": True, "use_shardy_partitioner": True,
        "use_simplified_jaxpr_constants": False, "jax2tf_associative_scan_reductions": False,
        "jax2tf_default_native_serialization": True,
    },
    "Messages, locations and logs here are made in another way": {
        "captured_constants_report_frames": 0, "captured_constants_warn_bytes": 2_000_000_000,
        "compiler_detailed_logging_min_ops": 10, "debug_log_modules": "",
        "include_debug_info_in_dumps": True,
        "include_full_tracebacks_in_locations": True, "log_checkpoint_residuals": False,
        "logging_level": "NOTSET", "pprint_use_color": True, "send_traceback_to_runtime": "off",
        "source_url_schema": str | None, "traceback_in_locations_limit": 100,
        "tracer_error_num_traceback_frames": 5, "debug_leaked_clients_on_clear_backends": False,
    },
    "The disk cache here has one key and one format, and its errors are warnings": {
        "compilation_cache_check_contents": False, "compilation_cache_expect_pgle": False,
        "compilation_cache_include_metadata_in_key": False,
        "persistent_cache_enable_xla_caches": "xla_gpu_per_fusion_autotune_cache_dir",
        "raise_persistent_cache_errors": False,
        "remove_custom_partitioning_ptr_from_cache_key": False,
        "share_binary_between_hosts": False, "share_binary_between_hosts_timeout_ms": 1_200_000,
    },
    "XLA is not given profiles of earlier runs": {
        "enable_pgle": False, "pgle_aggregation_percentile": 90, "pgle_profiling_runs": 3,
        "xla_profile_version": 0,
    },
    "Processes are connected by gloo, with jaxlib's own limits of time": {
        "check_proxy_envs": True, "cpu_collectives_implementation": "gloo",
        "cpu_get_global_topology_timeout_minutes": 5, "cpu_get_local_topology_timeout_minutes": 2,
        "cross_host_transfer_socket_address": "", "cross_host_transfer_timeout_seconds": int | None,
        "cross_host_transfer_transfer_size": int | None, "cross_host_transport_addresses": "",
        "distributed_debug": False, "distributed_verify_secure_credentials": False,
        "enable_preemption_service": True,
        "mtls_ca_file": str | None,
        "mtls_cert_file": str | None,
        "mtls_key_file": str | None,
        "mtls_peer_uri_prefix": str | None, "force_dcn_cross_host_transfers": False,
        "sort_devices_by_process_index": True,
    },
    "Exported programs have one format here": {
        "export_calling_convention_version": 10, "export_deserialize_expired_versions": False,
        "export_ignore_forward_compatibility": False, "serialization_version": 0,
    },
    "All programs are checked as they are made": {
        "enable_checks": False, "raise_on_ppermute_sort_diff": True,
    },
}  # fmt: skip

# By what it would ask for, the settings of which only JAX's default is there.
WITH_ONE_VALUE: dict[str, dict[str, Any]] = {
    "other formulas of the same functions": {
        "accurate_erf_inv": False, "high_dynamic_range_gumbel": False, "softmax_custom_jvp": False,
    },
    "checks of indices, divisions and results in all programs; experimental.checkify has them": {
        "error_checking_behavior_divide": "ignore",
        "error_checking_behavior_nan": "ignore", "error_checking_behavior_oob": "ignore",
        "experimental_unsafe_xla_runtime_errors": False,
    },
    "options of the client of a plugin": {"pjrt_client_create_options": str | None},
    "processes that fail and come back": {"enable_recoverability": False},
    "explicit conversions of types in shard_map": {
        "auto_pcast": True, "remove_size_one_mesh_axis_from_type": False,
    },
    "files of programs; jit(f).lower(x).as_text() has the text": {
        "dump_ir_modes": "stablehlo",
        "dump_ir_to": "",
    },
}  # fmt: skip


class Fixed(Option):
    """A setting with only one value here."""

    def _checked(self, value: Any) -> Any:
        if super()._checked(value) != self.default:
            raise NotImplementedError(
                f"config: {self.name} can only be {self.default!r} here, found {shown(value)}; "
                "another value would ask for what is not there"
            )
        return value


@functools.cache
def options_of_jax() -> dict[str, Option]:
    """The settings of this module, by their names."""
    options: dict[str, Option] = {}
    for reason, defaults in WITHOUT_EFFECT.items():
        for name, default in defaults.items():
            kind, default = _kind_and_default(default)
            options[name] = Option(name, kind, default, f"Of no effect. {reason}.")
    for request, defaults in WITH_ONE_VALUE.items():
        for name, default in defaults.items():
            kind, default = _kind_and_default(default)
            doc = f"Only {default!r} is there; another value would ask for {request}."
            options[name] = Fixed(name, kind, default, doc)
    return options


def _kind_and_default(entry: Any) -> tuple[Any, Any]:
    """The type of a setting and its default, from the entry of a table."""
    return (entry, None) if isinstance(entry, UnionType) else (type(entry), entry)


unlisted_options.append(options_of_jax)


def _context(name: str) -> Callable[[Any], ReusableContext]:
    """The context manager that sets one of these settings for a block."""

    @reusable_context
    def context(new_val: Any) -> Iterator[None]:
        with config.option(name).override(new_val):
            yield

    context.__name__ = context.__qualname__ = name
    context.__doc__ = f"""Set `config.{name}` for the block of a `with`, in this thread only.

    {config.option(name).doc}

    Raises:
        NotImplementedError: the setting has only one value here, and `new_val` is another.
        TypeError: `new_val` is not of the type of the setting.

    >>> with minijax.{name}({config.option(name).default}):
    ...     minijax.config.{name}
    {config.option(name).default}
    """
    return context


allow_f16_reductions = _context("allow_f16_reductions")
auto_pcast = _context("auto_pcast")
enable_checks = _context("enable_checks")
jax2tf_associative_scan_reductions = _context("jax2tf_associative_scan_reductions")
remove_size_one_mesh_axis_from_type = _context("remove_size_one_mesh_axis_from_type")
softmax_custom_jvp = _context("softmax_custom_jvp")
