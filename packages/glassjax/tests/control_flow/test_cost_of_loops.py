"""The cost of loops: tracing, program size and memory."""

import numpy as np
import pytest
from rows import for_each

import glassjax
import glassjax.numpy as jnp
from glassjax import lax
from glassjax.core import dce_jaxpr
from glassjax.primitives.higher_order import cotangent_ins, tangent_outs, unknown_outs
from glassjax.runtime import program as compiled_programs
from glassjax.runtime.jax_params import read_jaxpr
from glassjax_stage3.jaxpr import consts_as_invars, inner_jaxprs
from glassjax_stage3.jit_rules import jvp_jaxpr
from glassjax_stage4.jit_rules import split_jaxpr, transpose_jaxpr


class Counted:
    """A function that counts how often Python runs it."""

    def __init__(self, function):
        self.function = function
        self.__name__ = "counted"
        self.calls = 0

    def __call__(self, *args):
        self.calls += 1
        return self.function(*args)


def of_scan(length, body):
    def loss(w, x):
        carry, ys = lax.scan(lambda c, u: body(w, c, u), x, jnp.arange(length, dtype=x.dtype))
        return jnp.sum(carry) + jnp.sum(ys)

    return loss


def of_fori_loop(length, body):
    def loss(w, x):
        return jnp.sum(lax.fori_loop(0, length, lambda i, c: body(w, c, 0.1 * i)[0], x))

    return loss


def cell(w, c, u):
    c = jnp.tanh(w @ c + u)
    return c, c * u


W, X = np.full((4, 4), 0.1), np.ones(4)
TRANSFORMATIONS = {
    "plain": lambda f: f,
    "grad": glassjax.grad,
    "both": lambda f: glassjax.grad(f, (0, 1)),
    "forward": lambda f: lambda w, x: glassjax.jvp(f, (w, x), (w, x)),
    "twice": lambda f: glassjax.grad(lambda w, x: jnp.sum(glassjax.grad(f)(w, x) ** 2)),
}


@for_each("loop", [of_scan, of_fori_loop])
class TestWhateverTheLength:
    @for_each("name", TRANSFORMATIONS)
    def test_the_body_is_traced_as_often_and_the_program_is_as_long(self, loop, name):
        def cost(length):
            body = Counted(cell)
            f = glassjax.jit(TRANSFORMATIONS[name](loop(length, body)))
            return body, f.lower(W, X).as_text().replace(str(length - 1), str(length))

        (short_body, short), (long_body, long) = cost(301), cost(997)
        assert short_body.calls == long_body.calls == 1
        assert short.count("\n") == long.count("\n")
        assert len(short) == len(long)

    def test_the_gradient_is_compiled_once(self, loop, monkeypatch):
        texts = []
        compile_text = compiled_programs.compile_or_load
        monkeypatch.setattr(
            compiled_programs,
            "compile_or_load",
            lambda text, *args, **options: (
                texts.append(text) or compile_text(text, *args, **options)
            ),
        )
        for count, length in enumerate((2, 500), 1):
            f = glassjax.jit(glassjax.grad(loop(length, cell)))
            f(jnp.asarray(W), jnp.asarray(X))
            f(jnp.asarray(2 * W), jnp.asarray(X))
            loops = [text for text in texts if "stablehlo.while" in text]
            assert len(loops) == f._cache_size() * count == count


def loops_in(jaxpr):
    """The equations that are scans, wherever they are in a program."""
    found = []
    for eqn in jaxpr.eqns:
        found += [eqn] if eqn.primitive.name == "scan" else []
        for inner in inner_jaxprs(eqn):
            found += loops_in(inner)
    return found


class TestResiduals:
    @staticmethod
    def stacked(body, xs=None):
        def loss(w, x):
            return jnp.sum(lax.scan(lambda c, u: (body(w, c, u), None), x, xs, 10)[0])

        forward, _ = loops_in(glassjax.make_jaxpr(glassjax.grad(loss))(W, X).jaxpr)
        _, *residuals = forward.outvars
        return sorted(x.aval.shape for x in residuals)

    def test_what_does_not_change_goes_over_as_it_is(self):
        assert self.stacked(lambda w, c, u: w @ c) == [(10, 4)]

    def test_nor_what_is_made_of_that_alone(self):
        assert self.stacked(lambda w, c, u: jnp.sin(w) @ c) == [(10, 4)]
        assert self.stacked(lambda w, c, u: jnp.sin(w[0]) * c) == [(10, 4)]

    def test_nor_what_was_stacked_already(self):
        assert self.stacked(lambda w, c, u: w @ c * u, xs=np.ones((10, 4))) == [(10, 4)]
        assert self.stacked(lambda w, c, u: c + w[0] * u, xs=np.ones((10, 4))) == []

    def test_zeros_to_begin_with_are_no_constants_of_the_program(self):
        closed = glassjax.make_jaxpr(glassjax.grad(of_fori_loop(10, cell)))(W, X)
        assert closed.consts == []


def jitted_part(c, u):
    return glassjax.jit(lambda c, u: (c * u, u * 2))(c, u)


def inner_scan(c, u):
    return lax.scan(lambda c, v: (c * v, lax.stop_gradient(c)), c, jnp.stack([u, c]))[0], u


def branches(c, u):
    return lax.cond(u[0] > 0, lambda c, u: (c * u, u), lambda c, u: (c, u + 1), c, u)


@glassjax.custom_jvp
def own_derivative(x):
    return x * 2


own_derivative.defjvps(lambda t, out, x: 3 * t)

# Functions of two vectors that return two.
BODIES = {
    "product": lambda c, u: (c * u, u),
    "constant": lambda c, u: (c, lax.stop_gradient(c) * u),
    "step": lambda c, u: (jnp.where(c > 0, u, 1.0), jnp.floor(c)),
    "jit": jitted_part,
    "checkpoint": lambda c, u: glassjax.checkpoint(lambda c, u: (jnp.sin(c), u * u))(c, u),
    "checkpoint in jit": lambda c, u: glassjax.jit(glassjax.checkpoint(jitted_part))(c, u),
    "scan": inner_scan,
    "cond": branches,
    "while": lambda c, u: lax.while_loop(lambda x: x[0][0] < 9, lambda x: (2 * x[0], x[1]), (c, u)),
    "rounds": lambda c, u: (lax.fori_loop(0, jnp.int32(u[0]), lambda _, c: c * 2, c), u),
    "custom": lambda c, u: (own_derivative(c), u * 2),
    "integer": lambda c, u: ((c.astype("int32") * 2).astype(c.dtype), u),
}
FLAGS = [(True, False), (False, True), (True, True), (False, False)]


def program(body):
    closed = glassjax.make_jaxpr(body)(X, X)
    assert closed.consts == []
    return consts_as_invars(read_jaxpr(closed.jaxpr))


class TestDependence:
    """What is read off a program is what transforming it shows."""

    @for_each("flags", FLAGS)
    @for_each("name", BODIES)
    def test_of_unknown_results(self, name, flags):
        jaxpr = program(BODIES[name])
        assert unknown_outs(jaxpr, flags) == tuple(split_jaxpr(jaxpr, flags).unknown_outs)

    @for_each("flags", FLAGS)
    @for_each("name", BODIES)
    def test_of_tangents(self, name, flags):
        jaxpr = program(BODIES[name])
        assert tangent_outs(jaxpr, flags) == tuple(jvp_jaxpr(jaxpr, flags)[2])


LINEAR = {
    "product": lambda c, u: (c * 2.0, u),
    "swap": lambda c, u: (u, c + u),
    "one of them": lambda c, u: (c, c),
    "jit": lambda c, u: glassjax.jit(lambda c, u: (c + u, u * 2.0))(c, u),
    "scan": lambda c, u: (lax.scan(lambda c, _: (c * 2.0, None), c, None, 2)[0], u),
}


@for_each("flags", FLAGS)
@for_each("name", LINEAR)
def test_dependence_of_cotangents(name, flags):
    jaxpr = program(LINEAR[name])
    with_cotangent = transpose_jaxpr(jaxpr, (True, True), flags)[2]
    found = cotangent_ins(jaxpr, (True, True), flags)
    assert all(a >= b for a, b in zip(found, with_cotangent, strict=True))
    assert found == tuple(with_cotangent) or name == "jit"  # which takes its operands for one


def test_what_has_no_tangent_is_carried_without_one():
    def body(carry, _):
        x, decay = carry
        return (glassjax.jit(lambda x, decay: (x * decay, decay * 0.5))(x, decay)), None

    def f(x):
        return lax.scan(body, (x, 1.0), None, 3)[0][0]

    (loop,) = loops_in(glassjax.make_jaxpr(lambda x: glassjax.jvp(f, (x,), (x,)))(X).jaxpr)
    _, carry, _ = loop.params["ft_in"].unpack()
    assert len(carry) == 3


LAYERS, SIZE, WIDTH = 6, 256, 32


def layer(x, w):
    h = glassjax.ad_checkpoint.checkpoint_name(jnp.sin(jnp.sin(x @ w)), "hidden")
    return jnp.sin(jnp.sin(h @ w.T)) + x


def unrolled(layer, ws, x):
    for i in range(LAYERS):
        x = layer(x, ws[i])
    return x


def scanned(layer, ws, x):
    return lax.scan(lambda x, w: (layer(x, w), None), x, ws)[0]


class TestMemoryOfCheckpoint:
    """The bytes that XLA sets aside for a step, as the compiled program tells."""

    @staticmethod
    def bytes_of_step(network, wrap):
        def loss(ws, x):
            return jnp.sum(network(wrap(layer), ws, x) ** 2)

        ws = jnp.full((LAYERS, WIDTH, 4 * WIDTH), 0.1, np.float32)
        x = jnp.ones((SIZE, WIDTH), np.float32)
        compiled = glassjax.jit(glassjax.grad(loss)).lower(ws, x).compile()
        return compiled.memory_analysis().temp_size_in_bytes, np.asarray(compiled(ws, x))

    @pytest.mark.parametrize("network", [unrolled, scanned])
    def test_less_is_kept_the_less_a_policy_saves(self, network):
        policies = glassjax.checkpoint_policies
        plain, expected = self.bytes_of_step(network, lambda f: f)
        taken = {}
        for name, policy in {
            "nothing": policies.nothing_saveable,
            "name": policies.save_only_these_names("hidden"),
            "dots": policies.dots_saveable,
            "everything": policies.everything_saveable,
        }.items():
            taken[name], found = self.bytes_of_step(
                network, lambda f, policy=policy: glassjax.checkpoint(f, policy=policy)
            )
            np.testing.assert_allclose(found, expected, rtol=1e-4)
        assert taken["nothing"] < 0.5 * plain
        assert taken["nothing"] < taken["name"] < taken["dots"] < taken["everything"]
        assert taken["everything"] < 1.1 * plain


def test_dead_code_leaves_every_branch_of_a_choice():
    def g(x, y):
        branches = [lambda x, y: (jnp.sin(x), jnp.exp(y)), lambda x, y: (jnp.cos(x), y)]
        return lax.switch(jnp.int32(x), [*branches, branches[0]], x, y)

    jaxpr = glassjax.make_jaxpr(g)(1.0, 2.0).jaxpr
    smaller, used = dce_jaxpr(jaxpr, [True, False])
    assert used == [True, False]
    programs = smaller.eqns[-1].params["branches"]
    assert [[e.primitive.name for e in b.eqns] for b in programs] == [["sin"], ["cos"], ["sin"]]
    assert dce_jaxpr(jaxpr, [False, True])[1] == [True, True]
    assert dce_jaxpr(jaxpr, [False, False])[0].eqns == []
