"""Custom derivatives under every transformation, beside JAX."""

from functools import partial

import jax
import jax.custom_derivatives
import jax.debug
import jax.errors
import jax.export
import jax.extend
import jax.ffi
import jax.interpreters.batching
import jax.interpreters.mlir
import numpy as np
import pytest
from libraries import LIBRARIES, assert_same
from shares import IS_NIGHT
from tables import for_each

import glassjax
import glassjax.ad_checkpoint
import glassjax.debug
import glassjax.export
import glassjax.extend
import glassjax.extend.core
import glassjax.interpreters.batching
import glassjax.interpreters.mlir
import glassjax.numpy

RNG = np.random.default_rng(1)


X = RNG.standard_normal(3)


XS = RNG.standard_normal((4, 3))


# Each makes a function of two arrays of shape (3,), whose derivative is not its own.
def by_jvp(lib, jnp):
    @lib.custom_jvp
    def f(x, y):
        return jnp.sin(x) * y

    @f.defjvp
    def f_jvp(primals, tangents):
        (x, y), (dx, dy) = primals, tangents
        return f(x, y), 3.0 * jnp.cos(x) * dx * y + jnp.exp(x) * dy

    return f


def by_jvps(lib, jnp):
    f = lib.custom_jvp(lambda x, y: {"out": jnp.sin(x) * y})
    f.defjvps(lambda t, out, x, y: {"out": t * out["out"] * x}, None)
    return lambda x, y: f(x, y)["out"]


def by_jvp_of_trees(lib, jnp):
    @partial(lib.custom_jvp, nondiff_argnums=(0, 2))
    def f(power, tree, function):
        return function(tree["x"]) ** power, {"y": tree["y"] * 2.0 + 0.0 * tree["x"]}

    @f.defjvp
    def f_jvp(power, function, primals, tangents):
        ((tree,), (dots,)) = primals, tangents
        out = f(power, tree, function)
        return out, (5.0 * dots["x"] * power, {"y": dots["y"] * jnp.cos(tree["x"])})

    def g(x, y):
        out, more = f(2, {"x": x, "y": y}, jnp.sin)
        return out * more["y"]

    return g


def by_vjp(lib, jnp):
    @lib.custom_vjp
    def f(x, y):
        return jnp.sin(x) * y

    def fwd(x, y):
        return f(x, y), (jnp.cos(x), y)

    def bwd(residuals, ct):
        cos_x, y = residuals
        return 2.0 * cos_x * ct * y, None

    f.defvjp(fwd, bwd)
    return f


def by_vjp_of_trees(lib, jnp):
    @partial(lib.custom_vjp, nondiff_argnums=(1,))
    def f(tree, scale, offset=1.0):
        return {
            "a": tree["x"] * tree["y"][0] * scale,
            "b": jnp.sum(tree["x"] + 0.0 * tree["y"][0]) + offset,
        }

    def fwd(tree, scale, offset):
        return f.fun(tree, scale, offset), {"x": tree["x"], "none": None}

    def bwd(scale, residuals, cts):
        x = residuals["x"]
        return {"x": cts["a"] * scale * jnp.sin(x) + cts["b"], "y": [x * cts["a"]]}, cts["b"]

    f.defvjp(fwd, bwd)

    def g(x, y):
        out = f({"x": x, "y": [y]}, 3.0)
        return out["a"] * out["b"]

    return g


def by_gradient(lib, jnp):
    @lib.custom_gradient
    def f(x, y):
        s = jnp.sin(x)
        return s * y, lambda ct: (ct * s, ct * x)

    return f


def by_converted_closure(lib, jnp):
    """A solver that takes a function, which closes over what is differentiated."""

    @partial(lib.custom_vjp, nondiff_argnums=(0,))
    def apply(f, x, *consts):
        return f(x, *consts)

    def fwd(f, x, *consts):
        return apply(f, x, *consts), (x, consts)

    def bwd(f, residuals, ct):
        x, consts = residuals
        _, pull_back = lib.vjp(f, x, *consts)
        return tuple(2.0 * part for part in pull_back(ct))

    apply.defvjp(fwd, bwd)

    def g(x, y):
        f, consts = lib.closure_convert(lambda x: jnp.sin(x) * y, x)
        return apply(f, x, *consts)

    return g


def by_symbolic_zeros(lib, jnp):
    SymbolicZero = lib.custom_derivatives.SymbolicZero

    @lib.custom_jvp
    def f(x, y):
        return x * y

    def jvp(primals, tangents):
        (x, y), (dx, dy) = primals, tangents
        out = x * y
        if isinstance(dy, SymbolicZero):
            return out, 2.0 * dx * y
        return out, SymbolicZero(jnp.zeros(3).aval) if isinstance(dx, SymbolicZero) else dx + dy

    f.defjvp(jvp, symbolic_zeros=True)

    @lib.custom_vjp
    def g(x, y):
        return x * y, jnp.sin(x)

    def fwd(x, y):
        scale = 2.0 if x.perturbed and not y.perturbed else 3.0
        return (x.value * y.value, jnp.sin(x.value)), (x.value * scale, y.value)

    def bwd(residuals, cts):
        x, y = residuals
        first, second = cts
        assert isinstance(second, SymbolicZero)
        return first * x, first * y

    g.defvjp(fwd, bwd, symbolic_zeros=True)
    return lambda x, y: g(f(x, y), y)[0]


FORWARD = [by_jvp, by_jvps, by_jvp_of_trees]


REVERSE = [by_vjp, by_vjp_of_trees, by_gradient, by_converted_closure, by_symbolic_zeros]


# One of each primitive, and what the others do besides, in loops and branches.
IN_LOOPS = [by_jvp, by_vjp_of_trees, by_symbolic_zeros]


every_function = pytest.mark.parametrize("make", FORWARD + REVERSE, ids=lambda f: f.__name__)


def transformed(make, lib, jnp):
    f = make(lib, jnp)

    def loss(x, y):
        return jnp.sum(f(jnp.cos(x), y))

    def looped(x, y):
        c, ys = lib.lax.scan(lambda c, row: (f(c, row) + x, c), x, jnp.asarray(XS) * y)
        return jnp.sum(c) + jnp.sum(ys)

    def branched(x, y):
        chosen = lib.lax.cond(jnp.sum(x) > 0, f, lambda x, y: f(y, x), x, y)
        return jnp.sum(chosen * lib.jit(f)(x, y))

    x, y, xs = jnp.asarray(X), jnp.asarray(X[::-1].copy()), jnp.asarray(XS)

    def everything(x, y, xs):
        both = partial(lib.grad, argnums=(0, 1))
        outs = {
            "value": f(x, y),
            "vmap": lib.vmap(f, (0, None))(xs, y),
            "grad": both(loss)(x, y),
            "grad of vmap": both(lambda xs, y: jnp.sum(lib.vmap(loss, (0, None))(xs, y)))(xs, y),
        }
        if IS_NIGHT:
            outs["jvp of grad"] = lib.jvp(lambda x: lib.grad(loss)(x, y), (x,), (y,))
        if make in IN_LOOPS:
            outs |= {
                "grad of one": lib.grad(loss)(x, y),
                "grad of the other": lib.grad(loss, 1)(x, y),
                "scan": lib.value_and_grad(looped, (0, 1))(x, y),
                "cond": lib.value_and_grad(branched, (0, 1))(x, y),
                "vmap of scan": lib.vmap(both(looped), (0, None))(xs, y),
            }
        if make in (by_jvp, by_vjp_of_trees):  # compositions of the transformations above
            outs |= {
                "grad of vmap last": lib.grad(
                    lambda xs: jnp.sum(lib.vmap(loss, (1, None))(xs.T, y))
                )(xs),
                "grad of vmap of jit": both(
                    lambda x, ys: jnp.sum(lib.vmap(lib.jit(loss), (None, 0))(x, ys))
                )(x, xs),
                "scan of vmap": both(lambda xs, y: jnp.sum(lib.vmap(looped, (0, None))(xs, y)))(
                    xs, y
                ),
            }
        if make in FORWARD:
            outs |= {
                "jvp": lib.jvp(f, (x, y), (y, x)),
                "jvp of one": lib.jvp(lambda x: f(x, y), (x,), (y,)),
                "jvp of vmap": lib.jvp(lib.vmap(f, (0, None)), (xs, y), (xs, x)),
                "linearize": lib.linearize(f, x, y)[1](y, x),
            }
        if make in FORWARD and IS_NIGHT:
            outs["jvp of jvp"] = lib.jvp(lambda x: lib.jvp(f, (x, y), (y, x)), (x,), (y,))
        if make in (by_jvp, by_vjp_of_trees) and IS_NIGHT:
            outs["grad of grad"] = lib.grad(lambda x: jnp.sum(lib.grad(loss)(x, y) ** 2))(x)
        if make in FORWARD and make in IN_LOOPS:
            outs["jvp of scan"] = lib.jvp(looped, (x, y), (y, x))
        if make in (by_jvps, by_vjp):  # the formulas of the others are not made for integers
            outs["integers"] = lib.grad(loss)(x, jnp.arange(3))
        return outs

    return everything, (x, y, xs)


def leaves(lib, outs):
    return [np.asarray(x) for x in lib.tree.leaves(outs)]


@every_function
def test_every_transformation_has_the_derivative_that_was_defined(make):
    ours, args = transformed(make, *LIBRARIES[0])
    theirs, jax_args = transformed(make, *LIBRARIES[1])
    expected = jax.jit(lambda: theirs(*jax_args))()
    found = glassjax.jit(ours)(*args)
    assert found.keys() == expected.keys()
    for name in found:
        assert_same(leaves(glassjax, found[name]), leaves(jax, expected[name]), 1e-9)


def test_evaluation_agrees_with_compilation():
    lib, jnp = LIBRARIES[0]
    f = by_vjp_of_trees(lib, jnp)

    def several(x, y, xs):
        return [
            f(x, y),
            lib.grad(lambda x, y: jnp.sum(f(x, y)), (0, 1))(x, y),
            lib.grad(lambda xs: jnp.sum(lib.vmap(f, (0, None))(xs, y)))(xs),
            lib.grad(lambda x: jnp.sum(lib.lax.scan(lambda c, r: (f(c, r), None), x, xs)[0]))(x),
        ]

    args = [jnp.asarray(each) for each in (X, X[::-1].copy(), XS)]
    assert_same(leaves(lib, several(*args)), leaves(lib, lib.jit(several)(*args)), 1e-9)


def test_a_result_that_all_examples_share_may_have_derivatives_that_differ():
    """Where JAX computes something else than the sum over examples."""
    jnp = glassjax.numpy

    @glassjax.custom_vjp
    def f(x, y):
        return x * y, x * 1.0

    f.defvjp(lambda x, y: (f.fun(x, y), y), lambda y, cts: (cts[0] * y + cts[1] * 10.0, None))
    g = glassjax.custom_jvp(lambda x, y: (x * y, x * 1.0))
    g.defjvp(lambda p, t: (g.fun(*p), (t[0], t[0] * p[1])))

    ys = np.arange(1.0, 4.0)
    for function in (f, g):

        def loss(x, y, function=function):
            first, second = function(x, y)
            return first * second

        mapped = glassjax.grad(lambda x: jnp.sum(glassjax.vmap(loss, (None, 0))(x, ys)))(2.0)
        assert mapped == sum(glassjax.grad(loss)(2.0, y) for y in ys)


@pytest.mark.parametrize(("lib", "jnp"), LIBRARIES, ids=["glassjax", "jax"])
def test_python_may_decide_where_nothing_is_staged(lib, jnp):
    """Functions and rules see values, as long as nothing but derivatives is taken."""

    @lib.custom_jvp
    def f(x):
        return x * 2.0 if x > 0 else x

    @f.defjvp
    def f_jvp(primals, tangents):
        (x,), (t,) = primals, tangents
        return f(x), 7.0 * t if x > 0 else t

    assert f(-1.0) == -1.0
    assert lib.grad(f)(1.0) == 7.0
    assert lib.grad(lib.grad(lambda x: f(x) * f(x)))(-1.0) == 2.0


def test_a_derivative_that_is_defined_is_used_once_for_each_trace():
    calls = []

    @glassjax.custom_vjp
    def f(x):
        return x

    def fwd(x):
        calls.append("fwd")
        return x, None

    def bwd(_, ct):
        calls.append("bwd")
        return (ct,)

    f.defvjp(fwd, bwd)
    step = glassjax.jit(glassjax.grad(lambda x: f(x) * f(x)))
    step(2.0)
    step(3.0)
    assert calls == ["fwd", "fwd", "bwd", "bwd"]


def vjp_with(lib, fwd=lambda x: (x["a"], x["a"]), bwd=lambda r, ct: ({"a": ct},)):
    f = lib.custom_vjp(lambda x: x["a"])
    f.defvjp(fwd, bwd)
    return lib.grad(f)({"a": 1.0})


def jvp_with(lib, rule):
    f = lib.custom_jvp(lambda x: x * 1.0)
    f.defjvp(rule)
    return lib.grad(f)(1.0)


FAULTS = {
    "no rule": lambda lib, jnp: lib.custom_jvp(lambda x: x)(1.0),
    "no rules": lambda lib, jnp: lib.custom_vjp(lambda x: x)(1.0),
    "no pair of primals": lambda lib, jnp: jvp_with(lib, lambda p, t: t[0]),
    "a tangent of another structure": lambda lib, jnp: jvp_with(lib, lambda p, t: (p[0], t)),
    "a tangent of another shape": lambda lib, jnp: jvp_with(
        lib, lambda p, t: (p[0], jnp.stack([t[0], t[0]]))
    ),
    "no pair": lambda lib, jnp: vjp_with(lib, fwd=lambda x: x["a"]),
    "no tuple": lambda lib, jnp: vjp_with(lib, bwd=lambda r, ct: {"a": ct}),
    "another structure": lambda lib, jnp: vjp_with(lib, bwd=lambda r, ct: ({"b": ct},)),
    "too many": lambda lib, jnp: vjp_with(lib, bwd=lambda r, ct: ({"a": ct}, ct)),
    "another shape": lambda lib, jnp: vjp_with(
        lib, bwd=lambda r, ct: ({"a": jnp.stack([ct, ct])},)
    ),
    "forward mode": lambda lib, jnp: lib.jvp(by_vjp(lib, jnp), (X, X), (X, X)),
    "no such argument": lambda lib, jnp: lib.custom_jvp(lambda x: x, nondiff_argnums=(3,)),
    "formulas beside constants": lambda lib, jnp: lib.custom_jvp(
        lambda n, x: x, nondiff_argnums=(0,)
    ).defjvps(None, None),
}


@for_each("name", FAULTS)
def test_what_jax_refuses_is_refused(name):
    kinds = []
    for library in LIBRARIES:
        try:
            FAULTS[name](*library)
        except (TypeError, ValueError, AttributeError) as error:
            kinds.append(type(error))
    if name == "no such argument" and len(kinds) < 2:
        return
    assert len(kinds) == 2
    assert issubclass(kinds[0], kinds[1])


def test_a_rule_that_returns_no_pair_is_named():
    with pytest.raises(TypeError, match=r"rule `<lambda>` .* must return a pair .*, found "):
        jvp_with(glassjax, lambda p, t: t[0])


def test_what_a_rule_does_not_know_of_is_said():
    def outer(y):
        f = glassjax.custom_jvp(lambda x: x * y)
        f.defjvp(lambda p, t: (p[0], t[0]))
        return glassjax.jit(lambda x: f(x))(2.0)

    with pytest.raises(TypeError, match="closes over"):
        glassjax.grad(lambda y: glassjax.jit(outer)(y))(1.0)


def test_a_mapped_function_closes_over_what_is_mapped():
    """Where vmap runs the function and its rules, it knows the values that they close over."""

    def programs(lib, jnp):
        @partial(lib.custom_vjp, nondiff_argnums=(0,))
        def thrice(f, x):
            return lib.lax.while_loop(
                lambda c: c[1] < 3, lambda c: (f(c[0]), c[1] + 1), (x, jnp.asarray(0))
            )[0]

        thrice.defvjp(lambda f, x: (thrice(f, x), None), lambda f, _, ct: (thrice(f, ct),))

        def closes_over(y, x):
            return thrice(lambda z: z * jnp.sin(y), x)

        both = lib.vmap(closes_over)
        yield both(XS, XS + 1)
        yield lib.jit(both)(XS, XS + 1)
        yield lib.vmap(both)(XS, XS + 1)
        yield lib.vmap(lambda y: lib.vmap(partial(closes_over, y))(X))(X)
        yield lib.vmap(lib.vmap(lib.grad(closes_over, argnums=1)))(XS, XS + 1)
        yield lib.grad(lambda x: jnp.sum(lib.vmap(partial(closes_over, 2.0))(x)))(X)

    ours, theirs = (list(programs(*library)) for library in LIBRARIES)
    assert_same(ours, theirs, 1e-12)


def with_both_rules(forward=1.0, backward=1.0):
    """sin(x) y^2, whose derivative by x is multiplied by one number or the other."""
    jnp = glassjax.numpy

    @glassjax.custom_vjp
    def f(x, y):
        return jnp.sin(x) * y**2

    def push_forward(primals, tangents):
        (x, y), (t, u) = primals, tangents
        return f(x, y), forward * jnp.cos(x) * y**2 * t + 2 * jnp.sin(x) * y * u

    def pull_back(residuals, ct):
        x, y = residuals
        return backward * jnp.cos(x) * y**2 * ct, 2 * jnp.sin(x) * y * ct

    f.defvjp(lambda x, y: (f(x, y), (x, y)), pull_back)
    assert f.defjvp(push_forward) is push_forward
    return f


IN_FORWARD_MODE = {
    "jvp": lambda f: lambda x, y: glassjax.jvp(f, (x, y), (1.0, 0.0))[1],
    "jvp of jit": lambda f: lambda x, y: glassjax.jvp(glassjax.jit(f), (x, y), (1.0, 0.0))[1],
    "linearize": lambda f: lambda x, y: glassjax.linearize(f, x, y)[1](1.0, 0.0),
    "jacfwd": glassjax.jacfwd,
    "jit": lambda f: glassjax.jit(glassjax.jacfwd(f)),
    "checkpoint": lambda f: glassjax.jacfwd(glassjax.checkpoint(f)),
    "cond": lambda f: glassjax.jacfwd(lambda x, y: glassjax.lax.cond(x < 9, f, f, x, y)),
}


IN_REVERSE_MODE = {
    "grad": glassjax.grad,
    "grad of jit": lambda f: glassjax.grad(glassjax.jit(f)),
    "jit of grad": lambda f: glassjax.jit(glassjax.grad(f)),
    "jacrev": glassjax.jacrev,
    "checkpoint": lambda f: glassjax.grad(glassjax.checkpoint(f)),
}


@for_each("transform", IN_FORWARD_MODE.values(), ids=IN_FORWARD_MODE)
def test_forward_mode_takes_the_rule_of_defjvp(transform):
    slope = 5.0 * np.cos(0.5) * 4.0
    derivative = transform(with_both_rules(5.0, 7.0))
    np.testing.assert_allclose(derivative(0.5, 2.0), slope, rtol=1e-6)
    batch = glassjax.vmap(derivative, (0, None))(np.array([0.5, 0.5]), 2.0)
    np.testing.assert_allclose(batch, [slope, slope], rtol=1e-6)


@for_each("transform", IN_REVERSE_MODE.values(), ids=IN_REVERSE_MODE)
def test_reverse_mode_takes_the_rules_of_defvjp(transform):
    slope = 7.0 * np.cos(0.5) * 4.0
    derivative = transform(with_both_rules(5.0, 7.0))
    np.testing.assert_allclose(derivative(0.5, 2.0), slope, rtol=1e-6)
    batch = glassjax.vmap(derivative, (0, None))(np.array([0.5, 0.5]), 2.0)
    np.testing.assert_allclose(batch, [slope, slope], rtol=1e-6)


def test_both_rules_give_all_second_derivatives():
    def looped(lib, f):
        return lambda x: lib.lax.scan(lambda c, _: (f(c, 1.5), None), x, None, length=3)[0]

    theirs = jax.jit(jax.hessian(looped(jax, lambda x, y: jax.numpy.sin(x) * y**2)))(0.5)
    ways = glassjax.jacfwd, glassjax.jacrev
    f = looped(glassjax, with_both_rules())
    ours = [outer(inner(f)) for outer in ways for inner in ways]
    one, batch = glassjax.jit(
        lambda x, xs: ([g(x) for g in ours], [glassjax.vmap(g)(xs)[1] for g in ours])
    )(0.5, np.array([0.3, 0.5]))
    np.testing.assert_allclose(one, [theirs] * 4, rtol=1e-6)
    np.testing.assert_allclose(batch, [theirs] * 4, rtol=1e-6)
    np.testing.assert_allclose(ours[2](0.5), theirs, rtol=1e-6)


def test_both_rules_must_give_results_of_one_type():
    f = glassjax.custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, None), lambda _, ct: (ct,))
    f.defjvp(lambda primals, tangents: (primals[0][None], tangents[0][None]))
    with pytest.raises(TypeError, match="defvjp and defjvp must return results of the same types"):
        glassjax.jvp(f, (1.0,), (1.0,))


def test_an_argument_shown_with_its_perturbation_is_a_leaf(lib):
    """It was a tuple, whose flag a map over the arguments took for one of them."""
    seen = []

    @lib.custom_vjp
    def product(pair):
        return pair["x"] * pair["y"]

    def forward(pair):
        seen.extend(lib.tree.leaves(pair))
        values = lib.tree.map(lambda primal: primal.value, pair)
        return values["x"] * values["y"], values

    def backward(pair, ct):
        return ({"x": ct * pair["y"], "y": ct * pair["x"]},)

    product.defvjp(forward, backward, symbolic_zeros=True)
    assert lib.grad(lambda x: product({"x": x, "y": 3.0}))(2.0) == 3
    assert [(float(p.value), p.perturbed) for p in seen] == [(2.0, True), (3.0, False)]
    assert all(isinstance(p, lib.custom_derivatives.CustomVJPPrimal) for p in seen)


def test_one_cotangent_stands_for_a_whole_tree(lib):
    @lib.custom_vjp
    def total(pair, scale):
        return (pair["x"] + pair["y"][0]) * scale

    total.defvjp(lambda *args: (total(*args), args[1]), lambda scale, ct: (ct * scale, None))
    found = lib.grad(total)({"x": 1.0, "y": [2.0]}, 3.0)
    assert lib.tree.map(float, found) == {"x": 3.0, "y": [3.0]}


THREE = np.float32(3)


# Linear functions with a transpose.
def divided(j):
    return lambda x, r=2.0: j.custom_derivatives.linear_call(
        lambda r, x: x / r, lambda r, ct: 7 * ct / r, r, x
    )


def test_named_values_of_forward_rules(lib):
    named = lib.ad_checkpoint.checkpoint_name_fwd
    jaxpr = lib.make_jaxpr(lambda x: named({"a": x}, "kept"))(THREE)
    assert [eqn.params["name"] for eqn in jaxpr.eqns] == ["kept"]
    assert lib.grad(lambda x: named(x, "kept") ** 2)(THREE) == 6


def test_the_linear_part_of_custom_derivatives_is_a_primitive():
    (eqn,) = glassjax.make_jaxpr(divided(glassjax))(THREE).eqns
    assert eqn.primitive is glassjax.extend.core.primitives.custom_lin_p
