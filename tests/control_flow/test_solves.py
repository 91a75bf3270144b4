"""`custom_root` and `custom_linear_solve` under every transformation, beside JAX."""

from functools import partial

import jax
import numpy as np
import pytest
from libraries import LIBRARIES, assert_same
from shares import IS_NIGHT, one_in
from tables import for_each

import glassjax
import glassjax.numpy

RNG = np.random.default_rng(0)
X = RNG.standard_normal(3)
W = RNG.standard_normal((3, 3))
XS = RNG.standard_normal((4, 3))


def iterate(lib, jnp, matvec, b):
    """Solves by steps against the residual: for maps near the identity. It has no reverse mode."""

    def goes_on(state):
        step, _, residual = state
        return (jnp.vdot(residual, residual) > 1e-24) & (step < 200)

    def advance(state):
        step, x, residual = state
        x = x + residual
        return step + 1, x, b - matvec(x)

    steps, x, _ = lib.lax.while_loop(goes_on, advance, (0, jnp.zeros_like(b), b))
    return x, steps


def near_identity(jnp, w):
    return jnp.eye(3) + 0.2 * jnp.tanh(w)


# Each is a function of a library, its numpy, and two arrays: of shapes (3,) and (3, 3).
def general(lib, jnp, x, w):
    a = near_identity(jnp, w)

    def solve(matvec, b):
        return iterate(lib, jnp, matvec, b)[0]

    return lib.lax.custom_linear_solve(lambda v: jnp.dot(a, v), jnp.sin(x), solve, solve)


def symmetric(lib, jnp, x, w):
    a = near_identity(jnp, w + w.T)

    def solve(matvec, b):
        return iterate(lib, jnp, matvec, b)

    y, steps = lib.lax.custom_linear_solve(
        lambda v: jnp.dot(a, v), x, solve, symmetric=True, has_aux=True
    )
    return y * (steps > 0)


def of_trees(lib, jnp, x, w):
    a = near_identity(jnp, w)

    def matvec(v):
        return {"u": jnp.dot(a, v["u"]) + v["s"], "s": 3.0 * v["s"] - 0.1 * jnp.sum(v["u"])}

    def solve(matvec, b):
        flat = jnp.concatenate([b["u"], jnp.ravel(b["s"])])

        def of_flat(v):
            out = matvec({"u": v[:3], "s": v[3]})
            return jnp.concatenate([out["u"], jnp.ravel(out["s"])])

        v = jnp.linalg.solve(lib.jacfwd(of_flat)(flat), flat)
        return {"u": v[:3], "s": v[3]}, None

    b = {"u": x, "s": jnp.sum(w[0] * x)}
    out, _ = lib.lax.custom_linear_solve(matvec, b, solve, solve, has_aux=True)
    return out["u"] * out["s"]


def solved_in_turn(lib, jnp, x, w):
    a = near_identity(jnp, w)

    def step(c, row):
        c = lib.lax.custom_linear_solve(
            lambda v: jnp.dot(a, v) * jnp.cos(row * 0.1),
            c,
            lambda matvec, b: iterate(lib, jnp, matvec, b)[0],
            lambda vecmat, b: iterate(lib, jnp, vecmat, b)[0],
        )
        return c, jnp.sum(c)

    c, ys = lib.lax.scan(step, x, w)
    return c * ys


def newton(lib, jnp, f, guess):
    def advance(state):
        step, x = state
        return step + 1, x - jnp.linalg.solve(lib.jacfwd(f)(x), f(x))

    steps, x = lib.lax.while_loop(lambda state: state[0] < 8, advance, (0.0, guess))
    return x, steps


def root(lib, jnp, x, w):
    def f(y):
        return y + 0.1 * jnp.sin(jnp.dot(w, y)) - x

    def solve(f, guess):
        return newton(lib, jnp, f, guess)

    def tangent_solve(g, b):
        return jnp.linalg.solve(lib.jacfwd(g)(b), b)

    y, steps = lib.lax.custom_root(f, jnp.cos(x), solve, tangent_solve, has_aux=True)
    return y * steps


def scalar_roots(lib, jnp, x, w):
    def cube_root(a):
        def bisect(f, guess):
            def halve(_, ends):
                low, high = ends
                middle = (low + high) / 2
                return jnp.where(f(middle) > 0, low, middle), jnp.where(f(middle) > 0, middle, high)

            return lib.lax.fori_loop(0, 60, halve, (guess - 10, guess + 10))[0]

        return lib.lax.custom_root(lambda y: y**3 - a, 0.0, bisect, lambda g, b: b / g(1.0))

    return lib.vmap(cube_root)(jnp.abs(x) + jnp.sum(w * w, 1))


PROGRAMS = [general, symmetric, of_trees, solved_in_turn, root, scalar_roots]
every_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)


def transformed(program, lib, jnp):
    def f(x, w):
        return program(lib, jnp, x, w)

    def loss(x, w):
        return jnp.sum(jnp.sin(f(x, w)))

    dx, dw, xs = jnp.asarray(XS[0]), jnp.asarray(W.T), jnp.asarray(XS)

    def everything(x, w):
        gradient = lib.grad(loss, (0, 1))
        outs = {
            "value": f(x, w),
            "jvp": lib.jvp(f, (x, w), (dx, dw)),
            "grad": gradient(x, w),
            "grad of vmap": lib.grad(lambda w: jnp.sum(lib.vmap(loss, (0, None))(xs, w)))(w),
        }
        if program in (general, root):
            outs |= {
                "vmap of both": lib.vmap(f, (1, 2), 1)(xs.T, jnp.stack([w, w.T, -w, w * 0.5], 2)),
                "linearize": lib.linearize(f, x, w)[1](dx, dw),
            }
        if program in (general, root) and IS_NIGHT:
            outs["jvp of grad"] = lib.jvp(gradient, (x, w), (dx, dw))
        if program is general:
            outs |= {
                "vmap of the second": lib.vmap(f, (None, 0))(x, jnp.stack([w, w.T])),
                "grad of jit": lib.grad(lib.jit(loss))(x, w),
                "vmap of grad": lib.vmap(gradient, (0, None))(xs, w),
                "grad of jvp": lib.grad(lambda x: jnp.sum(lib.jvp(f, (x, w), (dx, dw))[1]))(x),
                "grad of checkpoint": lib.grad(lib.checkpoint(loss))(x, w),
            }
        return outs

    return everything, (jnp.asarray(X), jnp.asarray(W))


def leaves(lib, outs):
    return [np.asarray(x) for x in lib.tree.leaves(outs)]


@every_program
def test_every_transformation_agrees_with_jax(program):
    ours, args = transformed(program, *LIBRARIES[0])
    theirs, jax_args = transformed(program, *LIBRARIES[1])
    expected = leaves(jax, jax.jit(lambda: theirs(*jax_args))())
    assert_same(leaves(glassjax, glassjax.jit(ours)(*args)), expected, 1e-8)


@pytest.mark.parametrize("program", one_in(2, [of_trees, root]), ids=lambda f: f.__name__)
def test_evaluation_agrees_with_compilation(program):
    def both(x, w):
        f = partial(program, *LIBRARIES[0])
        return f(x, w), glassjax.grad(lambda x: glassjax.numpy.sum(f(x, w)))(x)

    args = [glassjax.numpy.asarray(x) for x in (X, W)]
    compiled = leaves(glassjax, glassjax.jit(both)(*args))
    assert_same(leaves(glassjax, both(*args)), compiled, 1e-8)


def test_the_solver_is_not_differentiated():
    """It loops for as long as it takes, and counts on its argument being a number."""
    seen = []

    def loss(a, b):
        def solve(matvec, b):
            seen.append(b)
            return b / a

        return glassjax.lax.custom_linear_solve(lambda x: a * x, b, solve, symmetric=True)

    gradient = glassjax.grad(loss, (0, 1))(2.0, 6.0)
    np.testing.assert_allclose(gradient, [-1.5, 0.5])
    assert {type(x).__name__ for x in seen} == {"JaxprTracer"}


def test_a_constant_part_of_the_right_hand_side():
    """Which JAX does not manage in reverse mode."""

    def loss(b):
        return glassjax.lax.custom_linear_solve(
            lambda x: (2.0 * x[0], 4.0 * x[1]),
            (b, 3.0),
            lambda matvec, b: (b[0] / 2.0, b[1] / 4.0),
            symmetric=True,
        )[0]

    assert glassjax.grad(loss)(1.0) == 0.5


def test_integers_besides_the_root():
    """Which JAX does not manage when it is differentiated."""

    def loss(a):
        x, steps = glassjax.lax.custom_root(
            lambda x: x - a, 0.0, lambda f, x: (x + a, 3), lambda g, y: y, has_aux=True
        )
        return x * steps

    assert glassjax.grad(loss)(2.0) == 3.0


@pytest.mark.parametrize("x64", [False, True])
def test_types_of_solutions(x64):
    def types(lib, jnp):
        two, half = jnp.float32(2), jnp.asarray(2, jnp.float16)
        outs = [
            lib.lax.custom_linear_solve(lambda x: two * x, 1.0, lambda _, b: b / two),
            lib.lax.custom_linear_solve(lambda x: 2.0 * x, 1.0, lambda _, b: b / 2.0),
            lib.lax.custom_linear_solve(lambda x: half * x, half, lambda _, b: b / half),
            lib.lax.custom_root(
                lambda x: x - two, 0.0, lambda f, x: x + two, lambda g, y: y / g(1.0)
            ),
            lib.lax.custom_root(
                lambda x: x - half, half, lambda f, x: half, lambda g, y: y / g(half)
            ),
        ]
        return [str(x.dtype) for x in outs]

    with glassjax.enable_x64(x64), jax.enable_x64(x64):
        ours, theirs = (types(*library) for library in LIBRARIES)
    assert ours == theirs


def solved(lib, jnp, **how):
    given = {"matvec": lambda x: x * 2.0, "b": jnp.ones(3), "solve": lambda _, b: b / 2.0}
    return lib.lax.custom_linear_solve(**{**given, **how})


def found(lib, jnp, **how):
    given = {
        "f": lambda x: x - 1.0,
        "initial_guess": jnp.ones(3),
        "solve": lambda f, x: x,
        "tangent_solve": lambda g, y: y,
    }
    return lib.lax.custom_root(**{**given, **how})


# Each is a call that JAX refuses, too.
FAULTS = {
    "matvec of another structure": lambda lib, jnp: solved(lib, jnp, matvec=lambda x: (x,)),
    "matvec of another shape": lambda lib, jnp: solved(lib, jnp, matvec=lambda x: x[:2]),
    "solution of another structure": lambda lib, jnp: solved(lib, jnp, solve=lambda _, b: [b]),
    "solution of another shape": lambda lib, jnp: solved(lib, jnp, solve=lambda _, b: b[0]),
    "no auxiliary result": lambda lib, jnp: solved(lib, jnp, has_aux=True),
    "no transposed solution": lambda lib, jnp: lib.grad(lambda b: solved(lib, jnp, b=b)[0])(
        jnp.ones(3)
    ),
    "a map that is not linear": lambda lib, jnp: solved(
        lib, jnp, matvec=jnp.sin, transpose_solve=lambda _, b: b
    ),
    "f of another structure": lambda lib, jnp: found(lib, jnp, f=lambda x: (x,)),
    "root of another structure": lambda lib, jnp: found(lib, jnp, solve=lambda f, x: {"x": x}),
    "tangent of another structure": lambda lib, jnp: found(
        lib, jnp, tangent_solve=lambda g, y: [y]
    ),
    "a root and no more": lambda lib, jnp: found(lib, jnp, has_aux=True),
    "no function": lambda lib, jnp: found(lib, jnp, f=3),
}


@for_each("name", FAULTS)
def test_what_jax_refuses_is_refused(name):
    kinds = []
    for library in LIBRARIES:
        with pytest.raises((TypeError, ValueError, NotImplementedError)) as info:
            FAULTS[name](*library)
        kinds.append(info.type)
    assert issubclass(kinds[0], kinds[1])
