"""minijax: JAX rebuilt from first principles. The full library, with JAX's public names.

Underneath are four stages, `minijax_stage1` to `minijax_stage4`, each a package to learn from.
"""

# ruff: noqa: F401
import importlib
from typing import TYPE_CHECKING, Any

from minijax import (
    ad_checkpoint,
    compilation_cache,
    core,
    custom_batching,
    custom_derivatives,
    debug,
    dlpack,
    dtypes,
    errors,
    lax,
    nn,
    numpy,
    ops,
    random,
    stages,
    tree,
    tree_util,
    typing,
)
from minijax.ad_checkpoint import checkpoint, checkpoint_policies
from minijax.ad_checkpoint import checkpoint as remat
from minijax.array import Array
from minijax.callbacks import order as _order
from minijax.callbacks.effects import effects_barrier
from minijax.callbacks.pure import pure_callback
from minijax.compile_time import ensure_compile_time_eval
from minijax.config import config
from minijax.custom_derivatives import (
    closure_convert,
    custom_gradient,
    custom_jvp,
    custom_vjp,
)
from minijax.devices import (
    default_backend,
    device_count,
    device_get,
    device_put,
    devices,
    local_device_count,
    local_devices,
    process_count,
    process_index,
)
from minijax.evaluation import enable_x64, numpy_dtype_promotion, numpy_rank_promotion
from minijax.inspection.clearing import clear_caches
from minijax.inspection.environment import print_environment_info
from minijax.inspection.invalid_numbers import debug_infs, debug_nans
from minijax.inspection.leaks import checking_leaks
from minijax.inspection.watching import disable_jit, log_compiles
from minijax.jit import jit
from minijax.lax.precision import default_matmul_precision
from minijax.naming import named_call, named_scope
from minijax.numpy import array_methods as _array_methods
from minijax.staging import ShapeDtypeStruct, eval_shape, make_jaxpr
from minijax.transformations import (
    block_until_ready,
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
from minijax_stage1.source import hide_frames_of

__all__ = [
    "Array",
    "ShapeDtypeStruct",
    "ad_checkpoint",
    "block_until_ready",
    "checking_leaks",
    "checkpoint",
    "checkpoint_policies",
    "clear_caches",
    "closure_convert",
    "compilation_cache",
    "config",
    "core",
    "custom_batching",
    "custom_derivatives",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "debug",
    "debug_infs",
    "debug_nans",
    "default_backend",
    "default_matmul_precision",
    "device_count",
    "device_get",
    "device_put",
    "devices",
    "disable_jit",
    "dlpack",
    "dtypes",
    "effects_barrier",
    "enable_x64",
    "ensure_compile_time_eval",
    "errors",
    "eval_shape",
    "experimental",
    "export",
    "flatten_util",
    "grad",
    "hessian",
    "image",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "lax",
    "linear_transpose",
    "linearize",
    "local_device_count",
    "local_devices",
    "log_compiles",
    "make_jaxpr",
    "named_call",
    "named_scope",
    "nn",
    "numpy",
    "numpy_dtype_promotion",
    "numpy_rank_promotion",
    "ops",
    "print_environment_info",
    "process_count",
    "process_index",
    "pure_callback",
    "random",
    "remat",
    "scipy",
    "stages",
    "test_util",
    "tree",
    "tree_util",
    "typeof",
    "typing",
    "value_and_grad",
    "vjp",
    "vmap",
]

hide_frames_of(__file__)


# Modules that many programs never touch are imported when they are first named.
_LATER = {"experimental", "export", "flatten_util", "image", "scipy", "test_util"}

if TYPE_CHECKING:
    from minijax import experimental, export, flatten_util, image, scipy, test_util


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return importlib.import_module(f"minijax.{name}")
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("minijax")
        except PackageNotFoundError as error:
            raise AttributeError(
                "minijax.__version__ is that of the installed distribution, and minijax runs here "
                "from its sources: install it (pip install) to give it one"
            ) from error
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
