"""Examples of the laws for higher-order primitives.

An example is a public function in whose program the primitive stands, as in `examples_structured`.
"""

import numpy as np

import glassjax.numpy as jnp
from glassjax import checkpoint, custom_batching, custom_jvp, custom_vjp, jit, jvp, lax, vmap
from glassjax.experimental import pallas as pl

F64, F32, C128 = map(np.dtype, ("float64", "float32", "complex128"))
REAL, SMOOTH = (F64, F32), (F64, F32, C128)

# What the laws do not fit, and why.
EXCUSED = {
    "while": "has no reverse mode; tests/control_flow/test_scan.py",
    "custom_linear": "stands in derivatives only, and has no forward mode; "
    "tests/transforms/test_custom_derivatives.py",
    "reduce": "has a first value that must change nothing; tests/numpy/test_reductions.py",
    "reduce_window": "has a first value that must change nothing; tests/numpy/test_reductions.py",
    "pure_callback": "has no derivative; tests/runtime/test_callbacks.py",
    "io_callback": "has no derivative; tests/runtime/test_callbacks.py",
    "ffi_call": "has no derivative; tests/extending/test_ffi.py",
    "effectful_ffi_call": "has no derivative; tests/extending/test_ffi.py",
    "debug_callback": "has no results; tests/runtime/test_callbacks.py",
    "key_use": "takes keys; test_key_reuse.py",
    "call_exported": "has no derivative; test_export.py",
    "effectful_call_exported": "has effects; tests/export/test_export.py",
}


def product(x):
    return jnp.sin(x) * x


@custom_jvp
def product_with_rule(x):
    return product(x)


product_with_rule.defjvps(lambda t, out, x: t * (jnp.cos(x) * x + jnp.sin(x)))


@custom_vjp
def product_with_pullback(x):
    return product(x)


@product_with_pullback.defjvp
def _(primals, tangents):
    return jvp(product, primals, tangents)


product_with_pullback.defvjp(
    lambda x: (product(x), x), lambda x, ct: (ct * (jnp.cos(x) * x + jnp.sin(x)),)
)


@custom_batching.custom_vmap
def product_with_batches(x):
    return product(x)


@product_with_batches.def_vmap
def _(axis_size, in_batched, x):
    return vmap(product)(x) if in_batched[0] else product(x), in_batched[0]


def choice(x):
    return lax.cond(jnp.sum(jnp.abs(x)) > 3, product, jnp.cos, x)


def rounds(reverse):
    def scan(x):
        carry, ys = lax.scan(lambda c, y: (c * y, c + jnp.sin(y)), x[0], x, reverse=reverse)
        return ys * carry

    return scan


def solve(a, b):
    a = a + 4 * jnp.eye(3, dtype=a.dtype)

    def solver(matvec, b):
        return jnp.linalg.solve(a, b)

    def transposed(vecmat, b):
        return jnp.linalg.solve(a.T, b)

    return lax.custom_linear_solve(lambda x: a @ x, b, solver, transposed)


def running_products(ref, out, total):
    @pl.when(pl.program_id(0) == 0)
    def _():
        total[...] = jnp.ones_like(total)

    total[...] *= jnp.sin(ref[...])
    out[...] = total[...]


def kernel(x):
    rows = pl.BlockSpec((1, 2), lambda i: (i, 0))
    scratch = [pl.MemorySpace.ANY((1, 2), x.dtype)]
    return pl.pallas_call(
        running_products, x, grid=3, in_specs=[rows], out_specs=rows, scratch_shapes=scratch
    )(x)


# By the name of a primitive: functions, the shapes of their operands, and dtypes.
FUNCTIONS = {
    "jit": ([jit(product)], [(2, 3)], SMOOTH),
    "cond": ([choice], [(2, 3)], SMOOTH),
    "scan": ([rounds(False), rounds(True)], [(3, 2)], SMOOTH),
    "remat2": ([checkpoint(product)], [(2, 3)], SMOOTH),
    "custom_jvp_call": ([product_with_rule], [(2, 3)], SMOOTH),
    "custom_vjp_call": ([product_with_pullback], [(2, 3)], SMOOTH),
    "custom_vmap_call": ([product_with_batches], [(2, 3)], REAL),
    "custom_linear_solve": ([solve], [(3, 3), (3,)], REAL),
    "pallas_call": ([kernel], [(3, 2)], SMOOTH),
}
