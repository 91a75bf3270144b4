"""Reductions, statistics, and sums along an axis."""

from fuzzing.search.arguments import ALL, REAL, Arguments, call
from fuzzing.search.recipes.forms import Recipe, along_axis, recipes, reduction


def quantile(a: Arguments, name: str) -> str:
    x = a.array("fiu")
    q = a.array("f", shape=a.one_of((), (2,), (0,)), domain="unit")
    scale = "100 * " if name.endswith("percentile") else ""
    methods = "lower", "higher", "nearest", "midpoint", "inverted_cdf", "hazen", "weibull"
    options = a.some(keepdims="True", method=lambda: repr(a.one_of(*methods)))
    return call(name, x, f"{scale}{q}", axis=a.axes(x), **options)


def average(a: Arguments, name: str) -> str:
    x = a.array(ndims=(1, 3))
    options = a.some(weights=lambda: a.array(shape=x.shape), returned="True", keepdims="True")
    return call(name, x, axis=a.axes(x), **options)


def cov(a: Arguments, name: str) -> str:
    x = a.array(ndims=(1, 2))
    options = a.some(y=lambda: a.array(shape=x.shape), rowvar="False")
    if name == "jnp.cov":
        options |= a.some(bias="True", ddof="0")
    return call(name, x, **options)


def histogram(a: Arguments, name: str) -> str:
    x = a.array("fiu", domain="tame")
    options = a.some(bins=lambda: a.number(1, 5), range="(-2, 3)")
    options |= a.some(weights=lambda: a.array("fiu", shape=x.shape))
    if name == "jnp.histogram":
        options |= a.some(density="True")
    return call(name, x, **options)


def histogram2d(a: Arguments, name: str) -> str:
    x = a.array("fi", ndims=(1, 1), domain="tame", smallest=1)
    y = a.array("fi", shape=x.shape, domain="tame")
    return call(name, x, y, **a.some(bins=lambda: a.one_of(3, [2, 3]), density="True"))


def histogramdd(a: Arguments, name: str) -> str:
    x = a.array("fi", shape=(a.number(1, 4), 2), domain="tame")
    return call(name, x, bins=a.number(1, 3), **a.some(density="True"))


def bincount(a: Arguments, name: str) -> str:
    x = a.indices(4, (a.number(0, 4),))
    options = a.some(weights=lambda: a.array("fi", shape=x.shape), minlength=3)
    return call(name, x, length=a.one_of(4, 2, None), **options)


def trapezoid(a: Arguments, name: str) -> str:
    x = a.array(ndims=(1, 3))
    options = a.some(dx="0.5") if a.chance(2) else a.some(x=lambda: a.array("fi", shape=x.shape))
    return call(name, x, axis=a.some_axis(x), **options)


COUNTED = {"dtype": "fiuc", "keepdims": "", "where": ""}
SUMS = {**COUNTED, "initial": "", "promote_integers": ""}
BOUNDS = {"keepdims": "", "where": "", "initial": ""}
MOMENTS = {"keepdims": "", "where": "", "dtype": "fc", "ddof": ""}
MEANS = {"keepdims": "", "where": "", "dtype": "fc"}

RECIPES: dict[str, Recipe] = recipes(
    "jnp",
    [
        (reduction(ALL, **SUMS), "sum prod"),
        (reduction(ALL, **COUNTED, initial=""), "nansum nanprod"),
        (reduction(ALL, keepdims="", where=""), "all any"),
        (reduction(ALL, **BOUNDS), "max min amax amin nanmax nanmin"),
        (reduction(ALL, **MEANS), "mean nanmean"),
        (reduction(ALL, **MOMENTS), "var std nanvar nanstd"),
        (reduction(REAL, keepdims=""), "median nanmedian ptp"),
        (reduction(ALL, keepdims=""), "count_nonzero"),
        (along_axis(ALL, keepdims="True"), "argmax argmin nanargmax nanargmin"),
        (
            along_axis(ALL, dtype=lambda a: a.quoted_dtype("fic")),
            "cumsum cumprod nancumsum nancumprod",
        ),
        (
            along_axis(ALL, include_initial="True", dtype=lambda a: a.quoted_dtype("fic")),
            "cumulative_sum cumulative_prod",
        ),
        (quantile, "quantile percentile nanquantile nanpercentile"),
        (average, "average"),
        (cov, "cov corrcoef"),
        (histogram, "histogram histogram_bin_edges"),
        (histogram2d, "histogram2d"),
        (histogramdd, "histogramdd"),
        (bincount, "bincount"),
        (along_axis(), "linalg.vector_norm"),
        (trapezoid, "trapezoid"),
    ],
)
