"""The table of measurements: lines are found by name and printed; nothing is timed."""

import json

import jax
import numpy as np
import pytest

import benchmarks.__main__ as bench
import minijax
from benchmarks.compare import ROOT


@pytest.fixture
def groups():
    """Three lines in two groups, that take no time."""
    from benchmarks.measure import Line, Row, Skip, row_of

    def skipped(quick):
        raise Skip("not here")

    pairs = [(1e-3, 4e-3), (2e-3, 4e-3), (3e-3, 4e-3)]
    return {
        "calls": [
            Line("call, fast", lambda quick: row_of("call, fast", pairs), 0.5),
            Line("call, slow", lambda quick: Row("call, slow", 3.0, 2.0, 1.5, note="why"), 1.0),
        ],
        "other": [Line("elsewhere", skipped)],
    }


def test_no_two_lines_have_one_name():
    names = [line.name for lines in bench.GROUPS.values() for line in lines]
    assert len(set(names)) == len(names) > 40


def test_every_group_and_every_line_is_found_by_its_name():
    for group, lines in bench.GROUPS.items():
        assert [line for _, line in bench.lines_named([group], {group: lines})] == lines
        for line in lines:
            assert (group, line) in bench.lines_named([line.name], bench.GROUPS)


def test_list_measures_nothing(capsys):
    bench.main(["--list"])
    listed = capsys.readouterr().out.splitlines()
    assert listed == [line.name for lines in bench.GROUPS.values() for line in lines]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([], ["call, fast", "call, slow", "elsewhere"]),
        (["calls"], ["call, fast", "call, slow"]),
        (["slow"], ["call, slow"]),
        (["other", "fast"], ["call, fast", "elsewhere"]),
    ],
)
def test_names_choose_lines(groups, capsys, names, expected):
    bench.main(["--list", *names], groups)
    assert capsys.readouterr().out.splitlines() == expected


def test_a_name_that_chooses_nothing_is_an_error(groups, capsys):
    with pytest.raises(SystemExit):
        bench.main(["slow", "typo"], groups)
    assert "no group or line has the name 'typo'" in capsys.readouterr().err


def test_json_says_on_each_line_what_the_table_says(groups, capsys):
    bench.main(["--json"], groups)
    about, *rows = map(json.loads, capsys.readouterr().out.splitlines())
    assert {"processor", "python", "jaxlib", "jax"} <= set(about["machine"])
    assert [(row["group"], row["name"], row["verdict"]) for row in rows] == [
        ("calls", "call, fast", "met"),
        ("calls", "call, slow", "MISSED"),
        ("other", "elsewhere", "skipped"),
    ]
    assert (rows[0]["ours"], rows[0]["peer"], rows[0]["ratio"]) == (2e-3, 4e-3, 0.5)


def test_the_table_gives_each_figure_its_unit(groups, capsys):
    bench.main([], groups)
    _, header, fast, slow, elsewhere = capsys.readouterr().out.splitlines()
    assert header.split() == ["minijax", "peer", "ratio", "budget", "verdict"]
    assert fast.split() == ["call,", "fast", "2", "ms", "4", "ms", "0.500", "0.5", "met"]
    assert slow.split() == ["call,", "slow", "3", "s", "2", "s", "1.500", "1.0", "MISSED", "why"]
    assert elsewhere.split() == ["elsewhere", "skipped", "not", "here"]


@pytest.mark.parametrize("name", ["lstm", "ode", "deep"])
def test_loops_compute_the_same_with_either_library(name):
    from benchmarks import programs

    def result(lib):
        if name == "ode":
            return lib.core.jit(programs.ode_solve(lib))(*programs.ode_start(lib, 5))
        if name == "lstm":
            loss, params = programs.lstm_loss(lib), programs.lstm_params(lib, inputs=2, width=3)
            batch = programs.lstm_batch(lib, length=4, size=5, inputs=2)
        else:
            loss, params = programs.deep_loss(lib), programs.deep_params(lib, layers=3, width=4)
            batch = programs.deep_batch(lib, size=5, width=4)
        return lib.core.jit(programs.step_of(lib, loss))(params, batch)

    with jax.enable_x64(False):
        ours, theirs = (lib.core.tree_util.tree_leaves(result(lib)) for lib in programs.libraries())
    for x, y in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-4)


def test_samplers_draw_alike_with_either_library():
    from benchmarks import programs, samplers

    def drawn(lib, sampler):
        draw = samplers.scanned(lib, lambda key: sampler(lib.core.random, lib.numpy, key, 10))
        out = lib.core.eval_shape(draw, lib.core.random.key(0))
        return out.shape, str(out.dtype)

    with jax.enable_x64(False), minijax.enable_x64(False):
        for name, sampler in samplers.SAMPLERS.items():
            ours, theirs = (drawn(lib, sampler) for lib in programs.libraries())
            assert ours == theirs or name == "split", name  # keys are of a dtype of each one's own


def test_figures_come_from_a_fresh_process():
    from benchmarks.measure import figures_of

    assert figures_of("import sys; print('jax' in sys.modules); print(1.5, 2)") == [1.5, 2.0]


def test_programs_to_compile_have_names_of_their_own():
    from benchmarks.common_programs import programs

    names = [program.name for program in programs()]
    assert len(set(names)) == len(names) > 400


def test_a_program_is_compiled_by_both_and_one_that_hangs_is_given_up(monkeypatch):
    from benchmarks import compiles

    worker = compiles.Worker()
    try:
        found = worker.measure("numpy.square", 1)
        assert isinstance(found, compiles.Times)
        assert all(seconds > 0 for times in found for seconds in times)
        assert "KeyError" in worker.measure("no such program", 1)
        monkeypatch.setattr(compiles, "SECONDS", 0.0)
        assert worker.measure("numpy.square", 1) == "no answer in 0 s"
        assert worker.process is None
    finally:
        worker.end()


@pytest.mark.parametrize(
    ("quartiles", "verdict"),
    [((1.1, 1.2), "SLOWER"), ((0.9, 1.2), "alike"), ((0.5, 0.9), "faster")],
)
def test_what_is_within_noise_is_alike(quartiles, verdict):
    from benchmarks.compare import Comparison, summary

    row = Comparison("call", 1.0, 1.0, 1.0, quartiles=quartiles)
    assert row.verdict == verdict
    assert ("call" in summary([row], "main")) == (verdict == "SLOWER")


def test_a_commit_takes_turns_with_the_files_that_are_here(capsys):
    if not (ROOT / ".git").exists():
        pytest.skip("without git there are no commits")
    bench.main(["--compare", "HEAD", "--quick", "--json", "call, scalar", "memory: import"])
    _, call, other = map(json.loads, capsys.readouterr().out.splitlines())
    assert call["ours"] > 0 < call["peer"]
    assert call["verdict"] in ("SLOWER", "alike", "faster")
    assert (other["verdict"], other["ours"]) == ("skipped", None)


def test_a_commit_that_is_not_there_is_an_error(capsys):
    if not (ROOT / ".git").exists():
        pytest.skip("without git there are no commits")
    with pytest.raises(SystemExit):
        bench.main(["--compare", "no-such-commit", "call, scalar"])
    assert "git has no commit 'no-such-commit'" in capsys.readouterr().err
