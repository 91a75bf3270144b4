"""The whole programs in PyTorch, as one writes them there: modules of optimizers, and Python loops.

They compute what `whole_programs` computes with the other libraries. With `is_compiled`, each loss,
or what the program repeats, is compiled by `torch.compile`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

from benchmarks import programs
from benchmarks import whole_programs as whole
from benchmarks.programs import Library

# What makes the first state, and the function that takes a step.
Actions = tuple[Callable[[], Any], whole.Step]


class Arrays:
    """What the functions that make parameters ask of a library's numpy."""

    asarray = staticmethod(lambda x: tensor(np.asarray(x)))


LIBRARY = Library("torch", torch, Arrays)


def tensor(x: Any) -> Any:
    return torch.from_numpy(np.array(x))  # a copy of its own, which steps may change


def training(
    params: Callable[[Library], Any],
    loss: Callable[[Any, Any], Any],
    optimizer: Callable[[list[Any]], torch.optim.Optimizer],
) -> Callable[[bool], Actions]:
    def actions(is_compiled: bool) -> Actions:
        loss_of = torch.compile(loss) if is_compiled else loss

        def state() -> Any:
            leaves: list[Any] = []

            def with_gradient(x: Any) -> Any:
                leaves.append(x.requires_grad_())
                return x

            return whole.tree_map(with_gradient, params(LIBRARY)), optimizer(leaves)

        def step(state: Any, batch: Any) -> Any:
            params, optimizer = state
            optimizer.zero_grad()
            value = loss_of(params, batch)
            value.backward()
            optimizer.step()
            return state, value.detach()

        return state, step

    return actions


def adam(rate: float) -> Callable[[list[Any]], torch.optim.Optimizer]:
    return lambda leaves: torch.optim.Adam(leaves, lr=rate)


def mlp_loss(params: Any, batch: Any) -> Any:
    x, labels = batch
    for layer in params[:-1]:
        x = torch.tanh(x @ layer["w"] + layer["b"])
    return F.cross_entropy(x @ params[-1]["w"] + params[-1]["b"], labels)


def convolution_params(lib: Library) -> Any:
    """Those of the other libraries, with the axes in PyTorch's order."""
    params = whole.convolution_params(lib)
    for name in ("first", "second"):
        params[name]["w"] = params[name]["w"].permute(3, 2, 0, 1).contiguous()
    return params


def convolution_loss(params: Any, batch: Any) -> Any:
    images, labels = batch
    x = images.permute(0, 3, 1, 2)
    for name in ("first", "second"):
        fits = F.conv2d(x, params[name]["w"], params[name]["b"], padding="same")
        x = F.max_pool2d(F.relu(fits), 2)
    flat = x.permute(0, 2, 3, 1).flatten(1)
    hidden = F.relu(flat @ params["hidden"]["w"] + params["hidden"]["b"])
    return F.cross_entropy(hidden @ params["last"]["w"] + params["last"]["b"], labels)


def transformer_loss(params: Any, batch: Any) -> Any:
    inputs, targets = batch

    def normalise(x: Any, scale: Any) -> Any:
        return F.layer_norm(x, x.shape[-1:], scale)

    def attend(layer: Any, x: Any) -> Any:
        q, k, v = (
            (x @ layer[name]).unflatten(-1, (whole.HEADS, -1)).transpose(1, 2) for name in "qkv"
        )
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return mixed.transpose(1, 2).flatten(2) @ layer["o"]

    x = inputs @ params["embed"]
    for layer in params["layers"]:
        x = x + attend(layer, normalise(x, layer["scale1"]))
        x = x + torch.tanh(normalise(x, layer["scale2"]) @ layer["up"]) @ layer["down"]
    return -(F.log_softmax(x @ params["out"], -1) * targets).sum(-1).mean()


def process_loss(logarithms: Any, batch: Any) -> Any:
    times, values = batch
    p = {name: torch.exp(x) for name, x in logarithms.items()}
    distance = times[:, None] - times
    within_year = torch.exp(-2 * (torch.sin(torch.pi * distance) / p["smoothness"]) ** 2)
    covariances = (
        p["slope"] ** 2 * times[:, None] * times
        + p["change"] ** 2 * torch.exp(-((distance / p["years"]) ** 2) / 2)
        + p["season"] ** 2 * within_year
        + p["irregular"] ** 2 * torch.exp(-torch.abs(distance) / p["months"])
        + p["error"] ** 2 * torch.eye(len(times), dtype=times.dtype)
    )
    lower = torch.linalg.cholesky(covariances)
    solved = torch.linalg.solve_triangular(lower, values[:, None], upper=False)
    return (solved**2).sum() / 2 + torch.log(torch.diagonal(lower)).sum()


def part_of_year(rates: Any, x: Any) -> Any:
    growth, eaten, fed, death = rates
    dt = 1 / whole.STEPS_A_YEAR

    def slope(x: Any) -> Any:
        return torch.stack([x[0] * (growth - eaten * x[1]), x[1] * (fed * x[0] - death)])

    k1 = slope(x)
    k2 = slope(x + dt / 2 * k1)
    k3 = slope(x + dt / 2 * k2)
    k4 = slope(x + dt * k3)
    return x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def ode_fit(is_compiled: bool) -> Actions:
    """The fit, with a step of the simulation compiled: a copy of each step would take minutes."""
    advance = torch.compile(part_of_year) if is_compiled else part_of_year

    def loss(logarithms: Any, seen: Any) -> Any:
        unknowns = torch.exp(logarithms)
        rates, x, told = unknowns[:4], unknowns[4:], []
        for _ in range(len(seen)):
            told.append(x)
            for _ in range(whole.STEPS_A_YEAR):
                x = advance(rates, x)
        return ((torch.log(torch.stack(told)) - seen) ** 2).mean()

    return training(lambda lib: tensor(whole.RATES_AND_START), loss, adam(0.03))(False)


def chain(is_compiled: bool) -> Actions:
    x, sign = map(tensor, whole.observations())

    def energy(q: Any) -> Any:
        return torch.log1p(torch.exp(-sign * (x @ q))).sum() + (q * q).sum() / 2

    slope = torch.func.grad(energy)

    def draw(q: Any, p: Any, log_uniform: Any) -> Any:
        new, p_new = q, p
        for _ in range(whole.LEAPS):
            p_new = p_new - whole.EPSILON / 2 * slope(new)
            new = new + whole.EPSILON * p_new
            p_new = p_new - whole.EPSILON / 2 * slope(new)
        gain = energy(q) - energy(new) + ((p * p).sum() - (p_new * p_new).sum()) / 2
        return torch.where(log_uniform < gain, new, q)

    draw_once = torch.compile(draw) if is_compiled else draw

    def step(q: Any, noise: Any) -> Any:
        draws = []
        for p, log_uniform in zip(*noise, strict=True):
            q = draw_once(q, p, log_uniform)
            draws.append(q)
        return q, torch.stack(draws).mean()

    return lambda: torch.zeros(whole.FEATURES), step


PROGRAMS: dict[str, Callable[[bool], Actions]] = {
    "digits MLP": training(
        lambda lib: programs.mlp_params(lib, whole.MLP_SIZES),
        mlp_loss,
        lambda leaves: torch.optim.SGD(leaves, lr=0.2, momentum=0.9),
    ),
    "convolution": training(convolution_params, convolution_loss, adam(2e-3)),
    "transformer": training(whole.transformer_params, transformer_loss, adam(3e-3)),
    "Gaussian process": training(whole.process_params, process_loss, adam(0.1)),
    "ODE fit": ode_fit,
    "HMC": chain,
}
