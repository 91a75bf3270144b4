"""The differences from JAX that are meant, each with its reason."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nets.fuzzing.comparing import Difference, Leaf, Raised, leaves
from nets.fuzzing.programs import Program

Applies = Callable[[Program, Difference, Any, Any], bool]


@dataclass(frozen=True)
class Deliberate:
    """A class of differences: why it is meant, and whether one found belongs to it.

    `applies` is given the program, the difference, and what minijax and JAX gave.
    """

    reason: str
    applies: Applies


def where_jax_raises(*messages: str, kinds: tuple[str, ...] = ("accepted",)) -> Applies:
    """JAX raises an error whose class and message a pattern fits."""
    pattern = re.compile("|".join(messages))

    def applies(program: Program, found: Difference, ours: Any, theirs: Any) -> bool:
        if found.kind not in kinds or not isinstance(theirs, Raised):
            return False
        return bool(pattern.search(f"{theirs.name}: {theirs.message}"))

    return applies


def but_not_in_lax(applies: Applies) -> Applies:
    """As `applies`, in programs without functions of `lax`, which are strict about dtypes."""

    def elsewhere(program: Program, found: Difference, ours: Any, theirs: Any) -> bool:
        has_lax = any(name.startswith("lax.") for name in program.functions)
        return not has_lax and applies(program, found, ours, theirs)

    return elsewhere


def of_functions(kind: str, *names: str) -> Applies:
    """A difference of a kind in programs that call one of the functions, which are patterns."""
    pattern = re.compile("|".join(names))

    def applies(program: Program, found: Difference, ours: Any, theirs: Any) -> bool:
        return found.kind == kind and any(pattern.fullmatch(name) for name in program.functions)

    return applies


def narrowed(applies: Applies, inputs: str = "", detail: str = "") -> Applies:
    """As `applies`, where the patterns fit the source of an input and what was found."""

    def fits(program: Program, found: Difference, ours: Any, theirs: Any) -> bool:
        return (
            any(re.search(inputs, each.source) for each in program.inputs)
            and bool(re.search(detail, found.detail))
            and applies(program, found, ours, theirs)
        )

    return fits


def under(applies: Applies, *transformations: str) -> Applies:
    """As `applies`, in programs under one of the transformations."""

    def fits(program: Program, found: Difference, ours: Any, theirs: Any) -> bool:
        is_under = any(name in transformations for name in program.transformations)
        return is_under and applies(program, found, ours, theirs)

    return fits


def are_weak_booleans(program: Program, found: Difference, ours: Any, theirs: Any) -> bool:
    if found.kind != "weak":
        return False
    pairs = list(zip(leaves(ours), leaves(theirs), strict=True))
    differ = [x for x, y in pairs if x.weak != y.weak]
    return all(x.dtype == "bool" for x in differ)


def is_list_for_tuple(program: Program, found: Difference, ours: Any, theirs: Any) -> bool:
    """JAX gives a list where we give a tuple, of the same results."""
    return found.kind == "structure" and _types(_as_tuples(ours)) == _types(_as_tuples(theirs))


def _as_tuples(result: Any) -> Any:
    if isinstance(result, tuple) and isinstance(result[1], list):
        kind = "tuple" if result[0] == "list" else result[0]
        return (kind, [_as_tuples(part) for part in result[1]])
    return result


def _types(result: Any) -> Any:
    if isinstance(result, Leaf):
        return (result.kind, result.shape, result.dtype)
    if isinstance(result, tuple) and isinstance(result[1], list):
        return (result[0], [_types(part) for part in result[1]])
    return result


def where_we_raise(message: str) -> Applies:
    """We raise an error that a pattern fits."""
    pattern = re.compile(message)

    def applies(program: Program, found: Difference, ours: Any, theirs: Any) -> bool:
        return isinstance(ours, Raised) and bool(pattern.search(f"{ours.name}: {ours.message}"))

    return applies


DELIBERATE = [
    Deliberate(
        "What JAX says that it has not implemented, minijax may have.",
        where_jax_raises("NotImplementedError"),
    ),
    Deliberate(
        "Functions take floats of 16 bits, integers and booleans where JAX's implementation lacks "
        "them: they are computed in float32. Those of `lax` are as strict as JAX's.",
        where_jax_raises(
            "not compatible with finfo",
            r"dtype=\w+ is not supported",
            "RFFT input must be",
            "cannot safely cast argument",
        ),
    ),
    Deliberate(
        "The same, where what JAX lacks are operations of `lax` for the dtype.",
        but_not_in_lax(
            where_jax_raises("does not accept dtype", "requires arguments to have the same")
        ),
    ),
    Deliberate(
        "What JAX cannot differentiate or compile, minijax may.",
        where_jax_raises(
            "Reverse-mode differentiation does not work",
            "Linearization failed to produce known values",
            "is not supported by dot_general on CPU",
            "Integers cannot be raised to negative powers",
        ),
    ),
    Deliberate(
        "A derivative for which there is no formula is a NotImplementedError that says by which "
        "argument; JAX's classes differ from function to function.",
        where_we_raise("^NotImplementedError: .* there is no formula for its derivative"),
    ),
    Deliberate(
        "Factorizations are LAPACK's, which has no floats of 16 bits, also where a matrix has no "
        "elements.",
        where_we_raise(r"^TypeError: \w+: found b?f16\[.*; the dtypes it takes are float32"),
    ),
    Deliberate(
        "Sets of traced arrays have no size, also where one is known to be empty.",
        where_we_raise("^ConcretizationTypeError: (setdiff1d|setxor1d|intersect1d|union1d)"),
    ),
    Deliberate(
        "Arrays of no elements and scalars give what numpy gives, where JAX's implementation "
        "indexes or divides by nothing.",
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
        ),
    ),
    Deliberate(
        "Sizes may depend on values that are known when the function is traced: constants are "
        "computed at once. JAX traces them too, and refuses.",
        where_jax_raises("ConcretizationTypeError", "TracerBoolConversionError"),
    ),
    Deliberate(
        "`compress` and `extract` of a size greater than the array fill up what lacks.",
        where_jax_raises(
            "not greater than the size of the array axis", kinds=("accepted", "class")
        ),
    ),
    Deliberate(
        "Where JAX's error comes from the insides of its implementation, or from the compiler, "
        "ours says what is wrong with the argument, and is a ValueError or TypeError.",
        where_jax_raises(
            "^IndexError: tuple index", "^IndexError: index is out of bounds", "^AttributeError",
            "^KeyError", "^AssertionError", "^MLIRError", "^UnboundLocalError",
            "Slice size at index . in gather op", "not compatible with finfo",
            "^ZeroDivisionError", "^JaxRuntimeError", kinds=("class",),
        ),
    ),
    Deliberate(
        "Indices that are known and out of bounds are refused by `insert` and `delete`, as numpy "
        "does; JAX clips them.",
        where_we_raise("^IndexError: (insert|delete): an index is out of bounds"),
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
        "`nanquantile` of nothing has the shape of `q`, as of anything else.",
        of_functions("shape", r"jnp\.nan(quantile|percentile)"),
    ),
    Deliberate(
        "Convolutions by Fourier transforms give the float32 in which they are computed.",
        narrowed(
            of_functions("dtype", r"jax\.scipy\.signal\.\w+"),
            detail=r"dtype float32; expected b?float16",
        ),
    ),
    Deliberate("Booleans are never weak: there is nothing that they would promote to.",
               are_weak_booleans),
    Deliberate("Several results are a tuple, as documented, also where JAX gives a list.",
               is_list_for_tuple),
    Deliberate(
        "`median` of a scalar keeps the number of its axes, as numpy's; JAX adds one.",
        of_functions("shape", r"jnp\.(nan)?median"),
    ),
    Deliberate(
        "The results of distributions are weak only if all arguments are; JAX's depends on the "
        "function.",
        of_functions("weak", r"jax\.scipy\.stats\..*"),
    ),
    Deliberate(
        "Norms of integers are computed in floats; JAX squares the integers, which overflow.",
        narrowed(
            of_functions("value", r"jnp\.linalg\.(vector_norm|matrix_norm|norm)"),
            inputs=r'"(u?int|bool)',
        ),
    ),
    Deliberate(
        "NaN among the bins of `digitize` stands last, as sorting puts it; for JAX the bins fall.",
        narrowed(of_functions("value", r"jnp\.digitize"), inputs=r"\bnan\b"),
    ),
    Deliberate(
        "A Python number that is complex is converted to a real dtype as an array of it is.",
        narrowed(
            where_jax_raises(r"^TypeError: (int|float)\(\) argument must be .* not 'complex'"),
            inputs="complex|j",
        ),
    ),
    Deliberate(
        "Functions without results have Jacobians of none; JAX looks for the dtype of something.",
        under(
            where_jax_raises("^ValueError: at least one array or dtype is required"),
            "jacfwd", "jacrev",
        ),
    ),
    Deliberate(
        "The derivative of `eigh_tridiagonal` is that of the eigenvalues; JAX differentiates the "
        "bisection that found them.",
        under(
            of_functions("value", r"jax\.scipy\.linalg\.eigh_tridiagonal"),
            "jvp", "linearize", "jacfwd",
        ),
    ),
    Deliberate(
        "Matrices of booleans are symmetrized as the numbers 0 and 1; JAX halves them first.",
        narrowed(of_functions("value", r"lax\.linalg\.(cholesky|eigh)"), inputs='"bool"'),
    ),
    Deliberate(
        "The derivative of Cauchy's quantiles at 0.5 is pi; JAX has a constant there.",
        narrowed(
            of_functions("value", r"jax\.scipy\.stats\.cauchy\.(ppf|isf)"), inputs=r"\b0\.5\b"
        ),
    ),
    Deliberate(
        "The shape of `double_sided_maxwell` is `shape` followed by that of the parameters, also "
        "where `shape` is empty.",
        of_functions("shape", r"jax\.random\.double_sided_maxwell"),
    ),
]  # fmt: skip


def is_deliberate(program: Program, found: Difference, ours: Any, theirs: Any) -> bool:
    return any(each.applies(program, found, ours, theirs) for each in DELIBERATE)
