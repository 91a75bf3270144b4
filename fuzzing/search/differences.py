"""The differences from JAX that are meant, each with its reason."""

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fuzzing.search import comparing
from fuzzing.search.comparing import Difference, Leaf
from fuzzing.search.conditions import (
    DIFFERENTIATE,
    Applies,
    Equates,
    as_numpy_gives,
    before_others,
    called_with,
    in_programs_of,
    is_weak,
    narrowed,
    of_derivatives,
    of_each_leaf,
    tuples_for_lists,
    under,
    unless_lax_refuses,
    where_called,
    where_given,
    where_jax_raises,
    where_twice_differentiated,
    where_under,
    where_values,
    where_we_raise,
    where_weights_differ,
)
from fuzzing.search.programs import Program
from fuzzing.search.running import libraries, made, quiet_numpy, result_of
from fuzzing.search.transformations import is_inexact, is_key


@dataclass(frozen=True)
class Deliberate:
    """A class of differences: why it is meant, and what belongs to it.

    A difference of types, or of one result, is taken out of what JAX gave before the rest is
    compared: `equates`, given the program and what glassjax and JAX gave, returns what JAX's result
    would be without it. Others excuse a program: `applies` is given the difference that was found,
    too.
    """

    reason: str
    applies: Applies | None = None
    equates: Equates | None = None


def where_weak(flags_of: Callable[[Program], list[bool]]) -> Equates:
    """JAX's leaves of inexact numbers as weak as ours, where ours are as the flags say.

    These are given again and again.
    """

    def changed(program: Program, ours: Any, theirs: Any) -> Any:
        if comparing.difference(ours, theirs) is None:
            return theirs
        flags = flags_of(program)
        law = itertools.cycle(flags)

        def change(x: Leaf, y: Leaf) -> Leaf:
            if not flags or y.dtype not in comparing.TOLERANCES:
                return y
            return replace(y, weak=x.weak) if x.weak == next(law) else y

        are_beside = not WITH_TANGENTS.isdisjoint(program.transformations)
        return (of_each_leaf if are_beside else of_derivatives)(change)(program, ours, theirs)

    return changed


def weak_arguments(program: Program) -> list[bool]:
    """Which inexact arguments are of a weak type; those mapped over are not, unless numbers."""
    _, jax = libraries()
    is_mapped = any(name in MAPS for name in program.transformations)
    with jax.enable_x64(program.x64), quiet_numpy():
        args = [x for x in made(program, jax)[1] if not is_key(jax, x) and is_inexact(jax, x)]
    return [is_weak(x) and not (is_mapped and hasattr(x, "shape")) for x in args]


def weak_results(program: Program) -> list[bool]:
    """Which inexact results of a program are of a weak type in JAX, without their tangents."""
    names = tuple(name for name in program.transformations if name not in WITH_TANGENTS)
    leaves = comparing.leaves(result_of(replace(program, transformations=names), libraries()[1]))
    return [bool(each.weak) for each in leaves if each.dtype in comparing.TOLERANCES]


def is_of_values(program: Program, found: Difference, ours: Any, theirs: Any) -> bool:
    """Whether it is values that differ."""
    return found.kind == "value"


def of_weak_arrays(*args: Any, **kwargs: Any) -> bool:
    """Whether some of a call's arguments are of a weak type, or meet in one.

    Signed and unsigned integers of 64 bits meet in floats of a weak type.
    """
    _, jax = libraries()
    leaves = jax.tree.leaves((args, kwargs))
    dtypes = {str(getattr(x, "dtype", "")) for x in leaves}
    meet = "uint64" in dtypes and any(dtype.startswith("int") for dtype in dtypes)
    return meet or any(map(is_weak, leaves))


def overflows(x: Any) -> bool:
    """Whether powers of integers, as norms sum, may exceed what their dtype holds."""
    x = np.asarray(x)
    if x.dtype.kind not in "biu":
        return False
    most = 1 if x.dtype == bool else np.iinfo(x.dtype).max
    return float(np.sum(np.abs(x.astype(np.float64)) ** 4)) > most


def is_at_an_end_of_beta(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> bool:
    """Whether a number is not between the ends of the distribution."""
    place = (np.asarray(x, np.float64) - np.asarray(loc, float)) / np.asarray(scale, float)
    return not np.all((place > 0) & (place < 1))


def overflows_in_recurrence(z: Any, *, v: int, n_iter: int = 50) -> bool:
    """Whether the backward recurrence of Bessel functions, of steps of 2 k / z, overflows."""
    z = np.asarray(z)
    steps = np.log(2 * np.arange(1, n_iter + 1) / np.abs(z.astype(np.float64))[..., None])
    limit = np.log(float(np.finfo(np.float64 if z.dtype == np.float64 else np.float32).max))
    return bool(np.any(~np.isfinite(z)) or np.any(np.sum(np.maximum(steps, 0.0), -1) > limit))


def is_probability(x: Any) -> Any:
    x = np.asarray(x, np.float64)
    return (x >= 0) & (x <= 1)


def is_imaginary(x: Any) -> bool:
    """Whether some numbers are complex, with a real part that is zero and another that is not."""
    x = np.asarray(x)
    return x.dtype.kind == "c" and bool(np.any((x.real == 0) & (x.imag != 0)))


def is_boolean(x: Any) -> bool:
    return getattr(getattr(x, "dtype", None), "kind", "") == "b"


def is_on_an_edge(x: Any) -> bool:
    """Whether some of the numbers are about where one of ten bins ends and the next begins."""
    x = np.asarray(x, np.float64)
    if not (x.size and np.all(np.isfinite(x))):
        return False
    place = (x - x.min()) / ((x.max() - x.min()) or 1.0) * 10
    return bool(np.any(np.abs(place - np.round(place)) < 1e-4))


def has_ties(x: np.ndarray) -> bool:
    """True if an order of the elements is not the only one."""
    x = np.sort(x.astype(np.float64), axis=None)
    return bool(np.any(np.isnan(x)) or np.any(x[1:] == x[:-1]))


def as_array(program: Program, ours: Any, theirs: Any) -> Any:
    """JAX's string with our name of the class, which is shorter, so that lines break elsewhere."""

    def words(text: str) -> str:
        return re.sub(r"\\n|\s", "", text).replace("ArrayImpl(", "Array(")

    are_texts = isinstance(ours, tuple) and isinstance(theirs, tuple)
    if are_texts and ours[0] == theirs[0] == "object" and words(ours[1]) == words(theirs[1]):
        return ours
    return theirs


def of_mixed_widths(program: Program, found: Difference, ours: Any, theirs: Any) -> bool:
    """Whether a float64 is expected for a float32, or an error for it, in 64 bits."""
    is_dtype = found.kind == "dtype" and "float32; expected float64" in found.detail
    is_refused = found.kind == "accepted" and "cotangent type does not match" in found.detail
    return program.x64 and (is_dtype or is_refused)


OF_WEAK_ARRAYS = (
    r"jnp\.(angle|around|conj|conjugate|convolve|correlate|cross|diag|diagonal|full_like|gcd|"
    r"heaviside|imag|lcm|logaddexp|logaddexp2|poly(add|div|mul|sub)|real|rint|round|sinc|vander|"
    r"vecdot|vecmat)|jnp\.linalg\.(cholesky|cross|diagonal|eig|eigh|eigvals|eigvalsh|lstsq|qr|svd|"
    r"svdvals|vecdot)|jnp\.fft\.i?(fft|fft2|fftn)|jax\.nn\.(log_sigmoid|mish|softplus)|"
    r"jax\.scipy\.special\.(kl_div|logit|rel_entr)|jax\.scipy\.linalg\.(cho_factor|cholesky|"
    r"circulant|eigh|fiedler|lu_factor|qr|qr_multiply|rsf2csf|svd)|jax\.scipy\.signal\.(fft)?"
    r"(convolve|correlate)(2d)?|jax\.scipy\.signal\.detrend|jax\.scipy\.stats\..*"
    r"|jnp\.(ndarray\.)?(argpartition|diagonal|unwrap)|lax\.p(max|mean|min|sum)|"
    r"lax\.linalg\.(cholesky_update|svd|symmetric_product)|"
    r"lax\.random_gamma_grad"
    r"|jax\.scipy\.linalg\.(eigh_tridiagonal|leslie|polar)"
)
REDUCTIONS_OF_WEAK_ARRAYS = (
    r"jnp\.(vdot|vecdot)|jnp\.linalg\.(cond|lstsq|slogdet|vecdot)|"
    r"jax\.scipy\.stats\.multivariate_normal\.(log)?pdf"
)


def of_scalars_after(functions: str) -> Equates:
    """JAX's leaves as weak as ours, where such a function of weak arrays comes before others."""
    pattern = re.compile(functions)
    changed = where_given(functions, of_weak_arrays, of_each_leaf(as_weak))

    def equates(program: Program, ours: Any, theirs: Any) -> Any:
        is_before = any(map(pattern.fullmatch, program.functions[:-1]))
        return changed(program, ours, theirs) if is_before else theirs

    return equates


WITH_TANGENTS = {"jvp", "linearize"}
MAPS = ("vmap", "vmap_of_nothing", "vmap_of_the_first", "vmap_of_the_last", "scan")
NUMBERS = ("bool", "int", "float", "complex")  # kinds of leaves

# JAX's NaN as the number, or as the infinite one, that ours is.
number_for_nan = where_values(lambda x, y: np.isnan(y) & ~np.isnan(x))
infinite_for_nan = where_values(lambda x, y: np.isnan(y) & np.isinf(x))


def parts_for_zero(ours: Leaf, theirs: Leaf) -> Leaf:
    """Fractions and exponents as ours where JAX's are 0."""
    x, y = ours.values, theirs.values
    if x is None or y is None or x.dtype != y.dtype or x.shape != y.shape:
        return theirs
    return replace(theirs, values=np.where(y == 0, x, y).astype(y.dtype))


def as_weak(ours: Leaf, theirs: Leaf) -> Leaf:
    """JAX's leaf, as weak as ours, if their shapes agree."""
    return replace(theirs, weak=ours.weak) if ours.shape == theirs.shape else theirs


def infinite_products(ours: Leaf, theirs: Leaf) -> Leaf:
    """JAX's complex numbers that are not finite as ours, where these are not, either."""
    x, y = ours.values, theirs.values
    if x is None or y is None or x.dtype != y.dtype or x.shape != y.shape or x.dtype.kind != "c":
        return theirs
    return replace(theirs, values=np.where(np.isfinite(x) | np.isfinite(y), y, x))


DELIBERATE = [
    Deliberate(
        "Derivatives of complex functions are products, whose parts are infinite or NaN where a "
        "factor is not finite: which of the two depends on the order of the factors.",
        equates=of_derivatives(infinite_products),
    ),
    Deliberate(
        "glassjax may have what JAX says that it has not implemented.",
        where_jax_raises("NotImplementedError"),
    ),
    Deliberate(
        "Functions take 16-bit floats, integers and booleans where JAX's implementation lacks "
        "them, and compute in float32. Those of `lax` are as strict as JAX's.",
        where_jax_raises(
            "not compatible with finfo",
            r"dtype=\w+ is not supported",
            "RFFT input must be",
            "cannot safely cast argument",
            kinds=("accepted", "class"),
        ),
    ),
    Deliberate(
        "Functions also take dtypes for which JAX lacks an operation of `lax`.",
        unless_lax_refuses(
            where_jax_raises("does not accept dtype", "requires arguments to have the same")
        ),
    ),
    Deliberate(
        "glassjax may differentiate or compile what JAX cannot.",
        where_jax_raises(
            "Reverse-mode differentiation does not work",
            r"zero-length scan is not supported in disable_jit\(\) mode",
            "Linearization failed to produce known values",
            "is not supported by dot_general on CPU",
            "JVP rule for composite not implemented", "Clamp unimplemented for PRED",
            "Integers cannot be raised to negative powers",
            "^TypeError: Error interpreting argument to custom_linear_solve as a JAX value",
        ),
    ),
    Deliberate(
        "JAX keeps 64-bit constants from a call under `enable_x64`, and its 32-bit programs then "
        "reject them.",
        where_jax_raises("RuntimeProgramInputMismatch"),
    ),
    Deliberate(
        "glassjax differentiates functions of complex numbers that JAX cannot, because it would "
        "have to compare such numbers.",
        under(
            where_jax_raises(
                "^TypeError: [gl]t does not accept dtype complex", kinds=("accepted", "class")
            ),
            *DIFFERENTIATE,
        ),
    ),
    Deliberate(
        "A derivative for which there is no formula is a NotImplementedError that names the "
        "argument; JAX's error classes differ from function to function.",
        where_we_raise(
            "^NotImplementedError: .* there is (no formula for its derivative|a derivative with)",
            kinds=("class",),
        ),
    ),
    Deliberate(
        "The derivative of `random_gamma_grad` is a NotImplementedError; where JAX differentiates "
        "the steps of its computation, it has one.",
        under(
            where_we_raise("^NotImplementedError: random_gamma_grad: there is no formula"),
            "disable_jit", "jvp", "linearize", "jacfwd",
        ),
    ),
    Deliberate(
        "It is one even where nothing is computed from its result; JAX finds that out first.",
        before_others(
            where_we_raise("^NotImplementedError: random_gamma_grad: there is no formula"),
            r"lax\.random_gamma_grad",
        ),
    ),
    Deliberate(
        "The step to the next float has the derivative 0, also in what is not finite; JAX "
        "multiplies by that 0.",
        equates=where_called(r"jnp\.spacing", of_derivatives(number_for_nan)),
    ),
    Deliberate(
        "Cosine transforms of infinite numbers are the infinite sums that they are, as in scipy; "
        "JAX's, of other orders, are NaN.",
        equates=where_given(
            r"jax\.scipy\.fft\.i?dctn?",
            lambda x, *args, **kwargs: not np.all(np.isfinite(np.asarray(x))),
            of_each_leaf(infinite_for_nan),
        ),
    ),
    Deliberate(
        "Derivatives of running products of which a factor is infinite are infinite or NaN, "
        "depending on the order in which the others are multiplied.",
        equates=where_called(
            r"jnp\.(ndarray\.)?(nan)?cumprod|lax\.cumprod", of_derivatives(infinite_for_nan)
        ),
    ),
    Deliberate(
        "Complex polynomials divided by one that begins with 0 are infinite; JAX's are NaN.",
        equates=where_given(
            r"jnp\.polydiv",
            lambda u, v, *args, **kwargs: np.size(v) > 0 and np.ravel(np.asarray(v))[0] == 0,
            of_each_leaf(infinite_for_nan),
        ),
    ),
    Deliberate(
        "Roots of polynomials have no order: those of complex ones differ by rounding alone.",
        called_with(
            "value", r"jnp\.roots", lambda p, *args, **kwargs: np.asarray(p).dtype.kind == "c"
        ),
    ),
    Deliberate(
        "Where a result is filled because there is no element, its derivative is zero; JAX's is "
        "an error.",
        under(
            where_jax_raises(r"^TypeError: Slice size at index \d+ in gather op is out of range"),
            *DIFFERENTIATE,
        ),
    ),
    Deliberate(
        "In `shard_map` a carry that begins as the same number on all devices may vary from then "
        "on; JAX asks for `pcast`, in loops of its own functions, too.",
        under(where_jax_raises("manual axis types do not match|varying manual axes"), "shard_map"),
    ),
    Deliberate(
        "A key that is the same on all devices may draw with parameters that vary; JAX refuses "
        "that in the samplers that are primitives there (`gamma`, `beta`, `poisson`).",
        under(where_jax_raises("requires all arguments to have matching type"), "shard_map"),
    ),
    Deliberate(
        "Collectives over an axis of `vmap` work in `shard_map`; JAX's have an assertion that "
        "fails.",
        under(where_jax_raises("^AssertionError: $"), "shard_map"),
    ),
    Deliberate(
        "`shard_map` traces its function; JAX's outside of `jit` computes with the values of the "
        "shards, so that what depends on them has a shape.",
        under(where_we_raise("^ConcretizationTypeError: "), "shard_map"),
    ),
    Deliberate(
        "`scatter_add` and its like put several updates into a scalar; JAX's program is invalid.",
        where_jax_raises("Expected instruction to have shape equal to"),
    ),
    Deliberate(
        "A mean of nothing is NaN, and so is its derivative; JAX's is 0 in some programs.",
        called_with("value", r"jnp\.nanmean", lambda a, *args, **kwargs: np.size(a) == 0),
    ),
    Deliberate(
        "Where Pochhammer's symbol overflows 16 bits its slope is infinite; JAX's may be NaN.",
        called_with(
            "value", r"jax\.scipy\.special\.poch", lambda x, m: np.asarray(x).dtype.itemsize == 2
        ),
    ),
    Deliberate(
        "Decompositions refuse floats of 16 bits in matrices of no elements, too.",
        under(where_we_raise(r"^TypeError: \w+: found .*; the dtypes it takes are"), "shard_map"),
    ),
    Deliberate(
        "A mesh may be set while a function is traced.",
        where_jax_raises(
            "^ValueError: `set_mesh` can only be used outside", kinds=("accepted", "class")
        ),
    ),
    Deliberate(
        "The cotangent of what varies in `shard_map` may be the same on all devices.",
        under(where_jax_raises("unexpected JAX type .* for argument to VJP function"), "shard_map"),
    ),
    Deliberate(
        "A named tuple is exported under a name that is registered for it; JAX's exports are not "
        "serialized here.",
        under(where_we_raise("^ValueError: export: the results have a "), "exported"),
    ),
    Deliberate(
        "A program that was exported without its derivatives says so by one class of errors.",
        under(where_we_raise("^NotImplementedError: the exported"), "exported"),
    ),
    Deliberate(
        "Arguments that both reject are named before a rule is looked for; JAX may first say that "
        "it lacks the rule.",
        where_jax_raises(
            "^NotImplementedError: (Differentiation|Batching) rule for",
            "^ValueError: JVP rule for composite not implemented",
            "^NotImplementedError: Singular value decomposition JVP",
            kinds=("class",),
        ),
    ),
    Deliberate(
        "Factorizations are LAPACK's, which has no 16-bit floats: that is a TypeError.",
        where_we_raise(
            r"^TypeError: \w+: found b?f16\[.*; the dtypes it takes are float32", kinds=("class",)
        ),
    ),
    Deliberate(
        "That holds for matrices without elements, too, for which JAX does not ask LAPACK.",
        where_we_raise(
            r"^TypeError: \w+: found b?f16\[(\d+,)*0(,\d+)*\]; the dtypes it takes are float32"
        ),
    ),
    Deliberate(
        "Sets of traced arrays need a `size`, even if one of them is known to be empty.",
        where_we_raise("^ConcretizationTypeError: (setdiff1d|setxor1d|intersect1d|union1d)"),
    ),
    Deliberate(
        "Empty arrays and scalars give what numpy gives, where JAX's implementation indexes or "
        "divides by nothing.",
        where_jax_raises(
            "out of bounds for axis .* with size 0",
            "integer modulo by zero",
            "ZeroDivisionError",
            "Cannot broadcast to shape with fewer dimensions",
            "Dimension must be 3 for cross product",
            "Invalid type:",
            "index out of range",
            "must be 1D, got shapes",
            r"input type=\w+\[0\] and requested type",
            "Called multiply with a float0 array",
            "attempt to get argm(ax|in) of an empty sequence",
            kinds=("accepted", "class"),
        ),
    ),
    Deliberate(
        "A size may depend on values that are known while a function is traced, since constants "
        "are computed at once; JAX traces them, too, and rejects the size.",
        where_jax_raises("ConcretizationTypeError", "TracerBoolConversionError"),
    ),
    Deliberate(
        "`compress` and `extract` with a size greater than the array fill the rest.",
        where_jax_raises(
            "not greater than the size of the array axis", kinds=("accepted", "class")
        ),
    ),
    Deliberate(
        "Where JAX's error comes from inside its implementation, or from the compiler, ours says "
        "what is wrong with the argument, and is a ValueError or TypeError.",
        where_jax_raises(
            "^IndexError: tuple index", "^IndexError: index is out of bounds", "^AttributeError",
            "^KeyError", "^AssertionError", "^MLIRError", "^UnboundLocalError",
            "Slice size at index . in gather op", "not compatible with finfo",
            "^ZeroDivisionError", "^JaxRuntimeError", "^ValueError: format number",
            "^ValueError: Linearization failed to produce known values",
            kinds=("class",),
        ),
    ),
    Deliberate(
        "`insert` and `delete` reject known indices that are out of bounds, as numpy does; JAX "
        "clips them.",
        where_we_raise("^IndexError: (insert|delete): an index is out of bounds"),
    ),
    Deliberate(
        "`associative_scan` takes negative axes in reverse, too; JAX rejects them there.",
        called_with(
            "accepted", r"lax\.associative_scan",
            lambda fn, elems, reverse=False, axis=0: reverse and axis < 0,
        ),
    ),
    Deliberate(
        "For a traced array, `unique` first checks the axis, JAX whether there is a `size`.",
        where_we_raise("^ValueError: unique: axis -?\\d+ is out of range", kinds=("class",)),
    ),
    Deliberate(
        "The mode of `at` is always checked; JAX accepts any if there is nothing to index.",
        where_we_raise("^ValueError: unknown mode of indexing 'wrap'"),
    ),
    Deliberate(
        "Complex numbers have no largest; JAX finds that out when it compiles.",
        where_we_raise(r"^TypeError: arg(max|min): .* has no elements with an order"),
    ),
    Deliberate(
        "`hessenberg` takes matrices of at least one row; JAX finds that out when it compiles.",
        where_we_raise("hessenberg: takes matrices of at least one row"),
    ),
    Deliberate(
        "`nanquantile` of an empty array has the shape of `q`, as for other arrays.",
        called_with(
            ".*", r"jnp\.nan(quantile|percentile)",
            lambda a, q, *args, **kwargs: np.size(a) == 0 and np.ndim(q) == 1,
        ),
    ),
    Deliberate(
        "What `choice` draws no times has the axes of what is drawn more often; JAX's lacks those "
        "of an element.",
        called_with(
            "shape", r"jax\.random\.choice",
            lambda key, a, shape=(), *args, **kwargs: np.ndim(a) > 1 and 0 in shape,
        ),
    ),
    Deliberate(
        "`take` of an empty axis at no indices has the axes of the indices; JAX's has one.",
        called_with(
            ".*", r"jnp\.take",
            lambda a, indices, *args, **kwargs: np.size(a) == np.size(indices) == 0
            and np.ndim(indices) > 1,
        ),
    ),
    Deliberate(
        "Booleans are never weak: there is nothing that they would promote to.",
        equates=of_each_leaf(
            lambda x, y: replace(y, weak=x.weak) if x.dtype == y.dtype == "bool" else y
        ),
    ),
    Deliberate(
        "Several results are a tuple, as documented, also where JAX gives a list.",
        equates=tuples_for_lists,
    ),
    Deliberate(
        "Results are Arrays, even where JAX returns a numpy array that was passed in, or a "
        "tangent of numpy zeros.",
        equates=of_each_leaf(
            lambda x, y: replace(y, kind="array", weak=x.weak)
            if (x.kind, y.kind) == ("array", "numpy") else y
        ),
    ),
    Deliberate(
        "Results of `checkpoint`, `eval_jaxpr`, derivatives, and loops under `disable_jit` are "
        "Arrays, even where JAX returns a constant as a Python number.",
        equates=where_under(
            {"checkpoint", "disable_jit", "eval_jaxpr", "jvp", "linearize", "vjp"},
            of_each_leaf(
                lambda x, y: replace(x, values=y.values.astype(x.dtype))
                if x.kind == "array" and x.shape == () and y.kind in NUMBERS else y
            ),
        ),
    ),
    Deliberate(
        "`approx_max_k` and `approx_min_k` are exact: of equal numbers the first comes first, and "
        "NaN counts as the largest. JAX returns any of them.",
        called_with(
            "value", r"lax\.approx_(max|min)_k",
            lambda operand, *args, **kwargs: has_ties(np.asarray(operand)),
        ),
    ),
    Deliberate(
        "The gradient with respect to an argument of a weak type is weak; JAX's is, unless there "
        "is indexing, padding or sorting on the way.",
        equates=where_under({"grad", "vjp", "jacrev"}, where_weak(weak_arguments)),
    ),
    Deliberate(
        "Arrays of a weak type, unlike scalars, are rare: only what is made of a number of Python "
        "and broadcast is one. There the results of these functions are weak where what they are "
        "computed from is, or never; JAX's differ with the implementation of each.",
        equates=where_given(
            OF_WEAK_ARRAYS,
            of_weak_arrays,
            of_each_leaf(lambda x, y: replace(y, weak=x.weak) if x.shape == y.shape != () else y),
        ),
    ),
    Deliberate(
        "So the cotangents differ that programs give them.",
        where_weights_differ,
    ),
    Deliberate(
        "The same holds for reductions of such arrays to scalars.",
        equates=where_given(REDUCTIONS_OF_WEAK_ARRAYS, of_weak_arrays, of_each_leaf(as_weak)),
    ),
    Deliberate(
        "And for scalars that are computed from them.",
        equates=of_scalars_after(OF_WEAK_ARRAYS),
    ),
    Deliberate(
        "`heaviside` and `logaddexp2` are weak if all of their arguments are; JAX's are where one "
        "is, if all are scalars.",
        equates=where_given(
            r"jnp\.(heaviside|logaddexp2)",
            lambda *args: any(is_weak(x) or type(x) is int for x in args),
            of_each_leaf(as_weak),
        ),
    ),
    Deliberate(
        "What a function gives is as weak with tangents as without, and these are as weak as it "
        "is; JAX computes some by other operations then, or with other numbers.",
        equates=where_under(WITH_TANGENTS, where_weak(weak_results)),
    ),
    Deliberate(
        "The derivative of `spence` is that of the dilogarithm also at 0, where it is infinite, at "
        "1, and at subnormal numbers; JAX's is 0 there. It is NaN where `spence` is.",
        under(
            called_with(
                "value", r"jax\.scipy\.special\.spence",
                lambda x: np.any((at := np.asarray(x, np.float64)) < 1e-30)
                or np.any((at == 1) | ~np.isfinite(at)),
            ),
            *DIFFERENTIATE,
        ),
    ),
    Deliberate(
        "Least squares have derivatives also where there are fewer equations than unknowns; JAX's "
        "are NaN.",
        equates=where_given(
            r"jnp\.linalg\.lstsq",
            lambda a, *args, **kwargs: np.shape(a)[0] < np.shape(a)[1],
            of_derivatives(number_for_nan),
        ),
    ),
    Deliberate(
        "Trapezoids of infinite numbers are infinite, and that of one number has no area; JAX "
        "subtracts the ends from the sum, and infinite ones from infinite ones are NaN.",
        equates=where_called(
            r"jnp\.trapezoid|jax\.scipy\.integrate\.trapezoid",
            of_each_leaf(where_values(lambda x, y: np.isnan(y) & (np.isinf(x) | (x == 0)))),
        ),
    ),
    Deliberate(
        "A system that a function in 32 bits solves has a solution in 32 bits, also of numbers of "
        "a weak type of 64 bits; JAX says that it has 64, or that types do not fit.",
        narrowed(
            in_programs_of(
                r"jax\.scipy\.sparse\.linalg\..*|lax\.custom_linear_solve",
                of_mixed_widths,
            ),
            inputs=r"^(jnp\.asarray\()?-?[\d.]|jnp\.full",
        ),
    ),
    Deliberate(
        "`expn` has no formula for its derivative by the order, and says so; JAX's is 0.",
        where_we_raise("^NotImplementedError: expn: there is no formula"),
    ),
    Deliberate(
        "Shapes are tuples of Python ints, which are weak; JAX's contain numpy ints.",
        equates=where_called(
            r"lax\.(conv\w*_shape_tuple|reduce_window_shape_tuple|padtype_to_pads)",
            of_each_leaf(
                lambda x, y: replace(y, weak=x.weak, dtype=x.dtype)
                if y.values is None
                else replace(x, values=y.values.astype(x.values.dtype))
                if x.shape == y.shape and x.values is not None
                else y
            ),
        ),
    ),
    Deliberate(
        "The sizes of a shape of no axes are a numpy array, as those of others; JAX's are not.",
        equates=where_called(
            r"lax\.shape_as_value", of_each_leaf(lambda x, y: x if x.shape == (0,) else y)
        ),
    ),
    Deliberate(
        "Under `disable_jit` loops may return what is not an array; JAX checks it.",
        under(
            where_jax_raises(
                "^TypeError: Argument .* is not a valid JAX type",
                "^TypeError: asarray: expected ArrayLike",
            ),
            "disable_jit",
        ),
    ),
    Deliberate(
        "Derivatives of the beta distribution with respect to its parameters are numbers, finite "
        "or not, at the ends, too; JAX's are NaN.",
        equates=where_given(
            r"jax\.scipy\.stats\.beta\..*",
            is_at_an_end_of_beta,
            of_derivatives(number_for_nan),
        ),
    ),
    Deliberate(
        "`lax.random_gamma_grad` refuses integers and two dtypes, as other functions of `lax` of "
        "floats do.",
        where_we_raise("^TypeError: random_gamma_grad: (found [iu]|operands must have one dtype)"),
    ),
    Deliberate(
        "States of random bits have their dtype when a program is traced; JAX finds that out when "
        "it compiles.",
        where_we_raise("^TypeError: rng_bit_generator: a state is four numbers of uint32"),
    ),
    Deliberate(
        "Variances of nothing are NaN, and so are their derivatives; JAX's are 0.",
        under(
            called_with(
                "value", r"jnp\.(ndarray\.)?(nan)?(std|var)",
                lambda a, *args, **kwargs: np.size(a) == 0,
            ),
            *DIFFERENTIATE,
        ),
    ),
    Deliberate(
        "`x log(y)` has an infinite derivative by `y` at 0; JAX's is NaN where that by `x` is not "
        "asked for.",
        equates=where_given(
            r"jax\.scipy\.special\.xlogy",
            lambda x, y: np.any(np.asarray(y) == 0),
            of_derivatives(infinite_for_nan),
        ),
    ),
    Deliberate(
        "The derivative of `xlogy` by its first argument is the logarithm also where that argument "
        "is not finite; JAX adds the other derivative, times a tangent that is 0.",
        equates=where_given(
            r"jax\.scipy\.special\.xlog(1p)?y",
            lambda x, y: not np.all(np.isfinite(np.asarray(x))),
            of_derivatives(number_for_nan),
        ),
    ),
    Deliberate(
        "Derivatives of discrete distributions by a number of successes or failures are numbers, "
        "finite or not, also where one of the two is certain; JAX's may be NaN.",
        equates=where_given(
            r"jax\.scipy\.stats\.(bernoulli|binom|geom|nbinom)\.(log)?pmf",
            lambda *args, **kwargs: any(np.any(np.isin(np.float64(x), (0, 1))) for x in args),
            of_derivatives(number_for_nan),
        ),
    ),
    Deliberate(
        "`hypot` of an infinite number has the slope 0 by the other one, also where that alone is "
        "differentiated by; JAX's is NaN then.",
        equates=where_given(
            r"jnp\.hypot",
            lambda x, y: np.any(np.isinf(np.asarray(x))) or np.any(np.isinf(np.asarray(y))),
            of_derivatives(number_for_nan),
        ),
    ),
    Deliberate(
        "Slopes of `cumlogsumexp` are those of the largest numbers where some are infinite, and "
        "NaN from NaN on; JAX's are sums of what its steps make of infinite numbers.",
        under(
            called_with(
                "value", r"lax\.cumlogsumexp",
                lambda x, *args, **kwargs: not np.all(np.isfinite(np.asarray(x))),
            ),
            *DIFFERENTIATE,
        ),
    ),
    Deliberate(
        "`istft` returns as many samples as scipy's; JAX's lacks some if more than half overlaps.",
        called_with(
            "shape", r"jax\.scipy\.signal\.istft",
            lambda Zxx, *args, nperseg=None, noverlap=None, **kwargs: nperseg is not None
            and noverlap is not None and 2 * noverlap > nperseg,
        ),
    ),
    Deliberate(
        "So what is computed from these samples differs, too.",
        before_others(
            called_with(
                "value|shape", r"jax\.scipy\.signal\.istft",
                lambda Zxx, *args, nperseg=None, noverlap=None, **kwargs: nperseg is not None
                and noverlap is not None and 2 * noverlap > nperseg,
            ),
            r"jax\.scipy\.signal\.istft",
        ),
    ),
    Deliberate(
        "`lax.scatter_apply` takes numbers for operands; JAX fails inside.",
        in_programs_of(
            r"lax\.scatter_apply",
            where_jax_raises("^AttributeError: '(int|float|bool|complex)' object has no attribute"),
        ),
    ),
    Deliberate(
        "`frexp` of a subnormal number has its fraction and exponent; JAX takes it for zero.",
        equates=where_called(r"jnp\.frexp", of_each_leaf(parts_for_zero)),
    ),
    Deliberate(
        "All arguments of a mapped function are traced, numpy arrays included, which have no "
        "`at`.",
        where_jax_raises("^AttributeError: 'numpy.ndarray' object has no attribute 'at'"),
    ),
    Deliberate(
        "The diagonals of `toeplitz` and `hankel` hold what they are made of; JAX's are NaN beside "
        "one that is.",
        equates=where_given(
            r"jax\.scipy\.linalg\.(toeplitz|hankel)",
            lambda *args: not all(np.all(np.isfinite(np.asarray(x))) for x in args),
            of_each_leaf(number_for_nan),
        ),
    ),
    Deliberate(
        "So what is computed from these matrices differs, too.",
        before_others(
            called_with(
                "value", r"jax\.scipy\.linalg\.(toeplitz|hankel)",
                lambda *args: not all(np.all(np.isfinite(np.asarray(x))) for x in args),
            ),
            r"jax\.scipy\.linalg\.(toeplitz|hankel)",
        ),
    ),
    Deliberate(
        "A complex Python number, or an array made of one, cannot fill a real array; JAX converts "
        "it.",
        narrowed(where_we_raise("^TypeError: full: fill_value is complex"), r"complex\("),
    ),
    Deliberate(
        "A polynomial with one coefficient is NaN where its argument is NaN or infinite, as in "
        "numpy.",
        called_with(
            "value", r"jnp\.polyval",
            lambda p, x, *args, **kwargs: np.size(p) == 1 and not np.all(np.isfinite(x)),
        ),
    ),
    Deliberate(
        "`owens_t` between 0 and an infinite slope is half the probability of a tail; JAX's is a "
        "quarter where the height is small, and NaN where it is 0. Where the slope is steep, JAX's "
        "is off in the ninth digit.",
        called_with(
            "value", r"jax\.scipy\.special\.owens_t",
            lambda h, a: np.any(np.abs(np.asarray(a, np.float64)) > 1),
        ),
    ),
    Deliberate(
        "`owens_t` and its derivatives are numbers at infinity, too, where JAX's are NaN.",
        equates=where_given(
            r"jax\.scipy\.special\.owens_t",
            lambda h, a: any(np.any(np.isinf(np.asarray(x))) for x in (h, a)),
            of_each_leaf(number_for_nan),
        ),
    ),
    Deliberate(
        "So what is computed from these values of `owens_t` differs from what JAX computes from "
        "NaN.",
        before_others(
            called_with(
                "value", r"jax\.scipy\.special\.owens_t",
                lambda h, a: np.any((np.asarray(h) == 0) & np.isinf(np.asarray(a))),
            ),
            r"jax\.scipy\.special\.owens_t",
        ),
    ),
    Deliberate(
        "Products take what is of a weak type, such as numbers of Python, with arrays of any "
        "dtype, and `multi_dot` any dtypes; JAX's find one dtype too narrow for another.",
        in_programs_of(
            r"jnp\.ndarray\.dot|jnp\.linalg\.(multi_dot|matmul|tensordot|vecdot)|"
            r"jnp\.(dot|einsum|inner|matmul|matvec|tensordot|vdot|vecdot|vecmat)",
            where_jax_raises("`preferred_element_type` must not be narrower than"),
        ),
    ),
    Deliberate(
        "Second derivatives of a quotient by 0 are infinite where JAX's sum of terms of both signs "
        "is NaN.",
        equates=where_given(
            r"jnp\.(true_)?divide|lax\.div",
            lambda x, y: np.any(np.asarray(y) == 0),
            where_twice_differentiated(of_each_leaf(infinite_for_nan)),
        ),
    ),
    Deliberate(
        "Largest and smallest elements of segments without rows are the neutral ones also by "
        "buckets; JAX finds no bucket.",
        called_with(
            "accepted", r"jax\.ops\.segment_(max|min)",
            lambda data, *args, **kwargs: np.size(data) == 0,
        ),
    ),
    Deliberate(
        "`vander` of an empty array is empty for any dtype; JAX counts to -1.",
        in_programs_of(
            r"jnp\.vander", where_jax_raises("^OverflowError: Python integer -1 out of bounds")
        ),
    ),
    Deliberate(
        "`bessel_jn` is a number even where JAX's recurrence overflows.",
        equates=where_given(
            r"jax\.scipy\.special\.bessel_jn",
            overflows_in_recurrence,
            of_each_leaf(number_for_nan),
        ),
    ),
    Deliberate(
        "`cov` of an empty array has the dtype of its argument; JAX's has that of the default "
        "float.",
        called_with(
            "dtype", r"jnp\.(cov|corrcoef)", lambda m, *args, **kwargs: np.size(m) == 0
        ),
    ),
    Deliberate(
        "Angles of scalars keep the dtype of narrow floats, as those of arrays do.",
        called_with("dtype", r"jnp\.angle", lambda z, *args, **kwargs: np.ndim(z) == 0),
    ),
    Deliberate(
        "Medians and quantiles of a scalar have no axes, as numpy's; JAX adds one.",
        called_with(
            ".*", r"jnp\.(nan)?(median|quantile|percentile)",
            lambda a, *args, keepdims=False, **kwargs: np.ndim(a) == 0 and keepdims,
        ),
    ),
    Deliberate(
        "Evenly spaced numbers are as exact as floats can be, so that a point on the edge of a bin "
        "belongs where numpy counts it, and the integer below a number is the one below; JAX's "
        "edges may be neighbours.",
        as_numpy_gives(r"jnp\.(histogram(2d|dd)?|linspace)"),
    ),
    Deliberate(
        "So what is computed from these numbers may differ, too.",
        before_others(
            is_of_values,
            r"jnp\.(histogram(2d|dd)?|linspace)",
        ),
    ),
    Deliberate(
        "The same holds for numbers on the edges of bins, in more dimensions.",
        called_with(
            "value", r"jnp\.histogram2d",
            lambda x, y, *args, **kwargs: any(map(is_on_an_edge, (x, y))),
        ),
    ),
    Deliberate(
        "The derivative of `poly` where a root is infinite is NaN, whatever the others; JAX's is 0 "
        "where it is alone.",
        under(
            called_with("value", r"jnp\.poly", lambda zeros: np.any(np.isinf(np.asarray(zeros)))),
            *DIFFERENTIATE,
        ),
    ),
    Deliberate(
        "`item` of a value that is being differentiated is an error, since a number has no "
        "derivative; JAX's derivative is 0.",
        under(
            in_programs_of(
                r"jnp\.ndarray\.item", where_we_raise("^ConcretizationTypeError: a Python")
            ),
            *DIFFERENTIATE,
        ),
    ),
    Deliberate(
        "XLA chooses between a number and 0 for a product with a boolean, so that False times "
        "what is not finite is 0; with constants JAX multiplies.",
        equates=where_given(
            r"jnp\.(multiply|outer|kron|dot|einsum|inner|matmul|tensordot|vecdot|vdot)",
            lambda *args, **kwargs: any(is_boolean(x) for x in args),
            of_each_leaf(where_values(lambda x, y: np.isnan(y) & (x == 0))),
        ),
    ),
    Deliberate(
        "`lax.scatter` whose indices have no components has derivatives; JAX's result is 0, too, "
        "where it writes nothing.",
        under(
            called_with(
                "value", r"lax\.scatter",
                lambda operand, indices, *args, **kwargs: np.shape(indices)[-1:] == (0,),
            ),
            *DIFFERENTIATE,
        ),
    ),
    Deliberate(
        "`logspace` takes the powers of complex numbers before it casts them, as numpy does; JAX "
        "casts the exponents.",
        called_with(
            "value", r"jnp\.logspace",
            lambda start, stop, *args, **kwargs: any(map(np.iscomplexobj, (start, stop))),
        ),
    ),
    Deliberate(
        "What `detrend` leaves of numbers on a line is rounding, and so is what is computed of it.",
        before_others(is_of_values, r"jax\.scipy\.signal\.detrend"),
    ),
    Deliberate(
        "`pad` by nothing computes no median, which complex numbers lack.",
        in_programs_of(r"jnp\.pad", where_jax_raises("^ValueError: quantile does not support")),
    ),
    Deliberate(
        "`expi` of positive numbers is a number in float16, too; JAX's is NaN.",
        called_with(
            "value", r"jax\.scipy\.special\.expi",
            lambda x: np.asarray(x).dtype == np.float16 and np.any(np.asarray(x) > 0),
        ),
    ),
    Deliberate(
        "`expi` of infinity is infinite; JAX's is NaN.",
        equates=where_given(
            r"jax\.scipy\.special\.expi",
            lambda x: np.any(np.isinf(np.asarray(x))),
            of_each_leaf(infinite_for_nan),
        ),
    ),
    Deliberate(
        "An array of which a slice is updated is as weak when it is mapped as without; JAX's is "
        "as weak as the array then.",
        under(
            called_with(
                "weak", r"lax\.dynamic_update_(slice|index)(_in_dim)?", lambda *args, **kwargs: True
            ),
            *MAPS,
        ),
    ),
    Deliberate(
        "In JAX a choice between arrays without elements depends on neither of them, and so has "
        "derivatives after what has none.",
        in_programs_of(
            r"jnp\.where|jax\.scipy\.stats\..*",
            where_we_raise(
                "^ValueError: reverse-mode differentiation of while_loop|"
                "^NotImplementedError: scatter_apply: there is no derivative",
                kinds=("error",),
            ),
        ),
    ),
    Deliberate(
        "Derivatives of steps of optimizers, in 16 bits, are differences that rounding decides.",
        in_programs_of(
            r"jax\.example_libraries\.optimizers\..*",
            under(narrowed(is_of_values, inputs="float16"), *DIFFERENTIATE),
        ),
    ),
    Deliberate(
        "`lax.clamp` is mapped over one of its bounds and not the other; JAX finds that their "
        "shapes differ.",
        in_programs_of(
            r"lax\.clamp",
            under(where_jax_raises("^TypeError: clamp requires m(ax|in).shape ="), *MAPS),
        ),
    ),
    Deliberate(
        "`expm_frechet` promotes its two matrices; JAX differentiates with respect to the first "
        "alone.",
        in_programs_of(
            r"jax\.scipy\.linalg\.expm_frechet",
            where_jax_raises("^TypeError: primal and tangent arguments to jax.jvp do not match"),
        ),
    ),
    Deliberate(
        "`compress` compares sizes first; JAX asks first whether values are known.",
        in_programs_of(
            r"jnp\.(ndarray\.)?compress",
            where_we_raise("^ValueError: compress: condition holds beyond", kinds=("class",)),
        ),
    ),
    Deliberate(
        "`householder_product` compares shapes first; JAX dtypes.",
        in_programs_of(
            r"lax\.linalg\.householder_product",
            where_we_raise("^ValueError: householder_product: matrices", kinds=("class",)),
        ),
    ),
    Deliberate(
        "Norms of integers are computed in floats; JAX squares the integers, which overflow.",
        called_with(
            "value", r"jnp\.linalg\.(vector_norm|matrix_norm|norm)",
            lambda x, *args, **kwargs: overflows(x),
        ),
    ),
    Deliberate(
        "Norms of vectors of integers are floats, as numpy's; JAX's are integers for orders other "
        "than 2, and an error for order 0.",
        called_with(
            "dtype|accepted|structure", r"jnp\.linalg\.vector_norm",
            lambda x, *args, ord=2, **kwargs: np.asarray(x).dtype.kind in "biu" and ord != 2,
        ),
    ),
    Deliberate(
        "An axis without elements cannot be padded with statistics of them, as in numpy, unless "
        "by nothing. JAX's mean of them is NaN, and it refuses the others always.",
        called_with(
            "error|accepted", r"jnp\.pad",
            lambda array, pad_width, mode="constant", **kwargs: np.size(array) == 0
            and mode in ("maximum", "mean", "median", "minimum"),
        ),
    ),
    Deliberate(
        "NaN among the bins of `digitize` stands last, as sorting puts it; for JAX the bins fall.",
        called_with(
            "value", r"jnp\.digitize",
            lambda x, bins, *args, **kwargs: np.isnan(np.asarray(bins, np.float64)).any(),
        ),
    ),
    Deliberate(
        "A Python number that is complex is converted to a real dtype as an array of it is.",
        narrowed(
            where_jax_raises(r"^TypeError: (int|float)\(\) argument must be .* not 'complex'"),
            inputs="complex|j",
        ),
    ),
    Deliberate(
        "The Jacobian of a function without results is empty; JAX looks for the dtype of a "
        "result.",
        under(
            where_jax_raises("^ValueError: at least one array or dtype is required"),
            "jacfwd", "jacrev",
        ),
    ),
    Deliberate(
        "The derivative of `eigh_tridiagonal` is that of the eigenvalues; JAX differentiates the "
        "bisection that found them.",
        equates=where_called(
            r"jax\.scipy\.linalg\.eigh_tridiagonal",
            where_under(
                {"jvp", "linearize", "jacfwd"},
                of_derivatives(where_values(lambda x, y: np.ones(x.shape, bool))),
            ),
        ),
    ),
    Deliberate(
        "A complex number is not converted to an integer; JAX drops its imaginary part.",
        where_we_raise(r"^TypeError: \(.*j\) cannot be converted to u?int"),
    ),
    Deliberate(
        "Fits are exact up to rounding, which other functions may enlarge.",
        before_others(
            called_with("value", r"jnp\.polyfit", lambda *args, **kwargs: True), r"jnp\.polyfit"
        ),
    ),
    Deliberate(
        "Remainders of polynomials are what rounding left of the quotient, where that is exact.",
        equates=where_called(
            r"jnp\.polydiv", of_each_leaf(where_values(lambda x, y: np.abs(x - y) <= 1e-5))
        ),
    ),
    Deliberate(
        "Transforms are scaled by real numbers; JAX's by complex ones, of which the product with "
        "an infinite number is NaN.",
        equates=where_called(r"jnp\.fft\.\w+", of_each_leaf(infinite_products)),
    ),
    Deliberate(
        "Powers of integers have the dtype in which base and exponent meet, also where the "
        "exponent is a scalar that is known; JAX's have that of the base then.",
        called_with(
            "dtype", r"jnp\.(pow|power|ndarray\.__r?pow__)",
            lambda x1, x2: np.ndim(x2) == 0
            and {np.asarray(x1).dtype.kind, np.asarray(x2).dtype.kind} <= set("biu"),
        ),
    ),
    Deliberate(
        "Under `disable_jit` results are as weak as otherwise; JAX computes with the numpy arrays "
        "that it is given, which are not.",
        under(
            narrowed(lambda program, found, ours, theirs: found.kind == "weak", r"^np\."),
            "disable_jit",
        ),
    ),
    Deliberate(
        "Results depend on the arguments that they are computed from, also where these have no "
        "elements, and so nothing is chosen by `where`; JAX knows that they do not.",
        narrowed(
            where_we_raise("^TypeError: a function with a custom derivative in reverse mode"),
            inputs=r"zeros\(\(.*\b0\b",
        ),
    ),
    Deliberate(
        "Densities of the uniform distribution have the slope 0, at NaN, too; in forward mode JAX "
        "multiplies NaN by it.",
        equates=where_given(
            r"jax\.scipy\.stats\.uniform\..*",
            lambda *args: any(np.any(np.isnan(np.asarray(x, float))) for x in args),
            of_derivatives(number_for_nan),
        ),
    ),
    Deliberate(
        "Quantiles of what is no probability are NaN, but their slopes are numbers; JAX's are NaN "
        "by some of the arguments.",
        equates=where_given(
            r"jax\.scipy\.stats\.\w+\.(ppf|isf)",
            lambda q, *args, **kwargs: not np.all(is_probability(q)),
            of_derivatives(number_for_nan),
        ),
    ),
    Deliberate(
        "Beta-binomial probabilities in float64 are exact to its digits; JAX's are to those of "
        "float32.",
        called_with(
            "value", r"jax\.scipy\.stats\.betabinom\.(logpmf|pmf)",
            lambda *args: any(np.asarray(x).dtype == np.float64 for x in args),
        ),
    ),
    Deliberate(
        "Where numbers have 64 bits, spherical harmonics of float32 are complex128, exact to its "
        "digits; JAX's have the dtype, too, but the digits of float32.",
        called_with(
            "value", r"jax\.scipy\.special\.sph_harm(_y)?",
            lambda *args, **kwargs: any(
                getattr(x, "dtype", None) == np.float32 for x in (*args, *kwargs.values())
            ),
        ),
    ),
    Deliberate(
        "`erfcx` has second derivatives of arrays, too.",
        in_programs_of(
            r"jax\.scipy\.special\.erfcx",
            where_jax_raises("^TypeError: select cases must have the same shapes"),
        ),
    ),
    Deliberate(
        "A normal distribution that is truncated to nothing has a density that is NaN, but slopes "
        "that are numbers; JAX's are NaN.",
        equates=where_given(
            r"jax\.scipy\.stats\.truncnorm\..*",
            lambda x, a, b, *args: np.any(np.asarray(a, np.float64) >= np.asarray(b, np.float64)),
            of_derivatives(number_for_nan),
        ),
    ),
    Deliberate(
        "The class of arrays is called `Array`, also in what `array_repr` writes.",
        equates=where_called(r"jnp\.array_repr", as_array),
    ),
    Deliberate(
        "Matrices of booleans are symmetrized as the numbers 0 and 1, not weak; JAX halves them "
        "first.",
        called_with(
            "value|weak", r"lax\.linalg\.(cholesky|eigh)",
            lambda x, *args, **kwargs: np.asarray(x).dtype == bool,
        ),
    ),
    Deliberate(
        "The derivative of Cauchy's quantiles at 0.5 is pi; JAX has a constant there.",
        under(
            called_with(
                "value", r"jax\.scipy\.stats\.cauchy\.(ppf|isf)",
                lambda q, *args, **kwargs: np.any(np.asarray(q, np.float64) == 0.5),
            ),
            *DIFFERENTIATE,
        ),
    ),
    Deliberate(
        "Second derivatives of Cauchy's quantiles with respect to location and scale are numbers "
        "even where the quantile is infinite; JAX's are NaN.",
        equates=where_given(
            r"jax\.scipy\.stats\.cauchy\.(ppf|isf)",
            lambda q, *args, **kwargs: np.any((np.asarray(q) == 0) | (np.asarray(q) == 1)),
            of_derivatives(number_for_nan),
        ),
    ),
    Deliberate(
        "For an empty array, `nonzero` and the like return `fill_value` where indices are "
        "missing, as for others; JAX returns zeros.",
        called_with(
            "value", r"jnp\.(nonzero|flatnonzero|argwhere|where)",
            lambda a, *args, **kwargs: np.size(a) == 0 and kwargs.get("fill_value") is not None,
        ),
    ),
    Deliberate(
        "Elements of sets have the derivatives of what they were; JAX's are 0 where `size` is not "
        "given.",
        equates=where_given(
            r"jnp\.(unique\w*|union1d|setxor1d|setdiff1d|intersect1d)",
            lambda *args, size=None, **kwargs: size is None,
            of_derivatives(where_values(lambda x, y: y == 0)),
        ),
    ),
    Deliberate(
        "`setxor1d` of complex numbers fills up with the smallest also where one of them is NaN; "
        "JAX with zeros.",
        called_with(
            "value", r"jnp\.setxor1d",
            lambda a, b, *args, **kwargs: any(
                np.asarray(x).dtype.kind == "c" and np.isnan(x).any() for x in (a, b)
            ),
        ),
    ),
    Deliberate(
        "What two sets share is filled up with zeros where they share nothing; JAX fills up with "
        "the only element where one set has one and the other none.",
        called_with(
            "value", r"jnp\.intersect1d",
            lambda a, b, *args, **kwargs: np.size(a) + np.size(b) == 1,
        ),
    ),
    Deliberate(
        "Determinants of matrices without rows have as many axes in a derivative as without; JAX's "
        "have another where they are mapped over.",
        under(
            called_with("shape", r"jnp\.linalg\.slogdet", lambda a: np.size(a) == 0),
            *DIFFERENTIATE,
        ),
    ),
    Deliberate(
        "`lax.reduce` refuses an init of another dtype also where it is the neutral element, of "
        "which JAX does not look at the dtype.",
        in_programs_of(
            r"lax\.reduce", where_we_raise(r"^TypeError: reduce: \S+ takes an init of its dtype")
        ),
    ),
    Deliberate(
        "The Hessenberg form of a matrix without rows is that matrix, which has a derivative; "
        "JAX's is a constant, so that a loop that makes it can be differentiated in reverse.",
        under(
            in_programs_of(
                r"jax\.scipy\.linalg\.hessenberg",
                where_we_raise("^ValueError: reverse-mode differentiation of while_loop"),
            ),
            "while_loop", "fori_loop",
        ),
    ),
    Deliberate(
        "A power is weak if its base and its exponent are; JAX's by integers is sometimes weak "
        "where only one is.",
        called_with(
            "weak", r"jnp\.(power|pow|float_power)|lax\.pow",
            lambda x, y: np.asarray(y).dtype.kind in "iu",
        ),
    ),
    Deliberate(
        "`at[].power` of integers to negative powers is what is left of the number below 1; JAX "
        "multiplies as often as the bits of the power say.",
        narrowed(
            in_programs_of(
                r"jnp\.ndarray\.at\.power",
                lambda program, found, ours, theirs: found.kind == "value",
            ),
            inputs=r"-(inf|\d)",
            detail=r": u?int",
        ),
    ),
    Deliberate(
        "A complex number is zero if both of its parts are, as in numpy; `any`, `all` and what is "
        "made of them ask JAX's for the real part alone.",
        called_with(
            "value|shape", r"jnp\.(any|all|trim_zeros)", lambda a, *args, **kwargs: is_imaginary(a)
        ),
    ),
    Deliberate(
        "`lax.clamp` has derivatives by bounds that are scalars; JAX's lacks their sums.",
        in_programs_of(
            r"lax\.clamp",
            under(
                where_jax_raises(
                    "^TypeError: select cases must have the same shapes", "^AssertionError"
                ),
                *DIFFERENTIATE,
            ),
        ),
    ),
]  # fmt: skip


def as_meant(program: Program, ours: Any, theirs: Any) -> Any:
    """What JAX gave, without the differences that are meant."""
    for each in DELIBERATE:
        if each.equates is not None:
            theirs = each.equates(program, ours, theirs)
    return theirs


def is_deliberate(program: Program, found: Difference, ours: Any, theirs: Any) -> bool:
    return any(
        each.applies is not None and each.applies(program, found, ours, theirs)
        for each in DELIBERATE
    )
