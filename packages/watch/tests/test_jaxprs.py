"""Jaxprs in color, on pages and as graphs."""

import html
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

from glassjax_stage2 import add, deriv, sin
from glassjax_stage3 import jit, make_jaxpr
from glassjax_watch import in_color, to_dot, to_html, wants_color


def f(x):
    return jit(lambda y: add(sin(y), 2.0))(x) * x


def wide(x):
    """A program whose line is short enough without marks only."""
    return sin(sin(x))


PROGRAMS = [f, deriv(f), wide, lambda x: (x, 1.0), lambda: ()]


@pytest.fixture(params=PROGRAMS, ids=["f", "derivative", "wide", "constant", "nothing"])
def jaxpr(request):
    number_of_arguments = request.param.__code__.co_argcount
    varargs = request.param.__code__.co_flags & 0x04
    return make_jaxpr(request.param)(*[np.float32(1.0)] * (1 if varargs else number_of_arguments))


def text_on(page):
    """What a page shows, without tags."""
    (shown,) = re.findall('<pre class="gj-jaxpr">(.*)</pre></glassjax-jaxpr>', page, re.DOTALL)
    return html.unescape(re.sub("<[^>]*>", "", shown))


def test_colors_change_nothing_but_colors(jaxpr):
    colored = in_color(jaxpr)
    assert "\x1b[" in colored
    assert re.sub(r"\x1b\[[\d;]*m", "", colored) == str(jaxpr)


def test_a_page_shows_the_text_of_the_program(jaxpr):
    assert text_on(to_html(jaxpr)) == str(jaxpr)
    assert to_html(jaxpr) == to_html(jaxpr)
    assert not re.search(r"https?:|src=|@import|url\(|fetch\(", to_html(jaxpr))


def test_colors_are_for_terminals_whose_user_wants_them(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert not wants_color()
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert wants_color()
    monkeypatch.setenv("NO_COLOR", "1")
    assert not wants_color()
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not wants_color()


def test_every_use_of_a_variable_has_its_definition():
    page = to_html(make_jaxpr(deriv(f))(np.float32(1.0)))
    variables = re.findall(r'<span data-var="(\w+)"( data-note="[^"]*")?', page)
    bound = [name for name, note in variables if note]
    assert len(bound) == len({*bound})
    assert {name for name, _ in variables} == {*bound}


def test_a_definition_has_the_line_of_the_user():
    closed = make_jaxpr(lambda x: sin(x))(1.0)
    notes = [html.unescape(note) for note in re.findall('data-note="([^"]*)"', to_html(closed))]
    assert notes[0] == "a:f64[], an input"
    place = r"test_jaxprs\.py:\d+  closed = make_jaxpr\(lambda x: sin\(x\)\)\(1\.0\)"
    assert re.fullmatch(rf"b:f64\[\], a result of sin, {place}", notes[1])


def test_names_of_functions_are_escaped():
    page = to_html(make_jaxpr(jit(lambda x: sin(x)))(1.0))
    assert "name=&lt;lambda&gt;" in page
    assert "<lambda>" not in page


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_reads_the_graph(jaxpr):
    done = subprocess.run(
        ["dot", "-Tplain"], input=to_dot(jaxpr), capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert len(re.findall(r"(?m)^node eqn", done.stdout)) == len(jaxpr.eqns)


def test_a_graph_has_an_edge_for_each_use():
    text = to_dot(make_jaxpr(lambda x, y: sin(x) * y * x)(1.0, 2.0))
    edges = re.findall(r'(\w+) -> (\w+) \[label="(\w+):f64\[\]"\]', text)
    assert edges == [
        ("in0", "eqn0", "a"),
        ("eqn0", "eqn1", "c"),
        ("in1", "eqn1", "b"),
        ("eqn1", "eqn2", "d"),
        ("in0", "eqn2", "a"),
        ("eqn2", "out0", "e"),
    ]


def test_labels_of_a_graph_are_escaped():
    def function(x):
        return sin(x)

    function.__name__ = 'a "b" \\ c'
    assert r"name=a \"b\" \\ c" in to_dot(make_jaxpr(jit(function))(1.0))
