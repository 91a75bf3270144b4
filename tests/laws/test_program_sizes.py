"""Lowered programs and jaxprs have no more operations than JAX's; nothing is compiled.

Counted are the lines of StableHLO, and those of a function once, however often it is called.
"""

import re
from functools import partial
from importlib import import_module

import jax
import jax.numpy
import numpy as np
from shares import a_few

import glassjax
import glassjax.numpy
from benchmarks.common_programs import Group, gradient, plain, programs, programs_of
from benchmarks.programs import libraries

OPERATION = re.compile(
    r'^\s*(?:%[\w:, %]+ = )?"?(?:stablehlo\.(?!return)|chlo\.|(?:func\.)?call )', re.MULTILINE
)


# Functions whose programs have more operations, by the reason. Elsewhere two more, or a twentieth,
# are none: there are constants that XLA joins, and calls of branches.
LARGER = {
    "JAX loses digits, infinities or NaN": (
        "numpy.frexp nn.softplus nn.log_sigmoid logaddexp scipy.special.gammaincc "
        "scipy.special.ndtri scipy.special.log_ndtr"
    ),
    "its remainder is JAX's, with zeros that XLA joins": "divmod",
    "at 0 the derivative is that of 0": "nn.relu",
    "a sum of weighted stages is one loop on the device, JAX's products are several": "odeint",
    "the length beside the cosine, which XLA drops where it is unused": "hypot",
    "JAX's takes twenty times as long": "lax.cumlogsumexp",
}


def size(lib, program):
    function, args = program.of(lib)
    return len(OPERATION.findall(lib.core.jit(function).lower(*args).as_text()))


def odeint(lib, y, t):
    ode = import_module(f"{lib.name}.experimental.ode")
    return ode.odeint(lambda y, t: lib.numpy.sin(y) - 0.1 * t * y, y, lib.numpy.cumsum(t))


def runge_kutta(lib, y, t):
    """Steps of order 4, as many as there are times."""

    def slope(t, y):
        return lib.numpy.sin(y) - 0.1 * t * y

    def step(y, times):
        t, h = times
        a = slope(t, y)
        b = slope(t + h / 2, y + h / 2 * a)
        c = slope(t + h / 2, y + h / 2 * b)
        d = slope(t + h, y + h * c)
        return y + h / 6 * (a + 2 * b + 2 * c + d), y

    return lib.core.lax.scan(step, y, (t, lib.numpy.diff(t, append=1.0)))


def hamiltonian(lib, position, key):
    """Hamiltonian Monte Carlo: leapfrog steps, accepted or not."""
    n, random = lib.numpy, lib.core.random

    def log_density(q):
        return -0.5 * n.sum(q * q) - n.sum(n.log1p(n.exp(-q)))

    slope = lib.core.grad(log_density)

    def leap(_, state):
        q, p = state
        p = p + 0.05 * slope(q)
        q = q + 0.1 * p
        return q, p + 0.05 * slope(q)

    def step(q, key):
        of_momentum, of_choice = random.split(key)
        p = random.normal(of_momentum, q.shape)
        new, end = lib.core.lax.fori_loop(0, 10, leap, (q, p))
        gain = log_density(new) - log_density(q) + 0.5 * n.sum(p * p) - 0.5 * n.sum(end * end)
        return n.where(n.log(random.uniform(of_choice)) < gain, new, q), gain

    return lib.core.lax.scan(step, position, random.split(key, 20))


def samplers(lib, key):
    """Distributions drawn one after the other, with the log density of all."""
    n, random, stats = lib.numpy, lib.core.random, lib.core.scipy.stats
    keys = random.split(key, 4)
    scale = random.gamma(keys[0], 2.0)
    mean = scale * random.normal(keys[1], (3,))
    chosen = random.bernoulli(keys[2], lib.core.nn.sigmoid(mean))
    x = n.where(chosen, mean + random.normal(keys[3], (3,)), random.uniform(keys[3], (3,)))
    return stats.gamma.logpdf(scale, 2.0) + n.sum(stats.norm.logpdf(x, mean, scale))


def floats(*shapes):
    rng = np.random.default_rng(0)
    return tuple(rng.uniform(0.1, 0.9, shape).astype(np.float32) for shape in shapes)


def words():
    return (np.array([0, 42], np.uint32),)


def named(path, names):
    """Functions of one array, by their names in a module of a library."""

    def function(name, lib, x):
        module = lib.numpy if path == "numpy" else lib.core
        for part in [] if path == "numpy" else path.split("."):
            module = getattr(module, part)
        return getattr(module, name)(x)

    return {f"{path}.{name}": partial(function, name) for name in names.split()}


matrix = partial(floats, (20, 10))


GROUPS = (
    Group(
        matrix,
        named("nn", "relu silu softplus mish log_sigmoid softmax log_softmax logsumexp")
        | named("scipy.special", "logit logsumexp")
        | named("numpy", "nanmean nansum var frexp cbrt")
        | {
            "logaddexp": lambda lib, x: lib.numpy.logaddexp(x, 0.5),
            "hypot": lambda lib, x: lib.numpy.hypot(x, 0.5),
            "divmod": lambda lib, x: lib.numpy.divmod(x, 0.3),
            "heaviside": lambda lib, x: lib.numpy.heaviside(x, 0.5),
            "cube": lambda lib, x: x**3,
            "every second row": lambda lib, x: x[::2],
            "convolved by FFT": lambda lib, x: lib.numpy.fft.ifft(lib.numpy.fft.fft(x)),
            "switch": lambda lib, x: lib.core.lax.switch(
                lib.numpy.sum(x).astype(int), [lib.numpy.sin, lib.numpy.cos, lambda x: x], x
            ),
            "switch of many": lambda lib, x: lib.core.lax.switch(
                lib.numpy.sum(x).astype(int),
                [lambda x, n=n: lib.numpy.tanh(n * x) * lib.numpy.exp(x) for n in range(8)],
                x,
            ),
        },
        (plain, gradient),
    ),
    Group(
        partial(floats, (4,), (3,)),
        {"odeint": odeint, "Runge-Kutta": runge_kutta},
        (plain, gradient),
    ),
    Group(lambda: (*floats((5,)), *words()), {"Hamiltonian Monte Carlo": hamiltonian}, (plain,)),
    Group(words, {"chain of samplers": samplers}, (plain,)),
)


CASES = [*programs_of(GROUPS), *a_few(programs(), 9)]


def test_programs_are_no_larger_than_jaxs():
    ours, theirs = libraries()
    excepted = {name for names in LARGER.values() for name in names.split()}
    larger = {}
    with jax.enable_x64(False), glassjax.enable_x64(False):
        for program in CASES:
            if program.name.partition(",")[0] not in excepted:
                found, expected = size(ours, program), size(theirs, program)
                if found > max(expected + 2, 1.05 * expected):
                    larger[program.name] = found, expected
    assert larger == {}


SHOWN_ROWS = np.arange(4, dtype=np.float32)


def scanned(n, lib):
    def step(c, u):
        return n.sin(c) * u, c

    return lambda x: lib.lax.scan(step, x, SHOWN_ROWS)


def chosen(n, lib):
    return lambda x: lib.lax.cond(x > 0, lambda x: n.sin(x) * x, n.cos, x)


def doubled(n, lib):
    return lambda x: lib.lax.while_loop(lambda c: c < 10, lambda c: c * 2, x)


def counted(n, lib):
    return lambda x: lib.lax.fori_loop(0, 5, lambda i, c: c * x, x)


def jitted(n, lib):
    return lambda x: lib.jit(lambda y: n.sin(y) * 2)(x) + 1


def network(n, lib):
    return lambda x: n.sum(n.tanh(n.dot(n.ones((3, 3)) * x, n.ones(3))))


SHOWN_PROGRAMS = {
    "scan": scanned,
    "scan mapped": lambda n, lib: lambda x: lib.vmap(scanned(n, lib))(n.ones(3) * x),
    "scan pushed forward": lambda n, lib: lambda x: lib.jvp(scanned(n, lib), (x,), (x,)),
    "gradient of scan": lambda n, lib: lib.grad(lambda x: scanned(n, lib)(x)[0]),
    "scan in scan": lambda n, lib: (
        lambda x: lib.lax.scan(lambda c, _: scanned(n, lib)(c), x, None, length=2)
    ),
    "map": lambda n, lib: lambda x: lib.lax.map(n.sin, n.ones(3) * x),
    "cond": chosen,
    "cond mapped": lambda n, lib: lambda x: lib.vmap(chosen(n, lib))(n.ones(3) * x),
    "gradient of cond": lambda n, lib: lib.grad(chosen(n, lib)),
    "while_loop": doubled,
    "while_loop pushed forward": lambda n, lib: lambda x: lib.jvp(doubled(n, lib), (x,), (x,)),
    "fori_loop": counted,
    "gradient of fori_loop": lambda n, lib: lib.grad(counted(n, lib)),
    "jit": jitted,
    "gradient of jit": lambda n, lib: lib.grad(jitted(n, lib)),
    "gradient": lambda n, lib: lib.grad(lambda x: n.sin(x) * n.exp(x) / (1 + x * x)),
    "second derivative": lambda n, lib: lib.grad(lib.grad(lambda x: n.sin(x) * n.exp(x))),
    "linearize": lambda n, lib: lambda x: lib.linearize(lambda y: n.sin(n.sin(y)), x)[1](x),
    "jacfwd": lambda n, lib: lib.jacfwd(lambda x: n.sin(x) * n.ones(3)),
    "jacrev": lambda n, lib: lib.jacrev(lambda x: n.sin(x) * n.ones(3)),
    "hessian": lambda n, lib: lib.hessian(lambda x: n.sin(x) * n.exp(x)),
    "gradient of a network": lambda n, lib: lib.grad(network(n, lib)),
    "gradient of a custom derivative": lambda n, lib: lib.grad(lambda x: lib.nn.relu(x) * x),
}


LOOPS = {"scan", "while", "cond"}


def equations(jaxpr):
    """All equations, those of programs inside of them, too."""
    for eqn in jaxpr.eqns:
        yield eqn
        for param in eqn.params.values():
            for inner in param if isinstance(param, tuple | list) else [param]:
                program = getattr(inner, "jaxpr", inner)
                if hasattr(program, "eqns"):
                    yield from equations(program)


def length(eqns):
    """How many equations there are if each is of a primitive that both libraries have.

    The newest JAX has a primitive `one_minus_square`, which ours says in two.
    """
    return len(eqns) + sum(str(eqn.primitive) == "one_minus_square" for eqn in eqns)


def loops(eqns):
    return sorted(str(eqn.primitive) for eqn in eqns if str(eqn.primitive) in LOOPS)


def test_programs_are_no_longer_than_jaxs():
    wrong = []
    for name, program in SHOWN_PROGRAMS.items():
        found, expected = (
            list(equations(lib.make_jaxpr(program(n, lib))(np.float32(0.5)).jaxpr))
            for n, lib in ((glassjax.numpy, glassjax), (jax.numpy, jax))
        )
        if length(found) > length(expected) or loops(found) != loops(expected):
            wrong.append(f"{name}: {list(map(str, found))}, JAX {list(map(str, expected))}")
    assert not wrong, "\n".join(wrong)
