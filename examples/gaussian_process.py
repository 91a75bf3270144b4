"""Extrapolates the carbon dioxide in the air, by a Gaussian process with learned parameters.

A Gaussian process says how much the values at two times have in common: here a straight trend,
slow changes of it, a season that is a little different each year, irregularities, and errors of
measurement. How strong and how long each of them is, is learned from the data before 1991:

    python examples/gaussian_process.py

The rest of the data, eleven years, shows how good the extrapolation is. The probability of the
data needs the Cholesky factor of a large matrix; `grad` differentiates through it. This takes
more digits than 32 bits have, and so the program asks for 64.
"""

import argparse
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np

import glassjax
import glassjax.numpy as jnp
from glassjax import jit, lax, tree, value_and_grad, vmap
from glassjax.example_libraries import optimizers

HERE = Path(__file__).parent
FIRST_HIDDEN_YEAR = 1991
MIDDLE = 1975  # where the trend leaves the mean as it is
STEP_SIZE = 0.1
WANTED_ERROR = 3.0  # parts per million, root of the mean square

# The logarithms of these are learned; sizes in parts per million, times in years.
GUESS = {
    "trend": {"slope": 1.0},
    "change": {"size": 2.0, "time": 5.0},
    "season": {"size": 2.0, "time": 100.0, "smoothness": 1.0},
    "irregular": {"size": 0.5, "time": 1.0},
    "error": {"size": 0.3},
}


# The data


def load_co2():
    """Times in years, and the mean of each month's weekly measurements."""
    table = np.genfromtxt(HERE / "data" / "co2.csv", delimiter=",", skip_header=1)
    dates, co2 = table[~np.isnan(table[:, 1])].T
    months = (dates // 10000) * 12 + (dates // 100 % 100 - 1)
    times = np.unique(months)
    means = np.array([np.mean(co2[months == month]) for month in times])
    return (times + 0.5) / 12, means


# The process


def covariance(parameters, s, t):
    """What the values at the times `s` and `t` have in common, errors of measurement aside."""
    trend, change, season, irregular = (
        parameters[name] for name in ("trend", "change", "season", "irregular")
    )
    distance = s - t

    def decay(time):
        return jnp.exp(-((distance / time) ** 2) / 2)

    within_year = jnp.exp(-2 * (jnp.sin(jnp.pi * distance) / season["smoothness"]) ** 2)
    return (
        trend["slope"] ** 2 * (s - MIDDLE) * (t - MIDDLE)
        + change["size"] ** 2 * decay(change["time"])
        + season["size"] ** 2 * decay(season["time"]) * within_year
        + irregular["size"] ** 2 * jnp.exp(-jnp.abs(distance) / irregular["time"])
    )


def covariances(parameters, s, t):
    """The matrix of covariances of all the times `s` with all the times `t`."""
    row = vmap(covariance, in_axes=(None, None, 0))
    return vmap(row, in_axes=(None, 0, None))(parameters, s, t)


def factor(parameters, times):
    """The Cholesky factor of the covariances of what is measured at the times."""
    errors = parameters["error"]["size"] ** 2 * jnp.eye(len(times))
    return jnp.linalg.cholesky(covariances(parameters, times, times) + errors)


def solve(lower, columns):
    """What the lower triangular matrix makes the columns of."""
    return lax.linalg.triangular_solve(lower, columns, left_side=True, lower=True)


def surprise(logarithms, times, values):
    """Minus the logarithm of the probability of the values: what is made as small as possible."""
    lower = factor(tree.map(jnp.exp, logarithms), times)
    fit = jnp.sum(solve(lower, values[:, None]) ** 2) / 2
    volume = jnp.sum(jnp.log(jnp.diag(lower)))
    return fit + volume + len(times) / 2 * jnp.log(2 * jnp.pi)


@partial(jit, static_argnames="steps")
def learn(logarithms, times, values, steps):
    """Returns the parameters' logarithms after some steps, and the surprise at each of them."""
    optimizer = optimizers.adam(optimizers.polynomial_decay(STEP_SIZE, steps, 0.0))

    def step(state, i):
        value, gradient = value_and_grad(surprise)(optimizer.params_fn(state), times, values)
        return optimizer.update_fn(i, gradient, state), value

    state, surprises = lax.scan(step, optimizer.init_fn(logarithms), jnp.arange(steps))
    return optimizer.params_fn(state), surprises


@jit
def predict(parameters, times, values, new_times):
    """Means and standard deviations of what would be measured at the new times."""
    lower = factor(parameters, times)
    across = solve(lower, covariances(parameters, times, new_times))
    mean = across.T @ solve(lower, values[:, None])[:, 0]
    explained = jnp.sum(across**2, axis=0)
    alone = vmap(covariance, in_axes=(None, 0, 0))(parameters, new_times, new_times)
    return mean, jnp.sqrt(alone - explained + parameters["error"]["size"] ** 2)


# What is shown


def draw(path, times, values, new_times, mean, deviation):
    """Writes a picture of the data and of the extrapolation with its 95 % band."""
    try:
        import matplotlib
    except ImportError:
        return "none: matplotlib is not installed"
    matplotlib.use("Agg")  # draws without a screen
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
    axes.plot(times, values, "k.", markersize=2, label="measured")
    axes.plot(new_times, mean, color="tab:red", linewidth=1, label="extrapolated")
    band = mean - 1.96 * deviation, mean + 1.96 * deviation
    axes.fill_between(new_times, *band, color="tab:red", alpha=0.3, label="in it with 95 %")
    axes.set(title="carbon dioxide on Mauna Loa", ylabel="parts per million")
    axes.legend()
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=150, help="of the optimizer")
    parser.add_argument("--quick", action="store_true", help="15 steps, every fourth month")
    options = parser.parse_args()
    glassjax.config.update("jax_enable_x64", True)
    steps, every = (15, 4) if options.quick else (options.steps, 1)

    times, values = load_co2()
    is_shown = times < FIRST_HIDDEN_YEAR
    shown = times[is_shown][::every], values[is_shown][::every]
    hidden_times, hidden = times[~is_shown], values[~is_shown]
    offset = np.mean(shown[1])
    centred = shown[0], shown[1] - offset

    start = time.perf_counter()
    logarithms, surprises = learn(tree.map(np.log, GUESS), *centred, steps)
    surprises = np.asarray(surprises)
    took = time.perf_counter() - start
    parameters = tree.map(np.exp, logarithms)
    mean, deviation = map(np.asarray, predict(parameters, *centred, hidden_times))
    error = np.sqrt(np.mean((mean + offset - hidden) ** 2))
    covered = np.mean(np.abs(mean + offset - hidden) < 1.96 * deviation)
    future = np.arange(FIRST_HIDDEN_YEAR, 2012, 1 / 24)
    future_mean, future_deviation = map(np.asarray, predict(parameters, *centred, future))
    picture = HERE / "output" / "gaussian_process.png"
    picture = draw(picture, times, values, future, future_mean + offset, future_deviation)

    print(f"data           {len(shown[0])} months to learn from, {len(hidden)} hidden")
    print(f"time           {took:.1f} s for {steps} steps")
    print(f"surprise       {surprises[0]:.1f} at first, {surprises[-1]:.1f} at last")
    for name, numbers in parameters.items():
        print(f"{name:14s} " + ", ".join(f"{key} {x:.3g}" for key, x in numbers.items()))
    print(f"error          {error:.2f} parts per million in {hidden_times[-1] - 1991:.0f} years")
    print(f"in the band    {100 * covered:.0f} % of the hidden months, of 95 % expected")
    print(f"picture        {picture}")
    if error > WANTED_ERROR:
        sys.exit(f"The error should be at most {WANTED_ERROR} parts per million.")


if __name__ == "__main__":
    main()
