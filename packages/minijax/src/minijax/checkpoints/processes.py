"""The processes that write one checkpoint together.

The first creates its directory and the arrays in it, each writes its shards, and the first
completes it when all have. If one of them fails, none completes it, and all say why.
"""

import json
import os
from collections import defaultdict
from pathlib import Path

from minijax import xla

_attempts: dict[int, int] = defaultdict(int)  # at saving each step
_finished: list[str] = []  # keys of earlier meetings


class Meeting:
    """The words of processes about a checkpoint; a process alone says nothing.

    Arguments:
        step: the step.
        seconds: how long to wait for another process.
    """

    def __init__(self, step: int, seconds: float):
        joined = xla.coordination()
        self.joined = None if joined is None or joined.count == 1 else joined
        self.leads = self.joined is None or self.joined.index == 0
        self.seconds = seconds
        _attempts[step] += 1
        self.key = f"checkpoint/{step}/{_attempts[step]}"

    def begin(self, digest: str, directory: Path | None) -> Path:
        """The directory, which the first process made for a checkpoint of this digest.

        Raises:
            RuntimeError: another process saves something else, failed or does not come; the
                directory cannot be seen from here.
        """
        joined = self.joined
        if joined is None:
            assert directory is not None
            return directory
        if directory is not None:
            word = {"digest": digest, "directory": os.fspath(directory)}
            joined.set(f"{self.key}/begin", json.dumps(word))
            return directory
        text = joined.get(f"{self.key}/begin", self.seconds)
        if text is None:
            raise RuntimeError(f"{joined.described(0)} did not save in {self.seconds} s")
        word = json.loads(text)
        if "problem" in word:
            raise RuntimeError(f"{joined.described(0)}: {word['problem']}")
        if word["digest"] != digest:
            raise RuntimeError(
                "the tree has other leaves, types or shardings than in process 0; all processes "
                "save the same step of the same tree"
            )
        found = Path(word["directory"])
        if not found.is_dir():
            raise RuntimeError(
                f"{found}, which process 0 made, is not there: the directory must be on a file "
                "system that all processes share"
            )
        return found

    def wait_for_parts(self) -> None:
        """Wait, in the first process, until all have written their shards.

        Raises:
            RuntimeError: one failed, or does not come.
        """
        if self.joined is not None:
            for index in range(1, self.joined.count):
                self._hear(index, f"{self.key}/part/{index}")
            for key in _finished:  # all have heard how the ones before ended
                self.joined.delete(key)
            _finished[:] = [self.key]

    def part_is_written(self) -> None:
        """Tell the first process that this one has written its shards, and wait for the end.

        Raises:
            RuntimeError: another process failed.
        """
        if self.joined is not None:
            self.joined.set(f"{self.key}/part/{self.joined.index}", "")
            self._hear(0, f"{self.key}/end")

    def _hear(self, index: int, key: str) -> None:
        assert self.joined is not None
        problem = self.joined.get(key, self.seconds)
        if problem is None:
            problem = f"has not written its shards in {self.seconds} s"
        if problem:
            raise RuntimeError(f"{self.joined.described(index)}: {problem}")

    def end(self, problem: str = "") -> None:
        """Tell the other processes that this one is done, or failed."""
        if self.joined is None:
            return
        if not self.leads:
            if problem:
                self.joined.set(f"{self.key}/part/{self.joined.index}", problem)
            return
        if problem:
            self.joined.set(f"{self.key}/begin", json.dumps({"problem": problem}))
        self.joined.set(f"{self.key}/end", problem)
