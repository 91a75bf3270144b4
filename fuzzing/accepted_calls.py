"""Bad arguments that glassjax takes on purpose, where JAX raises an error: each with its reason."""

import re
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class Acceptance:
    """A class of calls that give a result here and an error in JAX.

    `calls` are regular expressions, one of which all of `function(parameter=value)` matches;
    `error` is one that is found in the class and the message of JAX's error.
    """

    reason: str
    calls: tuple[str, ...]
    error: str


INTS = "(-1|-7|True|10[*][*]30|-10[*][*]30|a huge size)"

ACCEPTED = [
    Acceptance(
        "A flag may be whatever is true or false, as in Python, and None is false; JAX hands some "
        "to the compiler, whose bindings take bools only.",
        (
            r".*\((indices_are_sorted|unique_indices|stable|is_stable|is_strided|aggregate_to_topk"
            rf"|conjugate|transpose|left|allow_negative_indices)=(None|{INTS})\)",
            rf"numpy\.from_dlpack\(copy={INTS}\)",
        ),
        r"(get|to_buffer)\(\): incompatible function arguments|"
        r"Failed to decode all FFI handler operands|"
        r"too large to convert to C long|expects c to have the same number of rows|"
        r"'int' object is not iterable",
    ),
    Acceptance(
        "An int stands for a sequence of one, wherever sizes, axes or strides are expected; True "
        "is the int 1.",
        (
            r".*\((s|axes|axis|shape|sizes|dimensions|window_shape|window_dimensions|strides|"
            rf"window_strides|base_dilation|window_dilation|shapes|[0-9])={INTS}\)",
        ),
        r"'(int|bool)' object is not (iterable|subscriptable)|object of type '(int|bool)' has no "
        r"len|must be a sequence, got",
    ),
    Acceptance(
        "True is the int 1, as in Python; of JAX's functions some take it and others do not.",
        (r".*=True\)",),
        r"setting an array element with a sequence|offset must be an integer|"
        r"k must be a scalar integer|iota does not accept dtype bool|boolean array argument obj|"
        r"reduction_input_size_override out of range",
    ),
    Acceptance(
        "Lists, sets and arrays are as good as tuples where they say sizes or axes.",
        (
            r".*\((axis|axes|shape|sizes|dimensions|s|indices_or_sections|lhs_dilation"
            r"|new_shape|num|[0-9])=(a set|no elements|an empty array|ints|huge sizes)\)",
            r"nn\.initializers\.orthogonal\(\.\.\.\)\(1=a generator\)",
        ),
        r"'generator' has no len|Non-hashable static arguments|unhashable type|"
        r"'set' object cannot be interpreted|"
        r"not 'set'|got \(\{1\},\)|must be a sequence, got \[\]|AttributeError|"
        r"Only integer scalar arrays",
    ),
    Acceptance(
        "Lists and tuples are as good as arrays where they are copied, say how often, or between "
        "which bounds.",
        (
            r"(numpy|Array)\.repeat\(repeats=(no elements|huge sizes)\)",
            r"numpy\.copy\(a=(no elements|huge sizes)\)",
            r"numpy\.histogram(|2d|dd|_bin_edges)\(bins=(no elements|huge sizes|ragged)\)",
        ),
        r"requires ndarray or scalar arguments, got <class '(list|tuple)'>",
    ),
    Acceptance(
        "Ints with which nothing but Python computes need not fit in 32 bits.",
        (
            r".*\((offset|ddof|correction|bucket_size|index|m|tol|fill_value"
            r"|reduction_input_size_override)="
            r"(10[*][*]30|-10[*][*]30|a huge size)\)",
            r"Array\.at\..*\(1=(10[*][*]30|-10[*][*]30|a huge size)\)",
        ),
        r"OverflowError|incompatible function arguments|bad_cast",
    ),
    Acceptance(
        "A function or method has a parameter that JAX's lacks.",
        (r".*",),
        r"got an unexpected keyword argument",
    ),
    Acceptance(
        "What JAX says that it has not implemented, glassjax may have.",
        (r".*",),
        r"^NotImplementedError",
    ),
    Acceptance(
        "Special functions and factorizations take integers and booleans, as floats, where JAX's "
        "implementation lacks them.",
        (
            r"(scipy\.(special|linalg|stats)|nn|random)\..*=(-1|-7|True|ints|bools)\)",
            r"numpy\.((around|round)\(a|vander\(x|(nan)?(quantile|percentile)\(q)=(-1|-7|True|ints|bools)\)",
        ),
        r"is not supported|does not accept dtype (bool|int32)|must be a float dtype, got bool|"
        r"not compatible with finfo|arguments to jax.jvp do not match",
    ),
    Acceptance(
        "Tolerances and means broadcast as arrays do elsewhere.",
        (r".*\((rtol|atol|mean)=(7 axes|ints|an empty array)\)",),
        r"arrays must have the same number of dimensions",
    ),
    Acceptance(
        "Numbers that JAX hashes may be arrays, and be traced.",
        (
            r"lax\.linalg\.symmetric_product\((alpha|beta)=.*\)",
            r"scipy\.ndimage\.map_coordinates\(cval=.*\)",
        ),
        r"[Uu]nhashable type|Non-hashable static arguments",
    ),
    Acceptance(
        "What a callback is called with may be anything, and need not fit in 32 bits.",
        (r"debug\.(callback|print|log)\(.*\)",),
        r"OverflowError|Error interpreting argument|in the two-call form|InvalidInputException",
    ),
    Acceptance(
        "Functions without results have Jacobians of none, and may be checkpointed.",
        (r"(hessian|jacfwd|jacrev|jacobian|checkpoint)\(.*=a function\)",),
        r"at least one array or dtype is required|UnexpectedTracerError",
    ),
    Acceptance(
        "`insert` takes booleans for indices, as documented, and as numpy does.",
        (r"numpy\.insert\(obj=bools\)",),
        r"index array must be integer typed",
    ),
    Acceptance(
        "Keys are elements as any others, where nothing is computed with them.",
        (
            r"random\.(choice\(a|permutation\(x)=keys\)",
            r"lax\.sort_key_val\(values=keys\)",
            r"numpy\.(column_stack|dstack)\(.*=keys\)",
            r"flatten_util\.ravel_pytree\(.*=(a key|keys)\)",
        ),
        r"Cannot lower jaxpr|Operation creation failed|Cannot determine dtype of key",
    ),
    Acceptance(
        "Arrays of different shapes or kinds are not equal, and there is no more to say.",
        (r"numpy\.array_equiv\(.*\)",),
        r"eq got incompatible shapes|equal does not accept dtypes",
    ),
    Acceptance(
        "The class int is called as a function, where JAX calls it with something else, or finds "
        "no signature.",
        (
            r"tree_util\.all_leaves\(is_leaf=a type\)",
            r"lax\.composite\(decomposition=a type\)",
            r"jit\(.*=a type\)",
        ),
        r"not 'list'|^ConcretizationTypeError|Getting the signature of function",
    ),
    Acceptance(
        "Arrays without elements are transformed to arrays without elements.",
        (r"scipy\.fft\..*=an empty array\)",),
        r"slice limit_indices must be greater",
    ),
    Acceptance(
        "A tracer that has ended, or an array that is deleted, is refused where something is "
        "computed of it.",
        (
            r"(device_put\(x|numpy\.copy\(a|numpy\.array\(object)=an escaped tracer\)",
            r"numpy\.array\(object=a deleted array\)",
        ),
        r"InvalidInputException|UnexpectedTracerError|has been deleted",
    ),
    Acceptance(
        "A scalar has one element, in whose place `put` puts values, as numpy's does.",
        (r"numpy\.put\(a=.*\)",),
        r"Cannot broadcast to shape with fewer dimensions",
    ),
    Acceptance(
        "A number is an array without axes.",
        (r"lax\.collapse\(operand=.*\)",),
        r"object has no attribute 'shape'",
    ),
    Acceptance(
        "Sums may be converted to any dtype of numbers.",
        (r"lax\.ragged_dot\(preferred_element_type=a type\)",),
        r"Cannot lower jaxpr",
    ),
    Acceptance(
        "Flags that JAX hashes may be anything with a truth value.",
        (r"numpy\.intersect1d\(return_indices=.*\)",),
        r"Non-hashable static arguments",
    ),
    Acceptance(
        "The drawing of an array without elements is one, too.",
        (r"debug\.visualize_array_sharding\(arr=.*\)",),
        r"^ZeroDivisionError",
    ),
    Acceptance(
        "By none of its arguments a function has the gradient ().",
        (r"(grad|value_and_grad)\(argnums=(no elements|an empty array)\)",),
        r"max\(\) iterable argument is empty",
    ),
    Acceptance(
        "`polar` takes numbers for `eps`, which make no difference; JAX's cannot be given any.",
        (r"scipy\.linalg\.polar\(eps=.*\)",),
        r"Non-hashable static arguments|OverflowError",
    ),
    Acceptance(
        "None stands for the usual order of axes.",
        (r"lax\.conv_.*\(dimension_numbers=None\)",),
        r"cannot unpack non-iterable NoneType",
    ),
]


@cache
def _compiled(call: str) -> re.Pattern[str]:
    return re.compile(call)


def is_meant(call: str, error: str) -> bool:
    """Return True if one of the acceptances explains a result where JAX raised `error`."""
    return any(
        re.search(each.error, error) and any(_compiled(c).fullmatch(call) for c in each.calls)
        for each in ACCEPTED
    )
