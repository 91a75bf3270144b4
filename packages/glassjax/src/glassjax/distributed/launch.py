"""A launcher of several processes on this machine: `python -m glassjax.distributed.launch`.

Each process gets its number and the address of process 0 in its environment, where
`glassjax.distributed.initialize()` finds them. When one fails, the others are terminated.
"""

import argparse
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from types import FrameType
from typing import IO, NamedTuple

from glassjax.distributed.runtime import ENDED_BY_ANOTHER, reserved_port
from glassjax.errors.tracebacks import NOTE

# The signals that end the launcher, and those that are only forwarded, if the system has them.
_NAMES_OF_ENDS, _NAMES_OF_OTHERS = (
    ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"),
    ("SIGUSR1", "SIGUSR2"),
)
_ENDS, _OTHERS = (
    [signal.Signals[name] for name in names if name in signal.Signals.__members__]
    for names in (_NAMES_OF_ENDS, _NAMES_OF_OTHERS)
)


class _End(NamedTuple):
    """The end of a process: its number, and its exit code, negative for a signal."""

    number: int
    code: int

    @property
    def is_consequence(self) -> bool:
        """True if it ended because another process failed, on its own or aborted by jaxlib."""
        return self.code in (ENDED_BY_ANOTHER, -signal.SIGABRT)


class _Worker:
    """A process, with threads that forward its output and wait for its end."""

    def __init__(
        self,
        index: int,
        command: Sequence[str],
        environment: dict[str, str],
        ends: "queue.SimpleQueue[_End]",
    ):
        self.index = index
        self.errors: deque[str] = deque(maxlen=64)  # the last lines that it wrote to stderr
        self.process = subprocess.Popen(
            command,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # so that its child processes can be terminated with it
            preexec_fn=_die_with_launcher(),
        )
        self.threads = [
            threading.Thread(target=self._pass_on, args=streams, daemon=True)
            for streams in (
                (self.process.stdout, sys.stdout.buffer, False),
                (self.process.stderr, sys.stderr.buffer, True),
            )
        ]
        self.threads.append(threading.Thread(target=self._wait, args=(ends,), daemon=True))
        for thread in self.threads:
            thread.start()

    def _pass_on(self, source: IO[bytes], target: IO[bytes], is_stderr: bool) -> None:
        prefix = f"[{self.index}] ".encode()
        for line, end in _lines_of(source):
            text = line.decode(errors="replace").strip()
            if is_stderr and end == b"\n" and text not in ("", NOTE):
                self.errors.append(text)
            with _printing, suppress(OSError):  # the reader may be gone
                target.write(prefix + line + end)
                target.flush()

    def _wait(self, ends: "queue.SimpleQueue[_End]") -> None:
        ends.put(_End(self.index, self.process.wait()))

    def signal(self, number: int) -> None:
        """Send a signal to the process and to those that it started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)

    def join(self) -> None:
        for thread in self.threads:
            thread.join(timeout=5)  # a pipe stays open if another process holds it


def _lines_of(source: IO[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """The lines that a process writes, with their line ends.

    A line that begins or ends with a carriage return, as in progress bars, is yielded at once.
    """
    rest, is_anew = b"", False
    while chunk := source.read1(1 << 16):  # type: ignore[attr-defined]
        *parts, rest = _LINE_END.split(rest + chunk)
        for line, end in zip(parts[::2], parts[1::2], strict=True):
            is_anew = end == b"\r"
            if line or not is_anew:
                yield line, b"\r" if is_anew else b"\n"
        if rest and is_anew:
            yield rest, b"\r"
            rest = b""
    if rest:
        yield rest, b"\n"


_LINE_END = re.compile(rb"(\r?\n|\r)")
_printing = threading.Lock()


def _die_with_launcher() -> Callable[[], object] | None:
    """A function that asks Linux to kill the calling process when its parent dies."""
    if sys.platform != "linux":
        return None
    import ctypes

    set_parent_death_signal, number = 1, int(signal.SIGKILL)
    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(set_parent_death_signal, number)


class _Launcher:
    """Starts the processes, and makes sure that none outlives the others.

    Arguments:
        command: the command that each process runs.
        count: the number of processes.
        environment: further environment variables.
        grace: seconds between asking a process to end and killing it.
    """

    def __init__(
        self, command: Sequence[str], count: int, environment: dict[str, str], grace: float
    ):
        self.command, self.count, self.grace = command, count, grace
        self.environment = environment
        self.signalled: int | None = None  # the signal that ends the launcher
        self.workers: list[_Worker] = []
        # Signals, each with the workers that received it: one may arrive while a worker starts.
        self.received: list[tuple[int, list[_Worker]]] = []

    def run(self, max_restarts: int) -> int:
        """Run the processes until all are done, again if one fails; return the exit code."""
        for number in [*_ENDS, *_OTHERS]:
            is_of_terminal = number == getattr(signal, "SIGHUP", None)
            if not (is_of_terminal and signal.getsignal(number) == signal.SIG_IGN):  # by `nohup`
                signal.signal(number, self._on_signal)
        for attempt in range(max_restarts + 1):
            with reserved_port() as port:
                code = self._run_once(attempt, f"127.0.0.1:{port}")
            if code == 0 or self.signalled is not None:
                break
            if attempt < max_restarts:
                _say(f"starting all processes again, {max_restarts - attempt} more times at most")
        return 128 + self.signalled if self.signalled is not None else code

    def _gpus(self, index: int) -> str:
        """The numbers of the GPUs that a process uses, if there are any."""
        count = int(self.environment.get("GLASSJAX_NUM_CPU_DEVICES", "1"))
        return ",".join(map(str, range(index * count, (index + 1) * count)))

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        again = self.signalled is not None and number in _ENDS
        if number in _ENDS:
            self.signalled = number
        self.received.append((number, [*self.workers]))
        for worker in self.workers:
            worker.signal(signal.SIGKILL if again else number)

    def _run_once(self, attempt: int, address: str) -> int:
        ends: queue.SimpleQueue[_End] = queue.SimpleQueue()
        self.workers = []
        try:
            for index in range(self.count):
                environment = {
                    "PYTHONUNBUFFERED": "1",
                    **self.environment,
                    "GLASSJAX_COORDINATOR_ADDRESS": address,
                    "GLASSJAX_NUM_PROCESSES": str(self.count),
                    "GLASSJAX_PROCESS_ID": str(index),
                    "GLASSJAX_LOCAL_DEVICE_IDS": self._gpus(index),
                    "GLASSJAX_RESTART_COUNT": str(attempt),
                }
                before = len(self.received)
                worker = _Worker(index, self.command, environment, ends)
                self.workers.append(worker)
                for number, sent_to in self.received[before:]:
                    if worker not in sent_to:
                        worker.signal(number)
            return self._supervise(ends)
        finally:
            for worker in self.workers:  # including child processes that a worker left behind
                worker.signal(signal.SIGKILL)
            for worker in self.workers:
                worker.join()

    def _supervise(self, ends: "queue.SimpleQueue[_End]") -> int:
        """Wait until all processes have ended; return the first failure's exit code."""
        ended: list[_End] = []
        deadline = None  # when the remaining processes are killed
        by_themselves: list[_End] | None = None  # failures before the others were terminated
        while len(ended) < self.count:
            with suppress(queue.Empty):
                ended.append(ends.get(timeout=0.1))
            failed = [each for each in ended if each.code != 0]
            if deadline is None and (failed or self.signalled is not None):
                deadline = time.monotonic() + self.grace
            if deadline is None:
                continue
            # A consequence may be reported before its cause.
            if by_themselves is None and (
                any(not each.is_consequence for each in failed) or time.monotonic() > deadline - 1
            ):
                by_themselves = failed
                self._signal_all(signal.SIGTERM, ended)
            if time.monotonic() > deadline:
                self._signal_all(signal.SIGKILL, ended)
                deadline += self.grace
        failed = [each for each in ended if each.code != 0]
        if not failed:
            return 0
        suspects = by_themselves or failed
        first = next((each for each in suspects if not each.is_consequence), suspects[0])
        if self.signalled is None:
            self._report(first, failed)
        return first.code if first.code > 0 else 128 - first.code

    def _signal_all(self, number: int, ended: Sequence[_End]) -> None:
        done = {each.number for each in ended}
        for worker in self.workers:
            if worker.index not in done:
                worker.signal(number)

    def _report(self, first: _End, failed: Sequence[_End]) -> None:
        worker = self.workers[first.number]
        worker.join()
        missed = _MISSED.search("\n".join(worker.errors))
        if first.is_consequence and missed:
            _say(
                f"process {missed[1]} did not come, or does not answer any more, and the others "
                "were ended because of it"
            )
            return
        if first.code > 0:
            outcome = f"failed with exit code {first.code}"
        else:
            outcome = f"was killed by {_signal_name(-first.code)}"
        exceptions = [line for line in [*worker.errors][-8:] if _EXCEPTION.match(line)]
        words = exceptions or [*worker.errors]
        last = f"; its last words were: {words[-1]}" if words else ""
        others = len(failed) - 1
        rest = "" if not others else f". {others} other{'s' * (others > 1)} ended because of it"
        _say(f"process {first.number} (pid {worker.process.pid}) {outcome}{last}{rest}")


# The line of a traceback with the exception.
_EXCEPTION = re.compile(r"[\w.]*(?:Error|Exception|Interrupt)\b")

# jaxlib's message when it ends a process because another one is missing.
_MISSED = re.compile(r"(?:stopped sending heartbeats\):|timed out task names:)\n(\d+)")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _say(text: str) -> None:
    with _printing, suppress(OSError):
        print(f"launch: {text}", file=sys.stderr, flush=True)


def _at_least(least: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        number = int(text)
        if number < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}, found {number}")
        return number

    parse.__name__ = "int"  # shown by argparse
    return parse


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the launcher with command-line arguments; return its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m glassjax.distributed.launch",
        description="Start a program in several processes on this machine, which find each other "
        "by glassjax.distributed.initialize().",
        epilog="When a process fails, the others are ended, and the exit code is that of the first "
        "that failed.",
    )
    add = parser.add_argument
    add("-n", "--num-processes", type=_at_least(1), default=2, help="how many processes; 2")
    add(
        "--devices-per-process",
        type=_at_least(1),
        help="how many GPUs each process uses, 1; without GPUs, how many virtual devices it has",
    )
    add("--max-restarts", type=_at_least(0), default=0, help="how often to start all again; 0")
    add(
        "--grace",
        type=float,
        default=10.0,
        help="seconds from asking a process to end to killing it; 10",
    )
    add("-m", "--module", action="store_true", help="the program is the name of a module")
    add("program", help="a Python file")
    add("arguments", nargs=argparse.REMAINDER, help="its arguments")
    given = parser.parse_args(arguments)
    if not given.module and not os.path.exists(given.program):
        parser.error(f"there is no file {given.program!r}")
    command = [sys.executable, *["-m"] * given.module, given.program, *given.arguments]
    environment = {}
    if given.devices_per_process is not None:
        environment["GLASSJAX_NUM_CPU_DEVICES"] = str(given.devices_per_process)
    launcher = _Launcher(command, given.num_processes, environment, given.grace)
    return launcher.run(given.max_restarts)


if __name__ == "__main__":
    sys.exit(main())
