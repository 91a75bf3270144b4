"""The examples run and print what they should."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from shares import one_in

ROOT = Path(__file__).parents[2]


def run(example, *args):
    """By day, programs that do not run for long are compiled with few optimizations."""
    return subprocess.run(
        [sys.executable, ROOT / "examples" / example, *args],
        env={"GLASSJAX_DISABLE_MOST_OPTIMIZATIONS": "true", **os.environ},
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
        r"^    a  = dot_general  +f32\[64,128\]  a matrix product of images and weights 1$",
        r"^  The gradients: (\w+, ){3}\w+\.$",
        r"seed +0$",
        r"training +\d+ steps, [\d.]+ ms each$",
        r"compilations +loss_and_gradient 1, update 1, predict_all 1$",
        r"test accuracy +0\.9\d+ of 359 images$",
        rf"picture +{re.escape(str(picture))}$",
    ):
        assert re.search(line, result.stdout, re.MULTILINE), line
    assert picture.stat().st_size > 10_000


def number(pattern, text):
    found = re.search(pattern, text, re.MULTILINE)
    assert found, f"{pattern}\n{text}"
    return float(found[1])


def printed_by(example, picture=None):
    result = run(example, "--quick")
    assert result.returncode == 0, result.stdout + result.stderr
    if picture is not None:
        assert re.search(r"^picture +none: matplotlib|" + re.escape(picture), result.stdout)
    return result.stdout


@pytest.mark.nightly
def test_convolution():
    printed = printed_by("convolution.py")
    assert number(r"^test accuracy +(0\.\d+) of 359 images$", printed) >= 0.95
    assert number(r"^loss .* ([\d.]+) at last$", printed) < 0.6


@pytest.mark.parametrize("layout", one_in(2, ["--fsdp", "--model=8 --data=1"]))
def test_sharded_transformer(layout):
    result = run("sharded_transformer.py", "--quick", *layout.split())
    assert result.returncode == 0, result.stdout + result.stderr
    assert number(r"^difference +([\d.e+-]+) at most", result.stdout) < 1e-4


@pytest.mark.nightly
def test_sharded_transformer_goes_on_from_a_checkpoint(tmp_path):
    """In another layout, on another number of devices, with the losses of one that never ended."""
    pytest.importorskip("tensorstore")

    def losses(*options):
        result = run("sharded_transformer.py", "--quick", *options)
        assert result.returncode == 0, result.stdout + result.stderr
        return re.search(r"^losses +(.*)$", result.stdout, re.MULTILINE)[1].split()

    directory = ("--checkpoints", str(tmp_path))
    begun = losses("--steps=7", "--fsdp", *directory)
    ended = losses("--data=2", "--model=4", *directory)
    assert {f.name for f in tmp_path.iterdir() if f.name.isdigit()} == {"5", "10"}
    assert ended[:5] == begun[:5]
    assert ended == losses()


@pytest.mark.nightly
def test_transformer():
    printed = printed_by("transformer.py")
    surprise = number(r"^surprise +([\d.]+) at", printed)
    alone = number(r"^by counting +([\d.]+) for letters", printed)
    after_one = number(r", ([\d.]+) for pairs of letters$", printed)
    assert after_one < surprise < alone  # 60 steps are a beginning


def test_gaussian_process():
    printed = printed_by("gaussian_process.py", "gaussian_process.png")
    assert number(r"^error +([\d.]+) parts per million", printed) < 3
    first = number(r"^surprise +([\d.]+) at first", printed)
    assert number(r"^surprise .* ([\d.]+) at last$", printed) < first


@pytest.mark.nightly
def test_predators():
    """The rates are those that others find, who sample instead: 0.55, 0.028, 0.024 and 0.80."""
    printed = printed_by("predators.py", "predators.png")
    for name, wanted in {"growth": 0.55, "eaten": 0.028, "fed": 0.024, "death": 0.80}.items():
        assert number(rf"^{name} +([\d.]+) \+-", printed) == pytest.approx(wanted, rel=0.1)


def test_blur():
    printed = printed_by("blur.py", "blur.png")
    assert number(r"^filter +within ([\d.]+) of the true one", printed) < 0.02


def test_intervals():
    printed = run("intervals.py").stdout
    for radius in ("0.01", "0.1", "1.0"):
        low, high, least, most = map(
            float,
            re.search(rf"within {radius}: (\S+) to (\S+); found (\S+) to (\S+)", printed).groups(),
        )
        assert low <= least < most <= high


@pytest.mark.parametrize("options", one_in(2, ["--quick", ""]))
def test_taylor(options):
    printed = run("taylor.py", *options.split()).stdout
    rows = re.findall(r"order +\d+: .*within (\S+) (\S+) (\S+)", printed)
    errors = [max(map(float, row)) for row in rows]
    assert len(errors) == 3
    assert errors[0] > 100 * errors[1] > 1e4 * errors[2]


@pytest.mark.parametrize("options", one_in(2, ["--quick", ""]))
def test_membrane(options):
    """Newton's method converges quadratically; the height is 0.797 on a fine grid."""
    printed = run("membrane.py", *options.split()).stdout
    residuals = [float(x) for x in re.findall(r"residual (\S+),", printed)]
    assert residuals[3] < residuals[2] / 10 < residuals[1] / 100
    heights = re.findall(r"height (\S+)", printed)
    assert float(heights[-1]) == pytest.approx(0.797, abs=0.005)
    assert "@" in printed


def test_layouts():
    printed = printed_by("layouts.py")
    assert re.search(r"^ +1  data=4,model=2 +fsdp +1\.6 ", printed, re.MULTILINE), printed


def test_memory():
    printed = printed_by("memory.py")
    plain, checkpointed = re.findall(r"([\d.]+) (?:KiB|MiB) live at the peak", printed)
    assert float(checkpointed) < float(plain)
    assert re.search(r"checkpoint around memory.py:\d+ to \d+ in `attention` saves \d", printed)
    for picture in re.findall(r"^picture +(\S+)$", printed, re.MULTILINE):
        assert "<svg" in Path(picture).read_text(encoding="utf-8")


def test_unrolled():
    printed = printed_by("unrolled.py")
    assert number(r"^unrolled +([\d.]+) s", printed) > number(r"^rolled up +([\d.]+) s", printed)
    assert number(r"^difference +(\S+)$", printed) < 1e-10
    assert printed.count("\n") > 24
