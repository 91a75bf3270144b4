"""A share of the search for bad arguments, and garbage passed to every public function."""

import inspect
import random
import random as random_of_python

import jax
import ml_dtypes
import numpy as np
import pytest
from shares import one_in
from tables import for_each

import glassjax
import glassjax_stage1 as s1
import glassjax_stage2 as s2
import glassjax_stage3 as s3
import glassjax_stage4 as s4
from fuzzing.accepted_calls import is_meant
from fuzzing.bad_input import LEFT_OUT, tried
from fuzzing.docstring_calls import calls_of, public_functions
from glassjax_stage2 import Primitive, add, mul
from glassjax_stage3 import jit
from glassjax_stage4 import tape


@for_each(
    "name", ["numpy.sum", "lax.cos", "random.normal", "grad", "jit", "Array.sum", "Array.at.set"]
)
def test_calls_are_taken_from_examples_in_both_libraries(name):
    ours, theirs = calls_of("glassjax", name), calls_of("jax", name)
    assert ours
    assert len(ours) == len(theirs)
    assert name in public_functions()
    jax.block_until_ready([call.args for call in theirs if name == "numpy.sum"])


@for_each(
    ("call", "error"),
    [
        ("lax.sort(is_stable=None)", "TypeError: get(): incompatible function arguments."),
        ("numpy.fft.fftn(axes=-1)", "TypeError: object of type 'int' has no len()"),
        ("numpy.median(axis=a set)", "ValueError: Non-hashable static arguments are not supported"),
    ],
)
def test_what_is_accepted_on_purpose_is_known_by_call_and_error(call, error):
    assert is_meant(call, error)
    assert not is_meant(call, "TypeError: something else")
    assert not is_meant(call.replace("=", "=no "), error)


def test_a_share_of_the_net_of_bad_input():
    """No error of the insides, nothing that hangs or dies, no result that JAX lacks unexplained."""
    drawn = random_of_python.Random(0).sample(
        [n for n in public_functions() if n not in LEFT_OUT], 4
    )
    found = tried(drawn, seconds=60, seed=0, share=0.1, with_jax=True)
    assert len(found) > 20
    assert {str(case): outcome for case, outcome in found.items() if outcome.is_finding} == {}


ones3, ones23 = np.ones(3), np.ones((2, 3))


f32 = np.ones(3, np.float32)


mine = Primitive("mine")


def square(x):
    return mul(x, x)


def identity(x):
    return x


# Anything thrown at everything. Left out: what takes a program, a type or a tree structure of ours,
# where another argument is the business of a type checker; and what registers things for good.

NOT_CALLED = {
    "backward_pass", "dce_jaxpr", "eliminate_dead_code", "eval_jaxpr", "jaxpr_as_fun",
    "partial_eval", "partial_eval_jaxpr", "result_type", "tree_transpose", "tree_unflatten",
    "treedef_tuple", "typecheck_jaxpr", "typecheck_partial_eval",
    "defjvp", "deflinear", "defzero", "deftranspose", "set_interpreter",
}  # fmt: skip


ALLOWED = (TypeError, ValueError, NotImplementedError, OverflowError)


def functions_of_packages():
    for module in (s1, s2, s3, s4, glassjax, glassjax.numpy, glassjax.lax, glassjax.nn):
        names = getattr(module, "__all__", None) or [n for n in vars(module) if n[0] != "_"]
        for name in {*names} - NOT_CALLED:
            function = getattr(module, name)
            is_ours = getattr(function, "__module__", "").startswith("glassjax")
            if is_ours and inspect.isroutine(function) and not name.startswith("register"):
                yield function
    yield from (tape.grad, tape.vjp)


OF_PACKAGES = {
    f"{function.__module__}.{function.__name__}": function for function in functions_of_packages()
}


GARBAGE = [
    None, "x", b"y", object(), [], [1, [2]], {}, {"a": 1.0}, (), (0,), (-1,), (5,), ("a",), (1.5,),
    (1, 0), (2, 3), (None,), identity, square, add, lambda: 1, 0, 1, -1, 7, 10**30, 2.5, 1j,
    float("nan"), True, np.float32(2), np.int32(3), np.zeros(()), np.zeros(0), ones3, ones23, f32,
    np.arange(3), np.array(["a"]), np.array([None]), np.array([1, 2], "M8[s]"),
    np.ones(2, ">f4"), np.zeros(2, [("a", "f4")]), np.ones(3, bool), np.ones(3, complex),
    np.ones(3, ml_dtypes.bfloat16), ..., slice(1), range(3), {1, 2}, int, np.float32, "float32",
    s2.ShapedArray((3,), np.float32), mine, jit(square),
]  # fmt: skip


KEYWORDS = {
    "argnums": [0, -1, 7, (0,), (0, 5), (), "a", None, 1.5],
    "in_axes": [0, -1, 7, None, "a", (0, None), [0], {"a": 0}, 2.5],
    "out_axes": [0, -1, 9, None, "a", (0, 0)],
    "axis": [0, -1, 9, None, "a", (0, 0), 1.5],
    "axis_size": [3, 0, -1, "a", 1.5],
    "has_aux": [True, False],
    "static_argnums": [0, -1, 9, (0, 0), "a", None, 1.5],
    "static_argnames": ["x", "zz", ("x", 3), 3],
}


OF_THE_OUTSIDE = {  # what is found only as it runs: devices, indices, what others hand over
    "glassjax.numpy.rearranging": (IndexError,),  # out of bounds, as numpy has it
    "glassjax.runtime.devices": (RuntimeError,),
    "glassjax.dlpack": (BufferError,),
    "glassjax.lax.collectives": (NameError,),  # a named axis, which a caller's vmap gives
    "glassjax.callbacks": (glassjax.errors.ExecutionError,),  # what it calls fails
}


CALLS = 25  # with garbage, of each function


@pytest.mark.parametrize("part", one_in(10, range(10)))
@pytest.mark.filterwarnings("ignore")  # numpy's, about what it makes of garbage
def test_garbage_is_refused_in_words(part):
    """A call either works or raises an error of the allowed classes, with a message."""
    names = sorted(OF_PACKAGES)[part::10]
    wrong = [each for name in names for each in refusals_without_words(name)]
    assert not wrong, "\n".join(wrong)


def refusals_without_words(name):
    """The calls of a function that fail otherwise, as texts."""
    draw = random.Random(name)
    function = OF_PACKAGES[name]
    known = inspect.signature(function).parameters
    allowed = *ALLOWED, *OF_THE_OUTSIDE.get(name.rpartition(".")[0], ())
    for _ in range(CALLS):
        args, more = ([draw.choice(GARBAGE) for _ in range(draw.randint(1, 3))] for _ in range(2))
        kwargs = {
            key: draw.choice(values)
            for key, values in KEYWORDS.items()
            if key in known and draw.random() < 0.5
        }
        try:
            result = function(*args, **kwargs)
            while isinstance(result, tuple) and len(result) >= 2 and callable(result[1]):
                result = result[1]
            if callable(result):
                result(*more)
        except Exception as error:
            if not isinstance(error, allowed) or not str(error).strip():
                yield f"{name}(*{args}, **{kwargs}), called with {more}: {error!r}"
