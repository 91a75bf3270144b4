"""What arrays divided among eight devices cost beside JAX.

Each line is measured in a process of its own, in which both libraries divide the CPU into eight.
"""

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import programs, staging
from benchmarks.measure import (
    QUICK_PAIRS,
    Action,
    Line,
    Row,
    figures_of,
    interleaved,
    row_of,
)
from benchmarks.programs import Library, libraries

EIGHT_DEVICES = {
    "GLASSJAX_NUM_CPU_DEVICES": "8",
    "XLA_FLAGS": "--xla_force_host_platform_device_count=8",
}


def divided(lib: Library, *spec: str | None) -> Any:
    """The sharding of arrays divided among eight devices."""
    sharding = lib.core.sharding
    mesh = sharding.Mesh(np.array(lib.core.devices()), ("x",))
    return sharding.NamedSharding(mesh, sharding.PartitionSpec(*spec))


def call(lib: Library) -> Action:
    """A jitted function of two divided arrays, which does next to nothing."""
    x = lib.core.device_put(np.ones((8, 8), np.float32), divided(lib, "x"))
    f = lib.core.jit(lambda x, y: x + y)
    return lambda: f(x, x).block_until_ready()


def call_of_tree(lib: Library) -> Action:
    """The same for a dict of 20 divided arrays."""
    x = np.ones((8, 8), np.float32)
    tree = lib.core.device_put({str(i): x for i in range(20)}, divided(lib, "x"))
    f = lib.core.jit(lambda tree: lib.core.tree.map(lambda x: x + 1, tree))
    return lambda: lib.core.block_until_ready(f(tree))


def call_with_shardings(lib: Library) -> Action:
    """A jitted function with `in_shardings` and `out_shardings`."""
    where = divided(lib, "x")
    x = lib.core.device_put(np.ones((8, 8), np.float32), where)
    f = lib.core.jit(lambda x: x + 1, in_shardings=where, out_shardings=where)
    return lambda: f(x).block_until_ready()


def call_of_plain(lib: Library) -> Action:
    """A jitted function of a divided array and one that nobody put anywhere."""
    x = lib.core.device_put(np.ones((8, 8), np.float32), divided(lib, "x"))
    y = lib.numpy.ones((8, 8))
    f = lib.core.jit(lambda x, y: x + y)
    return lambda: f(x, y).block_until_ready()


def eager(lib: Library) -> Action:
    x = lib.core.device_put(np.ones((8, 8), np.float32), divided(lib, "x"))
    return lambda: (x + x).block_until_ready()


def put(size: int) -> Callable[[Library], Action]:
    """`device_put` of a numpy array of so many rows."""

    def case(lib: Library) -> Action:
        x, where = np.ones((size, 128), np.float32), divided(lib, "x")
        return lambda: lib.core.device_put(x, where).block_until_ready()

    return case


def put_again(lib: Library) -> Action:
    """`device_put` from one division to another."""
    x = lib.core.device_put(np.ones((64, 64), np.float32), divided(lib, "x"))
    where = divided(lib, None, "x")
    return lambda: lib.core.device_put(x, where).block_until_ready()


def step(lib: Library) -> Action:
    """A data-parallel step of an MLP."""
    params = lib.core.device_put(programs.mlp_params(lib, (64, 256, 256, 10)), divided(lib))
    batch = lib.core.device_put(programs.mlp_batch(lib, size=256, inputs=64), divided(lib, "x"))
    f = lib.core.jit(programs.step_of(lib, programs.mlp_loss(lib)))
    return lambda: lib.core.block_until_ready(f(params, batch))


def mapped_step(lib: Library) -> Action:
    """The same by `shard_map`, whose gradients are summed over the devices."""
    mesh, spec = divided(lib).mesh, lib.core.sharding.PartitionSpec
    params = lib.core.device_put(programs.mlp_params(lib, (64, 256, 256, 10)), divided(lib))
    batch = lib.core.device_put(programs.mlp_batch(lib, size=256, inputs=64), divided(lib, "x"))
    loss = programs.mlp_loss(lib)

    def mean_loss(params: Any, batch: Any) -> Any:
        return lib.core.lax.pmean(loss(params, batch), "x")

    whole = lib.core.shard_map(mean_loss, mesh=mesh, in_specs=(spec(), spec("x")), out_specs=spec())
    f = lib.core.jit(programs.step_of(lib, whole))
    return lambda: lib.core.block_until_ready(f(params, batch))


def staged_transformer(lib: Library) -> Action:
    """Trace and lower a step of a transformer of 12 layers on a mesh of two axes.

    The batch is divided along one axis, the parameters along both.
    """
    sharding = lib.core.sharding
    spec = sharding.PartitionSpec
    devices = np.array(lib.core.devices()).reshape(4, 2)
    mesh = sharding.Mesh(devices, ("data", "model"))
    loss, (params, batch) = staging.transformer_loss(lib)

    def layout(name: str) -> Any:
        names = ("model", "data") if name in ("o", "down", "out") else ("data", "model")
        return sharding.NamedSharding(mesh, spec() if "scale" in name else spec(*names))

    layer = {name: layout(name) for name in params["layers"][0]}
    layers = [layer] * len(params["layers"])
    where = {"embed": layout("embed"), "out": layout("out"), "layers": layers}
    whole, rows = sharding.NamedSharding(mesh, spec()), sharding.NamedSharding(mesh, spec("data"))
    params, batch = lib.core.device_put((params, batch), (where, rows))

    def constrained_loss(params: Any, batch: Any) -> Any:
        return loss(params, lib.core.lax.with_sharding_constraint(batch, rows))

    step = programs.step_of(lib, constrained_loss)
    return lambda: lib.core.jit(
        staging.fresh(step), in_shardings=(where, rows), out_shardings=(where, whole)
    ).lower(params, batch)


def call_of_shard_map(lib: Library) -> Action:
    """A jitted `shard_map` that does next to nothing."""
    where = divided(lib, "x")
    x = lib.core.device_put(np.ones((8, 8), np.float32), where)
    spec = where.spec
    f = lib.core.jit(
        lib.core.shard_map(lambda x: x + 1, mesh=where.mesh, in_specs=spec, out_specs=spec)
    )
    return lambda: f(x).block_until_ready()


def pmapped(lib: Library) -> Action:
    """A `pmap` of divided arrays that sums over the devices."""
    f = lib.core.pmap(lambda x: x + lib.core.lax.psum(x, "i"), "i")
    x = f(np.ones((8, 8), np.float32))
    return lambda: f(x).block_until_ready()


CASES: dict[str, tuple[Callable[[Library], Action], float, int]] = {
    "call, two divided arrays": (call, 1.0, 100),
    "call, 20 divided arrays": (call_of_tree, 1.0, 40),
    "call with in_shardings, out_shardings": (call_with_shardings, 1.0, 100),
    "call, a divided array and a plain one": (call_of_plain, 1.0, 40),
    "eager, two divided arrays": (eager, 1.0, 100),
    "device_put, 8 x 512 bytes": (put(8), 1.0, 100),
    "device_put, 8 x 64 kB": (put(1024), 1.0, 50),
    "device_put, to another division": (put_again, 1.0, 50),
    "shard_map call": (call_of_shard_map, 1.0, 100),
    "pmap call with psum": (pmapped, 1.0, 40),
    "MLP step, data-parallel": (step, 1.02, 5),
    "MLP step, by shard_map": (mapped_step, 1.02, 5),
    "12-layer transformer step, trace and lower": (staged_transformer, 0.2, 1),
}


def figures(name: str, pairs: int) -> list[float]:
    """Seconds of ours and JAX's in turn, in this process, which has eight devices."""
    case, _, number = CASES[name]
    ours, peer = (case(lib) for lib in libraries())
    return [seconds for pair in interleaved(ours, peer, pairs, number) for seconds in pair]


def on_eight_devices(name: str, budget: float, pairs: int = 21) -> Line:
    """The line for a case."""

    def measure(quick: bool) -> Row:
        count = QUICK_PAIRS if quick else pairs
        program = f"from benchmarks.devices import figures; print(*figures({name!r}, {count}))"
        found = figures_of(program, {**os.environ, **EIGHT_DEVICES})
        return row_of(f"eight devices: {name}", list(zip(found[::2], found[1::2], strict=True)))

    return Line(f"eight devices: {name}", measure, budget)


LINES = [on_eight_devices(name, budget) for name, (_, budget, _) in CASES.items()]
