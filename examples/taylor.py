"""Follows the orbit of a comet by high-order Taylor series, whose terms `jet` computes.

    python examples/taylor.py

The second derivative of a position is the sun's pull there, and each higher derivative follows from
those below it: `jet` differentiates the pull along the orbit as far as it is known. A step sums the
series; with many terms it may be long.
"""

import argparse
import math
from typing import Any

import glassjax
import glassjax.numpy as jnp
from glassjax import jit, lax, vmap
from glassjax.experimental.jet import jet


def derivatives_in_time(state, order):
    """The state, its first, second, ... derivative, of a place and a velocity."""

    def rate(state):
        place, velocity = state
        return velocity, -place / jnp.sum(place**2) ** 1.5

    terms = [rate(state)]
    while len(terms) < order:
        _, higher = jet(rate, (state,), (terms,))
        terms.append(tuple(part[-1] for part in higher))
    return [state, *terms]


def step(state, dt, order) -> Any:  # pairs of arrays; to type checkers, a sum may be an int
    """The state after a time `dt`."""
    terms = derivatives_in_time(state, order)
    factors = [dt**k / math.factorial(k) for k in range(order + 1)]
    return tuple(
        sum(factor * term for factor, term in zip(factors, parts, strict=True))
        for parts in zip(*terms, strict=True)
    )


def error_of(speed, steps, order):
    """How far from its start a comet is after one period, if it starts with this speed."""
    dt = 2 * math.pi / (2 - speed**2) ** 1.5 / steps
    start = jnp.array([1.0, 0.0])
    state = start, jnp.array([0.0, 1.0]) * speed
    place, _ = lax.fori_loop(0, steps, lambda _, state: step(state, dt, order), state)
    return jnp.linalg.norm(place - start)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="series of few terms")
    orders = (2, 4, 6) if parser.parse_args().quick else (4, 8, 12)
    glassjax.config.update("enable_x64", True)
    speeds = jnp.linspace(1.0, 1.2, 3)  # 1 gives a circle
    for order in orders:
        errors = jit(vmap(lambda speed, n=order: error_of(speed, 100, n)))(speeds)
        print(
            f"order {order:2}: back after 100 steps within", *(f"{error:.1e}" for error in errors)
        )


if __name__ == "__main__":
    main()
