"""Gradients without a compiler, beside libraries that never had one."""

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks import programs
from benchmarks.measure import QUICK_PAIRS, Action, Case, Line, Row, Skip, interleaved, row_of
from benchmarks.programs import Library, library

VECTOR = np.linspace(0.1, 1, 1_000, dtype=np.float32)


def gradient_of_20(lib: Library) -> Action:
    gradient = lib.core.grad(programs.sines_and_products(lib))
    x = lib.numpy.asarray(VECTOR)
    return lambda: gradient(x)


def gradient_of_mlp(lib: Library) -> Action:
    gradient = lib.core.grad(programs.mlp_loss(lib))
    params, batch = programs.mlp_params(lib), programs.mlp_batch(lib)
    return lambda: gradient(params, batch)


def gradient_of_20_by_torch() -> Action:
    torch: Any = imported("torch")
    x = torch.tensor(VECTOR, requires_grad=True)

    def gradient() -> Any:
        y = x
        for _ in range(10):
            y = torch.sin(y) * y
        return torch.autograd.grad(y.sum(), x)

    return gradient


# Single operations that are written the same way for all; each gives its module of functions.
EAGER: dict[str, Callable[[Any, Any], Any]] = {
    "sin": lambda module, x: module.sin(x),
    "x + y": lambda module, x: x + x,
    "sum": lambda module, x: x.sum(),
    "x[2:-2]": lambda module, x: x[2:-2],
    "where": lambda module, x: module.where(x > 0.5, x, x),
}


def eager(f: Callable[[Any, Any], Any]) -> Case:
    def case(lib: Library) -> Action:
        x = lib.numpy.asarray(VECTOR)
        return lambda: f(lib.numpy, x)

    return case


def eager_by(name: str, f: Callable[[Any, Any], Any]) -> Callable[[], Action]:
    def action() -> Action:
        module = imported(name)
        x = module.asarray(VECTOR)
        return lambda: f(module, x)

    return action


def imported(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise Skip(f"{name} is not installed") from None


def beside(
    rival: str, name: str, ours: Case, theirs: Callable[[], Action], number: int = 5
) -> Line:
    def measure(quick: bool) -> Row:
        peer = theirs()
        pairs = interleaved(ours(library("glassjax")), peer, QUICK_PAIRS if quick else 15, number)
        return row_of(name, pairs, note=f"the peer is {rival}")

    return Line(name, measure)


def of_autograd(case: Case) -> Callable[[], Action]:
    def action() -> Action:
        imported("autograd")
        return case(library("autograd"))

    return action


LINES = [
    beside(
        "HIPS autograd",
        "autograd: eager gradient of 20 operations",
        gradient_of_20,
        of_autograd(gradient_of_20),
    ),
    beside(
        "HIPS autograd",
        "autograd: eager gradient of an MLP",
        gradient_of_mlp,
        of_autograd(gradient_of_mlp),
    ),
    beside(
        "PyTorch",
        "torch: eager gradient of 20 operations",
        gradient_of_20,
        gradient_of_20_by_torch,
    ),
    *(
        beside(rival, f"{module}: eager {name}", eager(f), eager_by(module, f), 500)
        for rival, module in (("numpy", "numpy"), ("PyTorch", "torch"))
        for name, f in EAGER.items()
    ),
]
