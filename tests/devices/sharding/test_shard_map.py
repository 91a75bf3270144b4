"""`shard_map` on eight devices: values, gradients, shardings and errors, beside JAX.

Where JAX refuses what is implicit here, a conversion to what varies, the program says it for JAX.
"""

import functools
import importlib
import re

import jax
import numpy as np
import pytest
import scipy.special
import scipy.stats
from eight_devices import CAN_READ, X, assert_all_same, assert_same, mesh_of
from hypothesis import given
from hypothesis import strategies as st
from shares import examples, one_in

import glassjax
import glassjax.experimental.ode
import glassjax.scipy.special
import glassjax.scipy.stats

pytestmark = pytest.mark.skipif(not CAN_READ, reason="jaxlib cannot read sharded arrays")

V = np.linspace(-1, 2, 8, dtype=np.float32)
W = np.linspace(-1, 2, 64, dtype=np.float32).reshape(8, 8)


def spec(lib, *entries):
    return lib.sharding.PartitionSpec(*entries)


def mapped(lib, f, ins, outs, **options):
    """`f` mapped over the mesh; specs are tuples of entries, in lists where there are several."""
    make = lambda given: (  # noqa: E731
        tuple([spec(lib, *each) for each in given])
        if isinstance(given, list)
        else spec(lib, *given)
    )
    return lib.shard_map(f, mesh=mesh_of(lib), in_specs=make(ins), out_specs=make(outs), **options)


def auto_mesh(lib):
    return lib.make_mesh((8,), ("x",), axis_types=(lib.sharding.AxisType.Auto,))


def over_x(lib, f, x=X, ins=("x",), outs=("x",), **options):
    return mapped(lib, f, ins, outs, **options)(x)


def vary(lib, x, *names):
    """`x` as what varies, for JAX, which converts only operands."""
    return lib.lax.pcast(x, names, to="varying")


def loss(lib, w, x):
    """A data-parallel loss, whose parameters all devices have."""
    prediction = lib.numpy.tanh(x @ w)
    return lib.lax.pmean((prediction**2).mean(), "x")


def gathered(lib, names="x", to="invarying", **options):
    return lambda x: lib.lax.all_gather(x, names, to=to, **options)


def ring(lib, x):
    """The product of `x` with its transpose, of which a device computes rows, passed around."""
    size = lib.lax.axis_size("x")
    here, total = x, []
    for _ in range(size):
        total.append(x @ here.T)
        here = lib.lax.ppermute(here, "x", [(i, (i + 1) % size) for i in range(size)])
    return lib.numpy.concatenate(total, axis=1)


def _clip(lib):
    @lib.custom_vjp
    def clipped(x):
        return lib.lax.psum(x, "x")

    clipped.defvjp(lambda x: (clipped(x), x), lambda x, ct: (vary(lib, ct, "x") * x,))
    return clipped


PROGRAMS = {
    "identity": lambda lib: over_x(lib, lambda x: x * 2),
    "both axes": lambda lib: over_x(lib, lambda x: x * 2, ins=("x", "y"), outs=("x", "y")),
    "joined axes": lambda lib: over_x(lib, lambda x: -x, ins=(("y", "x"),), outs=(("y", "x"),)),
    "another division of the result": lambda lib: over_x(
        lib, lambda x: x.T, ins=("x", "y"), outs=("y", "x")
    ),
    "repeated": lambda lib: over_x(lib, lambda x: x[:1], ins=(), outs=(("x", "y"),)),
    "jit": lambda lib: lib.jit(mapped(lib, lambda x: x * 2, ("x",), ("x",)))(X),
    "a decorator": lambda lib: lib.shard_map(
        mesh=mesh_of(lib), in_specs=spec(lib, "x"), out_specs=spec(lib, "x")
    )(lambda x: x + 1)(X),
    "mesh in context": lambda lib: in_context(lib),
    "a tree": lambda lib: lib.shard_map(
        lambda tree: {"sum": tree["a"].sum(0, keepdims=True) + tree["b"][0], "a": tree["a"]},
        mesh=mesh_of(lib),
        in_specs=({"a": spec(lib, "x"), "b": spec(lib)},),
        out_specs={"sum": spec(lib, "x"), "a": spec(lib, "x")},
    )({"a": X, "b": [V]}),
    "closed over": lambda lib: over_x(lib, lambda x: x * V),
    "closed over by a jitted function": lambda lib: lib.jit(
        lambda v, x: mapped(lib, lambda x: x * v, ("x",), ("x",))(x)
    )(V, X),
    "arguments that are passed on": lambda lib: lib.shard_map(
        lambda x, tree, f: f(x) * tree["a"][1] + tree["b"],
        mesh=mesh_of(lib),
        in_specs=(spec(lib, "x"), {"a": None, "b": spec(lib)}, None),
        out_specs=spec(lib, "x"),
    )(X, {"a": ["text", 3.0, None], "b": V}, lib.numpy.sin),
    "the gradient of an argument that is passed on": lambda lib: lib.grad(
        lambda n: lib.shard_map(
            lambda x, n: x * n,
            mesh=mesh_of(lib),
            in_specs=(spec(lib, "x"), None),
            out_specs=spec(lib, "x"),
        )(X, n).sum()
    )(3.0),
    "an abstract mesh": lambda lib: lib.jit(
        lib.shard_map(
            lambda x: lib.lax.psum(x, "x"),
            mesh=auto_mesh(lib).abstract_mesh,
            in_specs=spec(lib, "x"),
            out_specs=spec(lib),
        )
    )(lib.device_put(X, lib.sharding.NamedSharding(auto_mesh(lib), spec(lib, "x")))),
    "an abstract mesh and no devices": lambda lib: lib.shard_map(
        lambda x: x, mesh=auto_mesh(lib).abstract_mesh, in_specs=spec(lib), out_specs=spec(lib)
    )(X),
    "no arguments": lambda lib: lib.shard_map(
        lambda: lib.lax.axis_index("x")[None] * lib.numpy.ones(2),
        mesh=mesh_of(lib),
        in_specs=(),
        out_specs=spec(lib, "x"),
    )(),
    # Collectives.
    "psum": lambda lib: over_x(lib, lambda x: lib.lax.psum(x, "x"), outs=()),
    "psum of both": lambda lib: over_x(
        lib, lambda x: lib.lax.psum(x, ("x", "y")), ins=("x", "y"), outs=()
    ),
    "psum of what is the same": lambda lib: over_x(lib, lambda x: lib.lax.psum(x, "y")),
    "psum of a number": lambda lib: over_x(lib, lambda x: x + lib.lax.psum(1, "x")),
    "psum of booleans and integers": lambda lib: over_x(
        lib, lambda x: (lib.lax.psum(x > 0, "x"), lib.lax.psum(x.astype(int), "x")), outs=()
    ),
    "psum in groups": lambda lib: over_x(
        lib, lambda x: lib.lax.psum(x, "x", axis_index_groups=[[0, 2], [1, 3]]), check_vma=False
    ),
    "pmean": lambda lib: over_x(lib, lambda x: lib.lax.pmean(x, "x"), outs=()),
    "psum in groups of other sizes": lambda lib: over_x(
        lib,
        lambda x: [
            getattr(lib.lax, name)(x, "x", axis_index_groups=[[0, 2, 1], [3]])
            for name in ("psum", "pmax", "pmin")
        ],
        check_vma=False,
    ),
    "ppermute along several axes": lambda lib: over_x(
        lib,
        lib.grad(
            lambda x: (
                lib.lax.ppermute(x, ("x", "y"), [(i, (i + 3) % 8) for i in range(7)])
                * lib.lax.pshuffle(x, ("x", "y"), [1, 0, 3, 2, 5, 4, 7, 6])
            ).sum()
        ),
        ins=(("x", "y"),),
        outs=(("x", "y"),),
    ),
    "pmax, pmin": lambda lib: over_x(
        lib, lambda x: (lib.lax.pmax(x, "x"), lib.lax.pmin(x, "x")), outs=()
    ),
    "all_gather": lambda lib: over_x(lib, lambda x: lib.lax.all_gather(x, "x")[:, 0]),
    "all_gather of a later axis": lambda lib: over_x(
        lib, lambda x: lib.lax.all_gather(x, "x", axis=1, tiled=True)
    ),
    "all_gather of both": lambda lib: over_x(
        lib, lambda x: lib.lax.all_gather(x, ("x", "y"), tiled=True), ins=(("x", "y"),)
    ),
    "all_gather to what is the same": lambda lib: over_x(lib, gathered(lib, tiled=True), outs=()),
    "all_gather to what is the same, of both": lambda lib: over_x(
        lib, gathered(lib, names=("x", "y"), axis=1), ins=(("x", "y"),), outs=()
    ),
    "all_gather of what is the same to what is": lambda lib: over_x(
        lib, gathered(lib), ins=(), outs=()
    ),
    "all_gather to what is the same for some": lambda lib: over_x(
        lib, gathered(lib), ins=(("x", "y"),), outs=("y",)
    ),
    "all_gather to what is the same, unchecked": lambda lib: over_x(
        lib, gathered(lib), outs=(), check_vma=False
    ),
    "all_gather to what is the same in groups": lambda lib: over_x(
        lib, gathered(lib, axis_index_groups=[[0, 1], [2, 3]])
    ),
    "all_gather to nothing": lambda lib: over_x(lib, gathered(lib, to="all")),
    "all_gather to what varies": lambda lib: over_x(lib, gathered(lib, to="varying"), outs=()),
    "all_gather to what is reduced, unchecked": lambda lib: over_x(
        lib, gathered(lib, to="reduced"), outs=(), check_vma=False
    ),
    "grad of all_gather to what is the same": lambda lib: lib.grad(
        lambda x: (over_x(lib, gathered(lib), x, outs=()) ** 3).sum()
    )(X),
    "grad within of all_gather to what is the same": lambda lib: over_x(
        lib, lib.grad(lambda x: (gathered(lib, axis=1)(x) ** 3).sum())
    ),
    "grad within of all_gather used apart": lambda lib: over_x(
        lib, lib.grad(lambda x: (gathered(lib)(x) * lib.lax.axis_index("x")).sum() / x[0, 0])
    ),
    "Hessian of all_gather to what is the same": lambda lib: lib.jacfwd(
        lib.grad(lambda x: (over_x(lib, gathered(lib), x, outs=()) ** 3).sum())
    )(V),
    "vmap of all_gather to what is the same": lambda lib: over_x(
        lib, lib.vmap(gathered(lib)), ins=(None, "x"), outs=()
    ),
    "all_gather in groups": lambda lib: over_x(
        lib,
        lambda x: lib.lax.all_gather(x, "x", axis_index_groups=[[3, 1], [0, 2]]).sum(0),
        check_vma=False,
    ),
    "psum_scatter": lambda lib: over_x(lib, lambda x: lib.lax.psum_scatter(x.T[:4], "x")),
    "psum_scatter, tiled": lambda lib: over_x(
        lib, lambda x: lib.lax.psum_scatter(x, "x", scatter_dimension=1, tiled=True)
    ),
    "ppermute": lambda lib: over_x(lib, lambda x: lib.lax.ppermute(x, "x", [(0, 1), (1, 3)])),
    "pshuffle": lambda lib: over_x(lib, lambda x: lib.lax.pshuffle(x, "x", [2, 0, 3, 1])),
    "all_to_all": lambda lib: over_x(
        lib, lambda x: lib.lax.all_to_all(x, "x", 1, 0, tiled=True), outs=(None, "x")
    ),
    "all_to_all, not tiled": lambda lib: over_x(
        lib, lambda x: lib.lax.all_to_all(x.reshape(2, 4, 2), "x", 1, 2)
    ),
    "pswapaxes": lambda lib: over_x(lib, lambda x: lib.lax.pswapaxes(x.reshape(2, 2, 4), "x", 2)),
    "axis_index": lambda lib: over_x(lib, lambda x: x * lib.lax.axis_index("x")),
    "axis_index of both": lambda lib: over_x(
        lib, lambda x: x * lib.lax.axis_index(("x", "y")), ins=("x", "y"), outs=("x", "y")
    ),
    "axis_size": lambda lib: over_x(lib, lambda x: x * lib.lax.axis_size("y")),
    "a ring": lambda lib: over_x(lib, lambda x: ring(lib, x)),
    # Control flow.
    "scan": lambda lib: over_x(
        lib, lambda x: lib.lax.scan(lambda c, r: (c + r, lib.lax.psum(c, "x")), 0 * x[0], x)[0]
    ),
    "a carry that begins alike": lambda lib: over_x(
        lib,
        lambda x: lib.lax.scan(lambda c, r: (c + r, None), vary(lib, lib.numpy.zeros(8), "x"), x)[
            0
        ],
    ),
    "while": lambda lib: over_x(
        lib, lambda x: lib.lax.while_loop(lambda c: c.sum() < 1e3, lambda c: 2 * c, x)
    ),
    "cond": lambda lib: over_x(
        lib, lambda x: lib.lax.cond(lib.lax.axis_index("x") < 2, lambda: x, lambda: -2 * x)
    ),
    "psum in a loop": lambda lib: over_x(
        lib,
        lambda x: lib.lax.fori_loop(0, 3, lambda i, c: lib.lax.pmean(c, "x") * x + i, x),
    ),
    "jit inside": lambda lib: over_x(
        lib, lambda x: lib.jit(lambda y: y - lib.lax.pmean(y, "x"))(x) + 1
    ),
    "checkpoint inside": lambda lib: lib.grad(
        lambda x: over_x(
            lib, lib.checkpoint(lambda x: lib.lax.psum(lib.numpy.sin(x) ** 2, "x")), x, outs=()
        ).sum()
    )(X),
    "sort, cumsum, linalg": lambda lib: over_x(
        lib,
        lambda x: (
            lib.numpy.sort(x, 1),
            lib.numpy.cumsum(x, 0),
            lib.numpy.linalg.inv(x @ x.T + 9 * lib.numpy.eye(2)),
        ),
    ),
    "random": lambda lib: over_x(
        lib,
        lambda key: lib.random.normal(lib.random.fold_in(key, lib.lax.axis_index("x")), (2,)),
        lib.random.key(3),
        ins=(),
    ),
    # Transformations.
    "grad of the data": lambda lib: lib.grad(
        lambda x: mapped(lib, lambda w, x: loss(lib, w, x), [(), ("x",)], ())(V, x)
    )(X),
    "grad of the parameters": lambda lib: lib.grad(
        lambda w: mapped(lib, lambda w, x: loss(lib, w, x), [(), ("x",)], ())(w, X)
    )(V),
    "jit of grad": lambda lib: lib.jit(
        lib.grad(mapped(lib, lambda w, x: loss(lib, w, x), [(), ("x",)], ()))
    )(V, X),
    "grad inside": lambda lib: lib.jit(
        mapped(lib, lib.grad(lambda w, x: loss(lib, w, x)), [(), ("x",)], ())
    )(V, X),
    "grad inside, of what is divided": lambda lib: lib.jit(
        mapped(lib, lib.grad(lambda x, w: loss(lib, w, x)), [("x",), ()], ("x",))
    )(X, V),
    "grad, unchecked": lambda lib: lib.jit(
        lib.grad(mapped(lib, lambda w, x: loss(lib, w, x), [(), ("x",)], (), check_vma=False))
    )(V, X),
    "grad inside, unchecked": lambda lib: mapped(
        lib, lib.grad(lambda w, x: loss(lib, w, x)), [(), ("x",)], ("x",), check_vma=False
    )(V, X),
    "value_and_grad": lambda lib: lib.value_and_grad(
        mapped(lib, lambda w, x: loss(lib, w, x), [(), ("x",)], ())
    )(V, X),
    "jvp": lambda lib: lib.jvp(
        mapped(lib, lambda w, x: loss(lib, w, x), [(), ("x",)], ()), (V, X), (V, X)
    ),
    "hessian": lambda lib: lib.hessian(mapped(lib, lambda w, x: loss(lib, w, x), [(), ("x",)], ()))(
        V, X
    ),
    "grad of a ring": lambda lib: lib.grad(
        lambda x: (over_x(lib, lambda x: ring(lib, x), x) ** 2).sum()
    )(X),
    "grad of a scan with psum": lambda lib: lib.grad(
        lambda x: over_x(
            lib,
            lambda x: lib.lax.scan(
                lambda c, r: (lib.numpy.sin(c + lib.lax.psum(r, "x")) * r, c), 0 * x[0], x
            ),
            x,
        )[1].sum()
    )(X),
    "grad of scatter and gather": lambda lib: lib.grad(
        lambda x: over_x(
            lib,
            lambda x: lib.lax.all_gather(
                lib.lax.psum_scatter(x * x, "x", scatter_dimension=1, tiled=True), "x", axis=1
            ),
            x,
        ).sum()
    )(X),
    "grad of all_to_all": lambda lib: lib.grad(
        lambda x: (
            over_x(lib, lambda x: lib.lax.all_to_all(x, "x", 1, 0, tiled=True), x)
            * X.reshape(32, 2)
        ).sum()
    )(X),
    "linearize": lambda lib: lib.linearize(
        mapped(lib, lambda w, x: loss(lib, w, x), [(), ("x",)], ()), V, X
    )[1](V, X),
    "vmap": lambda lib: lib.vmap(
        mapped(lib, lambda w, x: loss(lib, w, x), [(), ("x",)], ()), in_axes=(1, None)
    )(X, X),
    "vmap over what is divided": lambda lib: lib.vmap(
        mapped(lib, lambda x: x - lib.lax.pmean(x, "x"), ("x",), ("x",)), in_axes=1, out_axes=1
    )(X),
    "vmap inside": lambda lib: over_x(
        lib, lambda x: lib.vmap(lambda r: lib.lax.psum(r, "x") / r.sum())(x)
    ),
    "grad of vmap": lambda lib: lib.grad(
        lambda w: lib.vmap(
            mapped(lib, lambda w, x: loss(lib, w, x), [(), ("x",)], ()), in_axes=(1, None)
        )(w, X).sum()
    )(X),
    "custom_vjp": lambda lib: lib.grad(lambda x: over_x(lib, _clip(lib), x, outs=()).sum())(X),
    "custom_jvp": lambda lib: lib.grad(lambda x: over_x(lib, lib.nn.relu, x).sum())(X),
    "within a scan": lambda lib: lib.lax.scan(
        lambda c, _: (over_x(lib, lambda x: lib.numpy.sin(x) + lib.lax.pmean(x, "x"), c), None),
        X,
        length=3,
    )[0],
    "grad of a scan of it": lambda lib: lib.grad(
        lambda x: lib.lax.scan(
            lambda c, _: (over_x(lib, lambda x: lib.numpy.sin(x) + lib.lax.pmean(x, "x"), c), None),
            x,
            length=3,
        )[0].sum()
    )(X),
    "within a branch": lambda lib: lib.lax.cond(
        V[0] < 0, lambda x: over_x(lib, lambda x: 2 * x, x), lambda x: x, X
    ),
    "switch": lambda lib: over_x(
        lib,
        lambda x: lib.lax.switch(
            lib.lax.axis_index("x"),
            [lambda x: x, lambda x: 2 * x, lambda x: x**2, lambda x: -x],
            x,
        ),
    ),
    "a bound that varies": lambda lib: over_x(
        lib, lambda x: lib.lax.fori_loop(0, lib.lax.axis_index("x"), lambda i, c: c + 1, x)
    ),
    "dtypes": lambda lib: over_x(
        lib,
        lambda x: (
            lib.lax.psum(x.astype("bfloat16"), "x"),
            lib.lax.psum(x * 1j, "x"),
            lib.lax.pmin(x.astype("uint8"), "x"),
            lib.lax.pmax(x > 3, "x"),
        ),
        outs=(),
    ),
    "keys": lambda lib: lib.random.key_data(
        over_x(
            lib,
            lambda k: lib.lax.all_gather(k, "x", tiled=True),
            lib.random.split(lib.random.key(0), 8),
        )
    ),
    "empty": lambda lib: over_x(lib, lambda x: lib.lax.psum(x, "x"), X[:, :0], outs=()),
    # Some axes only.
    "some axes": lambda lib: lib.jit(
        mapped(lib, lambda x: lib.lax.psum(x @ x.T, "x"), ("x",), (), axis_names={"x"})
    )(X),
    "some axes, index": lambda lib: lib.jit(
        mapped(lib, lambda x: x * lib.lax.axis_index("x"), ("x",), ("x",), axis_names={"x"})
    )(X),
    "some axes, grad": lambda lib: lib.jit(
        lib.grad(mapped(lib, lambda w, x: loss(lib, w, x), [(), ("x",)], (), axis_names={"x"}))
    )(V, X),
    "nested": lambda lib: lib.jit(
        mapped(
            lib,
            lambda x: lib.shard_map(
                lambda y: lib.lax.psum(y * lib.lax.axis_index("y"), ("y", "x")),
                in_specs=spec(lib, None, "y"),
                out_specs=spec(lib),
                axis_names={"y"},
            )(x),
            ("x",),
            (),
            axis_names={"x"},
        )
    )(X),
    # Unchecked.
    "unchecked": lambda lib: over_x(
        lib, lambda x: lib.lax.all_gather(x, "x", tiled=True), outs=(), check_vma=False
    ),
    # Errors.
    "an unnamed axis": lambda lib: over_x(lib, lambda x: x, outs=()),
    "an unknown axis": lambda lib: over_x(lib, lambda x: x, outs=("z",)),
    "what does not divide": lambda lib: over_x(lib, lambda x: x, X[:7]),
    "too many entries": lambda lib: over_x(lib, lambda x: x, V, ins=("x", "y")),
    "too many entries in a result": lambda lib: over_x(lib, lambda x: x.sum()),
    "a scalar that is divided": lambda lib: over_x(lib, lambda x: x, 1.0),
    "no such collective axis": lambda lib: over_x(lib, lambda x: lib.lax.psum(x, "q")),
    "no mesh": lambda lib: lib.shard_map(
        lambda x: x, in_specs=spec(lib, "x"), out_specs=spec(lib, "x")
    )(X),
    "another structure": lambda lib: mapped(lib, lambda x: x, [("x",), ("x",)], ("x",))(X),
    "an axis twice": lambda lib: over_x(lib, lambda x: x, ins=("x", "x")),
}


def in_context(lib):
    with lib.set_mesh(mesh_of(lib)):
        return lib.shard_map(
            lambda x: lib.lax.psum(x, "x"), in_specs=spec(lib, "x"), out_specs=spec(lib)
        )(X)


# Of these something else comes where they are compiled with others: another class of errors, or
# another division, which XLA chooses.
AS_THEY_STAND = [
    "mesh in context", "an abstract mesh and no devices", "jvp", "within a scan", "some axes",
    "some axes, index", "some axes, grad", "nested", "an axis twice",
]  # fmt: skip


@pytest.mark.parametrize("name", AS_THEY_STAND)
def test_as_in_jax_as_it_stands(name):
    assert_same(PROGRAMS[name])


@pytest.mark.parametrize("part", range(4))
def test_as_in_jax(part):
    names = [name for name in PROGRAMS if name not in AS_THEY_STAND][part::4]
    assert_all_same({name: PROGRAMS[name] for name in names}, part)


# Examples of `vmap` that an axis of the mesh divides

EXAMPLES = np.stack([X + i for i in range(8)]) / 5
OF_BOTH = {"in_axes": (0, None), "ins": [("y",), ()]}


def over_examples(lib, f, *args, in_axes=0, ins=("y",), outs=("y",), names="x", **options):
    """`f` mapped over the mesh for each example, which axes of the mesh divide."""
    of_one = mapped(lib, f, ins, outs, **options)
    return lib.vmap(of_one, in_axes, spmd_axis_name=names)(*args or (EXAMPLES,))


def of_both(lib, f, *args, **options):
    """The same for a function of an example and of parameters that all examples share."""
    return over_examples(lib, f, *args or (EXAMPLES, W), **{**OF_BOTH, **options})


def _sine(lib):
    @lib.custom_jvp
    def sine(x):
        return lib.numpy.sin(x)

    sine.defjvp(lambda xs, ts: (sine(*xs), 2 * lib.numpy.cos(*xs) * ts[0]))
    return sine


def _product(lib):
    @lib.custom_vjp
    def product(x, w):
        return x @ w

    product.defvjp(lambda x, w: (x @ w, (x, w)), lambda xw, ct: (3 * ct @ xw[1].T, xw[0].T @ ct))
    return product


def of_gradient(lib, f, **options):
    return lib.jit(
        lib.grad(lambda x, w: (of_both(lib, f, x, w, **options) ** 2).sum(), argnums=(0, 1))
    )(EXAMPLES, W)


def gradient_of_example(lib, **options):
    """The gradient of each example, in a jitted function that another program has used before."""
    of_one = mapped(lib, lambda x, w: lib.numpy.sin(x) @ w, OF_BOTH["ins"], ("y",), **options)
    gradient = lib.jit(lib.grad(lambda x, w: (of_one(x, w) ** 2).sum(), argnums=(0, 1)))
    gradient(X, W)
    return lib.vmap(gradient, (0, None), spmd_axis_name="x")(EXAMPLES, W)


DIVIDED = {
    "values": lambda lib: over_examples(lib, lambda x: x * 2),
    "jit around": lambda lib: lib.jit(lambda x: over_examples(lib, lambda x: x * 2, x))(EXAMPLES),
    "jit between": lambda lib: lib.vmap(
        lib.jit(mapped(lib, lambda x: x * 2, ("y",), ("y",))), spmd_axis_name="x"
    )(EXAMPLES),
    "several axes": lambda lib: over_examples(
        lib, lambda x: x * 2, ins=(), outs=(), names=("x", "y")
    ),
    "several axes in another order": lambda lib: over_examples(
        lib, lambda x: x * 2, ins=(), outs=(), names=("y", "x")
    ),
    "a later axis": lambda lib: over_examples(lib, lambda x: x * 2, in_axes=2),
    "some arguments": lambda lib: of_both(lib, lambda x, w: x @ w),
    "a result of all examples": lambda lib: of_both(
        lib, lambda x, w: (x, w + 1), outs=[("y",), ()]
    ),
    "unchecked": lambda lib: over_examples(
        lib, lambda x: lib.lax.psum(x, "y"), outs=(), check_vma=False
    ),
    "psum": lambda lib: over_examples(lib, lambda x: lib.lax.psum(x, "y"), outs=()),
    "all_gather": lambda lib: over_examples(lib, gathered(lib, "y"), outs=()),
    "psum_scatter": lambda lib: over_examples(
        lib, lambda x: lib.lax.psum_scatter(x, "y", tiled=True)
    ),
    "index": lambda lib: over_examples(lib, lambda x: x * lib.lax.axis_index("y")),
    "random": lambda lib: over_examples(
        lib,
        lambda k: lib.random.normal(lib.random.fold_in(k, lib.lax.axis_index("y")), (2,)),
        lib.random.split(lib.random.key(0), 8),
        ins=(),
    ),
    "jit within": lambda lib: over_examples(
        lib, lib.jit(lambda x: x - lib.lax.pmean(x, "y")), outs=("y",)
    ),
    "scan within": lambda lib: over_examples(
        lib,
        lambda x: lib.lax.scan(lambda c, row: (c + row, lib.lax.psum(c, "y")), 0 * x[0], x)[0][
            None
        ],
    ),
    "while within": lambda lib: over_examples(
        lib, lambda x: lib.lax.while_loop(lambda c: c.sum() < 99, lambda c: 2 * c + 1, x)
    ),
    "fori within": lambda lib: over_examples(
        lib, lambda x: lib.lax.fori_loop(0, 3, lambda i, c: lib.lax.pmean(c, "y") * c + i, x)
    ),
    "custom_jvp within": lambda lib: over_examples(lib, _sine(lib)),
    "custom_vjp within": lambda lib: of_both(lib, _product(lib)),
    "checkpoint within": lambda lib: over_examples(
        lib, lib.checkpoint(lambda x: lib.numpy.sin(lib.lax.psum(x, "y"))), outs=()
    ),
    "updates within": lambda lib: of_both(
        lib, lambda x, w: w.at[lib.numpy.argmax(x[0])].add(x[1]), ins=[(), ()], outs=()
    ),
    "linalg within": lambda lib: over_examples(
        lib, lambda x: lib.numpy.linalg.inv(x @ x.T + 9 * lib.numpy.eye(4))
    ),
    "vmap within": lambda lib: over_examples(
        lib, lib.vmap(lambda row: lib.lax.psum(row, "y") / row.sum())
    ),
    "grad within": lambda lib: of_both(
        lib,
        lib.grad(lambda x, w: lib.lax.psum((lib.numpy.sin(x) @ w).sum(), "y"), argnums=(0, 1)),
        outs=[("y",), ()],
    ),
    "within a scan": lambda lib: lib.vmap(
        lambda x: lib.lax.scan(
            lambda c, _: (mapped(lib, lib.numpy.sin, ("y",), ("y",))(c), None), x, length=2
        )[0],
        spmd_axis_name="x",
    )(EXAMPLES),
    "within a branch": lambda lib: lib.vmap(
        lambda x: lib.lax.cond(
            x.sum() > 99, mapped(lib, lib.numpy.sin, ("y",), ("y",)), lambda x: x, x
        ),
        spmd_axis_name="x",
    )(EXAMPLES),
    "jvp": lambda lib: lib.jvp(
        lambda x: over_examples(lib, lambda x: lib.numpy.sin(lib.lax.psum(x, "y")), x, outs=()),
        (EXAMPLES,),
        (EXAMPLES[::-1],),
    ),
    "grad": lambda lib: of_gradient(lib, lambda x, w: lib.numpy.tanh(x @ w)),
    "grad of psum": lambda lib: of_gradient(
        lib, lambda x, w: lib.lax.psum(lib.numpy.tanh(x @ w), "y") * x
    ),
    "grad of jit": lambda lib: of_gradient(lib, lib.jit(lambda x, w: x @ w)),
    "grad of custom_jvp": lambda lib: of_gradient(lib, lambda x, w: _sine(lib)(x @ w)),
    "grad of each example": gradient_of_example,
    "grad, unchecked": lambda lib: of_gradient(
        lib, lambda x, w: lib.lax.psum(lib.numpy.tanh(x @ w), "y") * x, check_vma=False
    ),
    "grad of each example, unchecked": lambda lib: gradient_of_example(lib, check_vma=False),
    "hessian": lambda lib: lib.jit(
        lib.hessian(
            lambda v: (of_both(lib, lambda x, w: lib.numpy.tanh(x @ w), EXAMPLES, v) ** 2).sum()
        )
    )(V),
    "vmap around": lambda lib: lib.vmap(
        lib.vmap(mapped(lib, lambda x: x * 2, ("x",), ("x",)), spmd_axis_name="y")
    )(EXAMPLES),
    "shard_map around": lambda lib: lib.jit(
        mapped(
            lib,
            lib.vmap(
                lib.shard_map(
                    lambda row: row * 2, in_specs=spec(lib), out_specs=spec(lib), axis_names={"x"}
                ),
                spmd_axis_name="x",
            ),
            ("y",),
            ("y",),
            axis_names={"y"},
        )
    )(X),
    "vmap within, of an axis that divides nothing": lambda lib: over_x(
        lib, lib.vmap(lambda row: row * 2, spmd_axis_name="x")
    ),
    # Errors.
    "no axis of the mesh": lambda lib: over_examples(lib, lambda x: x, names="q"),
    "an axis in in_specs": lambda lib: over_examples(lib, lambda x: x, names="y"),
    "an axis in out_specs": lambda lib: over_examples(lib, lambda x: x, ins=(), names="y"),
    "an axis in in_specs, unchecked": lambda lib: over_examples(
        lib, lambda x: x, names="y", check_vma=False
    ),
    "an axis for two batches": lambda lib: lib.vmap(
        lib.vmap(mapped(lib, lambda x: x, (), ()), spmd_axis_name="x"), spmd_axis_name="x"
    )(EXAMPLES),
    "psum of different examples": lambda lib: over_examples(lib, lambda x: lib.lax.psum(x, "x")),
    "an index along the axis": lambda lib: over_examples(
        lib, lambda x: x * lib.lax.axis_index("x")
    ),
}


@pytest.mark.parametrize("part", range(3))
def test_examples_are_divided_as_in_jax(part):
    assert_all_same({name: DIVIDED[name] for name in list(DIVIDED)[part::3]}, part)


def test_examples_that_do_not_divide_are_refused_as_in_jax():
    assert_same(lambda lib: over_examples(lib, lambda x: x, EXAMPLES[:6]))


# Laws


def ours(f, ins, outs, **options):
    return mapped(glassjax, f, ins, outs, **options)


AXES = st.sampled_from([(), ("x",), ("y",), (("x", "y"),), (("y", "x"),), (None, "x"), ("y", "x")])


def of_elements(x, y):
    return glassjax.numpy.sin(x) * y + glassjax.numpy.tanh(y) ** 2


def derivatives(f):
    """A function of `x` and `y` that gives the value, the gradient, and a tangent, of `f`."""

    def derived(x, y):
        gradient = glassjax.grad(lambda x, y: (f(x, y) * X).sum(), (0, 1))(x, y)
        value, push = glassjax.linearize(f, x, y)
        return value, *gradient, push(y, x)

    return derived


of_the_whole = glassjax.jit(derivatives(of_elements))


@examples(6, at_night=60)
@given(AXES, AXES, st.booleans(), st.booleans())
def test_what_each_device_does_to_its_part_is_done_to_the_whole(ins, more, jitted, checked):
    """An elementwise function of arrays divided alike, and its derivatives, for any division."""
    found = derivatives(ours(of_elements, [ins, ins], ins, check_vma=checked))
    found = glassjax.jit(found) if jitted else found
    place = glassjax.NamedSharding(mesh_of(glassjax), glassjax.P(*more))
    x, y = glassjax.device_put(X, place), X[::-1].copy()
    for part, whole in zip(found(x, y), of_the_whole(X, y), strict=True):
        np.testing.assert_allclose(part, whole, rtol=1e-4, atol=1e-5)


@examples(10, at_night=40)
@given(
    st.sampled_from([("x",), ("y",), (("x", "y"),)]),
    st.sampled_from(["psum", "pmean", "all_gather", "psum_scatter", "all_to_all", "ppermute"]),
    st.booleans(),
)
def test_a_collective_and_its_transpose_are_adjoint(spec, name, checked):
    """<y, f x> = <f' y, x>, whether types say what varies or not."""
    names = spec[0] if isinstance(spec[0], tuple) else spec
    lax = glassjax.lax

    def f(x):
        if name in ("psum", "pmean"):
            return getattr(lax, name)(x, names)[None]
        if name == "ppermute":
            return lax.ppermute(x, names[0], [(0, 1), (1, 0)])[None]
        if name == "all_gather":
            return lax.all_gather(x, names, tiled=True)[None]
        if name == "psum_scatter":
            return lax.psum_scatter(x, names, scatter_dimension=1, tiled=True)[None]
        return lax.all_to_all(x, names, 1, 0, tiled=True)[None]

    over = ours(f, spec, spec, check_vma=checked)
    shape, tangent = glassjax.eval_shape(over, X).shape, X[::-1].copy()
    ct = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    (back,), pushed = glassjax.jit(
        lambda x: (glassjax.vjp(over, x)[1](ct), glassjax.jvp(over, (x,), (tangent,))[1])
    )(X)
    np.testing.assert_allclose(np.vdot(ct, pushed), np.vdot(back, tangent), rtol=1e-3)


def test_types_say_what_varies():
    lax, seen = glassjax.lax, []

    def f(x, w):
        axis = lax.axis_index("y")
        values = x, w, x * w, axis, lax.psum(x, "x"), lax.pcast(w, "y", to="varying"), x + axis
        seen.extend(str(glassjax.typeof(value)) for value in values)
        return x

    ours(f, [("x",), ()], ("x",))(X, X[0])
    assert seen == [
        "float32[2,8]{V:x}", "float32[8]", "float32[2,8]{V:x}", "int32[]{V:y}", "float32[2,8]",
        "float32[8]{V:y}", "float32[2,8]{V:(x,y)}",
    ]  # fmt: skip


def test_what_is_the_same_becomes_what_varies_by_itself():
    """In the carry of a loop and the results of branches, where JAX asks for pcast."""
    lax, jnp = glassjax.lax, glassjax.numpy

    def f(x):
        total, _ = lax.scan(lambda c, row: (c + row, None), jnp.zeros(8), x)
        return lax.cond(lax.axis_index("x") > 1, lambda: total, lambda: jnp.ones(8))[None]

    out = ours(f, ("x",), ("x",))(X)
    np.testing.assert_allclose(out[:2], 1)
    np.testing.assert_allclose(out[2:], X.reshape(4, 2, 8)[2:].sum(1), rtol=1e-6)
    np.testing.assert_allclose(
        glassjax.grad(lambda x: ours(f, ("x",), ("x",))(x).sum())(X)[:, 0], [0] * 4 + [1] * 4
    )


def test_the_gradient_of_what_is_broadcast_is_summed_before_it_is_sent():
    """A bias for each row: devices exchange the gradient of the bias, not that of the rows."""
    spec = glassjax.P
    mean = glassjax.shard_map(
        lambda w, b, x: glassjax.lax.pmean(glassjax.numpy.tanh(x @ w + b).sum(), "x"),
        mesh=mesh_of(glassjax, (8,), ("x",)),
        in_specs=(spec(), spec(), spec("x")),
        out_specs=spec(),
    )
    w, b, x = (np.ones(shape, np.float32) for shape in ((3, 4), (4,), (32, 3)))
    text = glassjax.jit(glassjax.grad(mean, (0, 1))).lower(w, b, x).as_text()
    sent = re.findall(r"all_reduce.*?\}\) : \(tensor<(.*?)>\)", text, re.DOTALL)
    assert sorted(sent) == ["3x4xf32", "4xf32"]


def test_a_jitted_function_is_traced_for_each_mesh():
    """Its program depends on the sizes of the axes that it names."""
    size = glassjax.jit(lambda x: x * glassjax.lax.psum(1, "x"))
    for shape in ((4, 2), (2, 4), (8, 1)):
        over = glassjax.shard_map(
            size, mesh=mesh_of(glassjax, shape), in_specs=glassjax.P(), out_specs=glassjax.P()
        )
        assert over(1.0) == shape[0]


@pytest.mark.parametrize("specs", [None, "x", 3])
def test_specs_are_partition_specs(specs):
    with pytest.raises(TypeError, match="in_specs must hold a PartitionSpec"):
        glassjax.shard_map(
            lambda x: x, mesh=mesh_of(glassjax), in_specs=specs, out_specs=glassjax.P()
        )


def test_mesh_is_a_mesh():
    f = glassjax.shard_map(lambda x: x, mesh="x", in_specs=glassjax.P(), out_specs=glassjax.P())
    with pytest.raises(TypeError, match="mesh must be a Mesh, found 'x'"):
        f(1.0)


def test_means_in_groups_of_other_sizes():
    groups = [[0, 1, 2], [3, 4, 5, 6, 7]]
    found = glassjax.pmap(lambda x: glassjax.lax.pmean(x, "i", axis_index_groups=groups), "i")(V)
    np.testing.assert_allclose(found, [V[:3].mean()] * 3 + [V[3:].mean()] * 5, rtol=1e-6)


def test_constraints_do_not_name_axes_that_are_mapped_over():
    one_device = glassjax.devices()[0]
    for put in (glassjax.lax.with_sharding_constraint, glassjax.device_put):
        by_x = glassjax.NamedSharding(mesh_of(glassjax), glassjax.P("x"))
        with pytest.raises(ValueError, match="names 'x', manual axes of a shard_map"):
            over_x(glassjax, lambda x: put(x, by_x))  # noqa: B023  # called at once
    moved = over_x(glassjax, lambda x: glassjax.device_put(2 * x, one_device))
    np.testing.assert_array_equal(moved, 2 * X)


@pytest.mark.parametrize("jitted", [False, True])
def test_each_device_has_its_part_of_a_reference(jitted):
    def add(ref, x):
        ref[...] += x
        ref[0] = 7.0
        return x * ref[...]

    mesh = auto_mesh(glassjax)
    f = glassjax.shard_map(add, mesh=mesh, in_specs=glassjax.P("x"), out_specs=glassjax.P("x"))
    by_x = glassjax.NamedSharding(mesh, glassjax.P("x"))
    ref = glassjax.new_ref(glassjax.device_put(np.zeros(16), by_x))
    out = (glassjax.jit(f) if jitted else f)(ref, np.arange(16.0))
    np.testing.assert_array_equal(ref[...], np.where(np.arange(16) % 2, np.arange(16.0), 7))
    np.testing.assert_array_equal(out, np.arange(16) * np.asarray(ref[...]))
    same = glassjax.shard_map(
        add, mesh=mesh, in_specs=(glassjax.P(), glassjax.P("x")), out_specs=by_x.spec
    )
    with pytest.raises(ValueError, match=r"what a reference of type .* holds: it varies along x"):
        same(glassjax.new_ref(np.zeros(2)), np.arange(16.0))


def test_groups_divide_the_axis():
    gathered = lambda groups: ours(  # noqa: E731
        lambda x: glassjax.lax.all_gather(x, "x", axis_index_groups=groups), ("x",), ("x",)
    )(X)
    with pytest.raises(ValueError, match="each index below 4 once"):
        gathered([[0, 1], [2, 2]])
    with pytest.raises(ValueError, match="of one size"):
        gathered([[0, 1, 2], [3]])


def test_no_results():
    assert over_x(glassjax, lambda x: (None, ()), outs=()) == (None, ())


def of_series(special, stats, x):
    return [
        special.gammainc(x, 0.5), special.gammaincc(x, 0.5), special.betainc(x, 2.0, 0.5),
        stats.poisson.cdf(2.0, x), special.hyp1f1(x, 2.0, 0.5), special.hyp2f1(x, 2.0, 3.0, 0.5),
    ]  # fmt: skip


def test_loops_of_the_library_vary_as_their_operands():
    """Their carries begin as constants, which are the same on all devices."""

    def functions(x):
        start, times = np.ones(1, np.float32), np.float32([0, 1])
        decayed = glassjax.experimental.ode.odeint(lambda y, t: -y * x, start, times)[-1]
        slope = glassjax.grad(lambda x: glassjax.scipy.special.gammainc(x, 0.5).sum())(x)
        return [*of_series(glassjax.scipy.special, glassjax.scipy.stats, x), decayed, slope]

    x, step = np.linspace(0.5, 3, 8, dtype=np.float32), 1e-4
    specs = glassjax.P("x")
    found = glassjax.shard_map(
        functions, mesh=auto_mesh(glassjax), in_specs=specs, out_specs=specs
    )(x)
    below, above = (scipy.special.gammainc(x.astype(float) + h, 0.5) for h in (-step, step))
    expected = of_series(scipy.special, scipy.stats, x.astype(float))
    expected += [np.exp(-x), (above - below) / (2 * step)]
    for of_devices, alone in zip(found, expected, strict=True):
        np.testing.assert_allclose(of_devices, alone, rtol=1e-5)


def test_python_is_called_by_each_device():
    calls = []

    def twice(x):
        calls.append(np.asarray(x))
        return 2 * x

    def f(x):
        return glassjax.pure_callback(twice, glassjax.ShapeDtypeStruct(x.shape, x.dtype), x)

    for over in (ours(f, ("x", "y"), ("x", "y")), glassjax.jit(ours(f, ("x", "y"), ("x", "y")))):
        calls.clear()
        np.testing.assert_array_equal(over(X), 2 * X)
        assert sorted(x.sum() for x in calls) == sorted(
            part.sum() for rows in np.split(X, 4) for part in np.split(rows, 2, axis=1)
        )


@pytest.mark.parametrize("ordered", [False, True])
def test_python_is_called_once_for_each_shard_along_some_axes(ordered):
    found = []

    def noting(x):
        callback = glassjax.experimental.io_callback
        glassjax.debug.callback(lambda x: found.append(float(x)), x.sum(), ordered=ordered)
        callback(lambda x: found.append(-float(x)), None, x.sum(), ordered=ordered)
        return x

    over_x(glassjax, noting, np.arange(8.0), axis_names={"x"})
    glassjax.effects_barrier()
    assert sorted(found) == [-13, -9, -5, -1, 1, 5, 9, 13]
    with pytest.raises(NotImplementedError, match="returns values in a shard_map over some axes"):
        over_x(
            glassjax, lambda x: glassjax.experimental.io_callback(np.sin, x, x), axis_names={"x"}
        )


def test_python_is_called_in_the_order_of_each_device(capsys):
    @glassjax.jit
    def f(x):
        def of_part(x):
            index = glassjax.lax.axis_index("x")
            glassjax.debug.print("{} first", index)
            glassjax.debug.print("{} second", index)
            return x

        return glassjax.shard_map(
            of_part, mesh=mesh_of(glassjax, (8,), ("x",)), in_specs=glassjax.P("x"),
            out_specs=glassjax.P("x"),
        )(x)  # fmt: skip

    f(X)
    lines = capsys.readouterr().out.splitlines()
    for device in range(8):
        of_device = [line for line in lines if line.startswith(str(device))]
        assert of_device == [f"{device} first", f"{device} second"]


def test_an_error_in_python_is_passed_on():
    def fail(x):
        raise KeyError("no such thing")

    def f(x):
        return glassjax.pure_callback(fail, glassjax.ShapeDtypeStruct(x.shape, x.dtype), x)

    with pytest.raises(RuntimeError, match="no such thing"):
        glassjax.jit(ours(f, ("x",), ("x",)))(X)


@pytest.mark.parametrize("source", range(4))
def test_all_devices_get_the_part_of_one(source):
    """JAX has `pbroadcast` on GPUs only."""

    def of_source(x):
        return glassjax.lax.pbroadcast({"part": x, "is large": x > 4}, "x", source)

    found = over_x(glassjax, of_source, outs=())
    part = X[2 * source : 2 * source + 2]
    np.testing.assert_array_equal(found["part"], part)
    np.testing.assert_array_equal(found["is large"], part > 4)
    slope = glassjax.grad(lambda x: (over_x(glassjax, of_source, x=x, outs=())["part"] ** 2).sum())
    expected = np.zeros_like(X)
    expected[2 * source : 2 * source + 2] = 2 * part
    np.testing.assert_allclose(slope(X), expected, rtol=1e-6)


def test_a_check_on_some_devices_is_the_error_of_the_first():
    """JAX lists the checks of all devices; the first of its lines is ours, without the index."""

    def f(lib, x):
        checkify = importlib.import_module(f"{lib.__name__}.experimental.checkify")

        def body(x):
            checkify.check((x < 5).all(), "from {}", x[0])
            return 2 * x

        error, out = lib.jit(checkify.checkify(mapped(lib, body, ("x",), ("x",))))(x)
        return (error.get() or "").split("\n")[0].rpartition("index ")[2], np.asarray(out)

    for x in (np.arange(16.0), np.zeros(16)):
        (found, ours), (expected, theirs) = (f(lib, x.astype("float32")) for lib in (glassjax, jax))
        assert expected.endswith(found)
        assert bool(found) == bool(x.any())
        assert (ours == theirs).all()


# Programs of an example and parameters, most of which JAX does not divide with checks on.
BODIES = {
    "scan": lambda x, w: glassjax.lax.scan(
        lambda c, row: (glassjax.numpy.sin(c + row * w[0]), glassjax.lax.psum(c, "y")), 0 * x[0], x
    )[1],
    "scan whose carry becomes a batch": lambda x, w: glassjax.lax.scan(
        lambda c, row: (glassjax.numpy.sin(c) + row, c), w[0], x
    )[1],
    "scan whose carry is shared": lambda x, w: glassjax.lax.scan(
        lambda c, row: (glassjax.numpy.tanh(c @ w), c[0] * row), w, x
    )[1],
    "fori": lambda x, w: glassjax.lax.fori_loop(
        0, 3, lambda i, c: glassjax.numpy.sin(c @ w) + glassjax.lax.pmean(c, "y"), x
    ),
    "while": lambda x, w: glassjax.lax.while_loop(
        lambda c: c[0] < 3,
        lambda c: (c[0] + 1, glassjax.numpy.sin(c[1] @ w)),
        (0, x),
        max_steps=4,
    )[1],
    "cond": lambda x, w: glassjax.lax.cond(w.sum() > 0, lambda: x * w[0], lambda: -2 * x),
    "cond whose branches differ in what varies": lambda x, w: glassjax.lax.cond(
        w.sum() > 0, lambda: w[:4], lambda: x
    ),
    "cond of the example": lambda x, w: glassjax.lax.cond(
        glassjax.lax.psum(x.sum(), "y") > 60, lambda: x @ w, lambda: -2 * x
    ),
    "cond of the device": lambda x, w: glassjax.lax.cond(
        glassjax.lax.axis_index("y") > 0, lambda: x * w[0], lambda: -2 * x
    ),
    "checkpoint": glassjax.checkpoint(
        lambda x, w: glassjax.numpy.sin(glassjax.lax.psum(x @ w, "y")) * x
    ),
    "custom_jvp": lambda x, w: _sine(glassjax)(x @ w) + _sine(glassjax)(w[:4]),
    "custom_vjp": lambda x, w: _product(glassjax)(x, w),
    "map": lambda x, w: glassjax.lax.map(lambda row: row @ w, x),
    "solve": lambda x, w: glassjax.lax.custom_linear_solve(
        lambda v: v * (2 + w[0] ** 2), x[0], lambda mv, b: b / (2 + w[0] ** 2), symmetric=True
    )[None],
    "gradient": lambda x, w: glassjax.grad(
        lambda x, w: glassjax.lax.pmean((glassjax.numpy.tanh(x @ w) ** 2).sum(), "y")
    )(x, w),
}


def with_derivatives(f, has_tangents):
    """The gradients, by the example and by the parameters; the results, and their tangents."""

    @glassjax.jit
    def derived(x, w):
        gradients = glassjax.grad(lambda x, w: glassjax.numpy.sin(f(x, w)).sum(), (0, 1))(x, w)
        if not has_tangents:
            return *gradients, f(x, w)
        return *gradients, *glassjax.jvp(f, (x, w), (glassjax.numpy.cos(x), w.T))

    return derived


@pytest.mark.parametrize("checked", one_in(2, [True, False]))
@pytest.mark.parametrize("name", BODIES)
def test_vmap_with_divided_examples_is_a_loop(name, checked):
    of_one = ours(BODIES[name], OF_BOTH["ins"], ("y",), check_vma=checked)
    of_all = glassjax.vmap(of_one, (0, None), spmd_axis_name="x")
    divided, alone = (with_derivatives(f, name != "custom_vjp") for f in (of_all, of_one))
    results = divided(EXAMPLES / 8, W / 8)
    each = [alone(x, W / 8) for x in EXAMPLES / 8]
    expected = [np.stack(parts) for parts in zip(*each, strict=True)]
    expected[1] = expected[1].sum(0)  # the gradients of the examples by the parameters
    for found, wanted in zip(results, expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    assert results[2].sharding.spec == glassjax.P("x", "y")


def test_types_say_that_devices_have_different_examples():
    def f(x, w):
        return glassjax.lax.scan(lambda c, row: (c + row, glassjax.lax.psum(c, "y")), w, x)

    of_one = ours(f, [("y",), ()], [("y",), ()])
    text = str(
        glassjax.make_jaxpr(glassjax.vmap(of_one, (0, None), spmd_axis_name="x"))(EXAMPLES, V)
    )
    assert "f32[2,4,8]{V:(x,y)}" in text  # the examples of a device
    assert "f32[2,8]{V:(x,y)}" in text  # a row of each
    assert re.search(r"f32\[2,8\]{V:x} = psum", text)


@pytest.mark.parametrize("reduce", ["psum", "pmean", "pmax", "pmin"])
@pytest.mark.parametrize("checked", [True, False])
def test_divided_examples_are_combined(reduce, checked):
    """JAX refuses that with checks on, and combines the examples of one device without."""

    def f(x):
        return x * getattr(glassjax.lax, reduce)(x, "i")

    of_one = ours(f, ("y",), ("y",), check_vma=checked)
    divided = glassjax.vmap(of_one, axis_name="i", spmd_axis_name="x")(EXAMPLES)
    np.testing.assert_allclose(divided, glassjax.vmap(f, axis_name="i")(EXAMPLES), rtol=1e-5)


def test_messages_about_divided_examples():
    def divide(f, names="x", size=8, **options):
        of_one = ours(f, ("y",), ("y",), **options)
        return glassjax.vmap(of_one, axis_name="i", spmd_axis_name=names)(EXAMPLES[:size])

    for f, options, message in [
        (lambda x: x, {"names": "q"}, r"has no axis 'q', its axes are \('x', 'y'\)"),
        (lambda x: x, {"names": "y"}, "'y' shards the examples, and .* shards arrays over it"),
        (lambda x: x, {"size": 6}, "the 4 devices along it .* 6 examples. Pad these"),
        (lambda x: glassjax.lax.psum(x, "x"), {}, "devices along it different examples"),
    ]:
        with pytest.raises(ValueError, match=message):
            divide(f, **options)
    with pytest.raises(NotImplementedError, match="all_gather: it combines examples of vmap"):
        divide(lambda x: glassjax.lax.all_gather(x, "i"))


@pytest.mark.parametrize("choice", ["of all", "of each device"])
def test_gradients_of_branches_are_summed_once(choice):
    """With the gradient of `x`, which varies, that of `w` was summed over the devices twice."""
    jnp, lax = glassjax.numpy, glassjax.lax

    def f(x, w):
        is_first = w.sum() > 0 if choice == "of all" else lax.axis_index("y") == 0
        return lax.cond(is_first, lambda: jnp.sin(x * w[0]), lambda: -2 * x)

    of_all = ours(f, [("y",), ()], ("y",))
    found = glassjax.grad(lambda x, w: of_all(x, w).sum(), argnums=(0, 1))(X, W)
    chosen = np.arange(8)[:, None] < (8 if choice == "of all" else 4)
    slope = np.where(chosen, np.cos(X * W[0]), 0)
    np.testing.assert_allclose(found[0], np.where(chosen, slope * W[0], -2), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found[1][0], (slope * X).sum(0), rtol=1e-4, atol=1e-5)
    assert not found[1][1:].any()


def with_custom_jvp(f):
    g = glassjax.custom_jvp(f)
    g.defjvp(lambda primals, tangents: glassjax.jvp(f, primals, tangents))
    return g


def repeated(f):
    return lambda w: glassjax.lax.scan(lambda c, _: (f(c) + w, None), w, None, length=3)[0]


def chosen_by_value(f):
    return lambda w: glassjax.lax.cond(w.sum() > 0, f, lambda w: -w, w)


PROGRAMS_IN_BRANCHES = {
    "jit": glassjax.jit,
    "checkpoint": glassjax.checkpoint,
    "custom_jvp": with_custom_jvp,
    "scan": repeated,
    "fori_loop": lambda f: lambda w: glassjax.lax.fori_loop(0, 3, lambda i, c: f(c) * w, w),
    "cond": chosen_by_value,
}


@pytest.mark.parametrize("passed", [True, False], ids=["operand", "closed over"])
@pytest.mark.parametrize("name", PROGRAMS_IN_BRANCHES)
def test_branches_of_devices_hold_programs_of_what_all_have(name, passed):
    """Each device has the results and slopes of the branch that it takes by itself."""
    jnp, lax = glassjax.numpy, glassjax.lax
    g = PROGRAMS_IN_BRANCHES[name](lambda w: jnp.sin(w) * w)
    branches = [lambda w: 2 * w, g, lambda w: g(w) * w]
    w = jnp.array([0.7, -0.4], jnp.float32)

    def of_device(w):
        number = lax.axis_index("x")
        if passed:
            return lax.switch(number, branches, w)[None]
        return lax.switch(number, [lambda f=f: f(w) for f in branches])[None]

    def alone(w):
        return jnp.stack([f(w) for f in [*branches, branches[-1]]])

    def squares(f, w):
        out = f(w)
        return (out**2).sum(), out

    over_devices = ours(of_device, [()], ("x",))
    found, expected = (
        glassjax.jit(glassjax.grad(functools.partial(squares, f), has_aux=True))(w)
        for f in (over_devices, alone)
    )
    for ours_of, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours_of, theirs, rtol=1e-5)
