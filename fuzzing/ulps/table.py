"""All functions that are measured, and the lines of the table that each gives."""

from dataclasses import dataclass
from pathlib import Path

import jax

import glassjax
from fuzzing.ulps.functions import LAX, NN, NUMPY, NUMPY_OF_TWO, SPECIAL
from fuzzing.ulps.measure import Line, measure

# Functions whose loops never end for some numbers, in JAX before 0.11.
_ENDLESS = {"scipy.special.exp1", "scipy.special.expi"} if jax.__version_info__ < (0, 11) else set()

FUNCTIONS = tuple(
    function
    for function in (*NUMPY, *NUMPY_OF_TWO, *LAX, *NN, *SPECIAL)
    if function.path not in _ENDLESS
)


@dataclass(frozen=True)
class Job:
    """A function, as its place among `FUNCTIONS`, in one dtype, and how it is measured."""

    index: int
    dtype: str
    count: int
    seed: int
    seconds: float
    orders: int
    cache: Path | None

    def lines(self) -> list[Line]:
        jax.config.update("jax_enable_x64", True)
        glassjax.config.update("jax_enable_x64", True)
        function = FUNCTIONS[self.index]
        options = {"count": self.count, "seed": self.seed, "seconds": self.seconds}
        return [
            measure(function, by, self.dtype, **options, cache=self.cache)
            for by in function.derivatives()
            if len(by) <= self.orders
        ]
