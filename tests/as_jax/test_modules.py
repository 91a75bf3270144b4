"""Modules importable under JAX's names once glassjax is `jax`."""

import functools
import subprocess
import sys

JAX = "import jax"
OURS = "import glassjax; glassjax.install_as_jax(); import jax"
MODULES = """
import sys
print(*[name for name in sys.modules if name.startswith("jax.") and "._src" not in name])
"""


# Names of private modules that releases of libraries import.
PRIVATE = {
    "ad_checkpoint": "checkpoint",
    "api": "jit vmap",
    "api_util": "flatten_axes infer_argnums_and_argnames",
    "config": "config enable_x64 explicit_device_get_scope explicit_device_put_scope",
    "core": """AbstractValue Jaxpr Primitive ShapedArray Trace TraceTag Tracer concrete_or_error
        full_lower jaxpr_as_fun physical_aval set_current_trace subjaxprs
        take_current_trace trace_state_clean typeof""",
    "dtypes": "dtype to_complex_dtype to_inexact_dtype",
    "earray": "EArray",
    "interpreters.pxla": "create_compile_options",
    "lax.linalg": "cholesky triangular_solve",
    "lib": "xla_client",
    "lax.lax": "add mul sin_p",
    "lib.mlir": "dialects ir",
    "lib.mlir.dialects": "chlo func hlo",
    "literals": "TypedComplex TypedFloat TypedInt TypedNdArray",
    "mesh": "Mesh",
    "numpy.array_methods": "_IndexUpdateHelper _IndexUpdateRef",
    "numpy.index_tricks": "c_ mgrid ogrid r_ s_",
    "numpy.lax_numpy": "array asarray",
    "numpy.util": """check_arraylike ensure_arraylike promote_args promote_args_inexact
        promote_dtypes promote_dtypes_complex promote_dtypes_inexact""",
    "partition_spec": "PartitionSpec",
    "pjit": "auto_axes explicit_axes jit_p pjit reshard with_sharding_constraint",
    "public_test_util": "check_close check_grads",
    "random": "PRNGKey",
    "scipy.special": "gammaln",
    "sharding_impls": "NamedSharding SingleDeviceSharding set_mesh",
    "state.types": "AbstractRef",
    "tree_util": "_registry prefix_errors",
    "typing": "Array ArrayLike DType DTypeLike DimSize DuckTypedArray Shape SupportsDType",
    "util": "merge_lists partition_list safe_map safe_zip split_list unzip2 unzip3 wraps",
}
OF_PRIVATE = f"""
import importlib, inspect, re
import jax.numpy as jnp, numpy as np
import jax.lib

print(*jax._src.numpy.util.promote_dtypes_inexact(1))  # `import jax` has imported it
for module, names in {PRIVATE}.items():
    found = importlib.import_module(f"jax._src.{{module}}")
    print(module, *[name for name in names.split() if not hasattr(found, name)])

from jax._src.numpy import lax_numpy  # as an attribute, too
from jax._src import flattree
print(lax_numpy is importlib.import_module("jax._src.numpy.lax_numpy"))
from jax._src import api_util, config, core, dtypes, public_test_util, tree_util, util
from jax._src.numpy.util import promote_dtypes_complex, promote_dtypes_inexact
print(re.match(r"[0-9.]+$", jax.lib.__version__) is not None)
print(jax.__version_info__[:3])
for promote in promote_dtypes_complex, promote_dtypes_inexact:
    for args in ((1, 2.0), (np.int8(1), jnp.ones(2)), (1,), (np.float16(1), 1j)):
        print([(str(x.dtype), x.shape, x.weak_type) for x in promote(*args)])
for given in "bool int32 float16 bfloat16 complex64".split():
    print(dtypes.to_complex_dtype(given), dtypes.to_inexact_dtype(given))
print(dtypes.dtype(1.0), dtypes.dtype(int), dtypes.dtype(np.ones(2)), dtypes.dtype("int8"))
sig = inspect.signature(lambda a, b, *, c: None)
for numbers, names in ((None, None), (None, "b"), (-1, None), ((0, 1), None), (0, "c")):
    print(api_util.infer_argnums_and_argnames(sig, numbers, names))
for x in ({{"b": 1, "a": 2}}, (1, 2), [3], None):
    entry = tree_util._registry[type(x)]
    children, aux = entry.to_iter(x)
    print(tuple(children), aux, entry.from_iter(aux, children))
print(util.split_list([1, 2, 3, 4], [1, 2]), util.partition_list([True, False], [1, 2]))
print(util.merge_lists([True, False], [2], [1]), util.unzip2([(1, 2), (3, 4)]), util.unzip3([]))
print(core.concrete_or_error(int, 2.0), config.enable_x64.value)
for x in jax.random.key(0), jnp.ones(2):
    print(core.physical_aval(jax.typeof(x)))
try:
    jax.jit(lambda x: core.concrete_or_error(int, x))(1)
except jax.errors.ConcretizationTypeError:
    print("traced")
public_test_util.check_close({{"a": jnp.ones(2)}}, {{"a": 1 + 1e-7 * jnp.ones(2)}})
try:
    public_test_util.check_close(jnp.ones(2), 2 * jnp.ones(2))
except AssertionError:
    print("not close")
with config.enable_x64(True):
    print(jnp.ones(2).dtype)
"""


@functools.cache
def printed(library):
    """The modules that a library brings, and what it prints of private names."""
    command = [sys.executable, "-c", library + MODULES + OF_PRIVATE]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    modules, _, private = done.stdout.partition("\n")
    return set(modules.split()), private


def test_import_jax_brings_the_modules_that_it_brings_in_jax():
    assert printed(JAX)[0] <= printed(OURS)[0]


def test_modules_of_pallas_can_be_imported_and_say_that_they_are_absent():
    below = "jax.experimental.pallas.ops.tpu.splash_attention"
    program = f"""
{OURS}
from {below} import splash_attention_kernel, splash_attention_mask
import {below}.splash_attention_mask
try:
    splash_attention_mask.CausalMask((8, 8))
except NotImplementedError as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout
    assert f"{below}.splash_attention_mask is not in glassjax" in said


def test_private_names_that_libraries_import():
    assert printed(OURS)[1] == printed(JAX)[1]
