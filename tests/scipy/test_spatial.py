"""Rotations, against JAX and scipy."""

import jax
import jax.scipy.cluster.vq
import jax.scipy.interpolate
import jax.scipy.spatial.transform
import numpy as np
import pytest
from libraries import assert_same_program, glassjax_of_constants, jax_of_constants
from shares import one_in

import glassjax
from glassjax.scipy.spatial.transform import Rotation, Slerp

JaxRotation = jax.scipy.spatial.transform.Rotation


def rng():
    return np.random.default_rng(0)


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

    ours = glassjax_of_constants.jit(lambda *xs: [*map(function(glassjax), xs)])
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
    drawn = Rotation.random(glassjax.random.key(0), 5)
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
