"""Lines of the table where ours is on purpose not JAX's number."""

_AT_POLES = "where the function is infinite, JAX rounds its slope to 16 bits earlier"

DIFFERENCES: dict[str, str] = {
    "scipy.special.betaln d0": _AT_POLES,
    "scipy.special.betaln d1": _AT_POLES,
    "scipy.special.owens_t": "of an infinite slope ours is exact, JAX's 3 units off in float64",
    "scipy.special.polygamma": "orders that are floats are taken; JAX wants integers",
}
