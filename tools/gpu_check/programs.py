"""Programs that give the same on both libraries, by what of a GPU they use.

Each takes a library, `lib`, and returns a tree of arrays and Python values. A program that checks
itself, since results may differ in sign or order, returns residuals, which are small on both.
"""

import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np


class Program(NamedTuple):
    """A program, and how far floats of 32 bits may differ, relative to the largest of an array."""

    run: Callable[[Any], Any]
    tolerance: float


PROGRAMS: dict[str, Program] = {}


def program(tolerance: float = 1e-4) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    def declare(run: Callable[[Any], Any]) -> Callable[[Any], Any]:
        PROGRAMS[run.__name__.replace("_", " ")] = Program(run, tolerance)
        return run

    return declare


def drawn(lib: Any, *shape: int, dtype: str = "float32", seed: int = 0) -> Any:
    return lib.numpy.asarray(np.random.default_rng(seed).normal(size=shape), dtype)


# Arithmetic


@program()
def elementwise_functions(lib: Any) -> Any:
    x = lib.numpy.asarray(np.linspace(-3, 3, 1001), "float32")
    positive = lib.numpy.abs(x) + 0.1
    names = [
        "sin",
        "cos",
        "tan",
        "exp",
        "expm1",
        "tanh",
        "arctan",
        "sinh",
        "arcsinh",
        "cbrt",
        "floor",
        "sign",
        "round",
        "sinc",
    ]
    return {
        **{name: getattr(lib.numpy, name)(x) for name in names},
        **{f"{name} of positive": getattr(lib.numpy, name)(positive) for name in ("log", "sqrt")},
        **{name: getattr(lib.nn, name)(x) for name in ["gelu", "silu", "softplus", "elu"]},
        "complex": lib.numpy.exp(1j * x) * lib.numpy.sqrt(x + 0j),
        "power": positive**x,
        "remainder": lib.numpy.remainder(x, 0.7),
    }


@program(1e-3)
def special_functions(lib: Any) -> Any:
    special = lib.scipy.special
    x = lib.numpy.asarray(np.linspace(0.05, 8, 500), "float32")
    names = ["gammaln", "digamma", "erf", "erfc", "expit", "i0e", "i1e", "entr", "expi"]
    fraction = x / 8.1
    return {
        **{name: getattr(special, name)(x) for name in names},
        "erf_inv": lib.lax.erf_inv(fraction),
        "ndtri": special.ndtri(fraction),
        "betainc": special.betainc(x, 2.0, fraction),
        "gammainc": special.gammainc(x, 3.0),
        "zeta": special.zeta(x + 1.5, 2.0),
        "slope of gammainc": lib.grad(lambda a: special.gammainc(a, 3.0).sum())(x),
    }


@program()
def dtypes(lib: Any) -> Any:
    x = lib.numpy.arange(-8, 8)
    names = [
        "int8",
        "uint8",
        "int16",
        "uint32",
        "float16",
        "bfloat16",
        "float8_e4m3fn",
        "float8_e5m2",
        "complex64",
    ]
    converted = {name: x.astype(name) for name in names}
    with lib.enable_x64(True):
        wide = lib.numpy.arange(5, dtype="float64") / 3
        converted["float64"] = lib.numpy.linalg.inv(wide[:, None] * wide + lib.numpy.eye(5))
    narrow = lib.lax.dot(
        x.astype("int8").reshape(4, 4),
        x.astype("int8").reshape(4, 4),
        preferred_element_type="int32",
    )
    return [converted, narrow]


# Sums, orders, indices


@program()
def reductions(lib: Any) -> Any:
    x = drawn(lib, 64, 1000)
    jnp = lib.numpy
    return [
        *(
            getattr(x, name)(axis)
            for name in ("sum", "mean", "max", "var")
            for axis in (0, 1, None)
        ),
        *(x.argmax(1), jnp.prod(1 + x / 100, 1), jnp.cumsum(x, 1), jnp.cumprod(1 + x / 100, 1)),
        *(jnp.median(x, 1), jnp.quantile(x, 0.3, 1), jnp.histogram(x, 20)[0]),
        *(lib.nn.logsumexp(x, 1), lib.lax.cummax(x, 1), jnp.any(x > 3, 1)),
        lib.lax.reduce_window(x, 0.0, lib.lax.add, (4, 5), (2, 5), "SAME"),
    ]


@program()
def sort(lib: Any) -> Any:
    x = drawn(lib, 32, 3001)
    ties = lib.numpy.asarray(np.random.default_rng(1).integers(0, 9, 5000))
    with_nan = x.at[0, ::7].set(np.nan).at[0, 1::7].set(-0.0)
    jnp = lib.numpy
    return [
        *(jnp.sort(x), jnp.argsort(x), jnp.sort(with_nan), jnp.argsort(ties, stable=True)),
        *(jnp.sort(x.astype("bfloat16")), jnp.lexsort((ties, -ties // 2)), jnp.unique(ties)),
        *(
            lib.lax.top_k(x, 5),
            jnp.partition(x[0], 100)[100],
            jnp.searchsorted(jnp.sort(x[0]), x[1]),
        ),
        lib.lax.sort((ties, jnp.arange(5000)), num_keys=1),
    ]


@program()
def indexing(lib: Any) -> Any:
    x = lib.numpy.arange(10000.0).reshape(100, 100)
    i = lib.numpy.asarray(np.random.default_rng(4).integers(-100, 100, 500))
    return [
        *(x[i], x[:, i], x[i, i], x[i[:50, None], i[:60]], x[x > 9990]),
        *(x.at[i].add(1.0), x.at[i].max(5e3), x.at[i, i].set(-1.0), x.at[i].multiply(1.01)),
        lib.grad(lambda x: (x[i] ** 2).sum())(x),
        lib.numpy.take_along_axis(x, i[:100, None] % 100, 1),
        lib.ops.segment_sum(lib.numpy.ones(500), i % 100, 100),
        lib.lax.dynamic_slice(x, (i[0] % 90, 3), (5, 5)),
        lib.lax.dynamic_update_slice(x, x[:5, :5], (i[0] % 90, 3)),
    ]


# Libraries of NVIDIA


@program(1e-3)
def products(lib: Any) -> Any:
    a, b = drawn(lib, 300, 200, seed=1), drawn(lib, 200, 100, seed=2)
    jnp = lib.numpy
    with lib.default_matmul_precision("highest"):
        return [
            *(a @ b, jnp.einsum("ij,jk,lk->il", a, b, b), jnp.tensordot(a, b, 1)),
            *((a + 1j * a) @ b, jnp.vdot(a, a), a.reshape(3, 100, 200) @ b),
            (a.astype("bfloat16") @ b.astype("bfloat16")).astype("float32").sum() / 1e3,
            lib.lax.dot(a, b, preferred_element_type="float32"),
        ]


@program(1e-3)
def convolutions(lib: Any) -> Any:
    images, kernel = drawn(lib, 4, 3, 32, 40), drawn(lib, 8, 3, 5, 3, seed=1)

    def convolved(images: Any, kernel: Any, **options: Any) -> Any:
        return lib.lax.conv_general_dilated(images, kernel, (1, 2), "SAME", **options)

    with lib.default_matmul_precision("highest"):
        slopes = lib.grad(lambda *args: (convolved(*args) ** 2).mean(), (0, 1))(images, kernel)
        return [
            convolved(images, kernel),
            convolved(images, kernel, rhs_dilation=(2, 1)),
            convolved(images, kernel[:, :1].repeat(3, 0)[:24], feature_group_count=3),
            slopes,
            lib.numpy.convolve(images[0, 0, 0], kernel[0, 0, :, 0]),
            lib.vmap(lambda k: convolved(images, k[None]))(kernel),
        ]


@program(5e-3)
def decompositions(lib: Any) -> Any:
    """What LAPACK's counterparts give, where it is determined; else what has to be zero."""
    jnp, linalg, scipy = lib.numpy, lib.numpy.linalg, lib.scipy.linalg
    a = drawn(lib, 3, 40, 40)
    symmetric = a @ a.mT + 40 * jnp.eye(40)
    general = a + 9 * jnp.eye(40)
    q, r = linalg.qr(a[:, :, :30])
    u, s, vt = linalg.svd(a, full_matrices=False)
    lower, upper = scipy.lu(general[0])[1:]
    ones = jnp.ones(40)
    values, vectors = linalg.eigh(symmetric)
    scale = jnp.abs(symmetric).max()
    residuals = [
        *(q @ r - a[:, :, :30], q.mT @ q - jnp.eye(30), (u * s[:, None]) @ vt - a),
        (symmetric @ vectors - vectors * values[:, None]) / scale,
    ]
    return {
        "residuals are small": [bool(jnp.abs(each).max() < 1e-3) for each in residuals],
        "cholesky": linalg.cholesky(symmetric),
        "lu": [lower, upper],
        "qr": jnp.abs(r),
        "values": [s, values, jnp.sort(linalg.eigvals(general).real)],
        "solve": [linalg.solve(general, symmetric), scipy.cho_solve((r[0], False), r[0])],
        "inverse": [linalg.inv(general), linalg.det(general / 9), linalg.slogdet(general)[1]],
        "least squares": linalg.lstsq(a[0, :, :30], a[1, :, 0])[0],
        "triangular": scipy.solve_triangular(lower, a[0], lower=True),
        "tridiagonal": lib.lax.linalg.tridiagonal_solve(
            ones.at[0].set(0.0), 4 * ones, ones.at[-1].set(0.0), a[0]
        ),
        "functions": [scipy.expm(general[0] / 40), linalg.matrix_power(general[0] / 9, 5)],
        "slopes": lib.grad(lambda x: linalg.slogdet(x @ x.mT + 9 * jnp.eye(40))[1].sum())(a),
        "complex": linalg.inv(general[0] + 1j * a[1]),
    }  # fmt: skip


@program()
def fourier_transforms(lib: Any) -> Any:
    x, fft = drawn(lib, 8, 6, 125), lib.numpy.fft
    power = lib.grad(lambda x: (abs(fft.rfft(x)) ** 2).sum())(x)
    return [
        *(fft.fft(x), fft.ifft(x), fft.rfft2(x), fft.irfft(fft.rfft(x), 125), fft.fftn(x), power),
        fft.hfft(x[0, 0].astype("complex64")),
    ]


# Random numbers


@program()
def random_bits(lib: Any) -> Any:
    random = lib.random
    key = random.key(7)
    keys = random.split(key, 4)
    return [
        *(random.bits(key, (1001,)), random.bits(key, (999,), "uint8"), random.key_data(keys)),
        *(random.randint(key, (1000,), -5, 77), random.permutation(key, 1000)),
        random.bits(random.key(3, impl="rbg"), (100,)),
        lib.vmap(lambda k: random.bits(random.fold_in(k, 5), (3,)))(keys),
    ]


@program()
def random_samples(lib: Any) -> Any:
    random, key = lib.random, lib.random.key(7)
    return [
        *(
            random.normal(key, (1000,)),
            random.uniform(key, (1000,)),
            random.exponential(key, (100,)),
        ),
        *(random.gamma(key, 2.5, (200,)), random.beta(key, 2.0, 3.0, (50,))),
        *(random.categorical(key, lib.numpy.ones((50, 9))), random.bernoulli(key, 0.3, (500,))),
        *(random.poisson(key, 4.0, (200,)), random.truncated_normal(key, -1.0, 2.0, (100,))),
    ]


# Programs


@program()
def control_flow(lib: Any) -> Any:
    jnp, lax = lib.numpy, lib.lax
    scan = lib.jit(
        lambda x: lax.scan(lambda c, y: (jnp.tanh(c + y), c * y), x, jnp.arange(100.0) / 100)
    )
    grown = lib.jit(
        lambda x: lax.while_loop(lambda c: c[0] < 50, lambda c: (c[0] + 1, c[1] * 1.01), (0, x))[1]
    )
    chosen = lib.jit(lambda x: lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x))
    return [
        *(scan(jnp.ones(5)), grown(jnp.ones(4)), chosen(jnp.ones(3))),
        lib.grad(lambda x: scan(x)[1].sum())(jnp.ones(5)),
        lib.vmap(chosen)(jnp.asarray([[1.0, 2.0], [-3.0, 1.0]])),
        lib.hessian(lambda x: jnp.sin(x).prod())(jnp.arange(1.0, 5.0)),
        lax.switch(2, [jnp.sin, jnp.cos, jnp.tanh], jnp.ones(2)),
        lax.associative_scan(jnp.multiply, 1 + drawn(lib, 100) / 100),
    ]


@program()
def callbacks(lib: Any) -> Any:
    jnp = lib.numpy
    totals: list[float] = []
    ordered: list[float] = []
    doubled = lib.pure_callback(
        lambda v: np.asarray(v) * 2, lib.ShapeDtypeStruct((3,), np.float32), jnp.ones(3)
    )

    def watched(x: Any) -> Any:
        lib.debug.callback(lambda v: totals.append(float(v)), x.sum())
        for i in range(3):
            lib.experimental.io_callback(
                lambda v: ordered.append(float(v)), None, x[0] + i, ordered=True
            )
        return x + 1

    result = lib.jit(watched)(jnp.ones(3))
    lib.effects_barrier()

    def fails(_: Any) -> Any:
        raise KeyError("of the callback")

    failing = lib.jit(lambda x: lib.pure_callback(fails, lib.ShapeDtypeStruct((), np.float32), x))
    try:
        lib.block_until_ready(failing(1.0))
        reported = False
    except Exception as error:  # of another class in each library
        reported = "of the callback" in str(error)
    return [doubled, result, totals, ordered, reported]


@program()
def exported_programs(lib: Any) -> Any:
    jnp = lib.numpy
    both = lib.export.export(
        lib.jit(lambda x: jnp.linalg.cholesky(x @ x.T + 9 * jnp.eye(8))), platforms=["cpu", "cuda"]
    )(lib.ShapeDtypeStruct((8, 8), "float32"))
    again = lib.export.deserialize(both.serialize())
    x = jnp.arange(64.0).reshape(8, 8) / 64
    on_cpu = lib.device_put(x, lib.devices("cpu")[0])
    return [again.call(x), again.call(on_cpu)]


@program()
def compiled_programs(lib: Any) -> Any:
    compiled = lib.jit(lambda x: lib.numpy.sin(x) @ x).lower(lib.numpy.ones((64, 64))).compile()
    costs = compiled.cost_analysis()
    memory = compiled.memory_analysis()
    return [
        *(compiled(lib.numpy.ones((64, 64))), costs["flops"] > 0),
        *(memory.argument_size_in_bytes, memory.output_size_in_bytes),
        "HloModule" in compiled.as_text(),
    ]


@program()
def calls_from_threads(lib: Any) -> Any:
    results: list[Any] = [None] * 8
    f = lib.jit(lambda x, i: lib.numpy.sin(x * i).sum())
    x = lib.numpy.arange(1000.0) / 1000

    def call(i: int) -> None:
        for _ in range(20):
            results[i] = f(x, float(i))

    threads = [threading.Thread(target=call, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@program()
def nan_checks(lib: Any) -> Any:
    with lib.debug_nans(True):
        try:
            lib.jit(lambda x: lib.numpy.log(x))(-1.0)
        except FloatingPointError:
            return "found"
    return "not found"


# Memory and devices


@program()
def devices(lib: Any) -> Any:
    x = lib.numpy.ones((1000, 1000))
    donated = lib.jit(lambda x: x + 1, donate_argnums=0)
    y = donated(x)
    on_cpu = lib.device_put(y, lib.devices("cpu")[0])
    back = lib.device_put(on_cpu, lib.devices()[0])
    return [
        *(bool(x.is_deleted()), y.sum(), (back * 2).sum(), lib.numpy.sin(on_cpu).sum()),
        sorted(device.platform for device in lib.numpy.sin(on_cpu).devices()),
    ]


@program()
def memory_statistics(lib: Any) -> Any:
    device = lib.devices()[0]
    before = device.memory_stats()
    held = lib.block_until_ready(lib.numpy.ones(16 * 1024 * 1024))
    after = device.memory_stats()
    if before is None or after is None:
        return "none here"
    return [
        after["bytes_in_use"] - before["bytes_in_use"] >= held.nbytes,
        after["peak_bytes_in_use"] >= after["bytes_in_use"],
        after["bytes_limit"] > 0,
    ]


@program()
def sharded_on_one_device(lib: Any) -> Any:
    mesh = lib.make_mesh((1,), ("d",), axis_types=(lib.sharding.AxisType.Auto,))
    spec = lib.sharding.PartitionSpec("d")
    placed = lib.sharding.NamedSharding(mesh, spec)
    x = lib.device_put(lib.numpy.arange(8.0), placed)
    total = lib.shard_map(
        lambda x: (lib.lax.psum(x, "d"), lib.lax.all_gather(x, "d", tiled=True)),
        mesh=mesh, in_specs=spec, out_specs=(lib.sharding.PartitionSpec(),) * 2, check_vma=False,
    )  # fmt: skip
    return [
        lib.jit(lambda x: x * 2, in_shardings=placed, out_shardings=placed)(x),
        lib.jit(total)(x),
        lib.grad(lambda x: total(x)[0].sum())(x),
    ]


@program()
def arrays_of_torch(lib: Any) -> Any:
    try:
        import torch
    except ImportError:
        return "torch is not installed"
    x = lib.numpy.arange(6.0).reshape(2, 3)
    theirs = torch.from_dlpack(x)
    doubled = lib.dlpack.from_dlpack((theirs * 2).contiguous())
    wide = lib.dlpack.from_dlpack(torch.ones(3, dtype=torch.bfloat16, device=theirs.device))
    return [
        *(theirs.cpu().numpy(), doubled, wide.astype("float32"), np.from_dlpack(on_cpu(lib, x))),
        *(theirs.device.type in ("cuda", "cpu"), str(doubled.dtype)),
    ]


def on_cpu(lib: Any, x: Any) -> Any:
    return lib.device_put(x, lib.devices("cpu")[0])


@program()
def large_arrays(lib: Any) -> Any:
    """More elements than 32 bits count, where the memory is there."""
    if lib.default_backend() != "gpu":
        return "on a GPU alone"
    with lib.enable_x64(True):
        x = lib.numpy.zeros(2**31 + 8, "int8").at[-3].set(5)
        return [x[-8:], lib.numpy.argmax(x), x.astype(bool).any()]


@program()
def checkpoints(lib: Any) -> Any:
    """Those of ours; JAX has none, so the expected numbers stand for its result."""
    tree = {"w": lib.numpy.arange(6.0), "step": 3}
    if not hasattr(lib, "checkpoints"):
        return [tree["w"], 3]
    with tempfile.TemporaryDirectory() as directory:
        lib.checkpoints.save(Path(directory), 1, tree).wait()
        found = lib.checkpoints.restore(Path(directory), like=tree)
    return [found["w"], int(found["step"])]
