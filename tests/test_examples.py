"""The examples run, and say what they should."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def run(example, *args):
    return subprocess.run(
        [sys.executable, ROOT / "examples" / example, *args],
        capture_output=True,
        text=True,
        check=False,
    )


def test_digits():
    pytest.importorskip("matplotlib")
    pytest.importorskip("rich")
    result = run("digits.py", "--quick", "--seed", "0")
    assert result.returncode == 0, result.stderr
    picture = ROOT / "examples" / "output" / "digits.png"
    for line in (
        r"grad\(f\) \{ lambda",
        r"seed +0$",
        r"training +\d+ steps, [\d.]+ ms each$",
        r"compilations +3$",
        r"test accuracy +0\.9\d+ of 359 images$",
        rf"picture +{re.escape(str(picture))}$",
    ):
        assert re.search(line, result.stdout, re.MULTILINE), line
    assert picture.stat().st_size > 10_000
