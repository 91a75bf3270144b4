"""A mesh of one device: what runs on each device is the whole program."""

import jax
import numpy as np
import pytest

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


@pytest.mark.parametrize("checked", [True, False])
@pytest.mark.parametrize("name", BODIES)
def test_collectives(name, checked):
    def results(lib):
        f = on_the_mesh(lib, lambda x: BODIES[name](lib, x), check_vma=checked)
        total = lib.grad(lambda x: lib.numpy.sum(lib.numpy.cos(f(x))))
        x = lib.numpy.asarray(X + 1)
        return [
            f(x),
            lib.jit(f)(x),
            total(x),
            lib.vmap(f)(x[None]),
            lib.jit(lib.vmap(total))(x[None]),
        ]

    for found, expected in zip(results(minijax), results(jax), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
        assert found.dtype == expected.dtype


def test_pmap():
    def results(lib):
        f = lib.pmap(lambda x: x - lib.lax.pmean(x, "i") / 2, "i")
        return f(X[:1])

    np.testing.assert_allclose(results(minijax), results(jax))
