"""Initializers draw the same numbers as JAX's."""

import functools

import jax
import numpy as np
import pytest
from libraries import assert_all_same_results, refused
from shares import IS_NIGHT, a_few, one_in

import glassjax

WIDTHS = [False, True]


every_width = pytest.mark.parametrize("x64", WIDTHS, ids=["32", "64"])


def bits_of(x):
    """The bits of an array, in which equal numbers differ that are not the same."""
    x = np.asarray(x)
    return x.view(f"u{x.dtype.itemsize}") if x.dtype.kind in "fV" and x.dtype.itemsize <= 8 else x


def same(ours, theirs):
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    if ours.dtype.kind == "c":
        ours, theirs = (x.view(x.real.dtype) for x in map(np.atleast_1d, (ours, theirs)))
    np.testing.assert_array_equal(bits_of(ours), bits_of(theirs))


INITIALIZERS = [
    ("normal", (0.3,), {}),
    ("uniform", (), {}),
    ("truncated_normal", (), {"lower": -1.0}),
    ("constant", (3.0,), {}),
    ("variance_scaling", (2.0, "fan_geo_avg", "normal"), {}),
    (
        "variance_scaling",
        (2.0, "fan_avg", "uniform"),
        {"in_axis": (0, 1), "out_axis": 2, "batch_axis": 3},
    ),
    ("orthogonal", (2.0,), {"column_axis": 1}),
    *[
        (f"{name}_{kind}", (), {})
        for name in ("lecun", "glorot", "he")
        for kind in ("normal", "uniform")
    ],
]


@every_width
def test_initializers(x64):
    shape, kernel = (3, 4, 5, 2), (4, 3, 2, 5)
    table = INITIALIZERS[:4] if x64 else [*INITIALIZERS[:7], *a_few(INITIALIZERS[7:], 3)]

    def everything(lib, key):
        made, out = lib.nn.initializers, []
        for name, args, kwargs in table:
            init = getattr(made, name)(*args, **kwargs)
            dtypes = ("float16", "complex64") if name.startswith("lecun") else ()
            out.append([init(key, shape), *(init(key, shape, dtype) for dtype in dtypes)])
        fixed = made.delta_orthogonal(2.0, 0)(key, kernel), made.zeros(None, shape)
        return [*out, [*fixed, made.ones(None, shape)]]

    with jax.enable_x64(x64), glassjax.enable_x64(x64):
        ours, theirs = (
            lib.jit(functools.partial(everything, lib))(lib.random.key(3))
            for lib in (glassjax, jax)
        )
    for (name, args, _), mine, jaxs in zip([*table, ("", (), {})], ours, theirs, strict=True):
        for i, pair in enumerate(zip(mine, jaxs, strict=True)):
            is_scaled = i == 0 and "normal" in (name, *args)
            if is_scaled and jax.__version_info__ < (0, 12):  # scaled after drawing
                np.testing.assert_allclose(*pair, rtol=2 * np.finfo(pair[0].dtype).eps)
            else:
                same(*pair)


AXES = [
    ({}, (3, 4)),
    ({}, (5, 1)),
    ({"in_axis": 0, "out_axis": 1}, (3, 4, 2)),
    ({"in_axis": -1, "out_axis": -2}, (2, 3, 4)),
    ({"in_axis": (0, 1), "out_axis": (2,)}, (2, 3, 4)),
    ({"in_axis": 1, "out_axis": 2, "batch_axis": 0}, (2, 3, 4)),
    ({"in_axis": 1, "out_axis": 2, "batch_axis": (0, -1)}, (2, 3, 4, 2)),
]


SCALED = ["lecun", "glorot", "he", "xavier", "kaiming"]


@pytest.mark.parametrize("kind", one_in(2, ["normal", "uniform"]))
def test_initializers_of_axes_and_dtypes(kind):
    def everything(lib, keys, mapped):
        made = lib.nn.initializers
        out = []
        for i, (name, (axes, shape)) in enumerate((n, a) for n in SCALED for a in AXES):
            if IS_NIGHT or i % 5 == 0:  # by day each of the axes once
                out.append(getattr(made, f"{name}_{kind}")(**axes)(keys[i], shape))
        for dtype in ("float16", "bfloat16", "complex64"):
            init = getattr(made, f"he_{kind}")(in_axis=0, out_axis=1, dtype=dtype)
            out += [init(lib.random.PRNGKey(5), (4, 3)), init(keys[0], (4, 3), dtype)]
        he = lib.vmap(lambda key: getattr(made, f"he_{kind}")()(key, (3, 2)))
        return out, he(mapped)

    with jax.enable_x64(False), glassjax.enable_x64(False):
        (ours, ours_mapped), (theirs, theirs_mapped) = (
            lib.jit(functools.partial(everything, lib))(
                [lib.random.key(i) for i in range(len(SCALED) * len(AXES))],
                lib.random.split(lib.random.key(1), 3),
            )
            for lib in (glassjax, jax)
        )
    for mine, jaxs in zip(ours, theirs, strict=True):
        same(mine, jaxs)
    # Of many keys it is another program, whose products are rounded as XLA pleases.
    np.testing.assert_allclose(ours_mapped, theirs_mapped, rtol=2e-6)


NO_INITIALIZERS = {
    "one axis": lambda i, key: i.lecun_normal()(key, (3,)),
    "no axis": lambda i, key: i.he_uniform()(key, ()),
    "no such mode": lambda i, key: i.variance_scaling(1.0, "fan", "normal")(key, (2, 2)),
    "no such distribution": lambda i, key: i.variance_scaling(1.0, "fan_in", "n")(key, (2, 2)),
    "integers": lambda i, key: i.normal()(key, (2, 2), np.int32),
    "scaled integers": lambda i, key: i.he_normal()(key, (2, 2), np.int32),
    "a size below 0": lambda i, key: i.he_normal()(key, (2, -2)),
}


def test_what_initializers_refuse():
    assert_all_same_results(
        {
            name: refused(lambda n, lib, f=f: f(lib.nn.initializers, lib.random.key(0)))
            for name, f in NO_INITIALIZERS.items()
        }
    )


def test_initializers_of_numbers():
    for program in [
        lambda i: i.constant(3)(None, (2,), np.int32),
        lambda i: i.constant(3)(None, (2,)),
        lambda i: i.constant(np.arange(3))(None, (2, 3)),
        lambda i: i.constant(True, bool)(None, (2,)),
        lambda i: i.zeros(None, (2, 0), np.int8),
        lambda i: i.ones(None, (), complex),
    ]:
        same(program(glassjax.nn.initializers), program(jax.nn.initializers))
