"""Twins: runs of six lines of code that stand in more than one place of the library.

python -m tools.twins            the pairs of places that share most
python -m tools.twins --write    records how many there are
python -m tools.twins --check    fails if there are more than recorded
"""

import ast
import json
import sys
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "packages/glassjax/src/glassjax"
FILE = Path(__file__).with_suffix(".json")
LENGTH = 6  # lines of a twin
SHOWN = 30  # pairs of files


class Place(NamedTuple):
    file: str
    first: int
    last: int


def code_lines(file):
    """The lines of a module that are code, with their numbers: no imports, docstrings, comments."""
    text = file.read_text(encoding="utf-8")
    left_out = set()
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Expr(ast.Constant(str())):
                left_out.update(range(node.lineno, node.end_lineno + 1))
    for number, line in enumerate(text.splitlines(), 1):
        code = line.strip()
        if code and not code.startswith("#") and number not in left_out:
            yield number, code


def twins():
    """For each run of code that stands in several places, these places."""
    places = defaultdict(list)
    for file in sorted(SOURCES.rglob("*.py")):
        lines, name = list(code_lines(file)), str(file.relative_to(SOURCES))
        for i in range(len(lines) - LENGTH + 1):
            run = lines[i : i + LENGTH]
            places["\n".join(code for _, code in run)].append(Place(name, run[0][0], run[-1][0]))
    return [found for found in places.values() if len(found) > 1]


def count(found):
    return sum(len(places) - 1 for places in found)


def worst(found):
    """The pairs of files, each with how many runs they share and where the longest stand."""
    shared = defaultdict(list)
    for places in found:
        for one, other in pairwise(places):
            shared[one.file, other.file].append((one, other))
    return sorted(shared.items(), key=lambda item: -len(item[1]))


def longest(pairs):
    """The longest stretch of code of a pair of files that overlapping runs cover."""
    stretches = []
    for one, other in pairs:
        if (
            stretches
            and one.first <= stretches[-1][0].last
            and other.first <= stretches[-1][1].last
        ):
            a, b = stretches[-1]
            stretches[-1] = a._replace(last=one.last), b._replace(last=other.last)
        else:
            stretches.append((one, other))
    return max(stretches, key=lambda pair: pair[0].last - pair[0].first)


def main(arguments):
    found = twins()
    number = count(found)
    if arguments == ["--write"]:
        FILE.write_text(json.dumps({"twins": number}) + "\n", encoding="utf-8")
        return None
    for _, pairs in worst(found)[:SHOWN]:
        shown = (f"{file}:{first}-{last}" for file, first, last in longest(pairs))
        print(f"{len(pairs):4} runs, as {' ~ '.join(shown)}")
    recorded = json.loads(FILE.read_text(encoding="utf-8"))["twins"]
    print(f"{number} twins of {LENGTH} lines, {recorded} recorded")
    if arguments == ["--check"] and number > recorded:
        return "There are more twins than before: write once what stands twice."
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
