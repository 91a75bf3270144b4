"""JAX's public names: which of them glassjax has, and the coverage report."""

import sys
from importlib.metadata import version

import glassjax
from glassjax.as_jax.names import missing_names, names_of, public_names, reason_of


def test_coverage_counts_what_is_there(capsys):
    glassjax.coverage()
    *rows, last = capsys.readouterr().out.splitlines()[1:]
    there, count = (sum(int(row.split()[i]) for row in rows) for i in (1, 2))
    assert last.split()[:4] == ["in", "all", str(there), str(count)]
    assert len(rows) == sum(map(bool, public_names().values()))
    assert missing_names("jax.numpy.fft") == []
    assert "sin" in (names_of("jax.numpy") or [])


def test_every_absent_name_has_a_reason_and_no_other_name_has():
    for module, names in public_names().items():
        missing = missing_names(module)
        for name in names:
            assert (reason_of(f"{module}.{name}") is not None) == (name in missing), (module, name)


def test_public_names_are_those_of_jax():
    """The list that `coverage` counts by, against the JAX that is installed here."""
    if version("jax").startswith("0.12"):
        for module in ("jax.numpy", "jax.lax", "jax.nn"):
            loaded = sys.modules.get(module) or __import__(module, fromlist=["x"])
            assert all(hasattr(loaded, name) for name in names_of(module))
