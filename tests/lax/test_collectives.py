"""Collectives over axes of `vmap` and of a one-device mesh, beside JAX."""

from functools import partial

import jax
import numpy as np
import pytest
from libraries import LIBRARIES, assert_all_same_results, assert_same, assert_same_results
from tables import for_each

import glassjax
import glassjax.numpy
from glassjax import lax

XS = np.random.default_rng(2).standard_normal((4, 4, 8))


# Each is a function of a library, its numpy, and one example: an array of shape (4, 8).
FUNCTIONS = {
    "psum": lambda lib, jnp, x: lib.lax.psum(x, "i"),
    "psum of a tree": lambda lib, jnp, x: lib.lax.psum({"a": x, "b": [x * x]}, "i")["b"][0],
    "psum of what is shared": lambda lib, jnp, x: lib.lax.psum(jnp.ones(8), "i") * x,
    "psum of a number": lambda lib, jnp, x: x * lib.lax.psum(2, "i"),
    "psum of booleans": lambda lib, jnp, x: x * lib.lax.psum(x > 0, "i"),
    "pmean": lambda lib, jnp, x: x - lib.lax.pmean(x, axis_name="i"),
    "pmax": lambda lib, jnp, x: x + lib.lax.pmax(lib.lax.stop_gradient(x), "i"),
    "pmin": lambda lib, jnp, x: x * lib.lax.pmin(lib.lax.stop_gradient(x), "i"),
    "axis_index": lambda lib, jnp, x: x * lib.lax.axis_index("i"),
    "axis_size": lambda lib, jnp, x: x * lib.lax.axis_size("i"),
    "all_gather": lambda lib, jnp, x: jnp.sum(lib.lax.all_gather(x, "i") * x, 0),
    "all_gather elsewhere": lambda lib, jnp, x: jnp.sum(
        lib.lax.all_gather(jnp.sin(x), "i", axis=-1) * jnp.arange(4.0), -1
    ),
    "all_gather tiled": lambda lib, jnp, x: lib.lax.all_gather(x, "i", axis=1, tiled=True),
    "psum_scatter": lambda lib, jnp, x: lib.lax.psum_scatter(jnp.sin(x), "i"),
    "psum_scatter tiled": lambda lib, jnp, x: lib.lax.psum_scatter(
        x * x, "i", scatter_dimension=1, tiled=True
    ),
    "all_to_all": lambda lib, jnp, x: lib.lax.all_to_all(jnp.sin(x), "i", 0, 1),
    "all_to_all back": lambda lib, jnp, x: lib.lax.all_to_all(x.T, "i", 1, 0) * 2.0,
    "all_to_all tiled": lambda lib, jnp, x: lib.lax.all_to_all(x * x, "i", 1, 0, tiled=True),
    "pswapaxes": lambda lib, jnp, x: lib.lax.pswapaxes(x, "i", 0) * x,
    "ppermute": lambda lib, jnp, x: lib.lax.ppermute(
        x, "i", [(i, (i + 1) % 4) for i in range(4)]
    ) * x,
    "pshuffle": lambda lib, jnp, x: lib.lax.pshuffle(x, "i", [2, 0, 3, 1]),
    "in jit": lambda lib, jnp, x: lib.jit(lambda x: jnp.sin(lib.lax.psum(x, "i")) * x)(x),
    "in scan": lambda lib, jnp, x: lib.lax.scan(
        lambda c, row: (c + lib.lax.pmean(c * row, "i"), c), jnp.ones(8), x
    )[0],
    "in cond": lambda lib, jnp, x: lib.lax.cond(
        lib.lax.psum(jnp.sum(x), "i") > 0,
        lambda x: lib.lax.psum(x, "i") * x,
        lambda x: x - lib.lax.pmean(x, "i"),
        x,
    ),
    "in vmap": lambda lib, jnp, x: lib.vmap(lambda row: lib.lax.psum(row, "i") * row)(x),
}  # fmt: skip


def normalised(lib, jnp, x):
    """As batch normalisation does, with a rule of its own that speaks of the axis, too."""

    @lib.custom_vjp
    def f(x):
        return x - lib.lax.pmean(x, "i")

    def fwd(x):
        return f(x), lib.lax.axis_index("i")

    def bwd(i, ct):
        return (ct * i + lib.lax.psum(ct, "i"),)

    f.defvjp(fwd, bwd)
    return f(jnp.sin(x))


def with_jvp(lib, jnp, x):
    f = lib.custom_jvp(lambda x: lib.lax.psum(x, "i"))
    f.defjvp(lambda p, t: (f(*p), 2.0 * lib.lax.psum(t[0], "i") * lib.lax.axis_index("i")))
    return f(jnp.sin(x))


FUNCTIONS |= {"with a vjp": normalised, "with a jvp": with_jvp}


PARTS = 4  # of the functions, each compiled as one program


@pytest.mark.parametrize("part", range(PARTS))
def test_a_collective_under_every_transformation(part):
    def everything(lib, jnp):
        return {name: transformed(lib, jnp, name) for name in list(FUNCTIONS)[part::PARTS]}

    def transformed(lib, jnp, name):
        xs = jnp.asarray(XS)

        def f(x):
            return FUNCTIONS[name](lib, jnp, x)

        def loss(x):
            return jnp.sum(jnp.sin(f(x)))

        def mapped(f, **options):
            return lib.vmap(f, axis_name="i", **options)

        more = jnp.stack([xs, xs * 2.0, 1.0 - xs])
        outs = [
            mapped(f)(xs),
            lib.grad(lambda xs: jnp.sum(jnp.sin(mapped(f)(xs))))(xs),
            lib.vmap(mapped(f))(more),
            mapped(lib.vmap(f), in_axes=1)(more),
        ]
        if name not in ("all_to_all", "all_to_all back"):  # which JAX refuses
            outs.append(lib.vmap(mapped(lib.grad(loss)), 1, 1)(jnp.moveaxis(more, 0, 1)))
        if name != "with a vjp":
            outs.append(lib.jvp(mapped(f), (xs,), (xs * xs,)))
        return outs

    ours, theirs = (lib.jit(partial(everything, lib, jnp))() for lib, jnp in LIBRARIES)
    for name in theirs:
        flat = [
            [np.asarray(x) for x in jax.tree.leaves(list(map(list_of, outs[name])))]
            for outs in (ours, theirs)
        ]
        assert_same(*flat, 1e-9)


def list_of(x):
    return list(map(np.asarray, x)) if isinstance(x, tuple) else np.asarray(x)


@pytest.mark.parametrize("name", ["all_to_all", "all_to_all back"])
def test_the_transpose_of_an_exchange(name):
    """<f(x), y> = <x, fT(y)>, summed over the examples."""

    def both(x, y):
        def f(x):
            return FUNCTIONS[name](glassjax, glassjax.numpy, x)

        out, dot = glassjax.jvp(f, (x,), (x * x,))
        return glassjax.numpy.sum(dot * out) - glassjax.numpy.sum(
            glassjax.vjp(f, x)[1](out)[0] * x * x
        )

    differences = glassjax.jit(glassjax.vmap(both, axis_name="i"))(XS, XS)
    assert abs(float(glassjax.numpy.sum(differences))) < 1e-10


def test_who_gets_nothing_gets_zeros():
    def f(x):
        return glassjax.lax.ppermute(x, "i", [(0, 2), (3, 1)])

    found = glassjax.vmap(f, axis_name="i")(np.arange(4.0) + 1)
    np.testing.assert_array_equal(found, [0.0, 4.0, 1.0, 0.0])
    gradient = glassjax.vmap(lambda x, ct: glassjax.vjp(f, x)[1](ct)[0], axis_name="i")(
        found, found
    )
    np.testing.assert_array_equal(gradient, [1.0, 0.0, 0.0, 4.0])


def test_several_axes():
    def everything(lib, xs):
        lax = lib.lax

        def f(x):
            both = ("i", "j")
            return {
                "sum": lax.psum(x, both),
                "mean": lax.pmean(x, both),
                "inner": lax.psum(x, "j") + lax.pmax(x, "i"),
                "index": lax.axis_index(both),
                "size": lax.axis_size(both) * x,
            }

        return lib.vmap(lib.vmap(f, axis_name="j"), axis_name="i")(xs)

    ours, theirs = (lib.jit(partial(everything, lib))(XS) for lib, _ in LIBRARIES)
    assert ours.keys() == theirs.keys()
    for name in ours:
        assert_same([np.asarray(ours[name])], [np.asarray(theirs[name])], 1e-12)


@pytest.mark.parametrize(("lib", "jnp"), LIBRARIES, ids=["glassjax", "jax"])
def test_an_axis_that_has_no_name_here(lib, jnp):
    for f in (lambda x: lib.lax.psum(x, "k"), lambda x: lib.lax.axis_index("k") * x):
        with pytest.raises(NameError, match="unbound axis name: k"):
            f(1.0)
        with pytest.raises(NameError, match="unbound axis name: k"):
            lib.vmap(lib.jit(f), axis_name="i")(jnp.arange(3.0))


def test_a_jitted_function_belongs_to_no_axis():
    """What was traced for one axis is not taken for another, nor where there is none."""
    f = glassjax.jit(lambda x: x + glassjax.lax.psum(x, "i"))
    for size in (2, 3):
        xs = np.arange(float(size))
        np.testing.assert_allclose(glassjax.vmap(f, axis_name="i")(xs), xs + xs.sum())
    with pytest.raises(NameError):
        f(1.0)


def test_options_of_vmap():
    def f(x, y=1.0, *, z=2.0):
        return {"sum": x + y * z, "count": glassjax.lax.psum(1, "i")}

    outs = glassjax.vmap(
        f, (-1, None), {"sum": -1, "count": None}, axis_name="i", axis_size=4, spmd_axis_name="data"
    )(np.ones((3, 4)), 5.0, z=np.arange(4.0))
    assert outs["sum"].shape == (3, 4)
    assert outs["count"] == 4


@pytest.mark.newest_jax("('j', 'i')")
@pytest.mark.parametrize("names", [("i", "j"), ("j", "i")], ids=str)
def test_exchanges_over_several_axes(names):
    """These count as one axis, the first name outermost; a tuple of names was unbound."""
    whole = np.arange(2 * 3 * 6 * 6 * 2.0).reshape(2, 3, 6, 6, 2)

    def everything(lib, jnp, whole):
        def mapped(f):
            return lib.vmap(lib.vmap(f, axis_name="j"), axis_name="i")

        out = []
        last = (-2, -1)
        if lib is jax and jax.__version_info__ < (0, 11):  # which counts from the end for one name
            last = (1, 2)
        for split, concat in [(0, 0), (1, 0), (0, 1), (0, 2), last]:
            for tiled in (False, True):

                def exchange(x, axes=(split, concat), tiled=tiled):
                    return lib.lax.all_to_all(x, names, *axes, tiled=tiled)

                out.append(mapped(exchange)(whole))
        swap = mapped(lambda x: lib.lax.pswapaxes(x, names, 0))
        return [*out, swap(whole), lib.grad(lambda x: jnp.sum(jnp.sin(swap(x))))(whole)]

    ours, theirs = (
        lib.tree.leaves(lib.jit(partial(everything, lib, jnp, whole))()) for lib, jnp in LIBRARIES
    )
    assert_same(ours, theirs, 1e-12)

    def scattered(names, x):  # which JAX does for one axis only
        return glassjax.lax.psum_scatter(x, names, scatter_dimension=1, tiled=False)

    one = glassjax.jit(glassjax.vmap(lambda x: scattered("k", x), axis_name="k"))(
        whole.reshape(6, 6, 6, 2)
    )
    inner = glassjax.vmap(lambda x: scattered(("i", "j"), x), axis_name="j")
    both = glassjax.jit(glassjax.vmap(inner, axis_name="i"))(whole)
    assert_same([both.reshape(one.shape)], [one], 0)


def test_names_of_axes_that_are_refused():
    def mapped(f):
        return glassjax.vmap(glassjax.vmap(f, axis_name="j"), axis_name="i")(np.ones((2, 3, 6)))

    with pytest.raises(ValueError, match="distinct names"):
        mapped(lambda x: glassjax.lax.psum(x, ("i", "i")))
    with pytest.raises(NotImplementedError, match="one name"):
        mapped(lambda x: glassjax.lax.ppermute(x, ("i", "j"), [(0, 1)]))
    with pytest.raises(ValueError, match="out of range"):
        mapped(lambda x: glassjax.lax.all_gather(x, "i", axis=7))


@pytest.mark.newest_jax
def test_what_examples_come_to_is_as_weak_as_they_are():
    for name in ("pmin", "pmax", "psum", "pmean"):
        assert_same_results(
            lambda n, lib, name=name: lib.vmap(
                lambda x: getattr(lib.lax, name)(x, "i"), axis_name="i"
            )(lib.nn.elu(n.array([1, 2], "int32")))
        )


X = np.arange(6.0, dtype="float32").reshape(2, 3)


def on_the_mesh(lib, body, **options):
    types = (lib.sharding.AxisType.Auto,)
    mesh = lib.make_mesh((1,), ("i",), types, devices=lib.devices()[:1])
    spec = lib.P("i")
    return lib.shard_map(body, mesh=mesh, in_specs=spec, out_specs=spec, **options)


BODIES = {
    "psum": lambda lib, x: x / lib.lax.psum(x, "i"),
    "the index": lambda lib, x: x + lib.lax.axis_index("i"),
    "ppermute": lambda lib, x: lib.lax.ppermute(lib.numpy.sin(x), "i", [(0, 0)]),
    "all_gather": lambda lib, x: lib.lax.all_gather(x, "i")[0] * 2,
    "all_to_all": lambda lib, x: lib.lax.all_to_all(x[None], "i", 0, 0)[0],
    "psum_scatter": lambda lib, x: lib.lax.psum_scatter(x, "i", tiled=True),
    "a scan": lambda lib, x: lib.lax.scan(lambda c, r: (c, r * lib.lax.psum(r, "i")), 0.0, x)[1],
}


def mapped(lib, name, checked):
    return on_the_mesh(lib, lambda x: BODIES[name](lib, x), check_vma=checked)


def test_collectives():
    def program(name, checked, jnp, lib):
        f, x = mapped(lib, name, checked), jnp.asarray(X + 1)
        total = lib.grad(lambda x: jnp.sum(jnp.cos(f(x))))
        return f(x), total(x), lib.vmap(f)(x[None]), lib.vmap(total)(x[None])

    assert_all_same_results(
        {
            f"{name}, checked: {checked}": partial(program, name, checked)
            for name in BODIES
            for checked in (True, False)
        }
    )


def test_collectives_are_evaluated():
    x = glassjax.numpy.asarray(X + 1)
    functions = [mapped(glassjax, name, True) for name in BODIES]
    compiled = glassjax.jit(lambda x: [f(x) for f in functions])(x)
    for f, expected in zip(functions, compiled, strict=True):
        np.testing.assert_allclose(f(x), expected, rtol=1e-6)


def sharding_of(x):
    return type(x.sharding).__name__, str(x.sharding.spec)


SPECS = [(), (None,), (None, None), ("i",), ("i", None)]


@for_each("spec", SPECS)
def test_results_lie_by_the_axes_of_the_mesh(spec):
    """On a mesh of one device, too, and with the spec of the argument where it says the same."""

    def found(lib):
        mesh = lib.sharding.Mesh(lib.devices()[:1], "i")
        lies = lib.NamedSharding(mesh, lib.P(*spec))
        x = lib.device_put(X, lies)
        mapped = lib.shard_map(lambda x: x, mesh=mesh, in_specs=lib.P(), out_specs=lib.P(*spec))
        constrained = lib.jit(lambda x: lib.lax.with_sharding_constraint(x + 1, lies))
        outs = [
            x, x + 1, lib.jit(lambda x: x * 2)(x), lib.jit(lambda x: x.sum(0))(x), mapped(X),
            lib.jit(mapped)(X), constrained(X), lib.jit(lambda x: x * 2, out_shardings=lies)(X),
            lib.numpy.sin(x), lib.lax.scan(lambda c, y: (c + y, y), lib.numpy.zeros(3), x)[1],
        ]  # fmt: skip
        return list(map(sharding_of, outs))

    assert found(glassjax) == found(jax)


def exchange(*args):
    return lax.ragged_all_to_all(*args, axis_name="i")


def test_an_exchange_of_slices():
    """Two examples, each with two slices. XLA has no such exchange for CPUs."""
    sent = np.array([[1, 2, 2], [3, 4, 0]], np.float32)
    output = np.full((2, 4), -1, np.float32)
    offsets, sizes = np.array([[0, 1], [0, 1]]), np.array([[1, 2], [1, 1]])
    places, received = np.array([[0, 0], [1, 2]]), np.array([[1, 1], [2, 1]])
    run = glassjax.jit(glassjax.vmap(exchange, axis_name="i"))
    out = run(sent, output, offsets, sizes, places, received)
    assert out.tolist() == [[1, 3, -1, -1], [2, 2, 4, -1]]
    weights = np.arange(8.0, dtype=np.float32).reshape(2, 4)
    grad = glassjax.grad(
        lambda x: (run(x, output, offsets, sizes, places, received) * weights).sum()
    )
    assert grad(sent).tolist() == [[0, 4, 5], [1, 6, 0]]
    with pytest.raises(TypeError, match="rows of one shape"):
        run(sent, output.astype(int), offsets, sizes, places, received)
    with pytest.raises(TypeError, match="vectors of integers"):
        run(sent, output, offsets, sizes * 1.0, places, received)
