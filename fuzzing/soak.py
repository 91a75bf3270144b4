"""Long runs: what a process holds after thousands of steps, and whether interrupts leave it whole.

    ./noxw -s soak                     all of it
    ./noxw -s soak -- --quick          a hundredth of the steps
    ./noxw -s soak -- threads traces   some of it

Each soak runs in a process of its own, for glassjax and for JAX, and checks its results against
numpy. The first half of the steps fills the caches that have a bound; what the process holds more
after the second half is a leak, unless it is little.
"""

import argparse
import gc
import importlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from benchmarks.footprint import current

LIBRARIES = ("glassjax", "jax")
LEAK = 3 * 2**20  # bytes: more than this, and more than JAX's, is too much for a second half
TIMEOUT = 3600.0  # seconds for one soak

Step = Callable[[int], None]


class Soak(NamedTuple):
    """One kind of step, and how many of them make a soak."""

    steps: int
    prepare: Callable[[ModuleType], Step]
    is_interrupted: bool = False


class Finding(NamedTuple):
    """What one soak of one library came to."""

    seconds: float
    grown: int  # bytes that the process holds more after the second half than after the first
    note: str


# Steps


def eager_operations(lib: ModuleType) -> Step:
    jnp = lib.numpy
    numbers = np.linspace(0.1, 1.0, 12, dtype=np.float32).reshape(3, 4)
    x = jnp.asarray(numbers)
    cases = [
        (lambda: jnp.sin(x) + x * 2, np.sin(numbers) + numbers * 2),
        (lambda: (x @ x.T).sum(axis=0), (numbers @ numbers.T).sum(axis=0)),
        (lambda: x[1:, ::2].reshape(-1), numbers[1:, ::2].reshape(-1)),
        (lambda: x.at[0, 1].set(7.0), _with(numbers, (0, 1), 7.0)),
        (lambda: jnp.concatenate([x, x]).max(axis=1), np.concatenate([numbers] * 2).max(axis=1)),
        (lambda: jnp.where(x > 0.5, x, -x), np.where(numbers > 0.5, numbers, -numbers)),
        (lambda: jnp.asarray(numbers + 1), numbers + 1),
        (lambda: jnp.sort(-x, axis=0), np.sort(-numbers, axis=0)),
    ]

    def step(i: int) -> None:
        compute, expected = cases[i % len(cases)]
        out = compute()
        if i % 50 < len(cases):
            require_close(out, expected)

    return step


def _with(x: np.ndarray, index: Any, value: float) -> np.ndarray:
    x = x.copy()
    x[index] = value
    return x


def dying_jits(lib: ModuleType) -> Step:
    x = lib.numpy.arange(4.0)

    def step(i: int) -> None:
        require_close(lib.jit(lambda x: lib.numpy.cos(x) * i)(x), np.cos(np.arange(4.0)) * i)

    return step


def traces(lib: ModuleType) -> Step:
    jnp = lib.numpy
    x = jnp.arange(4.0)

    def step(i: int) -> None:
        def f(x: Any) -> Any:
            y, _ = lib.lax.scan(lambda c, a: (c * jnp.tanh(a), a), jnp.float32(i % 7), x)
            return y + lib.jit(jnp.sum)(jnp.sin(x))

        jaxpr = lib.make_jaxpr(lib.grad(f))(x)
        if not jaxpr.jaxpr.eqns:
            raise AssertionError("the trace has no equations")

    return step


def failing_traces(lib: ModuleType) -> Step:
    """Errors keep the frames they passed alive for as long as they live, and no longer."""
    x = lib.numpy.ones((100, 100))

    def fail(x: Any) -> Any:
        y = lib.numpy.sin(x)
        return y.reshape(7) if y.ndim else y

    def step(i: int) -> None:
        transformed = (lib.jit(fail), lib.grad(fail), lib.vmap(fail))[i % 3]
        try:
            transformed(x)
        except (TypeError, ValueError):
            return
        raise AssertionError("a wrong program ran")

    return step


def large_arrays(lib: ModuleType) -> Step:
    double = lib.jit(lambda x: x * 2)
    give = lib.jit(lambda x: x + 1, donate_argnums=0)

    def step(i: int) -> None:
        x = lib.numpy.asarray(np.full(250_000, i % 100, np.float32))
        require_close(give(double(x))[:3], np.full(3, i % 100 * 2 + 1))

    return step


def shapes(lib: ModuleType) -> Step:
    """One function at ever new shapes, and the caches emptied now and then."""
    f = lib.jit(lambda x: lib.numpy.cumsum(x) + 1)

    def step(i: int) -> None:
        size = 1 + i % 200
        require_close(f(np.ones(size, np.float32))[-1], size + 1)
        if size == 200:
            lib.clear_caches()

    return step


def callbacks(lib: ModuleType) -> Step:
    double = lib.jit(
        lambda x: lib.pure_callback(lambda a: 2 * np.asarray(a), x, x, vmap_method="sequential")
    )

    def step(i: int) -> None:
        x = np.arange(3, dtype=np.float32) + i % 10
        require_close(double(x), 2 * x)

    return step


def threads(lib: ModuleType) -> Step:
    """Eight threads that trace, compile and compute, some of it the same."""
    jnp = lib.numpy
    shared = lib.jit(lambda x: jnp.sin(x).sum())

    def work(i: int) -> None:
        x = np.linspace(0, 1, 3 + i % 5, dtype=np.float32)
        require_close(shared(x), np.sin(x).sum())
        require_close(lib.grad(shared)(x), np.cos(x))
        require_close(lib.vmap(lambda a: a * i)(x), x * i)
        if i % 20 == 0:
            require_close(lib.jit(lambda x: x * i)(x), x * i)

    pool = ThreadPoolExecutor(8)

    def step(i: int) -> None:
        list(pool.map(work, range(8 * i, 8 * i + 8)))

    return step


def interrupts(lib: ModuleType) -> Step:
    """A bit of everything, between interrupts; what comes after each is right."""
    jnp = lib.numpy
    steps = [eager_operations(lib), dying_jits(lib), traces(lib), failing_traces(lib)]
    loop = lib.jit(lambda x: lib.lax.fori_loop(0, 10, lambda i, x: x + 1, x))

    def step(i: int) -> None:
        steps[i % len(steps)](i)
        x = jnp.arange(3.0)
        require_close(loop(x), np.arange(3.0) + 10)
        require_close(lib.vmap(lib.grad(jnp.sin))(x), np.cos(np.arange(3.0)))

    return step


SOAKS = {
    "eager operations": Soak(100_000, eager_operations),
    "dying jits": Soak(10_000, dying_jits),
    "traces": Soak(10_000, traces),
    "failing traces": Soak(10_000, failing_traces),
    "large arrays": Soak(10_000, large_arrays),
    "shapes": Soak(2_000, shapes),
    "callbacks": Soak(20_000, callbacks),
    "threads": Soak(2_000, threads),
    "interrupts": Soak(5_000, interrupts, is_interrupted=True),
}


def require_close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-5, atol=1e-6)


# One process


def soak(name: str, library: str, share: float) -> Finding:
    """Runs a soak in this process."""
    lib = importlib.import_module(library)
    kind = SOAKS[name]
    step = kind.prepare(lib)
    steps = max(20, round(kind.steps * share))
    run = _Interrupted(step) if kind.is_interrupted else step
    start = time.perf_counter()
    held = []
    for i in range(steps):
        if i == steps // 2:
            held.append(held_now())
        run(i)
    held.append(held_now())
    note = f"{run.count} interrupts" if isinstance(run, _Interrupted) else ""
    return Finding(time.perf_counter() - start, held[1] - held[0], note)


class _Interrupted:
    """A step that an interrupt cuts off at a random time, and then runs whole."""

    def __init__(self, step: Step):
        self.step = step
        self.count = 0
        self.draw = random.Random(0)
        step(0)
        start = time.perf_counter()
        for i in range(8):
            step(i)
        self.usual = (time.perf_counter() - start) / 8
        signal.signal(signal.SIGALRM, signal.default_int_handler)

    def __call__(self, i: int) -> None:
        try:
            signal.setitimer(signal.ITIMER_REAL, self.draw.uniform(1e-6, 1.2 * self.usual))
            try:
                self.step(i)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            self.count += 1
        self.step(i)


def held_now() -> int:
    """Bytes of memory that this process holds, after what is garbage has gone."""
    gc.collect()
    return current()


# All of them


def main(arguments: list[str] | None = None) -> int:
    """Runs the soaks that are named, or all, and returns the number of those that failed."""
    parser = argparse.ArgumentParser(prog="./noxw -s soak --", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(SOAKS)}")
    parser.add_argument("--quick", action="store_true", help="a hundredth of the steps")
    parser.add_argument("--share", type=float, help="this share of the steps")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)  # a soak, in this process
    options = parser.parse_args(arguments)
    share = options.share or (0.01 if options.quick else 1.0)
    if options.one:
        print(json.dumps(soak(*options.one, share)))
        return 0
    chosen = [name for name in SOAKS if not options.names or any(n in name for n in options.names)]
    if not chosen:
        parser.error(f"no soak has such a name; there are {', '.join(SOAKS)}")
    print(f"{'soak':<18}{'steps':>8}  seconds, memory held more after the second half (JAX)")
    failed = 0
    for name in chosen:
        ours, peer = (in_fresh_process(name, library, share) for library in LIBRARIES)
        verdict = verdict_on(ours, peer)
        failed += bool(verdict)
        steps = max(20, round(SOAKS[name].steps * share))
        print(f"{name:<18}{steps:>8,}  {figures(ours)}  ({figures(peer)})  {verdict}", flush=True)
    return failed


def in_fresh_process(name: str, library: str, share: float) -> Finding | str:
    """What a soak came to, or what it died of."""
    program = [sys.executable, "-m", "fuzzing.soak", "--share", str(share), "--one", name, library]
    environment = os.environ | {"GLASSJAX_ENABLE_COMPILATION_CACHE": "false"}
    try:
        done = subprocess.run(
            program, env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired:
        return f"no end after {TIMEOUT:.0f} s"
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:]
        return f"exit {done.returncode}: {''.join(last):.200}"
    return Finding(*json.loads(done.stdout.splitlines()[-1]))


def figures(finding: Finding | str) -> str:
    if isinstance(finding, str):
        return finding
    note = f", {finding.note}" if finding.note else ""
    return f"{finding.seconds:.1f} s, {finding.grown / 2**20:+.1f} MB{note}"


def verdict_on(ours: Finding | str, peer: Finding | str) -> str:
    """What is wrong with ours; empty if nothing is. JAX may fail, we may not."""
    if isinstance(ours, str):
        return "FAILS"
    allowed = LEAK if isinstance(peer, str) else max(LEAK, peer.grown)
    return "LEAKS" if ours.grown > allowed else ""


if __name__ == "__main__":
    sys.exit(min(main(), 1))
