"""The study of a stage: solved, it passes; blank, it fails; and its steps follow each other."""

import subprocess
import sys

import pytest
from shares import one_in
from tables import for_each

from study.__main__ import main
from study.steps import ROOT, STAGES, folder_of_tests, package_of, steps_of
from study.workbook import Workbook

EVERY_STEP = [(stage, step) for stage in STAGES for step in steps_of(stage)]


def of_every_step(of_the_day):
    """One step in six of some stages at every change, and all of them at night."""
    return pytest.mark.parametrize(
        ("stage", "step"),
        [
            pytest.param(
                stage,
                step,
                id=f"{stage}-{step.number}",
                marks=[pytest.mark.nightly] if stage not in of_the_day or step.number % 6 else [],
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
def test_steps_need_no_later_ones(stage, step, tmp_path):
    later = {each.number for each in steps_of(stage) if each.number > step.number}
    (outcome,) = made(stage, tmp_path, blanks=later).check([step])
    assert outcome.holds, outcome.message


@for_each(("stage", "step"), EVERY_STEP)
def test_steps_name_what_is_there(stage, step):
    assert step.tests
    assert (ROOT / "docs" / "learn" / step.chapter).is_file()
    for test in step.tests:
        file, _, name = test.partition("::")
        assert f"def {name}(" in (folder_of_tests(stage) / file).read_text("utf-8")


def test_the_command_keeps_progress_and_says_what_is_next(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "conftest.py").write_text(QUICK)

    def study():
        command = [sys.executable, "-m", "study", "stage1", f"--folder={tmp_path / 'mine'}"]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    count = len(steps_of("stage1"))
    assert f"stage1: 0 of {count} steps hold." in study()
    file = tmp_path / "mine" / "minijax_stage1" / "interpreter.py"
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
    file.write_text(solved.replace("return x * y", "return x + y"), encoding="utf-8")
    assert "What they say:" in study()


def test_starting_over_forgets_what_was_written(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(Workbook, "failures", lambda self, tests, *_: dict.fromkeys(tests, "no"))

    def study(*options):
        monkeypatch.setattr(sys, "argv", ["study", "stage1", f"--folder={tmp_path}", *options])
        main()
        return capsys.readouterr().out

    file = tmp_path / "minijax_stage1" / "interpreter.py"
    study()
    blank = file.read_text("utf-8")
    file.write_text("", encoding="utf-8")
    study()
    assert file.read_text("utf-8") == ""
    assert f"0 of {len(steps_of('stage1'))}" in study("--start-over")
    assert file.read_text("utf-8") == blank
