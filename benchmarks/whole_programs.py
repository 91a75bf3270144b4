"""Whole programs, from the first step to the hundredth: trainings, fits, and a Markov chain.

Each library runs a program in a process of its own, in turn with a peer's. The clock starts when
libraries are imported and data are read: the time to the first step has what is traced and compiled
for it, and the lines `import` say what a process pays before.
"""

import gzip
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import cycle, islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from benchmarks import programs
from benchmarks.measure import (
    QUICK_PAIRS,
    Line,
    Pairs,
    Row,
    Skip,
    figures_of,
    fresh_processes,
    row_of,
)
from benchmarks.programs import Library, library

DATA = Path(__file__).parent.parent / "examples" / "data"
PAIRS = 5
STEPS, QUICK_STEPS = 300, 100
Loss = Callable[[Any, Any], Any]
Step = Callable[[Any, Any], tuple[Any, Any]]  # of a state and a batch, to a new state and a number


class Program(NamedTuple):
    """A program, written once for all libraries that have numpy's functions.

    Arguments:
        step: makes the function that takes one step, not compiled yet.
        state: makes the arrays to begin with.
        batches: makes the arrays of numpy that the steps take in turn.
        lap: steps of an epoch, or 100 where there is none.
        wide: needs 64 bits.
        without: by library that cannot run it, what it lacks.
    """

    step: Callable[[Library], Step]
    state: Callable[[Library], Any]
    batches: Callable[[], list[Any]]
    lap: int = 100
    wide: bool = False
    without: Mapping[str, str] = MappingProxyType({})


def tree_map(f: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """Map a function over dicts and lists, for which autograd and PyTorch have no function."""
    if isinstance(tree, dict):
        return {
            name: tree_map(f, x, *(other[name] for other in others)) for name, x in tree.items()
        }
    if isinstance(tree, list | tuple):
        return [tree_map(f, *each) for each in zip(tree, *others, strict=True)]
    return f(tree, *others)


def scan(lib: Library, f: Callable[[Any, Any], Any], carry: Any, count: int, xs: Any = None) -> Any:
    """The library's `scan`; a Python loop where it has none."""
    if hasattr(lib.core, "lax"):
        return lib.core.lax.scan(f, carry, xs, length=count)
    collected = []
    for i in range(count):
        carry, out = f(carry, None if xs is None else [x[i] for x in xs])
        collected.append(out)
    return carry, None if collected[0] is None else lib.numpy.array(collected)


# Trainings


def momentum(loss: Callable[[Library], Loss], rate: float) -> Callable[[Library], Step]:
    """Steps of gradient descent with momentum; the state is the parameters and their velocities."""

    def step_of(lib: Library) -> Step:
        value_and_grad = lib.core.value_and_grad(loss(lib))

        def step(state: Any, batch: Any) -> Any:
            params, velocity = state
            value, gradient = value_and_grad(params, batch)
            velocity = tree_map(lambda v, g: 0.9 * v + g, velocity, gradient)
            return [tree_map(lambda p, v: p - rate * v, params, velocity), velocity], value

        return step

    return step_of


def adam(loss: Callable[[Library], Loss], rate: float) -> Callable[[Library], Step]:
    """Steps of Adam; the state is the parameters, both moments and the number of steps."""

    def step_of(lib: Library) -> Step:
        value_and_grad = lib.core.value_and_grad(loss(lib))

        def step(state: Any, batch: Any) -> Any:
            params, first, second, count = state
            value, gradient = value_and_grad(params, batch)
            count = count + 1
            first = tree_map(lambda m, g: 0.9 * m + 0.1 * g, first, gradient)
            second = tree_map(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradient)

            def changed(p: Any, m: Any, v: Any) -> Any:
                return p - rate * m / (1 - 0.9**count) / ((v / (1 - 0.999**count)) ** 0.5 + 1e-8)

            return [tree_map(changed, params, first, second), first, second, count], value

        return step

    return step_of


def state_of(params: Callable[[Library], Any], moments: int) -> Callable[[Library], Any]:
    """Parameters, as many zeros like them as an optimizer has moments, and Adam's count."""

    def state(lib: Library) -> Any:
        made = params(lib)
        zeros = [tree_map(lambda x: lib.numpy.zeros_like(x), made) for _ in range(moments)]
        return [made, *zeros, *([lib.numpy.asarray(np.float32(0))] if moments == 2 else [])]

    return state


# The digits, by an MLP and by a convolution

MLP_SIZES = (64, 128, 10)


def digits(size: int, shape: tuple[int, ...]) -> list[Any]:
    """The images to train with, as in the examples, in batches."""
    table = np.loadtxt(DATA / "digits.csv.gz", delimiter=",", dtype=np.float32)
    np.random.default_rng(0).shuffle(table)
    table = table[len(table) // 5 :]
    images = table[:, :-1].reshape(-1, *shape) / 16
    labels = np.eye(10, dtype=np.float32)[table[:, -1].astype(int)]
    starts = range(0, len(table) - size + 1, size)
    return [(images[i : i + size], labels[i : i + size]) for i in starts]


def convolution_params(lib: Library) -> Any:
    rng = np.random.default_rng(0)

    def layer(*shape: int) -> Any:
        weights = rng.normal(0, (2 / np.prod(shape[:-1])) ** 0.5, shape).astype(np.float32)
        return {
            "w": lib.numpy.asarray(weights),
            "b": lib.numpy.asarray(np.zeros(shape[-1], np.float32)),
        }

    return {
        "first": layer(3, 3, 1, 32),
        "second": layer(3, 3, 32, 64),
        "hidden": layer(256, 128),
        "last": layer(128, 10),
    }


def convolution_loss(lib: Library) -> Loss:
    nn, lax = lib.core.nn, lib.core.lax

    def convolve(images: Any, layer: Any) -> Any:
        layout = ("NHWC", "HWIO", "NHWC")
        fits = lax.conv_general_dilated(
            images, layer["w"], (1, 1), "SAME", dimension_numbers=layout
        )
        fits = nn.relu(fits + layer["b"])
        return lax.reduce_window(fits, -lib.numpy.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    def loss(params: Any, batch: Any) -> Any:
        images, labels = batch
        images = convolve(convolve(images, params["first"]), params["second"])
        flat = images.reshape(len(images), -1)
        hidden = nn.relu(flat @ params["hidden"]["w"] + params["hidden"]["b"])
        scores = hidden @ params["last"]["w"] + params["last"]["b"]
        return -lib.numpy.mean(lib.numpy.sum(nn.log_softmax(scores) * labels, axis=-1))

    return loss


# The transformer, on letters

HEADS, LENGTH, WIDTH, LAYERS, TEXTS = 4, 32, 64, 2, 16


@cache
def letters() -> Any:
    """The text as numbers of its letters."""
    text = np.frombuffer(gzip.decompress((DATA / "gospels.txt.gz").read_bytes()), np.uint8)
    return np.unique(text, return_inverse=True)[1]


def texts() -> list[Any]:
    """Pieces of the text, and the letters that follow each of theirs, in ten batches."""
    text = letters()
    starts = np.random.default_rng(1).integers(0, len(text) - LENGTH, (10, TEXTS, 1))
    pieces = np.eye(text.max() + 1, dtype=np.float32)[text[starts + np.arange(LENGTH + 1)]]
    return [(each[:, :-1], each[:, 1:]) for each in pieces]


def transformer_params(lib: Library) -> Any:
    return programs.transformer_params(lib, LAYERS, WIDTH, int(letters().max()) + 1)


# A Gaussian process


def carbon_dioxide() -> list[Any]:
    """Times and values, a third of those of the example."""
    table = np.genfromtxt(DATA / "co2.csv", delimiter=",", skip_header=1)
    dates, values = table[~np.isnan(table[:, 1])][::12].T
    times = dates // 10000 + (dates // 100 % 100 - 0.5) / 12
    shown = times < 1991
    return [(times[shown] - 1975, values[shown] - values[shown].mean())]


def process_params(lib: Library) -> Any:
    """The logarithms of sizes and times."""
    guess = {"slope": 1.0, "change": 2.0, "years": 5.0, "season": 2.0, "smoothness": 1.0}
    guess |= {"irregular": 0.5, "months": 1.0, "error": 0.3}
    return {name: lib.numpy.asarray(np.log(value)) for name, value in guess.items()}


def process_loss(lib: Library) -> Loss:
    """Minus the logarithm of the density of the values under the process."""
    jnp = lib.numpy
    solve_triangular = import_module(f"{lib.name}.scipy.linalg").solve_triangular

    def loss(logarithms: Any, batch: Any) -> Any:
        times, values = batch
        p = {name: jnp.exp(x) for name, x in logarithms.items()}
        distance = times[:, None] - times
        within_year = jnp.exp(-2 * (jnp.sin(np.pi * distance) / p["smoothness"]) ** 2)
        covariances = (
            p["slope"] ** 2 * times[:, None] * times
            + p["change"] ** 2 * jnp.exp(-((distance / p["years"]) ** 2) / 2)
            + p["season"] ** 2 * within_year
            + p["irregular"] ** 2 * jnp.exp(-jnp.abs(distance) / p["months"])
            + p["error"] ** 2 * np.eye(len(times))
        )
        lower = jnp.linalg.cholesky(covariances)
        fit = jnp.sum(solve_triangular(lower, values, lower=True) ** 2) / 2
        return fit + jnp.sum(jnp.log(jnp.diag(lower)))

    return loss


# An ordinary differential equation, of predators and prey

STEPS_A_YEAR = 5
RATES_AND_START = np.log(np.array([0.5, 0.02, 0.02, 0.5, 30.0, 5.0], np.float32))


def animals() -> list[Any]:
    table = np.loadtxt(DATA / "hares.csv", delimiter=",", skiprows=1, dtype=np.float32)
    return [np.log(table[:, 1:])]


def ode_loss(lib: Library) -> Loss:
    """How far the simulation is from the animals of each year, in logarithms."""
    jnp = lib.numpy

    def loss(logarithms: Any, seen: Any) -> Any:
        unknowns = jnp.exp(logarithms)
        growth, eaten, fed, death = (unknowns[i] for i in range(4))

        def slope(x: Any) -> Any:
            return jnp.stack([x[0] * (growth - eaten * x[1]), x[1] * (fed * x[0] - death)])

        def part_of_year(x: Any, _: Any) -> Any:
            dt = 1 / STEPS_A_YEAR
            k1 = slope(x)
            k2 = slope(x + dt / 2 * k1)
            k3 = slope(x + dt / 2 * k2)
            k4 = slope(x + dt * k3)
            return x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

        def year(x: Any, _: Any) -> Any:
            return scan(lib, part_of_year, x, STEPS_A_YEAR)[0], x

        _, told = scan(lib, year, unknowns[4:], len(seen))
        return jnp.mean((jnp.log(told) - seen) ** 2)

    return loss


# Hamiltonian Monte Carlo, on the posterior of a logistic regression

DRAWS, LEAPS, EPSILON, FEATURES = 5, 8, 0.1, 4


def noise() -> list[Any]:
    """For each draw of ten steps a momentum, and the logarithm of a number from 0 to 1."""
    rng = np.random.default_rng(0)
    momenta = rng.normal(size=(10, DRAWS, FEATURES)).astype(np.float32)
    return list(zip(momenta, np.log(rng.uniform(size=(10, DRAWS))).astype(np.float32), strict=True))


def observations() -> tuple[Any, Any]:
    """Features of a hundred events, and for each 1 or -1."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(100, FEATURES)).astype(np.float32)
    return x, np.where(x @ np.arange(FEATURES) + rng.logistic(size=100) > 0, 1, -1).astype(x.dtype)


def chain(lib: Library) -> Step:
    """A step makes some draws, and returns their mean."""
    jnp = lib.numpy
    x, sign = observations()

    def energy(q: Any) -> Any:
        return jnp.sum(jnp.log1p(jnp.exp(-sign * (x @ q)))) + jnp.sum(q * q) / 2

    slope = lib.core.grad(energy)

    def leap(state: Any, _: Any) -> Any:
        q, p = state
        p = p - EPSILON / 2 * slope(q)
        q = q + EPSILON * p
        return (q, p - EPSILON / 2 * slope(q)), None

    def draw(q: Any, noise: Any) -> Any:
        p, log_uniform = noise
        (new, p_new), _ = scan(lib, leap, (q, p), LEAPS)
        gain = energy(q) - energy(new) + (jnp.sum(p * p) - jnp.sum(p_new * p_new)) / 2
        q = jnp.where(log_uniform < gain, new, q)
        return q, q

    def step(q: Any, noise: Any) -> Any:
        q, draws = scan(lib, draw, q, DRAWS, noise)
        return q, jnp.mean(draws)

    return step


PROGRAMS: dict[str, Program] = {
    "digits MLP": Program(
        momentum(programs.mlp_loss, 0.2),
        state_of(lambda lib: programs.mlp_params(lib, MLP_SIZES), 1),
        lambda: digits(64, (64,)),
        lap=22,
    ),
    "convolution": Program(
        adam(convolution_loss, 2e-3),
        state_of(convolution_params, 2),
        lambda: digits(128, (8, 8, 1)),
        lap=11,
        without={"autograd": "autograd has no convolution of batches of images"},
    ),
    "transformer": Program(
        adam(lambda lib: programs.transformer_loss(lib, HEADS, LENGTH), 3e-3),
        state_of(transformer_params, 2),
        texts,
    ),
    "Gaussian process": Program(
        adam(process_loss, 0.1), state_of(process_params, 2), carbon_dioxide, wide=True
    ),
    "ODE fit": Program(
        adam(ode_loss, 0.03),
        state_of(lambda lib: lib.numpy.asarray(RATES_AND_START), 2),
        animals,
    ),
    "HMC": Program(chain, lambda lib: lib.numpy.asarray(np.zeros(FEATURES, np.float32)), noise),
}


# The measurement

RIVALS = {"jax": "JAX", "torch": "PyTorch", "torch.compile": "torch.compile"}
RIVALS |= {"autograd": "HIPS autograd"}
FIGURES = {"to 1st step": 1.0, "to 2nd step": 1.0, "to 100th step": 1.0, "a lap": 1.05}  # budgets


def actions(name: str, runner: str) -> tuple[Callable[[], Any], Step, list[Any]]:
    """What makes the first state of a program, its step, and its batches.

    Arguments:
        name: of the program.
        runner: the library that runs it, or "torch.compile".
    """
    program = PROGRAMS[name]
    batches = program.batches()
    if runner.startswith("torch"):
        by_torch = import_module("benchmarks.whole_by_torch")
        state, step = by_torch.PROGRAMS[name](runner == "torch.compile")
        return state, step, [tree_map(by_torch.tensor, each) for each in batches]
    lib = library(runner)
    step = program.step(lib)
    if hasattr(lib.core, "jit"):
        step = lib.core.jit(step)
    return lambda: program.state(lib), step, batches


def values(name: str, runner: str) -> Iterator[float]:
    """The number that each step of a program returns, without end."""
    make_state, step, batches = actions(name, runner)
    yield from _steps(make_state, step, batches)


def _steps(make_state: Callable[[], Any], step: Step, batches: list[Any]) -> Iterator[float]:
    state = make_state()
    for batch in cycle(batches):
        state, value = step(state, batch)
        yield float(value)


def seconds(name: str, runner: str, steps: int) -> tuple[float, ...]:
    """The seconds to the first step, the second and the hundredth, and those of a lap.

    It is for a process of its own, in which it says whether arrays have 64 bits.
    """
    if PROGRAMS[name].wide and runner in ("glassjax", "jax"):
        library(runner).core.config.update("jax_enable_x64", True)
    given = actions(name, runner)
    start = time.perf_counter()
    ends = [time.perf_counter() - start for _ in islice(_steps(*given), steps)]
    return ends[0], ends[1], ends[99], PROGRAMS[name].lap * (ends[-1] - ends[1]) / (steps - 2)


@cache
def pairs_of(name: str, rival: str, quick: bool) -> list[Pairs]:
    """The pairs of each of the figures that `seconds` returns."""
    program = "from benchmarks.whole_programs import seconds\nprint(*seconds({!r}, {!r}, {}))"
    steps = QUICK_STEPS if quick else STEPS
    turns = []
    for turn in range(QUICK_PAIRS if quick else PAIRS):
        order = ("glassjax", rival) if turn % 2 else (rival, "glassjax")
        figures = {runner: figures_of(program.format(name, runner, steps)) for runner in order}
        turns.append(zip(figures["glassjax"], figures[rival], strict=True))
    return [list(each) for each in zip(*turns, strict=True)]


def require(rival: str) -> None:
    """Raises `Skip` where the library of a rival is not installed."""
    distribution = rival.partition(".")[0]
    if find_spec(distribution) is None:
        raise Skip(f"{distribution} is not installed")


def lines_of(name: str, program: Program, rival: str) -> list[Line]:
    """A line for each figure of a program beside a rival."""
    ending = "" if rival == "jax" else f", beside {RIVALS[rival]}"
    lap = "100 steps" if program.lap == 100 else "an epoch"

    def line(number: int, figure: str, budget: float) -> Line:
        line_name = f"{name}, {lap if figure == 'a lap' else figure}{ending}"

        def measure(quick: bool) -> Row:
            require(rival)
            if rival in program.without:
                raise Skip(program.without[rival])
            return row_of(line_name, pairs_of(name, rival, quick)[number])

        return Line(line_name, measure, None if ending else budget)

    return [line(number, *each) for number, each in enumerate(FIGURES.items())]


def import_beside(rival: str) -> Line:
    """What a process pays before; the line for JAX is one of `startup`."""
    name = f"import, beside {RIVALS[rival]}"
    program = {"autograd": "import autograd, autograd.numpy"}.get(rival, f"import {rival}")

    def measure(quick: bool) -> Row:
        require(rival)
        return fresh_processes(name, "import glassjax", program).measure(quick)

    return Line(name, measure)


LINES = [
    *(
        line
        for rival in RIVALS
        for name, program in PROGRAMS.items()
        for line in lines_of(name, program, rival)
    ),
    *(import_beside(rival) for rival in ("torch", "autograd")),
]
