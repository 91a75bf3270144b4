"""Tracebacks show the user's frames in order, and the library's only on request."""

import asyncio
import gc
import io
import os
import pdb
import subprocess
import sys
import threading
import traceback
import weakref
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from rows import for_each

import glassjax
import glassjax.numpy as jnp
import glassjax_stage1
import glassjax_stage2
import glassjax_stage3
import glassjax_stage4
from glassjax import config, grad, jit, lax, vmap
from glassjax.errors.tracebacks import NOTE, hide_frames

OURS = [
    str(Path(package.__file__).parent) + os.sep
    for package in (glassjax, glassjax_stage1, glassjax_stage2, glassjax_stage3, glassjax_stage4)
]
X = jnp.arange(3.0)
REMOVING = ["remove_frames", "quiet_remove_frames"]


@pytest.fixture(autouse=True)
def _as_by_default():
    with config.override(traceback_filtering="auto"):
        yield


# The programs: each fails in a function of the user's, or in a call of ours by the user's. With
# each stand the functions of the user's that its traceback has to show, outermost first.


def fault(x):
    return x + jnp.ones(4)


def user_error(x):
    raise ZeroDivisionError("an error of the user's own")


jitted_fault = jit(fault)


@glassjax.custom_jvp
def with_rule(x):
    return x


@with_rule.defjvp
def rule(primals, tangents):
    return fault(primals[0]), tangents[0]


@glassjax.custom_vjp
def with_pull_back(x):
    return x


def pull_back(residuals, cotangent):
    return (fault(cotangent),)


with_pull_back.defvjp(lambda x: (x, None), pull_back)


class Model:
    @jit
    def predict(self, x):
        return jitted_fault(x)


glassjax.tree_util.register_pytree_node(Model, lambda model: ((), None), lambda *_: Model())


def body(carry, x):
    return jitted_fault(carry), x


def numbers():
    for x in range(3):
        yield jitted_fault(X) * x


def loss(x):
    return jitted_fault(x).sum()


def summed(x):
    return sum(numbers())


def raises_from(x):
    try:
        jitted_fault(x)
    except ValueError as error:
        raise LookupError("another") from error


PROGRAMS = {
    "eager function": (lambda: jnp.add(X, jnp.ones(4)), []),
    "eager function of another module": (lambda: lax.reshape(X, (7,)), []),
    "operator": (lambda: fault(X), ["fault"]),
    "reflected operator": (lambda: np.ones(4) + X, []),
    "method": (lambda: X.sum(axis=5), []),
    "index": (lambda: X[1, 2], []),
    "careful index": (lambda: X.at[1, 2].get(), []),
    "update by a function": (lambda: X.at[0].apply(user_error), ["user_error"]),
    "wrong argument": (lambda: jitted_fault("x"), []),
    "jit": (lambda: jitted_fault(X), ["fault"]),
    "jit of a pytree": (lambda: jit(user_error)([X]), ["user_error"]),
    "jit that donates": (lambda: jit(fault, donate_argnums=0)(X + 0), ["fault"]),
    "jit of jit": (lambda: jit(loss)(X), ["loss", "fault"]),
    "jitted method": (lambda: Model().predict(X), ["predict", "fault"]),
    "lower": (lambda: jitted_fault.lower(X), ["fault"]),
    "grad": (lambda: grad(user_error)(1.0), ["user_error"]),
    "grad of jit": (lambda: grad(loss)(X), ["loss", "fault"]),
    "grad of what has no gradient": (lambda: grad(jnp.sin)(X), []),
    "jvp": (lambda: glassjax.jvp(loss, (X,), (X,)), ["loss", "fault"]),
    "vjp": (lambda: glassjax.vjp(with_pull_back, X)[1](X), ["pull_back", "fault"]),
    "hessian": (lambda: glassjax.hessian(loss)(X), ["loss", "fault"]),
    "vmap": (lambda: vmap(loss)(jnp.ones((2, 3))), ["loss", "fault"]),
    "jit of vmap of grad": (
        lambda: jit(vmap(grad(loss)))(jnp.ones((2, 3))),
        ["loss", "fault"],
    ),
    "scan": (lambda: lax.scan(body, X, X), ["body", "fault"]),
    "while_loop": (lambda: lax.while_loop(lambda x: True, jitted_fault, X), ["fault"]),
    "cond": (lambda: lax.cond(X[0] > 0, loss, jnp.sum, X), ["loss", "fault"]),
    "rule of custom_jvp": (lambda: glassjax.jvp(with_rule, (X,), (X,)), ["rule", "fault"]),
    "rule of custom_vjp": (
        lambda: grad(jit(lambda x: with_pull_back(x).sum()))(X),
        ["pull_back", "fault"],
    ),
    "checkpoint": (lambda: grad(glassjax.checkpoint(loss))(X), ["loss", "fault"]),
    "named_call": (lambda: glassjax.named_call(loss)(X), ["loss", "fault"]),
    "tree.map": (lambda: glassjax.tree.map(loss, [X]), ["loss", "fault"]),
    "tree.leaves": (lambda: glassjax.tree.leaves([X], is_leaf=user_error), ["user_error"]),
    "export": (lambda: glassjax.export.export(jitted_fault)(X), ["fault"]),
    "vectorize": (lambda: jnp.vectorize(user_error)(X), ["user_error"]),
    "generator": (lambda: jit(summed)(X), ["summed", "numbers", "fault"]),
    "truth of a tracer": (lambda: jit(lambda x: 1 if x else 0)(1), ["<lambda>"]),
    "error from an error": (lambda: jit(raises_from)(X), ["raises_from"]),
    "disable_jit": (lambda: glassjax.disable_jit()(jitted_fault)(X), ["inner", "fault"]),
}
every_program = for_each("program", PROGRAMS)


def error_of(function, how="auto"):
    """What the function raises when frames are hidden in a certain way."""
    with config.override(traceback_filtering=how):
        try:
            function()
        except Exception as error:
            return error
    raise AssertionError("nothing is raised")


def frames(error):
    """The frames of a traceback below those of this test."""
    shown = list(traceback.walk_tb(error.__traceback__))[1:]
    assert shown[0][0].f_code.co_name == "<lambda>"
    return [frame for frame, _ in shown[1:]]


def are_ours(shown):
    return [frame.f_code.co_filename.startswith(tuple(OURS)) for frame in shown]


def names(shown):
    return [frame.f_code.co_name for frame in shown]


def chain(error):
    """An exception and those that came before, as Python prints them."""
    while error is not None:
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


@every_program
def test_the_frames_of_the_user_are_shown_and_no_others(program):
    function, expected = PROGRAMS[program]
    for how in ("auto", *REMOVING):
        assert names(frames(error_of(function, how))) == expected


@every_program
def test_all_frames_are_shown_on_request(program):
    function, expected = PROGRAMS[program]
    shown = frames(error_of(function, "off"))
    ours = are_ours(shown)
    assert any(ours)
    assert [name for name, is_ours in zip(names(shown), ours, strict=True) if not is_ours] == (
        expected
    )


@every_program
def test_nothing_but_the_traceback_is_another(program):
    function, _ = PROGRAMS[program]
    whole, quiet, noted = (error_of(function, how) for how in ("off", *REMOVING[::-1]))
    for error in (quiet, noted):
        assert type(error) is type(whole)
        assert str(error) == str(whole)
        assert list(map(repr, chain(error))) == list(map(repr, chain(whole)))
        for each in chain(error):
            assert not any(are_ours([frame for frame, _ in traceback.walk_tb(each.__traceback__)]))
    assert not hasattr(whole, "__notes__")
    assert not hasattr(quiet, "__notes__")
    assert noted.__notes__ == [NOTE]


@every_program
def test_frames_are_marked_for_who_hides_them(program):
    function, expected = PROGRAMS[program]
    error = error_of(function, "tracebackhide")
    hidden = [frame.f_locals.get("__tracebackhide__", False) for frame in frames(error)]
    assert hidden == are_ours(frames(error))
    assert not hasattr(error, "__notes__")
    shown = [name for name, hide in zip(names(frames(error)), hidden, strict=True) if not hide]
    assert shown == expected


@for_each(
    ("program", "expected"),
    [
        (lambda: X.at[1, 2].set(0), ["set"]),
        (lambda: jnp.where(X > 0, X, jnp.ones(4)), ["where"]),
        (lambda: len(jnp.ones(())), ["__len__"]),
    ],
)
def test_what_the_user_calls_may_stay_as_the_last_frame(program, expected):
    shown = frames(error_of(program))
    assert names(shown) == expected
    assert are_ours(shown) == [True]


def test_a_note_stands_once_and_last():
    error = error_of(lambda: jit(raises_from)(X))
    assert isinstance(error.__cause__, ValueError)
    assert [getattr(each, "__notes__", []) for each in chain(error)] == [[NOTE], []]
    assert "".join(traceback.format_exception(error)).endswith(f"LookupError: another\n{NOTE}\n")


@for_each("argument", [[X], {"x": X}, None, 1.0])
def test_no_exception_of_ours_comes_before_the_users(argument):
    error = error_of(lambda: jit(user_error)(x=argument))
    assert list(chain(error)) == [error]


def test_notes_of_the_user_stay():
    def noted(x):
        error = ValueError("an error")
        error.add_note("mine")
        raise error

    assert error_of(lambda: jit(lambda x: jit(noted)(x))(X)).__notes__ == ["mine", NOTE]


def test_a_traceback_without_frames_of_ours_is_left_alone():
    error = error_of(lambda: user_error(X))
    before = error.__traceback__
    hide_frames(error)
    assert error.__traceback__ is before
    assert not hasattr(error, "__notes__")


@for_each("transformation", [jit, grad, vmap, glassjax.checkpoint])
def test_a_callback_shows_the_users_lines_in_the_cause(transformation):
    shape = glassjax.ShapeDtypeStruct((), X.dtype)

    def on_host(x):
        return user_error(x)

    def calls(x):
        y = glassjax.pure_callback(on_host, shape, lax.stop_gradient(x), vmap_method="sequential")
        return y * jnp.sum(x)

    error = error_of(lambda: transformation(calls)(X))
    assert isinstance(error, glassjax.errors.JaxRuntimeError)
    cause = [frame for frame, _ in traceback.walk_tb(error.__cause__.__traceback__)]
    assert names(cause) == ["on_host", "user_error"]
    assert not any(are_ours(frames(error)))


def test_the_note_of_an_error_that_is_quoted_is_not_repeated():
    error = error_of(lambda: jit(lambda x: glassjax.pure_callback(jitted_fault, x, x))(X))
    assert "".join(traceback.format_exception(error)).count(NOTE) == 1


def test_the_parts_of_a_group_are_looked_through():
    def raises_group(x):
        errors = [error_of(lambda: jitted_fault(x), "off")]
        raise ExceptionGroup("several", errors)

    error = error_of(lambda: jit(raises_group)(X))
    (part,) = error.exceptions
    assert names(frames(part)) == ["fault"]


def test_an_exception_that_takes_no_notes_is_raised_all_the_same():
    def raises(x):
        error = ValueError("an error")
        error.__notes__ = None
        raise error

    error = error_of(lambda: jit(raises)(X))
    assert names(frames(error)) == ["raises"]
    assert error.__notes__ is None


def test_exceptions_in_a_circle():
    def raises_circle(x):
        first, second = ValueError("first"), ValueError("second")
        first.__context__, second.__context__ = second, first
        raise first from second

    assert names(frames(error_of(lambda: jit(raises_circle)(X)))) == ["raises_circle"]


@for_each("depth", range(12))
def test_a_recursion_without_end_is_one_error(depth):
    def again(x):
        return jit(lambda x: again(x) + 1)(x)

    def deeper(depth):
        return deeper(depth - 1) if depth else again(X)

    error = error_of(lambda: deeper(depth))
    assert isinstance(error, RecursionError)
    assert list(chain(error)) == [error]
    assert not any(are_ours(frames(error)))


def test_an_interrupt_passes_as_it_is():
    def interrupted(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as info:
        jit(interrupted)(X)
    assert any(are_ours([frame for frame, _ in traceback.walk_tb(info.tb)]))
    assert not hasattr(info.value, "__notes__")


def test_in_a_thread():
    errors = []
    thread = threading.Thread(target=lambda: errors.append(error_of(lambda: grad(loss)(X))))
    thread.start()
    thread.join()
    assert names(frames(errors[0])) == ["loss", "fault"]


def test_in_a_coroutine():
    async def main():
        return await asyncio.to_thread(jitted_fault, X)

    with pytest.raises(ValueError, match="broadcast") as info:
        asyncio.run(main())
    assert not any(are_ours([frame for frame, _ in traceback.walk_tb(info.tb)]))


def test_the_users_handlers_see_it_where_the_error_occurs():
    seen = []

    def careful(x):
        try:
            return jitted_fault(x)
        except ValueError as error:
            seen.append(error)
            return x

    np.testing.assert_array_equal(jit(careful)(X), X)
    assert names(frame for frame, _ in traceback.walk_tb(seen[0].__traceback__)) == [
        "careful",
        "fault",
    ]


def test_a_debugger_goes_through_the_users_frames():
    out = io.StringIO()
    error = error_of(lambda: grad(loss)(X))
    debugger = pdb.Pdb(stdin=io.StringIO("p x\nup\nup\np X\nq\n"), stdout=out, nosigint=True)
    debugger.reset()
    debugger.interaction(None, error.__traceback__)
    assert "def loss" not in out.getvalue()
    assert "return jitted_fault(x).sum()" in out.getvalue()
    assert "Array([0., 1., 2.]" in out.getvalue()


def test_pytest_shows_them():
    with pytest.raises(ValueError, match="broadcast") as info:
        grad(loss)(X)
    shown = str(info.getrepr())
    assert "jitted_fault(x).sum()" in shown
    assert not any(directory in shown for directory in OURS)


def test_what_an_error_held_is_freed_with_it():
    def fails(x):
        y = jnp.ones(4)
        return x + y

    gc.collect()
    gc.disable()
    try:
        for how in ("off", "auto", "tracebackhide"):
            x = jnp.ones(3)
            reference = weakref.ref(x)
            error = error_of(partial(jit(fails), x), how)
            assert error.__traceback__
            del error, x
            assert reference() is None
    finally:
        gc.enable()


def run(program, **variables):
    env = {k: v for k, v in os.environ.items() if k != "GLASSJAX_TRACEBACK_FILTERING"} | variables
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=env)


FAILS = "import glassjax; glassjax.jit(lambda x: 1 / 0)(1.0)"


def test_the_environment():
    shown = run(FAILS).stderr
    assert shown.count("  File ") == 2
    assert shown.splitlines()[-2:] == ["ZeroDivisionError: division by zero", NOTE]
    whole = run(FAILS, GLASSJAX_TRACEBACK_FILTERING="off").stderr
    assert whole.count("  File ") > 4
    assert NOTE not in whole
    wrong = run(FAILS, GLASSJAX_TRACEBACK_FILTERING="of").stderr
    assert "GLASSJAX_TRACEBACK_FILTERING has to be one of 'auto', 'off', 'remove_frames'" in wrong


def test_the_setting_by_jaxs_name():
    with pytest.raises(ValueError, match=r"traceback_filtering is one of 'auto', 'off', .* 'none'"):
        config.update("jax_traceback_filtering", "none")
    before = config.traceback_filtering
    with config.override(jax_traceback_filtering="quiet_remove_frames"):
        assert config.jax_traceback_filtering == "quiet_remove_frames"
    assert config.traceback_filtering == before


def test_in_ipython_frames_are_marked(monkeypatch):
    monkeypatch.setattr("builtins.__IPYTHON__", True, raising=False)
    error = error_of(lambda: jitted_fault(X))
    assert any(are_ours(frames(error)))
    assert error_of(lambda: jitted_fault(X), "remove_frames").__notes__ == [NOTE]


def test_nothing_of_python_is_replaced():
    look = "(sys.excepthook, threading.excepthook, sys.unraisablehook, vars(traceback).copy())"
    done = run(
        f"import sys, threading, traceback; before = {look}; import glassjax\n"
        "try: glassjax.jit(lambda x: 1 / 0)(1.0)\n"
        f"except ZeroDivisionError: assert {look} == before"
    )
    assert done.returncode == 0, done.stderr
