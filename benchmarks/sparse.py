"""Sparse Jacobians: beside dense ones, and beside asdex, which finds them on JAX.

A row of the Jacobian of a PDE's residual has at most five elements, a row of that of a bundle
adjustment eight.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.measure import QUICK_PAIRS, Action, Line, Pairs, Row, Skip, interleaved, row_of
from benchmarks.programs import Library, library
from glassjax.experimental import sparse_jacobian

PAIRS = 7
GRID = 100  # unknowns along each side
CAMERAS, POINTS, VIEWS = 40, 1_000, 4  # the cameras that see a point

Problem = Callable[[Library], tuple[Callable[..., Any], tuple[Any, ...]]]


def pde_residual(lib: Library) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The residual of a reaction and diffusion on a square grid of 10,000 unknowns."""
    jnp = lib.numpy

    def residual(u: Any) -> Any:
        u = u.reshape(GRID, GRID)
        p = jnp.pad(u, 1)
        around = p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2]
        return (around - 4 * u - jnp.sin(u) * jnp.exp(u)).ravel()

    return residual, (jnp.linspace(0, 1, GRID**2, dtype=np.float32),)


def bundle_adjustment(lib: Library) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The errors of 4,000 projections, as a function of 40 cameras and 1,000 points."""
    jnp = lib.numpy
    point = np.repeat(np.arange(POINTS), VIEWS)
    camera = (7 * point + np.tile(np.arange(VIEWS), POINTS)) % CAMERAS

    def errors(parameters: Any) -> Any:
        cameras = parameters[: 6 * CAMERAS].reshape(CAMERAS, 6)[camera]
        points = parameters[6 * CAMERAS :].reshape(POINTS, 3)[point]
        axis, shift = cameras[:, :3], cameras[:, 3:]
        turned = points + jnp.cross(axis, points) + shift
        return (turned[:, :2] / (2 + turned[:, 2:] ** 2)).ravel()

    count = 6 * CAMERAS + 3 * POINTS
    return errors, (jnp.cos(jnp.arange(count, dtype=np.float32)),)


def first(problem: Problem) -> tuple[Action, Action]:
    """A first call of asdex's function and of ours: pattern, coloring, compilation."""
    asdex, jax = asdex_and_jax()
    ours, (x,) = problem(library("glassjax"))
    theirs, (y,) = problem(library("jax"))
    core = library("glassjax").core
    return (
        lambda: core.jit(lambda x: sparse_jacobian(ours, x))(x).data.block_until_ready(),
        lambda: jax.jit(asdex.jacobian(theirs, y))(y).data.block_until_ready(),
    )


def again(problem: Problem) -> tuple[Action, Action]:
    """The calls after the first."""
    asdex, jax = asdex_and_jax()
    ours, (x,) = problem(library("glassjax"))
    theirs, (y,) = problem(library("jax"))
    mine = library("glassjax").core.jit(lambda x: sparse_jacobian(ours, x))
    peer = jax.jit(asdex.jacobian(theirs, y))
    return lambda: mine(x).data.block_until_ready(), lambda: peer(y).data.block_until_ready()


def beside_dense(problem: Problem) -> tuple[Action, Action]:
    """Our sparse Jacobian and our dense one, compiled."""
    lib = library("glassjax")
    f, (x,) = problem(lib)
    sparse, dense = lib.core.jit(lambda x: sparse_jacobian(f, x)), lib.core.jit(lib.core.jacfwd(f))
    return lambda: sparse(x).data.block_until_ready(), lambda: dense(x).block_until_ready()


def asdex_and_jax() -> tuple[Any, Any]:
    try:
        import asdex
        import jax
    except ImportError as error:
        raise Skip(f"asdex is not installed, or not for this JAX: {error}") from None
    return asdex, jax


def line(name: str, actions: Callable[[Problem], tuple[Action, Action]], problem: Problem) -> Line:
    def measure(quick: bool) -> Row:
        pairs: Pairs = interleaved(*actions(problem), QUICK_PAIRS if quick else PAIRS)
        return row_of(name, pairs)

    return Line(name, measure)


LINES = [
    line(f"{name}, {what}", actions, problem)
    for name, problem in (
        ("Jacobian of a PDE residual of 10,000 unknowns", pde_residual),
        ("Jacobian of a bundle adjustment of 8,000 by 3,240", bundle_adjustment),
    )
    for what, actions in (
        ("first call; asdex", first),
        ("compiled; asdex", again),
        ("compiled; dense", beside_dense),
    )
]
