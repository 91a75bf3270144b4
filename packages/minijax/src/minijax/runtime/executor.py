"""Calls of compiled programs: from the buffers of the arguments to the result."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from minijax import xla
from minijax.pytrees import structures
from minijax.pytrees.fast_flatten import fast_unflatten
from minijax.runtime import calls
from minijax.runtime.array import Array, PlacedArray
from minijax.runtime.tokens import abstract_token, result_of_type
from minijax_stage2 import ShapedArray
from minijax_stage2.tree import PyTreeDef
from minijax_stage3.array import to_buffer
from minijax_stage3.backend import Buffer, Executable
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
    known = known_program(compiled.executable, out_avals, out_tree, make, const_buffers)
    if known is not None:
        return known
    if structures.is_one_leaf(out_tree) and not consts:
        return xla.executor_of_one(compiled.executable, make, out_avals[0])

    unflatten = fast_unflatten(out_tree)

    def execute_to_tree(buffers: list[Buffer]) -> Any:
        return unflatten(map(make, execute([*const_buffers, *buffers]), out_avals))

    return execute_to_tree


def known_program(
    executable: Executable,
    out_avals: Sequence[ShapedArray],
    out_tree: PyTreeDef,
    make: Any,
    consts: Sequence[Buffer] = (),
) -> Executor | None:
    """The executor of the extension module; None: it is not there, or knows no such programs.

    Arguments:
        executable: the program, whose first arguments are `consts`.
        out_avals: the types of its results.
        out_tree: their structure.
        make: the class of its results.
    """
    if calls.compiled is None or make not in (Array, PlacedArray):
        return None
    if not xla.only_launches(executable):
        return None
    program: Executor = calls.compiled.Program(
        executable.launch, executable.handlers, out_avals,
        None if structures.is_one_leaf(out_tree) else fast_unflatten(out_tree), consts,
        executable.failure, executable.collect_garbage, make is PlacedArray,
    )  # fmt: skip
    return program


def donation_of(execute: Executor, donated: Sequence[int], reason: Callable[[], object]) -> Any:
    """The program of the extension module that deletes arguments; None: it is not there, or none.

    Arguments:
        execute: the program.
        donated: the numbers of the arguments that it deletes.
        reason: returns why they are deleted, at the call.
    """
    if calls.compiled is None or type(execute) is not calls.compiled.Program:
        return None
    return calls.compiled.Donation(execute, donated, reason)


def call_with_number(
    execute: Executor,
    avals: Sequence[ShapedArray],
    classes: Sequence[type | None],
    otherwise: Callable[[Any, Any], Any],
) -> Callable[[Any, Any], Any]:
    """The call of a program on an Array and a Python number, in either order, as in `x * 2`.

    Arguments:
        execute: the executor of the program.
        avals: the types of both arguments.
        classes: the class of that which is a number, and None for the other.
        otherwise: given arguments and keyword arguments, the call where the number does not fit.
    """
    is_second = classes[0] is None
    aval = avals[is_second]
    buffer_of = lru_cache(maxsize=64)(lambda number: to_buffer(number, aval))
    has_signed_zeros = float in classes  # though they are equal

    def call(x: Any, y: Any) -> Any:
        number, array = (y, x) if is_second else (x, y)
        try:
            keeps = number or not has_signed_zeros
            on_device = buffer_of(number) if keeps else to_buffer(number, aval)
        except OverflowError:
            return otherwise((x, y), {})
        return execute([array.buffer, on_device] if is_second else [on_device, array.buffer])

    return call
