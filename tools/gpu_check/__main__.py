"""Prints one table of what a GPU has to show before a release, in under six minutes.

    ./noxw -s gpu-check
    python -m tools.gpu_check               with jaxlib, its plugin, jax and pytest; no network
    python -m tools.gpu_check --device cpu  the same on a CPU, as a rehearsal

Its parts: programs whose results have to be JAX's; examples, which say themselves whether they
succeed; the laws of all primitives; and times beside JAX's on the same GPU. The exit code is 1 if
anything fails or is not finished.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SOURCES = [
    ROOT / "packages" / name / "src"
    for name in ("glassjax", "watch", "stage4", "stage3", "stage2", "stage1")
]
LAWS = "packages/glassjax/tests/laws/test_law.py"
EXAMPLES = (
    "convolution.py --quick", "transformer.py --quick", "gaussian_process.py --quick",
    "predators.py --quick", "taylor.py --quick", "intervals.py",
    "sharded_transformer.py --quick --data 1 --model 1",
)  # fmt: skip
TIMES = ("heavy", "call, scalar", "call, MLP gradient step", "eager sin", "eager softmax")
FAILED = ("FAILED", "DIED", "STOPPED")


@dataclass
class Line:
    """A line of the table: what was tried, how it ended, in how many seconds."""

    name: str
    result: str
    seconds: float | None = None

    def __str__(self) -> str:
        seconds = "" if self.seconds is None else f"{self.seconds:.1f} s"
        return f"{self.name:50} {seconds:>8}  {self.result}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="./noxw -s gpu-check --", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--device", choices=("gpu", "cpu"), default="gpu")
    parser.add_argument("--seconds", type=float, default=350, help="for everything (350)")
    options = parser.parse_args(arguments)
    end = time.monotonic() + options.seconds
    os.chdir(ROOT)
    os.environ.update(environment(options.device))
    found = devices()
    print("\n".join(found), flush=True)
    if options.device == "gpu" and "gpu" not in found[0]:
        print("no GPU computes here: --device cpu rehearses the check")
        return 1
    lines: list[Line] = []

    def show(part: str, parts: Iterator[Line]) -> None:
        print(f"\n{part}", flush=True)
        for line in parts:
            print(line, flush=True)
            lines.append(line)

    # Compilers keep the cores busy and the device idle, so all but the times runs at once.
    with tempfile.TemporaryFile("w+") as log, ThreadPoolExecutor(2) as pool:
        laws = start_laws(options.device, log)
        examples = [pool.submit(run_example, each, end - 60) for each in EXAMPLES]
        try:
            show("programs beside JAX", run_programs(end - 60))
            show("examples", (example.result() for example in examples))
            show("laws of the primitives", finish_laws(laws, log, end - 60))
        finally:
            laws.kill()
    show("times beside JAX: glassjax, JAX, ratio", run_benchmarks(end))
    bad = [line.name for line in lines if line.result.startswith(FAILED)]
    print(f"\n{len(lines)} lines, {len(bad)} of them fell short: {', '.join(bad) or 'none'}")
    print(f"{options.seconds - (end - time.monotonic()):.0f} s")
    return bool(bad)


def environment(device: str) -> dict[str, str]:
    """Variables of everything that runs here: one process of many leaves memory to the others."""
    platforms = "cuda,cpu" if device == "gpu" else "cpu"
    paths = ROOT, *SOURCES, os.environ.get("PYTHONPATH", "")  # so that nothing need be installed
    return {
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        **{f"{name}_PLATFORMS": platforms for name in ("GLASSJAX", "JAX")},
        **{f"{name}_PYTHON_CLIENT_PREALLOCATE": "false" for name in ("GLASSJAX", "XLA")},
        "GLASSJAX_ENABLE_COMPILATION_CACHE": "false",
        "TF_CPP_MIN_LOG_LEVEL": "2",
    }


def devices() -> list[str]:
    program = (
        "import glassjax, jax, jaxlib, numpy, sys\n"
        "print(glassjax.default_backend(), glassjax.devices())\n"
        "print('Python', sys.version.split()[0], 'jaxlib', jaxlib.__version__, 'JAX', "
        "jax.__version__, 'numpy', numpy.__version__, glassjax.devices()[0].device_kind)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    return done.stdout.splitlines() or ["nothing", done.stderr.strip().rpartition("\n")[2]]


# Programs, each in a process that goes on with the next one


def run_programs(end: float) -> Iterator[Line]:
    """Run the programs in a process, and what is left in another one if a program ends it."""
    finished: list[str] = []
    while True:
        command = [sys.executable, "-m", "tools.gpu_check.beside_jax", *finished]
        with (
            tempfile.TemporaryFile("w+") as log,
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as process,
        ):
            assert process.stdout is not None
            name = None
            for text in process.stdout:
                told: dict[str, Any] = json.loads(text)
                name = told["name"]
                if "result" in told:
                    finished.append(name)
                    yield Line(name, told["result"], told["seconds"])
                    name = None
                if time.monotonic() > end:
                    process.kill()
                    yield Line("the other programs", "STOPPED: no time is left")
                    return
            code = process.wait()
            log.seek(0)
            complaint = log.read().strip().rpartition("\n")[2]
        if code == 0:
            return
        if name is None:
            yield Line("programs", f"DIED with {code}: {complaint}")
            return
        finished.append(name)
        yield Line(name, f"DIED with {code}: {complaint}")


def run_example(example: str, end: float) -> Line:
    started = time.monotonic()
    command = [sys.executable, *f"examples/{example}".split()]
    limit = max(1.0, min(120.0, end - started))
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return Line(example, f"STOPPED after {limit:.0f} s")
    last = (done.stderr if done.returncode else done.stdout).strip().rpartition("\n")[2]
    result = f"FAILED: {last}" if done.returncode else last[:70]
    return Line(example, result, time.monotonic() - started)


# Laws


def start_laws(device: str, log: Any) -> subprocess.Popen[str]:
    workers = max(1, (os.cpu_count() or 2) - 4)
    command = [
        sys.executable,
        *["-m", "pytest", "-q", "-rf", "--tb=line", "-p", "no:cacheprovider"],
    ]
    # pytest-benchmark, where it is installed, refuses to run in several processes
    command += ["-p", "no:benchmark", "-m", "not nightly", f"--device={device}"]
    command += [f"--numprocesses={workers}", LAWS]
    return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, text=True)


def finish_laws(laws: subprocess.Popen[str], log: Any, end: float) -> Iterator[Line]:
    started = time.monotonic()
    stopped = ""
    try:
        laws.wait(max(1.0, end - started))
    except subprocess.TimeoutExpired:
        laws.terminate()
        stopped = "STOPPED: "
    log.seek(0)
    printed = log.read()
    for failure in re.findall(r"^FAILED \S+::(.*)", printed, re.MULTILINE)[:30]:
        yield Line(failure[:100], "FAILED")
    summary = printed.strip().rpartition("\n")[2].strip("= ")
    failed = "FAILED: " if laws.returncode and not stopped else ""
    yield Line("all primitives", stopped + failed + summary)


# Times


def run_benchmarks(end: float) -> Iterator[Line]:
    command = [sys.executable, "-m", "benchmarks", "--quick", "--json", *TIMES]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=max(5.0, end - time.monotonic())
        )
        printed, complaint = done.stdout, done.stderr.strip().rpartition("\n")[2]
        code = done.returncode
    except subprocess.TimeoutExpired as error:
        printed, complaint, code = (error.stdout or b"").decode(), "no time is left", 1
    for text in printed.splitlines():
        row = json.loads(text)
        if row.get("ratio") is not None:
            times = f"{row['ours'] * 1e6:10.1f} us {row['peer'] * 1e6:10.1f} us {row['ratio']:6.2f}"
            yield Line(row["name"].removeprefix("heavy: "), times)
    if code:
        yield Line("benchmarks", f"STOPPED: {complaint}")


if __name__ == "__main__":
    sys.exit(main())
