"""The study of a stage: solutions pass, blanks fail, and its steps build on each other."""

import builtins
import json
import keyword
import re
import subprocess
import sys
import time

import pytest
from shares import one_in
from tables import for_each

from study import puzzles
from study.__main__ import last_report, main, marked, report, status
from study.milestones import milestone_of, run_milestone
from study.steps import ROOT, STAGES, folder_of_tests, package_of, steps_of
from study.workbook import Workbook

EVERY_STEP = [(stage, step) for stage in STAGES for step in steps_of(stage)]


def of_every_step(of_the_day):
    """The sixth step of some stages at every change, and all of them at night."""
    return pytest.mark.parametrize(
        ("stage", "step"),
        [
            pytest.param(
                stage,
                step,
                id=f"{stage}-{step.number}",
                marks=[] if stage in of_the_day and step.number == 6 else pytest.mark.nightly,
            )
            for stage, step in EVERY_STEP
        ],
    )


# A few examples of each law are enough here, and none is made smaller.
QUICK = """
from hypothesis import Phase, settings
settings.register_profile("quick", max_examples=5, phases=[Phase.explicit, Phase.generate],
                          deadline=None, derandomize=True, database=None)
settings.load_profile("quick")
"""


def made(stage, folder, blanks):
    workbook = Workbook(stage, folder / stage)
    workbook.make(blanks)
    (workbook.folder / "conftest.py").write_text(QUICK)
    return workbook


@pytest.mark.parametrize("stage", one_in(4, STAGES))
def test_the_solution_passes(stage, tmp_path):
    workbook = made(stage, tmp_path, blanks=())
    for file in package_of(stage).glob("*.py"):
        assert (workbook.package / file.name).read_text("utf-8") == file.read_text("utf-8")
    assert [(each.step.number, each.message) for each in workbook.check() if not each.holds] == []


@pytest.mark.parametrize("stage", one_in(4, STAGES))
def test_what_is_blank_fails_every_test(stage, tmp_path):
    workbook = made(stage, tmp_path, blanks=None)
    tests = [test for step in workbook.steps for test in step.tests]
    assert set(workbook.failures(tests)) == set(tests)


@of_every_step(("stage1", "stage3"))
def test_a_single_blank_fails_its_own_tests(stage, step, tmp_path):
    workbook = made(stage, tmp_path, blanks={step.number})
    failures = workbook.failures(step.tests)
    assert set(failures) == set(step.tests)


@of_every_step(("stage2", "stage4"))
def test_all_steps_so_far_hold_and_no_later_one(stage, step, tmp_path):
    """As the command checks: all steps at once, also those whose tests cannot be imported yet."""
    later = {each.number for each in steps_of(stage) if each.number > step.number}
    outcomes = made(stage, tmp_path, blanks=later).check()
    failing = {outcome.step.number for outcome in outcomes if not outcome.holds}
    assert failing == later, [each.message for each in outcomes if each.step.number not in later]


@for_each(("stage", "step"), EVERY_STEP)
def test_steps_name_what_is_there(stage, step):
    assert step.tests
    assert (ROOT / "docs" / "learn" / step.chapter).is_file()
    for test in step.tests:
        file, _, name = test.partition("::")
        function = name.partition("[")[0]
        assert f"def {function}(" in (folder_of_tests(stage) / file).read_text("utf-8")


@for_each("stage", STAGES)
def test_hints_name_what_is_there(stage):
    known = {*dir(builtins), *keyword.kwlist, *keyword.softkwlist}
    for file in package_of(stage).glob("*.py"):
        known.update(re.findall(r"\w+", file.read_text("utf-8")))
    for step in steps_of(stage):
        named = {name for code in re.findall("`(.+?)`", step.hint) for name in words(code)}
        assert named - known == set(), step


def words(code):
    return re.findall(r"[A-Za-z_]\w*", code)


def test_the_command_keeps_progress_and_says_what_is_next(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "conftest.py").write_text(QUICK)

    def study():
        command = [sys.executable, "-m", "study", "stage1", f"--folder={tmp_path / 'mine'}"]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    count = len(steps_of("stage1"))
    assert f"stage1: 0 of {count} steps hold." in study()
    file = tmp_path / "mine" / "glassjax_stage1" / "interpreter.py"
    blank = file.read_text("utf-8")
    solved = (package_of("stage1") / "interpreter.py").read_text("utf-8")
    file.write_text(solved, encoding="utf-8")
    said = study()
    assert f"stage1: 2 of {count} steps hold." in said
    assert "holds  1. Numbers are evaluated (new)" in said
    assert "Next: `JVPInterpreter.interpret_op`, `JVPInterpreter.lift` in" in said
    assert "(new)" not in study()
    file.write_text(blank, encoding="utf-8")
    assert "-      1. Numbers are evaluated (it did before)" in study()
    file.write_text(solved.replace("return x * y", "return y"), encoding="utf-8")
    said = study()
    test = "test_interpreter.py::test_evaluation_is_arithmetic_and_keeps_the_type"
    assert f"What {test} says:" in said
    assert re.search(r"tests/test_interpreter.py:\d+: in test_evaluation_is_arithmetic", said)
    assert re.search(r"E +assert [-\d.]+ == ", said)  # what was found


def test_watching_checks_again_when_a_file_is_saved(tmp_path):
    workbook = made("stage1", tmp_path, blanks=None)
    command = [sys.executable, "-m", "study", "stage1", f"--folder={workbook.folder}", "--watch"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as study:
        lines = iter(study.stdout.readline, "")
        next(line for line in lines if "0 of 7 steps hold" in line)
        next(line for line in lines if "--watch" in line)
        time.sleep(0.5)
        file = package_of("stage1") / "interpreter.py"
        (workbook.package / "interpreter.py").write_text(file.read_text("utf-8"), "utf-8")
        next(line for line in lines if "2 of 7 steps hold" in line)
        study.terminate()


def test_an_interpreter_that_does_not_end_is_found_in_its_step(tmp_path):
    workbook = made("stage1", tmp_path, blanks=())
    file = workbook.package / "jvp.py"
    text = file.read_text("utf-8")
    file.write_text(text.replace("interpreter.run()", "set_interpreter(interpreter)"), "utf-8")
    outcomes = workbook.check()
    assert [outcome.step.number for outcome in outcomes if not outcome.holds] == [4]


def test_in_the_end_all_tests_run(tmp_path):
    workbook = made("stage1", tmp_path, blanks=())
    for file in (workbook.folder / "tests").glob("*.py"):
        if file.name not in ("test_jvp.py", "test_errors.py"):
            file.unlink()
    file = workbook.package / "jvp.py"
    text = file.read_text("utf-8")
    text = text.replace("DualNumber(primal=", "Dual(primal=")
    file.write_text(text.replace('"primal of jvp"', '"x"'), "utf-8")
    failures = workbook.all_failures()
    said = "\n".join(last_report(workbook, failures))
    assert "1 fail: test_jvp.py::test_a_dual_number_shows_both_its_parts\n" in said
    assert "compare words, which may be your own: test_errors.py::" in said
    assert "All of stage1 is yours" in "\n".join(last_report(workbook, {}))


def test_what_never_ends_is_stopped_where_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr("study.workbook.SECONDS_OF_A_TEST", 0.5)
    workbook = made("stage1", tmp_path, blanks=())
    file = workbook.package / "dce.py"
    text = file.read_text("utf-8")
    file.write_text(text.replace("    needed = {", "    while True: pass\n    needed = {"), "utf-8")
    (outcome,) = workbook.check(workbook.steps[-1:])
    assert "does something never end?" in outcome.message
    assert "glassjax_stage1/dce.py:" in outcome.message


def test_a_program_that_is_no_python_says_where(tmp_path):
    workbook = made("stage1", tmp_path, blanks=None)
    file = workbook.package / "interpreter.py"
    text = file.read_text("utf-8")
    file.write_text(text.replace('raise NotImplementedError("step 1', "return (  # "), "utf-8")
    said = "\n".join(report(workbook, workbook.check()))
    assert "SyntaxError" in said
    assert "interpreter.py" in said


def test_starting_over_forgets_what_was_written(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(Workbook, "failures", lambda self, tests, *_: dict.fromkeys(tests, "no"))

    def study(*options):
        monkeypatch.setattr(sys, "argv", ["study", "stage1", f"--folder={tmp_path}", *options])
        main()
        return capsys.readouterr().out

    file = tmp_path / "glassjax_stage1" / "interpreter.py"
    study()
    blank = file.read_text("utf-8")
    file.write_text("", encoding="utf-8")
    study()
    assert file.read_text("utf-8") == ""
    assert f"0 of {len(steps_of('stage1'))}" in study("--start-over")
    assert file.read_text("utf-8") == blank


MILESTONES = [stage for stage in STAGES if milestone_of(stage)]


def completed(stage, folder):
    """A workbook with the solutions, as it is once all steps hold."""
    workbook = made(stage, folder, blanks=())
    held = range(1, len(workbook.steps) + 1)
    (workbook.folder / "progress.json").write_text(json.dumps({"holds": [*held]}))
    return workbook


def test_stages_with_arrays_have_milestones():
    assert MILESTONES == ["stage2", "stage3", "stage4"]


@pytest.mark.parametrize("stage", MILESTONES)
def test_a_milestone_runs_on_what_the_reader_wrote(stage, tmp_path, capfd):
    completed("stage1", tmp_path)
    workbook = completed(stage, tmp_path)
    for package in tmp_path.glob("*/glassjax_*"):
        file = package / "__init__.py"
        file.write_text(file.read_text("utf-8") + f"\nprint('own {package.name}')\n", "utf-8")
    run_milestone(workbook)
    printed = capfd.readouterr().out
    assert f"It runs on your stage1, {stage}." in printed
    assert "own glassjax_stage1\n" in printed
    assert f"own glassjax_{stage}\n" in printed


def test_a_milestone_fails_if_a_rule_is_wrong(tmp_path):
    workbook = completed("stage2", tmp_path)
    file = workbook.package / "jvp_rules.py"
    text = file.read_text("utf-8")
    file.write_text(text.replace("mul(t, cos(x))", "mul(t, x)"), "utf-8")
    with pytest.raises(subprocess.CalledProcessError):
        run_milestone(workbook)


def test_status_shows_all_stages(tmp_path):
    completed("stage2", tmp_path)
    made("stage3", tmp_path, blanks=None)
    said = [*status(tmp_path)]
    assert [line.split()[0] for line in said[:-1]] == [*STAGES]
    assert said[0].endswith("begin with ./noxw -s study -- stage1")
    assert "20 marks   complete; its milestone: " in said[1]
    assert f"next: {steps_of('stage3')[0].law}" in said[2]
    assert said[-1].split() == ["20", "of", "100"]  # all marks of all stages


def test_marks_are_given_by_the_tests_of_the_repository(tmp_path):
    workbook = made("stage1", tmp_path, blanks={6, 7})
    for file in (workbook.folder / "tests").glob("*.py"):
        file.write_text("")
    marks = [step.marks for step in workbook.steps]
    total, *steps = marked(workbook.folder)
    assert total.endswith(f"stage1, {sum(marks[:5])} of {sum(marks)} marks")
    assert [int(line.split()[0]) for line in steps] == [*marks[:5], 0, 0]
    assert [*marked(tmp_path)] == [f"{tmp_path}: no workbook"]


@for_each("puzzle", puzzles.PUZZLES)
def test_a_puzzle_holds_by_its_solution_and_not_as_it_begins(puzzle, tmp_path):
    file = tmp_path / "puzzles.py"
    for line, holds in ((puzzle.start, False), (puzzle.solution, True)):
        file.write_text("\n".join([puzzles.HEAD, puzzles.written(puzzle, line)]))
        (said,) = (each for each in puzzles.report(file) if f" {puzzle.name}: " in each)
        assert said.startswith("  yes" if holds else "  -"), said


def test_a_puzzle_shows_what_is_wanted_beside_what_was_found(tmp_path):
    file = tmp_path / "puzzles.py"
    puzzles.make(file)
    assert "MappedAxisError" in "\n".join(puzzles.report(file))
    solved = {each.name: each.solution for each in puzzles.PUZZLES}
    solved["shift"] = "y"
    lines = (puzzles.written(each, solved[each.name]) for each in puzzles.PUZZLES)
    file.write_text("\n".join([puzzles.HEAD, *lines]))
    assert [*puzzles.report(file)][-5:] == [
        "  wanted      found",
        "   . # . .     # . . .",
        "   . . # .     . # . .",
        "   . . . #     . . # .",
        "   . . . .     . . . #",
    ]


def test_the_study_of_stage_1_needs_no_numpy():
    program = "import sys; sys.modules['numpy'] = None; import study.__main__"
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)
