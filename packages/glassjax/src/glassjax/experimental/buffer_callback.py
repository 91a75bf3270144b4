"""Python callbacks that write their results into buffers, as `jax.experimental.buffer_callback`."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from glassjax.callbacks import io_callback, pure_callback, types_of_results
from glassjax_stage2 import ShapedArray, tree_flatten, tree_unflatten, typeof
from glassjax_stage2.arguments import require_function


class Buffer:
    """An array in the memory of the host, which numpy and DLPack can see without a copy.

    Attributes:
        writeable: whether it is a result, which the callback writes to.
    """

    def __init__(self, array: np.ndarray[Any, Any]):
        self._array = array

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes."""
        return self._array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the elements."""
        return self._array.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._array.ndim

    @property
    def writeable(self) -> bool:
        """True for a result, and False for an argument."""
        return bool(self._array.flags.writeable)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        if dtype is not None and dtype != self.dtype:
            return self._array.astype(dtype)
        return self._array.copy() if copy else self._array

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()

    def __repr__(self) -> str:
        return f"Buffer({self.dtype}{list(self.shape)})"


class ExecutionStage(enum.Enum):
    """The stages in which XLA calls functions; callbacks are called in the last."""

    INSTANTIATE = 0
    PREPARE = 1
    INITIALIZE = 2
    EXECUTE = 3


class ExecutionContext:
    """The circumstances of a call, the first argument of a callback."""

    @property
    def stage(self) -> ExecutionStage:
        """`ExecutionStage.EXECUTE`."""
        return ExecutionStage.EXECUTE

    @property
    def stream(self) -> int:
        """The stream of the GPU.

        Raises:
            RuntimeError: always, for callbacks run on the host here.
        """
        raise RuntimeError("ExecutionContext.stream: callbacks run on the host, without a stream")


def buffer_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *,
    has_side_effect: bool = False,
    vmap_method: str | None = None,
    input_output_aliases: Mapping[int, int] | None = None,
    command_buffer_compatible: bool = False,
) -> Callable[..., Any]:
    """Return a function of arrays that calls a Python function, which writes the results.

    Arguments:
        callback: a function of an `ExecutionContext`, a pytree of writeable `Buffer`s for the
            results, and the arguments, in which each array is a `Buffer`. It returns None.
        result_shape_dtypes: the types of the results: a pytree of anything with a shape and a
            dtype.
        has_side_effect: whether to call it exactly as often as the program does, even if the
            results are unused.
        vmap_method: the behaviour under vmap, as for `pure_callback`; with a side effect, one call
            per example.
        input_output_aliases: a dict from indices of arguments to indices of results, which start as
            copies of them; both count arrays.
        command_buffer_compatible: ignored; there are command buffers on GPUs only.

    Returns:
        A function of arrays and pytrees of arrays, which can be jitted, and mapped if there is a
        `vmap_method`. Until the callback writes to it, the contents of a result are undefined.

    Raises:
        TypeError: `callback` is not a function.
        ValueError: when called, an alias is out of range or joins different types, or it is
            differentiated.
        ExecutionError: when called, the callback raised an exception, or returned something.

    >>> from glassjax.experimental.buffer_callback import buffer_callback
    >>> import numpy as np
    >>> def add_one(ctx, out, x):
    ...     np.asarray(out)[...] = np.asarray(x) + 1
    >>> increased = buffer_callback(add_one, glassjax.ShapeDtypeStruct((2,), "float32"))
    >>> glassjax.jit(increased)(jnp.ones(2))
    Array([2., 2.], dtype=float32)
    """
    require_function("buffer_callback", callback)
    out_avals, out_tree = types_of_results("buffer_callback", result_shape_dtypes)
    aliases = {int(i): int(o) for i, o in (input_output_aliases or {}).items()}

    def buffer_function(*args: Any, **kwargs: Any) -> Any:
        leaves, _ = tree_flatten((args, kwargs))
        in_avals = [typeof(x) for x in leaves]
        _check_aliases(aliases, in_avals, out_avals)

        def on_host(*args: Any, **kwargs: Any) -> Any:
            operands, in_tree = tree_flatten((args, kwargs))
            arrays = [_read_only(x) for x in operands]
            # A mapped call has extra leading axes, of size 1 for an unmapped argument.
            batch = np.broadcast_shapes(
                *(x.shape[: x.ndim - aval.ndim] for x, aval in zip(arrays, in_avals, strict=True))
            )
            outs = [np.empty((*batch, *aval.shape), aval.dtype) for aval in out_avals]
            for i, o in aliases.items():
                outs[o][...] = arrays[i]
            given, by_name = tree_unflatten(in_tree, map(Buffer, arrays))
            found = callback(
                ExecutionContext(), tree_unflatten(out_tree, map(Buffer, outs)), *given, **by_name
            )
            if found is not None:
                raise ValueError(
                    f"buffer_callback: the callback must write to its results and return None, "
                    f"found {found!r}"
                )
            return tree_unflatten(out_tree, outs)

        types = tree_unflatten(out_tree, out_avals)
        if has_side_effect:
            return io_callback(on_host, types, *args, **kwargs)
        return pure_callback(on_host, types, *args, vmap_method=vmap_method, **kwargs)

    return buffer_function


def _read_only(x: Any) -> np.ndarray[Any, Any]:
    array = np.asarray(x).view()
    array.flags.writeable = False
    return array


def _check_aliases(aliases: dict[int, int], in_avals: list[Any], out_avals: Any) -> None:
    for i, o in aliases.items():
        for role, number, avals in (("argument", i, in_avals), ("result", o, out_avals)):
            if not 0 <= number < len(avals):
                raise ValueError(
                    f"buffer_callback: input_output_aliases has {role} {number}, but there are "
                    f"{len(avals)}"
                )
        given, wanted = (ShapedArray(x.shape, x.dtype) for x in (in_avals[i], out_avals[o]))
        if given != wanted:
            raise ValueError(
                f"buffer_callback: input_output_aliases joins argument {i} of type {given} and "
                f"result {o} of type {wanted}"
            )


__all__ = ["Buffer", "ExecutionContext", "ExecutionStage", "buffer_callback"]
