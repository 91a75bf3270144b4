"""Random numbers: how long what draws them compiles and runs, with every sampler.

A hash of random keys is long and cheap, and each way of using one puts it somewhere else: in a
loop, on a batch, behind another hash.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from benchmarks.measure import QUICK_PAIRS, Action, Line, Pairs, Row, interleaved, row_of, timed
from benchmarks.programs import Library, libraries
from benchmarks.staging import fresh

# A sampler draws `n` numbers with a key, given a library's module `random` and its numpy.
Sampler = Callable[[Any, Any, Any, int], Any]
KEYS = 10

SAMPLERS: dict[str, Sampler] = {
    "split": lambda random, jnp, key, n: random.split(key, n),
    "bits": lambda random, jnp, key, n: random.bits(key, (n,)),
    "uniform": lambda random, jnp, key, n: random.uniform(key, (n,)),
    "randint": lambda random, jnp, key, n: random.randint(key, (n,), 0, 100),
    "bernoulli": lambda random, jnp, key, n: random.bernoulli(key, 0.3, (n,)),
    "rademacher": lambda random, jnp, key, n: random.rademacher(key, (n,)),
    "normal": lambda random, jnp, key, n: random.normal(key, (n,)),
    "truncated_normal": lambda random, jnp, key, n: random.truncated_normal(key, -1.0, 2.0, (n,)),
    "lognormal": lambda random, jnp, key, n: random.lognormal(key, 0.5, (n,)),
    "generalized_normal": lambda random, jnp, key, n: random.generalized_normal(key, 3.0, (n,)),
    "exponential": lambda random, jnp, key, n: random.exponential(key, (n,)),
    "laplace": lambda random, jnp, key, n: random.laplace(key, (n,)),
    "logistic": lambda random, jnp, key, n: random.logistic(key, (n,)),
    "cauchy": lambda random, jnp, key, n: random.cauchy(key, (n,)),
    "gumbel": lambda random, jnp, key, n: random.gumbel(key, (n,)),
    "maxwell": lambda random, jnp, key, n: random.maxwell(key, (n,)),
    "double_sided_maxwell": lambda random, jnp, key, n: random.double_sided_maxwell(
        key, 0.5, 2.0, (n,)
    ),
    "pareto": lambda random, jnp, key, n: random.pareto(key, 1.5, (n,)),
    "rayleigh": lambda random, jnp, key, n: random.rayleigh(key, 1.5, (n,)),
    "wald": lambda random, jnp, key, n: random.wald(key, 1.5, (n,)),
    "weibull_min": lambda random, jnp, key, n: random.weibull_min(key, 1.5, 2.0, (n,)),
    "triangular": lambda random, jnp, key, n: random.triangular(key, 0.0, 1.0, 3.0, (n,)),
    "gamma": lambda random, jnp, key, n: random.gamma(key, 2.5, (n,)),
    "loggamma": lambda random, jnp, key, n: random.loggamma(key, 0.5, (n,)),
    "beta": lambda random, jnp, key, n: random.beta(key, 0.5, 2.0, (n,)),
    "chisquare": lambda random, jnp, key, n: random.chisquare(key, 3.0, (n,)),
    "t": lambda random, jnp, key, n: random.t(key, 3.0, (n,)),
    "f": lambda random, jnp, key, n: random.f(key, 3.0, 4.0, (n,)),
    "dirichlet": lambda random, jnp, key, n: random.dirichlet(key, jnp.ones(5), (n // 5,)),
    "poisson": lambda random, jnp, key, n: random.poisson(key, 3.0, (n,)),
    "poisson of 30": lambda random, jnp, key, n: random.poisson(key, 30.0, (n,)),
    "binomial": lambda random, jnp, key, n: random.binomial(key, 20.0, 0.3, (n,)),
    "multinomial": lambda random, jnp, key, n: random.multinomial(
        key, 10.0, jnp.full((n // 5, 5), 0.2)
    ),
    "geometric": lambda random, jnp, key, n: random.geometric(key, 0.3, (n,)),
    "categorical": lambda random, jnp, key, n: random.categorical(
        key, jnp.ones(5), shape=(n // 5,)
    ),
    "choice": lambda random, jnp, key, n: random.choice(key, 100, (n,)),
    "choice by p": lambda random, jnp, key, n: random.choice(key, 5, (n,), p=jnp.ones(5) / 5),
    "permutation": lambda random, jnp, key, n: random.permutation(key, n),
    "ball": lambda random, jnp, key, n: random.ball(key, 5, shape=(n // 5,)),
    "orthogonal": lambda random, jnp, key, n: random.orthogonal(key, 2, (n // 5,)),
    "multivariate_normal": lambda random, jnp, key, n: random.multivariate_normal(
        key, jnp.zeros(2), jnp.eye(2), (n // 2,)
    ),
}

# A way of using a sampler, which makes a function of a key out of one.
Draw = Callable[[Any], Any]
Way = Callable[[Library, Draw], Draw]


def plain(lib: Library, draw: Draw) -> Draw:
    return draw


def mapped(lib: Library, draw: Draw) -> Draw:
    """Draws with each of some keys, all at once."""
    return lambda key: lib.core.vmap(draw)(lib.core.random.split(key, KEYS))


def scanned(lib: Library, draw: Draw) -> Draw:
    """Draws in a loop that carries a key."""

    def step(key: Any, _: Any) -> Any:
        key, for_draw = lib.core.random.split(key)
        return key, draw(for_draw)

    return lambda key: lib.core.lax.scan(step, key, None, KEYS)[1]


def twice(lib: Library, draw: Draw) -> Draw:
    return lambda key: [draw(each) for each in lib.core.random.split(key)]


# Each with how many times it draws. However it is done, few numbers are drawn or many.
WAYS: dict[str, tuple[Way, int]] = {
    "plain": (plain, 1),
    "mapped": (mapped, KEYS),
    "scanned": (scanned, KEYS),
    "twice": (twice, 2),
}
FEW, MANY = 10, 100_000


class Program(NamedTuple):
    """One sampler, one way of using it, and how many numbers that draws each time."""

    sampler: Sampler
    way: Way
    size: int

    def of(self, lib: Library) -> tuple[Any, Any]:
        """The jitted function, of which no cache knows, and the key to call it with."""
        random, jnp = lib.core.random, lib.numpy
        draw = self.way(lib, lambda key: self.sampler(random, jnp, key, self.size))
        return lib.core.jit(fresh(draw)), random.key(0)


def compilations(program: Program, quick: bool) -> Pairs:
    """Times only compilation, of programs lowered anew for each pair."""
    pairs = []
    for turn in range(1 if quick else QUICK_PAIRS):
        lowered = [f.lower(key) for f, key in (program.of(lib) for lib in libraries())]
        order = reversed(lowered) if turn % 2 else lowered
        times = [timed(each.compile) for each in order]
        pairs.append((times[turn % 2], times[1 - turn % 2]))
    return pairs


def calls(program: Program, quick: bool) -> Pairs:
    return turns([_waited_for(*program.of(lib)) for lib in libraries()], quick)


def eager_calls(program: Program, quick: bool) -> Pairs:
    """Times the function called without `jit`."""
    actions = []
    for lib in libraries():
        f, key = program.of(lib)
        actions.append(_waited_for(f.__wrapped__, key))
    return turns(actions, quick)


def turns(actions: Sequence[Action], quick: bool) -> Pairs:
    """Times two actions in turn, each in a row for some milliseconds."""
    for action in actions:
        action()
    number = max(1, min(200, int(5e-3 / max(map(timed, actions)))))
    return interleaved(actions[0], actions[1], QUICK_PAIRS if quick else 9, number)


def _waited_for(f: Draw, key: Any) -> Action:
    def action() -> None:
        out = f(key)
        for numbers in out if isinstance(out, list) else [out]:
            numbers.block_until_ready()

    return action


def with_every_way(sampler: Sampler, quick: bool) -> dict[str, Program]:
    """The programs that use a sampler, by what a note calls them."""
    ways = {name: WAYS[name] for name in ("plain", "scanned")} if quick else WAYS
    return {
        f"{name}, {size:,}": Program(sampler, way, size if size == FEW else size // times)
        for name, (way, times) in ways.items()
        for size in ([FEW] if quick else [FEW, MANY])
    }


def by_itself(sampler: Sampler, quick: bool) -> dict[str, Program]:
    return {
        f"{size:,}": Program(sampler, plain, size) for size in ([FEW] if quick else [FEW, MANY])
    }


def worst(
    name: str,
    sampler: Sampler,
    programs: Callable[[Sampler, bool], dict[str, Program]],
    pairs_of: Callable[[Program, bool], Pairs],
) -> Line:
    """The line for all programs that use a sampler: it shows the one of the highest ratio."""

    def measure(quick: bool) -> Row:
        rows = [
            row_of(name, pairs_of(program, quick), note=f"the worst: {which}")
            for which, program in programs(sampler, quick).items()
        ]
        return max(rows, key=lambda row: row.ratio or 0)

    return Line(name, measure, 1.05)


LINES = [
    worst(f"{what} random.{name}", sampler, programs, pairs_of)
    for what, programs, pairs_of in (
        ("compile", with_every_way, compilations),
        ("run", with_every_way, calls),
        ("eager", by_itself, eager_calls),
    )
    for name, sampler in SAMPLERS.items()
]
