"""What happens at every call: dispatch of compiled programs, and eager operations."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from benchmarks import programs
from benchmarks.measure import Case, versus_jax
from benchmarks.programs import Library


def jitted(f: Callable[[Library], Callable[..., Any]], *args: Any, on_device: bool = True) -> Case:
    """A call of a jitted function; `f` makes it for a library."""

    def case(lib: Library) -> Callable[[], Any]:
        function = lib.core.jit(f(lib))
        put = lib.numpy.asarray if on_device else (lambda x: x)
        given = [lib.core.tree_util.tree_map(put, arg) for arg in args]
        return lambda: function(*given)

    return case


def keyword_argument(lib: Library) -> Callable[[], Any]:
    function, x = lib.core.jit(lambda x, y: x + y), lib.numpy.asarray(ONE)
    return lambda: function(x, y=x)


def donated_state(lib: Library) -> Callable[[], Any]:
    """A state that each call replaces, and whose memory it takes over."""
    put = lib.numpy.asarray
    step = lib.core.jit(lambda s, x: {k: v + x for k, v in s.items()}, donate_argnums=0)
    x = put(VECTOR)
    states = [{str(i): put(VECTOR) + i for i in range(19)}]

    def advance() -> Any:
        states.append(step(states.pop(), x))
        return states

    return advance


class Pair(NamedTuple):
    x: Any
    y: Any


def named_tuple(lib: Library) -> Callable[[], Any]:
    function, x = lib.core.jit(lambda pair: pair.x + pair.y), lib.numpy.asarray(ONE)
    pair = Pair(x, x)
    return lambda: function(pair)


def data_class(lib: Library) -> Callable[[], Any]:
    @dataclass
    class State:
        weights: Any
        step: Any

    lib.core.tree_util.register_dataclass(State, ["weights", "step"], [])
    function, x = lib.core.jit(lambda state: state.weights + state.step), lib.numpy.asarray(ONE)
    state = State(x, x)
    return lambda: function(state)


def threads(lib: Library) -> Callable[[], Any]:
    function, x = lib.core.jit(lambda x: x + 1), lib.numpy.asarray(ONE)
    pool = ThreadPoolExecutor(8)

    def call(_: int) -> None:
        for _ in range(100):
            function(x)

    return lambda: list(pool.map(call, range(8)))


def static_argument(lib: Library) -> Callable[[], Any]:
    function = lib.core.jit(lambda x, n: x + n, static_argnums=1)
    x = lib.numpy.asarray(ONE)
    return lambda: function(x, 2)


class Walkers(NamedTuple):
    key: Any
    positions: Any
    log_values: Any


def monte_carlo_step(lib: Library) -> Callable[[], Any]:
    """A step of variational Monte Carlo, with a Markov chain of 200 small calls."""
    jit, jnp, random = lib.core.jit, lib.numpy, lib.core.random

    @jit
    def log_value(params: Any, x: Any) -> Any:
        *hidden, last = params
        for layer in hidden:
            x = jnp.tanh(x @ layer["w"] + layer["b"])
        return (x @ last["w"] + last["b"])[:, 0]

    @jit
    def propose(walkers: Walkers) -> tuple[Any, Any]:
        key, sub = random.split(walkers.key)
        return key, walkers.positions + 0.1 * random.normal(sub, walkers.positions.shape)

    @jit
    def accept(walkers: Walkers, key: Any, positions: Any, log_values: Any) -> Walkers:
        key, sub = random.split(key)
        odds = jnp.exp(2 * (log_values - walkers.log_values))
        better = random.uniform(sub, odds.shape) < odds
        return Walkers(
            key,
            jnp.where(better[:, None], positions, walkers.positions),
            jnp.where(better, log_values, walkers.log_values),
        )

    @jit
    def update(params: Any, walkers: Walkers) -> Any:
        gradient = lib.core.grad(lambda p: log_value(p, walkers.positions).mean())(params)
        return lib.core.tree_util.tree_map(lambda p, g: p - 0.01 * g, params, gradient)

    params = programs.mlp_params(lib, (8, 16, 16, 1))
    positions = jnp.asarray(np.linspace(-1, 1, 128, dtype=np.float32).reshape(16, 8))
    start = Walkers(random.key(0), positions, log_value(params, positions))

    def step() -> Any:
        walkers = start
        for _ in range(66):
            key, moved = propose(walkers)
            walkers = accept(walkers, key, moved, log_value(params, moved))
        return update(params, walkers)[0]["w"].block_until_ready()

    return step


def nested(lib: Library) -> Callable[..., Any]:
    inner = lib.core.jit(lambda x: lib.numpy.sin(x) + 1)
    return lambda x: inner(inner(x))


# --8<-- [start:case]
def mlp_step(lib: Library) -> Callable[[], Any]:
    step = lib.core.jit(programs.step_of(lib, programs.mlp_loss(lib)))
    params, batch = programs.mlp_params(lib), programs.mlp_batch(lib)
    return lambda: step(params, batch)[1].block_until_ready()


# --8<-- [end:case]


def eager(f: Callable[[Library, Any], Any], size: int = 1_000) -> Case:
    def case(lib: Library) -> Callable[[], Any]:
        x = lib.numpy.asarray(np.linspace(0.1, 1, size, dtype=np.float32))
        return lambda: f(lib, x)

    return case


def eager_item(lib: Library) -> Callable[[], Any]:
    x, i = lib.numpy.asarray(VECTOR), lib.numpy.asarray(np.int32(7))
    return lambda: x[i]


def eager_gradient(lib: Library, x: Any) -> Any:
    return lib.core.grad(programs.sines_and_products(lib))(x)


def eager_loop(f: Callable[[Library, Any, Any], Callable[[], Any]]) -> Case:
    """A loop or a choice outside of transformations, of the same functions at each call."""

    def case(lib: Library) -> Callable[[], Any]:
        x = lib.numpy.asarray(np.linspace(0.1, 1, 8, dtype=np.float32))
        return f(lib.core.lax, x, lib.numpy.float32(1))

    return case


def eager_scan(lax: Any, x: Any, one: Any) -> Callable[[], Any]:
    def step(carry: Any, x: Any) -> Any:
        return carry + x, carry * x

    return lambda: lax.scan(step, one, x)


def eager_while_loop(lax: Any, x: Any, one: Any) -> Callable[[], Any]:
    def is_small(x: Any) -> Any:
        return x < 100

    return lambda: lax.while_loop(is_small, _double, one)


def eager_fori_loop(lax: Any, x: Any, one: Any) -> Callable[[], Any]:
    def step(i: Any, x: Any) -> Any:
        return x + i

    return lambda: lax.fori_loop(0, 8, step, one)


def _double(x: Any) -> Any:
    return x * 2


def _negative(x: Any) -> Any:
    return -x


ONE = np.float32(1)
LEAVES = {str(i): ONE for i in range(50)}
NESTED = {str(i): {str(j): ONE for j in range(10)} for i in range(5)}
VECTOR = np.ones(1_000, np.float32)

# Name: the case, its budget, and how many calls are timed in a row. Where it is XLA that takes the
# time, there is no budget.
CASES: dict[str, tuple[Case, float | None, int]] = {
    "call, scalar": (jitted(lambda lib: lambda x: x + 1, ONE), 0.95, 2_000),
    "call, vector of 1,000": (jitted(lambda lib: lambda x: x + 1, VECTOR), 0.95, 2_000),
    "call, 3 leaves": (
        jitted(lambda lib: lambda x, y, z: x + y + z, ONE, ONE, ONE),
        0.95,
        2_000,
    ),
    "call, dict of 3 leaves": (
        jitted(lambda lib: lambda d: d["x"] + d["y"] + d["z"], {"x": ONE, "y": ONE, "z": ONE}),
        0.95,
        2_000,
    ),
    "call, keyword argument": (keyword_argument, 0.95, 2_000),
    "call, static argument": (static_argument, 0.95, 2_000),
    "call, donated dict of 19 leaves": (donated_state, 0.95, 200),
    "call, dict of 50 leaves": (
        jitted(lambda lib: lambda d: {k: v + 1 for k, v in d.items()}, LEAVES),
        0.95,
        200,
    ),
    "call, nested dict of 50 leaves": (
        jitted(lambda lib: lambda d: lib.core.tree_util.tree_map(lambda v: v + 1, d), NESTED),
        0.95,
        200,
    ),
    "call, NamedTuple": (named_tuple, 0.95, 2_000),
    "call, dataclass": (data_class, 0.95, 2_000),
    "call, 8 threads": (threads, 0.95, 3),
    "call, numpy scalar": (jitted(lambda lib: lambda x: x + 1, ONE, on_device=False), 0.95, 2_000),
    "call, numpy vector": (
        jitted(lambda lib: lambda x: x + 1, VECTOR, on_device=False),
        0.95,
        2_000,
    ),
    "call, 200 small ones in a Monte Carlo step": (monte_carlo_step, 0.95, 3),
    "call, jit inside jit": (jitted(nested, VECTOR), 0.95, 2_000),
    "call, MLP gradient step": (mlp_step, 0.95, 20),
    "eager x + y": (eager(lambda lib, x: lib.numpy.add(x, x)), 0.8, 2_000),
    "eager sin": (eager(lambda lib, x: lib.numpy.sin(x)), 0.8, 2_000),
    "eager x * 2": (eager(lambda lib, x: x * 2), 0.8, 2_000),
    "eager x > y": (eager(lambda lib, x: x > x), 0.8, 2_000),
    "eager sum": (eager(lambda lib, x: x.sum()), 0.8, 500),
    "eager reshape": (eager(lambda lib, x: x.reshape(10, 100)), 0.5, 500),
    "eager astype": (eager(lambda lib, x: x.astype("int32")), 0.5, 500),
    "eager x @ x": (eager(lambda lib, x: x @ x), 0.8, 500),
    "eager arange": (eager(lambda lib, x: lib.numpy.arange(1_000)), 0.8, 500),
    "eager zeros": (eager(lambda lib, x: lib.numpy.zeros(1_000)), 0.5, 500),
    "eager x[i]": (eager_item, 0.5, 500),
    "eager x[0]": (eager(lambda lib, x: x[0]), 0.5, 500),
    "eager x[2:-2]": (eager(lambda lib, x: x[2:-2]), 0.5, 500),
    "eager x.at[0].set": (eager(lambda lib, x: x.at[0].set(1.0)), 0.5, 200),
    "eager mean": (eager(lambda lib, x: lib.numpy.mean(x)), 0.8, 500),
    "eager where": (eager(lambda lib, x: lib.numpy.where(x, x, 0.0)), 0.8, 500),
    "eager concatenate": (eager(lambda lib, x: lib.numpy.concatenate([x, x])), 0.5, 500),
    "eager einsum": (eager(lambda lib, x: lib.numpy.einsum("i,i->", x, x)), 0.5, 200),
    "eager sort": (eager(lambda lib, x: lib.numpy.sort(x).block_until_ready()), None, 200),
    "eager softmax": (eager(lambda lib, x: lib.core.nn.softmax(x)), 0.5, 200),
    "eager gradient of 20 operations": (eager(eager_gradient), 0.5, 5),
    "eager scan": (eager_loop(eager_scan), 0.5, 100),
    "eager while_loop": (eager_loop(eager_while_loop), 0.5, 100),
    "eager fori_loop": (eager_loop(eager_fori_loop), 0.5, 100),
    "eager cond": (
        eager_loop(lambda lax, x, one: lambda: lax.cond(one > 0, _double, _negative, x)),
        0.5,
        100,
    ),
    "eager switch": (
        eager_loop(lambda lax, x, one: lambda: lax.switch(1, [_negative, _double], x)),
        0.5,
        100,
    ),
    "eager map": (eager_loop(lambda lax, x, one: lambda: lax.map(_double, x)), 0.5, 100),
}


LINES = [
    versus_jax(name, case, budget=budget, number=number)
    for name, (case, budget, number) in CASES.items()
]
