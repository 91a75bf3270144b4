"""Some 400 programs that users compile: one function each, by itself and transformed.

A function takes a library and arrays. Those of one group take arrays of the same kinds; a group
says which, and how its functions are transformed, too.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.programs import Library
from benchmarks.samplers import SAMPLERS

Function = Callable[..., Any]
Transformation = Callable[[Library, Function, tuple[Any, ...]], tuple[Function, tuple[Any, ...]]]

BATCH = 8


def plain(lib: Library, f: Function, args: tuple[Any, ...]) -> tuple[Function, tuple[Any, ...]]:
    return f, args


def gradient(lib: Library, f: Function, args: tuple[Any, ...]) -> tuple[Function, tuple[Any, ...]]:
    """With respect to the first array, of the sum of all results."""
    return lib.core.grad(lambda *args: total(lib, f(*args))), args


def mapped(lib: Library, f: Function, args: tuple[Any, ...]) -> tuple[Function, tuple[Any, ...]]:
    """Over batches of all arrays."""
    return lib.core.vmap(f), batches(lib, args)


def scanned(lib: Library, f: Function, args: tuple[Any, ...]) -> tuple[Function, tuple[Any, ...]]:
    """In a loop over batches of all arrays, which carries a sum."""

    def step(carry: Any, xs: Any) -> Any:
        return carry + total(lib, f(*xs)), None

    return lambda *xs: lib.core.lax.scan(step, lib.numpy.float32(0), xs)[0], batches(lib, args)


def total(lib: Library, tree: Any) -> Any:
    """The sum of all numbers in a tree."""
    sums = [
        lib.numpy.sum(lib.numpy.real(x)).astype("float32")
        for x in lib.core.tree_util.tree_leaves(tree)
    ]
    return sum(sums[1:], sums[0])


def batches(lib: Library, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Of each array several that are nearly the same."""
    return tuple(
        lib.numpy.stack([x + 0.001 * i if x.dtype.kind == "f" else x for i in range(BATCH)])
        for x in args
    )


class Group(NamedTuple):
    """Functions of the same arrays, which `arrays` gives as numpy's."""

    arrays: Callable[[], tuple[Any, ...]]
    functions: dict[str, Callable[..., Any]]  # of a library and the arrays
    ways: tuple[Transformation, ...]


class Program(NamedTuple):
    name: str
    function: Callable[..., Any]
    arrays: Callable[[], tuple[Any, ...]]
    way: Transformation

    def of(self, lib: Library) -> tuple[Function, tuple[Any, ...]]:
        """The function to be jitted, which is new each time, and the arrays to call it with."""
        args = tuple(lib.numpy.asarray(x) for x in self.arrays())
        return self.way(lib, lambda *args: self.function(lib, *args), args)


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


def vector() -> tuple[Any, ...]:
    return (_rng().uniform(0.1, 0.9, 20_000).astype(np.float32),)


def two_vectors() -> tuple[Any, ...]:
    rng = _rng()
    return tuple(rng.uniform(0.1, 0.9, 20_000).astype(np.float32) for _ in range(2))


def matrix() -> tuple[Any, ...]:
    return (_rng().normal(size=(200, 100)).astype(np.float32),)


def square() -> tuple[Any, ...]:
    x = _rng().normal(size=(60, 60))
    return ((x @ x.T / 60 + np.eye(60)).astype(np.float32),)


def system() -> tuple[Any, ...]:
    return (*square(), _rng().normal(size=(60, 3)).astype(np.float32))


def image() -> tuple[Any, ...]:
    rng = _rng()
    shapes = (4, 3, 32, 32), (8, 3, 5, 5)
    return tuple(rng.normal(size=shape).astype(np.float32) for shape in shapes)


def layer() -> tuple[Any, ...]:
    rng = _rng()
    shapes = (32, 64), (64, 64), (64,)
    return tuple((rng.normal(size=shape) / 8).astype(np.float32) for shape in shapes)


def sequence() -> tuple[Any, ...]:
    return tuple(_rng().normal(size=(2, 24, 4, 16)).astype(np.float32) for _ in range(3))


def integers() -> tuple[Any, ...]:
    return (_rng().integers(0, 50, 20_000).astype(np.int32),)


def key() -> tuple[Any, ...]:
    return (np.array([0, 42], np.uint32),)


def _named(path: str, names: str) -> dict[str, Callable[..., Any]]:
    """Functions of arrays alone, by their names in a module of a library."""

    def function(name: str) -> Callable[..., Any]:
        return lambda lib, *args: getattr(_module(lib, path), name)(*args)

    return {f"{path}.{name}": function(name) for name in names.split()}


def _module(lib: Library, path: str) -> Any:
    if path == "numpy":
        return lib.numpy
    module = lib.core
    for name in path.split("."):
        module = lib.numpy if (module, name) == (lib.core, "numpy") else getattr(module, name)
    return module


def _drawing(sampler: Any) -> Callable[..., Any]:
    return lambda lib, key: sampler(lib.core.random, lib.numpy, key, 1_000)


GROUPS = (
    Group(
        vector,
        _named(
            "numpy",
            "sin cos tan arcsin arctan sinh arctanh exp expm1 log log1p log2 sqrt cbrt sinc "
            "square reciprocal sign floor round angle i0",
        )
        | _named("nn", "relu silu softplus elu selu mish sigmoid log_sigmoid hard_tanh")
        | _named(
            "scipy.special",
            "erf erfc erfinv gammaln digamma i0e i1e ndtri log_ndtr entr expit logit spence "
            "exp1 expi",
        )
        | {"scipy.special.zeta": lambda lib, x: lib.core.scipy.special.zeta(x + 2.0, 1.0)},
        (plain,),
    ),
    Group(
        vector,
        _named("nn", "gelu softmax log_softmax logsumexp standardize")
        | _named(
            "numpy",
            "tanh mean var std median cumsum cumprod sort argsort max argmax diff gradient ptp "
            "nanmean nanmedian average",
        )
        | {
            "numpy.quantile": lambda lib, x: lib.numpy.quantile(x, lib.numpy.array([0.1, 0.9])),
            "numpy.percentile": lambda lib, x: lib.numpy.percentile(x, 30.0),
            "numpy.roll": lambda lib, x: lib.numpy.roll(x, 5),
            "numpy.pad": lambda lib, x: lib.numpy.pad(x, 3, mode="reflect"),
            "numpy.where": lambda lib, x: lib.numpy.where(x > 0.5, x, -x),
            "numpy.clip": lambda lib, x: lib.numpy.clip(x, 0.2, 0.8),
            "numpy.at add": lambda lib, x: x.at[lib.numpy.arange(50) * 3].add(1.0),
            "numpy.at set": lambda lib, x: x.at[::3].set(1.0),
            "numpy.take": lambda lib, x: x[lib.numpy.arange(1_000) * 7],
            "numpy.interp": lambda lib, x: lib.numpy.interp(
                x, lib.numpy.linspace(0, 1, 20), lib.numpy.linspace(0, 1, 20) ** 2
            ),
            "numpy.polyval": lambda lib, x: lib.numpy.polyval(lib.numpy.arange(5.0), x),
            "numpy.convolve": lambda lib, x: lib.numpy.convolve(x, lib.numpy.ones(7), mode="same"),
            "numpy.fft.rfft": lambda lib, x: lib.numpy.abs(lib.numpy.fft.rfft(x)),
            "numpy.fft.ifft": lambda lib, x: lib.numpy.fft.ifft(lib.numpy.fft.fft(x)),
            "lax.top_k": lambda lib, x: lib.core.lax.top_k(x, 10)[0],
            "lax.cumlogsumexp": lambda lib, x: lib.core.lax.cumlogsumexp(x),
            "lax.associative_scan": lambda lib, x: lib.core.lax.associative_scan(
                lambda a, b: a * b + b, x
            ),
            "stats.norm.logpdf": lambda lib, x: lib.core.scipy.stats.norm.logpdf(x),
            "stats.norm.cdf": lambda lib, x: lib.core.scipy.stats.norm.cdf(x, 0.3, 2.0),
            "stats.gamma.logpdf": lambda lib, x: lib.core.scipy.stats.gamma.logpdf(x, 2.0),
            "stats.beta.logpdf": lambda lib, x: lib.core.scipy.stats.beta.logpdf(x, 2.0, 3.0),
            "stats.t.logpdf": lambda lib, x: lib.core.scipy.stats.t.logpdf(x, 4.0),
        },
        (plain, gradient, mapped, scanned),
    ),
    Group(
        two_vectors,
        _named("numpy", "power arctan2 hypot logaddexp maximum remainder floor_divide dot")
        | _named("scipy.special", "gammainc gammaincc betaln xlogy xlog1py rel_entr")
        | {
            "scipy.special.betainc": lambda lib, x, y: lib.core.scipy.special.betainc(
                x[:2_000], y[:2_000], 0.4
            ),
            "numpy.searchsorted": lambda lib, x, y: lib.numpy.searchsorted(lib.numpy.sort(x), y),
            "numpy.histogram": lambda lib, x, y: lib.numpy.histogram(x, 20, weights=y)[0],
            "numpy.lexsort": lambda lib, x, y: lib.numpy.lexsort((x, y)),
            "numpy.trapezoid": lambda lib, x, y: lib.numpy.trapezoid(x, y),
        },
        (plain,),
    ),
    Group(
        integers,
        {
            "numpy.bincount": lambda lib, i: lib.numpy.bincount(i, length=50),
            "numpy.unique": lambda lib, i: lib.numpy.unique(i, size=50),
            "numpy.isin": lambda lib, i: lib.numpy.isin(i, lib.numpy.arange(10)),
            "nn.one_hot": lambda lib, i: lib.core.nn.one_hot(i, 50),
            "ops.segment_sum": lambda lib, i: lib.core.ops.segment_sum(i, i, 50),
            "numpy.gcd": lambda lib, i: lib.numpy.gcd(i, 12),
            "numpy.nonzero": lambda lib, i: lib.numpy.nonzero(i > 25, size=100),
            "lax.population_count": lambda lib, i: lib.core.lax.population_count(i),
        },
        (plain, mapped),
    ),
    Group(
        matrix,
        _named("numpy", "cov corrcoef transpose ravel")
        | _named("numpy.linalg", "qr svd pinv matrix_rank norm")
        | {
            "numpy.einsum": lambda lib, x: lib.numpy.einsum("ij,kj->ik", x, x),
            "numpy.tensordot": lambda lib, x: lib.numpy.tensordot(x, x, ((0,), (0,))),
            "numpy.kron": lambda lib, x: lib.numpy.kron(x[:20], x[:5, :5]),
            "numpy.concatenate": lambda lib, x: lib.numpy.concatenate([x, x * 2.0], axis=1),
            "numpy.linalg.lstsq": lambda lib, x: lib.numpy.linalg.lstsq(x, x[:, :2])[0],
            "numpy.tril": lambda lib, x: lib.numpy.tril(x),
            "softmax of rows": lambda lib, x: lib.core.nn.softmax(x, axis=1),
            "layer norm": lambda lib, x: (x - x.mean(1)[:, None]) / (x.std(1) + 1e-5)[:, None],
        },
        (plain, mapped),
    ),
    Group(
        square,
        _named("numpy.linalg", "inv det slogdet cholesky eigh eigvalsh eig cond")
        | _named("scipy.linalg", "expm lu sqrtm schur")
        | {
            "numpy.linalg.matrix_power": lambda lib, a: lib.numpy.linalg.matrix_power(a, 5),
            "multivariate_normal.logpdf": lambda lib, a: (
                lib.core.scipy.stats.multivariate_normal.logpdf(
                    lib.numpy.ones(60), lib.numpy.zeros(60), a
                )
            ),
        },
        (plain,),
    ),
    Group(
        square,
        _named("numpy.linalg", "inv slogdet cholesky eigh") | _named("scipy.linalg", "expm"),
        (gradient, mapped, scanned),
    ),
    Group(
        system,
        {
            "numpy.linalg.solve": lambda lib, a, b: lib.numpy.linalg.solve(a, b),
            "scipy.linalg.cho_solve": lambda lib, a, b: lib.core.scipy.linalg.cho_solve(
                lib.core.scipy.linalg.cho_factor(a), b
            ),
            "scipy.linalg.lu_solve": lambda lib, a, b: lib.core.scipy.linalg.lu_solve(
                lib.core.scipy.linalg.lu_factor(a), b
            ),
            "scipy.linalg.solve_triangular": lambda lib, a, b: (
                lib.core.scipy.linalg.solve_triangular(a, b, lower=True)
            ),
            "scipy.sparse.linalg.cg": lambda lib, a, b: lib.core.scipy.sparse.linalg.cg(
                a, b[:, 0], maxiter=20
            )[0],
        },
        (plain, gradient, mapped, scanned),
    ),
    Group(
        image,
        {
            "lax.conv": lambda lib, x, w: lib.core.lax.conv(x, w, (1, 1), "SAME"),
            "max pooling": lambda lib, x, w: lib.core.lax.reduce_window(
                x, -lib.numpy.inf, lib.core.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID"
            ),
            "mean pooling": lambda lib, x, w: lib.core.lax.reduce_window(
                x, 0.0, lib.core.lax.add, (1, 1, 2, 2), (1, 1, 2, 2), "VALID"
            ),
            "image.resize": lambda lib, x, w: lib.core.image.resize(
                x, (4, 3, 48, 48), method="bilinear"
            ),
            "scipy.signal.convolve2d": lambda lib, x, w: lib.core.scipy.signal.convolve2d(
                x[0, 0], w[0, 0]
            ),
        },
        (plain, gradient),
    ),
    Group(
        layer,
        {
            "layer": lambda lib, x, w, b: lib.numpy.tanh(x @ w + b),
            "recurrent layer": lambda lib, x, w, b: lib.core.lax.scan(
                lambda h, x: (lib.numpy.tanh(h @ w + x + b),) * 2, b, x
            ),
            "while loop": lambda lib, x, w, b: lib.core.lax.fori_loop(
                0, 10, lambda i, x: lib.numpy.tanh(x @ w + b), x
            ),
            "cond": lambda lib, x, w, b: lib.core.lax.cond(
                b.sum() > 0, lambda x: lib.numpy.sin(x) @ w, lambda x: lib.numpy.cos(x) @ w, x
            ),
            "checkpointed layers": lambda lib, x, w, b: lib.core.checkpoint(
                lambda x: lib.core.nn.gelu(lib.core.nn.gelu(x @ w + b) @ w + b)
            )(x),
        },
        (plain, gradient, mapped),
    ),
    Group(
        sequence,
        {
            "nn.dot_product_attention": lambda lib, q, k, v: lib.core.nn.dot_product_attention(
                q, k, v, is_causal=True
            )
        },
        (plain, gradient),
    ),
    Group(
        key,
        {f"random.{name}": _drawing(sampler) for name, sampler in SAMPLERS.items()},
        (plain,),
    ),
)


def programs() -> Iterator[Program]:
    """All programs; no two have one name."""
    return programs_of(GROUPS)


def programs_of(groups: Sequence[Group]) -> Iterator[Program]:
    for group in groups:
        for name, function in group.functions.items():
            for way in group.ways:
                label = name if way is plain else f"{name}, {way.__name__}"
                yield Program(label, function, group.arrays, way)
