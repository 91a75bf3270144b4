"""Activations and special functions: values, dtypes and gradients, beside JAX."""

import jax
import numpy as np
import pytest
from libraries import assert_all_same_results, assert_same_program
from tables import for_each

import glassjax
import glassjax.scipy.special
import glassjax.scipy.stats.norm

X = np.array([-30.0, -3.5, -1.0, -0.3, 0.2, 0.9, 1.0, 2.5, 7.0])
POSITIVE = np.resize([0.05, 0.3, 0.9, 1.4, 3.5, 20.0], 9)
REVERSED = np.resize([20.0, 3.5, 1.4, 0.9, 0.3, 0.05], 9)
UNIT = np.resize([0.001, 0.2, 0.5, 0.7, 0.99], 9)
ROWS = np.array([[0.5, -1.0, 3.0, 2.0], [1.0, 1.0, -np.inf, 0.0]])
WHERE = np.array([[True, False, True, True], [True, True, True, False]])


ACTIVATIONS = [
    "celu",
    "elu",
    "gelu",
    "hard_sigmoid",
    "hard_silu",
    "hard_swish",
    "hard_tanh",
    "identity",
    "leaky_relu",
    "log_sigmoid",
    "mish",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "soft_sign",
    "softplus",
    "sparse_plus",
    "sparse_sigmoid",
    "squareplus",
    "swish",
    "tanh",
]

CASES = {
    **{name: (lambda lib, x, name=name: getattr(lib.nn, name)(x), X) for name in ACTIVATIONS},
    "gelu exact": (lambda lib, x: lib.nn.gelu(x, approximate=False), X),
    "celu alpha": (lambda lib, x: lib.nn.celu(x, alpha=0.5), X),
    "elu alpha": (lambda lib, x: lib.nn.elu(x, 0.3), X),
    "glu": (lambda lib, x: lib.nn.glu(x, axis=1), np.stack([X[:4], X[4:8]])),
    "log1mexp": (lambda lib, x: lib.nn.log1mexp(x), POSITIVE),
    "logsumexp": (lambda lib, x: lib.nn.logsumexp(x), ROWS[0]),
    "logsumexp axis": (lambda lib, x: lib.nn.logsumexp(x, axis=-1, keepdims=True), ROWS),
    "logsumexp where": (lambda lib, x: lib.nn.logsumexp(x, 0, where=WHERE), ROWS),
    "logsumexp b": (lambda lib, x: lib.nn.logsumexp(x, 1, b=WHERE * 2.0), ROWS),
    "logsumexp sign": (
        lambda lib, x: lib.scipy.special.logsumexp(x, 1, b=WHERE - 2.0, return_sign=True), ROWS,
    ),
    "logsumexp of nothing": (lambda lib, x: lib.nn.logsumexp(x * 0 - np.inf), ROWS[0]),
    "logmeanexp": (lambda lib, x: lib.nn.logmeanexp(x, 1, where=WHERE), ROWS),
    "softmax": (lambda lib, x: lib.nn.softmax(x, axis=0), ROWS),
    "softmax where": (lambda lib, x: lib.nn.softmax(x, where=WHERE), ROWS),
    "log_softmax": (lambda lib, x: lib.nn.log_softmax(x, axis=(0, 1)), ROWS[:1]),
    "log_softmax where": (lambda lib, x: lib.nn.log_softmax(x, where=WHERE), ROWS),
    "standardize": (lambda lib, x: lib.nn.standardize(x, axis=0, epsilon=1e-3), X),
    "standardize where": (lambda lib, x: lib.nn.standardize(x, where=WHERE), ROWS[:, [0, 1, 3, 3]]),
    "standardize stable": (lambda lib, x: lib.nn.standardize(x, algorithm="stable"), X),
    "standardize given": (lambda lib, x: lib.nn.standardize(x, 0, mean=1.0, variance=2.0), X),
    "one_hot": (lambda lib, x: lib.nn.one_hot(x, 3, axis=0), np.array([0, 2, 5, -1])),
    "softmax of all": (lambda lib, x: lib.scipy.special.softmax(x), ROWS),
    "log_softmax of rows": (lambda lib, x: lib.scipy.special.log_softmax(x, axis=1), ROWS[:, :2]),
    "multigammaln": (lambda lib, x: lib.scipy.special.multigammaln(x + 2, 3), POSITIVE),
    "polygamma": (lambda lib, x: lib.scipy.special.polygamma(2, x), POSITIVE),
    "norm scaled": (lambda lib, x: lib.scipy.stats.norm.logpdf(x, 0.5, scale=2.0), X),
}  # fmt: skip
for name in [
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfinv",
    "expit",
    "gammaln",
    "i0e",
    "i1",
    "i1e",
    "logit",
    "ndtri",
]:
    domain = UNIT if name in ("erfinv", "logit", "ndtri") else POSITIVE
    CASES[name] = lambda lib, x, name=name: getattr(lib.scipy.special, name)(x), domain
for name in ["erf", "erfc", "expit", "gamma", "i0e", "i1", "i1e", "log_ndtr", "ndtr"]:
    CASES[f"{name} left"] = lambda lib, x, name=name: getattr(lib.scipy.special, name)(x), X + 0.05
CASES["zeta by its exponent"] = lambda lib, x: lib.scipy.special.zeta(1 + x, 1.5), POSITIVE
CASES["zeta"] = lambda lib, x: lib.scipy.special.zeta(2.5, x), POSITIVE
CASES["gammasgn"] = (
    lambda lib, x: lib.scipy.special.gammasgn(x),
    np.array([-2.5, -2.0, -1.5, -0.0, 0.0, 1.0, -np.inf, np.inf, np.nan]),
)
for name in ["beta", "betaln", "kl_div", "rel_entr", "xlog1py", "xlogy"]:
    CASES[name] = (
        lambda lib, x, name=name: getattr(lib.scipy.special, name)(x, REVERSED + 0.5),
        POSITIVE,
    )
for name in ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]:
    CASES[f"norm {name}"] = lambda lib, x, name=name: getattr(lib.scipy.stats.norm, name)(x), X
for name in ["ppf", "isf"]:
    CASES[f"norm {name}"] = lambda lib, x, name=name: getattr(lib.scipy.stats.norm, name)(x), UNIT


# JAX's series for large arguments is short.
WITH_SHORT_SERIES = {name for name in CASES if "beta" in name}


@pytest.mark.parametrize(
    ("names", "rounding"), [(CASES.keys() - WITH_SHORT_SERIES, 1e-12), (WITH_SHORT_SERIES, 1e-7)]
)
def test_values_and_gradients(names, rounding):
    def of(name):
        function, x = CASES[name]

        def total(x, lib):
            return sum(leaf.sum() for leaf in lib.tree.leaves(function(lib, x)))

        def program(numpy, lib):
            given = lib.lax.stop_gradient(x)  # which is traced then
            has_gradient = x.dtype.kind == "f" and name != "logsumexp of nothing"
            return function(lib, given), lib.grad(total)(given, lib) if has_gradient else ()

        return program

    assert_all_same_results({name: of(name) for name in CASES if name in names}, rounding, rounding)


@for_each("name", ["gelu", "mish", "softplus", "softmax", "logsumexp", "log_softmax"])
@for_each("dtype", ["float32", "bfloat16", "int32", "bool_"])
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")  # JAX's, of integers
def test_dtypes(name, dtype):
    if dtype == "bool_" and name not in ("gelu", "mish", "softplus"):
        return  # these subtract
    x = np.array([1, 2, 3], getattr(glassjax.numpy, dtype).dtype)
    for x64 in (False, True):
        with jax.enable_x64(x64), glassjax.enable_x64(x64):
            ours, theirs = (lib.eval_shape(getattr(lib.nn, name), x) for lib in (glassjax, jax))
            assert ours.dtype == theirs.dtype
            assert dtype == "int32" or ours.weak_type == theirs.weak_type


def test_the_tails_are_exact():
    p = np.array([1e-300, 1e-30, 1e-10, 1e-3, 0.5, 1 - 1e-10])
    assert_same_program(lambda lib: lib.scipy.special.ndtri, p, tolerance=1e-12, atol=1e-15)
    p = p.astype(np.float32)
    assert_same_program(lambda lib: lib.scipy.special.ndtri, p, tolerance=3e-6, atol=1e-7)
