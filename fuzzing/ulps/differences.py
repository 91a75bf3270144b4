"""Lines of the table where our number differs from JAX's on purpose.

The page about reliability lists them, without JAX.
"""

_AT_POLES = "where the function is infinite, JAX rounds its slope to 16 bits earlier"

DIFFERENCES: dict[str, str] = {
    "scipy.special.betaln d0": _AT_POLES,
    "scipy.special.betaln d1": _AT_POLES,
    "scipy.special.owens_t": "at an infinite slope ours is exact, JAX's 3 units off in float64",
    "scipy.special.polygamma": "orders may be floats; JAX requires integers",
}
