"""A Python callback inside a compiled program: the function, and its types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from minijax.primitives.loops import region
from minijax.primitives.varying import MeshAxis, index_text, manual_along_all
from minijax.runtime.array import Array, buffer_here
from minijax.runtime.conversion import is_value, to_array
from minijax.runtime.host_functions import NumberedFunction, call_text
from minijax.runtime.ordered_effects import TOKEN
from minijax.runtime.sharding_text import mesh_of_devices
from minijax.settings.number_types import set_number_types
from minijax.shardings.mesh import AbstractMesh
from minijax.xla.callbacks import callback_error
from minijax_stage1.interpreter import set_interpreter
from minijax_stage2 import ShapedArray, tree_flatten, tree_leaves
from minijax_stage2.errors import shown
from minijax_stage2.shaped_array import Dialect, dialect, numpys_dialect
from minijax_stage2.source import name_of, on_behalf_of
from minijax_stage2.tree import PyTreeDef
from minijax_stage3.array import new_buffer
from minijax_stage3.lowering import FunctionBuilder, Value, mlir_type, signature

Avals = tuple[ShapedArray, ...]


class Callback:
    """A user function that programs call on the host with Arrays.

    Arguments:
        caller: the function of this library that it was passed to.
        fun: the function.
        in_tree: the structure of the pair of its positional and keyword arguments.
        statics: the leaves of the arguments that are not arrays, with their positions.
        out_avals: the types of the results, or None if they are ignored.
    """

    def __init__(
        self,
        caller: str,
        fun: Callable[..., Any],
        in_tree: PyTreeDef,
        statics: tuple[tuple[int, Any], ...],
        returns: bool,
        numbers: Dialect,
    ):
        self.caller = caller
        self.fun = fun
        self.in_tree = in_tree
        self.statics = statics
        self.returns = returns
        self.numbers = numbers
        self._numbered: dict[Any, NumberedFunction] = {}

    def call(self, out_avals: Avals, arrays: Sequence[Array]) -> list[np.ndarray[Any, Any]]:
        """Call the function, as if nothing else were running.

        Raises:
            RuntimeError: it returns something other than it declared.
        """
        leaves: list[Any] = list(arrays)
        for position, static in self.statics:
            leaves.insert(position, static)
        args, kwargs = self.in_tree.unflatten(leaves)
        with set_interpreter(None), on_behalf_of(None), set_number_types(numpys_dialect):
            result = self.fun(*args, **kwargs)
        return self._checked(result, out_avals) if self.returns else []

    def _checked(self, result: Any, out_avals: Avals) -> list[np.ndarray[Any, Any]]:
        what = f"{self.caller}: `{name_of(self.fun)}`"
        leaves = tree_leaves(result)
        if len(leaves) != len(out_avals):
            raise RuntimeError(
                f"{what} returned {len(leaves)} arrays, and result_shape_dtypes says "
                f"{len(out_avals)}"
            )
        outs = []
        for number, (leaf, aval) in enumerate(zip(leaves, out_avals, strict=True)):
            out = np.asarray(leaf)
            dtype = self.numbers.in_memory(out.dtype)
            if dtype != aval.dtype or out.shape != aval.shape:
                raise RuntimeError(
                    f"{what} returned an array of dtype {out.dtype} and shape {out.shape} as "
                    f"result number {number}, and result_shape_dtypes says {aval}"
                )
            outs.append(out.astype(dtype, copy=False))
        return outs

    def evaluate(self, out_avals: Avals, operands: Sequence[Any]) -> list[Array]:
        """The results for concrete operands, without a program.

        Raises:
            ExecutionError: the function raised an exception, which is the cause.
        """
        try:
            outs = self.call(out_avals, [_argument(x) for x in operands])
        except Exception as error:
            failure = callback_error(self.caller, error)
        else:
            return [
                Array(new_buffer(x, aval), aval) for x, aval in zip(outs, out_avals, strict=True)
            ]
        raise failure

    def call_text(
        self,
        b: FunctionBuilder,
        out_avals: Sequence[ShapedArray],
        operands: Sequence[Value],
        has_effects: bool,
        has_token: bool = False,
    ) -> list[Value]:
        """Write a call; a token, if any, comes first in operands and results."""
        in_avals = tuple(x.aval for x in operands)
        key = in_avals, tuple(out_avals), has_token
        if key not in self._numbered:
            self._numbered[key] = NumberedFunction(partial(self._on_host, *key))
        write = partial(call_text, function=self._numbered[key], has_effects=has_effects)
        mesh = mesh_of_devices.get()
        if mesh is None or not has_effects:
            return write(b, operands=operands, out_avals=out_avals)
        if len(out_avals) > has_token:
            raise NotImplementedError(
                f"{self.caller}: `{self}` returns values in a shard_map over some axes of the "
                f"mesh, {mesh.manual_axes}: the devices along the others would each call it. Have "
                "shard_map map over all axes; or use pure_callback, which may be called often"
            )
        return _once_for_each_shard(b, mesh, operands, out_avals, write)

    def _on_host(
        self, in_avals: Avals, out_avals: Avals, has_token: bool, *operands: Any
    ) -> tuple[Any, ...]:
        """The function that a program calls, on numpy views of the program's memory."""
        arrays = [
            Array(new_buffer(x, aval), aval.strip_weak_type())
            for x, aval in zip(operands, in_avals, strict=True)
        ]
        outs = self.call(out_avals[has_token:], arrays[has_token:])
        return (*operands[:has_token], *outs)

    def __repr__(self) -> str:
        return name_of(self.fun)


def _once_for_each_shard(
    b: FunctionBuilder,
    mesh: AbstractMesh,
    operands: Sequence[Value],
    out_avals: Sequence[ShapedArray],
    write: Callable[..., Sequence[Value]],
) -> list[Value]:
    """Write a call by the first of the devices along axes left to the partitioner.

    The results are the first operands, tokens.
    """

    def by_first(b: FunctionBuilder, operands: Sequence[Value]) -> Sequence[Value]:
        number, is_one = ShapedArray((), np.int32), b.constant(True, TOKEN)
        for name in mesh.axis_names:
            if name not in mesh.manual_axes:
                index = index_text(b, MeshAxis(name, mesh, False), number)
                zero = b.constant(0, number)
                names, types = f"{index.name}, {zero.name}", signature([index, zero], [TOKEN])
                (is_zero,) = b.emit(f"stablehlo.compare EQ, {names} : {types}", TOKEN)
                text = f"stablehlo.and {is_one.name}, {is_zero.name} : {mlir_type(TOKEN)}"
                (is_one,) = b.emit(text, TOKEN)
        given = operands[: len(out_avals)]
        call = region(b, [], lambda _: write(b, operands=operands, out_avals=out_avals))
        rest = region(b, [], lambda _: given)
        text = f'"stablehlo.if"({is_one.name}) ({call}, {rest}) : {signature([is_one], out_avals)}'
        return b.emit(text, *out_avals)

    return manual_along_all(b, mesh, operands, out_avals, by_first)


def _argument(x: Any) -> Array:
    x = to_array(x)
    return Array(buffer_here(x, x.aval), x.aval.strip_weak_type())


# One for each function and way of calling it, so that programs that are traced anew, and are the
# same, have the same text.
_callbacks: WeakValueDictionary[Any, Callback] = WeakValueDictionary()


def callback_of(
    caller: str,
    fun: Callable[..., Any],
    args: Any,
    kwargs: Any,
    returns: bool,
    takes_statics: bool = False,
) -> tuple[Callback, list[Any]]:
    """The callback for a call, and its operands.

    Raises:
        TypeError: `fun` is not a function; or an argument is not an array, and `takes_statics` is
            false.
    """
    if not callable(fun):
        raise TypeError(f"{caller}: expected a function, found {shown(fun)}")
    leaves, in_tree = tree_flatten((args, kwargs))
    statics = tuple([(i, x) for i, x in enumerate(leaves) if not is_value(x)])
    if statics and not takes_statics:
        found = statics[0][1]
        raise TypeError(
            f"{caller}: arguments of `{name_of(fun)}` have to be arrays or numbers, found "
            f"{shown(found)} of type {type(found).__name__}; the function can close over it"
        )
    operands = [to_array(x) for x in leaves if is_value(x)]
    key = caller, fun, in_tree, statics, returns, dialect()
    try:
        callback = _callbacks.get(key)
    except TypeError:  # not hashable
        return Callback(*key), operands
    if callback is None:
        callback = _callbacks[key] = Callback(*key)
    return callback, operands
