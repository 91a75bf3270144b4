"""Examples of the laws for primitives of whole arrays: scans, sorting, windows, matrices.

An example is a public function in whose program the primitive stands. Where results are unique but
for signs or phases, the function combines them to what is unique.
"""

import itertools

import examples_programs
import examples_sparse
import numpy as np

import glassjax.experimental.checkify
import glassjax.experimental.hijax
import glassjax.ffi  # noqa: F401 - it declares primitives, too
import glassjax.numpy as jnp
from glassjax import NamedSharding, P, devices, jvp, lax, make_mesh, vjp
from glassjax.lax import linalg
from glassjax.lax.linalg.factorizations import solve
from glassjax.lax.linalg.matrices import mH
from glassjax.scipy import special
from glassjax.sharding import Mesh, reshard
from glassjax.shardings.types import leave_to_compiler

F64, F32, C128, I32 = map(np.dtype, ("float64", "float32", "complex128", "int32"))
REAL, SMOOTH, WIDE = (F64, F32), (F64, F32, C128), (F64, C128)

# What the laws do not fit, and why.
EXCUSED = {
    "rng_bit_generator": "has two results; tests/random/test_distributions.py",
    "scatter_apply": "holds a program; tests/numpy/test_indexing.py",
    **examples_programs.EXCUSED,
    "device_put": "moves; tests/devices/sharding/test_memories.py",
    "check": "has no results; tests/experimental/test_checkify.py",
    "log_of_backward_pass": "has no results; tests/transforms/test_backward_logs.py",
    "call_hi_primitive": "has the rules of its parameter; tests/experimental/test_hijax.py",
    **{
        f"{name}_slope_{number}": "has no derivative; tests/scipy/test_special.py"
        for name, count in (("hyp1f1", 2), ("hyp2f1", 3))
        for number in range(count)
    },
    "inspect_sharding": "has no results; tests/devices/runtime/test_debug.py",
    "select_and_scatter": "holds programs; tests/lax/test_windowed_reductions.py",
    "geqrf": "has no derivative and two results; tests/numpy/test_linalg.py",
    "geqp3": "has no derivative and three results; tests/numpy/test_linalg.py, by qr with pivoting",
    "householder_product": "has no derivative; tests/numpy/test_linalg.py",
    "schur": "has no derivative and two results; tests/numpy/test_linalg.py",
    "hessenberg": "has no derivative and two results; tests/lax/test_linalg.py",
    "tridiagonal": "has no derivative and four results; tests/lax/test_linalg.py",
    "ormqr": "has no derivative; tests/lax/test_linalg.py",
}
# The places of the operands in which those primitives that have a transpose are linear, if not all.
LINEAR_IN = {
    "div": (0,),
    "polynomial": (1, 2, 3),
    "conv_general_dilated": (0,),
    "triangular_solve": (1,),
    "lu_solve": (1,),
    "tridiagonal_solve": (3,),
    "scatter-mul": (0,),
    "select_and_gather_add": (0,),
    "select_and_scatter_add": (0,),
    "bcoo_dot_general": (0,),
}
NOT_SMOOTH = ("argmax", "argmin")
# Of complex numbers, these are functions of the conjugates too.
OF_CONJUGATES = ("conj", "sign", "cholesky", "eigh", "qr", "svd", "pinv")


def with_gaps(x):
    """Matrices whose eigenvalues lie apart."""
    return x + jnp.diag(jnp.arange(1.0, 9.0, 3.0, dtype=x.dtype))


def swap_parts(x):
    left, right = lax.split(x, (1, 2), 1)
    return jnp.concatenate([2 * right, left], 1)


def convolve(x, kernel):
    return lax.conv_general_dilated(x, kernel, (2,), [(1, 0)])


def window(init, combine):
    def reduce_window(x):
        start = np.asarray(init, x.dtype)
        return lax.reduce_window(x, start, combine, (2, 2), (1, 2), "VALID")

    return reduce_window


largest, smallest = window(-np.inf, lax.max), window(np.inf, lax.min)


def selected_tangents(pool):
    # The sine: what is selected depends on the size of `x`, so that this is linear in `t` alone.
    return lambda t, x: jvp(pool, (jnp.sin(3 * x),), (t,))[1]


def selected_cotangents(pool):
    return lambda ct, x: vjp(pool, jnp.sin(3 * x))[1](ct)[0]


def transform(fft_type, length):
    return lambda x: lax.fft(x, fft_type, (length,))


def cholesky(x):
    return linalg.cholesky(x + 4 * jnp.eye(x.shape[-1], dtype=x.dtype))


def exponential_by_eigh(x):
    x = with_gaps(x)
    v, w = linalg.eigh(x + mH(x))
    return (v * jnp.exp(w / 8)[..., None, :]) @ mH(v)


def exponential_by_svd(x):
    u, s, vh = linalg.svd(x, full_matrices=False)
    return (u * jnp.exp(s)[..., None, :]) @ vh


def eigenvalues(x):
    # Second derivatives are made of those of the eigenvectors.
    w, _ = linalg.eig(with_gaps(x), compute_left_eigenvectors=False, enable_eigvec_derivs=True)
    return w


def triangular_solve(side):
    return lambda a, b: linalg.triangular_solve(a, b, left_side=side, lower=True)


def scans(name):
    scan = getattr(lax, name)
    return [lambda x: scan(x, axis=1), lambda x: scan(x, axis=0, reverse=True)]


def reductions_to_index(name):
    return [lambda x: getattr(lax, name)(x, 1, np.int32)]


def slope_of_zeta(x, q):
    return jvp(lambda x: lax.zeta(x, q), (1 + x,), (jnp.ones_like(x),))[1]


# By the name of a primitive: functions, the shapes of their operands, and dtypes.
ON_THE_ONLY_DEVICE = NamedSharding(Mesh(devices()[:1], "x"), P("x"))
IN_THE_TYPE = NamedSharding(make_mesh((1,), ("x",)), P("x"))
FUNCTIONS = {
    **examples_programs.FUNCTIONS,
    **examples_sparse.FUNCTIONS,
    "argmax": (reductions_to_index("argmax"), [(2, 3)], (F64, I32)),
    "argmin": (reductions_to_index("argmin"), [(2, 3)], (F64, I32)),
    "cumsum": (scans("cumsum"), [(2, 3)], (*SMOOTH, I32)),
    "cumprod": (scans("cumprod"), [(2, 3)], (*SMOOTH, I32)),
    "cummax": (scans("cummax"), [(2, 3)], (*REAL, I32)),
    "cummin": (scans("cummin"), [(2, 3)], (*REAL, I32)),
    "cumlogsumexp": (scans("cumlogsumexp"), [(2, 3)], REAL),
    "polynomial": (
        [lambda x, a, b, c: lax.polynomial(x, [a, b, c])],
        [(2,), (2,), (), (2,)],
        (*SMOOTH, I32),
    ),
    "select_n": (
        [lambda x, y: lax.select_n(np.array([2, 0, 1]), x, y, 2 * x)],
        [(3,), (3,)],
        (*SMOOTH, I32),
    ),
    "split": ([swap_parts], [(2, 3)], (*SMOOTH, I32)),
    "stack": ([lambda x, y: lax.stack([x, 2 * y], 1)], [(2,), (2,)], (*SMOOTH, I32)),
    "unstack": ([lambda x: lax.unstack(x, 1)[2]], [(2, 3)], (*SMOOTH, I32)),
    "tile": ([lambda x: lax.tile(x, (2, 3))], [(2, 3)], (*SMOOTH, I32)),
    "conv_general_dilated": ([convolve], [(1, 2, 5), (2, 2, 3)], SMOOTH),
    "reduce_window_sum": ([window(0, lax.add)], [(3, 4)], SMOOTH),
    "reduce_window_max": ([largest], [(3, 4)], REAL),
    "reduce_window_min": ([smallest], [(3, 4)], REAL),
    "select_and_gather_add": (
        [selected_tangents(largest), selected_tangents(smallest)],
        [(3, 4), (3, 4)],
        REAL,
    ),
    "select_and_scatter_add": (
        [selected_cotangents(largest), selected_cotangents(smallest)],
        [(2, 2), (3, 4)],
        REAL,
    ),
    "sort": (
        [lambda x: lax.sort(x, dimension=0), lambda x: lax.sort((x, 2 * x), num_keys=1)[1]],
        [(3, 2)],
        (*REAL, I32),
    ),
    "top_k": ([lambda x: lax.top_k(x, 2)[0]], [(2, 4)], (*REAL, I32)),
    "triangular_solve": (
        [triangular_solve(True), triangular_solve(False)],
        [(2, 2), (2, 2)],
        SMOOTH,
    ),
    "hypot": ([jnp.hypot], [(2, 3), (2, 3)], REAL),
    "cholesky": ([cholesky], [(3, 3)], SMOOTH),
    "lu": ([lambda x: linalg.lu(with_gaps(x))[0]], [(3, 3)], SMOOTH),
    "lu_pivots_to_permutation": (
        [lambda pivots: linalg.lu_pivots_to_permutation(pivots, 5)],
        [(3,)],
        (I32,),
    ),
    "lu_solve": ([lambda a, b: solve(with_gaps(a), b)], [(3, 3), (3, 2)], WIDE),
    "tridiagonal_solve": (
        [lambda low, d, high, b: linalg.tridiagonal_solve(low, d + 4, high, b)],
        [(3,), (3,), (3,), (3, 2)],
        WIDE,
    ),
    "eigh": ([exponential_by_eigh], [(3, 3)], WIDE),
    "eig": ([eigenvalues], [(3, 3)], WIDE),
    "qr": (
        [
            lambda x: linalg.qr(x, full_matrices=False)[0],
            lambda x: linalg.qr(x, full_matrices=False)[1],
        ],
        [(3, 2)],
        WIDE,
    ),
    "svd": ([exponential_by_svd], [(3, 2)], WIDE),
    "slogdet": ([lambda x: jnp.linalg.slogdet(with_gaps(x))[1]], [(3, 3)], SMOOTH),
    "det": ([lambda x: jnp.linalg.det(x + jnp.eye(4, dtype=x.dtype))], [(4, 4)], SMOOTH),
    "pinv": ([jnp.linalg.pinv], [(3, 2)], WIDE),
    "optimization_barrier": (
        [lambda x, y: sum(lax.optimization_barrier((x, y, x * 2)))],
        [(2,), (2,)],
        (*SMOOTH, I32),
    ),
    "sharding_constraint": (
        [lambda x: 2 * lax.with_sharding_constraint(x, ON_THE_ONLY_DEVICE)],
        [(2, 3)],
        (*SMOOTH, I32),
    ),
    "reshard": ([lambda x: 2 * reshard(x, IN_THE_TYPE)], [(2, 3)], (*SMOOTH, I32)),
    "to_auto": (
        [lambda x: 2 * leave_to_compiler(reshard(x, IN_THE_TYPE))],
        [(2, 3)],
        (*SMOOTH, I32),
    ),
    # By their first operands these have one derivative, or none: see test_special.py.
    "hyp1f1": ([lambda x: special.hyp1f1(0.7, 1.3, x)], [(2,)], (F64,)),
    "hyp2f1": ([lambda x: special.hyp2f1(0.7, 0.4, 1.3, x / 3)], [(2,)], (F64,)),
    "wofz": ([special.wofz], [(2,)], (C128,)),
    "zeta": ([lambda x, q: lax.zeta(1 + x, q)], [(2,), (2,)], (F64,)),
    "slope_of_zeta": ([slope_of_zeta], [(2,), (2,)], (F64,)),
}
TRANSFORMS = {
    "FFT": (C128, 3),
    "IFFT": (C128, 3),
    "RFFT": (F64, 3),
    "IRFFT": (C128, 4),
}


def of(name):
    """The functions in whose programs a primitive stands, the shapes and the dtype of operands."""
    functions, shapes, dtypes = FUNCTIONS.get(name, ((), (), ()))
    for function, dtype in itertools.product(functions, dtypes):
        yield function, shapes, dtype
    if name == "fft":
        for kind, (dtype, length) in TRANSFORMS.items():
            yield transform(kind, length), [(2, 3)], dtype
