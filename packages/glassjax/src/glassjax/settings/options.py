"""The settings of the library, and context managers for them."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from enum import Enum
from types import UnionType
from typing import Any

from glassjax import monitoring
from glassjax.settings import config as configuration
from glassjax.settings.number_types import NumbersOption, PRNGImpl, named
from glassjax_stage2.errors import shown

# Debugging switches: `disable_jit`, `log_compiles`, `debug_nans`, and the others.
#
# Each is declared here, with its context manager. `checks` implements most of them.


class _ProgramSwitch(configuration.Switch, NumbersOption):
    """A switch that programs depend on."""


disable_jit_option = configuration.config.declare(
    "disable_jit",
    bool,
    False,
    "Whether jitted functions, loops and choices run as the Python that they are written in.",
    configuration.Switch,
)
nans_option = configuration.config.declare(
    "debug_nans",
    bool,
    False,
    "Whether a result that is not a number is an error, which says where it was computed.",
    _ProgramSwitch,
)
infs_option = configuration.config.declare(
    "debug_infs",
    bool,
    False,
    "Whether a result that is infinite is an error, which says where it was computed.",
    _ProgramSwitch,
)
key_reuse_option = configuration.config.declare(
    "debug_key_reuse",
    bool,
    False,
    "Whether it is an error to draw from a random key more than once.",
    configuration.Switch,
)
tracer_leaks_option = configuration.config.declare(
    "check_tracer_leaks",
    bool,
    False,
    "Whether it is an error if a tracer outlives the call that it belongs to.",
    configuration.Switch,
)


static_indices_option = configuration.config.declare(
    "check_static_indices",
    bool,
    False,
    "Whether it is an error to read `x[i]` if `i` is an int out of bounds.",
    _ProgramSwitch,
)
no_tracing_option = configuration.config.declare(
    "no_tracing",
    bool,
    False,
    "Whether it is an error to trace a jitted function.",
    configuration.Switch,
)
_no_execution = configuration.config.declare(
    "no_execution", bool, False, "Whether it is an error to compute anything.", configuration.Switch
)
configuration.config.declare(
    "hlo_source_file_canonicalization_regex",
    str,
    None,
    "A pattern; what it matches is left out of the names of files in source maps.",
)
configuration.config.declare(
    "dump_ir_to",
    str,
    "",
    "The directory for files of all programs that are compiled. Empty: they are not written.",
)
configuration.config.declare(
    "dump_ir_modes",
    str,
    "stablehlo",
    "What is written to `dump_ir_to`, separated by commas: stablehlo, jaxpr, or eqn_count_pprof, "
    "the equations of each line of Python for the tool pprof.",
)
configuration.config.declare(
    "slow_compile_notice_secs",
    float,
    5.0,
    "After how many seconds of compiling a notice says which program it is, and again whenever "
    "that time has doubled. Only time of this process counts, not other work on the machine. "
    "0: never.",
)
configuration.config.declare(
    "repeated_block_notice",
    int,
    50,
    "How often a program may repeat one block of equations, as an unrolled loop does, before a "
    "notice says so, with the time that XLA took to compile it. 0: never.",
)
_log_compiles = configuration.config.option("log_compiles")
_explain_cache_misses = configuration.config.option("explain_cache_misses")
# The steps of compiling in the log, in JAX's words, since tools parse them.
_STEPS = {
    monitoring.TRACED: "tracing {} for jit",
    monitoring.LOWERED: "jaxpr to MLIR module conversion {}",
    monitoring.COMPILED: "XLA compilation of {}",
}


def disable_jit(disable: bool = True) -> configuration.ReusableContext:
    """Set `config.disable_jit` for the block of a `with`, in this thread only.

    Jitted functions then run as plain Python, and so do `scan`, `while_loop`, `fori_loop`, `cond`,
    `switch` and `map`, if their conditions are known. So a debugger can step through them, and
    `print` shows values.

    Raises:
        TypeError: `disable` is not a bool.

    >>> import glassjax
    >>> with disable_jit():
    ...     glassjax.jit(lambda x: print(f"{x=}"))(3)
    x=3
    """
    return disable_jit_option.for_block(disable)


def log_compiles(new_val: bool = True) -> configuration.ReusableContext:
    """Set `config.log_compiles` for the block of a `with`, in this thread only.

    Traces and compilations, and their times, are logged as warnings by the loggers below
    "glassjax", which Python writes to stderr by default.

    Raises:
        TypeError: `new_val` is not a bool.

    >>> import logging
    >>> handler = logging.Handler()
    >>> handler.emit = lambda record: print(record.getMessage().partition(" in ")[0])
    >>> logging.getLogger("glassjax").addHandler(handler)
    >>> with glassjax.log_compiles():
    ...     y = glassjax.jit(lambda x: x + 1.0)(2.0)
    Finished tracing <lambda> for jit
    Finished jaxpr to MLIR module conversion jit(<lambda>)
    Finished XLA compilation of jit(<lambda>)
    >>> logging.getLogger("glassjax").removeHandler(handler)
    """
    return _log_compiles.for_block(new_val)


def explain_cache_misses(new_val: bool = True) -> configuration.ReusableContext:
    """Set `config.explain_cache_misses` for the block of a `with`, in this thread only.

    When a function is traced again, the difference from earlier calls is written to stderr.

    >>> square = glassjax.jit(lambda x: x * x)
    >>> with glassjax.explain_cache_misses():
    ...     square(3.0)  # for the first time, which is said, too
    Array(9., dtype=float32, weak_type=True)
    """
    return _explain_cache_misses.for_block(new_val)


def debug_nans(new_val: bool = True) -> configuration.ReusableContext:
    """Set `config.debug_nans` for the block of a `with`, in this thread only.

    Every result is checked, which takes time, and functions are traced again. If a result of a
    compiled program is NaN, the program runs again, step by step, to find the step that computed
    it. In a derivative, the error also names the primitive that is differentiated.

    Raises:
        TypeError: `new_val` is not a bool.

    >>> import glassjax.numpy as jnp
    >>> with debug_nans(True):
    ...     try:
    ...         jnp.log(jnp.zeros(2) - 1.0)
    ...     except FloatingPointError as error:
    ...         print(str(error).partition(" at ")[0])
    invalid value (nan) encountered in log
    """
    return nans_option.for_block(new_val)


def debug_infs(new_val: bool = True) -> configuration.ReusableContext:
    """Set `config.debug_infs` for the block of a `with`, in this thread only.

    Every result is checked, as with `debug_nans`: if one is infinite, the error says where it was
    computed.

    Raises:
        TypeError: `new_val` is not a bool.

    >>> with glassjax.debug_infs(True):
    ...     try:
    ...         1.0 / jnp.zeros(2)
    ...     except FloatingPointError as error:
    ...         print(str(error).partition(" at ")[0])
    invalid value (inf) encountered in div
    """
    return infs_option.for_block(new_val)


def debug_key_reuse(new_val: bool = True) -> configuration.ReusableContext:
    """Set `config.debug_key_reuse` for the block of a `with`, in this thread only.

    The check follows keys of dtype `key<fry>`, but not keys that are words of uint32. Jitted
    functions are staged before each call, which takes time.

    >>> from glassjax import random
    >>> with debug_key_reuse(True):
    ...     key = random.key(0)
    ...     x = random.normal(key)
    ...     try:
    ...         random.uniform(key)
    ...     except glassjax.errors.KeyReuseError as error:
    ...         print(str(error).partition(":")[0])
    a random key is used twice
    """
    return key_reuse_option.for_block(new_val)


def no_tracing(new_val: bool = True) -> configuration.ReusableContext:
    """Make it an error to trace a jitted function, for the block of a `with`, in this thread only.

    This makes sure that no step of a loop compiles again.

    Raises:
        TypeError: `new_val` is not a bool.

    >>> double = glassjax.jit(lambda x: 2.0 * x)
    >>> y = double(jnp.ones(3))
    >>> with glassjax.no_tracing():
    ...     y = double(jnp.ones(3))
    ...     try:
    ...         double(np.ones(4))
    ...     except RuntimeError as error:
    ...         print(error)
    re-tracing function <lambda> for `jit`, but 'no_tracing' is set: it was not called before with \
arguments of these types. config.explain_cache_misses tells what differs
    """
    return no_tracing_option.for_block(new_val)


def require_tracing(name: str, transformation: str) -> None:
    """Raise RuntimeError if tracing is forbidden here."""
    if configuration.Switch.used and no_tracing_option.value:
        raise RuntimeError(
            f"re-tracing function {name} for `{transformation}`, but 'no_tracing' is set: it was "
            "not called before with arguments of these types. config.explain_cache_misses tells "
            "what differs"
        )


def no_execution(new_val: bool = True) -> configuration.ReusableContext:
    """Make it an error to compute anything, for the block of a `with`, in this thread only.

    Functions can be traced, lowered and compiled.

    Raises:
        TypeError: `new_val` is not a bool.

    >>> with glassjax.no_execution():
    ...     jaxpr = glassjax.make_jaxpr(jnp.sin)(1.0)
    ...     try:
    ...         jnp.sin(1.0)
    ...     except RuntimeError as error:
    ...         print(error)
    glassjax tried to execute `sin`, but 'no_execution' is set
    """
    return _no_execution.for_block(new_val)


def require_execution(name: object) -> None:
    """Raise RuntimeError if execution is forbidden here."""
    if configuration.Switch.used and _no_execution.value:
        raise RuntimeError(f"glassjax tried to execute `{name}`, but 'no_execution' is set")


def jit_is_disabled() -> bool:
    return configuration.Switch.used and bool(disable_jit_option.value)


def timed(step: str, fun_name: str) -> AbstractContextManager[Any]:
    """The context of a step of compiling: listeners and the log get its time, if any asks."""
    stack = ExitStack()
    if monitoring.has_listeners():
        stack.enter_context(monitoring.recorded(step, fun_name))
    if configuration.Switch.used and _log_compiles.value:
        stack.enter_context(_logged(step, fun_name))
    return stack


@contextmanager
def _logged(event: str, fun_name: str) -> Iterator[None]:
    """Log how long a step of compiling took, of a function of this name."""
    import logging  # late: importing it takes milliseconds

    start = time.perf_counter()
    yield
    step = _STEPS[event].format(fun_name)
    seconds = time.perf_counter() - start
    logging.getLogger("glassjax.compilation").warning("Finished %s in %.9f sec", step, seconds)


# XLA's effort for a program: its levels, and settings for all programs.


class CompilerEffortLevel(Enum):
    """XLA's effort to make a program fast, or to fit it into memory.

    `jit` takes levels, or their names, in `compiler_options`, as "optimization_level" and
    "memory_fitting_level"; `UNKNOWN` leaves it to XLA. A higher level compiles more slowly.

    >>> glassjax.CompilerEffortLevel("O1")
    <CompilerEffortLevel.O1: 19>
    >>> options = {"optimization_level": glassjax.CompilerEffortLevel.O1}
    >>> glassjax.jit(lambda x: x + 1, compiler_options=options)(1)
    Array(2, dtype=int32, weak_type=True)
    """

    UNKNOWN = 0
    O0 = 9
    O1 = 19
    O2 = 29
    O3 = 39

    @classmethod
    def _missing_(cls, value: Any) -> CompilerEffortLevel | None:
        return cls.__members__.get(value) if isinstance(value, str) else None


# The compiler options that are levels of effort; settings have the same names.
EFFORTS = ("optimization_level", "memory_fitting_level")

_LEVELS = tuple(CompilerEffortLevel.__members__)
_optimization_level = configuration.config.declare(
    "optimization_level",
    _LEVELS,
    "UNKNOWN",
    "The effort that XLA makes for fast programs, unless compiler_options of jit sets it.",
)
_memory_fitting_level = configuration.config.declare(
    "memory_fitting_level",
    _LEVELS,
    "O2",
    "The effort that XLA makes for programs that fit into memory, likewise. O2 is XLA's own.",
)
_disable_most_optimizations = configuration.config.declare(
    "disable_most_optimizations",
    bool,
    False,
    "Whether XLA leaves out most optimizations: compilations are faster, and programs slower.",
)
_FEW_OPTIMIZATIONS = {
    "xla_backend_optimization_level": 0,
    "xla_llvm_disable_expensive_passes": True,
}


_gpu_deterministic_ops = configuration.config.declare(
    "gpu_deterministic_ops",
    bool,
    False,
    "Whether programs for GPUs give the same bits in every run: XLA then adds up in a fixed order, "
    "and does not choose kernels by timing them, which makes some programs slower.",
    NumbersOption,
)


def flags_of_results() -> dict[str, bool]:
    """The flags of XLA, from settings, on which the results of any program depend."""
    return {"xla_gpu_deterministic_ops": True} if _gpu_deterministic_ops.value else {}


def with_levels(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with levels of effort as numbers.

    Raises:
        ValueError: there is no such level.
    """
    return {
        name: CompilerEffortLevel(value).value if name in EFFORTS else value
        for name, value in options.items()
    }


def with_settings(options: tuple[tuple[str, Any], ...]) -> tuple[tuple[str, Any], ...]:
    """Return the options of a program, sorted, including those from settings."""
    everywhere = dict(_FEW_OPTIMIZATIONS) if _disable_most_optimizations.value else {}
    for setting in (_optimization_level, _memory_fitting_level):
        if setting.value != setting.default:
            everywhere[setting.name] = CompilerEffortLevel[setting.value].value
    return tuple(sorted({**everywhere, **dict(options)}.items())) if everywhere else options


# JAX's settings that have no effect here, or only one value; declared so that programs can set
# them.
#
# Those without effect accept any value; the description gives the reason. The others accept only
# their default, since other values would request unsupported features. `str | None` in place of a
# default is a string whose default is None.


# By reason, the settings without effect here, each with JAX's default.
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

# By the feature that they would request, the settings that support only JAX's default.
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
}  # fmt: skip


class Fixed(configuration.Option):
    """A setting with a single supported value."""

    def _checked(self, value: Any) -> Any:
        if super()._checked(value) != self.default:
            raise NotImplementedError(
                f"config: {self.name} can only be {self.default!r} here, found {shown(value)}; "
                "other values are unsupported"
            )
        return value


@functools.cache
def options_of_jax() -> dict[str, configuration.Option]:
    """The settings of this module, by their names."""
    options: dict[str, configuration.Option] = {}
    for reason, defaults in WITHOUT_EFFECT.items():
        for name, default in defaults.items():
            kind, default = _kind_and_default(default)
            options[name] = configuration.Option(name, kind, default, f"Of no effect. {reason}.")
    for request, defaults in WITH_ONE_VALUE.items():
        for name, default in defaults.items():
            kind, default = _kind_and_default(default)
            doc = f"Only {default!r} is there; another value would ask for {request}."
            options[name] = Fixed(name, kind, default, doc)
    return options


def _kind_and_default(entry: Any) -> tuple[Any, Any]:
    """The type of a setting and its default, from its entry in a table."""
    return (entry, None) if isinstance(entry, UnionType) else (type(entry), entry)


def _context(name: str) -> Callable[[Any], configuration.ReusableContext]:
    """The context manager that sets one of these settings for a block."""

    def context(new_val: Any) -> configuration.ReusableContext:
        return configuration.config.option(name).for_block(new_val)

    context.__name__ = context.__qualname__ = name
    context.__doc__ = f"""Set `config.{name}` for the block of a `with`, in this thread only.

    {configuration.config.option(name).doc}

    Raises:
        NotImplementedError: the setting has only one value here, and `new_val` is another.
        TypeError: `new_val` is not of the type of the setting.

    >>> with glassjax.{name}({configuration.config.option(name).default}):
    ...     glassjax.config.{name}
    {configuration.config.option(name).default}
    """
    return context


allow_f16_reductions = _context("allow_f16_reductions")
auto_pcast = _context("auto_pcast")
enable_checks = _context("enable_checks")
jax2tf_associative_scan_reductions = _context("jax2tf_associative_scan_reductions")
remove_size_one_mesh_axis_from_type = _context("remove_size_one_mesh_axis_from_type")
softmax_custom_jvp = _context("softmax_custom_jvp")


# The settings of random numbers, under JAX's names.


_default_impl = configuration.config.declare(
    "default_prng_impl",
    ("threefry2x32", "rbg", "unsafe_rbg"),
    "threefry2x32",
    "The default implementation of random keys, which makes bits from them.",
    NumbersOption,
)
partitionable = configuration.config.declare(
    "threefry_partitionable",
    bool,
    True,
    "Whether each random number of threefry2x32 depends on its place alone.",
    NumbersOption,
)
custom_prng = configuration.config.declare(
    "enable_custom_prng",
    bool,
    False,
    "Whether `random.PRNGKey` makes keys as `random.key` does, in place of words of uint32.",
    NumbersOption,
)
seed_offset = configuration.config.declare(
    "random_seed_offset", int, 0, "A number that is added to the seeds of keys.", NumbersOption
)
legacy_key = configuration.config.declare(
    "legacy_prng_key",
    ("allow", "warn", "error"),
    "allow",
    "Whether words of uint32 may stand for a random key, with a warning, or are an error.",
    NumbersOption,
)


def default_implementation() -> PRNGImpl:
    """The default implementation of keys."""
    return named[_default_impl.value]


def enable_custom_prng(new_val: bool = True) -> configuration.ReusableContext:
    """Set `config.enable_custom_prng` for the block of a `with`, in this thread only.

    >>> from glassjax import random
    >>> with enable_custom_prng():
    ...     random.PRNGKey(0).shape
    ()
    """
    return custom_prng.for_block(new_val)


def default_prng_impl(new_val: str) -> configuration.ReusableContext:
    """Set `config.default_prng_impl` for the block of a `with`, in this thread only.

    Raises:
        ValueError: there is no such implementation.

    >>> with glassjax.default_prng_impl("rbg"):
    ...     glassjax.random.key(42)
    Array((), dtype=key<rbg>) overlaying:
    [ 0 42  0 42]
    """
    return _default_impl.for_block(new_val)


def threefry_partitionable(new_val: bool = True) -> configuration.ReusableContext:
    """Set `config.threefry_partitionable` for the block of a `with`, in this thread only.

    If it is `False`, keys of threefry2x32 give the numbers that they gave in JAX before 0.5.

    >>> from glassjax import random
    >>> with glassjax.threefry_partitionable(False):
    ...     random.uniform(random.key(42))
    Array(0.42672753, dtype=float32)
    """
    return partitionable.for_block(new_val)


def legacy_prng_key(new_val: str = "allow") -> configuration.ReusableContext:
    """Set `config.legacy_prng_key` for the block of a `with`, in this thread only.

    Arguments:
        new_val: "allow", "warn" or "error": what functions of `glassjax.random` do with words of
            uint32 in place of a key.

    >>> from glassjax import random
    >>> with glassjax.legacy_prng_key("error"):
    ...     random.uniform(random.key(0)) < 1
    Array(True, dtype=bool)
    """
    return legacy_key.for_block(new_val)


# `make_user_context`: user values that jitted functions depend on.


# The values of contexts that differ from their defaults, part of every cache key.
_values = NumbersOption("user_contexts", object, frozenset(), "The values of user contexts.")


class UserContext:
    """A value that functions read while they are traced, and that blocks set.

    A jitted function is traced and compiled for each value under which it is called.

    Attributes:
        value: the current one in this thread.

    >>> unit = make_user_context(default_value="m")
    >>> @glassjax.jit
    ... def length(x):
    ...     return x * {"m": 1.0, "km": 1000.0}[unit.value]
    >>> with unit("km"):
    ...     length(2.0).item()
    2000.0
    >>> length(2.0).item()
    2.0
    """

    def __init__(self, default: Any):
        self._default = default

    @property
    def value(self) -> Any:
        """The value in this thread."""
        return dict(_values.value).get(self, self._default)

    @configuration.reusable_context
    def __call__(self, new_val: Any) -> Iterator[None]:
        """Set the value for the block of a `with`, in this thread only.

        Raises:
            TypeError: the value cannot be hashed.
        """
        with _values.override(self._with(new_val, _values.value)):
            yield

    def get_global(self) -> Any:
        """The value for all threads, outside blocks that set it."""
        return dict(_values.everywhere).get(self, self._default)

    def set_global(self, value: Any) -> None:
        """Set the value for all threads, except in blocks that set it."""
        _values.update(self._with(value, _values.everywhere))

    def _with(self, value: Any, values: Any) -> frozenset[tuple[UserContext, Any]]:
        try:
            return frozenset({**dict(values), self: value}.items())
        except TypeError:
            raise TypeError(
                "a user context: the value is part of the keys of compiled programs, so it must be "
                f"hashable, found {shown(value)} of type {type(value).__name__}"
            ) from None


def make_user_context(default_value: Any = None) -> UserContext:
    """A value that jitted functions depend on: they are compiled for each.

    Arguments:
        default_value: the value outside of all blocks.

    Returns:
        An object `context` with the current `context.value`; `with context(value):` sets it.

    >>> context = glassjax.make_user_context(1)
    >>> with context(2):
    ...     context.value
    2
    """
    return UserContext(default_value)
