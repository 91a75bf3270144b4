"""Exact values: mpmath with as many digits as it takes, and what was computed before.

A value is kept as the sum of two float64 numbers, exact to 100 bits, and NaN where there is none.
"""

import contextlib
import gc
import hashlib
import os
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from mpmath import mp, mpf

from fuzzing.ulps.functions import Function
from fuzzing.ulps.jets import Undefined
from fuzzing.ulps.points import Points

PRECISIONS = (110, 230, 480, 1000, 2200, 4600)  # bits, until two of them agree
AGREEING = 75  # bits
LONGEST = 0.5  # seconds of this process's time for one value: a busy machine loses none


class TimeIsUp(Exception):
    pass


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """End the block by `TimeIsUp` after seconds of processor time; in the main thread only."""

    is_running = True

    def end(*_: object) -> None:
        if is_running:  # else the block has just ended
            raise TimeIsUp

    before = signal.signal(signal.SIGVTALRM, end)
    collects = gc.isenabled()
    gc.disable()  # what is raised inside a callback of the garbage collector is lost
    # Again and again, for the same is true of the functions that end objects.
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, 0.1)
    try:
        yield
    finally:
        is_running = False
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        if collects:
            gc.enable()


def exact_value(function: Function, by: Sequence[int], args: Sequence[float]) -> mpf | None:
    """The value of a derivative at a point; None where it has none.

    Raises:
        TimeIsUp: it takes too long.
    """
    if not all(np.isfinite(args)):
        return None
    before = None
    try:
        with at_most(LONGEST):
            for precision in PRECISIONS:
                with mp.workprec(precision):
                    found = mpf(function.exactly(by, [mpf(float(x)) for x in args]))
                    if mp.isnan(found):
                        return None
                    if before is not None and _agree(before, found):
                        return found
                    before = found
                if found == mp.inf or found == -mp.inf:
                    return found
            if found == 0:  # to all precisions
                return found
    except (Undefined, ArithmeticError, ValueError, TypeError, mp.NoConvergence):
        return None
    return None


def _agree(x: mpf, y: mpf) -> bool:
    return y != 0 and abs(x - y) <= abs(y) * mpf(2) ** -AGREEING


NO_TIME = (np.nan, np.nan)  # kept, too: what took too long will again


def as_pair(number: mpf | None) -> tuple[float, float]:
    if number is None:
        return np.nan, 0.0
    high = float(number)
    return high, float(number - high) if np.isfinite(high) else 0.0


class Exactly:
    """The exact values of one derivative, kept in a directory from run to run."""

    def __init__(
        self, function: Function, by: Sequence[int], dtype: str, directory: Path | None
    ) -> None:
        self.function, self.by = function, by
        text = f"{function.name} {by} {dtype}"
        name = hashlib.sha256(text.encode()).hexdigest()[:16]
        self.file = directory and directory / f"{name}.npy"
        self.known: dict[tuple[float, ...], tuple[float, float]] = {}
        if self.file and self.file.exists():
            for row in np.load(self.file):
                self.known[tuple(row[:-2])] = (row[-2], row[-1])

    def at(self, points: Points, seconds: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values as sums of two, and for which of the points there was time."""
        end = time.process_time() + seconds
        columns = [x.astype(np.float64) for x in points]
        wanted = list(zip(*(c.tolist() for c in columns), strict=True))
        for i in np.random.default_rng(0).permutation(len(wanted)):
            if wanted[i] not in self.known and time.process_time() < end:
                try:
                    pair = as_pair(exact_value(self.function, self.by, wanted[i]))
                except TimeIsUp:
                    pair = NO_TIME
                self.known[wanted[i]] = pair
        pairs = np.array([self.known.get(args, NO_TIME) for args in wanted]).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1], ~np.isnan(pairs[:, 1])

    def keep(self) -> None:
        if self.file:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            rows = [[*args, *pair] for args, pair in self.known.items()]
            draft = self.file.with_suffix(f".{os.getpid()}.npy")
            np.save(draft, np.array(rows))
            draft.replace(self.file)
