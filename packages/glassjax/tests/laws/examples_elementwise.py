"""Examples of the laws for elementwise primitives, and numpy's names for them."""

import math
from statistics import NormalDist

import numpy as np

from glassjax.lax import RoundingMethod


def elementwise(function):
    """A function of Python's floats, for arrays of any dtype."""
    return lambda x: np.vectorize(function, otypes=[float])(x.astype(float))


def arctan2(y, x):
    if x.dtype.kind == "f":
        return np.arctan2(y, x)
    return -1j * np.log((x + 1j * y) / np.sqrt(x * x + y * y))


def upper_digits(x, y):
    """The product over 2**n, for n bits."""
    product = np.vectorize(lambda a, b: int(a) * int(b) >> 8 * x.itemsize, otypes=[object])(x, y)
    return product.astype(x.dtype)


def growth_of_digamma(a, b):
    """Many terms of the sum that defines it, and for the others their integral."""
    k = np.arange(20_000.0)
    return np.sum(b / ((a + k) * (a + b + k))) + math.log1p(b / (a + 19_999.5))


UNARY = {
    "tan": np.tan,
    "tanh": np.tanh,
    "logistic": lambda x: 1 / (1 + np.exp(-x)),
    "part_of_sum": lambda x: 1 / (1 + np.exp(-x)),
    "expm1": np.expm1,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "cbrt": np.cbrt,
    "exp2": np.exp2,
    "log2": np.log2,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "abs": np.abs,
    "sign": lambda x: x / np.abs(x) if x.dtype.kind == "c" else np.sign(x),
    "floor": np.floor,
    "ceil": np.ceil,
    "not": np.invert,
    "is_finite": np.isfinite,
    "population_count": elementwise(lambda x: int(x).bit_count()),
    "clz": lambda x: 8 * x.itemsize - elementwise(lambda x: int(x).bit_length())(x),
    "erf": elementwise(math.erf),
    "erfc": elementwise(math.erfc),
    "lgamma": elementwise(math.lgamma),
    "lgamma_of_64_bits": elementwise(math.lgamma),
    "one_minus_square": lambda x: 1 - x * x,
    "copy": np.copy,
    "square": np.square,
    "exp_neg_sq": lambda x: np.exp(-x * x),
    "sin_of_square": lambda x: np.sin(np.pi / 2 * x * x),
    "cos_of_square": lambda x: np.cos(np.pi / 2 * x * x),
    "i0": lambda x: np.i0(x.astype(float)),
    "log_ndtr": elementwise(lambda x: math.log(0.5 * math.erfc(-x / math.sqrt(2)))),
    "ndtri": elementwise(NormalDist().inv_cdf),
    "xlogx": lambda x: x * np.log(x),
    "erfcx": elementwise(lambda x: math.exp(x * x) * math.erfc(x)),
    "bessel_i0e": lambda x: np.i0(x.astype(float)) * np.exp(-np.abs(x.astype(float))),
}
BINARY = {
    "max": np.maximum,
    "min": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "shift_left": np.left_shift,
    "shift_right_logical": np.right_shift,
    "shift_right_arithmetic": np.right_shift,
    "rem": np.fmod,
    "atan2": arctan2,
    "nextafter": np.nextafter,
    "add_any": np.add,
    "mulhi": upper_digits,
    "comb": np.vectorize(
        lambda n, k: math.gamma(n + 1.0) / math.gamma(k + 1.0) / math.gamma(n - float(k) + 1)
    ),
    "logaddexp": np.logaddexp,
    "logaddexp2": np.logaddexp2,
    "growth_of_digamma": np.vectorize(lambda a, b: growth_of_digamma(float(a), float(b))),
    "betaln": np.vectorize(
        lambda a, b: math.lgamma(a) + math.lgamma(b) - math.lgamma(float(a) + float(b))
    ),
    "gamma_density": np.vectorize(
        lambda a, x: float(x) ** (float(a) - 1) * math.exp(-float(x)) / math.gamma(float(a))
    ),
}
NODES, WEIGHTS = np.polynomial.legendre.leggauss(60)


def owens_t(h, a):
    """The defining integral."""
    squares = 1 + (a * (NODES + 1) / 2) ** 2
    return a / (4 * math.pi) * np.sum(WEIGHTS * np.exp(-h * h / 2 * squares) / squares)


BINARY |= {
    "owens_t": np.vectorize(lambda h, a: owens_t(float(h), float(a))),
    "xlogy": lambda x, y: x * np.log(y),
    "xlog1py": lambda x, y: x * np.log1p(y),
    "log_quotient": lambda x, y: np.log(x / y),
    "relative_entropy": lambda x, y: x * np.log(x / y),
    "kullback_leibler": lambda x, y: x * np.log(x / y) - x + y,
    "poch": np.vectorize(lambda z, m: math.gamma(float(z) + float(m)) / math.gamma(float(z))),
}


def density(x):
    return np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def mish(x):
    """`x * tanh(softplus(x))`, its slope, and the slope of that."""
    share, part = np.tanh(np.log1p(np.exp(x))), 1 / (1 + np.exp(-x))
    slope = (1 - share * share) * part
    bend = slope * (1 - part - 2 * share * part)
    return x * share, share + x * slope, 2 * slope + x * bend


NDTR = elementwise(lambda x: math.erfc(-float(x) * math.sqrt(0.5)) / 2)
UNARY |= {
    "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.clip(x, 0, 6),
    "logit": lambda x: np.log(x / (1 - x)),
    "mish": lambda x: mish(x)[0],
    "mish_slope": lambda x: mish(x)[1],
    "mish_slope_slope": lambda x: mish(x)[2],
    "gelu": lambda x: x * NDTR(x),
    "gelu_slope": lambda x: NDTR(x) + x * density(x),
    "gelu_slope_slope": lambda x: (2 - x * x) * density(x),
    "log1mexp": lambda x: np.log(-np.expm1(-x)),
    "log1mexp_slope": lambda x: 1 / np.expm1(x),
    "log1mexp_slope_slope": lambda x: -np.exp(x) / np.expm1(x) ** 2,
}
# Where the operands of a primitive, or each of them, are drawn from, if not from 0.5 to 1.5.
RANGES = {
    **dict.fromkeys(["asin", "acos", "atanh", "erf_inv", "ndtri", "ndtri_slope"], (0.1, 0.9)),
    **dict.fromkeys(["logit", "regularized_incomplete_beta", "beta_density"], (0.1, 0.9)),
    "acosh": (1.1, 2.0),
    "comb": ((1.2, 1.5), (0.5, 0.8)),
    "clamp": ((0.5, 0.8), (0.5, 1.5), (1.2, 1.5)),
}
# The operands, from the first on, by which a primitive has no derivative, and values for them.
HELD = {
    "polygamma": (2.0,),
    "igamma": (1.7,),
    "igammac": (1.7,),
    "igamma_grad_a": (1.7,),
    "random_gamma_grad": (1.7,),
    "regularized_incomplete_beta": (1.3, 0.7),
    "beta_density": (1.3, 0.7),
    "expn": (2.0,),
}

PARAMS = {
    "round": [{"rounding_method": method} for method in RoundingMethod],
    "reduce_precision": [{"exponent_bits": 11, "mantissa_bits": 52}],
    "integer_pow": [{"y": y} for y in (2, 3, 5, -1, -2)],
}
# What numpy has no function for; `test_special.py` has laws of their own.
OTHERS = (
    "digamma",
    "erf_inv",
    "bessel_i1e",
    "expi",
    "sine_integral",
    "cosine_integral",
    "spence",
    "exp1",
    "erfcx_slope",
    "ndtri_slope",
    "fresnel_sin",
    "fresnel_cos",
    "dawsn",
    "dawsn_slope",
    "mean_exponential",
    "mean_exponential_slope",
)
BITCASTS = [
    ((2, 3), np.float64, np.int64),
    ((2, 3), np.int32, np.uint32),
    ((2, 3), np.float32, np.int8),
    ((3, 4), np.uint8, np.int32),
    ((), np.int32, np.uint8),
]

# What XLA compiles for long, as do its derivatives: several loops and series.
LONG = (
    *("owens_t", "betaln", "growth_of_digamma", "poch", "comb", "gamma_density", "beta_density"),
    *("igamma", "igammac", "igamma_grad_a", "random_gamma_grad", "regularized_incomplete_beta"),
    *("zeta", "slope_of_zeta", "ndtri", "ndtri_slope", "kullback_leibler", "polygamma", "erfcx"),
    *("erfcx_slope", "dawsn", "dawsn_slope", "hyp1f1", "hyp2f1", "wofz", "expn", "bessel_i0e"),
)

# What has no derivative, or by JAX's rule another than the slope of what it computes.
NOT_SMOOTH = ("is_finite", "bitcast_convert_type")
