"""Primitives mean what the current interpreter says, and the right one is always current."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import glassjax_stage1
from glassjax_stage1 import (
    EvalInterpreter,
    Interpreter,
    JVPInterpreter,
    Op,
    StagingInterpreter,
    add,
    build_jaxpr,
    current_interpreter,
    derivative,
    jvp,
    mul,
    set_interpreter,
)


class Spelling(Interpreter):
    """An interpreter of one's own: every operation means its own spelling."""

    def interpret_op(self, op, args):
        return f"{op.name}({', '.join(map(str, args))})"


def foo(x):
    return mul(x, add(x, 3.0))


def stack():
    """The transformations that are running, innermost first."""
    names, interpreter = [], current_interpreter()
    while interpreter is not None:
        names.append(str(interpreter))
        interpreter = interpreter.parent
    return names


@pytest.mark.parametrize("kind", [EvalInterpreter, JVPInterpreter, StagingInterpreter])
def test_every_interpreter_is_an_interpreter(kind):
    # In autodidax2 the evaluating interpreter is a class apart.
    assert issubclass(kind, Interpreter)
    assert isinstance(current_interpreter(), EvalInterpreter)


@pytest.mark.parametrize(
    ("x", "y", "total", "product"),
    [(2, 3, 5, 6), (2.0, 3.0, 5.0, 6.0), (2, 3.5, 5.5, 7.0), (1e308, 10.0, 1e308, float("inf"))],
)
def test_evaluation_is_arithmetic_and_keeps_the_type(x, y, total, product):
    for result, expected in [(add(x, y), total), (mul(x, y), product)]:
        assert result == expected
        assert type(result) is type(expected)


def test_a_program_is_read_by_the_interpreter_that_is_current():
    assert foo(2.0) == 10.0
    with set_interpreter(Spelling()):
        assert foo("x") == "mul(x, add(x, 3.0))"
    assert foo(2.0) == 10.0


def test_the_set_of_primitives_is_closed():
    assert [op.name for op in Op] == ["add", "mul"]


def test_an_interpreter_without_rules_says_so():
    with (
        set_interpreter(Interpreter()),
        pytest.raises(NotImplementedError, match=r"^Interpreter must define interpret_op$"),
    ):
        add(1.0, 2.0)


def test_set_interpreter_nests_and_restores():
    bottom, one, two = current_interpreter(), Spelling(), Spelling()
    with set_interpreter(one):
        with set_interpreter(two):
            assert current_interpreter() is two
        assert current_interpreter() is one
        with set_interpreter(None):
            assert current_interpreter() is bottom
        assert current_interpreter() is one
    assert current_interpreter() is bottom


# The stack


def test_parents_are_the_stack():
    seen = []

    def inner(y):
        seen.extend(stack())
        return y

    def outer(x):
        return derivative(inner, x)

    build_jaxpr(outer, 1)
    assert seen == ["jvp of `inner`", "staging of `outer`"]
    assert stack() == ["evaluation of `<unknown>`"]


def test_the_stack_of_an_interpreter_is_what_it_was_begun_inside_of():
    outer = Spelling()
    with set_interpreter(outer):
        middle = Spelling()
        with set_interpreter(middle):
            inner = Spelling()
        sibling = Spelling()
    assert inner.stack() == [inner, middle, outer]
    assert sibling.stack() == [sibling, outer]
    assert outer.stack() == [outer]


# Exceptions

TRANSFORMATIONS = {
    "set_interpreter": lambda f: set_interpreter_and_call(f),
    "jvp": lambda f: jvp(f, 1.0, 1.0),
    "build_jaxpr": lambda f: build_jaxpr(f, 1),
    "jvp in build_jaxpr": lambda f: build_jaxpr(lambda x: derivative(f, x), 1),
    "build_jaxpr in jvp": lambda f: jvp(lambda x: build_jaxpr(f, 1), 1.0, 1.0),
}


def set_interpreter_and_call(f):
    with set_interpreter(Spelling()):
        f("x")


@pytest.mark.parametrize(
    "exception", [ZeroDivisionError, StopIteration, GeneratorExit, KeyboardInterrupt]
)
@pytest.mark.parametrize("transform", TRANSFORMATIONS.values(), ids=TRANSFORMATIONS)
def test_an_exception_restores_the_interpreter_and_passes_unchanged(transform, exception):
    raised = exception("out")

    def f(x):
        raise raised

    before = current_interpreter()
    with pytest.raises(exception) as caught:
        transform(f)
    assert caught.value is raised
    assert current_interpreter() is before
    assert foo(2.0) == 10.0


def test_a_program_can_catch_an_exception_and_go_on():
    def f(x):
        with pytest.raises(TypeError):
            mul(x, "three")  # fails in the middle of a rule of jvp
        with pytest.raises(TypeError):
            derivative(lambda y: None, x)
        with pytest.raises(TypeError):
            build_jaxpr(lambda y: add(y, None), 1)
        return foo(x)

    assert jvp(f, 2.0, 1.0) == (10.0, 7.0)


# Threads


def test_a_thread_begins_with_evaluation():
    def f(x):
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(foo, 2.0).result() == 10.0
            assert pool.submit(stack).result() == ["evaluation of `<unknown>`"]
        return foo(x)

    assert jvp(f, 2.0, 1.0) == (10.0, 7.0)
    assert len(build_jaxpr(f, 1).equations) == 2


def test_threads_do_not_see_each_others_interpreter():
    number = 4
    meet = threading.Barrier(number, timeout=10)

    def meeting_foo(x):
        meet.wait()  # all threads are inside their transformation here
        y = add(x, 3.0)
        meet.wait()
        return mul(x, y)

    def work(i):
        if i % 2:
            return jvp(meeting_foo, float(i), 1.0)
        return len(build_jaxpr(meeting_foo, 1).equations)

    with ThreadPoolExecutor(number) as pool:
        assert list(pool.map(work, range(number))) == [2, (4.0, 5.0), 2, (18.0, 9.0)]


# asyncio


def test_tasks_do_not_see_each_others_interpreter():
    async def spell(name):
        with set_interpreter(Spelling()):
            y = add(name, 3.0)
            await asyncio.sleep(0)
            return mul(name, y)

    async def evaluate():
        y = add(2.0, 3.0)
        await asyncio.sleep(0)
        return mul(2.0, y)

    async def main():
        return await asyncio.gather(spell("x"), evaluate(), spell("y"), evaluate())

    assert asyncio.run(main()) == ["mul(x, add(x, 3.0))", 10.0, "mul(y, add(y, 3.0))", 10.0]


def test_a_transformed_function_may_run_an_event_loop():
    async def part(x):
        await asyncio.sleep(0)
        return add(x, 3.0)

    async def whole(x):
        y, z = await asyncio.gather(part(x), asyncio.to_thread(add, x, 3.0))
        return add(mul(x, y), mul(x, z))

    def f(x):
        return asyncio.run(whole(x))

    assert jvp(f, 2.0, 1.0) == (20.0, 14.0)
    assert len(build_jaxpr(f, 1).equations) == 5


@pytest.mark.parametrize(
    "begin",
    [lambda f: jvp(f, 1.0, 1.0), lambda f: build_jaxpr(f, 1)],
    ids=["jvp", "build_jaxpr"],
)
def test_a_task_that_outlives_the_transformation_it_began_in_evaluates(begin):
    # It keeps the interpreter of its birth in its context, though that one has ended by then.
    async def late():
        return foo(2.0), jvp(foo, 2.0, 1.0), stack()

    async def main():
        tasks = []

        def f(x):
            tasks.append(asyncio.ensure_future(late()))
            return x

        begin(f)
        return await tasks[0]

    assert asyncio.run(main()) == (10.0, (10.0, 7.0), ["evaluation of `<unknown>`"])


# Generators


def powers(x):
    power = 1.0
    while True:
        power = mul(power, x)
        yield power


def test_a_generator_is_read_by_the_interpreter_that_is_current_at_each_step():
    three = powers(3.0)
    assert next(three) == 3.0

    def f(x):
        own = powers(x)
        return add(next(own), mul(next(own), next(three)))  # x + 9 x^2

    assert jvp(f, 2.0, 1.0) == (38.0, 37.0)


def test_transforming_inside_a_generator_leaves_the_consumer_as_it_was():
    def slopes():
        for x in (1.0, 2.0):
            yield derivative(foo, x)

    generator = slopes()
    before = current_interpreter()
    assert next(generator) == 5.0
    assert current_interpreter() is before
    assert next(generator) == 7.0


def test_all_public_names_exist():
    assert len({*glassjax_stage1.__all__}) == len(glassjax_stage1.__all__)
    for name in glassjax_stage1.__all__:
        assert hasattr(glassjax_stage1, name)
