"""Programs that draw from keys made in the same program.

Run as a script with names of programs to compile and run these; the last line printed names the
one that hangs.
"""

import sys

import glassjax.numpy as jnp
from glassjax import jit, lax, random, vmap

NUMBERS = jnp.arange(12.0).reshape(4, 3) + 0.5
WEIGHTS = jnp.array([0.25, 0.5, 0.25])


def scanned(draw):
    return lambda key: lax.map(lambda key: draw(random.split(key)[0]), random.split(key, 100))


def mapped(draw):
    return lambda key: vmap(draw)(random.split(key, 8))


def twice(draw):
    return lambda key: [draw(key) for key in random.split(key)]


def walk(key):
    return lax.fori_loop(0, 9, lambda i, key: random.fold_in(random.split(key, 3)[1], i), key)


WAYS = {"scanned": scanned, "mapped": mapped, "twice": twice}
DRAWS = {
    "uniform": random.uniform,
    "normal": lambda key: random.normal(key, (8,)),
    "randint": lambda key: random.randint(key, (8,), 0, 10),
    "truncated_normal": lambda key: random.truncated_normal(key, -1, 2, (8,)),
    "categorical": lambda key: random.categorical(key, NUMBERS),
    "gamma": lambda key: random.gamma(key, NUMBERS),
    "beta": lambda key: random.beta(key, NUMBERS, 2.0),
    "dirichlet": lambda key: random.dirichlet(key, NUMBERS),
    "poisson": lambda key: random.poisson(key, NUMBERS),
    "binomial": lambda key: random.binomial(key, 20.0, NUMBERS / 20),
    "permutation": lambda key: random.permutation(key, 10),
    "choice": lambda key: random.choice(key, 3, (4,), p=WEIGHTS),
    "ball": lambda key: random.ball(key, 3),
}
OF_KEYS = {
    "splits of splits": lambda key: vmap(vmap(random.uniform))(mapped(random.split)(key)),
    "a walk": walk,
    "numbers as data": lambda key: random.fold_in(key, random.bits(random.fold_in(key, 1))),
    "two words": lambda key: mapped(random.normal)(random.key_data(key)),
    "parts": lambda key: list(mapped(random.uniform)(key)),
}
PROGRAMS = {name: {name: program} for name, program in OF_KEYS.items()}
PROGRAMS |= {
    name: {f"{name}, {way}": WAYS[way](draw) for way in WAYS} for name, draw in DRAWS.items()
}


# Of numbers of the gamma distribution and nothing else; and loops that take long to compile.
OF_THE_NIGHT = {"beta", "dirichlet", "ball", "poisson", "binomial"}


def of_a_day():
    """All programs of keys, and of the first distribution; of the others one, each in its way."""
    for number, (name, programs) in enumerate(PROGRAMS.items()):
        if name in OF_KEYS or name == "uniform":
            yield from programs
        elif name not in OF_THE_NIGHT:
            yield list(programs)[number % len(programs)]


if __name__ == "__main__":
    chosen = sys.argv[1:]
    for programs in PROGRAMS.values():
        for name, program in programs.items():
            if name in chosen:
                print(name, file=sys.stderr, flush=True)
                jit(program)(random.key(0))
