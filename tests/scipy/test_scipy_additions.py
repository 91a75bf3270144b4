"""Newer functions of `minijax.scipy`: special functions, matrices, clusters, grids, rotations."""

from functools import partial

import jax
import jax.scipy.cluster.vq
import jax.scipy.interpolate
import jax.scipy.spatial.transform
import numpy as np
import pytest
import scipy.special
from libraries import (
    assert_all_same_results,
    assert_close,
    assert_same_program,
    jax_of_constants,
    minijax_of_constants,
)
from shares import IS_NIGHT, one_in

import minijax
from minijax.scipy import special
from minijax.scipy.cluster.vq import vq
from minijax.scipy.interpolate import RegularGridInterpolator
from minijax.scipy.spatial.transform import Rotation, Slerp

JaxRotation = jax.scipy.spatial.transform.Rotation
INF, NAN = np.inf, np.nan


def rng():
    return np.random.default_rng(0)


def spread(count=60):
    return np.concatenate([rng().normal(size=count) * size for size in (1e-6, 0.1, 1, 5, 20, 1e4)])


def close(ours, exact, rtol):
    np.testing.assert_allclose(np.asarray(ours), exact, rtol=rtol)


# Special functions, exact to nearly all digits.


def complex_numbers():
    z = spread() + 1j * np.abs(spread()[::-1])
    return np.concatenate([z, np.conj(z[np.abs(z) < 15])])


OPERANDS = {
    "dawsn": lambda: [spread()],
    "wofz": lambda: [complex_numbers()],
    "erfcinv": lambda: [np.concatenate([rng().uniform(0, 2, 50), 10.0 ** -np.arange(1, 200, 9)])],
    "boxcox": lambda: [rng().exponential(size=100), np.repeat([1e-9, 0, 0.1, -2], 25)],
    "boxcox1p": lambda: [rng().exponential(size=100) * 1e-3, np.repeat([1e-9, 0, 0.1, -2], 25)],
    "comb": lambda: list(rng().integers(0, 40, (2, 100)).astype(float)),
    "hyp1f1": lambda: [*rng().uniform(0.1, 5, (2, 200)), rng().normal(size=200) * 30],
    "hyp2f1": lambda: [*rng().uniform(0.1, 5, (3, 200)), rng().uniform(-4, 1, 200)],
}


@pytest.mark.parametrize("name", OPERANDS)
def test_a_function_has_nearly_all_digits(name):
    operands = OPERANDS[name]()
    exact = getattr(scipy.special, name)(*operands)
    with minijax.enable_x64():
        close(getattr(special, name)(*operands), exact, 2e-11)
    single = [x.astype("complex64" if x.dtype.kind == "c" else "float32") for x in operands]
    found = getattr(special, name)(*single)
    assert found.dtype == ("complex64" if name == "wofz" else "float32")
    widened = [x.astype(y.dtype) for x, y in zip(single, operands, strict=True)]
    with np.errstate(over="ignore"):
        exact = np.asarray(getattr(scipy.special, name)(*widened)).astype(found.dtype)
    is_normal = np.abs(exact) > 1e-36
    close(np.asarray(found)[is_normal], exact[is_normal], 2e-6)


AT = {
    "dawsn": [0.7, 9.0],
    "wofz": [0.7],
    "erfcinv": [0.3],
    "boxcox": [(2.0, 0.7), (2.0, 0.3)],
    "boxcox1p": [(0.4, 0.7)],
    "comb": [(7.0, 3.0)],
    "hyp1f1": [(1.0, 2.0, 3.0), (1.5, 2.5, -0.5)],
    "hyp2f1": [(1.0, 2.0, 3.5, 0.4)],
}


@pytest.mark.parametrize("name", AT)
def test_derivatives_are_jaxs(name):
    points = np.array([np.atleast_1d(point) for point in AT[name]])
    operands = np.resize(points, (2, points.shape[1])).T

    def function(lib):
        def total(*operands):
            return lib.numpy.real(getattr(lib.scipy.special, name)(*operands)).sum()

        return lib.grad(total, tuple(range(len(operands))))

    assert_same_program(function, *operands, tolerance=1e-4)


EDGES = [
    ("boxcox", ([-1.0, 0, 0, 0, 1, 2, INF, NAN], [1.0, 0, 1, -1, 0, 0, 1, 1])),
    ("boxcox1p", ([-2.0, -1, -1, -1, 1, INF], [1.0, 0, 1, -1, 0, 1])),
    ("comb", ([5.0, 5, 5, -3, 0], [-1.0, 0, 6, 2, 0])),
    ("dawsn", ([0.0, -0.0, INF, -INF, NAN],)),
    ("erfcinv", ([0.0, 1, 2, 2.1, -1, NAN],)),
    ("hyp1f1", ([1.0, 0, 0, 1, -1], [0.0, 0, 2, -2, -2], [1.0, 1, 0, 3, 0.5])),
    ("hyp2f1", ([1.0, 1, 0, 1], [2.0, 1, 2, 2], [3.0, 3, 3, 0], [1.0, 1, 0.4, 0.4])),
]


@pytest.mark.parametrize(("name", "operands"), EDGES, ids=[name for name, _ in EDGES])
def test_edges_are_jaxs(name, operands):
    operands = [np.resize(np.array(x, np.float32), 8) for x in operands]
    assert_same_program(lambda lib: getattr(lib.scipy.special, name), *operands, tolerance=1e-6)


def test_combinations_with_repetition():
    n, k = np.array([5, 0, 3, 0]), np.array([2, 0, -1, 3])
    assert_same_program(
        lambda lib: lambda n, k: lib.scipy.special.comb(n, k, repetition=True), n, k, tolerance=1e-5
    )


def test_complex_operands_of_real_functions_are_refused():
    for name in ("dawsn", "erfcinv"):
        with pytest.raises(ValueError, match="expected real operands"):
            getattr(special, name)(1j)


# Matrices.

MATRICES = [
    ("fiedler_companion", (np.array([1.0, -16, 86, -176, 105, 3]),)),
    ("fiedler_companion", (np.array([1, 2, 3]),)),
    ("fiedler_companion", (np.ones((2, 4), np.float32),)),
    ("fiedler_companion", (np.array([2.0]),)),
    *(("invhilbert", (n,)) for n in (0, 1, 5)),
    *(("invpascal", (n, kind)) for n in (0, 1, 4) for kind in (None, "lower", "upper")),
    *(
        ("convolution_matrix", (a, n, mode))
        for a in (np.array([1, 2]), np.ones((2, 5), np.float32), np.array([1, 2, 3, 4]))
        for n in (1, 4)
        for mode in ("full", "same", "valid")
    ),
]


def test_matrices_are_jaxs():
    programs = {
        f"{name}{args}": lambda n, lib, name=name, args=args: getattr(lib.scipy.linalg, name)(*args)
        for name, args in MATRICES
    }
    assert_all_same_results(programs, 1e-5, 1e-5)


def test_bad_arguments_of_matrices():
    linalg = minijax.scipy.linalg
    for call, message in (
        (lambda: linalg.fiedler_companion(np.zeros(0)), "must hold a coefficient"),
        (lambda: linalg.invpascal(3, "x"), "kind must be"),
        (lambda: linalg.convolution_matrix(np.ones(2), 3, "x"), "mode must be"),
        (lambda: linalg.convolution_matrix(np.ones(2), 0), "n must be at least 1"),
        (lambda: linalg.convolution_matrix(np.ones(0), 2), "at least one number"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


# Clusters and grids.


def test_the_nearest_code():
    def nearest(n, lib, shapes, dtype):
        return lib.scipy.cluster.vq.vq(
            *(np.asarray(10 * rng().normal(size=shape), dtype) for shape in shapes)
        )

    programs = {
        f"{shapes} {dtype}": partial(nearest, shapes=shapes, dtype=dtype)
        for shapes in [((5, 3), (4, 3)), ((6,), (2,)), ((0, 3), (4, 3))]
        for dtype in ("float32", "int32")
    }
    assert_all_same_results(programs, 1e-5, 1e-5)
    with pytest.raises(ValueError, match="vq: obs and code_book"):
        vq(np.ones((2, 3)), np.ones((2, 2)))


POINTS = (np.array([1.0, 2, 4]), np.array([0.0, 1.0, 1.5, 3]))


OPTIONS = [
    *({"method": "linear", "fill_value": fill_value} for fill_value in (np.nan, 7.0, None)),
    {"method": "nearest", "fill_value": 7.0},
]
XI = np.array([[1.5, 0.5], [4, 3], [1, 0], [0, 1], [2, 9], [NAN, 1], [3.1, 1.2]], "float32")


def test_interpolation_on_a_grid():
    values = rng().normal(size=(3, 4)).astype("float32")

    def function(lib, xi):
        def interpolated(options):
            f = lib.scipy.interpolate.RegularGridInterpolator(POINTS, values, **options)
            return [f(xi), f((xi[:3, 0], 1.0))]

        return [interpolated(options) for options in OPTIONS]

    theirs = jax_of_constants.jit(partial(function, jax))(XI)
    assert_close(minijax_of_constants.jit(partial(function, minijax))(XI), theirs, 1e-6)
    if IS_NIGHT:  # also where it is not traced
        assert_close(RegularGridInterpolator(POINTS, values)(XI), theirs[0][0], 1e-6, 1e-6)


def test_interpolation_of_vectors_on_a_grid():
    """With which JAX's fill does not fit."""
    values = rng().normal(size=(3, 4, 2)).astype("float32")

    @minijax.jit
    def interpolated(xi):
        return [
            [
                RegularGridInterpolator(POINTS, given, **options)(xi)
                for given in (values, values[..., 0], values[..., 1])
            ]
            for options in OPTIONS
        ]

    for found, *parts in interpolated(XI):
        np.testing.assert_allclose(found, np.stack(parts, -1), 1e-6, 1e-6)


def test_gradients_of_interpolation():
    values = rng().normal(size=(3, 4)).astype("float32")
    xi = np.array([1.5, 0.7], "float32")

    def function(lib):
        interpolator = lib.scipy.interpolate.RegularGridInterpolator
        return lib.grad(lambda v, x: interpolator(POINTS, v)(x)[0], (0, 1))

    assert_same_program(function, values, xi, tolerance=1e-5)


def test_bad_grids():
    for call, error in (
        (lambda: RegularGridInterpolator(POINTS, np.ones((2, 4))), ValueError),
        (lambda: RegularGridInterpolator(POINTS, np.ones((3, 4)), "cubic"), ValueError),
        (lambda: RegularGridInterpolator(POINTS, np.ones((3, 4)), fill_value=1j), ValueError),
        (
            lambda: RegularGridInterpolator(POINTS, np.ones((3, 4)), bounds_error=True),
            NotImplementedError,
        ),
        (lambda: RegularGridInterpolator(POINTS, np.ones((3, 4)))(np.ones(3)), ValueError),
    ):
        with pytest.raises(error, match="RegularGridInterpolator"):
            call()


# Rotations.


def quaternions():
    return rng().normal(size=(6, 4)).astype("float32")


def up_to_turns(ours, theirs, turn):
    difference = (np.asarray(ours) - np.asarray(theirs) + turn / 2) % turn - turn / 2
    np.testing.assert_allclose(difference, 0, atol=turn * 1e-5)


def rotation_class(lib):
    return lib.scipy.spatial.transform.Rotation


@pytest.mark.parametrize("which", [slice(None), 0])
def test_rotations_are_jaxs(which):
    quat, vectors = quaternions()[which], np.array([1.0, 2, 3], "float32")
    assert Rotation.from_quat(quat).single == JaxRotation.from_quat(quat).single

    def function(lib):
        cls = rotation_class(lib)

        def results(quat, vectors):
            r = cls.from_quat(quat)
            conversions = "matrix", "mrp", "rotvec"
            again = [getattr(cls, f"from_{c}")(getattr(r, f"as_{c}")()) for c in conversions]
            return [
                [getattr(r, f"as_{c}")() for c in (*conversions, "quat")],
                r.magnitude(),
                r.as_quat(True, True),
                [r.apply(vectors, inverse) for inverse in (False, True)],
                (r * r.inv()).quat,
                (r * r).as_rotvec(),
                [each.as_matrix() for each in again],
            ]

        return results

    assert_same_program(function, quat, vectors, tolerance=1e-5)


@pytest.mark.parametrize("seq", one_in(2, ["XYZ", "zxy", "zxz", "XZX"]))
def test_euler_angles_are_jaxs(seq):
    angles = rng().uniform(-3, 3, (5, 3)).astype("float32")
    locked = np.array([0.3, 0.0 if seq[0] == seq[2] else np.pi / 2, 0.4])

    def function(lib):
        cls = rotation_class(lib)

        def results(angles):
            r = cls.from_euler(seq, angles)
            again = cls.from_euler(seq, r.as_euler(seq))
            return r.as_matrix(), r.as_euler(seq), r.as_euler(seq, True), again.as_matrix()

        return results

    ours = minijax_of_constants.jit(lambda *xs: [*map(function(minijax), xs)])
    found, (matrix_of_locked, *_, again_of_locked) = ours(angles, locked)
    expected = jax_of_constants.jit(function(jax))(angles)
    for x, y in zip(found, expected, strict=True):
        assert (x.shape, x.dtype, x.weak_type) == (y.shape, y.dtype, y.weak_type)
    matrix, radians, degrees, again = found
    np.testing.assert_allclose(matrix, expected[0], 1e-4, 1e-5)
    up_to_turns(radians, expected[1], 2 * np.pi)
    up_to_turns(degrees, expected[2], 360)
    np.testing.assert_allclose(again, expected[0], 1e-4, 1e-5)
    np.testing.assert_allclose(again_of_locked, matrix_of_locked, 1e-3, 2e-3)


def test_means_pieces_and_interpolation():
    weights = np.arange(1.0, 7, dtype="float32")
    times = np.array([0.0, 1, 2, 3, 5, 6], "float32")
    at = np.array([0.5, 2.0, 4.2, -1, 6, 0], "float32")

    def function(lib):
        cls, slerp = rotation_class(lib), lib.scipy.spatial.transform.Slerp

        def results(quat):
            r = cls.from_quat(quat)
            means = [r.mean(w).as_matrix() for w in (None, weights)]
            between = slerp.init(times, r)(at).as_matrix()
            return means, between, r[1:3].quat, cls.identity().quat

        return results

    assert_same_program(function, quaternions(), tolerance=1e-4)
    ours = Rotation.from_quat(quaternions())
    assert len(ours) == 6
    assert Rotation.concatenate([ours, ours[0]]).quat.shape == (7, 4)
    drawn = Rotation.random(minijax.random.key(0), 5)
    np.testing.assert_allclose(np.linalg.norm(drawn.quat, axis=1), 1, rtol=1e-6)


def test_bad_rotations():
    one = Rotation.identity()
    for call, error in (
        (lambda: Rotation.from_quat(np.ones(3)), ValueError),
        (lambda: Rotation.from_euler("xY", np.ones(2)), ValueError),
        (lambda: Rotation.from_euler("xx", np.ones(2)), ValueError),
        (lambda: one.as_euler("xy"), ValueError),
        (lambda: len(one), TypeError),
        (lambda: one[0], TypeError),
        (lambda: Slerp.init(np.ones(2), one), ValueError),
    ):
        with pytest.raises(error):
            call()
