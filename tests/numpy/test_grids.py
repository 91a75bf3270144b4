"""Small families of numpy's functions, and what lax has for shapes: they give what JAX's give."""

import jax.numpy as jnp
import numpy as np
import pytest
from libraries import assert_all_same_results, refused

import minijax
import minijax.numpy as mnp

x = np.array([0.5, 1.0, 2.5, -3.0, 9.0], np.float32)
xp = np.array([0.0, 1.0, 1.0, 4.0], np.float32)
fp = np.array([2.0, -1.0, 3.0, 5.0], np.float32)
m = np.arange(12, dtype=np.int32).reshape(3, 4)
c = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
bits = np.array([[1, 0, 3, 0, 0, 1, 0, 0, 1], [0, 0, 0, 0, 0, 0, 0, 1, 1]])
octets = np.array([[1, 200, 3], [0, 255, 16]], np.uint8)
p = np.array([1.0, -6.0, 11.0, -6.0], np.float32)
points = np.linspace(-1, 1, 6, dtype=np.float32)
values = np.array([1.0, 0.0, 2.0, 3.0, 1.0, -1.0], np.float32)
weights = np.array([1.0, 2.0, 1.0, 0.5, 1.0, 3.0], np.float32)


def in_order(numbers):
    return sorted(np.asarray(numbers).tolist(), key=lambda z: (round(z.real, 3), z.imag))


def of_numpy(n, lib):
    """Ours, and numpy itself in JAX's place, which has one program for each operation here."""
    return n if lib is minijax else np


def in_jit(lib, ask):
    """What `ask` is told of a tracer."""
    told = []
    lib.jit(lambda m: told.append(ask(m)) or m)(m)
    return told[0]


# Programs of `n`, which is either library's numpy, and of `lib`, which is the library itself.
FAMILIES = {
    "trace": [
        lambda n, lib: n.trace(m),
        lambda n, lib: n.trace(m, 1),
        lambda n, lib: n.trace(m, offset=-5),
        lambda n, lib: n.trace(c, 0, 2, 1),
        lambda n, lib: n.trace(c, axis1=0, axis2=-1, dtype=np.float16),
        lambda n, lib: n.trace(m > 3),
        lambda n, lib: n.trace(n.asarray(m), np.array(1)),
        lambda n, lib: n.asarray(m).trace(),
        refused(lambda n, lib: n.trace(m, 0, 0, 0)),
        refused(lambda n, lib: n.trace(m, out=m)),
        lambda n, lib: lib.jit(n.trace)(m, 1),
        lambda n, lib: lib.jit(n.trace)(c, -1),
        lambda n, lib: lib.grad(lambda a: n.trace(a, -1) ** 2)(c[0]),
        lambda n, lib: lib.vmap(n.trace)(c),
    ],
    "interp": [
        lambda n, lib: n.interp(x, xp, fp),
        lambda n, lib: n.interp(x.reshape(5, 1), xp, fp, left=-7, right=n.asarray(7.0)),
        lambda n, lib: n.interp(x, xp, fp, "extrapolate", "extrapolate"),
        lambda n, lib: n.interp(2, np.arange(4), np.arange(4) ** 2),
        lambda n, lib: n.interp(x, xp, fp + 1j),
        lambda n, lib: n.interp(x, xp[::-1] * 2, fp, period=5),
        lambda n, lib: n.interp(x, xp, fp, period=2.5, left=3),
        lambda n, lib: n.interp(x, xp[:1], fp[:1]),
        lambda n, lib: n.interp(np.array([np.nan, np.inf]), xp, fp),
        refused(lambda n, lib: n.interp(x, xp, fp, left="go on")),
        refused(lambda n, lib: n.interp(x, xp, fp[:2])),
        refused(lambda n, lib: n.interp(x + 1j, xp, fp)),
        lambda n, lib: lib.jacfwd(n.interp, (0, 1, 2))(x, xp, fp),
        lambda n, lib: lib.jacrev(n.interp, 2)(x, xp, fp),
        lambda n, lib: lib.vmap(lambda x: n.interp(x, xp, fp, period=3))(c),
    ],
    "polynomials": [
        lambda n, lib: in_order(of_numpy(n, lib).roots(p)),
        lambda n, lib: in_order(of_numpy(n, lib).roots(np.array([0, 0, 2, -4, 10, 0]))),
        lambda n, lib: in_order(lib.jit(lambda p: n.roots(p, strip_zeros=False))(p)),
        lambda n, lib: n.roots(np.array([0.0, 1.0, 2.0]), strip_zeros=False),
        lambda n, lib: n.roots(np.zeros(3), strip_zeros=False),
        lambda n, lib: n.roots(np.zeros(3)),
        lambda n, lib: n.roots(3.0),
        refused(lambda n, lib: n.roots(m)),
        refused(lambda n, lib: lib.jit(n.roots)(p)),
        lambda n, lib: n.polyfit(points, values, 2),
        lambda n, lib: n.polyfit(points, np.stack([values, points], 1), 3, w=weights),
        lambda n, lib: n.polyfit(points, values, 2, full=True),
        lambda n, lib: n.polyfit(points, values, 1, rcond=1e-4, cov=True, w=weights),
        lambda n, lib: n.polyfit(points, np.stack([values, points], 1), 1, cov="unscaled"),
        lambda n, lib: n.polyfit(points, np.stack([values, points], 1), 1, cov=True),
        lambda n, lib: lib.jit(n.polyfit, static_argnums=2)(points, values, 1),
        lambda n, lib: lib.jacrev(lambda y: n.polyfit(points, y, 1))(values),
        refused(lambda n, lib: n.polyfit(points, values, -1)),
        refused(lambda n, lib: n.polyfit(points, values[:2], 1)),
        refused(lambda n, lib: n.polyfit(points, c, 1)),
        refused(lambda n, lib: n.polyfit(points[:2], values[:2], 1, cov=True)),
        refused(lambda n, lib: n.polyfit(points, values, 1, w=c)),
        lambda n, lib: n.polymul(np.array([0, 0, 1, 2]), p, trim_leading_zeros=True),
        lambda n, lib: n.polymul(np.array([0, 1, 2]), p),
        lambda n, lib: n.polydiv(p, np.array([1.0, -1.0], np.float32), trim_leading_zeros=True),
        lambda n, lib: n.polydiv(p, np.array([2, 1]), trim_leading_zeros=True),
        lambda n, lib: n.polydiv(p, np.array([2, 1])),
    ],
    "window functions": [
        *(
            lambda n, lib, name=name, size=size: getattr(n, name)(size)
            for name in ("bartlett", "blackman", "hamming", "hanning")
            for size in (0, 1, 2, 7)
        ),
        lambda n, lib: n.kaiser(8, 3.5),
        lambda n, lib: n.kaiser(1, 3.5),
        lambda n, lib: n.kaiser(5, np.float32(2)),
        lambda n, lib: lib.grad(lambda beta: n.kaiser(5, beta).sum())(np.float32(2)),
        refused(lambda n, lib: lib.jit(n.hamming)(4)),
    ],
    "bits": [
        lambda n, lib: n.packbits(bits),
        lambda n, lib: n.packbits(bits, axis=-1),
        lambda n, lib: n.packbits(bits > 0, axis=0, bitorder="little"),
        refused(lambda n, lib: n.packbits(c)),
        refused(lambda n, lib: n.packbits(bits, bitorder="middle")),
        lambda n, lib: n.unpackbits(octets),
        lambda n, lib: n.unpackbits(octets, axis=1, count=10),
        lambda n, lib: n.unpackbits(octets, 0, 20, "little"),
        lambda n, lib: n.unpackbits(octets, 1, -3),
        refused(lambda n, lib: n.unpackbits(bits)),
        lambda n, lib: lib.vmap(n.packbits)(bits),
    ],
    "devices": [
        lambda n, lib: n.zeros(3, device=lib.devices()[0]),
        lambda n, lib: n.array([1, 2], device=n.ones(1).device, out_sharding=None),
        lambda n, lib: n.full_like(x, 2, device=lib.devices()[0]),
        lambda n, lib: n.linspace(0, 1, 3, device=lib.devices()[0]),
        lambda n, lib: n.astype(x, int, device=lib.devices()[0]),
        lambda n, lib: n.reshape(m, (4, 3), out_sharding=None),
        lambda n, lib: n.fft.fftfreq(4, device=lib.devices()[0]),
    ],
    "shapes": [
        lambda n, lib: lib.lax.broadcast_shapes((3, 1), (4,), ()),
        refused(lambda n, lib: lib.lax.broadcast_shapes((3,), (4,))),
        lambda n, lib: n.broadcast_shapes(3, (4, 1)),
        lambda n, lib: lib.lax.broadcast(m, (2, 1)),
        lambda n, lib: lib.lax.broadcast(2.0, [3]),
        lambda n, lib: lib.lax.broadcast(m, ()),
        lambda n, lib: lib.lax.broadcast_like(x, np.zeros((2, 5))),
        lambda n, lib: lib.lax.broadcast_to_rank(x, 3),
        lambda n, lib: lib.lax.collapse(n.asarray(c), 1),
        lambda n, lib: lib.lax.collapse(n.asarray(c), 0, 2),
        lambda n, lib: lib.lax.collapse(n.asarray(c), -2, -1),
        refused(lambda n, lib: lib.lax.collapse(n.asarray(c), 2, 1)),
        lambda n, lib: lib.grad(lambda c: (lib.lax.collapse(c, 0, 2) ** 2).sum())(c),
        lambda n, lib: lib.lax.split(m, (1, 0, 3), 1),
        refused(lambda n, lib: lib.lax.split(m, (1, 1))),
        lambda n, lib: lib.lax.stack([x, x], -1),
        refused(lambda n, lib: lib.lax.stack([x, xp])),
        lambda n, lib: lib.lax.unstack(m, 1),
        lambda n, lib: lib.lax.tile(m, (2, 3)),
        lambda n, lib: lib.lax.tile(x, (0,)),
        refused(lambda n, lib: lib.lax.tile(m, (2,))),
        lambda n, lib: lib.jit(lambda m: lib.lax.tile(m, (2, 2)))(m),
    ],
    "methods": [
        lambda n, lib: n.asarray(x).sort(descending=True),
        lambda n, lib: n.asarray(m).argsort(axis=0),
        lambda n, lib: n.asarray(x).argpartition(2),
        lambda n, lib: n.asarray(xp).searchsorted(x, side="right"),
        lambda n, lib: (bool(2.5 in n.asarray(x)), bool(7 in n.asarray(x))),
        refused(lambda n, lib: 1 in n.asarray(m)),
        lambda n, lib: n.asarray(x).byteswap(),
        lambda n, lib: n.asarray(octets).byteswap(),
        lambda n, lib: n.asarray(m).to_device(lib.devices()[0]),
        refused(lambda n, lib: n.asarray(m).to_device(lib.devices()[0], stream=1)),
        lambda n, lib: n.asarray(m).tobytes() == m.tobytes(),
        lambda n, lib: n.asarray(m).tobytes("F") == m.tobytes("F"),
        lambda n, lib: n.asarray(m).__array_namespace__() is n,
        refused(lambda n, lib: n.asarray(m).flat),
        refused(lambda n, lib: n.asarray(m).__setitem__(0, 1)),
        lambda n, lib: (n.asarray(m).committed, n.asarray(m).platform() == lib.default_backend()),
        lambda n, lib: (n.asarray(m).is_fully_addressable, n.asarray(m).is_fully_replicated),
        *(
            lambda n, lib, a=a, dtype=dtype: n.asarray(a).view(dtype)
            for a in (points[:4], m, np.complex64([1 + 2j, 3j]))
            for dtype in (np.uint8, bool, np.int64, np.int16, np.complex64)
        ),
        lambda n, lib: n.asarray(points[0]).view(np.int64),
        *(
            lambda n, lib, a=a, dtype=dtype: n.asarray(a).view(dtype)
            for a in (octets, octets > 9)
            for dtype in (np.uint8, bool)
        ),
        *(  # the last axis, if there is one, does not divide into elements of that size
            refused(lambda n, lib, a=a, dtype=dtype: n.asarray(a).view(dtype))
            for a in (points[0], octets, octets > 9)
            for dtype in (np.int16, np.complex64)
        ),
        refused(
            lambda n, lib: lib.jit(
                lambda m: (m.copy(), m.sort(), m.trace(), m.argsort(), m.view(np.uint8), 2 in m[0])
            )(m)
        ),
        lambda n, lib: lib.jit(lambda m: (m.copy(), m.sort(), m.trace(), m.view(np.uint8)))(m),
        lambda n, lib: in_jit(lib, lambda m: (m.itemsize, m.nbytes, m.weak_type, m.ndim)),
        refused(lambda n, lib: in_jit(lib, lambda m: m.item(0))),
        refused(lambda n, lib: in_jit(lib, lambda m: m.tolist())),
        refused(lambda n, lib: in_jit(lib, lambda m: m.tobytes())),
        refused(lambda n, lib: in_jit(lib, lambda m: m.flat)),
        refused(lambda n, lib: in_jit(lib, lambda m: m.__setitem__(0, 1))),
    ],
    "constants and questions": [
        lambda n, lib: n.euler_gamma,
        lambda n, lib: (n.iterable(x), n.iterable(3), n.iterable([]), n.iterable(n.ones(()))),
        lambda n, lib: issubclass(n.ComplexWarning, RuntimeWarning),
    ],
}


@pytest.mark.bits(32)
@pytest.mark.parametrize("family", FAMILIES)
def test_functions_give_what_jaxs_give(family):
    assert_all_same_results(FAMILIES[family])


# What says where the parts of an array are, on which of many devices; and what is JAX's own affair.
OF_MANY_DEVICES = {"addressable_shards", "format", "global_shards", "sharding"}
INNER = {"aval", "clone", "traceback", "unsafe_buffer_pointer", "unsafe_raw_buffer"}


def test_arrays_have_the_methods_and_properties_of_jaxs():
    public = {name for name in dir(jnp.ones((2, 2))) if not name.startswith("_")}
    deprecated = {"device_buffer", "device_buffers"}
    ours = mnp.ones((2, 2))
    lacking = {name for name in public - deprecated - {"flat"} if not hasattr(ours, name)}
    assert lacking <= OF_MANY_DEVICES | INNER


def test_arrays_are_made_on_devices_only():
    with pytest.raises(TypeError, match="arange: device must be a device, a Sharding"):
        mnp.arange(3, device="nowhere")
    with pytest.raises(TypeError, match="zeros: out_sharding must be a NamedSharding or"):
        mnp.zeros(3, out_sharding="nowhere")


@pytest.mark.parametrize(("name", "expected"), [("shape", ()), ("ndim", 0), ("size", 1)])
def test_none_counts_as_a_scalar_with_a_warning(name, expected):
    with pytest.warns(DeprecationWarning, match=f"{name}: None is no array"):
        assert getattr(mnp, name)(None) == expected
