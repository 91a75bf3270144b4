"""The table of mutants matches the sources; `./noxw -s mutants` runs them."""

import re

from fuzzing.mutants import Mutant, every_mutant, problems


def test_each_mutant_breaks_one_place_of_the_sources():
    mutants = every_mutant().values()
    wrong = problems(mutants)
    wrong += [x.name for x in mutants if not re.match(r"packages/\w+/src/", x.file) or not x.tests]
    assert not wrong, "\n".join(wrong)
    some = next(iter(mutants))
    for unfit, why in [
        (some._replace(text="no such text"), "0 times"),
        (some._replace(text="\n"), "times"),
        (some._replace(becomes=some.text), "changes nothing"),
        (some._replace(becomes=")"), "unmatched"),
        (some._replace(file="packages/glassjax/src/none.py"), "none.py"),
        (some._replace(tests=("tests/test_none.py",)), "there is no tests/test_none.py"),
    ]:
        assert isinstance(unfit, Mutant)
        (problem,) = problems([unfit])
        assert why in problem
