"""Fits the equations of predators and prey to what trappers caught in twenty years.

The hares of Canada multiply, the lynxes eat them, multiply, and starve when few are left. Lotka
and Volterra wrote this as two differential equations with four rates:

    d hares / dt  = hares * (growth - eaten * lynxes)
    d lynxes / dt = lynxes * (fed * hares - death)

The program finds rates and beginnings that explain the pelts sold from 1900 to 1920 best:

    python examples/predators.py

It simulates the years by `scan`, differentiates through all the steps of the simulation, descends
from many beginnings at once by `vmap`, and says by the `hessian` how sure it is.
"""

import argparse
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np

import glassjax.numpy as jnp
from glassjax import hessian, jit, lax, random, value_and_grad, vmap
from glassjax.example_libraries import optimizers

HERE = Path(__file__).parent
STEPS_PER_YEAR = 20
NAMES = "growth", "eaten", "fed", "death", "hares in 1900", "lynxes in 1900", "noise"
GUESS = np.log([0.5, 0.02, 0.02, 0.5, 30.0, 5.0, 0.5])  # of all, their logarithms are found
SPREAD = 0.3  # of the beginnings around the guess
STEP_SIZE = 0.03
WANTED_ERROR = 0.3  # the factor between the simulation and what was seen, its logarithm


# The simulation


def rate_of_change(rates, animals):
    """How fast the numbers of animals grow."""
    growth, eaten, fed, death = rates
    hares, lynxes = animals
    return jnp.array([hares * (growth - eaten * lynxes), lynxes * (fed * hares - death)])


def step(rates, animals, dt):
    """The animals a time `dt` later, by the method of Runge and Kutta."""
    k1 = rate_of_change(rates, animals)
    k2 = rate_of_change(rates, animals + dt / 2 * k1)
    k3 = rate_of_change(rates, animals + dt / 2 * k2)
    k4 = rate_of_change(rates, animals + dt * k3)
    return animals + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def simulate(rates, animals, years):
    """The animals at the beginning of each year."""

    def part_of_year(animals, _):
        return step(rates, animals, 1 / STEPS_PER_YEAR), None

    def year(animals, _):
        later, _ = lax.scan(part_of_year, animals, length=STEPS_PER_YEAR)
        return later, animals

    return lax.scan(year, animals, length=years)[1]


# The fit


def surprise(unknowns, seen):
    """How improbable what was seen is (minus the logarithm), if all its errors are factors."""
    unknowns = jnp.exp(unknowns)
    rates, animals, noise = unknowns[:4], unknowns[4:6], unknowns[6]
    errors = jnp.log(seen) - jnp.log(simulate(rates, animals, len(seen)))
    return jnp.sum((errors / noise) ** 2) / 2 + errors.size * jnp.log(noise)


@partial(jit, static_argnames="steps")
def descend(start, seen, steps):
    """Returns where `steps` steps from `start` lead, and the surprise there."""
    schedule = optimizers.polynomial_decay(STEP_SIZE, steps, 0.0)
    optimizer = optimizers.adam(schedule)

    def one(state, i):
        value, gradient = value_and_grad(surprise)(optimizer.params_fn(state), seen)
        state = optimizer.update_fn(i, optimizers.clip_grads(gradient, 10.0), state)
        return state, value

    state, values = lax.scan(one, optimizer.init_fn(start), jnp.arange(steps))
    return optimizer.params_fn(state), values[-1]


def fit(key, seen, beginnings, steps):
    """The best of many descents, and the surprise after each of them."""
    starts = GUESS + SPREAD * random.normal(key, (beginnings, len(GUESS)))
    ends, values = vmap(descend, in_axes=(0, None, None))(starts, seen, steps)
    return ends[jnp.nanargmin(values)], values


def uncertainty(unknowns, seen):
    """How many per cent each unknown may be off: the curvature says how sharp the minimum is."""
    curvature = jit(hessian(surprise))(unknowns, seen)
    return 100 * jnp.sqrt(jnp.diag(jnp.linalg.inv(curvature)))


# What is shown


def draw(path, years, seen, rates, animals):
    """Writes a picture: what was seen, and the simulation, some years longer."""
    try:
        import matplotlib
    except ImportError:
        return "none: matplotlib is not installed"
    matplotlib.use("Agg")  # draws without a screen
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
    simulated = np.asarray(simulate(rates, animals, len(years) + 10))
    for i, (name, colour) in enumerate([("hares", "tab:brown"), ("lynxes", "tab:blue")]):
        axes.plot(years, seen[:, i], "o", color=colour, label=name)
        axes.plot(years[0] + np.arange(len(simulated)), simulated[:, i], color=colour)
    axes.set(title="pelts sold, and what the equations say", ylabel="thousands")
    axes.legend()
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0, help="of the beginnings")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter descents")
    options = parser.parse_args()
    beginnings, steps = (2, 200) if options.quick else (64, 1500)

    years, *columns = np.loadtxt(
        HERE / "data" / "hares.csv", delimiter=",", skiprows=1, unpack=True, dtype=np.float32
    )
    seen = np.stack(columns, axis=1)
    start = time.perf_counter()
    best, values = fit(random.key(options.seed), seen, beginnings, steps)
    value, gradient = jit(value_and_grad(surprise))(best, seen)
    slope = jnp.linalg.norm(gradient)
    took = time.perf_counter() - start
    found = np.exp(best)

    same = np.sum(np.asarray(values) < float(value) + 0.5)
    print(f"descents       {beginnings} of {steps} steps, {same} of them to this minimum")
    print(f"time           {took:.1f} s")
    print(f"surprise       {value:.3f}, its slope {slope:.1e}")
    for name, number, percent in zip(NAMES, found, uncertainty(best, seen), strict=True):
        print(f"{name:14s} {number:.3g} +- {percent:.0f} %")
    period = 2 * np.pi / np.sqrt(found[0] * found[3])
    print(f"period         {period:.1f} years, of small oscillations")
    picture = HERE / "output" / "predators.png"
    print(f"picture        {draw(picture, years, seen, found[:4], found[4:6])}")
    if not found[6] < WANTED_ERROR:
        sys.exit(f"The noise should be below {WANTED_ERROR}.")


if __name__ == "__main__":
    main()
