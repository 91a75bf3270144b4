"""`debug.step`: the execution of a function equation by equation."""

import html
import io
import json
import re
import sys

import numpy as np
import pytest
from rows import for_each

import glassjax
import glassjax.numpy as jnp
from glassjax import ShapeDtypeStruct, checkpoint, custom_vjp, grad, jit, lax, random
from glassjax.__main__ import main
from glassjax.debug import step

X = np.float32(0.5)


@jit
def inner(x):
    return jnp.exp(x) * 2.0


def calls(x):
    y = inner(x)
    return {"loss": jnp.sin(y) + x, "same": x}


def chooses(x):
    return lax.cond(x > 0, lambda x: jnp.sin(x), lambda x: x * 2.0, x)


def loops(x):
    return lax.fori_loop(0, 3, lambda i, x: x * x, x)


def closes(x):
    return jnp.dot(x, WEIGHTS)


WEIGHTS = np.arange(3, dtype=np.float32)
square = custom_vjp(lambda x: x * x)
square.defvjp(lambda x: (x * x, x), lambda x, ct: (2 * ct * x,))


@for_each(
    ("fun", "args"),
    [
        (calls, (X,)),
        (jit(calls), (X,)),
        (chooses, (X,)),
        (chooses, (-X,)),
        (loops, (X,)),
        (closes, (np.ones(3, np.float32),)),
        (grad(lambda x: square(jnp.sin(x))), (X,)),
        (checkpoint(jnp.sin), (X,)),
        (lambda tree: tree["a"] * tree["b"][0], ({"a": 2.0, "b": [3]},)),
        (jit(lambda x, n: x**n, static_argnums=1), (X, 3)),
        (lambda key: random.normal(key, (3,)), (random.key(0),)),
        (lambda x: x, (X,)),
        (lambda: (), ()),
    ],
)
def test_an_execution_returns_what_the_function_returns(fun, args):
    execution = step(fun)(*args)
    for _ in range(100):
        if execution.has_ended:
            break
        execution.step()
    expected = fun(*args)
    found, tree = glassjax.tree.flatten(execution.result)
    leaves, expected_tree = glassjax.tree.flatten(expected)
    assert tree == expected_tree
    for x, y in zip(found, leaves, strict=True):
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-6)


def test_values_are_numpy_arrays_by_the_names_of_the_printed_program():
    execution = step(calls)(X)
    assert list(execution.values) == ["a"]
    execution.run()
    value = execution.values["f"]
    assert type(value) is np.ndarray
    assert value.dtype == np.float32
    assert "f:f32[] = sin b" in str(execution.jaxpr)
    np.testing.assert_allclose(value, np.sin(np.exp(X) * 2), rtol=1e-6)


def test_a_step_goes_into_a_program_and_next_over_it():
    execution = step(calls)(X)
    numbers = []
    while not execution.has_ended:
        numbers.append(execution.next_equation)
        execution.step()
    assert numbers == ["1", "1.1", "1.2", "2", "3"]
    execution = step(calls)(X)
    numbers = []
    while not execution.has_ended:
        numbers.append(execution.next_equation)
        execution.next()
    assert numbers == ["1", "2", "3"]


def test_breakpoints_are_numbers_and_lines():
    execution = step(calls)(X)
    execution.break_at("1.2")
    execution.break_at(3)
    assert tuple(execution.run()) == ("breakpoint", "1.2")
    assert tuple(execution.run()) == ("breakpoint", "3")
    assert execution.run() is None
    line = calls.__code__.co_firstlineno + 2
    execution = step(calls)(X)
    execution.break_at(f"test_step.py:{line}")
    assert tuple(execution.run()) == ("breakpoint", "2")
    assert execution.where() == f'test_step.py:{line}  return {{"loss": jnp.sin(y) + x, "same": x}}'


def test_next_stops_at_a_breakpoint_inside():
    execution = step(calls)(X)
    execution.break_at("1.2")
    assert tuple(execution.next()) == ("breakpoint", "1.2")


def test_a_breakpoint_that_no_equation_has_is_refused():
    with pytest.raises(ValueError, match=r"there is no equation '9': .* 1 to .*test_step\.py:\d+"):
        step(calls)(X).break_at(9)
    with pytest.raises(ValueError, match="there is no equation '1': the program has none"):
        step(lambda x: x)(X).break_at(1)


def test_run_stops_at_the_first_invalid_number_and_goes_on():
    def f(x):
        y = jnp.log(x - 1.0)
        z = y * 2.0
        return z - z

    execution = step(f)(np.float32(1.0))
    assert tuple(execution.run()) == ("infinity in the result of log", "2")
    assert execution.steps[-1].line == "y = jnp.log(x - 1.0)"
    assert execution.run() is None or np.isnan(execution.result)
    assert step(f)(np.float32(0.0)).run().reason == "NaN in the result of log"


def test_constants_that_are_infinite_are_no_reason_to_stop():
    execution = step(lambda x: jnp.where(x > 0, x, jnp.full((3,), -jnp.inf)).max())(
        np.ones(3, np.float32)
    )
    while stop := execution.run():
        assert "select_n" not in stop.reason
    assert execution.result == 1.0


def test_an_invalid_number_inside_of_a_program_that_is_called():
    @jit
    def bad(x):
        return jnp.sqrt(x)

    assert tuple(step(lambda x: bad(x) + 1.0)(np.float32(-1.0)).run()) == (
        "NaN in the result of sqrt",
        "1.1",
    )


def test_an_invalid_number_inside_of_a_loop_has_its_line():
    def body(i, x):
        return jnp.log(x)

    stop = step(lambda x: lax.fori_loop(0, 5, body, x))(np.float32(3.0)).run()
    assert re.match(r"(NaN|infinity) in the result of \w+: invalid value .* in log", stop.reason)
    assert "return jnp.log(x)" in stop.reason


def test_the_listing_shows_where_it_is():
    execution = step(calls)(X)
    execution.break_at("1.2")
    execution.run()
    lines = execution.listing().splitlines()
    assert lines[0] == "`inner` of `calls`:"
    assert lines[1].startswith("    1.1  ")
    assert lines[2].startswith("->* 1.2  ")
    execution.run()
    assert execution.listing() == "`calls` has ended"


def test_a_page_has_every_step(tmp_path):
    execution = step(calls)(X)
    execution.run()
    (data,) = re.findall("data-recorded='([^']*)'", execution.to_html())
    data = json.loads(html.unescape(data))
    assert [data["rules"][each["rule"]][0] for each in data["steps"]] == [
        "1",
        "1.1",
        "1.2",
        "2",
        "3",
    ]
    assert [each["depth"] for each in data["steps"]] == [0, 1, 1, 0, 0]
    assert data["words"]["stack"] == "Programs"
    execution.save(tmp_path / "page.html")
    assert execution.to_html() in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_bad_calls():
    with pytest.raises(TypeError, match=r"debug.step of `calls`: missing a required arg.*: 'x'"):
        step(calls)()
    with pytest.raises(TypeError, match=r"of `calls`: argument x is a type, .*give an array"):
        step(calls)(ShapeDtypeStruct((), "float32"))
    with pytest.raises(TypeError, match=r"debug\.step: expected a function, found 3"):
        step(3)


# The prompt.


def answers(fun, args, commands):
    stdout = io.StringIO()
    step(fun)(*args).prompt(io.StringIO(commands), stdout)
    return stdout.getvalue()


def test_commands_move_on_and_show_values():
    said = answers(calls, (X,), "s\nb 1.2\nb\nc\np\np d\np zz\nl\nw\nn\nc\ns\nq\n")
    assert "-> 1  b:f32[] = jit[name=inner] a" in said
    assert "-> 1.1  d:f32[] = exp c" in said
    assert "(step) 1.2\n" in said
    assert "(step) a c d\n" in said
    assert "array(1.6487212, dtype=float32)" in said
    assert "*** zz has no value yet" in said
    assert "->* 1.2  e:f32[] = mul d 2.0" in said
    assert "`calls` returned {'loss': array(" in said
    assert "*** the program has ended" in said


def test_an_invalid_number_is_shown_with_its_line():
    said = answers(lambda x: jnp.log(x) + 1.0, (np.float32(-1.0),), "c\n")
    assert "*** NaN in the result of log, at test_step.py:" in said
    assert "jnp.log(x) + 1.0" in said


def test_mistakes_at_the_prompt_are_answered():
    said = answers(calls, (X,), "fly\nb 99\n\nh\n")
    assert "*** there is no command 'fly': h lists them" in said
    assert "*** there is no equation '99'" in said
    assert "Documented commands" in said


def test_the_command_steps_through_a_file(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "path", [*sys.path])
    file = tmp_path / "program_of_test_step.py"
    file.write_text("import glassjax.numpy as jnp\ndef f(x):\n    return jnp.sin(x)\n")
    monkeypatch.setattr(sys, "stdin", io.StringIO("s\nq\n"))
    main(["step", f"{file}:f", "f32[2]", "--breakpoint", "1"])
    assert "return jnp.sin(x)" in capsys.readouterr().out
    main(["step", f"{file}:f", "i32[2]", "--save", str(tmp_path / "page.html")])
    assert "glassjax-stepper" in (tmp_path / "page.html").read_text(encoding="utf-8")
    with pytest.raises(SystemExit, match="step: there is no equation '7'"):
        main(["step", f"{file}:f", "1.0", "--breakpoint", "7"])
    sys.modules.pop(file.stem)
