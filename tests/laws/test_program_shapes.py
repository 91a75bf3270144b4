"""Programs, as `make_jaxpr` shows them, are no longer than JAX's, and have the same loops."""

import jax
import jax.numpy
import numpy as np

import minijax
import minijax.numpy

ROWS = np.arange(4, dtype=np.float32)


def scanned(n, lib):
    def step(c, u):
        return n.sin(c) * u, c

    return lambda x: lib.lax.scan(step, x, ROWS)


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


PROGRAMS = {
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
    for name, program in PROGRAMS.items():
        found, expected = (
            list(equations(lib.make_jaxpr(program(n, lib))(np.float32(0.5)).jaxpr))
            for n, lib in ((minijax.numpy, minijax), (jax.numpy, jax))
        )
        if length(found) > length(expected) or loops(found) != loops(expected):
            wrong.append(f"{name}: {list(map(str, found))}, JAX {list(map(str, expected))}")
    assert not wrong, "\n".join(wrong)
