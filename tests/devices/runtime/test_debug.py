"""Shardings visualized, and inspected from within programs."""

import jax
import pytest
from eight_devices import CAN_READ, put, sharding

import glassjax

pytestmark = pytest.mark.skipif(not CAN_READ, reason="jaxlib cannot read sharded arrays")


def drawing(lib, capsys, shape, *spec, **options):
    capsys.readouterr()
    lib.debug.visualize_sharding(shape, sharding(lib, *spec), **options)
    return capsys.readouterr().out


@pytest.mark.parametrize("spec", [("x",), ("x", "y"), (None, "y"), (), (("x", "y"),), ("y", "x")])
@pytest.mark.parametrize(("shape", "options"), [((8, 8), {}), ((8, 16), {"scale": 0.5})])
def test_shardings_are_drawn_as_in_jax(capsys, spec, shape, options):
    pytest.importorskip("rich", reason="JAX draws with it")
    ours, theirs = (drawing(lib, capsys, shape, *spec, **options) for lib in (glassjax, jax))
    assert ours == theirs


def test_drawings_of_one_axis_of_no_axis_and_in_color(capsys, monkeypatch):
    assert (
        drawing(glassjax, capsys, (8,), "x").splitlines()[1] == "│CPU 0,1│CPU 2,3│CPU 4,5│CPU 6,7│"
    )
    for shape in ((), (8, 8, 8)):
        with pytest.raises(ValueError, match="one or two axes"):
            drawing(glassjax, capsys, shape)
    glassjax.jit(lambda x: glassjax.debug.visualize_array_sharding(x.T))(put(glassjax, None, "x"))
    assert "CPU 6,7" in capsys.readouterr().out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    red = {"color_map": lambda number: (1.0, number, 0.0, 1.0)}
    assert "\x1b[48;2;255;0;0m" in drawing(glassjax, capsys, (8, 8), "x", **red)


def inspected(lib, run):
    """The shardings that a program tells of."""
    found = []

    def f(x):
        y = lib.numpy.sin(x) @ x.T
        lib.debug.inspect_array_sharding(y, callback=lambda where: found.append(where.spec))
        return y + 1

    run(lib, f)
    return str(found)


INSPECTED = {
    "jit": lambda lib, f: lib.jit(f)(put(lib, "x")),
    "twice": lambda lib, f: [g(put(lib, "x")) for g in [lib.jit(f)] * 2],
    "both axes": lambda lib, f: lib.jit(f)(put(lib, ("y", "x"))),
    "eager": lambda lib, f: f(put(lib, "x")),
    "jit of grad": lambda lib, f: lib.jit(lib.grad(lambda x: f(x).sum()))(put(lib, "x")),
}


@pytest.mark.parametrize("name", INSPECTED)
def test_shardings_within_programs_are_told_as_in_jax(name):
    ours, theirs = (inspected(lib, INSPECTED[name]) for lib in (glassjax, jax))
    assert ours == theirs
    assert "P(" in ours
