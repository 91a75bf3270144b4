"""Rolls up a loop of Python, and draws what it computes: the Duffing oscillator's attractor.

    python examples/unrolled.py

A period of the driven oscillator is a hundred steps, each with another force: a number in the
program. Unrolled, XLA compiles all of them; `roll` makes a scan.
"""

import argparse
import math
import time
from pathlib import Path

import glassjax
import glassjax.numpy as jnp
from glassjax import jit, lax
from glassjax.experimental import roll

OUTPUT = Path(__file__).parent / "output"
STEPS = 100  # in a period of the force
WIDTH, HEIGHT = 72, 24  # letters of the picture


def period(state):
    """The place and the velocity after a period of the force, by a symplectic method."""
    x, v = state
    dt = 2 * math.pi / STEPS
    for i in range(STEPS):
        force = 0.3 * math.cos(i * dt)
        v = v + dt * (x - x**3 - 0.2 * v + force)
        x = x + dt * v
    return x, v


def compiled(fun, state):
    start = time.perf_counter()
    program = jit(fun).lower(state).compile()
    return program, time.perf_counter() - start


def orbit(state, count):
    """The places and the velocities after each period."""
    step = roll(period)
    return lax.scan(lambda state, _: (step(state), state), state, None, length=count)[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few points")
    count = 500 if parser.parse_args().quick else 20_000
    glassjax.config.update("enable_x64", True)
    glassjax.config.update("enable_compilation_cache", False)
    start = jnp.array(0.5), jnp.array(0.0)
    programs = []
    for name, fun in ("unrolled", period), ("rolled up", roll(period)):
        program, seconds = compiled(fun, start)
        programs.append(program)
        print(f"{name:12}{seconds:.2f} s to compile")
    found = [jnp.stack(program(start)) for program in programs]
    print(f"{'difference':12}{jnp.abs(found[0] - found[1]).max():.0e}")

    xs, vs = orbit(start, count)
    picture, _, _ = jnp.histogram2d(vs, xs, bins=(HEIGHT, WIDTH))
    for row in picture[::-1]:
        print("".join(" .:+*#@"[min(int(n).bit_length(), 6)] for n in row).rstrip())


if __name__ == "__main__":
    main()
