"""Programs lowered for an absent GPU call the same routines as JAX's."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tables import for_each

import glassjax
import glassjax.numpy as gnp
from glassjax import lax
from glassjax.xla import clients

ON_CUDA = {"lowering_platforms": ("cuda",)}


CALL = re.compile(r"custom_call @(\w+)\(.*?\) \{(.*)\} : (\(.*)$", re.MULTILINE)


FIELDS = ("operand_layouts", "output_operand_aliases", "result_layouts")


def field(text, name):
    """The list of an attribute, in one notation; empty if the attribute is not there."""
    _, _, rest = text.partition(f"{name} = [")
    depth = 1
    for end, letter in enumerate(rest):
        depth += (letter == "[") - (letter == "]")
        if not depth:
            return re.sub(r"dense<\[?([\d, ]*)\]?>", r"dense<\1>", rest[:end])
    return ""


def configuration(text):
    found = re.search(r"(?:mhlo\.)?backend_config = \{(.*?)\}", text)
    return sorted(found[1].split(", ")) if found else []


def calls(text):
    """The routines that a module calls: names, attributes, layouts, types."""
    return [
        (name, configuration(attributes), *[field(attributes, each) for each in FIELDS], types)
        for name, attributes, types in CALL.findall(text)
    ]


def assert_same_calls(program, *shapes, dtype="float32"):
    """Both libraries write the same calls of a program of `lax` and `jnp`, at least one."""
    types = [np.zeros(s, dtype) if isinstance(s, tuple) else s for s in shapes]
    ours = glassjax.jit(lambda *args: program(lax.linalg, gnp, *args)).trace(*types)
    theirs = jax.jit(lambda *args: program(jax.lax.linalg, jnp, *args)).trace(*types)
    expected = calls(theirs.lower(**ON_CUDA).as_text())
    assert expected
    assert calls(ours.lower(**ON_CUDA).as_text()) == expected


LARGE = 1100  # more than the matrices for which Jacobi's rotations are chosen


DECOMPOSITIONS = {
    "cholesky": (lambda la, np_, x: la.cholesky(x, symmetrize_input=False), [(2, 3, 3)]),
    "lu": (lambda la, np_, x: la.lu(x), [(2, 4, 3)]),
    "qr": (lambda la, np_, x: la.qr(x, full_matrices=False), [(2, 4, 3)]),
    "pivoted": (lambda la, np_, x: la.qr(x, pivoting=True), [(4, 3)]),
    "product": (lambda la, np_, x, taus: la.householder_product(x, taus), [(4, 3), (3,)]),
    "ormqr": (lambda la, np_, a, taus, c: la.ormqr(a, taus, c), [(4, 4), (4,), (4, 5)]),
    "of transposed": (
        lambda la, np_, a, taus, c: la.ormqr(a, taus, c, left=False, transpose=True),
        [(2, 4, 4), (2, 4), (2, 5, 4)],
    ),
    "eigh": (lambda la, np_, x: la.eigh(x, symmetrize_input=False), [(5, 3, 3)]),
    "upper eigh": (lambda la, np_, x: la.eigh(x, lower=False, symmetrize_input=False), [(3, 3)]),
    "eig": (lambda la, np_, x: la.eig(x), [(2, 4, 4)]),
    "right eig": (lambda la, np_, x: la.eig(x, compute_left_eigenvectors=False), [(4, 4)]),
    "tridiagonal": (lambda la, np_, x: la.tridiagonal(x), [(2, 4, 4)]),
    "upper tridiagonal": (lambda la, np_, x: la.tridiagonal(x, lower=False), [(4, 4)]),
    "tall svd": (lambda la, np_, x: la.svd(x), [(2, 4, 3)]),
    "wide svd": (lambda la, np_, x: la.svd(x, full_matrices=False), [(3, 4)]),
    "singular values": (lambda la, np_, x: la.svd(x, compute_uv=False), [(4, 3)]),
    "large svd": (lambda la, np_, x: la.svd(x), [(LARGE, 4)]),
    "large wide svd": (lambda la, np_, x: la.svd(x, full_matrices=False), [(2, 4, LARGE)]),
    "large values": (lambda la, np_, x: la.svd(x, compute_uv=False), [(2, LARGE, 4)]),
    "tridiagonal system": (
        lambda la, np_, dl, d, du, b: la.tridiagonal_solve(dl, d, du, b),
        [(2, 3), (2, 3), (2, 3), (2, 3, 2)],
    ),
}


@for_each("dtype", ["float32", "complex128"])
@for_each("name", DECOMPOSITIONS)
def test_decompositions_are_those_of_cusolver(name, dtype):
    if name in ("eig", "right eig") and clients._place_of_cuda() is not None:
        pytest.skip("JAX then asks cuSOLVER for its version, and may choose another routine")
    program, shapes = DECOMPOSITIONS[name]
    assert_same_calls(program, *shapes, dtype=dtype)


def test_pivots_become_a_permutation_in_a_kernel():
    pivots = np.zeros((2, 3), "int32")
    assert_same_calls(lambda la, np_, x: la.lu_pivots_to_permutation(x, 5), pivots)


def test_singular_tridiagonal_systems_are_for_a_kernel():
    def program(la, np_, dl, d, du, b):
        return la.tridiagonal_solve(dl, d, du, b, perturb_singular=True)

    assert_same_calls(program, (3,), (3,), (3,), (3, 2))


WITHOUT_ROUTINES = {
    "triangular_solve": lambda np_: lambda a, b: np_.linalg.solve(np_.tril(a), b),
    "det": lambda np_: lambda a, b: np_.linalg.det(a) + b,
    "fft": lambda np_: lambda a, b: np_.fft.rfft2(a) + b[0, 0],
    "sort": lambda np_: lambda a, b: (np_.sort(a), np_.argsort(b)),
    "matmul": lambda np_: lambda a, b: np_.matmul(a, b, precision="highest"),
}


def operations(text):
    return set(re.findall(r"stablehlo\.(fft|sort|dot_general|triangular_solve|cholesky)\b", text))


@for_each("name", WITHOUT_ROUTINES)
def test_what_xla_does_itself_is_the_same_on_all_platforms(name):
    a = np.zeros((3, 3))
    programs = WITHOUT_ROUTINES[name]
    ours = glassjax.jit(programs(gnp)).trace(a, a).lower(**ON_CUDA).as_text()
    theirs = jax.jit(programs(jnp)).trace(a, a).lower(**ON_CUDA).as_text()
    assert "lapack" not in ours
    assert operations(ours) == operations(theirs)
    assert {call[0] for call in calls(ours)} == {call[0] for call in calls(theirs)}


@for_each("name", ["schur", "hessenberg"])
def test_decompositions_without_a_routine_are_refused(name):
    x = np.zeros((3, 3))
    theirs = jax.jit(getattr(jax.lax.linalg, name)).trace(x)
    with pytest.raises(NotImplementedError):
        theirs.lower(**ON_CUDA)
    ours = glassjax.jit(getattr(lax.linalg, name)).trace(x)
    with pytest.raises(NotImplementedError, match=f"{name} has no routine for the platform 'cuda'"):
        ours.lower(**ON_CUDA)


def test_python_functions_are_called_by_the_callback_of_the_platform():
    """JAX refuses to lower callbacks for platforms without a client."""
    text = (
        glassjax.jit(lambda x: glassjax.debug.print("{}", x)).trace(1.0).lower(**ON_CUDA).as_text()
    )
    assert "@xla_ffi_python_gpu_callback(" in text
    assert "cpu" not in text


def test_a_program_for_another_platform_is_not_compiled_for_this_one():
    """It would fail in XLA, as a target of a custom call that nobody has registered."""
    lowered = glassjax.jit(factor).trace(np.eye(2)).lower(**ON_CUDA)
    with pytest.raises(ValueError, match="lowered for the platform 'cuda', and its devices are"):
        lowered.compile()


def test_a_lowered_module_is_for_one_platform():
    """JAX writes a module of one argument more, and fails to compile it."""
    traced = glassjax.jit(factor).trace(np.eye(2))
    with pytest.raises(ValueError, match=r"is for one platform.* Lower for each separately"):
        traced.lower(lowering_platforms=("cuda", "cpu"))
    with pytest.raises(ValueError, match="lowering_platforms must be among 'cpu'"):
        traced.lower(lowering_platforms=("cpu", "abacus"))
    here, there = (traced.lower(lowering_platforms=each).as_text() for each in ((), ("cuda",) * 2))
    assert here == traced.lower().as_text()
    assert there == traced.lower(**ON_CUDA).as_text() != here


def factor(x):
    return gnp.linalg.cholesky(x)


def test_programs_are_exported_for_a_gpu():
    def program(lib):
        return lib.jit(lambda x: lib.numpy.linalg.cholesky(x @ x.mT))

    x = np.zeros((3, 3), "float32")
    ours = glassjax.export.export(program(glassjax), platforms=["cuda"])(x)
    theirs = jax.export.export(program(jax), platforms=["cuda"])(x)
    loaded = glassjax.export.deserialize(ours.serialize())
    assert ours.platforms == loaded.platforms == theirs.platforms == ("cuda",)
    text = glassjax.jit(loaded.call).trace(x).lower(**ON_CUDA).as_text()
    assert {call[0] for call in calls(text)} == {"cusolver_potrf_ffi"}
    for exported in (ours, loaded, theirs):
        with pytest.raises(ValueError, match="cuda"):
            exported.call(x)


# Programs exported for several platforms


@for_each(
    "platforms",
    [None, [], ["cpu", "cuda"], ("cuda", "cpu"), ["cpu"] * 2, ["tpu", "cpu", "rocm", "cuda"]],
)
def test_platforms_of_an_export(platforms):
    x = np.arange(3, dtype="float32")
    found = []
    for lib in (glassjax, jax):
        exported = lib.export.export(lib.jit(lib.numpy.sin), platforms=platforms)(x)
        if lib is glassjax:
            exported = lib.export.deserialize(exported.serialize(vjp_order=1))
        again = lib.export.export(lib.jit(exported.call), platforms=platforms)(x)
        found.append([each.platforms for each in (exported, exported.vjp(), again)])
        slope = lib.grad(lambda x, f=exported.call: f(x).sum())
        functions = exported.call, again.call, slope
        results = lib.jit(lambda x, functions=functions: [f(x) for f in functions])(x)
        np.testing.assert_allclose(results, [np.sin(x), np.sin(x), np.cos(x)], rtol=1e-6)
        np.testing.assert_allclose(exported.call(x), np.sin(x), rtol=1e-6)
    assert found[0] == found[1]


BOTH = ("cpu", "cuda")


def of_two_platforms(lib, x):
    return lib.lax.platform_dependent(x, cpu=lib.numpy.sin, cuda=lib.numpy.cos)


PROGRAMS = {
    "cholesky": lambda lib, x: lib.numpy.linalg.cholesky(x),
    "svd": lambda lib, x: tuple(lib.numpy.linalg.svd(x)),
    "solve": lambda lib, x: lib.numpy.linalg.solve(x, x),
    "fft": lambda lib, x: lib.numpy.fft.fft2(x),
    "platform_dependent": lambda lib, x: lib.lax.platform_dependent(
        x, cpu=lib.numpy.linalg.cholesky, default=lambda x: lib.numpy.linalg.qr(x)[1]
    ),
    "gradient": lambda lib, x: lib.grad(lambda x: lib.numpy.linalg.cholesky(x).sum())(x),
    "scan": lambda lib, x: lib.lax.scan(
        lambda c, _: (of_two_platforms(lib, c), None), x, None, length=2
    )[0],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_platform_gets_its_own_program(name):
    """It calls the routines that JAX's calls; other platforms' branches go when it is compiled."""
    x = np.diag(np.array([1, 2, 4], "float32")) + 1
    jitted = {lib: lib.jit(lambda x, lib=lib: PROGRAMS[name](lib, x)) for lib in (glassjax, jax)}
    ours, theirs = (lib.export.export(f, platforms=BOTH)(x) for lib, f in jitted.items())
    loaded = glassjax.export.deserialize(ours.serialize())
    results = zip(jax.tree.leaves(loaded.call(x)), jax.tree.leaves(theirs.call(x)), strict=True)
    for found, expected in results:
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
    names = r"custom_call @(?!shape_assertion)\w+|stablehlo.(?:sine|cosine|fft)\b"
    called = set(re.findall(names, loaded.mlir_module()))
    for platform in loaded.platforms:
        alone = jax.export.export(jitted[jax], platforms=[platform])(x).mlir_module()
        assert set() != set(re.findall(names, alone)) <= called
    assert "cusolver" not in glassjax.jit(loaded.call).lower(x).compile().as_text()


def test_what_is_not_for_each_of_the_platforms_is_not_exported():
    x = np.eye(3)
    for lib in (glassjax, jax):
        schur = lib.jit(lib.lax.linalg.schur)
        lib.export.export(schur, platforms=["cpu"])(x)
        with pytest.raises(NotImplementedError, match=r"schur.*cuda"):
            lib.export.export(schur, platforms=BOTH)(x)
        chosen = lib.jit(lambda x, lib=lib: of_two_platforms(lib, x))
        with pytest.raises(NotImplementedError, match="tpu"):
            lib.export.export(chosen, platforms=[*BOTH, "tpu"])(x)
        exported = lib.export.export(chosen, platforms=BOTH)(x)
        with pytest.raises(ValueError, match="tpu"):
            lib.export.export(lib.jit(exported.call), platforms=[*BOTH, "tpu"])(x)
        with pytest.raises(ValueError, match=r"cuda.*cpu"):
            lib.export.export(chosen, platforms=["cuda"])(x).call(x)
    branches = glassjax.jit(lambda x: of_platforms(glassjax, x))  # of which JAX lowers all for all
    glassjax.export.export(branches, platforms=BOTH)(x)


def test_without_the_check_of_the_platform_the_first_program_runs_elsewhere():
    x = np.ones((2, 2), "float32")
    for lib in (glassjax, jax):
        for platforms, expected in (
            (["cuda", "tpu"], 3),
            (["tpu", "cuda"], 4),
            (["tpu", "cpu"], 2),
        ):
            exported = lib.export.export(
                lib.jit(
                    lambda x, lib=lib: lib.lax.platform_dependent(
                        x, cpu=lambda x: 2 * x, cuda=lambda x: 3 * x, default=lambda x: 4 * x
                    )
                ),
                platforms=platforms,
                disabled_checks=[lib.export.DisabledSafetyCheck.platform()],
            )(x)
            np.testing.assert_array_equal(exported.call(x), expected * x)


# Functions by platform


def of_platforms(lib, x):
    """`x` is doubled on a CPU, tripled on a GPU; what would not be lowered is not there chosen."""
    return lib.lax.platform_dependent(
        x,
        cpu=lambda x: lib.lax.linalg.schur(x)[0] * 0 + 2 * x,
        cuda=lambda x: lib.lax.linalg.cholesky(x) * 0 + 3 * x,
        default=lambda x: x,
    )
