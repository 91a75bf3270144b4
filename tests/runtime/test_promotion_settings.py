"""Settings that forbid promotion apply to users' operands only, beside JAX.

What JAX accepts under `numpy_dtype_promotion("strict")` and `numpy_rank_promotion("raise")`, the
library accepts, whatever it computes inside. What users must not bring together is refused.
Nothing is compiled here: both libraries trace.
"""

import functools
import importlib
import inspect
import warnings

import jax
import jax.numpy as jnp
import jax.scipy.cluster
import jax.scipy.fft
import jax.scipy.integrate
import jax.scipy.linalg
import jax.scipy.signal
import jax.scipy.special
import jax.scipy.stats
import numpy as np
import pytest
from shares import one_in

import glassjax
import glassjax.numpy as gnp
import glassjax.scipy
from glassjax.errors import TypePromotionError

MODULES = (
    "numpy numpy.linalg numpy.fft lax lax.linalg nn scipy.special scipy.linalg scipy.signal "
    "scipy.fft scipy.integrate scipy.stats"
)
DISTRIBUTIONS = (
    "bernoulli beta betabinom binom cauchy chi2 dirichlet expon gamma gennorm geom gumbel_l "
    "gumbel_r laplace logistic multinomial multivariate_normal nbinom norm pareto poisson t "
    "truncnorm uniform vonmises wrapcauchy"
)

row = np.linspace(0.1, 0.9, 3, dtype=np.float32)
rows = np.linspace(0.2, 0.8, 6, dtype=np.float32).reshape(2, 3)
square = np.float32(2) * np.eye(3, dtype=np.float32) + row
half = row.astype(np.float16)
ints = np.array([2, 0, 1], np.int32)
bools = np.array([True, False, True])

# Arguments by their number.
ARGUMENTS = {
    1: [(row,), (ints,), (bools,), (square,), (0.5,)],
    2: [
        (row, row), (row, 0.5), (row, 2), (row, ints), (ints, ints), (ints, 2.0), (row, half),
        (rows, row), (rows, 1), (square, square), (bools, row),
    ],
    3: [
        (row, row, row), (bools, row, row), (bools, row, ints), (row, 0.0, 1.0), (rows, row, row),
        (row, row, half), (row, 1, 2),
    ],
    4: [(row, row, row, row), (row, 1.0, 2.0, 3.0), (ints, ints, row, row), (rows, row, row, row)],
}  # fmt: skip

# JAX refuses these in its own insides: what they are given meets nothing else that is given.
REFUSED_INSIDE_OF_JAX = {
    "numpy.interp",
    "numpy.linalg.matrix_rank",
    "numpy.select",
    "numpy.unravel_index",
    "numpy.unwrap",
    "scipy.special.sph_harm_y",
}


def find(library, name):
    for part in name.split("."):
        library = getattr(library, part)
    return library


def functions():
    """The names of the functions that both libraries have, whatever they are of."""
    for module in [*MODULES.split(), *(f"scipy.stats.{name}" for name in DISTRIBUTIONS.split())]:
        ours, theirs = find(glassjax, module), find(jax, module)
        for name in sorted(set(dir(ours)) & set(dir(theirs))):
            both = getattr(ours, name), getattr(theirs, name)
            is_function = all(callable(f) and not isinstance(f, type) for f in both)
            if is_function and not name.startswith("_") and numbers_of_arguments(both[0]):
                yield f"{module}.{name}"


def numbers_of_arguments(function):
    """How many positional arguments a function may be given: as few as possible, and one more."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return []
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    least = max(1, sum(p.default is p.empty for p in positional))
    most = 4 if any(p.kind is p.VAR_POSITIONAL for p in parameters) else len(positional)
    return [n for n in (least, least + 1) if n <= min(most, 4)]


def errors_of(library, programs, dtypes="strict", ranks="raise"):
    """What tracing each program under the settings raises; None where it is accepted."""
    errors = []

    def trace():
        for program in programs:
            try:
                program()
                errors.append(None)
            except Exception as error:
                errors.append(error)

    with (
        library.numpy_dtype_promotion(dtypes),
        library.numpy_rank_promotion(ranks),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        library.eval_shape(trace)
    return errors


def is_refusal(error):
    words = "implicit dtype promotion", "rank promotion", "numpy_dtype_promotion", "rank_promotion"
    return type(error).__name__ == "TypePromotionError" or any(word in str(error) for word in words)


@functools.cache
def may_not_meet(count):
    """Which of the arguments of that number the settings forbid to be added."""

    def total(args):
        return lambda: [x + y for x in map(jnp.asarray, args) for y in args]

    return [is_refusal(error) for error in errors_of(jax, map(total, ARGUMENTS[count]))]


def what_meets_wrongly(name):
    """The arguments for which a function refuses what JAX's accepts, or accepts the forbidden."""

    def errors(library, count, *settings):
        function = find(library, name)
        programs = [lambda args=args: function(*args) for args in ARGUMENTS[count]]
        return errors_of(library, programs, *settings)

    for count in numbers_of_arguments(find(glassjax, name)):
        ours, theirs = errors(glassjax, count), errors(jax, count)
        ours_without = None
        for i, args in enumerate(ARGUMENTS[count]):
            if theirs[i] is None:
                if is_refusal(ours[i]):
                    yield args, ours[i]
            elif (
                is_refusal(theirs[i])
                and name not in REFUSED_INSIDE_OF_JAX
                and may_not_meet(count)[i]
                and not is_refusal(ours[i])
            ):
                ours_without = ours_without or errors(glassjax, count, "standard", "allow")
                if ours_without[i] is None:
                    yield args, "accepted"


@pytest.mark.parametrize("part", one_in(15, range(15)))
def test_arguments_that_may_meet_and_that_may_not(part):
    wrong = {name: list(what_meets_wrongly(name)) for name in [*functions()][part::15]}
    wrong = {name: found for name, found in wrong.items() if found}
    assert not wrong, "\n".join(f"{name}: {found}" for name, found in wrong.items())


# The tables of programs of the families.
FAMILIES = (
    "lax/test_dynamic_slicing lax/test_shapes numpy/test_array_methods numpy/test_creation "
    "numpy/test_differences numpy/test_elementwise numpy/test_grids numpy/test_padding "
    "numpy/test_polynomials numpy/test_rearranging numpy/test_reductions numpy/test_sets "
    "numpy/test_shapes numpy/test_sorting numpy/test_statistics numpy/test_taking "
    "numpy/test_ufuncs numpy/test_vectorize runtime/test_ops"
)


@functools.cache
def families_of(file):
    return importlib.import_module(f"tests.{file.replace('/', '.')}").FAMILIES


@pytest.mark.parametrize(
    ("file", "family"),
    one_in(6, [(file, family) for file in FAMILIES.split() for family in families_of(file)]),
)
def test_insides_meet_as_they_like(file, family):
    programs = families_of(file)[family]
    for settings in (("strict", "allow"), ("standard", "raise")):
        theirs = errors_of(jax, [lambda p=p: p(jnp, jax) for p in programs], *settings)
        ours = errors_of(glassjax, [lambda p=p: p(gnp, glassjax) for p in programs], *settings)
        both = enumerate(zip(ours, theirs, strict=True))
        wrong = [(i, x) for i, (x, y) in both if y is None and is_refusal(x)]
        assert not wrong, "\n".join(f"{i}: {error}" for i, error in wrong)


# What once failed in its insides, or was accepted.
INSIDES = {
    "all": lambda n, lib: n.all(rows),
    "isin": lambda n, lib: n.isin(ints, ints[:2]),
    "intersect1d": lambda n, lib: n.intersect1d(ints, ints, size=3),
    "median": lambda n, lib: n.median(rows, 0),
    "argsort": lambda n, lib: n.argsort(rows),
    "reduceat": lambda n, lib: n.subtract.reduceat(row, ints[:2]),
    "outer": lambda n, lib: n.subtract.outer(row, row),
    "resize": lambda n, lib: lib.image.resize(rows, (4, 5), "bilinear"),
    "dirichlet": lambda n, lib: lib.scipy.stats.dirichlet.logpdf(row, row),
    "istft": lambda n, lib: lib.scipy.signal.istft(square + 0j, nperseg=4),
    "stft": lambda n, lib: lib.scipy.signal.stft(row, nperseg=2)[2],
    "expm": lambda n, lib: lib.scipy.linalg.expm(square),
    "choice": lambda n, lib: lib.random.choice(lib.random.key(0), 5, (3,)),
    "categorical": lambda n, lib: lib.random.categorical(lib.random.key(0), rows),
    "attention": lambda n, lib: lib.nn.dot_product_attention(*[rows.reshape(1, 2, 1, 3)] * 3),
    "gradient of median": lambda n, lib: lib.grad(lambda x: n.median(x) * 2)(rows),
    "hessian": lambda n, lib: lib.hessian(lambda x: n.sum(lib.nn.softmax(x) * x))(row),
    "gradient of expm": lambda n, lib: lib.grad(lambda x: lib.scipy.linalg.expm(x).sum())(square),
    "vmap": lambda n, lib: lib.vmap(n.isin, (0, None))(np.stack([ints, ints]), ints),
    "solve": lambda n, lib: lib.jacrev(n.linalg.solve)(square, row),
    "scan": lambda n, lib: lib.lax.scan(lambda c, x: (c + x, n.all(x > 0)), 0.0, row)[0],
    "density": lambda n, lib: lib.scipy.stats.gaussian_kde(rows).logpdf(rows),
    "uniform": lambda n, lib: lib.random.uniform(lib.random.key(0), (3,), minval=2, maxval=5),
    "permutation": lambda n, lib: lib.random.permutation(lib.random.key(0), row),
    "orthogonal": lambda n, lib: lib.nn.initializers.orthogonal()(lib.random.key(0), (3, 3)),
    "cg": lambda n, lib: lib.scipy.sparse.linalg.cg(lambda x: n.matmul(square, x), row)[0],
    "product of ranks": lambda n, lib: n.asarray(rows) @ n.asarray(row) @ rows,
    "index": lambda n, lib: n.asarray(rows)[ints[:2], ints[:2]],
    "update": lambda n, lib: n.asarray(rows).at[:, ints].add(1.0),
}
TOGETHER = {
    "operator": lambda n, lib: n.asarray(ints) + row,
    "reflected": lambda n, lib: row * n.asarray(ints),
    "ranks": lambda n, lib: n.asarray(rows) < row,
    "product": lambda n, lib: n.asarray(rows) @ n.asarray(ints),
    "jit": lambda n, lib: lib.jit(lambda x: x - row)(ints),
    "jit of ranks": lambda n, lib: lib.jit(lambda x: n.hypot(x, row))(rows),
    "grad": lambda n, lib: lib.grad(lambda x: n.sum(x * ints))(row),
    "vmap": lambda n, lib: lib.vmap(lambda x: x + rows)(rows),
    "scan": lambda n, lib: lib.lax.scan(lambda c, x: (c, x + row), 0.0, ints),
    "cond": lambda n, lib: lib.lax.cond(True, lambda x: x + ints, lambda x: x + row, row),
    "while": lambda n, lib: lib.lax.while_loop(lambda x: n.all(x < ints), lambda x: x + 1, row),
    "checkpoint": lambda n, lib: lib.checkpoint(lambda x: x * row)(rows),
    "vectorize": lambda n, lib: n.vectorize(n.subtract)(rows, row),
    "vectorize by a signature": lambda n, lib: n.vectorize(n.dot, signature="(n),(n)->()")(
        rows, row
    ),
    "map of a function of the library": lambda n, lib: lib.lax.map(lambda i: n.add(i, row), ints),
    "where": lambda n, lib: n.where(bools, row, ints),
    "concatenate": lambda n, lib: n.concatenate([row, ints]),
    "append": lambda n, lib: n.append(row, ints),
    "concatenate all": lambda n, lib: n.concatenate([row, ints], None),
    "stack": lambda n, lib: n.stack([row, ints]),
    "hstack": lambda n, lib: n.hstack([row, ints]),
    "vstack": lambda n, lib: n.vstack([row, ints]),
    "dstack": lambda n, lib: n.dstack([row, ints]),
    "column_stack": lambda n, lib: n.column_stack([row, ints]),
    "block": lambda n, lib: n.block([row, ints]),
    "union1d": lambda n, lib: n.union1d(row, ints, size=3),
    "isin": lambda n, lib: n.isin(row, ints),
    "setdiff1d": lambda n, lib: n.setdiff1d(row, ints, size=3),
    "at": lambda n, lib: n.asarray(ints).at[0].add(row[0]),
    "clip": lambda n, lib: n.clip(row, ints),
    "tensordot": lambda n, lib: n.tensordot(rows, ints, 1),
    "kron": lambda n, lib: n.kron(row, ints),
    "convolve": lambda n, lib: n.convolve(row, ints),
    "interp": lambda n, lib: n.interp(ints, row, row),
    "solve": lambda n, lib: n.linalg.solve(square, ints),
    "logsumexp": lambda n, lib: lib.nn.logsumexp(row, b=ints),
    "average": lambda n, lib: n.average(row, weights=ints),
    "einsum": lambda n, lib: n.einsum("i,i", row, ints),
    "pdf": lambda n, lib: lib.scipy.stats.norm.pdf(row, ints),
    "result_type": lambda n, lib: n.zeros(2, n.result_type(row, ints)),
}


def errors_by_name(library, numpy, programs, *settings):
    calls = [lambda program=program: program(numpy, library) for program in programs.values()]
    return dict(zip(programs, errors_of(library, calls, *settings), strict=True))


def test_the_library_keeps_its_own_rules():
    for library, numpy in ((jax, jnp), (glassjax, gnp)):
        errors = errors_by_name(library, numpy, INSIDES)
        assert {name: error for name, error in errors.items() if error is not None} == {}


def test_what_users_bring_together_is_refused():
    for library, numpy in ((jax, jnp), (glassjax, gnp)):
        errors = errors_by_name(library, numpy, TOGETHER, "standard", "allow")
        assert {name: error for name, error in errors.items() if error is not None} == {}
        errors = errors_by_name(library, numpy, TOGETHER)
        assert {name: error for name, error in errors.items() if not is_refusal(error)} == {}


def test_evaluation_is_refused_too_and_works_after():
    x, y = gnp.asarray(ints), gnp.asarray(row)
    for program in (lambda: x + y, lambda: gnp.add(x, y), lambda: glassjax.jit(gnp.hypot)(x, y)):
        with glassjax.numpy_dtype_promotion("strict"):
            with pytest.raises(TypePromotionError):
                program()
            assert gnp.median(y).dtype == y.dtype
        assert program().dtype == y.dtype


def test_ranks_that_differ_are_told_of_at_each_line():
    """A warning was once given for the first of several lines only."""
    x, y = gnp.asarray(rows), gnp.asarray(row)

    def f(x, y):
        first = x + y
        return first * (x + y)

    with glassjax.numpy_rank_promotion("warn"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        glassjax.make_jaxpr(f)(x, y)
    lines = {(warning.filename, warning.lineno) for warning in caught}
    assert len(lines) == 2
    assert {file for file, _ in lines} == {__file__}
