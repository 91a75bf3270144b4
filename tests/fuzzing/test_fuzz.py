"""The search itself: drawing, shrinking, and noticing differences."""

import dataclasses
import fnmatch
import functools
import random
import subprocess
import sys

import numpy as np
import pytest
from shares import one_in

from fuzzing import result_types
from fuzzing.docstring_calls import function_of, is_method, public_functions
from fuzzing.search import comparing, running, worker
from fuzzing.search.arguments import Input
from fuzzing.search.choices import Choices, shrunk
from fuzzing.search.comparing import Leaf
from fuzzing.search.differences import DELIBERATE, as_meant
from fuzzing.search.left_out import LEFT_OUT, REASONS, is_left_out
from fuzzing.search.programs import Program, drawn
from fuzzing.search.recipes import RECIPES
from fuzzing.search.transformations import TRANSFORMATIONS

pytestmark = pytest.mark.newest_jax

NAMES = list(RECIPES)


def program_of(seed):
    return drawn(Choices(random.Random(seed)), NAMES, worker.types_of)


def test_the_same_seed_gives_the_same_programs():
    assert [program_of(seed) for seed in range(20)] == [program_of(seed) for seed in range(20)]


def test_choices_can_be_replayed():
    for seed in range(20):
        choices = Choices(random.Random(seed))
        program = drawn(choices, NAMES, worker.types_of)
        assert drawn(Choices(choices.made), NAMES, worker.types_of) == program


def test_shrinking_finds_the_smallest_sequence():
    def is_smaller(candidate):
        return candidate if sum(candidate) >= 7 and 3 in candidate else None

    assert shrunk([9, 1, 3, 8, 0, 0, 4, 2], is_smaller) in ([3, 4], [4, 3])


def function_in_programs(name):
    """The function of glassjax that programs call by a name; methods by their names."""
    if name.startswith("jnp.ndarray."):
        return name.replace("jnp.ndarray", "Array")
    glassjax, _ = worker.libraries()
    namespace = {"jax": glassjax, "jnp": glassjax.numpy, "lax": glassjax.lax}
    return functools.reduce(getattr, name.split(".")[1:], namespace[name.partition(".")[0]])


def test_every_public_function_is_called_or_left_out_for_a_reason():
    called = {function_in_programs(name) for name in NAMES}
    others = [
        name
        for name in public_functions()
        if (name if is_method(name) else function_of("glassjax", name)) not in called
    ]
    assert [name for name in others if not is_left_out(name)] == []
    assert [pattern for pattern in LEFT_OUT if not fnmatch.filter(others, pattern)] == []
    assert all(reason.endswith(".") for reason in REASONS)


def test_recipes_draw_sources():
    """Every recipe gives a call of its function that is Python."""
    for name in NAMES:
        for seed in range(3):
            program = drawn(Choices(random.Random(seed)), [name], lambda program: None)
            compile(program.source, "<program>", "exec")
            assert program.functions == (name,)


@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_transformations_are_of_both_libraries(name):
    inputs = (
        Input("x0", 'jnp.array([1.0, 2.0], "float32")', True),
        Input("x1", "2.0", False),
        Input("x2", 'jnp.array([3, 4], "int32")', True),
    )
    program = Program(inputs, ("jnp.multiply(x0, x1) + x2",), ("jnp.multiply",), (name,))
    outcome = worker.compared(program)
    assert outcome.difference is None
    assert outcome.theirs < np.inf  # JAX does not refuse it


def test_a_program_stands_alone():
    inputs = (Input("x0", 'jnp.array([1.0, nan], "float32")', True),)
    program = Program(inputs, ("jnp.sin(x0)",), ("jnp.sin",), ("jit", "grad"))
    run = subprocess.run(
        [sys.executable, "-c", program.standalone], capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stderr
    ours, theirs = run.stdout.splitlines()
    assert "nan" in ours
    assert "nan" in theirs


def array(values, dtype="float32", weak=False):
    values = np.asarray(values, dtype)
    return Leaf("array", values.shape, dtype, weak, values)


FOUND = {
    "value": (array([1.0, 2.0]), array([1.0, 2.001])),
    "dtype": (array([1], "int32"), array([1], "int8")),
    "shape": (array([1.0]), array(1.0)),
    "weak": (array(1.0, weak=True), array(1.0)),
    "kind": (array(1.0), Leaf("float", (), "", None, np.asarray(1.0))),
    "structure": (("tuple", [array(1.0)]), ("list", [array(1.0)])),
    "error": (comparing.raised(ValueError("no")), array(1.0)),
    "accepted": (array(1.0), comparing.raised(ValueError("no"))),
    "class": (comparing.raised(ValueError("no")), comparing.raised(TypeError("no"))),
}


def test_a_difference_is_seen():
    for kind, (ours, theirs) in FOUND.items():
        assert comparing.difference(ours, theirs).kind == kind
        assert comparing.difference(theirs, theirs) is None


def test_rounding_is_no_difference():
    ours, theirs = array([1.0, 3e4, np.inf, np.nan]), array([1.0, 3e4 * (1 + 1e-6), np.inf, np.nan])
    assert comparing.difference(ours, theirs) is None
    assert comparing.difference(ours, array([1.0, 3e4, -np.inf, np.nan])).kind == "value"


def test_a_worker_that_dies_is_a_finding_and_is_replaced():
    lives = Program((), ("jnp.ones(2)",), ("jnp.ones",))
    dies_here = Program(
        (), ("jax.__name__ == 'glassjax' and __import__('os')._exit(3)",), ("exit",)
    )
    process = worker.Worker()
    try:
        assert process.outcome(dies_here).difference.kind == "crash"
        assert process.outcome(lives).difference is None
        assert process.types(lives)[0].shape == (2,)
    finally:
        process.close()


class Silent:
    """The connection to a process, and the process, which says whose turn it is and then ends."""

    exitcode = 3

    def __init__(self, *turns, hangs=False):
        self.turns, self.hangs = list(turns), hangs

    def send(self, request):
        assert request[0] == "compare"

    def poll(self, seconds):
        return bool(self.turns) or not self.hangs

    def recv(self):
        if not self.turns:
            raise EOFError
        return self.turns.pop(0)

    def kill(self):
        self.is_killed = True

    def join(self, seconds=0):
        pass

    close = join


@pytest.mark.parametrize("hangs", [False, True])
def test_only_what_glassjax_does_to_a_worker_is_a_finding(hangs):
    for turns, kind in ((["jax"], None), (["jax", "glassjax"], "hang" if hangs else "crash")):
        process, silent = worker.Worker(), Silent(*turns, hangs=hangs)
        process.process = process.connection = silent
        found = process.outcome(Program((), (), ())).difference
        assert (found and found.kind) == kind
        assert silent.is_killed
        assert process.process is None


def test_an_error_of_the_comparison_is_a_finding(monkeypatch):
    class Connection:
        """Asks once, and keeps the answer."""

        def __init__(self):
            self.asked, self.answers = [("compare", Program((), (), ()))], []

        def recv(self):
            if not self.asked:
                raise EOFError
            return self.asked.pop()

        def send(self, answer):
            self.answers.append(answer)

    monkeypatch.setattr(worker, "compared", lambda *given: 1 / 0)
    connection = Connection()
    worker.serve(connection)
    (outcome,) = connection.answers
    assert outcome.difference.kind == "comparison"
    assert "ZeroDivisionError" in outcome.difference.detail


@pytest.mark.parametrize("name", ["jnp.add", "lax.add"])
def test_an_error_where_jax_raises_none_is_a_finding(name):
    raises_here = "jax.__name__ == 'glassjax' and [][0]"
    assert worker.compared(Program((), (raises_here,), (name,))).difference.kind == "error"


# Programs of known differences, and the same where nothing is known that would excuse one.
EXCUSED = {
    "nanquantile of nothing": (
        'jnp.zeros(0, "float32")', "jnp.nanquantile(x0, jnp.ones(2))", "jnp.nanquantile", (),
    ),
    "median of a scalar": ("1.0", "jnp.median(x0, keepdims=True)", "jnp.median", ()),
    "a weak gradient": ("1.0", "jnp.roll(jnp.broadcast_to(x0, 3), 1)", "jnp.roll", ("grad",)),
    "an array of numpy's": ('np.ones(1, "float32")', "lax.cummax(x0)", "lax.cummax", ("jvp",)),
}  # fmt: skip


@pytest.mark.parametrize("name", EXCUSED)
def test_known_differences_are_excused_where_they_arise_and_nowhere_else(name, monkeypatch):
    source, call, function, transformations = EXCUSED[name]
    program = Program((Input("x0", source, True),), (call,), (function,), transformations)
    assert worker.compared(program).difference is None
    for table in ("as_meant", "is_deliberate"):
        monkeypatch.setattr(
            worker, table, lambda program, *each: each[-1] if len(each) == 2 else False
        )
    assert worker.compared(program).difference is not None


def test_other_arguments_are_not_excused():
    program = Program((Input("x0", "jnp.ones(3)", True),), ("jnp.median(x0)",), ("jnp.median",), ())
    found = comparing.Difference("shape", "")
    assert not worker.is_deliberate(program, found, array([1.0]), array(1.0))


def test_results_beside_derivatives_are_not_excused_as_these_are():
    """JAX's derivatives of sets are 0, and ours not; what is in the sets must agree."""
    inputs = (Input("x0", "jnp.array([1.0, 2.0])", True),)
    program = Program(inputs, ("jnp.unique(x0)",), ("jnp.unique",), ("jvp", "scan"))

    def pair(primal, tangent):
        both = [("list", [array([1.0, primal])]), ("list", [array([1.0, tangent])])]
        return ("tuple", [array(2, "int32"), ("tuple", both)])

    ours = pair(2.0, 3.0)
    of_tangent, of_primal = (
        comparing.difference(ours, worker.as_meant(program, ours, theirs))
        for theirs in (pair(2.0, 0.0), pair(0.0, 3.0))
    )
    assert of_tangent is None
    assert of_primal.kind == "value"


def test_parts_that_are_not_finite_are_excused_in_derivatives_alone():
    inputs = (Input("x0", "jnp.array([complex(inf, 1.0)])", True),)
    program = Program(inputs, ("jnp.square(x0)",), ("jnp.square",), ("jvp",))

    def pair(primal, tangent):
        both = [("list", [array([part], "complex64")]) for part in (primal, tangent)]
        return ("tuple", both)

    infinite, nan = complex(np.inf, np.nan), complex(np.nan, np.nan)
    ours = pair(infinite, infinite)
    for theirs, is_excused in ((pair(infinite, nan), True), (pair(nan, infinite), False)):
        meant = worker.as_meant(program, ours, theirs)
        assert (comparing.difference(ours, meant) is None) == is_excused
    finite = pair(infinite, 1.0)
    assert comparing.difference(ours, worker.as_meant(program, ours, finite)) is not None


AMONG = {  # a number of ours, those that JAX gave, and whether it might have given ours
    "far from numbers that are near": (np.float32(3.0), [1.0, 1.1], False),
    "as near as they are": (np.float32(1.5), [1.0, 1.1], True),
    "an int like none of them": (np.int32(30), [1, 2], False),
    "an int where they agree": (np.int32(2), [1, 1], False),
    "NaN for numbers that differ": (np.float32(np.nan), [1.0, 9.0], False),
    "NaN where one is": (np.float32(np.nan), [1.0, np.nan], True),
    "a number where another is NaN": (np.float32(9.0), [1.0, np.nan], False),
    "a number as large as where one is infinite": (np.float32(-3e7), [np.inf, 1e8], True),
    "a number larger than where one is infinite": (np.float32(3e9), [np.inf, 1e8], False),
    "a complex number beside": (np.complex64(1 + 9j), [1 + 1j, 1 + 1.1j], False),
    "a part that is infinite for NaN": (np.complex64(complex(np.inf, 1)), [np.nan + 1j] * 2, False),
    "a part that is NaN where one is": (
        np.complex64(np.nan + 1j),
        [np.inf + 1j, np.nan + 1j],
        True,
    ),
}


def test_ill_conditioned_numbers_are_excused_where_jax_gives_such():
    wrong = []
    for name, (x, ys, expected) in AMONG.items():
        ours = np.array([ys[0], x, ys[1]], x.dtype)
        if comparing.is_among(ours, [np.full(3, y, x.dtype) for y in ys]) != expected:
            wrong.append(name)
    assert not wrong


@pytest.mark.parametrize("other", ["float16", "bfloat16", "float32", "int8"])
def test_numbers_of_python_are_changed_by_the_rounding_of_what_they_meet(other):
    inputs = (Input("x0", f'jnp.array([3.0], "{other}")', False), Input("x1", "0.5", True))
    program = Program(inputs, ("jnp.multiply(x0, x1)",), ("jnp.multiply",))
    _, jax = worker.libraries()
    exact, changed = (
        np.asarray(running.result_of(program, jax, change=change).values, np.float64)
        for change in (0.0, 2.0)
    )
    dtype = other if other != "int8" else "float32"
    assert changed / exact - 1 == pytest.approx(2 * float(jax.numpy.finfo(dtype).eps))


def test_what_jax_refuses_is_not_slower_than_jax():
    takes_here = "jax.__name__ == 'glassjax' and jnp.ones(2) or 1 / 0"
    outcome = worker.compared(Program((), (takes_here,), ("jnp.ones",)))
    assert outcome.theirs == np.inf


def test_what_stands_in_the_table_has_reasons():
    assert all(each.reason.endswith(".") for each in DELIBERATE)


# A little of what `./noxw -s fuzz` does: types, for which nothing is compiled, and values.
@pytest.mark.parametrize("seed", one_in(4, range(4)))
def test_a_share_of_programs_has_jaxs_types(seed):
    for number in range(40):
        program = program_of(f"types {seed} {number}")
        program = dataclasses.replace(program, transformations=("eval_shape",))
        outcome = worker.compared(program)
        assert outcome.difference is None, f"{program}: {outcome.difference}\n{program.source}"


@pytest.mark.parametrize("seed", one_in(4, range(4)))
def test_a_share_of_functions_has_jaxs_types_for_weak_arguments(seed):
    for name in random.Random(seed).sample(NAMES, 8):
        for program in result_types.variants(result_types.drawn(name, str(seed))):
            outcome = worker.compared(program)
            assert outcome.difference is None, f"{program}: {outcome.difference}\n{program.source}"


def test_arguments_are_weak_each_alone_and_all_at_once():
    inputs = (
        Input("x0", 'np.array([[1.0, nan]], "float32")', True),
        Input("x1", 'jnp.array(3, "int8")', True),
        Input("x2", "jax.random.key(0)", True),
    )
    program = Program(inputs, ("f(x0, x1)",), ("f",))
    sources = [
        tuple(each.source for each in variant.inputs[:2])
        for variant in result_types.variants(program)
    ]
    given, weak = tuple(each.source for each in inputs[:2]), "jnp.full((1, 2), 1.0)"
    assert sources == [
        given,
        (weak, given[1]),
        ('jnp.array([[1.0, nan]], "float32")', given[1]),
        (given[0], "3"),
        (given[0], "jnp.asarray(3)"),
        (given[0], "np.int8(3)"),
        (weak, "3"),
        (weak, "jnp.asarray(3)"),
    ]


@pytest.mark.parametrize("seed", one_in(4, range(4)))
def test_a_share_of_programs_gives_what_jax_gives(seed):
    for number in range(8):
        program = program_of(f"values {seed} {number}")
        outcome = worker.compared(program)
        assert outcome.difference is None, f"{program}: {outcome.difference}\n{program.source}"


def weakened(description, path):
    """A description of results whose leaf at a path is of the other kind of type, weak or not."""
    kind, parts = description
    first, *rest = path
    changed = weakened(parts[first], rest) if rest else flipped(parts[first])
    return (kind, [*parts[:first], changed, *parts[first + 1 :]])


def flipped(leaf):
    return dataclasses.replace(leaf, weak=not leaf.weak)


def test_tangents_are_excused_only_if_they_are_as_weak_as_results():
    _, jax = running.libraries()
    x = Input("x0", "jnp.full((1, 1), 2.0)", True)
    program = Program((x,), ("x0 + jnp.zeros((1, 1))",), ("jnp.add",), ("jvp",))
    theirs = running.result_of(program, jax)
    ours = weakened(theirs, (1, 0))
    assert comparing.difference(ours, as_meant(program, ours, theirs)).kind == "weak"
    # JAX's tangents of eigenvectors of a weak type are not.
    program = Program((x,), ("lax.linalg.eigh(x0)",), ("lax.linalg.eigh",), ("jvp",))
    theirs = running.result_of(program, jax)
    ours = weakened(theirs, (1, 0))
    assert comparing.difference(ours, theirs).kind == "weak"
    assert comparing.difference(ours, as_meant(program, ours, theirs)) is None


def test_gradients_are_excused_only_if_they_are_as_weak_as_arguments():
    x = Input("x0", 'jnp.array([2.0], "float32")', True)
    program = Program((x,), ("jnp.sort(x0)",), ("jnp.sort",), ("grad",))
    theirs = running.result_of(program, running.libraries()[1])
    ours = weakened(theirs, (0,))
    assert comparing.difference(ours, as_meant(program, ours, theirs)).kind == "weak"


def test_both_parts_of_complex_results_are_moved():
    _, jax = running.libraries()
    moved = np.asarray(running.moved(jax, jax.numpy.array([1 + 0j, 2]), 2))
    assert np.all(moved.real != [1, 2])
    assert np.all(moved.imag != 0)


def test_parts_of_complex_numbers_are_compared_as_exactly_as_these():
    expected = np.array([5 + 1e-7j, 3 - 2j], np.complex64)
    assert comparing.agree(expected + np.complex64(4e-7j), expected)
    assert not comparing.agree(expected + np.complex64(4e-3j), expected)


@pytest.mark.parametrize(("z", "is_excused"), [(1e-3, True), (20.0, False)])
def test_bessel_functions_are_excused_where_recurrences_overflow(z, is_excused):
    z = Input("x0", f'jnp.array([{z}], "float32")', True)
    call = "jax.scipy.special.bessel_jn(x0, v=2)"
    program = Program((z,), (call,), ("jax.scipy.special.bessel_jn",))
    ours, theirs = (
        Leaf("array", (1,), "float32", False, np.array([x], np.float32)) for x in (0.5, np.nan)
    )
    found = comparing.difference(ours, as_meant(program, ours, theirs))
    assert (found is None) == is_excused
