"""Calls of compiled programs: from the buffers of the arguments to the result."""

from collections.abc import Callable, Sequence
from typing import Any

from minijax import xla
from minijax.pytrees.fast_flatten import fast_unflatten
from minijax.runtime.array import Array
from minijax.runtime.tokens import abstract_token, result_of_type
from minijax_stage2.tree import PyTreeDef
from minijax_stage3.array import to_buffer
from minijax_stage3.backend import Buffer
from minijax_stage3.executable import CompiledJaxpr

Executor = Callable[[list[Any]], Any]  # from the buffers of the arguments to the result


def executor(
    compiled: CompiledJaxpr,
    consts: Sequence[Any],
    out_tree: PyTreeDef,
) -> Executor:
    """The function that executes a compiled jaxpr on the buffers of its non-constant arguments.

    It is made once for each program, so that a call does as little as possible.
    """
    execute, out_avals = compiled.execute, compiled.out_avals
    const_buffers = [to_buffer(x, aval) for x, aval in zip(consts, compiled.in_avals, strict=False)]
    make = result_of_type if abstract_token in out_avals else Array
    if out_tree.num_nodes == 1 == len(out_avals) and not consts:
        return xla.executor_of_one(compiled.executable, make, out_avals[0])

    unflatten = fast_unflatten(out_tree)

    def execute_to_tree(buffers: list[Buffer]) -> Any:
        return unflatten(map(make, execute([*const_buffers, *buffers]), out_avals))

    return execute_to_tree
