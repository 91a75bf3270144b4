"""`HiPrim`: primitives as classes, beside JAX."""

from importlib import import_module

import jax
import numpy as np
import pytest

import glassjax
from glassjax.experimental import hijax

X = np.array([0.5, 1.0, 2.0], np.float32)
ROWS = np.stack([X, -X])


def base(lib):
    """The product of two arrays in a dict by a factor, and the sine of the first."""
    jnp, hijax = lib.numpy, import_module(f"{lib.__name__}.experimental.hijax")

    class Product(hijax.HiPrim):
        def __init__(self, avals, factor):
            self.in_avals, self.out_aval = (avals,), (avals["x"], avals["x"])
            self.params = {"factor": factor}
            super().__init__()

        def expand(self, pair):
            x, y = pair["x"], pair["y"]
            return x * y * self.factor, jnp.sin(x)

        def batch(self, axis_data, args, dims):
            args = hijax.bdims_at_front(axis_data, args, dims)
            (avals,) = hijax.unmap_avals(axis_data, self.in_avals, ({"x": 0, "y": 0},))
            return type(self)(avals, self.factor)(*args), (0, 0)

    return Product, jnp, hijax


def push_forward(jnp, hijax, factor, primals, tangents):
    (pair,), (dots,) = primals, tangents
    x_dot, y_dot = (hijax.instantiate_zeros(dots[name]) for name in "xy")
    first = (x_dot * pair["y"] + pair["x"] * y_dot) * factor
    return first, jnp.cos(pair["x"]) * x_dot


def by_jvp(lib):
    """Rules of forward mode, from which the others follow."""
    Product, jnp, hijax = base(lib)

    class ByJvp(Product):
        vjp_fwd, vjp_bwd_retval = hijax.vjp_from_jvp
        lin, linearized = hijax.linearize_from_jvp

        def jvp(self, primals, tangents):
            return self(*primals), push_forward(jnp, hijax, self.factor, primals, tangents)

    return ByJvp


def by_lin(lib):
    Product, jnp, hijax = base(lib)

    class ByLin(Product):
        vjp_fwd, vjp_bwd_retval = hijax.vjp_from_lin
        jvp = hijax.jvp_from_lin

        def lin(self, nzs_in, pair):
            return self(pair), pair

        def linearized(self, residuals, *tangents):
            return push_forward(jnp, hijax, self.factor, (residuals,), tangents)

    return ByLin


def by_vjp(lib):
    """A rule of reverse mode that is 3 times too large, so that its use shows."""
    Product, jnp, hijax = base(lib)

    class ByVjp(Product):
        def vjp_fwd(self, nzs_in, pair):
            return self(pair), (pair, nzs_in[0]["y"])

        def vjp_bwd_retval(self, res, outgrad):
            pair, _ = res
            g, h = map(hijax.instantiate_zeros, outgrad)
            x_bar = g * pair["y"] * self.factor + h * jnp.cos(pair["x"])
            return ({"x": 3 * x_bar, "y": 3 * g * pair["x"] * self.factor},)

    return ByVjp


def by_accumulators(lib):
    Product, _, hijax = base(lib)

    class ByAccumulators(Product):
        def vjp_fwd(self, nzs_in, pair):
            return self(pair), pair

        def vjp_bwd(self, pair, outgrad, accums):
            g = hijax.instantiate_zeros(outgrad[0]) * self.factor
            accums["x"].accum(g * pair["y"])
            accums["y"].accum(g * pair["x"])
            accums["y"].accum(g)

    return ByAccumulators


def apply(lib, cls, factor=2.0):
    def f(x, y):
        pair = {"x": lib.numpy.asarray(x), "y": lib.numpy.asarray(y)}
        prim = cls(lib.tree.map(lib.typeof, pair), factor)
        a, b = prim(pair)
        return a * b + a

    return f


def total(f):
    return lambda *args: f(*args).sum()


FORWARD = {
    "jvp": lambda lib, f: lib.jvp(f, (X, 2 * X), (X, X)),
    "one tangent": lambda lib, f: lib.jvp(lambda x: f(x, X), (X,), (X,)),
    "linearize": lambda lib, f: lib.linearize(f, X, 2 * X)[1](X, X),
    "forward over reverse": lambda lib, f: lib.jvp(lib.grad(total(f)), (X, 2 * X), (X, X)),
}
OTHERS = {
    "call": lambda lib, f: f(X, 2 * X),
    "jit": lambda lib, f: lib.jit(f)(X, 2 * X),
    "vmap": lambda lib, f: lib.vmap(f, (0, None))(ROWS, X),
    "grad": lambda lib, f: lib.grad(total(f), (0, 1))(X, 2 * X),
    "grad by one": lambda lib, f: lib.grad(lambda y: f(X, y).sum())(2 * X),
    "jit of grad": lambda lib, f: lib.jit(lib.grad(total(f), (0, 1)))(X, 2 * X),
    "vmap of grad": lambda lib, f: lib.vmap(lib.grad(total(f), (0, 1)))(ROWS, 2 * ROWS),
    "grad of vmap": lambda lib, f: lib.grad(total(lib.vmap(f)), (0, 1))(ROWS, 2 * ROWS),
    "scan": lambda lib, f: lib.lax.scan(lambda c, x: (f(c, x), c), X, ROWS),
}
MAKERS = {"jvp": by_jvp, "lin": by_lin, "vjp": by_vjp, "accumulators": by_accumulators}


@pytest.mark.parametrize("maker", MAKERS)
def test_rules_are_methods(maker):
    uses = {**OTHERS, **(FORWARD if maker in ("jvp", "lin") else {})}

    def everything(lib):
        f = apply(lib, MAKERS[maker](lib))
        return {use: lib.tree.leaves(run(lib, f)) for use, run in uses.items()}

    found, expected = (lib.jit(lambda lib=lib: everything(lib))() for lib in (glassjax, jax))
    f = apply(glassjax, MAKERS[maker](glassjax))
    eagerly = {use: jax.tree.leaves(uses[use](glassjax, f)) for use in ("call", "vmap", "grad")}
    for out in (found, eagerly):
        for use, leaves in out.items():
            for mine, theirs in zip(leaves, expected[use], strict=True):
                assert mine.dtype == theirs.dtype, use
                np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6, err_msg=use)


def test_linear_primitives_have_transposes():
    def pull_back(lib):
        hijax = import_module(f"{lib.__name__}.experimental.hijax")

        class Scaled(hijax.HiPrim):
            def __init__(self, aval):
                self.in_avals, self.out_aval, self.params = (aval, aval), aval, {}
                super().__init__()

            def expand(self, x, factor):
                return x * factor

            def transpose(self, out_ct, x, factor):
                assert isinstance(x, hijax.GradAccum)
                assert not isinstance(factor, hijax.GradAccum)
                x.accum(out_ct * factor)

        scaled = Scaled(lib.typeof(lib.numpy.asarray(X)))
        return lib.linear_transpose(lambda x: scaled(x, lib.numpy.asarray(X)), X)(2 * X)

    np.testing.assert_allclose(np.asarray(pull_back(glassjax)[0]), np.asarray(pull_back(jax)[0]))


@pytest.mark.parametrize("axes", [((0, 1), 0), ((None, 0), 1), ((0, None), (0))], ids=str)
def test_functions_are_mapped_in_rules(axes):
    in_axes, out_axes = axes

    def run(lib):
        hijax = import_module(f"{lib.__name__}.experimental.hijax")
        found = []

        class Twice(hijax.HiPrim):
            def __init__(self, *avals):
                self.in_avals, self.out_aval, self.params = avals, avals[0], {}
                super().__init__()

            def expand(self, x, y):
                return x * y * 2

            def batch(self, axis_data, args, dims):
                f = hijax.vmap_rule(axis_data, self.expand, dims, out_axes)
                zero = hijax.Zero(lib.core.ShapedArray((2, 3), np.dtype("float32")))
                g = hijax.vmap_rule(axis_data, lambda z: z, (0,), 1)
                found.append(g(zero).aval.shape)
                return f(*args), out_axes

        aval = lib.typeof(lib.numpy.asarray(X))
        shaped = [x if axis is None else np.stack([x, 3 * x], axis)
                  for x, axis in zip((X, 2 * X), in_axes, strict=True)]  # fmt: skip
        return lib.vmap(Twice(aval, aval), in_axes)(*shaped), found

    (mine, shapes), (theirs, expected) = run(glassjax), run(jax)
    np.testing.assert_allclose(np.asarray(mine), np.asarray(theirs))
    assert shapes == expected == [(3, 2)]


def test_errors():
    aval = glassjax.typeof(glassjax.numpy.asarray(X))

    class Bare(hijax.HiPrim):
        def __init__(self, out=aval, **params):
            self.in_avals, self.out_aval, self.params = (aval,), out, params
            super().__init__()

    class Unset(hijax.HiPrim):
        def __init__(self):
            super().__init__()

    class Wrong(Bare):
        def expand(self, x):
            return x.sum()

    class Effectful(Bare):
        effects = frozenset({"printing"})

    with pytest.raises(AttributeError, match=r"__init__ must set self\.in_avals"):
        Unset()
    with pytest.raises(NotImplementedError, match="Bare must define the method `expand`"):
        Bare()(X)
    with pytest.raises(TypeError, match=r"out_aval says f32\[3\], and expand returns f32\[\]"):
        Wrong()(X)
    with pytest.raises(TypeError, match="Bare: expected"):
        Bare()((X, X))
    with pytest.raises(NotImplementedError, match="effects must be empty"):
        Effectful()
    for transform, method in ((glassjax.grad, "jvp"), (glassjax.vmap, "batch")):
        with pytest.raises(NotImplementedError, match=f"must define the method `{method}`"):
            transform(lambda x: Bare()(x).sum())(ROWS if method == "batch" else X)
    both = type("Both", (Bare,), {"lin": hijax.linearize_from_jvp[0]})()
    with pytest.raises(TypeError, match="define each by the other"):
        hijax.jvp_from_lin(both, (X,), (X,))
    with pytest.raises(ValueError, match=r"expected a cotangent of type f32\[3\]"):
        hijax.ValAccum(aval).accum(ROWS)
    assert repr(Bare(n=3)) == "Bare[n=3]"
    assert Bare(n=3) == Bare(n=3) != Bare(n=4)
    assert hash(Bare(n=3)) == hash(Bare(n=3))
    assert repr(hijax.NullAccum(aval)) == "NullAccum(f32[3])"
