"""`debug.print`, `debug.log` and breakpoints in compiled programs."""

import io
import sys

import jax
import jax.custom_batching
import jax.experimental
import numpy as np
import pytest

import glassjax
import glassjax.debug
import glassjax.experimental

X = np.linspace(-1.0, 1.0, 3)


def test_printing(capsys):
    def prints(library, x):
        debug = library.debug

        def f(x, y):
            debug.print("x = {}, y = {y:.2f}, {text}", x, y=y, text="text")
            debug.print("{tree} {0} {0!r:>12}", y, tree={"a": [x, y]})
            return x * y

        library.jit(f)(x, 2.0)
        library.grad(f)(x[0], x[2])
        library.vmap(f)(x, x)
        library.lax.fori_loop(
            0, 2, lambda i, c: (debug.print("{} {}", i, c, ordered=True), c)[1], x
        )
        debug.print("no places")
        debug.print("{} {} {}", x > 0, 1 + 2j, library.numpy.float16(0.1))
        library.effects_barrier()
        return capsys.readouterr().out

    expected = prints(jax, X)
    assert len(expected.splitlines()) == 14
    assert prints(glassjax, X) == expected


def test_a_breakpoint_asks_and_shows_values(monkeypatch):
    out = io.StringIO()

    def f(x):
        y = x * 2
        asked = io.StringIO("p y\ny + 1\nkind\nu\np outer\nd\nd\nmissing\nl\nbt\nh\nc\n")
        glassjax.debug.breakpoint(stdin=asked, stdout=out)
        return y

    def caller():
        outer = [1, "text"]
        return glassjax.jit(f)(3.0), outer

    kind = "no array"
    assert kind
    assert caller()[0] == 6.0
    shown = out.getvalue()
    for part in (
        "Array(6.",
        "Array(7.",
        "[1, 'text']",
        "*** Newest frame",
        "NameError",
        "asked = ",
    ):
        assert part in shown
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    with pytest.raises(RuntimeError, match=r"there is no terminal.*debug\.print"):
        glassjax.debug.breakpoint()
    with pytest.raises(ValueError, match="backend has to be None or 'cli'"):
        glassjax.debug.breakpoint(backend="web")
    with pytest.raises(SystemExit):
        glassjax.jit(lambda: glassjax.debug.breakpoint(stdin=io.StringIO("q\n"), stdout=out))()


def test_values_are_written_to_the_log(caplog):
    for library in (jax, glassjax):
        caplog.clear()
        with caplog.at_level("INFO"):
            f = library.jit(lambda x, log=library.debug.log: (log("x = {x}", x=x), 2 * x)[1])
            f(3)
            library.effects_barrier()
        assert [record.getMessage() for record in caplog.records] == ["x = 3"]
    assert caplog.records[0].name.startswith("glassjax.debug")
    with pytest.raises(ValueError, match="no place"):
        glassjax.debug.log("x", 1)
