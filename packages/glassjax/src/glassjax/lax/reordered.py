"""`reshape` with the order of the axes as a parameter, for programs in JAX's form.

The primitive of the stages has no such parameter: `lax.reshape` transposes its operand.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from glassjax import lax
from glassjax.primitives.declare import declare, lower_by, types_by
from glassjax_stage2 import Primitive, bind1
from glassjax_stage2.vmap_rules import examples_first

reordered_p = Primitive("reshape")


def reordered(x: Any, dimensions: Sequence[int], new_sizes: Sequence[int]) -> Any:
    """The elements of `x`, read in the order `dimensions` of its axes, in another shape."""
    params = {"dimensions": tuple(dimensions), "new_sizes": tuple(new_sizes)}
    return bind1(reordered_p, x, **params)


def _in_two_steps(x: Any, *, dimensions: Sequence[int], new_sizes: Sequence[int]) -> list[Any]:
    return [lax.reshape(lax.transpose(x, dimensions), new_sizes)]


def _in_order(ct: Any, x: Any, *, dimensions: Sequence[int], new_sizes: Sequence[int]) -> Any:
    shape = [x.aval.shape[axis] for axis in dimensions]
    return lax.transpose(lax.reshape(ct, shape), np.argsort(dimensions).tolist())


declare(
    reordered_p,
    abstract_eval=types_by(_in_two_steps),
    lower=lower_by(_in_two_steps),
    vmap=examples_first(
        lambda x, n, dimensions, new_sizes: reordered(
            x, [0, *(axis + 1 for axis in dimensions)], [n, *new_sizes]
        )
    ),
    jvp=[lambda t, out, x, **params: bind1(reordered_p, t, **params)],
    transpose=[_in_order],
)
