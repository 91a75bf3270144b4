"""Products, and Einstein's summation, agree with JAX's."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from libraries import assert_same

import minijax
import minijax.numpy as mnp
from minijax import lax

F32, F64, C64, I32, BF16 = map(
    np.dtype, (np.float32, np.float64, np.complex64, np.int32, ml_dtypes.bfloat16)
)


def draw(shape, dtype=F64, seed=0):
    rng = np.random.default_rng([seed, *shape])
    x = rng.normal(size=shape) * 3
    if dtype.kind == "c":
        x = x + 1j * rng.normal(size=shape)
    return np.asarray(x).astype(dtype)


SUMMATIONS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk->ki", (2, 3), (3, 4)),
    ("bij,bjk->bik", (5, 2, 3), (5, 3, 4)),
    ("bhqd,bkhd->bhqk", (2, 3, 4, 5), (2, 6, 3, 5)),
    ("...ij,...jk", (5, 1, 2, 3), (6, 3, 4)),
    ("i...,i->...", (3, 2), (3,)),
    ("ii", (3, 3)),
    ("iij->j", (3, 3, 2)),
    ("ba", (2, 3)),
    ("i,j->ij", (2,), (3,)),
    (",i->i", (), (3,)),
    ("ij,ij->ij", (1, 3), (2, 1)),
    ("ij,jk,kl,lm->im", (2, 30), (30, 4), (4, 5), (5, 6)),
    ("ia,ib,ic->abc", (2, 3), (2, 4), (2, 5)),
    ("iij,jk->ik", (3, 3, 2), (2, 4)),
    ("ab,cd->", (2, 3), (4, 5)),
]


DIFFERENTIATED = [
    case
    for case in SUMMATIONS
    if case[0] in ("bhqd,bkhd->bhqk", "...ij,...jk", "iij->j", "ij,jk,kl,lm->im")
]


@pytest.mark.parametrize("case", SUMMATIONS, ids=str)
def test_einsum(case):
    subscripts, *shapes = case
    of_dtypes = [
        [draw(shape, dtype, i) for i, shape in enumerate(shapes)] for dtype in (F64, C64, I32)
    ]

    def results(lib, np_):
        return lib.jit(lambda of_dtypes: [np_.einsum(subscripts, *xs) for xs in of_dtypes])(
            of_dtypes
        )

    with minijax.enable_x64(True):
        ours, theirs = results(minijax, mnp), results(jax, jnp)
        assert_same(ours[::2], theirs[::2], 1e-12)
        assert_same(ours[1:2], theirs[1:2], 1e-5)


@pytest.mark.parametrize("case", DIFFERENTIATED, ids=str)
def test_derivatives_and_batches_of_einsum(case):
    subscripts, *shapes = case
    with minijax.enable_x64(True):
        xs = [draw(shape, F64, i) for i, shape in enumerate(shapes)]
        argnums = tuple(range(len(xs)))

        def loss(lib):
            return lambda *xs: lib.sum(lib.sin(lib.einsum(subscripts, *xs)))

        tangents = [draw(shape, F64, 9) for shape in shapes]
        batch = [np.stack([x, 2 * x, -x]) for x in xs]

        def everything(lib, np_):
            f = loss(np_)
            batched = lib.vmap(lambda *xs: np_.einsum(subscripts, *xs))
            return lib.jit(
                lambda: [*lib.grad(f, argnums)(*xs), *lib.jvp(f, xs, tangents), batched(*batch)]
            )()

        assert_same(everything(minijax, mnp), everything(jax, jnp), 1e-9)


def test_options_of_einsum():
    x, y, z = draw((2, 3), F32), draw((3, 4), F32), draw((4, 5), F32)
    for options in (
        {"precision": "highest"},
        {"preferred_element_type": np.float32},
        {"optimize": False},
        {"optimize": [(0, 1), (0, 1)]},
    ):
        ours = mnp.einsum("ij,jk,kl->il", x, y, z, **options)
        assert_same([ours], [jnp.einsum("ij,jk,kl->il", x, y, z, **options)], 1e-5)
    ours = mnp.einsum(x, [0, 1], y, [1, 2], [0, 2])
    assert_same([ours], [jnp.einsum(x, [0, 1], y, [1, 2], [0, 2])], 1e-5)
    path, _ = mnp.einsum_path("ij,jk,kl->il", x, y, z)
    assert path == list(jnp.einsum_path("ij,jk,kl->il", x, y, z)[0])
    x, y = draw((2, 3), BF16), draw((3, 4), BF16)
    ours = mnp.einsum("ij,jk->ik", x, y, preferred_element_type=np.float32)
    theirs = jnp.einsum("ij,jk->ik", x, y, preferred_element_type=np.float32)
    assert_same([ours], [theirs], 1e-5)
    called = []

    def dot_general(*args, **kwargs):
        called.append(kwargs["precision"])
        return lax.dot_general(*args, **kwargs)

    mnp.einsum("ij,jk->ik", x, y, _dot_general=dot_general)
    assert called == [None]


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("ij,jk->ik", [(2, 3)]),
        ("ij->ik", [(2, 3)]),
        ("ij->ii", [(2, 3)]),
        ("ijk->i", [(2, 3)]),
        ("i->i", [(2, 3)]),
        ("ij,jk->ik", [(2, 3), (4, 5)]),
    ],
)
def test_wrong_labels(subscripts, shapes):
    xs = [draw(shape) for shape in shapes]
    with pytest.raises(ValueError, match="einsum"):
        mnp.einsum(subscripts, *xs)
    with pytest.raises((ValueError, TypeError)):
        jnp.einsum(subscripts, *xs)


PRODUCTS = [
    ("matmul", (3,), (5, 3, 4)),
    ("matmul", (5, 1, 2, 3), (6, 3, 4)),
    ("dot", (5, 2, 3), (6, 3, 4)),
    ("dot", (), (3, 4)),
    ("vdot", (2, 3), (2, 3)),
    ("inner", (2, 3), (5, 3)),
    ("inner", (2, 3), ()),
    ("outer", (2, 3), (4,)),
    ("tensordot", (4, 2, 3), (2, 3, 5)),
    ("kron", (2,), (2, 2, 3)),
    ("cross", (4, 3), (3,)),
    ("cross", (4, 3), (4, 3)),
    ("vecdot", (4, 3), (3,)),
    ("matvec", (2, 3), (5, 3)),
    ("vecmat", (3,), (5, 3, 4)),
]


@pytest.mark.parametrize("case", PRODUCTS, ids=str)
def test_products(case):
    name, a, b = case
    ours, theirs = getattr(mnp, name), getattr(jnp, name)
    with minijax.enable_x64(True):
        typed = [(draw(a, x), draw(b, y, 1)) for x, y in ((C64, C64), (I32, F32))]
        x, y = draw(a), draw(b, seed=1)
        xs, ys = np.stack([x, -x]), np.stack([y, 3 * y])

        def everything(lib, f):
            return [
                *(f(*args) for args in typed),
                f(x, y),
                lib.vmap(f)(xs, ys),
                *lib.jacrev(f, (0, 1))(x, y),
            ]

        found = minijax.jit(lambda: everything(minijax, ours))()
        expected = jax.jit(lambda: everything(jax, theirs))()
        assert_same(found[:2], expected[:2], 1e-5)
        assert_same(found[2:], expected[2:], 1e-12)


def test_types_of_products():
    with jax.enable_x64(False), minijax.enable_x64(False):
        for x, y in [(2.0, 3.0), (2, 3.0), (np.ones(2, np.int32), 2.0)]:
            ours, theirs = mnp.dot(x, y), jnp.dot(x, y)
            assert (ours.dtype, ours.weak_type) == (theirs.dtype, theirs.weak_type)
        x, y = draw((2, 3), BF16), draw((3, 4), BF16)
        for dtype in (np.float32, None):

            def total(lib, dtype=dtype):
                return lambda x: lib.sum(lib.matmul(x, y, preferred_element_type=dtype))

            ours, theirs = minijax.grad(total(mnp))(x), jax.grad(total(jnp))(x)
            assert_same([ours], [theirs], 1e-2)


@pytest.mark.parametrize("axes", [0, 2, ([1, 2], [1, 0]), ((-1,), (0,))])
def test_axes_of_tensordot(axes):
    x, y = draw((3, 3, 3), F32), draw((3, 3), F32)
    assert_same([mnp.tensordot(x, y, axes=axes)], [jnp.tensordot(x, y, axes=axes)], 1e-5)


@pytest.mark.parametrize("options", [{"axis": 0}, {"axisa": 0, "axisb": 1, "axisc": 0}])
def test_axes_of_cross(options):
    x, y = draw((3, 3), F32), draw((3, 3), F32, 1)
    assert_same([mnp.cross(x, y, **options)], [jnp.cross(x, y, **options)], 1e-5)


def test_cross_products_in_a_plane_are_refused():
    """As by the newest numpy and JAX; an older JAX takes two elements for three."""
    for x, y in [((4, 2), (4, 3)), ((4, 3), (4, 2)), ((2,), (2,))]:
        with pytest.raises(ValueError, match="cross: vectors must have 3 elements"):
            mnp.cross(draw(x), draw(y))


@pytest.mark.parametrize("precision", [None, ("default", "highest")])
def test_precision_is_kept_by_every_transformation(precision):
    x, y = draw((2, 3), F32), draw((3, 4), F32)
    theirs_precision = (
        precision
        if precision != ("default", "highest")
        else (jax.lax.Precision.DEFAULT, jax.lax.Precision.HIGHEST)
    )

    def f(x, y):
        return mnp.sum(mnp.dot(x, y, precision=precision))

    program = minijax.make_jaxpr(minijax.vmap(minijax.grad(f, (0, 1))))(x[None], y[None])
    products = str(program).count("dot_general[")
    assert products > 1
    assert str(program).count("precision=") == (0 if precision is None else products)
    ours = lax.dot(x, y, precision=precision)
    assert_same([ours], [jax.lax.dot(x, y, precision=theirs_precision)], 1e-5)
    assert {p.name for p in lax.Precision} == {p.name for p in jax.lax.Precision}


def test_precision_of_a_block_of_statements():
    x, y = draw((2, 3), F32), draw((3, 4), F32)
    with minijax.default_matmul_precision("float32"):
        assert "HIGHEST" in str(minijax.make_jaxpr(mnp.dot)(x, y))
    assert "HIGHEST" not in str(minijax.make_jaxpr(mnp.dot)(x, y))
    for preset in list(lax.DotAlgorithmPreset)[:3]:
        assert lax.dot(x, y, precision=preset).shape == (2, 4)
    with pytest.raises(ValueError, match="precision must be"):
        mnp.dot(x, y, precision="best")


def test_batch_matmul_and_dot_general():
    x, y = draw((2, 3, 4), F32), draw((2, 4, 5), F32)
    assert_same([lax.batch_matmul(x, y)], [jax.lax.batch_matmul(x, y)], 1e-5)
    numbers = (((2,), (1,)), ((0,), (0,)))
    ours = lax.dot_general(x, y, numbers, preferred_element_type=np.float32)
    theirs = jax.lax.dot_general(x, y, numbers, preferred_element_type=np.float32)
    assert_same([ours], [theirs], 1e-5)
    narrow = np.arange(12, dtype=np.int8).reshape(3, 4) * 10
    ours = lax.dot(narrow, narrow.T, preferred_element_type=np.int32)
    assert_same([ours], [jax.lax.dot(narrow, narrow.T, preferred_element_type=np.int32)], 0)


@pytest.mark.parametrize("subscripts", ["ij->i", "ij->", "ii", "ii->i", "ij,jk->ik", "ij,k->i"])
def test_einsum_of_booleans_is_boolean(subscripts):
    """What has no product in it was summed as integers."""
    x = np.array([[True, True, True], [True, False, True], [False, False, False]])
    operands = [x, x[1] if subscripts.endswith(",k->i") else x][: subscripts.count(",") + 1]
    for dtype in (None, "float32", "int32"):
        ours, theirs = (
            n.einsum(subscripts, *operands, preferred_element_type=dtype) for n in (mnp, jnp)
        )
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    "optimize", ["foo", 3, [(0, 5)], [(0, 1)], ["einsum_path", (0, 1), (0, 1)]]
)
def test_ways_to_optimize_that_there_are_not(optimize):
    """They were taken for a greedy search, or gave an error of a list's."""
    x = np.ones((2, 2))
    with pytest.raises((KeyError, TypeError, IndexError, ValueError, AssertionError)):
        jnp.einsum("ij,jk,kl->il", x, x, x, optimize=optimize)
    with pytest.raises((TypeError, ValueError), match=r"einsum: .*optimize"):
        mnp.einsum("ij,jk,kl->il", x, x, x, optimize=optimize)
