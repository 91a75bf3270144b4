"""Products, `einsum`, `convolve` and `correlate`, beside JAX."""

import itertools

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from libraries import assert_same, results_at_once

import glassjax
import glassjax.numpy as gnp
from glassjax import lax

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


# By the dtype of a result.
TOLERANCES = {F64: 1e-12, C64: 1e-5, F32: 1e-5, BF16: 1e-2}


def assert_all_same(programs, tolerances=TOLERANCES):
    """Each program gives the same with both libraries; those of one are compiled as one."""
    found, expected = (
        results_at_once(programs.values(), lib.numpy, lib) for lib in (glassjax, jax)
    )
    wrong = []
    for name, *both in zip(programs, found, expected, strict=True):
        ours, theirs = (out if isinstance(out, list) else [out] for out in both)
        try:
            for x, y in zip(ours, theirs, strict=True):
                assert not isinstance(x, Exception), x
                assert not isinstance(y, Exception), y
                assert x.weak_type == y.weak_type
                assert_same([x], [y], tolerances.get(np.dtype(y.dtype), 0))
        except AssertionError as error:
            wrong.append(f"{name}: {error}")
    assert not wrong, "\n".join(wrong)


def test_einsum():
    programs = {}
    for (subscripts, *shapes), dtype in itertools.product(SUMMATIONS, (F64, C64, I32)):
        xs = [draw(shape, dtype, i) for i, shape in enumerate(shapes)]
        programs[subscripts, dtype] = lambda n, lib, by=subscripts, xs=xs: n.einsum(by, *xs)
    assert_all_same(programs)


def test_derivatives_and_batches_of_einsum():
    def program(n, lib, subscripts, *shapes):
        xs = [draw(shape, F64, i) for i, shape in enumerate(shapes)]
        tangents = [draw(shape, F64, 9) for shape in shapes]
        batch = [np.stack([x, 2 * x, -x]) for x in xs]

        def f(*xs):
            return n.sum(n.sin(n.einsum(subscripts, *xs)))

        slopes = lib.grad(f, tuple(range(len(xs))))(*xs)
        batched = lib.vmap(lambda *xs: n.einsum(subscripts, *xs))
        return [*slopes, *lib.jvp(f, xs, tangents), batched(*batch)]

    programs = {
        case[0]: lambda n, lib, case=case: program(n, lib, *case) for case in DIFFERENTIATED
    }
    assert_all_same(programs, {F64: 1e-9})


def test_options_of_einsum():
    x, y, z = draw((2, 3), F32), draw((3, 4), F32), draw((4, 5), F32)
    narrow = draw((2, 3), BF16), draw((3, 4), BF16)
    programs = {
        str(options): lambda n, lib, options=options: n.einsum("ij,jk,kl->il", x, y, z, **options)
        for options in (
            {"precision": "highest"},
            {"preferred_element_type": np.float32},
            {"optimize": False},
            {"optimize": [(0, 1), (0, 1)]},
        )
    }
    programs["axes by number"] = lambda n, lib: n.einsum(x, [0, 1], y, [1, 2], [0, 2])
    programs["to a wider dtype"] = lambda n, lib: n.einsum(
        "ij,jk->ik", *narrow, preferred_element_type=np.float32
    )
    assert_all_same(programs)
    path, _ = gnp.einsum_path("ij,jk,kl->il", x, y, z)
    assert path == list(jnp.einsum_path("ij,jk,kl->il", x, y, z)[0])
    called = []

    def dot_general(*args, **kwargs):
        called.append(kwargs["precision"])
        return lax.dot_general(*args, **kwargs)

    glassjax.eval_shape(lambda: gnp.einsum("ij,jk->ik", *narrow, _dot_general=dot_general))
    assert called == [None]


def test_of_equal_paths_the_leftmost_pairs_come_first():
    """Of a cycle of matrices another pair is multiplied by rows, which takes twice as long."""
    for subscripts in ("ij,jk,ik->", "ia,ib,ic->abc", "ij,jk,kl->il", "ab,bc,cd,da->"):
        xs = [np.ones((6, 6), np.float32)] * (subscripts.count(",") + 1)
        path, expected = (n.einsum_path(subscripts, *xs, optimize="optimal")[0] for n in (gnp, jnp))
        assert path == list(expected)


def test_large_operands_are_multiplied_without_transposing_them():
    """Neither does an outer product come first, for which they would be transposed."""
    cases = [
        ("a,b,c,d,abcde->e", [(6,), (6,), (6,), (6,), (6, 6, 6, 6, 6)]),
        ("abx,bc,xcd,de,ef->", [(4, 5, 2), (5, 6), (2, 6, 7), (7, 3), (3, 2)]),
    ]
    for subscripts, shapes in cases:
        arrays = [np.ones(shape, np.float32) for shape in shapes]
        program = glassjax.make_jaxpr(lambda *xs, text=subscripts: gnp.einsum(text, *xs))(*arrays)
        products = [eqn for eqn in program.jaxpr.eqns if str(eqn.primitive) == "dot_general"]
        assert len(products) == len(shapes) - 1
        for eqn in products:
            (of_x, of_y), _ = eqn.params["dimension_numbers"]
            x, y = eqn.invars
            assert len(of_x) > 0
            if x in program.jaxpr.invars:
                assert x.aval.ndim < 3 or of_x == tuple(range(x.aval.ndim))[-len(of_x) :]
            if y in program.jaxpr.invars:
                assert y.aval.ndim < 3 or of_y == tuple(range(len(of_y)))


def test_wrong_labels():
    for subscripts, *shapes in [
        ("ij,jk->ik", (2, 3)),
        ("ij->ik", (2, 3)),
        ("ij->ii", (2, 3)),
        ("ijk->i", (2, 3)),
        ("i->i", (2, 3)),
        ("ij,jk->ik", (2, 3), (4, 5)),
    ]:
        xs = [draw(shape) for shape in shapes]
        with pytest.raises(ValueError, match="einsum"):
            pytest.fail(f"{subscripts}: {gnp.einsum(subscripts, *xs)}")
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


def test_products():
    def program(n, lib, name, a, b):
        f = getattr(n, name)
        typed = [(draw(a, x), draw(b, y, 1)) for x, y in ((C64, C64), (I32, F32))]
        x, y = draw(a), draw(b, seed=1)
        batch = lib.vmap(f)(np.stack([x, -x]), np.stack([y, 3 * y]))
        return [*(f(*args) for args in typed), f(x, y), batch, *lib.jacrev(f, (0, 1))(x, y)]

    assert_all_same({case: lambda n, lib, case=case: program(n, lib, *case) for case in PRODUCTS})


def test_types_of_products():
    narrow = draw((2, 3), BF16), draw((3, 4), BF16)

    def slope(n, lib, dtype):
        x, y = narrow
        return lib.grad(lambda x: n.sum(n.matmul(x, y, preferred_element_type=dtype)))(x)

    programs = {
        f"of {x} and {y}": lambda n, lib, x=x, y=y: n.dot(x, y)
        for x, y in [(2.0, 3.0), (2, 3.0), (np.ones(2, np.int32), 2.0)]
    }
    for dtype in (np.float32, None):
        programs[f"to {dtype}"] = lambda n, lib, dtype=dtype: slope(n, lib, dtype)
    with jax.enable_x64(False), glassjax.enable_x64(False):
        assert_all_same(programs)


def test_axes_of_products():
    cube, x, y = draw((3, 3, 3), F32), draw((3, 3), F32), draw((3, 3), F32, 1)
    programs = {
        f"tensordot {axes}": lambda n, lib, axes=axes: n.tensordot(cube, x, axes=axes)
        for axes in [0, 2, ([1, 2], [1, 0]), ((-1,), (0,))]
    }
    for options in [{"axis": 0}, {"axisa": 0, "axisb": 1, "axisc": 0}]:
        programs[f"cross {options}"] = lambda n, lib, how=options: n.cross(x, y, **how)
    assert_all_same(programs)


def test_cross_products_in_a_plane_are_refused():
    """As by the newest numpy and JAX; an older JAX takes two elements for three."""
    for x, y in [((4, 2), (4, 3)), ((4, 3), (4, 2)), ((2,), (2,))]:
        with pytest.raises(ValueError, match="cross: vectors must have 3 elements"):
            gnp.cross(draw(x), draw(y))


@pytest.mark.parametrize("precision", [None, ("default", "highest")])
def test_precision_is_kept_by_every_transformation(precision):
    x, y = draw((2, 3), F32), draw((3, 4), F32)
    theirs_precision = (
        precision
        if precision != ("default", "highest")
        else (jax.lax.Precision.DEFAULT, jax.lax.Precision.HIGHEST)
    )

    def f(x, y):
        return gnp.sum(gnp.dot(x, y, precision=precision))

    program = glassjax.make_jaxpr(glassjax.vmap(glassjax.grad(f, (0, 1))))(x[None], y[None])
    products = str(program).count("dot_general[")
    assert products > 1
    assert str(program).count("precision=") == (0 if precision is None else products)
    ours = lax.dot(x, y, precision=precision)
    assert_same([ours], [jax.lax.dot(x, y, precision=theirs_precision)], 1e-5)
    assert {p.name for p in lax.Precision} == {p.name for p in jax.lax.Precision}


def test_precision_of_a_block_of_statements():
    x, y = draw((2, 3), F32), draw((3, 4), F32)
    with glassjax.default_matmul_precision("float32"):
        assert "HIGHEST" in str(glassjax.make_jaxpr(gnp.dot)(x, y))
    assert "HIGHEST" not in str(glassjax.make_jaxpr(gnp.dot)(x, y))
    for preset in list(lax.DotAlgorithmPreset)[:3]:
        assert lax.dot(x, y, precision=preset).shape == (2, 4)
    with pytest.raises(ValueError, match="precision must be"):
        gnp.dot(x, y, precision="best")


def test_batch_matmul_and_dot_general():
    x, y = draw((2, 3, 4), F32), draw((2, 4, 5), F32)
    numbers = (((2,), (1,)), ((0,), (0,)))
    narrow = np.arange(12, dtype=np.int8).reshape(3, 4) * 10
    assert_all_same(
        {
            "batch_matmul": lambda n, lib: lib.lax.batch_matmul(x, y),
            "dot_general": lambda n, lib: lib.lax.dot_general(
                x, y, numbers, preferred_element_type=np.float32
            ),
            "dot": lambda n, lib: lib.lax.dot(narrow, narrow.T, preferred_element_type=np.int32),
        }
    )


def test_einsum_of_booleans_is_boolean():
    """What has no product in it was summed as integers."""
    x = np.array([[True, True, True], [True, False, True], [False, False, False]])
    programs = {}
    for subscripts in ["ij->i", "ij->", "ii", "ii->i", "ij,jk->ik", "ij,k->i"]:
        xs = [x, x[1] if subscripts.endswith(",k->i") else x][: subscripts.count(",") + 1]
        for dtype in (None, "float32", "int32"):
            programs[subscripts, dtype] = lambda n, lib, by=subscripts, xs=xs, dtype=dtype: (
                n.einsum(by, *xs, preferred_element_type=dtype)
            )
    assert_all_same(programs)


def test_ways_to_optimize_that_there_are_not():
    """They were taken for a greedy search, or gave an error of a list's."""
    x = np.ones((2, 2))
    for optimize in ["foo", 3, [(0, 5)], [(0, 1)], ["einsum_path", (0, 1), (0, 1)]]:
        with pytest.raises((KeyError, TypeError, IndexError, ValueError, AssertionError)):
            jnp.einsum("ij,jk,kl->il", x, x, x, optimize=optimize)
        with pytest.raises((TypeError, ValueError), match=r"einsum: .*optimize"):
            gnp.einsum("ij,jk,kl->il", x, x, x, optimize=optimize)


def test_an_operand_that_is_no_array_is_named():
    for einsum in (gnp.einsum, gnp.einsum_path, glassjax.jit(gnp.einsum, static_argnums=(0, 1))):
        with pytest.raises(TypeError, match=r"^einsum: operand 0: expected an array.* 'abc'"):
            einsum("i,i->i", "abc", np.ones(3))


def draw_signal(shape, seed=0, dtype=np.float64):
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype(dtype)


@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_convolve_and_correlate(name):
    ours, theirs = getattr(gnp, name), getattr(jnp, name)
    x, y, whole = draw_signal((6,)), draw_signal((3,)), np.arange(4)

    def everything(lib, f):
        sizes = zip([(5, 3), (3, 5), (4, 4)], ["full", "same", "valid"], strict=True)
        return [
            *[f(draw_signal((m,)), draw_signal((n,)), mode=mode) for (m, n), mode in sizes],
            f(x, y),
            f(x + 1j, y * 2j),
            f(whole, whole),
            *lib.jacrev(f, (0, 1))(x, y),
        ]

    found = glassjax.jit(lambda: everything(glassjax, ours))()
    assert_same(found, jax.jit(lambda: everything(jax, theirs))(), 1e-12)


@pytest.mark.newest_jax
def test_a_contraction_takes_the_fewest_operations():
    shapes = (10, 20), (20, 30), (30, 40), (40, 5), (5, 6)
    arrays = [np.ones(shape, np.float32) for shape in shapes]
    path, _ = gnp.einsum_path("ab,bc,cd,de,ef->af", *arrays)
    labels, work = [set(pair) for pair in ("ab", "bc", "cd", "de", "ef")], 0
    sizes = dict(zip("abcdef", (10, 20, 30, 40, 5, 6), strict=True))
    for step in path:
        x, y = (labels.pop(i) for i in sorted(step, reverse=True))
        work += np.prod([sizes[c] for c in x | y])
        labels.append(x ^ y)
    assert work == 40 * 30 * 5 + 30 * 20 * 5 + 20 * 10 * 5 + 10 * 5 * 6
