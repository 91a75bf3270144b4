"""`image.resize` and `image.scale_and_translate`: values, dtypes and derivatives, beside JAX."""

import jax
import jax.image
import jax.scipy.ndimage
import numpy as np
import pytest
from libraries import assert_same_program
from shares import one_in
from tables import for_each

import glassjax
import glassjax.image
import glassjax.scipy.ndimage

METHODS = ["nearest", "linear", "cubic", "cubic-pytorch", "lanczos3", "lanczos5", "area"]


RNG = np.random.default_rng(0)


IMAGE = RNG.normal(size=(5, 4)) * 10


SHAPES = [(3, 7), (5, 9), (10, 2), (0, 4)]


# By day the others without are those of `scale_and_translate`.
WAYS = [(method, True) for method in METHODS] + [("linear", False)]


WAYS += [
    pytest.param(method, False, marks=pytest.mark.nightly)
    for method in METHODS
    if method != "linear"
]


@pytest.mark.parametrize(("method", "antialias"), WAYS)
def test_resize(method, antialias):
    shapes = SHAPES if method in ("nearest", "linear") else SHAPES[:1]

    def function(lib):
        return lambda x, i, f: [
            *[lib.image.resize(x, shape, method, antialias) for shape in shapes],
            lib.image.resize(i, (3, 7), method=method, antialias=antialias),
            lib.image.resize(f, (3, 7), lib.image.ResizeMethod.from_string(method)),
            lib.vmap(lambda row: lib.image.resize(row, shape=[6], method=method))(x),
            lib.grad(lambda x: (lib.image.resize(x, (3, 7), method, antialias) ** 2).sum())(x),
        ]

    assert_same_program(
        function, IMAGE, IMAGE.astype(np.int32), IMAGE.astype(np.float32), tolerance=2e-5
    )


@pytest.mark.parametrize("method", one_in(2, METHODS[1:]))
def test_scale_and_translate(method):
    def function(lib):
        def loss(x, scale, translation):
            out = lib.image.scale_and_translate(
                x, (6, 3), (0, -1), scale, translation, method, antialias=False
            )
            return (out**2).sum(), out

        return lambda *args: [
            lib.value_and_grad(loss, argnums=(0, 1, 2), has_aux=True)(*args),
            lib.image.scale_and_translate(args[0], (5, 7), [1], args[1][:1], args[2][:1], method),
        ]

    assert_same_program(function, IMAGE, np.array([1.3, 0.6]), np.array([0.2, -0.4]))


@pytest.mark.bits(32)
def test_numbers_of_32_bits():
    assert_same_program(
        lambda lib: (
            lambda x: [
                lib.image.resize(x, (3, 7), "cubic"),
                lib.image.resize(x, (3, 7), "nearest"),
                lib.scipy.ndimage.map_coordinates(x, [x[0] / 4, x[1] / 4], 1),
            ]
        ),
        IMAGE,
        tolerance=2e-4,
    )


@for_each(
    ("call", "error"),
    [
        (lambda lib: lib.image.resize(IMAGE, (3,), "linear"), ValueError),
        (lambda lib: lib.image.resize(IMAGE, (3, 3), "box"), ValueError),
        (
            lambda lib: lib.image.scale_and_translate(
                IMAGE, (3, 3), (0,), np.ones(1), np.ones(1), "nearest"
            ),
            ValueError,
        ),
        (lambda lib: lib.scipy.ndimage.map_coordinates(IMAGE, [IMAGE[0]], 1), ValueError),
        (
            lambda lib: lib.scipy.ndimage.map_coordinates(IMAGE[0], [IMAGE[0]], 3),
            NotImplementedError,
        ),
        (
            lambda lib: lib.scipy.ndimage.map_coordinates(IMAGE[0], [IMAGE[0]], 1, "around"),
            NotImplementedError,
        ),
    ],
)
def test_bad_arguments(call, error):
    for lib in (jax, glassjax):
        with pytest.raises(error):
            call(lib)
