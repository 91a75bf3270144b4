"""`explain`: the stages of a function, and its command line."""

import re
import sys

import numpy as np
import pytest
from rows import for_each

import glassjax
import glassjax.numpy as jnp
from glassjax import ShapeDtypeStruct, explain, grad, jit, jvp, make_jaxpr
from glassjax.__main__ import main, parse_argument
from glassjax.core import eval_jaxpr, typecheck_jaxpr

STAGES = [
    *("source", "jaxpr", "jvp", "known", "unknown", "transpose", "StableHLO", "optimized HLO"),
    "memory",
]
X = np.float32(0.5)


def f(x):
    return jnp.sin(x) * x


def loss(params, x):
    return jnp.sum(jnp.tanh(x @ params["w"]) ** 2) + params["b"]


PARAMS = {"w": jnp.arange(6.0).reshape(3, 2), "b": 2.0}
BATCH = jnp.ones((4, 3))


def titles(explanation):
    return [section.title for section in explanation.sections]


def run(jaxpr, *args):
    given = [var.aval.dtype.type(x) for var, x in zip(jaxpr.invars, args, strict=True)]
    return [float(out) for out in eval_jaxpr(jaxpr, [], *given)]


@for_each(("fun", "args"), [(f, (X,)), (loss, (PARAMS, BATCH)), (jit(f), (X,))])
def test_every_stage_is_there_and_typechecks(fun, args):
    explanation = explain(fun)(*args)
    assert titles(explanation) == STAGES
    for title in STAGES[1:6]:
        jaxpr = explanation[title]
        typecheck_jaxpr(getattr(jaxpr, "jaxpr", jaxpr))
    assert "stablehlo." in explanation["StableHLO"]
    assert explanation["optimized HLO"].startswith("HloModule")
    timed = [section.title for section in explanation.sections if section.seconds is not None]
    assert timed == [title for title in STAGES if title not in ("source", "unknown")]


def test_the_stages_are_those_of_the_derivative():
    explanation = explain(f)(X)
    primal, tangent = map(float, jvp(f, (X,), (np.float32(3.0),)))
    assert run(explanation["jvp"], 0.5, 3.0) == pytest.approx([primal, tangent])
    out, *residuals = run(explanation["known"], 0.5)
    assert out == pytest.approx(primal)
    assert run(explanation["unknown"], *residuals, 3.0) == pytest.approx([tangent])
    assert run(explanation["transpose"], *residuals, 3.0) == pytest.approx(
        [3.0 * float(grad(f)(X))]
    )


def test_the_jaxpr_is_that_of_make_jaxpr():
    assert str(explain(loss)(PARAMS, BATCH)["jaxpr"]) == str(make_jaxpr(loss)(PARAMS, BATCH))


def test_all_stages_are_written_in_one_notation():
    explanation = explain(lambda x: x @ x)(jnp.ones((2, 2)))
    text = str(explanation)
    assert text.count("dot_general[") >= 5
    assert text.count("dimension_numbers=(([") == text.count("dot_general[")


def test_types_may_replace_arguments():
    explanation = explain(f)(ShapeDtypeStruct((3,), "float32"))
    assert explanation["jaxpr"].in_avals[0].shape == (3,)


def test_what_a_function_closes_over_is_a_constant_at_every_stage():
    weights = jnp.array([1.0, 2.0])
    explanation = explain(lambda x: jnp.sin(x * weights))(jnp.ones(2))
    assert len(explanation["jaxpr"].jaxpr.constvars) == 1
    assert len(explanation["jvp"].constvars) == 1
    assert len(explanation["jvp"].invars) == 2


def test_static_arguments_stay_static():
    explanation = explain(jit(lambda x, n: x**n, static_argnums=1))(2.0, 3)
    assert run(explanation["transpose"], *run(explanation["known"], 2.0)[1:], 1.0) == [12.0]


def test_a_derivative_of_ones_own_is_that_of_the_stages():
    square = glassjax.custom_vjp(lambda x: x * x)
    square.defvjp(lambda x: (x * x, x), lambda x, ct: (ct * 100.0,))
    assert run(explain(square)(3.0)["transpose"], 3.0, 1.0) == [100.0]


@for_each(
    ("fun", "args", "why"),
    [
        (lambda n: n + 1, (3,), "There is none: no argument is real or complex."),
        (jnp.round, (3.5,), "It is zero: no result depends smoothly on the arguments."),
        (lambda x: x > 0, (3.5,), "It is zero: no result depends smoothly on the arguments."),
    ],
)
def test_what_has_no_derivative_says_so(fun, args, why):
    explanation = explain(fun)(*args)
    assert titles(explanation) == [
        *("source", "jaxpr", "derivative", "StableHLO", "optimized HLO", "memory")
    ]
    assert explanation.sections[2].summary == why


def test_what_has_no_derivative_in_reverse_says_so():
    def loop(x):
        return glassjax.lax.while_loop(lambda x: x < 100.0, lambda x: x * x, x)

    explanation = explain(loop)(2.0)
    assert "jvp" in titles(explanation)
    assert "while_loop" in explanation.sections[-4].summary
    assert explanation["transpose"] is None


def test_the_text_has_a_heading_for_each_stage():
    text = str(explain(f)(X))
    headings = re.findall(r"(?m)^── (.*?) ─{3,}(?: [\d.]+ m?s)?$", text)
    assert headings == STAGES
    colored = explain(f)(X).pretty_print(use_color=True)
    assert "\x1b[1m── source" in colored
    assert "\x1b[1;34msin\x1b[0m" in colored


def test_a_page_has_a_tab_for_each_stage(tmp_path):
    explanation = explain(f)(X)
    page = explanation.to_html()
    assert re.findall('<section data-title="([^"]*)"', page) == STAGES
    assert page.count("</glassjax-jaxpr>") == 5
    assert not re.search(r"https?:|src=|@import|url\(|fetch\(", page)
    explanation.save(tmp_path / "page.html")
    assert page in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_stage_that_is_not_there_says_which_are():
    with pytest.raises(KeyError, match="there is no stage 'grad'; there are 'source', 'jaxpr'"):
        explain(f)(X)["grad"]


def test_bad_calls():
    with pytest.raises(TypeError, match=r"explain of `f`: missing a required argument: 'x'"):
        explain(f)()
    with pytest.raises(TypeError, match="explain: expected a function, found 3"):
        explain(3)


# The command line.


@pytest.fixture
def program(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    file = tmp_path / "program_of_test_explain.py"
    file.write_text("import glassjax.numpy as jnp\ndef f(x, y=1.0):\n    return jnp.sin(x) * y\n")
    yield str(file)
    sys.modules.pop(file.stem, None)


def test_the_command_prints_the_stages(program, capsys):
    main(["explain", f"{program}:f", "f32[3]", "2.0"])
    printed = capsys.readouterr().out
    assert "return jnp.sin(x) * y" in printed
    assert "lambda ; a:f32[3] b:f" in printed
    assert "── optimized HLO" in printed


def test_the_command_writes_a_page(program, tmp_path, capsys):
    main(["explain", f"{program}:f", "[1, 2.5]", "--save", str(tmp_path / "page.html")])
    assert capsys.readouterr().out == ""
    assert "glassjax-explanation" in (tmp_path / "page.html").read_text(encoding="utf-8")


@for_each(
    ("arguments", "message"),
    [
        (["{}:g"], "has no function 'g'"),
        (["{}"], "has functions f: write"),
        (["nothing.py:f"], "there is no file 'nothing.py'"),
        (["no_such_module:f"], "there is no module 'no_such_module'"),
        (["{}:f"], "explain of `f`: missing a required argument: 'x'"),
        (["{}:f", "f32[3"], "expected a type, such as f32[3,4], or a literal of Python"),
        (["{}:f", "f31[3]"], "'f31[3]' is not a type: there is no dtype float31"),
        (["{}:f", "[[1], [2, 3]]"], "expected a type, such as f32[3,4], or a literal of Python"),
    ],
)
def test_bad_commands(program, arguments, message, capsys):
    with pytest.raises(SystemExit):
        main(["explain", *[text.format(program) for text in arguments]])
    assert message in capsys.readouterr().err


@for_each(
    ("text", "shape", "dtype"),
    [
        ("f32[3,4]", (3, 4), "float32"),
        ("i32[]", (), "int32"),
        ("bool[2]", (2,), "bool"),
        ("bf16[2]", (2,), "bfloat16"),
        ("u8[1, 2]", (1, 2), "uint8"),
        ("[[1.0, 2.0]]", (1, 2), "float64"),  # these tests enable 64 bits
        ("[1, 2, 3]", (3,), "int64"),
    ],
)
def test_arguments_are_types_or_literals(text, shape, dtype):
    x = parse_argument(text)
    assert (x.shape, str(x.dtype)) == (shape, dtype)


def test_literals_may_be_trees():
    tree = parse_argument('{"w": [1.0, 2.0], "b": (1, True, None)}')
    assert tree["b"] == (1, True, None)
    assert tree["w"].tolist() == [1.0, 2.0]
