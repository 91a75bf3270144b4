"""Newer functions of `minijax.scipy`: special functions, matrices, clusters, grids, rotations."""

import jax
import jax.numpy as jnp
import jax.scipy.cluster.vq
import jax.scipy.interpolate
import jax.scipy.spatial.transform
import numpy as np
import pytest
import scipy.special
from libraries import assert_close

import minijax
import minijax.numpy as mnp
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
    for point in AT[name]:
        operands = tuple(map(float, np.atleast_1d(point)))
        argnums = tuple(range(len(operands)))
        with minijax.enable_x64(), jax.enable_x64(True):
            ours = minijax.grad(lambda *x: mnp.real(getattr(special, name)(*x)), argnums)
            theirs = jax.grad(lambda *x: jnp.real(getattr(jax.scipy.special, name)(*x)), argnums)
            close(minijax.jit(ours)(*operands), theirs(*operands), 1e-4)


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
    operands = [np.array(x, np.float32) for x in operands]
    assert_close(
        getattr(special, name)(*operands), getattr(jax.scipy.special, name)(*operands), 1e-6
    )


def test_combinations_with_repetition():
    n, k = np.array([5, 0, 3, 0]), np.array([2, 0, -1, 3])
    assert_close(
        special.comb(n, k, repetition=True), jax.scipy.special.comb(n, k, repetition=True), 1e-5
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
        for n in (1, 2, 4)
        for mode in ("full", "same", "valid")
    ),
]


@pytest.mark.parametrize(("name", "args"), MATRICES, ids=lambda x: str(x)[:40])
def test_a_matrix_is_jaxs(name, args):
    ours = getattr(minijax.scipy.linalg, name)(*args)
    theirs = getattr(jax.scipy.linalg, name)(*args)
    assert_close(ours, theirs, 1e-5, 1e-5)


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


@pytest.mark.parametrize("shapes", [((5, 3), (4, 3)), ((6,), (2,)), ((0, 3), (4, 3))])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_the_nearest_code(shapes, dtype):
    obs, codes = (np.asarray(10 * rng().normal(size=shape), dtype) for shape in shapes)
    assert_close(vq(obs, codes), jax.scipy.cluster.vq.vq(obs, codes), 1e-5, 1e-5)
    with pytest.raises(ValueError, match="vq: obs and code_book"):
        vq(np.ones((2, 3)), np.ones((2, 2)))


POINTS = (np.array([1.0, 2, 4]), np.array([0.0, 1.0, 1.5, 3]))


@pytest.mark.parametrize("method", ["linear", "nearest"])
@pytest.mark.parametrize("fill_value", [np.nan, 7.0, None])
@pytest.mark.parametrize("trailing", [(), (2,)])
def test_interpolation_on_a_grid(method, fill_value, trailing):
    values = rng().normal(size=(3, 4, *trailing)).astype("float32")
    xi = np.array([[1.5, 0.5], [4, 3], [1, 0], [0, 1], [2, 9], [NAN, 1], [3.1, 1.2]], "float32")
    options = {"method": method, "fill_value": fill_value}
    ours = RegularGridInterpolator(POINTS, values, **options)
    theirs = jax.scipy.interpolate.RegularGridInterpolator(POINTS, values, **options)
    if not trailing:  # with them JAX's fill does not fit
        assert_close(ours(xi), theirs(xi), 1e-6, 1e-6)
        assert_close(minijax.jit(ours)(xi), theirs(xi), 1e-6, 1e-6)
        assert_close(ours((xi[:3, 0], 1.0)), theirs((xi[:3, 0], 1.0)), 1e-6, 1e-6)
    else:
        parts = [RegularGridInterpolator(POINTS, values[..., i], **options)(xi) for i in range(2)]
        np.testing.assert_allclose(ours(xi), np.stack(parts, -1), 1e-6, 1e-6)


def test_gradients_of_interpolation():
    values = rng().normal(size=(3, 4)).astype("float32")
    xi = np.array([1.5, 0.7], "float32")
    ours = minijax.grad(lambda v, x: RegularGridInterpolator(POINTS, v)(x)[0], (0, 1))
    interpolator = jax.scipy.interpolate.RegularGridInterpolator
    theirs = jax.grad(lambda v, x: interpolator(POINTS, v)(x)[0], (0, 1))
    assert_close(ours(values, xi), theirs(values, xi), 1e-5, 1e-5)


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


@pytest.mark.parametrize("which", [slice(None), 0])
def test_rotations_are_jaxs(which):
    quat, vectors = quaternions()[which], np.array([1.0, 2, 3], "float32")
    ours, theirs = Rotation.from_quat(quat), JaxRotation.from_quat(quat)
    assert ours.single == theirs.single
    for name in ("as_matrix", "as_mrp", "as_rotvec", "as_quat", "magnitude"):
        assert_close(getattr(ours, name)(), getattr(theirs, name)(), 1e-5, 1e-5)
    assert_close(ours.as_quat(True, True), theirs.as_quat(True, True), 1e-5)
    for inverse in (False, True):
        assert_close(ours.apply(vectors, inverse), theirs.apply(vectors, inverse), 1e-5, 1e-5)
    assert_close((ours * ours.inv()).quat, (theirs * theirs.inv()).quat, 1e-5, 1e-5)
    for convert in ("matrix", "mrp", "rotvec"):
        again = getattr(Rotation, f"from_{convert}")(getattr(ours, f"as_{convert}")())
        assert_close(again.as_matrix(), theirs.as_matrix(), 1e-4, 1e-5)
    assert_close(
        minijax.jit(lambda r: (r * r).as_rotvec())(ours), (theirs * theirs).as_rotvec(), 1e-4, 1e-5
    )


@pytest.mark.parametrize("seq", ["XYZ", "zxz", "yxz", "XZX"])
def test_euler_angles_are_jaxs(seq):
    angles = rng().uniform(-3, 3, (5, 3)).astype("float32")
    ours, theirs = Rotation.from_euler(seq, angles), JaxRotation.from_euler(seq, angles)
    assert_close(ours.as_matrix(), theirs.as_matrix(), 1e-4, 1e-5)
    up_to_turns(ours.as_euler(seq), theirs.as_euler(seq), 2 * np.pi)
    up_to_turns(ours.as_euler(seq, True), theirs.as_euler(seq, True), 360)
    again = Rotation.from_euler(seq, ours.as_euler(seq))
    assert_close(again.as_matrix(), theirs.as_matrix(), 1e-4, 1e-5)
    locked = Rotation.from_euler(seq, np.array([0.3, 0.0 if seq[0] == seq[2] else np.pi / 2, 0.4]))
    again = Rotation.from_euler(seq, locked.as_euler(seq))
    assert_close(again.as_matrix(), locked.as_matrix(), 1e-3, 2e-3)


def test_means_pieces_and_interpolation():
    ours, theirs = (cls.from_quat(quaternions()) for cls in (Rotation, JaxRotation))
    weights = np.arange(1.0, 7, dtype="float32")
    for w in (None, weights):
        assert_close(ours.mean(w).as_matrix(), theirs.mean(w).as_matrix(), 1e-4, 1e-4)
    assert len(ours) == 6
    assert_close(ours[1:3].quat, theirs[1:3].quat, 1e-6)
    assert Rotation.concatenate([ours, ours[0]]).quat.shape == (7, 4)
    times = np.array([0.0, 1, 2, 3, 5, 6], "float32")
    at = np.array([0.5, 2.0, 4.2, -1, 6, 0], "float32")
    jaxs = jax.scipy.spatial.transform.Slerp.init(times, theirs)
    assert_close(Slerp.init(times, ours)(at).as_matrix(), jaxs(at).as_matrix(), 1e-4, 1e-4)
    assert_close(Rotation.identity().quat, JaxRotation.identity().quat)
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
