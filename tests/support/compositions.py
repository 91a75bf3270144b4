"""Transformations as functions of one shape, each applicable to any other.

Each takes a library, its numpy and a function from an array of shape (3,) to another one of the
same dtype, and makes one more such function. Numbers stay small, however many are applied.
"""

import functools

import numpy as np

TRANSFORMATIONS = {}


def transformation(function):
    TRANSFORMATIONS[function.__name__] = function
    return function


def bounded(jnp, x):
    return 2 * jnp.tanh(x / 2)


def weights(x):
    return np.array([1.0, -0.5, 0.75], x.dtype)


# --- Differentiation.


@transformation
def jvp(lib, jnp, f):
    def both(x):
        out, tangent = lib.jvp(f, (x,), (jnp.cos(x),))
        return out + tangent

    return both


@transformation
def jvp_with_aux(lib, jnp, f):
    def all_three(x):
        out, tangent, aux = lib.jvp(
            lambda p: (f(p["x"]), f(p["x"] / 2)), ({"x": x},), ({"x": weights(x)},), has_aux=True
        )
        return out * tangent + aux

    return all_three


@transformation
def vjp(lib, jnp, f):
    def pulled(x):
        out, pull_back, aux = lib.vjp(lambda x, y: (f(x) * y, x), x, jnp.sin(x), has_aux=True)
        x_ct, y_ct = pull_back(weights(x) * aux)
        return out + x_ct * y_ct

    return pulled


@transformation
def grad(lib, jnp, f):
    return lambda x: lib.grad(lambda x: jnp.sum(f(x) * weights(x)))(x)


@transformation
def value_and_grad(lib, jnp, f):
    def both(x):
        def loss(p, n, s):
            out = f(p[0])
            return jnp.sum(out * p[1]["b"] * n) * s, out

        args = ((x, {"b": weights(x)}), jnp.array([1, 2, 1]), 0.5)
        (_, out), (gradient, number) = lib.value_and_grad(loss, (0, -1), has_aux=True)(*args)
        return out + gradient[0] * gradient[1]["b"] + number

    return both


@transformation
def linearize(lib, jnp, f):
    def linear(x):
        out, push_forward = lib.linearize(f, x)
        return out + push_forward(weights(x)) * push_forward(x)

    return linear


@transformation
def linear_transpose(lib, jnp, f):
    def transposed(x):
        def tangent(t):
            return lib.jvp(f, (x,), (t,))[1]

        return lib.linear_transpose(tangent, x)(weights(x))[0]

    return transposed


@transformation
def jacfwd(lib, jnp, f):
    return lambda x: lib.jacfwd(f)(x) @ weights(x)


@transformation
def jacrev(lib, jnp, f):
    return lambda x: weights(x) @ lib.jacrev(f)(x)


@transformation
def hessian(lib, jnp, f):
    return lambda x: lib.hessian(lambda x: jnp.sum(f(x) * weights(x)))(x) @ weights(x)


@transformation
def checkpoint(lib, jnp, f):
    return lib.checkpoint(f)


@transformation
def checkpoint_with_policy(lib, jnp, f):
    policies = lib.checkpoint_policies
    policy = policies.save_from_both_policies(
        policies.dots_saveable, policies.save_only_these_names("kept")
    )

    def with_name(x, k):
        return f(lib.ad_checkpoint.checkpoint_name(jnp.sin(x), "kept")) * k

    return lambda x: lib.checkpoint(with_name, policy=policy, static_argnums=1)(x, 2)


@transformation
def stop_gradient(lib, jnp, f):
    return lambda x: f(x) * lib.lax.stop_gradient(f(x))


# --- Derivatives of one's own: not the true ones, so that it can be seen that they are used.


@transformation
def custom_jvp(lib, jnp, f):
    g = lib.custom_jvp(lambda x, k: f(x) * k, nondiff_argnums=(1,))

    @g.defjvp
    def rule(k, primals, tangents):
        out, tangent = lib.jvp(f, primals, tangents)
        return out * k, tangent * 3

    return lambda x: g(x, 2)


@transformation
def custom_jvp_of_symbolic_zeros(lib, jnp, f):
    g = lib.custom_jvp(lambda x, y: f(x) * y)

    def rule(primals, tangents):
        (x, y), (x_dot, y_dot) = primals, tangents
        out, tangent = g(x, y), jnp.zeros_like(x)
        zero = lib.custom_derivatives.SymbolicZero
        if not isinstance(x_dot, zero):
            tangent += lib.jvp(f, (x,), (x_dot,))[1]
        if not isinstance(y_dot, zero):
            tangent += y_dot
        return out, tangent

    g.defjvp(rule, symbolic_zeros=True)
    return lambda x: g(x, weights(x)) + g(jnp.ones_like(x), jnp.cos(x))


@transformation
def custom_jvps(lib, jnp, f):
    g = lib.custom_jvp(lambda x, y: f(x) * y)
    g.defjvps(lambda t, out, x, y: t * out, lambda t, out, x, y: t * x)
    return lambda x: g(x, jnp.sin(x))


@transformation
def custom_vjp(lib, jnp, f):
    g = lib.custom_vjp(lambda k, x: f(x) * k, nondiff_argnums=(0,))

    def fwd(k, x):
        return f(x) * k, {"x": x}

    def bwd(k, kept, ct):
        return (lib.vjp(f, kept["x"])[1](ct)[0] * 3,)

    g.defvjp(fwd, bwd)
    return lambda x: g(2, x)


@transformation
def custom_vjp_of_symbolic_zeros(lib, jnp, f):
    g = lib.custom_vjp(lambda x, n: (f(x) * n, x * 2))

    def fwd(x, n):
        return (f(x.value) * n.value, x.value * 2), (x.value, 2 if x.perturbed else 3)

    def bwd(kept, cts):
        x, k = kept
        zero = lib.custom_derivatives.SymbolicZero
        return sum(ct * x * k for ct in cts if not isinstance(ct, zero)), None

    g.defvjp(fwd, bwd, symbolic_zeros=True)
    return lambda x: g(x, jnp.array([1, 2, 1]))[0]


@transformation
def custom_gradient(lib, jnp, f):
    return lib.custom_gradient(lambda x: (f(x), lambda ct: (ct * jnp.cos(x),)))


@transformation
def closure_convert(lib, jnp, f):
    def converted(x):
        scale = jnp.sin(x)
        g, consts = lib.closure_convert(lambda y: f(y) * scale, x)
        return g(x / 2, *consts)

    return converted


@transformation
def custom_root(lib, jnp, f):
    def root(x):
        """The y for which y is the target of x."""
        target = f(x)
        return lib.lax.custom_root(
            lambda y: y * 2 - target,
            jnp.zeros_like(x),
            lambda g, y: y - g(y) / 2,
            lambda g, y: y / 2,
        )

    return root


@transformation
def custom_linear_solve(lib, jnp, f):
    def solution(x):
        scale = 2 + jnp.cos(x)

        def solve(matvec, b):
            return b / matvec(jnp.ones_like(b))

        return lib.lax.custom_linear_solve(lambda y: y * scale, f(x), solve, symmetric=True)

    return solution


# --- Mapping.


@transformation
def vmap(lib, jnp, f):
    def mapped(x):
        batch = x[:, None] * np.array([1.0, -0.5], x.dtype)
        out = lib.vmap(lambda p, y: f(p["x"]) * y, ({"x": -1}, None), 1)({"x": batch}, jnp.cos(x))
        return jnp.sum(out, 1) / 2

    return mapped


@transformation
def vmap_of_a_part(lib, jnp, f):
    """The examples share what is transformed: it closes over `x`."""

    def mapped(x):
        return jnp.mean(lib.vmap(lambda k: f(x) * k, axis_size=2)(jnp.array([1.0, 2.0])), 0)

    return mapped


@transformation
def collectives(lib, jnp, f):
    lax = lib.lax

    def example(x):
        out = f(x)
        gathered = lax.all_gather(out, "i")
        exchanged = lax.ppermute(out, "i", [(0, 1), (1, 2), (2, 0)])
        swapped = lax.all_to_all(out, "i", 0, 0)
        scattered = lax.psum_scatter(out, "i")
        total = lax.pmean(out, "i") - lax.psum(out, "i") / 2
        return total + gathered[1] * exchanged + swapped + scattered * lax.axis_index("i")

    def mapped(x):
        batch = x * np.array([[1.0], [0.5], [-1.0]], x.dtype)
        return bounded(jnp, jnp.sum(lib.vmap(example, axis_name="i")(batch), 0))

    return mapped


@transformation
def largest_of_all(lib, jnp, f):
    def mapped(x):
        def example(x):
            return lib.lax.pmax(f(x), "i") - lib.lax.pmin(x, "i")

        batch = x * np.array([[1.0], [0.5]], x.dtype)
        return lib.vmap(example, axis_name="i", out_axes=None)(batch)

    return mapped


@transformation
def custom_vmap(lib, jnp, f):
    g = lib.custom_batching.custom_vmap(f)

    @g.def_vmap
    def rule(axis_size, in_batched, xs):
        assert in_batched == [True]
        return lib.vmap(f)(xs) * 1.5, True

    return g


@transformation
def sequential_vmap(lib, jnp, f):
    return lib.custom_batching.sequential_vmap(f)


@transformation
def vectorize(lib, jnp, f):
    def vectorized(x):
        g = jnp.vectorize(lambda x, y: (f(x) * y, jnp.sum(x)), signature="(n),()->(n),()")
        outs, sums = g(x, jnp.array([[1.0, 0.5]], x.dtype))
        return jnp.sum(outs, (0, 1)) / 2 + jnp.sum(sums)

    return vectorized


# --- Control flow.


@transformation
def cond(lib, jnp, f):
    return lambda x: lib.lax.cond(
        jnp.sum(x) > 0, lambda p: f(p["x"]), lambda p: p["x"] * 2, {"x": x, "n": None}
    )


@transformation
def cond_of_closures(lib, jnp, f):
    return lambda x: lib.lax.cond(x[0] > x[1], lambda: jnp.sin(x), lambda: f(x))


@transformation
def switch(lib, jnp, f):
    branches = [lambda x, y: x * y, lambda x, y: f(x) + y, lambda x, y: f(y)]
    return lambda x: lib.lax.switch(jnp.sum(x > 0), branches, x, jnp.cos(x))


@transformation
def scan(lib, jnp, f):
    def scanned(x):
        def step(carry, row):
            c, n = carry
            out = f(c) * row["u"] + x * n
            return (bounded(jnp, out), n + 1), {"y": out, "none": None}

        rows = {"u": jnp.array([[1.0], [0.5]], x.dtype)}
        (c, n), ys = lib.lax.scan(step, (x, 0), rows)
        return c + jnp.sum(ys["y"], 0) * n / 4

    return scanned


@transformation
def scan_backwards(lib, jnp, f):
    def scanned(x):
        def step(c, row):
            return jnp.sin(c), f(row) * c

        rows = x * np.array([[1.0], [0.5], [-1.0]], x.dtype)
        return jnp.mean(lib.lax.scan(step, x, rows, reverse=True, unroll=2)[1], 0)

    return scanned


@transformation
def while_loop(lib, jnp, f):
    def repeated(x):
        def step(state):
            i, c = state
            return i + 1, bounded(jnp, f(c))

        return lib.lax.while_loop(lambda state: state[0] < 2 + (x[0] > 0), step, (0, x))[1]

    return repeated


@transformation
def fori_loop(lib, jnp, f):
    return lambda x: lib.lax.fori_loop(1, 3, lambda i, c: bounded(jnp, f(c) * i + x), x)


@transformation
def fori_loop_to_an_argument(lib, jnp, f):
    return lambda x: lib.lax.fori_loop(
        0, jnp.sum(x > 0), lambda i, c: bounded(jnp, f(c)) - i * x, x
    )


@transformation
def map(lib, jnp, f):
    rows = np.array([[1.0], [0.5], [-1.0]])
    return lambda x: jnp.sum(lib.lax.map(f, x * rows.astype(x.dtype)), 0) / 3


@transformation
def map_in_batches(lib, jnp, f):
    rows = np.array([[1.0], [0.5], [-1.0]])
    return lambda x: jnp.sum(lib.lax.map(f, x * rows.astype(x.dtype), batch_size=2), 0) / 3


@transformation
def associative_scan(lib, jnp, f):
    def scanned(x):
        def combine(a, b):
            return lib.vmap(lib.jit(lambda a, b: a * b - 1))(a, b)

        rows = jnp.stack([f(x), x, jnp.cos(x), f(x / 2)])
        total = lib.lax.associative_scan(jnp.maximum, rows, reverse=True)
        return (
            total[0]
            + jnp.mean(lib.lax.associative_scan(jnp.multiply, rows), 0)
            + combine(rows, rows)[0]
        )

    return scanned


@transformation
def cumulative(lib, jnp, f):
    def accumulated(x):
        out = f(x)
        sums = lib.lax.cumsum(out, reverse=True) / 3 + lib.lax.cumlogsumexp(out)
        return bounded(jnp, sums + lib.lax.cumprod(out)) + lib.lax.cummax(out)

    return accumulated


@transformation
def select_n(lib, jnp, f):
    return lambda x: lib.lax.select_n(jnp.argsort(x), f(x), x, jnp.cos(x))


# --- Staging.


@transformation
def jit(lib, jnp, f):
    return lib.jit(f)


@transformation
def jit_with_options(lib, jnp, f):
    class Model:
        def __init__(self, scale):
            self.scale = scale

        @functools.partial(lib.jit, static_argnums=0, static_argnames=("power",))
        def __call__(self, x, *, power, unused=None):
            return self.scale * f(x) ** power

    return lambda x: Model(0.5)(x, power=2)


@transformation
def disable_jit(lib, jnp, f):
    def at_once(x):
        with lib.disable_jit():
            return f(x)

    return at_once


@transformation
def make_jaxpr(lib, jnp, f):
    def staged(x):
        closed, shape = lib.make_jaxpr(f, return_shape=True)(x)
        (out,) = lib.core.eval_jaxpr(closed.jaxpr, closed.consts, x)
        return out * len(shape.shape)

    return staged


@transformation
def eval_shape(lib, jnp, f):
    def of_that_shape(x):
        struct = lib.eval_shape(f, lib.ShapeDtypeStruct(x.shape, x.dtype))
        return f(x) + jnp.ones(struct.shape, struct.dtype)

    return of_that_shape


@transformation
def named_call(lib, jnp, f):
    return lib.named_call(f, name="named")


@transformation
def named_scope(lib, jnp, f):
    return lib.named_scope("scope")(f)


@transformation
def ensure_compile_time_eval(lib, jnp, f):
    def with_a_constant(x):
        with lib.ensure_compile_time_eval():
            scale = float(jnp.sum(f(jnp.ones(3, x.dtype))))
        return f(x) * scale / 3

    return with_a_constant


@transformation
def pure_callback(lib, jnp, f):
    def called(x):
        shape = lib.ShapeDtypeStruct(x.shape, x.dtype)
        out = lib.pure_callback(np.sin, shape, lib.lax.stop_gradient(x), vmap_method="sequential")
        return f(x) * out

    return called


@transformation
def pure_callback_that_is_differentiated(lib, jnp, f):
    def called(x):
        shape = lib.ShapeDtypeStruct(x.shape, x.dtype)
        return lib.pure_callback(np.sin, shape, f(x), vmap_method="expand_dims")

    return called


@transformation
def debug_callback(lib, jnp, f):
    def watched(x):
        lib.debug.callback(lambda x: None, x)
        return f(x)

    return watched


@transformation
def io_callback(lib, jnp, f):
    def called(x):
        shape = lib.ShapeDtypeStruct(x.shape, x.dtype)
        return f(x) + lib.experimental.io_callback(np.sin, shape, lib.lax.stop_gradient(x))

    return called


# --- What is transformed.


def smooth(lib, jnp, x):
    return jnp.sin(x) * x[::-1] + jnp.mean(x)


def matrices(lib, jnp, x):
    w = jnp.array([[0.5, -0.25, 0.1], [0.2, 0.3, -0.4], [-0.1, 0.6, 0.2]], x.dtype)
    return jnp.tanh(w @ x + jnp.exp(-jnp.dot(x, x))) * jnp.sqrt(1.5 + jnp.cos(x))


def choices(lib, jnp, x):
    largest = x[jnp.argmax(x)]
    y = jnp.where(x > 0, x**2, -x).at[0].add(largest)
    return jnp.concatenate([jnp.sort(y)[1:], jnp.cumsum(y)[:1]]) / jnp.maximum(2, jnp.max(y))


BODIES = [smooth, matrices, choices]
