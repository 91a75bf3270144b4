"""The launcher: ranks, output, exit codes, restarts, signals, and nothing left behind."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest
from several_processes import BEGIN, environment

MINIMAL = "import os, signal, sys, time\nrank = int(os.environ['MINIJAX_PROCESS_ID'])\n"


def command(program, *options, arguments=()):
    return [sys.executable, "-m", "minijax.distributed.launch", *options, program, *arguments]


def launch(processes, source, *options, begin=MINIMAL, arguments=(), timeout=30):
    program = processes.program(source, begin)
    return subprocess.run(
        command(program, *options, arguments=arguments),
        env=environment(),
        capture_output=True,
        text=True,
        timeout=timeout,
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
    print(rank, sys.argv[1:], [device.id for device in minijax.devices()])
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
    os.system("sleep 60")
    """
    begin = time.monotonic()
    done = launch(processes, program, "-n", "3", "--grace", "2")
    assert done.returncode == code
    assert "launch: process 1 (pid " in done.stderr
    assert message in done.stderr
    assert "2 others ended because of it" in done.stderr
    assert time.monotonic() - begin < 10


def test_one_that_does_not_listen_is_killed(processes):
    program = """
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if rank == 0:
        time.sleep(0.5)
        sys.exit(5)
    time.sleep(60)
    """
    assert launch(processes, program, "--grace", "0.5").returncode == 5


def test_all_are_started_again(processes):
    program = """
    attempt = int(os.environ["MINIJAX_RESTART_COUNT"])
    print("attempt", attempt)
    sys.exit(attempt < 2 and rank == 1)
    """
    done = launch(processes, program, "--max-restarts", "3")
    assert done.returncode == 0
    assert done.stdout.count("attempt 2") == 2
    assert "attempt 3" not in done.stdout
    assert launch(processes, program, "--max-restarts", "1").returncode == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_signals_are_passed_on_and_nothing_is_left(processes, number):
    program = """
    print("begun")
    time.sleep(60)
    """
    if number != signal.SIGKILL:  # which lets nobody end what the processes started
        program = program.replace("time", "os.system('sleep 60'); time")
    mark = f"MARK_OF_TEST={time.monotonic_ns()}"
    launcher = subprocess.Popen(
        command(processes.program(program, MINIMAL), "-n", "2", "--grace", "2"),
        env=environment(**dict([mark.split("=")])),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    processes.running.append(launcher)
    for _ in range(2):
        assert "begun" in launcher.stdout.readline()
    assert len(remaining(mark)) >= 2
    launcher.send_signal(number)
    launcher.communicate(timeout=20)
    assert launcher.returncode == (-number if number == signal.SIGKILL else 128 + number)
    time.sleep(0.5)
    assert remaining(mark) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no_such_program.py"], "there is no file 'no_such_program.py'"),
        (["-n", "0", __file__], "must be at least 1, found 0"),
        ([], "required: program"),
    ],
)
def test_bad_arguments(arguments, message):
    done = subprocess.run(
        [sys.executable, "-m", "minijax.distributed.launch", *arguments],
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 2
    assert message in done.stderr


def test_modules_are_programs_too(processes):
    done = subprocess.run(
        command("this", "-n", "1", "-m"), capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 0
    assert "[0] Simple is better than complex." in done.stdout


def test_the_example_has_the_losses_of_one_process():
    """The transformer, in parts on four devices, of one process and of two."""

    def losses(count):
        layout = ("--quick", "--fsdp", "--data", "2", "--model", "2")
        options = ("-n", str(count), "--devices-per-process", str(4 // count))
        done = subprocess.run(
            command("examples/sharded_transformer.py", *options, arguments=layout),
            env=environment(),
            capture_output=True,
            text=True,
            timeout=90,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return next(line for line in done.stdout.splitlines() if "losses" in line)

    assert losses(1) == losses(2)


def test_the_example_goes_on_where_one_of_its_processes_was_killed(tmp_path, processes):
    """By `--max-restarts`, from its last checkpoint, to the losses of one that was left alone."""
    pytest.importorskip("tensorstore")
    options = ("-n", "2", "--devices-per-process", "2", "--max-restarts", "1")
    arguments = ("--quick", "--fsdp", "--data=2", "--model=2", "--steps=40")
    saving = ("--save-every=4", "--checkpoints", str(tmp_path / "checkpoints"))
    mark = f"MARK_OF_TEST={time.monotonic_ns()}"

    def started(more, **variables):
        launcher = subprocess.Popen(
            command("examples/sharded_transformer.py", *options, arguments=[*arguments, *more]),
            env=environment(**variables),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        processes.running.append(launcher)
        return launcher

    def report(launcher):
        out, err = launcher.communicate(timeout=90)
        assert launcher.returncode == 0, out + err
        steps = re.search(r"training +(\d+) steps", out)[1]
        return int(steps), re.search(r"losses +(.*)", out)[1], err

    launcher = started(saving, **dict([mark.split("=")]))
    end = time.monotonic() + 60
    while not (tmp_path / "checkpoints" / "4").exists():
        assert launcher.poll() is None
        assert time.monotonic() < end
        time.sleep(0.01)
    (victim,) = [pid for pid in remaining(mark) if b"MINIJAX_PROCESS_ID=1\0" in variables_of(pid)]
    os.kill(victim, signal.SIGKILL)
    steps, losses, err = report(launcher)
    assert "was killed by SIGKILL" in err
    assert 0 < steps <= 36  # of the second attempt, which has 4 of the first at least
    assert report(started(()))[:2] == (40, losses)
