"""Bad calls, and the message that each must give."""

import threading
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction

import pytest

from glassjax_stage1 import (
    UnexpectedTracerError,
    add,
    build_jaxpr,
    derivative,
    eval_jaxpr,
    jvp,
    mul,
    nth_order_derivative,
)


def foo(x):
    return mul(x, add(x, 3.0))


class Array:
    """Looks like a number in every way but its type, as an array library's values do."""

    __array_priority__ = 100.0
    shape = ()

    def __float__(self):
        return 1.0

    def __add__(self, other):
        return self

    __radd__ = __mul__ = __rmul__ = __add__

    def __repr__(self):
        return "array(1.)"


def not_a_number(role, value, type_name):
    return (
        f"{role}: expected a float or an int, found {value} of type {type_name}. "
        "Stage 1 knows numbers only; arrays begin in stage 2."
    )


NOT_NUMBERS = [
    ("2.0", "'2.0'", "str"),
    (None, "None", "NoneType"),
    (True, "True", "bool"),
    (1j, "1j", "complex"),
    ([1.0], "[1.0]", "list"),
    ((), "()", "tuple"),
    (Fraction(1, 2), "Fraction(1, 2)", "Fraction"),
    (Decimal("1.5"), "Decimal('1.5')", "Decimal"),
    (Array(), "array(1.)", "Array"),
]

PLACES = {
    "add, first": ("argument 0 of add", lambda bad: add(bad, 1.0)),
    "add, second": ("argument 1 of add", lambda bad: add(1.0, bad)),
    "mul, first": ("argument 0 of mul", lambda bad: mul(bad, 1.0)),
    "mul, second": ("argument 1 of mul", lambda bad: mul(1.0, bad)),
    "in jvp": ("argument 1 of mul", lambda bad: jvp(lambda x: mul(x, bad), 1.0, 1.0)),
    "in staging": ("argument 1 of mul", lambda bad: build_jaxpr(lambda x: mul(x, bad), 1)),
    "in jvp in staging": (
        "argument 0 of add",
        lambda bad: build_jaxpr(lambda x: derivative(lambda y: add(bad, y), x), 1),
    ),
    "in staging in jvp": (
        "argument 0 of add",
        lambda bad: jvp(lambda x: build_jaxpr(lambda y: add(bad, y), 1), 1.0, 1.0),
    ),
    "primal": ("primal of jvp", lambda bad: jvp(foo, bad, 1.0)),
    "tangent": ("tangent of jvp", lambda bad: jvp(foo, 1.0, bad)),
    "derivative at": ("primal of jvp", lambda bad: derivative(foo, bad)),
    "result of jvp": ("result of `<lambda>`", lambda bad: jvp(lambda x: bad, 1.0, 1.0)),
    "result of staging": ("result of `<lambda>`", lambda bad: build_jaxpr(lambda x: bad, 1)),
    "argument of eval_jaxpr": (
        "argument 1 of eval_jaxpr",
        lambda bad: eval_jaxpr(build_jaxpr(lambda x, y: x, 2), (1.0, bad)),
    ),
}


@pytest.mark.parametrize(("value", "shown", "type_name"), NOT_NUMBERS, ids=lambda x: str(x))
@pytest.mark.parametrize("place", PLACES)
def test_what_is_not_a_float_or_an_int(place, value, shown, type_name):
    role, call = PLACES[place]
    with pytest.raises(TypeError) as caught:
        call(value)
    assert str(caught.value) == not_a_number(role, shown, type_name)


ONE_PARAMETER = build_jaxpr(lambda x: x, 1)


def two_results(x):
    return x, x


def two_parameters(x, y):
    return add(x, y)


MISSING = "two_parameters() missing 1 required positional argument: 'y'"
NUM_ARGS = "build_jaxpr: num_args must be an int of at least 0, found"
ORDER = "nth_order_derivative: n must be an int of at least 0, found"
ARGUMENTS = "eval_jaxpr: the jaxpr takes 1 arguments, found"


@pytest.mark.parametrize(
    ("call", "exception", "message"),
    [
        (lambda: eval_jaxpr(ONE_PARAMETER, ()), TypeError, f"{ARGUMENTS} 0"),
        (lambda: eval_jaxpr(ONE_PARAMETER, (1.0, 2.0)), TypeError, f"{ARGUMENTS} 2"),
        (lambda: build_jaxpr(two_parameters, 1), TypeError, MISSING),
        (lambda: jvp(two_parameters, 1.0, 1.0), TypeError, MISSING),
        (lambda: build_jaxpr(foo, -1), ValueError, f"{NUM_ARGS} -1"),
        (lambda: build_jaxpr(foo, "1"), ValueError, f"{NUM_ARGS} '1'"),
        (lambda: build_jaxpr(foo, True), ValueError, f"{NUM_ARGS} True"),
        (lambda: nth_order_derivative(-1, foo, 2.0), ValueError, f"{ORDER} -1"),
        (lambda: nth_order_derivative(1.0, foo, 2.0), ValueError, f"{ORDER} 1.0"),
        (lambda: nth_order_derivative(True, foo, 2.0), ValueError, f"{ORDER} True"),
        (lambda: nth_order_derivative(None, foo, 2.0), ValueError, f"{ORDER} None"),
    ],
)
def test_bad_calls(call, exception, message):
    with pytest.raises(exception) as caught:
        call()
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "call", [lambda: jvp(two_results, 1.0, 1.0), lambda: build_jaxpr(two_results, 1)]
)
def test_a_function_must_return_one_number(call):
    with pytest.raises(TypeError, match=r"^result of `two_results`: .* of type tuple\. Stage 1"):
        call()


@pytest.mark.parametrize("operator", [lambda x: x + 1.0, lambda x: 2.0 * x, lambda x: -x, float])
def test_python_operators_do_not_slip_past_the_interpreter(operator):
    # Operators on boxed values begin in stage 2; here they must not compute something else.
    with pytest.raises(TypeError):
        jvp(operator, 1.0, 1.0)
    with pytest.raises(TypeError):
        build_jaxpr(operator, 1)


@pytest.mark.parametrize(
    "operator", [lambda x: x + 1.0, lambda x: 1.0 + x, lambda x: x * x, lambda x: 2.0 * x]
)
def test_operators_name_the_primitives_to_call(operator):
    remedy = r"write add\(x, y\) or mul\(x, y\)"
    with pytest.raises(TypeError, match=f"a DualNumber has no operators: {remedy}"):
        jvp(operator, 2.0, 1.0)


# Values that leave the function they belong to

LEAKS = {
    "DualNumber": ("jvp of `keep`", lambda f: jvp(f, 2.0, 1.0)),
    "StagedValue": ("staging of `keep`", lambda f: build_jaxpr(f, 1)),
}
USES = {
    "add": lambda kept: add(kept, 1.0),
    "mul": lambda kept: mul(2.0, kept),
    "in jvp": lambda kept: jvp(lambda x: mul(x, kept), 1.0, 1.0),
    "in staging": lambda kept: build_jaxpr(lambda x: mul(x, kept), 1),
    "primal": lambda kept: jvp(foo, kept, 1.0),
    "tangent": lambda kept: jvp(foo, 1.0, kept),
    "result of jvp": lambda kept: jvp(lambda x: kept, 1.0, 1.0),
    "result of staging": lambda kept: build_jaxpr(lambda x: kept, 1),
    "argument of eval_jaxpr": lambda kept: eval_jaxpr(ONE_PARAMETER, (kept,)),
    "another thread": lambda kept: in_another_thread(lambda: add(kept, 1.0)),
}


def in_another_thread(call):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(call).result(timeout=10)


def leaked_value_message(kind, owner, keep, state):
    line = keep.__code__.co_firstlineno + 1
    return (
        f"{kind} made at {__file__}:{line} (in keep) belongs to the {owner}, which {state}.\n"
        "The value was kept in a global, an attribute or a container, or passed to another "
        "thread. Return it from the function instead."
    )


def assert_says(error, message):
    assert str(error) == message


@pytest.mark.parametrize("kind", LEAKS)
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_value_used_after_its_interpreter_ended(kind, use):
    kept = []

    def keep(x):
        kept.append(add(x, 1.0))
        return x

    owner, transform = LEAKS[kind]
    transform(keep)
    with pytest.raises(UnexpectedTracerError) as caught:
        use(kept[0])
    assert_says(caught.value, leaked_value_message(kind, owner, keep, "has ended"))


@pytest.mark.parametrize("kind", LEAKS)
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_value_used_after_an_exception_ended_its_interpreter(kind, use):
    kept = []

    def keep(x):
        kept.append(add(x, 1.0))
        raise ZeroDivisionError

    owner, transform = LEAKS[kind]
    with pytest.raises(ZeroDivisionError):
        transform(keep)
    with pytest.raises(UnexpectedTracerError) as caught:
        use(kept[0])
    assert_says(caught.value, leaked_value_message(kind, owner, keep, "has ended"))


@pytest.mark.parametrize("kind", LEAKS)
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_value_used_in_another_thread_while_its_interpreter_runs(kind, use):
    errors = []

    def keep(x):
        y = add(x, 1.0)
        with pytest.raises(UnexpectedTracerError) as caught:
            in_another_thread(lambda: use(y))
        errors.append(caught.value)
        return y

    owner, transform = LEAKS[kind]
    transform(keep)
    (error,) = errors
    assert_says(error, leaked_value_message(kind, owner, keep, "is not running here"))


@pytest.mark.parametrize("kind", LEAKS)
def test_a_value_of_a_transformation_that_runs_in_another_thread(kind):
    # Two transformations at the same time; neither is inside the other.
    kept, ready, done = [], threading.Event(), threading.Event()

    def keep(x):
        kept.append(add(x, 1.0))
        ready.set()
        assert done.wait(timeout=10)
        return x

    owner, transform = LEAKS[kind]
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(transform, keep)
        try:
            assert ready.wait(timeout=10)
            with pytest.raises(UnexpectedTracerError) as caught:
                jvp(lambda x: mul(x, kept[0]), 1.0, 1.0)
        finally:
            done.set()
        other.result(timeout=10)
    assert_says(caught.value, leaked_value_message(kind, owner, keep, "is not running here"))


@pytest.mark.parametrize("outer", [lambda f: jvp(f, 2.0, 1.0), lambda f: build_jaxpr(f, 1)])
@pytest.mark.parametrize("kind", LEAKS)
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_value_of_an_inner_transformation_used_in_the_outer_one(kind, use, outer):
    kept = []

    def keep(x):
        kept.append(add(x, 1.0))
        return x

    def f(x):
        LEAKS[kind][1](keep)
        return use(kept[0])

    with pytest.raises(UnexpectedTracerError) as caught:
        outer(f)
    assert_says(caught.value, leaked_value_message(kind, LEAKS[kind][0], keep, "has ended"))


def test_a_jaxpr_that_holds_a_dual_number_ends_with_it():
    kept = []

    def f(x):
        kept.append(build_jaxpr(lambda y: mul(x, y), 1))
        return eval_jaxpr(kept[0], (x,))

    assert jvp(f, 3.0, 1.0) == (9.0, 6.0)
    with pytest.raises(UnexpectedTracerError, match="belongs to the jvp of `f`, which has ended"):
        eval_jaxpr(kept[0], (1.0,))


def test_a_generator_read_after_its_values_ended():
    def multiples(x):
        while True:
            yield x
            x = add(x, x)

    kept = []

    def f(x):
        kept.append(multiples(x))
        return next(kept[0])

    assert jvp(f, 3.0, 1.0) == (3.0, 1.0)
    with pytest.raises(UnexpectedTracerError, match="belongs to the jvp of `f`, which has ended"):
        next(kept[0])


def test_a_leaked_value_is_a_type_error():
    assert issubclass(UnexpectedTracerError, TypeError)
