"""Types of results: each public function on weak and strong arguments, compared with JAX.

`python -m fuzzing.result_types --draws 2` draws calls of every function, and makes each argument in
turn, and all at once, a number of Python, an array of such, or one of numpy. Nothing is computed:
what it compares are shapes, dtypes and weak types of what calls give. `--under grad,vmap` tries
what these transformations make of the calls.
"""

import argparse
import math
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from fuzzing.search.arguments import Arguments, Input, kind_of, literal
from fuzzing.search.choices import Choices
from fuzzing.search.programs import Program
from fuzzing.search.recipes import RECIPES
from fuzzing.search.worker import Worker

MOST_PROGRAMS = 4000  # for a process: little is compiled that it would keep

NUMBERS = {"f": 1.0, "i": 1, "u": 1, "b": True, "c": complex(1.0, 0.0)}
ARRAY = re.compile(r'(?P<module>jnp|np)\.(?:array|zeros)\((?P<of>.*), "(?P<dtype>\w+)"\)')
NUMBER = re.compile(r"(?:jnp\.asarray\()?(?P<number>-?[\d.e+-]+|True|False|complex\(.*?\))\)?")


def drawn(name: str, seed: str) -> Program:
    """A call of a function, its arguments drawn; nothing is made of what it gives."""
    choices = Choices(random.Random(f"{seed}/{name}"))
    arguments = Arguments(choices, x64=choices.below(4) == 3)
    call = RECIPES[name](arguments, name)
    return Program(tuple(arguments.inputs), (call,), (name,), ("eval_shape",), arguments.x64)


def other_types(given: Input) -> Iterator[str]:
    """The sources of an argument of other types, of which the first two are weak.

    What is no number and no array of numbers has none.
    """
    if found := NUMBER.fullmatch(given.source):
        number = found["number"]
        yield from (number, f"jnp.asarray({number})", f"jnp.array(np.asarray({number}))")
    elif found := ARRAY.fullmatch(given.source):
        of = eval(found["of"], {"nan": math.nan, "inf": math.inf})
        dtype = found["dtype"]
        shape = of if "zeros(" in given.source else shape_of(of)
        if shape:
            number = literal(NUMBERS[kind_of(dtype)])
            yield from (f"jnp.full({shape}, {number})",) * 2
        else:
            yield from (literal(of), f"jnp.asarray({literal(of)})")
            if dtype != "bfloat16":
                yield f"np.{dtype.replace('bool', 'bool_')}({literal(of)})"
        if shape and dtype != "bfloat16":
            other = "np" if found["module"] == "jnp" else "jnp"
            yield other + given.source.removeprefix(found["module"])


def shape_of(values: object) -> tuple[int, ...]:
    return (len(values), *shape_of(values[0])) if isinstance(values, list) else ()


def variants(program: Program) -> list[Program]:
    """The program, and those that differ from it in the types of one argument, or of all."""
    others = [list(other_types(each)) for each in program.inputs]
    changes = [{i: source} for i, sources in enumerate(others) for source in sources]
    changes += [{i: sources[n] for i, sources in enumerate(others) if sources} for n in (0, 1)]
    return list(dict.fromkeys(with_sources(program, change) for change in [{}, *changes]))


def with_sources(program: Program, by_place: dict[int, str]) -> Program:
    inputs = tuple(
        replace(each, source=by_place.get(i, each.source)) for i, each in enumerate(program.inputs)
    )
    return replace(program, inputs=inputs)


def main(args: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="result_types", description=__doc__)
    parser.add_argument("--draws", type=int, default=2, help="how many calls of each function")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--functions", default="", help="a pattern of the names to call")
    parser.add_argument("--under", default="", help="transformations to try, each in turn")
    chosen = parser.parse_args(args)
    names = [name for name in RECIPES if re.search(chosen.functions, name)]
    worker = Worker(MOST_PROGRAMS)
    count, found = 0, Counter[tuple[str, str]]()
    for name in names:
        for draw in range(chosen.draws):
            for variant in variants(drawn(name, f"{chosen.seed}/{draw}")):
                for transformation in chosen.under.split(","):
                    under = (*filter(None, [transformation]), *variant.transformations)
                    program = replace(variant, transformations=under)
                    count += 1
                    difference = worker.outcome(program).difference
                    if difference is None:
                        continue
                    found[name, difference.kind] += 1
                    if found[name, difference.kind] == 1:
                        print(f"--- {difference.kind}: {program}\n{difference.detail}\n")
                        print(program.source, flush=True)
    worker.close()
    print(f"{count} programs of {len(names)} functions, {found.total()} differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
