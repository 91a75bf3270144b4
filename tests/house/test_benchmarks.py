"""Benchmarks: lines found by name, tables printed; nothing is timed."""

import datetime
import json
from itertools import islice

import jax
import numpy as np
import pytest
from shares import one_in
from tables import for_each

import benchmarks.__main__ as bench
import glassjax
from benchmarks import growth
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


@for_each(
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
    assert {"processor", "python", "jaxlib", "jax", "torch"} <= set(about["machine"])
    assert about["command"] == "python -m benchmarks --json"
    assert {each["date"] for each in (about, *rows)} == {datetime.date.today().isoformat()}
    assert [(row["group"], row["name"], row["verdict"]) for row in rows] == [
        ("calls", "call, fast", "met"),
        ("calls", "call, slow", "MISSED"),
        ("other", "elsewhere", "skipped"),
    ]
    assert (rows[0]["ours"], rows[0]["peer"], rows[0]["ratio"]) == (2e-3, 4e-3, 0.5)


def test_the_table_gives_each_figure_its_unit(groups, capsys):
    bench.main([], groups)
    _, header, fast, slow, elsewhere = capsys.readouterr().out.splitlines()
    assert header.split() == ["glassjax", "peer", "ratio", "budget", "verdict"]
    assert fast.split() == ["call,", "fast", "2", "ms", "4", "ms", "0.500", "0.5", "met"]
    assert slow.split() == ["call,", "slow", "3", "s", "2", "s", "1.500", "1.0", "MISSED", "why"]
    assert elsewhere.split() == ["elsewhere", "skipped", "not", "here"]


@pytest.mark.parametrize("name", one_in(2, ["ode", "lstm", "deep"]))
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


@for_each("name", growth.WALKS)
def test_walks_run(name):
    growth.WALKS[name](10)()


def test_samplers_draw_alike_with_either_library():
    from benchmarks import programs, samplers

    def drawn(lib, sampler):
        draw = samplers.scanned(lib, lambda key: sampler(lib.core.random, lib.numpy, key, 10))
        out = lib.core.eval_shape(draw, lib.core.random.key(0))
        return out.shape, str(out.dtype)

    with jax.enable_x64(False), glassjax.enable_x64(False):
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


@for_each(
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
    bench.main(["--compare", "HEAD", "--quick", "--json", "eager x > y", "memory: import"])
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


def test_a_count_of_instructions_is_exact_and_grows_with_the_work():
    from benchmarks.instructions import counts
    from benchmarks.measure import Skip

    program = """
for n in (10, 10_000):
    switch.on()
    sum(range(n))
    switch.off()
"""
    try:
        few, many = counts(program)
    except Skip as reason:
        pytest.skip(str(reason))
    assert 0 < few < many / 10
    assert counts(program) == [few, many]


def test_counts_that_grew_are_named():
    from benchmarks.instructions import RECORD, RECORDED, grown

    for recorded in json.loads(RECORD.read_text(encoding="utf-8")).values():
        assert recorded.keys() == RECORDED.keys()
    recorded = {"import": 1000, "call": 100}
    assert grown({"import": 1040, "call": 90}, recorded) == []
    (complaint,) = grown({"import": 1100, "call": 90}, recorded)
    assert complaint == "import: 1,100 instructions, 10.0% more than recorded"


@pytest.fixture
def run(groups, capsys):
    """A run of the three lines, read from what `--json` prints."""
    from benchmarks.report import runs_of

    bench.main(["--json"], groups)
    (run,) = runs_of(capsys.readouterr().out)
    return run


def test_a_page_says_what_json_says(run):
    from benchmarks.report import markdown

    page = markdown(run)
    assert f"```bash\n{run.command}\n```" in page
    for value in (run.date, run.machine["processor"], run.machine["jaxlib"]):
        assert f"| {value} |" in page
    assert "## calls\n\n| line |" in page
    assert "| call, fast | 2&nbsp;ms | 4&nbsp;ms | 0.5 | 0.5 | met |\n" in page
    assert "| call, slow (why) | 3&nbsp;s | 2&nbsp;s | 1.5 | 1 | missed |\n" in page
    assert page.endswith("## other\n\nNot measured: not here (lines: 1).\n")


def test_runs_may_follow_each_other_but_begin_with_the_machine(run):
    from benchmarks.report import runs_of

    row = json.dumps(run.rows[0])
    runs = runs_of("\n".join([run.head(), row, run.head(), row, row]))
    assert [len(each.rows) for each in runs] == [1, 2]
    with pytest.raises(ValueError, match="the first line must name the machine"):
        runs_of(row)


def test_marks_of_a_chart_have_the_ratios_to_all_peers_and_long_groups_have_one(run):
    from benchmarks.report import LONG, marks_of, peers_of

    rows = [
        *run.rows,
        {"group": "whole", "name": "fit", "ratio": 0.5, "budget": 1.0},
        {"group": "whole", "name": "fit, beside PyTorch", "ratio": 2.0, "budget": None},
        *(
            {"group": "long", "name": f"line {i}", "ratio": i + 1.0, "budget": 1.05}
            for i in range(LONG + 1)
        ),
    ]
    groups = marks_of(rows)
    jax, torch = peers_of(groups)
    assert [mark.label for mark in groups["calls"]] == ["call, fast", "call, slow"]
    assert groups["whole"] == [("fit", [(0.5, jax), (2.0, torch)], 1.0)]
    (mark,) = groups["long"]
    assert mark.label == "31 lines, median 16.00"
    assert len(mark.ratios) == 31
    assert "other" not in groups  # which was skipped


@pytest.mark.parametrize(("ending", "begins"), [("svg", b"<?xml"), ("png", b"\x89PNG")])
def test_a_chart_is_drawn(groups, tmp_path, ending, begins):
    path = tmp_path / f"ratios.{ending}"
    bench.main(["--chart", str(path)], groups)
    assert path.read_bytes().startswith(begins)


def test_a_chart_without_matplotlib_is_an_error(groups, capsys, monkeypatch):
    monkeypatch.setattr(bench, "find_spec", lambda name: None)
    with pytest.raises(SystemExit):
        bench.main(["--chart", "ratios.svg"], groups)
    assert "--chart draws by matplotlib, which is not installed" in capsys.readouterr().err


def test_a_chart_beside_a_commit_is_an_error(groups, capsys):
    with pytest.raises(SystemExit):
        bench.main(["--chart", "ratios.svg", "--compare", "HEAD"], groups)
    assert "--chart draws ratios to peers, not to a commit" in capsys.readouterr().err


def test_a_chart_of_an_unknown_format_is_an_error_before_anything_is_measured(groups, capsys):
    with pytest.raises(SystemExit):
        bench.main(["--chart", "ratios.doc"], groups)
    assert "'ratios.doc' must end in .svg, .png or .pdf" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name",
    one_in(2, ["digits MLP", "convolution", "ODE fit", "transformer", "HMC", "Gaussian process"]),
)
def test_whole_programs_compute_the_same_with_both_libraries(name):
    from benchmarks import whole_programs

    wide = whole_programs.PROGRAMS[name].wide
    with jax.enable_x64(wide), glassjax.enable_x64(wide):
        ours, theirs = (
            list(islice(whole_programs.values(name, lib), 4)) for lib in ("glassjax", "jax")
        )
    np.testing.assert_allclose(ours, theirs, rtol=1e-4)
    assert name == "HMC" or theirs[3] < theirs[0]  # it learns


@pytest.mark.nightly
@pytest.mark.parametrize("rival", ["torch", "autograd"])
def test_whole_programs_compute_the_same_with_rivals(rival):
    from benchmarks import whole_programs

    pytest.importorskip(rival)
    for name, program in whole_programs.PROGRAMS.items():
        if rival not in program.without:
            with glassjax.enable_x64(program.wide):
                ours, theirs = (
                    list(islice(whole_programs.values(name, lib), 4)) for lib in ("glassjax", rival)
                )
            np.testing.assert_allclose(ours, theirs, rtol=1e-3, err_msg=name)


def test_every_whole_program_is_measured_beside_every_rival():
    from benchmarks import whole_programs

    lines = {line.name: line for line in whole_programs.LINES}
    for name in whole_programs.PROGRAMS:
        for figure in ("to 1st step", "to 2nd step", "to 100th step"):
            assert lines[f"{name}, {figure}"].budget == 1.0
            for rival in ("PyTorch", "torch.compile", "HIPS autograd"):
                assert lines[f"{name}, {figure}, beside {rival}"].budget is None
    assert {"digits MLP, an epoch", "transformer, 100 steps"} <= set(lines)


def test_figures_of_a_whole_program_are_taken_together_in_turns(monkeypatch):
    from benchmarks import whole_programs

    asked = []

    def figures_of(program):
        asked.append("jax" if "'jax'" in program else "glassjax")
        return [1.0, 2.0, 3.0, 4.0] if asked[-1] == "glassjax" else [2.0, 2.0, 2.0, 2.0]

    monkeypatch.setattr(whole_programs, "figures_of", figures_of)
    whole_programs.pairs_of.cache_clear()
    try:
        rows = [line.measure(True) for line in whole_programs.LINES[:4]]
    finally:
        whole_programs.pairs_of.cache_clear()
    assert [row.ratio for row in rows] == [0.5, 1.0, 1.5, 2.0]
    assert asked == ["jax", "glassjax", "glassjax", "jax", "jax", "glassjax"]


def test_a_rival_that_is_not_here_or_cannot_run_a_program_is_skipped(monkeypatch):
    from benchmarks import whole_programs

    lines = {line.name: line for line in whole_programs.LINES}
    monkeypatch.setattr(whole_programs, "find_spec", lambda name: None)
    row = bench.measured(lines["HMC, 100 steps, beside torch.compile"], True)
    assert (row.verdict, row.note) == ("skipped", "torch is not installed")
    monkeypatch.setattr(whole_programs, "find_spec", lambda name: name)
    row = bench.measured(lines["convolution, an epoch, beside HIPS autograd"], True)
    assert (row.verdict, row.note[:27]) == ("skipped", "autograd has no convolution")


def test_figures_of_a_whole_program_grow_with_its_steps():
    from benchmarks import whole_programs

    with jax.enable_x64(False), glassjax.enable_x64(False):
        first, second, hundredth, lap = whole_programs.seconds("HMC", "glassjax", 100)
    assert 0 < first < second < hundredth
    assert lap > 0
