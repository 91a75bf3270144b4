"""Small programs over the library's functions, for comparisons beside JAX.

Each is an expression of `x` and `y` (real vectors), `m` (a real matrix), `z` (complex), `i` and `u`
(integers), `b` (booleans) and `key`, in the names of either library.
"""

import re
from collections.abc import Callable
from typing import Any

import numpy as np

ARGUMENTS: dict[str, Any] = {
    "x": np.array([0.25, 0.5, 0.75], np.float32),
    "y": np.array([0.5, 0.25, 0.125], np.float32),
    "m": np.eye(3, dtype=np.float32) * 2 + np.float32(0.25),
    "z": np.array([0.5, 1j, -1], np.complex64),
    "i": np.array([2, 0, 1], np.int32),
    "u": np.array([1, 2, 3], np.uint32),
    "b": np.array([True, False, True]),
    "key": None,  # of each library
}

PRIMITIVES = """
lax.abs(x)
lax.acos(x)
lax.acosh(x + 1)
lax.add(x, y)
lax.after_all(lax.create_token())
lax.bitwise_and(i, i)
lax.argmax(x, 0, np.int32)
lax.argmin(x, 0, np.int32)
lax.asin(x)
lax.asinh(x)
lax.atan(x)
lax.atan2(x, y)
lax.atanh(x)
lax.bessel_i0e(x)
lax.bessel_i1e(x)
lax.bitcast_convert_type(x, np.int32)
lax.broadcast(x, (2,))
lax.broadcast_in_dim(x, (2, 3), (1,))
lax.cbrt(x)
lax.ceil(x)
lax.clamp(np.float32(0), x, np.float32(1))
lax.clz(i)
lax.collapse(m, 0)
lax.complex(x, y)
lax.concatenate([x, y], 0)
lax.cond(x[0] > 0, jnp.sin, jnp.cos, x)
lax.conj(z)
lax.conv(m[None, None], m[None, None], (1, 1), "SAME")
lax.convert_element_type(x, np.int32)
lax.cos(x)
lax.cosh(x)
lax.cumlogsumexp(x)
lax.cummax(x)
lax.cummin(x)
lax.cumprod(x)
lax.cumsum(x)
lax.digamma(x)
lax.div(x, y)
lax.dot(m, m)
lax.dot_general(m, m, (((1,), (0,)), ((), ())))
lax.dynamic_index_in_dim(x, 1)
lax.dynamic_slice(x, (i[0],), (2,))
lax.dynamic_update_slice(x, y[:2], (i[0],))
lax.eq(x, y)
lax.erf(x)
lax.erf_inv(x)
lax.erfc(x)
lax.exp(x)
lax.exp2(x)
lax.expand_dims(x, (0,))
lax.expm1(x)
lax.fft(z, "FFT", (3,))
lax.floor(x)
lax.fori_loop(0, 3, lambda j, c: c * 2, x)
lax.full((3,), 1.0)
lax.full_like(x, 2.0)
lax.ge(x, y)
lax.gt(x, y)
lax.igamma(x, y)
lax.imag(z)
lax.integer_pow(x, 3)
lax.iota(np.int32, 3)
lax.is_finite(x)
lax.le(x, y)
lax.lgamma(x)
lax.linalg.cholesky(m)
lax.linalg.eigh(m)
lax.linalg.lu(m)
lax.linalg.qr(m)
lax.linalg.svd(m)
lax.linalg.triangular_solve(m, m, left_side=True, lower=True)
lax.log(x)
lax.log1p(x)
lax.logistic(x)
lax.lt(x, y)
lax.map(jnp.sin, x)
lax.max(x, y)
lax.min(x, y)
lax.mul(x, y)
lax.ne(x, y)
lax.neg(x)
lax.nextafter(x, y)
lax.bitwise_not(i)
lax.optimization_barrier(x)
lax.bitwise_or(i, i)
lax.pad(x, np.float32(0), ((1, 1, 0),))
lax.polygamma(x, y)
lax.population_count(i)
lax.pow(x, y)
lax.real(z)
lax.reciprocal(x)
lax.reduce(x, np.float32(0), lax.add, (0,))
lax.reduce_and(i, (0,))
lax.reduce_max(m, (0,))
lax.reduce_min(m, (0,))
lax.reduce_or(i, (0,))
lax.reduce_precision(x, 5, 2)
lax.reduce_prod(m, (0,))
lax.reduce_sum(m, (0,))
lax.reduce_window(x, np.float32(0), lax.add, (2,), (1,), "VALID")
lax.reduce_xor(i, (0,))
lax.rem(x, y)
lax.reshape(m, (9,))
lax.rev(x, (0,))
lax.rng_bit_generator(jnp.zeros(4, np.uint32), (3,))
lax.rng_uniform(np.float32(0), np.float32(1), (3,))
lax.round(x)
lax.rsqrt(x)
lax.scan(lambda c, a: (c + a, c * a), x[0], x)
lax.select(b, x, y)
lax.select_n(b, x, y)
lax.shift_left(i, i)
lax.shift_right_arithmetic(i, i)
lax.shift_right_logical(i, i)
lax.sign(x)
lax.sin(x)
lax.sinh(x)
lax.slice(x, (1,), (3,))
lax.slice_in_dim(m, 0, 2)
lax.sort(x)
lax.sort((i, x), num_keys=1)
lax.split(x, (1, 2))
lax.sqrt(x)
lax.square(x)
lax.squeeze(m[:1], (0,))
lax.stop_gradient(x)
lax.sub(x, y)
lax.tan(x)
lax.tanh(x)
lax.top_k(x, 2)
lax.transpose(m, (1, 0))
lax.while_loop(lambda c: c[0] < 10, lambda c: c * 2, x + 1)
lax.bitwise_xor(i, i)
lax.zeta(x + 2, y)
"""

FUNCTIONS = """
x + y
x + 1
2 * x
x - 0.5
x / 3
x**2
x**3
x**0.5
x**y
-x
abs(x)
x % 2
x // 2
x > 0
x @ y
m @ x
m @ m
m.T
m.sum()
m.sum(0)
m.mean()
m.mean(axis=1, keepdims=True)
m.max()
m.min(1)
m.prod(0)
m.std()
m.var(0)
m.reshape(9)
m.ravel()
m.astype(np.int32)
x.astype(bool)
x[0]
x[-1]
x[1:]
x[::-1]
x[None]
m[0]
m[:, 1]
m[0, 1]
x[i]
m[i]
m[i, i]
x[b.argmax()]
x.at[0].set(1.0)
x.at[i].add(1.0)
x.at[i].mul(2.0)
x.at[i].set(y)
x.at[i].max(0.5)
m.at[0].add(1.0)
jnp.abs(x)
jnp.add(x, i)
jnp.all(b)
jnp.any(b)
jnp.allclose(x, y)
jnp.append(x, y)
jnp.arange(5)
jnp.arange(0.0, 1.0, 0.25)
jnp.arctan2(x, y)
jnp.argmax(x)
jnp.argsort(x)
jnp.array_equal(x, y)
jnp.average(x, weights=y)
jnp.broadcast_to(x, (2, 3))
jnp.ceil(x)
jnp.clip(x, 0.3, 0.6)
jnp.concatenate([x, y])
jnp.convolve(x, y)
jnp.corrcoef(m)
jnp.cov(m)
jnp.cross(x, y)
jnp.cumprod(x)
jnp.cumsum(x)
jnp.diag(x)
jnp.diag(m)
jnp.diff(x)
jnp.dot(m, m)
jnp.einsum("ij,jk->ik", m, m)
jnp.einsum("ij,ij->", m, m)
jnp.exp(x)
jnp.expand_dims(x, 0)
jnp.eye(3)
jnp.fft.fft(x)
jnp.fft.rfft(x)
jnp.flip(x)
jnp.floor(x)
jnp.full((2,), 3.0)
jnp.hstack([x, y])
jnp.hypot(x, y)
jnp.inner(x, y)
jnp.interp(x, x, y)
jnp.isclose(x, y)
jnp.isnan(x)
jnp.kron(m, m)
jnp.linalg.cholesky(m)
jnp.linalg.det(m)
jnp.linalg.eigh(m)
jnp.linalg.inv(m)
jnp.linalg.norm(x)
jnp.linalg.norm(m)
jnp.linalg.qr(m)
jnp.linalg.slogdet(m)
jnp.linalg.solve(m, x)
jnp.linalg.svd(m)
jnp.linspace(0.0, 1.0, 4)
jnp.log(x)
jnp.log1p(x)
jnp.logaddexp(x, y)
jnp.logical_and(b, b)
jnp.logical_not(b)
jnp.logspace(0.0, 1.0, 4)
jnp.matmul(m, m)
jnp.max(m, 1)
jnp.maximum(x, y)
jnp.maximum(x, 0)
jnp.mean(x)
jnp.median(x)
jnp.meshgrid(x, y)
jnp.minimum(x, y)
jnp.mod(x, y)
jnp.moveaxis(m, 0, 1)
jnp.nan_to_num(x)
jnp.nonzero(b, size=2)
jnp.ones((2, 3))
jnp.ones_like(x)
jnp.outer(x, y)
jnp.pad(x, 1)
jnp.percentile(x, 50)
jnp.piecewise(x, [x < 0.3, x > 0.3], [0.0, 1.0])
jnp.polyval(y, x)
jnp.power(x, 2)
jnp.ptp(x)
jnp.repeat(x, 2)
jnp.roll(x, 1)
jnp.rot90(m)
jnp.round(x, 2)
jnp.searchsorted(x, y)
jnp.select([b], [x], y)
jnp.sign(x)
jnp.sin(x)
jnp.sinc(x)
jnp.sort(x)
jnp.split(m, 3)
jnp.sqrt(x)
jnp.square(x)
jnp.squeeze(m[:1])
jnp.stack([x, y])
jnp.std(x)
jnp.sum(x)
jnp.swapaxes(m, 0, 1)
jnp.take(x, i)
jnp.take_along_axis(x, i, 0)
jnp.tanh(x)
jnp.tensordot(m, m, 1)
jnp.tile(x, 2)
jnp.trace(m)
jnp.transpose(m)
jnp.tri(3)
jnp.tril(m)
jnp.triu(m)
jnp.unique(x, size=2)
jnp.vdot(x, y)
jnp.vstack([x, y])
jnp.where(b, x, y)
jnp.where(x > 0.5, x, 0.0)
jnp.zeros((2, 3))
jnp.zeros_like(x)
nn.celu(x)
nn.dot_product_attention(m[:, None], m[:, None], m[:, None])
nn.elu(x)
nn.gelu(x)
nn.gelu(x, approximate=False)
nn.glu(m[:, :2])
nn.hard_tanh(x)
nn.leaky_relu(x)
nn.log_sigmoid(x)
nn.log_softmax(x)
nn.logsumexp(x)
nn.one_hot(i, 3)
nn.relu(x)
nn.relu6(x)
nn.selu(x)
nn.sigmoid(x)
nn.silu(x)
nn.soft_sign(x)
nn.softmax(x)
nn.softplus(x)
nn.standardize(x)
nn.swish(x)
random.bernoulli(key, 0.5, (3,))
random.bits(key, (3,))
random.categorical(key, x)
random.choice(key, x)
random.exponential(key, (3,))
random.fold_in(key, 1)
random.gumbel(key, (3,))
random.key(0)
random.laplace(key, (3,))
random.normal(key, (3,))
random.permutation(key, x)
random.randint(key, (3,), 0, 9)
random.split(key)
random.truncated_normal(key, -1.0, 1.0, (3,))
random.uniform(key, (3,))
scipy.linalg.cho_factor(m)
scipy.linalg.expm(m)
scipy.linalg.solve_triangular(m, x)
scipy.signal.convolve(x, y)
scipy.special.betaln(x, y)
scipy.special.entr(x)
scipy.special.erf(x)
scipy.special.expit(x)
scipy.special.gammaln(x)
scipy.special.logit(x)
scipy.special.logsumexp(x)
scipy.special.ndtr(x)
scipy.special.xlogy(x, y)
scipy.stats.beta.logpdf(x, 2.0, 3.0)
scipy.stats.expon.logpdf(x)
scipy.stats.gamma.logpdf(x, 2.0)
scipy.stats.norm.cdf(x)
scipy.stats.norm.logpdf(x)
scipy.stats.t.logpdf(x, 3.0)
scipy.stats.uniform.logpdf(x)
"""

EXPRESSIONS: list[str] = [*PRIMITIVES.strip().split("\n"), *FUNCTIONS.strip().split("\n")]


def program(lib: Any, expression: str) -> tuple[Callable[..., Any], list[Any]]:
    """The expression as a function in the names of a library, and its arguments."""
    names = [name for name in ARGUMENTS if re.search(rf"(?<![\w.]){name}\b(?!=)", expression)]
    facades = {"jnp": lib.numpy, "np": np} | {
        name: getattr(lib, name) for name in ("lax", "nn", "random", "scipy")
    }
    function = eval(f"lambda {', '.join(names)}: {expression}", facades)
    return function, [lib.random.key(0) if x == "key" else ARGUMENTS[x] for x in names]


def _real(lib: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    def total(*args: Any) -> Any:
        leaves = lib.tree.leaves(function(*args))
        return sum(leaf.sum() for leaf in leaves if leaf.dtype == np.float32)

    return total


def _jvp(lib: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, *rest: lib.jvp(lambda x: function(x, *rest), (x,), (x,))


def _scan(lib: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: lib.lax.scan(lambda c, _: (c, function(*args)), np.int32(0), None, 2)[1]


# The transformations, as functions of a library and of a function.
WAYS: dict[str, Callable[[Any, Callable[..., Any]], Callable[..., Any]]] = {
    "plain": lambda lib, f: f,
    "jit": lambda lib, f: lib.jit(f),
    "grad": lambda lib, f: lib.grad(_real(lib, f)),
    "jvp": _jvp,
    "vmap": lambda lib, f: lib.vmap(f),
    "scan": _scan,
}


def takes_real_numbers(arguments: list[Any]) -> bool:
    return bool(arguments) and getattr(arguments[0], "dtype", None) == np.float32


def transformed(lib: Any, expression: str, way: str) -> tuple[Callable[..., Any], list[Any]] | None:
    """The expression under a transformation, and its arguments; None if that does not apply."""
    function, arguments = program(lib, expression)
    if way in ("grad", "jvp") and not takes_real_numbers(arguments):
        return None
    if way == "vmap":
        if not arguments:
            return None
        arguments = [lib.numpy.stack([lib.numpy.asarray(x)] * 2) for x in arguments]
    return WAYS[way](lib, function), arguments


def staged(lib: Any, expression: str, way: str) -> Any:
    """The jaxpr of an expression under a transformation; None if that does not apply."""
    found = transformed(lib, expression, way)
    return None if found is None else lib.make_jaxpr(found[0])(*found[1])
