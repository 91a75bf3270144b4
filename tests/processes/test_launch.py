"""The launcher: ranks, output, exit codes, restarts, signals, and no processes left over."""

import os
import re
import signal
import subprocess
import sys
import time
from typing import ClassVar

import numpy as np
import pytest
from several_processes import BEGIN, PATIENCE, environment

from glassjax.distributed.launch import _lines_of, main

MINIMAL = "import os, signal, sys, time\nrank = int(os.environ['GLASSJAX_PROCESS_ID'])\n"


def command(program, *options, arguments=()):
    return [sys.executable, "-m", "glassjax.distributed.launch", *options, program, *arguments]


def launch(processes, source, *options, begin=MINIMAL, arguments=(), **variables):
    program = processes.program(source, begin)
    return subprocess.run(
        command(program, *options, arguments=arguments),
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


def remaining(mark):
    """The processes with a mark in their environment, zombies excluded."""
    found = []
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        try:
            if mark.encode() in variables_of(pid):
                found.append(pid)
        except OSError:  # another user's, or it has just ended
            pass
    return found


def variables_of(pid):
    """The environment of a process."""
    with open(f"/proc/{pid}/environ", "rb") as variables:
        return variables.read()


def test_processes_share_their_devices(processes):
    program = """
    print(rank, sys.argv[1:], [device.id for device in glassjax.devices()])
    """
    done = launch(
        processes,
        program,
        *("-n", "2", "--devices-per-process", "2"),
        begin=BEGIN,
        arguments=("-n", "--max-restarts"),
    )
    assert done.returncode == 0, done.stderr
    lines = {line for line in done.stdout.splitlines() if "[Gloo]" not in line}
    assert lines == {f"[{i}] {i} ['-n', '--max-restarts'] [0, 1, 2048, 2049]" for i in range(2)}


def test_lines_have_the_number_of_their_process(processes):
    program = """
    for number in range(200):
        print(number, "x" * 100)
        print("error", file=sys.stderr)
    sys.stdout.write("no end of line")
    """
    done = launch(processes, program, "-n", "3")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    for rank in range(3):
        mine = [line for line in lines if line.startswith(f"[{rank}] ")]
        assert mine == [f"[{rank}] {n} {'x' * 100}" for n in range(200)] + [
            f"[{rank}] no end of line"
        ]
    assert sorted(done.stderr.splitlines()) == sorted(
        f"[{rank}] error" for rank in range(3) for _ in range(200)
    )


@pytest.mark.parametrize(
    ("failure", "code", "message"),
    [
        ("sys.exit(7)", 7, "failed with exit code 7"),
        ("raise ValueError('too hot')", 1, "its last words were: ValueError: too hot"),
        ("os.kill(os.getpid(), signal.SIGKILL)", 137, "was killed by SIGKILL"),
        ("os.abort()", 134, "was killed by SIGABRT"),
    ],
)
def test_the_first_failure_is_told_and_ends_the_others(processes, failure, code, message):
    program = f"""
    if rank == 1:
        {failure}
    os.system("sleep 1000")
    """
    done = launch(processes, program, "-n", "3", "--grace", "2")
    assert done.returncode == code
    assert "launch: process 1 (pid " in done.stderr
    assert message in done.stderr
    assert "2 others ended because of it" in done.stderr


def test_one_that_does_not_listen_is_killed(processes):
    file = processes.directory / "heard"
    program = f"""
    from pathlib import Path
    if rank == 0:
        while not Path({str(file)!r}).exists():
            time.sleep(0.02)
        sys.exit(5)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    Path({str(file)!r}).touch()
    time.sleep(1000)
    """
    assert launch(processes, program, "--grace", "0.5").returncode == 5


def test_all_are_started_again(processes):
    program = """
    attempt = int(os.environ["GLASSJAX_RESTART_COUNT"])
    print("attempt", attempt)
    sys.exit(attempt < 2 and rank == 1)
    """
    done = launch(processes, program, "--max-restarts", "3")
    assert done.returncode == 0
    assert done.stdout.count("attempt 2") == 2
    assert "attempt 3" not in done.stdout
    assert launch(processes, program, "--max-restarts", "1").returncode == 1


def test_what_is_written_anew_comes_at_once():
    class Source:
        chunks: ClassVar = [b"\r 10%", b"\r 20%", b"\n", b"30%\r40", b"%\r\nno", b" end"]

        def read1(self, size):
            return self.chunks.pop(0) if self.chunks else b""

    assert [*_lines_of(Source())] == [
        (b" 10%", b"\r"), (b" 20%", b"\r"), (b"", b"\n"), (b"30%", b"\r"), (b"40", b"\r"),
        (b"%", b"\n"), (b"no end", b"\n"),
    ]  # fmt: skip


def test_a_warning_is_handed_on_and_ends_nothing(processes):
    program = """
    signal.signal(signal.SIGUSR1, lambda *_: sys.exit(0))
    os.kill(os.getppid(), signal.SIGUSR1) if rank == 0 else None
    time.sleep(1000)
    """
    # The launcher may get it before the other process has its handler.
    done = launch(processes, program, "-n", "1")
    assert done.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_signals_are_passed_on_and_nothing_is_left(processes, number):
    program = """
    print("begun")
    time.sleep(1000)
    """
    if number != signal.SIGKILL:  # which lets nobody end what the processes started
        program = program.replace("time", "os.system('sleep 1000'); time")
    mark = f"MARK_OF_TEST={time.monotonic_ns()}"
    # Whoever runs the tests may ignore the signal, as nohup and shells do, so its default is set.
    launcher = subprocess.Popen(
        command(processes.program(program, MINIMAL), "-n", "2", "--grace", "2"),
        env=environment(**dict([mark.split("=")])),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: number == signal.SIGKILL or signal.signal(number, signal.SIG_DFL),
    )
    processes.running.append(launcher)
    for _ in range(2):
        assert "begun" in launcher.stdout.readline()
    assert len(remaining(mark)) >= 2
    launcher.send_signal(number)
    launcher.communicate(timeout=PATIENCE)
    assert launcher.returncode == (-number if number == signal.SIGKILL else 128 + number)
    end = time.monotonic() + PATIENCE
    while remaining(mark):  # the system may take a moment to end them
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no_such_program.py"], "there is no file 'no_such_program.py'"),
        (["-n", "0", __file__], "must be at least 1, found 0"),
        ([], "required: program"),
    ],
)
def test_bad_arguments(capsys, arguments, message):
    with pytest.raises(SystemExit) as raised:
        main(arguments)
    assert raised.value.code == 2
    assert message in capsys.readouterr().err


def test_modules_are_programs_too():
    done = subprocess.run(
        command("this", "-n", "1", "-m"), capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 0
    assert "[0] Simple is better than complex." in done.stdout


# The example, of which process 1 ends at its second checkpoint when it first gets there.
EXAMPLE = """
import os, runpy, signal, sys
from glassjax import checkpoints

save, pending = checkpoints.save, []


def save_or_end(directory, step, *args, **options):
    number, restarts = (os.environ[f"GLASSJAX_{n}"] for n in ("PROCESS_ID", "RESTART_COUNT"))
    if step == 8 and number == "1" != restarts:
        pending[-1].wait()
        os.kill(os.getpid(), signal.SIGKILL)
    pending.append(save(directory, step, *args, **options))
    return pending[-1]


checkpoints.save = save_or_end
sys.path.insert(0, "examples")
runpy.run_path("examples/sharded_transformer.py", run_name="__main__")
"""


@pytest.mark.nightly
def test_the_example_goes_on_where_one_of_its_processes_was_killed(tmp_path, processes):
    """By `--max-restarts`, from its last checkpoint, to the losses that one device has."""
    pytest.importorskip("tensorstore")
    cache = {
        "GLASSJAX_ENABLE_COMPILATION_CACHE": "true",
        "GLASSJAX_COMPILATION_CACHE_DIR": str(tmp_path / "cache"),
    }

    def report(*options, arguments):
        """The steps of the last attempt, the losses of all steps, and what was said."""
        quick = ("--quick", "--steps=12", *arguments)
        done = launch(processes, EXAMPLE, *options, begin="", arguments=quick, **cache)
        assert done.returncode == 0, done.stdout + done.stderr
        steps = re.search(r"training +(\d+) steps", done.stdout)[1]
        losses = re.search(r"losses +(.*)", done.stdout)[1]
        return int(steps), list(map(float, losses.split())), done.stderr

    divided = ("--fsdp", "--data=2", "--model=2")
    saving = ("--save-every=4", "--checkpoints", str(tmp_path / "checkpoints"))
    steps, losses, err = report(
        *("--devices-per-process", "2", "--max-restarts", "1"), arguments=divided + saving
    )
    assert "process 1 (pid " in err
    assert "was killed by SIGKILL" in err
    assert steps == 8  # of the second attempt
    steps, expected, _ = report("-n", "1", arguments=("--data=1", "--model=1"))
    assert steps == len(losses) == 12
    np.testing.assert_allclose(losses, expected, atol=2e-4)
