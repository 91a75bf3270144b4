"""Milestones: programs that run on what the reader wrote, one after the study of a stage.

stage2.py   Newton's method
stage3.py   a drum, compiled
stage4.py   handwritten digits
"""

import ast
import os
import subprocess
import sys
from pathlib import Path

from study.steps import STAGES
from study.workbook import Workbook


def milestone_of(stage: str) -> Path | None:
    """The program of a stage, if it has one."""
    program = Path(__file__).with_name(f"{stage}.py")
    return program if program.is_file() else None


def run_milestone(workbook: Workbook) -> None:
    """Runs the program of a stage on its workbook, and on those of the stages below it."""
    program = milestone_of(workbook.stage)
    assert program, f"{workbook.stage} has no milestone"
    below = STAGES[: STAGES.index(workbook.stage)]
    others = [Workbook(stage, workbook.folder.parent / stage) for stage in below]
    own = [*(each for each in others if each.is_complete), workbook]
    print(ast.get_docstring(ast.parse(program.read_text("utf-8"))))
    print(f"\nIt runs on your {', '.join(each.stage for each in own)}.\n", flush=True)
    path = [*(str(each.folder) for each in own), os.environ.get("PYTHONPATH", "")]
    environment = {"PYTHONPATH": os.pathsep.join(path), "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run([sys.executable, "-P", program], env={**os.environ, **environment}, check=True)
