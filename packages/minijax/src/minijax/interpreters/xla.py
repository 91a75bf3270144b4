"""Evaluation of a primitive by compiling it, under the name of `jax.interpreters.xla`."""

from typing import Any

import numpy as np

from minijax.primitives.methods import as_result
from minijax.runtime.array import to_array
from minijax.runtime.evaluation import evaluated_by_library
from minijax.runtime.program import call, compile_primitive
from minijax.xla.clients import client_class
from minijax_stage2 import Primitive, typeof

Backend = client_class()

# Functions that convert values of a class on their way into a program. Entries are of no effect:
# a class counts as an array once `core.pytype_aval_mappings` knows its type.
canonicalize_dtype_handlers = dict.fromkeys(
    [np.ndarray, np.generic, bool, int, float, complex], to_array
)


@evaluated_by_library
def apply_primitive(prim: Primitive, *args: Any, **params: Any) -> Any:
    """Compile a primitive by its lowering rule, and run it.

    Arguments:
        prim: the primitive.
        args: its operands.
        params: its parameters.

    Returns:
        Its result, or a list of them if it has `multiple_results`.

    Raises:
        MissingRuleError: it has no lowering rule.
    """
    in_avals = tuple(map(typeof, args))
    return as_result(prim, list(call(compile_primitive(prim, in_avals, params), args)))


__all__ = ["Backend", "apply_primitive", "canonicalize_dtype_handlers"]
