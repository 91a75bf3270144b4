"""Checks that all processes run the same programs and put the same values on their devices.

XLA would not notice: processes that launch different programs wait for each other for a long time,
or mistake each other's numbers for their own.
"""

import hashlib
import itertools
import json
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from glassjax import xla
from glassjax_stage2.source import user_source

Device = Any


def processes_of(devices: Sequence[Device]) -> list[int]:
    """The numbers of the processes that have these devices."""
    return sorted({device.process_index for device in devices})


class SharedProgram:
    """A program of several processes, which wait for each other in it.

    Arguments:
        devices: its devices.
        described: its name and the types of its arguments.
        text: the program.
        sizes: the numbers of elements of its results.
    """

    def __init__(
        self,
        joined: xla.Coordination,
        devices: Sequence[Device],
        described: str,
        text: str,
        sizes: Sequence[int],
    ):
        self.joined = joined
        # A launch refers to this result until it is computed, and keeps its memory so long.
        self.watched = sizes.index(min(sizes)) if sizes else None  # the smallest
        self.processes = processes_of(devices)
        self.described = described
        numbers = str([device.id for device in devices])
        self.key = hashlib.blake2b((numbers + text).encode(), digest_size=16).hexdigest()

    def synchronize(self) -> None:
        """Wait until all processes reach the first launch of the program.

        Raises:
            RuntimeError: a process does something else, has ended, or does not arrive in time.
        """
        source = user_source()
        where = "" if source is None else f" at {source}"
        _share_texts(
            self.joined, self.processes, f"program/{self.key}", "", f"run {self.described}{where}"
        )

    def launch(self, execute: Callable[[Any], Sequence[Any]], buffers: Sequence[Any]) -> Any:
        """The results of the program, recorded as running until they are computed."""
        number = launches.numbers[self.key] = launches.numbers.get(self.key, 0) + 1
        group = str(self.processes)
        count, history = launches.history.get(group, (0, 0))
        # A polynomial in 31: the same programs in another order give another hash.
        launches.history[group] = count + 1, (31 * history + int(self.key[:8], 16)) % 2**61
        launch = _Launch(self, number)
        _ = launches.current  # drops finished ones
        launches.begun.append(launch)
        try:
            results = execute(buffers)
        except BaseException:
            launch.has_returned = True
            raise
        launch.result = None if self.watched is None else results[self.watched]
        launch.has_returned = True
        return results


class _Launch:
    """A launch of a program, by its number.

    On several devices, the call that launches a program returns before the results are computed,
    and the process waits where it first needs one.
    """

    def __init__(self, program: SharedProgram, number: int):
        self.program, self.number = program, number
        self.has_returned = False
        self.result: Any = None

    @property
    def is_over(self) -> bool:
        # Without a result to ask, a launch is over when its call has returned.
        if self.result is None or xla.is_deleted(self.result):
            return self.has_returned
        try:
            return xla.is_ready(self.result)
        except RuntimeError:  # deleted in the meantime
            return True


class _Launches:
    """The launches of shared programs by this process.

    Attributes:
        begun: launches not known to have finished, in order.
        numbers: how often each program was launched, by its key.
        history: for each group of processes, the number of launches, and a hash of their order.
    """

    def __init__(self) -> None:
        self.begun: deque[_Launch] = deque()
        self.numbers: dict[str, int] = {}
        self.history: dict[str, tuple[int, int]] = {}

    @property
    def current(self) -> _Launch | None:
        """The first unfinished launch, which this process waits for, or will."""
        with suppress(IndexError, ValueError):  # another thread may drop them, too
            while (first := self.begun[0]).is_over:
                self.begun.remove(first)
            return first
        return None

    def as_text(self) -> str:
        """The record, for other processes."""
        return json.dumps({"numbers": dict(self.numbers), "history": dict(self.history)})


launches = _Launches()


def shared_program(
    devices: Sequence[Device], described: str, text: str, sizes: Sequence[int]
) -> SharedProgram | None:
    """The program as a shared one, or None if all its devices belong to one process."""
    joined = xla.coordination()
    if joined is None or len(processes_of(devices)) == 1:
        return None
    return SharedProgram(joined, devices, described, text, sizes)


class Watch:
    """Compares a launch that takes long with what other processes wait for.

    Used by a thread of its own, not by the one that launches.
    """

    def __init__(self, joined: xla.Coordination):
        self.joined = joined
        self.key = f"running/{joined.index}"
        self.looks = 0  # at the running launch
        self.launch: _Launch | None = None
        self.others = _BlockedProcesses()

    def conflict(self) -> str | None:
        """The reason why the launch that this process waits for will not end, if known."""
        joined, launch = self.joined, launches.current
        if launch is None or launch is not self.launch:
            if self.looks:
                joined.delete(self.key)
            self.launch, self.looks = launch, 0
            return None
        self.looks += 1
        program, number = launch.program, launch.number
        purpose = f"run {program.described}"
        # `look` grows while this process waits. Others thereby tell a process that is stuck from
        # one that has not yet had time to go on (`_Waiting`).
        record = {
            "key": program.key,
            "number": number,
            "purpose": purpose,
            "processes": program.processes,
            "numbers": dict(launches.numbers),
            "look": self.looks,
        }
        joined.set(self.key, json.dumps(record))
        done, blocked = joined.process_texts("done"), self.others.now(joined)
        for index in program.processes:
            other = json.loads(done[index]) if index in done else blocked.get(index)
            if index == joined.index or other is None:
                continue
            if other["numbers"].get(program.key, 0) < number and launches.current is launch:
                why = _reason(joined, index, done, blocked)
                if why is not None:
                    return (
                        f"process {joined.index} is to {purpose}, which needs all processes, and "
                        f"{why}. {_REMEDY}"
                    )
        return None


class _BlockedProcesses:
    """Finds processes that wait for others and make no progress between checks."""

    def __init__(self) -> None:
        self.first: dict[int, Any] = {}  # by process, the first record of its running launch

    def now(self, joined: xla.Coordination) -> dict[int, Any]:
        """The records of the processes that wait, by number."""
        found, first = {}, {}
        for index, text in joined.process_texts("running").items():
            record = json.loads(text)
            before = self.first.get(index, record)
            is_same = (before["key"], before["number"]) == (record["key"], record["number"])
            first[index] = before if is_same else record
            if is_same and before["look"] < record["look"]:
                found[index] = record
        self.first = first
        for index, text in joined.process_texts("waiting").items():
            found[index] = json.loads(text)
        return found


def _reason(
    joined: xla.Coordination, index: int, done: Mapping[int, str], blocked: Mapping[int, Any]
) -> str | None:
    """The reason why a process will not come: it has finished, or waits for something else."""
    if index in done:
        return f"{joined.described(index)} is done"
    other = blocked.get(index)
    if other is None or joined.index not in other["processes"] or _is_done_here(joined, other):
        return None
    return f"{joined.described(index)} is to {other['purpose']}"


def _is_done_here(joined: xla.Coordination, other: Any) -> bool:
    """Return True if this process has done its part of the launch that another one waits for."""
    if "number" in other:
        return launches.numbers.get(other["key"], 0) >= int(other["number"])
    return joined.index in joined.process_texts(other["key"])


def require_same_history(joined: xla.Coordination) -> None:
    """Raise a RuntimeError if other processes launched other shared programs than this one."""
    for index, text in joined.process_texts("done").items():
        theirs = json.loads(text)["history"]
        for group, mine in launches.history.items():
            # JSON makes lists of tuples
            if index in json.loads(group) and theirs.get(group) != [*mine]:
                count = theirs.get(group, [0])[0]
                raise RuntimeError(
                    f"process {joined.index} and {joined.described(index)} did not run the same "
                    f"programs, {mine[0]} and {count} in number, so that numbers may be wrong. "
                    f"{_REMEDY}"
                )


_REMEDY = (
    "All processes of an array must run the same operations on it, in the same order and of the "
    "same shapes."
)


def require_same_value(devices: Sequence[Device], described: str, x: np.ndarray[Any, Any]) -> None:
    """Wait until all processes of the devices have a value, and compare them.

    Raises:
        ValueError: the values differ.
        RuntimeError: a process does something else, has ended, or does not come in time.
    """
    joined = xla.coordination()
    processes = processes_of(devices)
    if joined is None or len(processes) == 1:
        return
    group = hashlib.blake2b(str(processes).encode(), digest_size=8).hexdigest()
    number = next(_numbers[group])
    digest = hashlib.blake2b(np.ascontiguousarray(x).tobytes(), digest_size=16).hexdigest()
    mine = f"{x.dtype}{list(x.shape)} {digest}"
    texts = _share_texts(joined, processes, f"value/{group}/{number}", mine, described)
    # All processes have published this value, so none still reads the previous one.
    if number:
        joined.delete(f"value/{group}/{number - 1}/{joined.index}")
    for index, text in texts.items():
        if text != mine:
            theirs = text.split()[0]
            found = f"a {mine.split()[0]}" + (f", theirs a {theirs}" if theirs not in mine else "")
            raise ValueError(
                f"{described}: the value differs from the one in {joined.described(index)}, and "
                f"all processes must pass the same; this is {found}. For an array of different "
                "parts, use make_array_from_process_local_data."
            )


_numbers: defaultdict[str, Iterator[int]] = defaultdict(itertools.count)


def _share_texts(
    joined: xla.Coordination, processes: Sequence[int], key: str, text: str, purpose: str
) -> dict[int, str]:
    """Publish a text, and wait for the other processes' texts; return all of them."""
    seconds = joined.timeouts.initialization
    end = time.monotonic() + seconds
    joined.set(f"{key}/{joined.index}", text)
    found = joined.process_texts(key)
    missing = [index for index in processes if index not in found]
    if not missing:
        return found
    record = {
        "key": key,
        "processes": list(processes),
        "purpose": purpose,
        "numbers": dict(launches.numbers),
    }
    joined.set(f"waiting/{joined.index}", json.dumps(record))
    # seconds; the pause grows to 0.2 s, so losses are looked for about every 2 s
    others, pause, looks = _BlockedProcesses(), 0.02, 0
    try:
        while missing:
            joined.get(f"{key}/{missing[0]}", pause)
            # Read before the texts: a process may have finished because it has found them all.
            done, blocked = joined.process_texts("done"), others.now(joined)
            found = joined.process_texts(key)
            missing = [index for index in processes if index not in found]
            if not missing:
                break
            reasons = [_reason(joined, index, done, blocked) for index in missing]
            obstacle = next(filter(None, reasons), None)
            if obstacle is None and looks % 10 == 9:
                obstacle = "; ".join(joined.losses()) or None
            if obstacle is None and time.monotonic() > end:
                names = ", ".join(map(joined.described, missing))
                obstacle = f"{names} did not arrive within {seconds} s"
            if obstacle is not None:
                raise RuntimeError(
                    f"process {joined.index} is to {purpose}, which needs all processes, and "
                    f"{obstacle}. {_REMEDY}"
                )
            pause, looks = min(0.2, 2 * pause), looks + 1
    finally:
        joined.delete(f"waiting/{joined.index}")
    return found
