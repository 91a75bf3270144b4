"""A mesh of one device: what runs on each device is the whole program."""

from functools import partial

import jax
import numpy as np
from libraries import assert_all_same_results
from tables import for_each

import minijax

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
    x = minijax.numpy.asarray(X + 1)
    functions = [mapped(minijax, name, True) for name in BODIES]
    compiled = minijax.jit(lambda x: [f(x) for f in functions])(x)
    for f, expected in zip(functions, compiled, strict=True):
        np.testing.assert_allclose(f(x), expected, rtol=1e-6)


def test_pmap():
    def results(lib):
        f = lib.pmap(lambda x: x - lib.lax.pmean(x, "i") / 2, "i")
        return f(X[:1])

    np.testing.assert_allclose(results(minijax), results(jax))


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

    assert found(minijax) == found(jax)
