"""Failing processes: the others stop within the timeouts, and name the one that failed."""

import signal
import socket
import subprocess
import sys

import pytest
from several_processes import BEGIN, PATIENCE, TWO_DEVICES, environment
from shares import one_in

from glassjax.distributed.runtime import reserved_port

# Seconds after which a process counts as dead, and for which those that are done wait for others.
# Otherwise each is 100, which no test would wait for.
BRIEF = {"HEARTBEAT": "3", "SHUTDOWN": "3"}
KILL_ONE = "if os.environ['GLASSJAX_PROCESS_ID'] == '1': os.kill(os.getpid(), 9)\n"
STEP = """
x = glassjax.device_put(np.arange(8.0), NamedSharding(glassjax.make_mesh((2,), ("x",)), P("x")))
step = glassjax.jit(lambda x: x.sum())
other = glassjax.jit(lambda x: (x * x).sum())
step(x), other(x)
make_array = glassjax.make_array_from_process_local_data
"""


def run(processes, program, **options):
    """What each process did, after a step together."""
    return processes.run(STEP + program, **options)


def test_one_is_killed_before_it_joins(processes):
    begin = "import os\n" + KILL_ONE + BEGIN
    zero, one = processes.run("", begin=begin, INITIALIZATION="3")
    assert (zero.code, one.code) == (-signal.SIGABRT, -signal.SIGKILL)
    assert "Some timed out task names:\n1" in zero.err


def test_one_never_comes(processes):
    (zero,) = processes.run("", indices=(0,), INITIALIZATION="3")
    assert zero.code == -signal.SIGABRT
    assert "Some timed out task names:\n1" in zero.err


def test_process_0_never_comes(processes):
    (one,) = processes.run("", indices=(1,), INITIALIZATION="2")
    assert one.code == 1
    assert "process 1 did not reach process 0 at 127.0.0.1" in one.err


def test_one_is_killed_before_its_first_array(processes):
    begin = BEGIN.partition("rank, count")[0] + (f"{KILL_ONE}print(glassjax.devices())\n")
    zero, one = processes.run("", begin=begin, **BRIEF)
    assert (zero.code, one.code) == (-signal.SIGABRT, -signal.SIGKILL)
    assert "unhealthy (stopped sending heartbeats):\n1\n" in zero.err


def test_one_is_killed_in_a_step(processes):
    program = """
if rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
step(x)
"""
    zero, one = run(processes, program)
    assert (zero.code, one.code) == (1, -signal.SIGKILL)
    assert "failed while it ran: process 1 (pid " in zero.err
    assert "is gone: it crashed or was killed" in zero.err


def test_one_is_killed_between_steps(processes):
    program = """
if rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
time.sleep(60)
"""
    zero, one = run(processes, program, **BRIEF)
    assert (zero.code, one.code) == (-signal.SIGABRT, -signal.SIGKILL)
    assert "unhealthy (stopped sending heartbeats):\n1\n" in zero.err


def test_one_is_killed_at_its_end(processes):
    program = """
import atexit
if rank == 1:
    atexit.register(os.kill, os.getpid(), signal.SIGKILL)
"""
    zero, one = run(processes, program, **BRIEF)
    assert one.code == -signal.SIGKILL
    assert zero.code in (1, -signal.SIGABRT)
    assert "process 1 (pid " in zero.err or "heartbeats):\n1\n" in zero.err


def test_process_0_is_killed(processes):
    program = """
if rank == 0:
    os.kill(os.getpid(), signal.SIGKILL)
time.sleep(60)
"""
    zero, one = run(processes, program, **BRIEF)
    assert (zero.code, one.code) == (-signal.SIGKILL, -signal.SIGABRT)
    assert "the leader" in one.err


@pytest.mark.parametrize("failing", one_in(2, [0, 1]))
def test_an_exception_ends_all(processes, failing):
    program = f"""
if rank == {failing}:
    raise ValueError("too hot")
time.sleep(60)
"""
    done = run(processes, program)
    assert done[failing].code == 1
    assert "ValueError: too hot" in done[failing].err
    other = done[1 - failing]
    assert other.code == 75
    assert f"process {failing} (pid " in other.err
    assert "failed: ValueError: too hot" in other.err
    assert f"This is process {1 - failing}, which ends, too." in other.err


def test_one_that_hangs_is_not_waited_for_at_the_end(processes):
    program = """
if rank == 1:
    time.sleep(60)
"""
    zero, one = run(processes, program, **BRIEF)
    assert (zero.code, one.code) == (1, 75)
    assert "waited 3 seconds for the others in vain. process 1 (pid " in zero.err
    assert "process 1 (pid " in one.err


DIFFERENT = {
    "a program that is new to one": "(glassjax.jit(lambda x: x.sum() + 1) if rank else step)(x)",
    "programs that are new": "glassjax.jit(lambda x: x.sum() + rank + 1)(x)",
    "a step more": "[step(x) for _ in range(3 + rank)]",
    "only one": "rank and glassjax.jit(lambda x: x.max())(x)",
    "other shapes": "step(make_array(x.sharding, np.ones(2 + rank)))",
    "what XLA does not notice": "(step if rank else other)(x)",
}


@pytest.mark.parametrize("different", one_in(3, DIFFERENT.values()), ids=DIFFERENT)
def test_different_programs_are_found(processes, different):
    zero, one = run(processes, different)
    # The other finds the difference, too, or is ended: by this library, or by jaxlib before it.
    assert {zero.code, one.code} in ({1}, {1, 75}, {1, -signal.SIGABRT})
    for each in (zero, one):
        assert "must run the same operations on it, in the same order" in each.err
        assert "process 0" in each.err
        assert "process 1" in each.err


IN_THE_WAIT = {
    "a value": "float(step(x)) if rank == 0 else sys.exit(7)",
    "an array, after an error that is caught": "rank or print(np.asarray(step(x)))",
}


@pytest.mark.parametrize("different", one_in(2, IN_THE_WAIT.values()), ids=IN_THE_WAIT)
def test_a_step_more_is_found_where_its_result_is_waited_for(processes, different):
    """With several devices of a process, the call that launches a program does not wait."""
    program = f"""
x = glassjax.device_put(np.arange(8.0), NamedSharding(glassjax.make_mesh((4,), ("x",)), P("x")))
x = step(x).block_until_ready() + x
{different}
"""
    zero, one = run(processes, program, **TWO_DEVICES)
    # The other is ended by this library, or by jaxlib before it.
    assert 1 in (zero.code, one.code)
    assert {zero.code, one.code} <= {1, 75, -signal.SIGABRT}
    assert "is to run `<lambda>` of f32[8@x], which needs all processes" in zero.err
    assert "process 1 (pid " in zero.err
    assert "is done" in zero.err


def test_steps_of_different_length_are_no_fault(processes):
    program = """
long = glassjax.jit(lambda x: x.max())
if rank:
    time.sleep(4)
print(float(step(x)), float(long(x)), float(step(x)))
"""
    done = run(processes, program, HEARTBEAT="3")
    assert [each.printed for each in done] == ["28.0 7.0 28.0\n"] * 2


def test_a_port_that_is_taken(processes):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        (zero,) = processes.run("", indices=(0,), port=port)
    assert zero.code == 1
    assert f"process 0 cannot serve at 127.0.0.1, port {port}: Address already in use" in zero.err


def test_a_port_that_another_job_has(processes):
    with reserved_port() as port:
        program = "print('serves'), sys.stdin.read()"
        first = processes.start(program, indices=(0,), count=1, port=port, stdin=subprocess.PIPE)
        processes.await_line("serves")
        processes.running = []
        (zero,) = processes.run("", indices=(0,), port=port)
        processes.running = first
    assert "Address already in use" in zero.err
    assert zero.code == 1


@pytest.mark.parametrize(
    ("fault", "message"),
    one_in(
        2,
        [
            ("os.kill(os.getpid(), signal.SIGKILL)", "process 1 (pid {pid}) was killed by SIGKILL"),
            ("raise ValueError('too hot')", "process 1 (pid {pid}) failed with exit code 1; its"),
            ("os.kill(os.getpid(), signal.SIGSTOP)", "process 1 did not come, or does not answer"),
            (
                "x @ jnp.ones(3)",
                "its last words were: glassjax_stage2.errors.ShapeMismatchError: matmul: axis 0",
            ),
        ],
    ),
)
def test_the_launcher_says_who_failed_first(processes, fault, message):
    program = f"""
print(f" pid {{os.getpid()}} ")
if rank == 1:
    {fault}
step(x)
time.sleep(60)
"""
    # What does not stop for SIGTERM is killed; before, processes have the time to say who failed.
    grace = "2" if "SIGSTOP" in fault else "30"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "glassjax.distributed.launch", "-n", "2", "--grace", grace),
            processes.program(STEP + program),
        ],
        env=environment(**BRIEF),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    codes = {"signal.SIGKILL": 137, "signal.SIGSTOP": 134}
    assert done.returncode == next((codes[name] for name in codes if name in fault), 1)
    pid = next(
        line.split(" pid ")[1].split()[0]
        for line in done.stdout.splitlines()
        if " pid " in line and line[1] == "1"
    )
    assert message.format(pid=pid) in done.stderr
