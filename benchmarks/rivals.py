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


def imported(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise Skip(f"{name} is not installed") from None


def beside(rival: str, name: str, ours: Case, theirs: Callable[[], Action]) -> Line:
    def measure(quick: bool) -> Row:
        peer = theirs()
        pairs = interleaved(ours(library("minijax")), peer, QUICK_PAIRS if quick else 15, 5)
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
]
