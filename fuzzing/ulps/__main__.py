"""Prints the table: function, dtype, our largest error, JAX's, and the worst point.

Errors are in units in the last place of the exact value. A line fails where ours is larger than
JAX's by more than 2, or by more than a quarter of JAX's own; or where at an edge (zeros,
infinities, NaN, subnormal numbers, bounds) ours is neither as exact as JAX's nor JAX's number.
Lines that `table.py` gives a reason for are no failure of the run.
"""

import argparse
import os
import random
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from fuzzing.ulps.differences import DIFFERENCES
from fuzzing.ulps.measure import Line
from fuzzing.ulps.table import FUNCTIONS, Job

DTYPES = ("float16", "bfloat16", "float32", "float64")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="./noxw -s ulps --", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="functions with this in the name")
    parser.add_argument("--quick", action="store_true", help="400 points, and 2 s for each line")
    parser.add_argument("--count", type=int, help="points for each line, 10000 if not given")
    parser.add_argument("--seconds", type=float, help="for the exact values of a line at most")
    parser.add_argument("--seed", type=int, help="of the points; drawn and printed if not given")
    parser.add_argument("--orders", type=int, default=2, help="the highest derivative")
    parser.add_argument("--dtypes", default=",".join(DTYPES))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--bad", action="store_true", help="print what fails only")
    parser.add_argument("--cache", default=".ulps", help="the directory of exact values")
    parser.add_argument("--no-cache", action="store_true", help="keep no exact values")
    options = parser.parse_args(arguments)
    options.count = options.count or (400 if options.quick else 10_000)
    options.seconds = options.seconds or (2.0 if options.quick else 60.0)
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(10_000)
    print(f"--seed {options.seed} --count {options.count}")
    cache = None if options.no_cache else Path(options.cache)
    how = options.count, options.seed, options.seconds, options.orders, cache
    chosen = [
        Job(index, dtype, *how)
        for index, function in enumerate(FUNCTIONS)
        for dtype in function.dtypes
        if dtype in options.dtypes.split(",")
        and (not options.names or any(name in function.name for name in options.names))
    ]
    bad = explained = total = 0
    print(
        f"{'function':40} {'dtype':9} {'points':>6} {'ours':>9} {'JAX':>9}  worst point", flush=True
    )
    os.environ["GLASSJAX_ENABLE_COMPILATION_CACHE"] = "false"
    with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool:
        for lines in pool.map(Job.lines, chosen):
            for line in lines:
                total += 1
                reason = None if line.is_good else DIFFERENCES.get(line.name)
                explained += reason is not None
                bad += not line.is_good and reason is None
                if not (options.bad and (line.is_good or reason)):
                    print(text_of(line, reason), flush=True)
    print(f"{total} lines: {bad} worse than JAX's, {explained} differ for a reason")
    return 1 if bad else 0


def text_of(line: Line, reason: str | None) -> str:
    verdict = "" if line.is_good else f"  differs: {reason}" if reason else "  WORSE"
    where = ", ".join(f"{x:.9g}" for x in line.worst)
    out = (
        f"{line.name:40} {line.dtype:9} {line.count:6d} {line.ours:9.3g} {line.theirs:9.3g}  "
        f"{where}: {line.found:.9g}, JAX {line.expected:.9g}, exact {line.exact:.9g}{verdict}"
    )
    if line.note:
        out += f"\n    {line.note}"
    for point, ours, theirs, exact in line.edges[: 0 if reason else 6]:
        at = ", ".join(f"{x:.9g}" for x in point)
        out += f"\n    edge {at}: {ours:.9g}, JAX {theirs:.9g}, exact {exact:.9g}"
    if len(line.edges) > 6 and not reason:
        out += f"\n    and {len(line.edges) - 6} more edges"
    return out


if __name__ == "__main__":
    sys.exit(main())
