"""Bad calls, and the message that each must give: what, where, and the way out."""

import inspect
import math

import numpy as np
import pytest

from glassjax_stage2 import (
    ConcretizationTypeError,
    ShapedArray,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    bind,
    broadcast_in_dim,
    deriv,
    jvp,
    reduce_sum,
    sin,
    vmap,
    where,
)
from glassjax_stage2 import primitives as p
from glassjax_stage3 import array, jit, make_jaxpr

X = np.arange(3.0)
ones = np.ones


def identity(x):
    return x


def step(params, x, *rest, rate=1.0, **options):
    return x


def raised(error, call):
    """The message of the error that `call` must raise."""
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


no_array = "expected an array or a number, found"
not_static = "An argument that is not an array can be closed over, or made static"

CALLS = [
    # arguments that are not arrays, by their paths
    (lambda: jit(identity)("a"), TypeError, f"jit of `identity`: argument x: {no_array} 'a'"),
    (lambda: jit(identity)("a"), TypeError, not_static),
    (lambda: jit(identity)(np.array(["a"])), TypeError, "dtype='<U1'). An argument that is no"),
    (lambda: jit(identity)(len), TypeError, f"argument x: {no_array} <built-in function len>"),
    (
        lambda: jit(identity)({"w": [1.0, "b"]}),
        TypeError,
        f"jit of `identity`: argument x['w'][1]: {no_array} 'b'",
    ),
    (lambda: jit(step)(1.0, object()), TypeError, "jit of `step`: argument x: expected an array"),
    (lambda: jit(step)(1.0, 2.0, 3.0, "r"), TypeError, "argument rest[1]: expected an array"),
    (lambda: jit(step)(1.0, 2.0, rate="r"), TypeError, "jit of `step`: argument rate: expected"),
    (lambda: jit(step)(1.0, 2.0, z=["r"]), TypeError, "jit of `step`: argument z[0]: expected"),
    (lambda: jit(identity)(np.array(["a"])), TypeError, "argument x: expected an array of numbers"),
    (lambda: jit(identity)(2**70), OverflowError, "jit of `identity`: argument x: the Python int"),
    (lambda: jit(identity)(ShapedArray((), "f4")), TypeError, "argument x: expected an array"),
    (lambda: make_jaxpr(step)(1.0, "a"), TypeError, "make_jaxpr of `step`: argument x: expected"),
    (lambda: jit(step).lower(1.0, "a"), TypeError, "jit of `step`: argument x: expected"),
    (lambda: jit(identity)(), TypeError, "missing 1 required positional argument: 'x'"),
    # results that are not arrays
    (lambda: jit(lambda x: "a")(1.0), TypeError, f"result of `<lambda>`: {no_array} 'a'"),
    (
        lambda: jit(lambda x: {"y": [x, len]})(1.0),
        TypeError,
        f"result['y'][1] of `<lambda>`: {no_array} <built-in function len>",
    ),
    (lambda: make_jaxpr(lambda x: {1, 2})(1.0), TypeError, f"{no_array} {{1, 2}} of type set"),
    # shapes and dtypes, while tracing
    (
        lambda: jit(lambda x: x + ones(4))(X),
        ValueError,
        "Incompatible shapes for broadcasting: (3,) and (4,). Aligned from the right",
    ),
    (
        lambda: make_jaxpr(lambda x: bind(p.add_p, x, ones(3, int)))(X),
        TypeError,
        "add: operands must have one dtype, found f64[3] and i64[3]",
    ),
    (
        lambda: make_jaxpr(lambda x: bind(p.add_p, x, ones(4)))(X),
        TypeError,
        "add: operands must have one shape, sizes of 1 aside, or be scalars, found f64[3], f64[4]",
    ),
    (
        lambda: make_jaxpr(lambda x: bind(p.lt_p, x, ones(4)))(X),
        TypeError,
        "lt: operands must have one shape, sizes of 1 aside, or be scalars, found f64[3], f64[4]",
    ),
    (
        lambda: jit(lambda x: x < 1j)(1j),
        TypeError,
        "lt: complex numbers have no order, found c128[] and c128[]",
    ),
    (
        lambda: make_jaxpr(lambda x: bind(p.sin_p, x))(1),
        TypeError,
        "sin: expected a real or complex operand, found i64[]",
    ),
    (
        lambda: make_jaxpr(lambda x: bind(p.neg_p, x))(True),
        TypeError,
        "neg: expected a numeric operand, found bool[]",
    ),
    (
        lambda: make_jaxpr(lambda x: bind(p.select_n_p, x, x, x))(1.0),
        TypeError,
        "select_n: the first operand must be boolean, found f64[]",
    ),
    (
        lambda: make_jaxpr(lambda x: bind(p.reduce_sum_p, x, axes=(1,)))(X),
        TypeError,
        "reduce_sum: axes (1,) are not distinct axes of f64[3]",
    ),
    (
        lambda: make_jaxpr(lambda x: bind(p.transpose_p, x, permutation=(0, 0)))(ones((2, 2))),
        TypeError,
        "transpose: (0, 0) does not permute the axes of f64[2,2]",
    ),
    (
        lambda: make_jaxpr(lambda x: bind(p.reshape_p, x, new_sizes=(2,)))(X),
        TypeError,
        "reshape: f64[3] has size 3, f64[2] has size 2",
    ),
    (
        lambda: make_jaxpr(
            lambda x: bind(p.broadcast_in_dim_p, x, shape=(2, 4), broadcast_dimensions=(1,))
        )(X),
        TypeError,
        "broadcast_in_dim: f64[3] does not fit axes (1,) of shape (2, 4)",
    ),
    (
        lambda: make_jaxpr(
            lambda x: bind(p.dot_general_p, x, x, dimension_numbers=(((0,), (1,)), ((), ())))
        )(ones((2, 3))),
        TypeError,
        "dot_general: axes (0,) of f64[2,3] and (1,) of f64[2,3] differ in size",
    ),
    (lambda: vmap(jit(identity))(1.0), ValueError, "vmap"),
    # dtypes that the device lacks
    (
        lambda: array(np.longdouble(1)),
        TypeError,
        f"the device holds no arrays of dtype {np.dtype('g')}; convert them by astype",
    ),
    (lambda: jit(identity)(ones(2, "g")), TypeError, "the device holds no arrays of dtype"),
    (
        lambda: jit(lambda x: broadcast_in_dim(x, (2**40, 2**40), ()))(1.0),
        TypeError,
        "f64[1099511627776,1099511627776] is too large: the bytes of an array have to be less",
    ),
    (lambda: array(ones(2, "G")), TypeError, "the device holds no arrays of dtype complex"),
    (
        lambda: array(1, "M8[s]"),
        TypeError,
        "array: dtype must be a dtype of numbers or the name of one, such as 'float32', found ",
    ),
    (lambda: array(1, object), TypeError, "array: dtype must be a dtype of numbers"),
    # numbers of traced values
    (
        lambda: jit(lambda x: [10, 20][x])(1),
        TracerIntegerConversionError,
        "a Python integer is needed of a traced value at ",
    ),
    (
        lambda: jit(lambda n: sum(range(n)))(3),
        TracerIntegerConversionError,
        "To convert use astype; else close over it, or make it static.",
    ),
    (lambda: jit(lambda n: [0] * n)(3), TracerIntegerConversionError, "it is argument n of"),
    (lambda: jit(lambda n: int(n))(3.0), TracerIntegerConversionError, "a Python integer is"),
    (
        lambda: jit(lambda x: float(x))(1.0),
        ConcretizationTypeError,
        "a Python float is needed of a traced value at ",
    ),
    (lambda: jit(lambda x: complex(x))(1.0), ConcretizationTypeError, "a Python float is needed"),
    (
        lambda: jit(lambda x: math.sin(x))(1.0),
        ConcretizationTypeError,
        "Keep it an array: operators take scalars and arrays alike.",
    ),
    (
        lambda: jit(lambda x: np.asarray(x))(X),
        TracerArrayConversionError,
        "Use the functions of this package in place of numpy's",
    ),
    (lambda: jit(lambda x: list(x))(X), ConcretizationTypeError, "one by one"),
    (lambda: jit(lambda x: len(x))(1.0), TypeError, "len: f64[] is a scalar and has no length"),
    (lambda: jit(lambda x: {x: 1})(1.0), TypeError, "unhashable"),
    (
        lambda: jit(lambda x: np.sin(x))(X),
        TracerArrayConversionError,
        "Use the functions of this package in place of numpy's",
    ),
    (
        lambda: jit(lambda x: np.linalg.norm(x))(X),
        TracerArrayConversionError,
        f"a numpy array is needed of a traced value at {__file__}",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), CALLS)
def test_what_a_bad_call_answers(call, error, message):
    assert message in raised(error, call)


def line_of(f, text):
    """Where in the source of `f`, and so in messages, the line that holds `text` stands."""
    lines, first = inspect.getsourcelines(f)
    (offset,) = [i for i, line in enumerate(lines) if text in line]
    return f"{__file__}:{first + offset}"


def relu(x):
    if x > 0:
        return x
    return 0.0


class TestBranching:
    def test_on_what_was_computed_from_an_argument(self):
        message = raised(TracerBoolConversionError, lambda: jit(relu)(1.0))
        at = f"{line_of(relu, 'if x > 0')} (in relu)"
        assert message == (
            f"the truth value is needed of a traced value at {at}:\n"
            "    if x > 0:\n"
            f"but the value is abstract, bool[]: it was computed at {at} from argument x of "
            "`relu`, which jit traces once for all values.\n"
            "Use where(condition, x, y), or from stage 4 on cond."
        )

    def test_on_an_argument_itself(self):
        def f(params, flag):
            return params["w"] if flag else 0.0

        message = raised(TracerBoolConversionError, lambda: jit(f)({"w": 1.0}, True))
        assert f"needed of a traced value at {line_of(f, 'if flag')} (in f):" in message
        assert "it is argument flag of `f`, which jit traces once for all values" in message

    def test_on_what_depends_on_several_arguments(self):
        def f(x, params, unused):
            y = params["w"] * x
            while reduce_sum(y) > 1.0:
                y = y / 2.0
            return y

        message = raised(TracerBoolConversionError, lambda: jit(f)(X, {"w": X, "b": X}, 1.0))
        assert "from argument x, params['w'] of `f`" in message
        assert "while reduce_sum(y) > 1.0:" in message

    def test_on_a_constant_of_the_program(self):
        message = raised(TracerBoolConversionError, lambda: jit(lambda: 1 if sin(1.0) > 0 else 2)())
        assert "it was computed at" in message
        assert "argument" not in message.splitlines()[2]

    @pytest.mark.parametrize(
        "transform",
        [
            make_jaxpr,
            lambda f: jit(lambda x: jvp(f, (x,), (x,))),
            lambda f: jvp_of(jit(f)),
            lambda f: jit(jit(f)),
            lambda f: deriv(jit(f)),
        ],
    )
    def test_under_other_transformations(self, transform):
        message = raised(TracerBoolConversionError, lambda: transform(relu)(1.0))
        assert line_of(relu, "if x > 0") in message
        assert "traces once for all values" in message

    @pytest.mark.parametrize("write", ["x and 1", "not x", "x or 1", "assert_", "0 < x < 1"])
    def test_in_every_way_that_python_branches(self, write):
        def f(x):
            match write:
                case "x and 1":
                    return x and 1
                case "not x":
                    return not x
                case "x or 1":
                    return x or 1
                case "assert_":
                    assert x
                case _:
                    return 0 < x < 1

        assert "the truth value is needed" in raised(TracerBoolConversionError, lambda: jit(f)(1))

    def test_the_ways_out_that_it_names_are_ways_out(self):
        assert jit(lambda x: where(x > 0, x, 0.0))(-1.0).item() == 0.0

        def f(x, flag):
            return x if flag else 0.0

        assert jit(f, static_argnums=1)(2.0, True).item() == 2.0


def jvp_of(f):
    return lambda x: jvp(f, (x,), (1.0,))


def test_the_users_line_is_where_python_says_the_error_is():
    """The last frame that is not machinery."""
    with pytest.raises(TracerBoolConversionError) as caught:
        jit(relu)(1.0)
    frames = [entry for entry in caught.traceback if entry.name == "relu"]
    assert len(frames) == 1
