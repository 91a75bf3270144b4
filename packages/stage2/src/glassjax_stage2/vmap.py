"""Vectorization: an interpreter whose values hold one example per index of an axis."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from glassjax_stage1.interpreter import set_interpreter
from glassjax_stage2.arguments import FlatFunction, argument_names, require_function
from glassjax_stage2.errors import MappedAxisError, shown
from glassjax_stage2.functions import broadcast_in_dim, canonical_axis, moveaxis
from glassjax_stage2.shaped_array import ShapedArray, dialect, typeof, typeof_named
from glassjax_stage2.source import name_of, on_behalf_of, user_source
from glassjax_stage2.trace import Params, Primitive, Rules, Trace
from glassjax_stage2.tracer import Tracer
from glassjax_stage2.tree import broadcast_prefix, tree_flatten, tree_leaves, tree_unflatten

vmap_rules = Rules("vmap", "vmap_rules")

BatchDim = int | None  # the batch axis of a value; None: shared by all examples
Dims = Sequence[BatchDim]


@dataclass(frozen=True)
class BatchAxis:
    """The axis along which the examples of a batch lie.

    >>> import numpy as np
    >>> axis = BatchAxis(3)
    >>> axis.batch(ShapedArray((2,), "float32"), 0), axis.broadcast(2.0, 0)
    (ShapedArray(f32[3,2]), array([2., 2., 2.]))
    """

    size: int

    def batch(self, example: ShapedArray, dim: BatchDim) -> ShapedArray:
        """The type of a batch of examples of a type."""
        return example if dim is None else example.with_axis(dim, self.size)

    def example(self, batch: ShapedArray, dim: BatchDim) -> ShapedArray:
        """The type of one example of a batch of a type."""
        return batch if dim is None else batch.without_axis(dim)

    def broadcast(self, x: Any, dim: int) -> Any:
        """`x` repeated for all examples."""
        aval = self.batch(typeof(x), dim)
        return broadcast_in_dim(x, aval.shape, [i for i in range(aval.ndim) if i != dim])


class BatchTracer(Tracer):
    """One value per example, stacked along the axis `batch_dim` of an array."""

    interpreter: "BatchTrace"

    def __init__(self, trace: "BatchTrace", value: Any, batch_dim: int):
        self.interpreter = trace
        self.source = user_source()
        self.value = value
        self.batch_dim = batch_dim

    @property
    def aval(self) -> ShapedArray:  # type: ignore[override]
        return self.interpreter.axis.example(typeof(self.value), self.batch_dim)

    def why_unknown(self) -> str:
        trace = self.interpreter
        return (
            f"vmap maps `{trace.function_name}` over {trace.axis.size} examples at once: "
            f"there is one value of type {self.aval} for each of them"
        )


class BatchTrace(Trace):
    """Computes with all examples at once. Other values are constants, shared by all of them."""

    transformation = "vmap"
    tracer = BatchTracer

    def __init__(self, axis: BatchAxis, f: Any = None):
        super().__init__(f)
        self.axis = axis

    def process(self, primitive: Primitive, args: Sequence[Any], params: Params) -> list[Any]:
        values, dims = self.unbox(args)
        if dims.count(None) == len(dims):
            return self.leave_to_parent(primitive, args, params)  # type: ignore[no-any-return]
        with on_behalf_of(user_source()), set_interpreter(self.parent):
            outs, out_dims = vmap_rules[primitive](self.axis, values, dims, **params)
            return [self.box(out, dim) for out, dim in zip(outs, out_dims, strict=True)]

    def box(self, value: Any, dim: BatchDim) -> Any:
        return value if dim is None else self.tracer(self, value, dim)

    def unbox(self, args: Iterable[Any]) -> tuple[list[Any], list[BatchDim]]:
        """The arrays that hold the examples of values, and their batch axes."""
        values, dims = [], []
        for x in args:
            is_own = isinstance(x, BatchTracer) and x.interpreter is self
            values.append(x.value if is_own else x)
            dims.append(x.batch_dim if is_own else None)
        return values, dims


def vmap_flat(
    f: Callable[..., Sequence[Any]], values: Sequence[Any], dims: Dims, axis: BatchAxis, name: Any
) -> tuple[list[Any], list[BatchDim]]:
    """`vmap` of a function of arrays that returns a list, without moving result axes.

    Arguments:
        f: function of arrays that returns a list of arrays.
        values: its arguments.
        dims: the batch axis of each argument; None if it has none.
        axis: the batch axis, with its size.
        name: the name of the function, for messages.

    Returns:
        The results, and the batch axis of each.

    >>> import numpy as np
    >>> vmap_flat(lambda x, y: [x * y], [np.arange(3.0), 2.0], [0, None], BatchAxis(3), "double")
    ([array([0., 2., 4.])], [0])
    """
    trace: BatchTrace = dialect().interpreter(BatchTrace)(axis, name)
    with trace.run():
        outs = f(*(trace.box(x, dim) for x, dim in zip(values, dims, strict=True)))
    return trace.unbox(outs)


def move_batch_dim(x: Any, axis: BatchAxis, source: BatchDim, destination: int) -> Any:
    """`x` with its batch axis at `destination`, broadcast if it has none.

    Arguments:
        x: the array.
        axis: the batch axis, with its size.
        source: its position in `x`; None if it has none.
        destination: its position in the result.

    >>> move_batch_dim(2.0, BatchAxis(3), None, 0)
    array([2., 2., 2.])
    """
    if source is None:
        return axis.broadcast(x, destination)
    return moveaxis(x, source, destination)


def vmap(
    fun: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0, axis_size: int | None = None
) -> Callable[..., Any]:
    """Map `fun` over an axis of its arguments, as one batched program.

    Arguments:
        fun: function of arrays and pytrees of arrays.
        in_axes: the axis to map for each positional argument: an int for all of them, or a
            tuple with an int, None (not mapped, whatever it is) or a pytree prefix for each.
            Keyword arguments are mapped along axis 0.
        out_axes: the position of the mapped axis in each result: an int, None (only for results
            that are the same for all examples), or a pytree prefix of the result.
        axis_size: the size of the mapped axis, required if no argument is mapped.

    Returns:
        A function of arguments with an additional axis at `in_axes`, whose results have an
        additional axis at `out_axes`.

    Raises:
        MappedAxisError: sizes of the mapped axes differ (the message lists argument, shape and
            axis), an argument has no such axis, or nothing is mapped.
        ValueError: `out_axes` is out of range for a result.
        TreeMismatchError: `in_axes` is not a prefix of the arguments, or `out_axes` of the result.

    >>> import numpy as np
    >>> vmap(lambda x, y: x @ y, in_axes=(0, None))(np.eye(2), np.array([3.0, 4.0]))
    array([3., 4.])
    """
    require_function("vmap", fun)

    def mapped(*args: Any, **kwargs: Any) -> Any:
        dims, size = mapped_axes("vmap", fun, in_axes, axis_size, args, kwargs)
        return vmap_call(fun, args, kwargs, dims, BatchAxis(size), out_axes)

    mapped.__name__ = name_of(fun)
    return mapped


def vmap_call(
    fun: Callable[..., Any], args: Any, kwargs: Any, dims: Dims, axis: BatchAxis, out_axes: Any
) -> Any:
    """The result of `vmap(fun, ...)` for arguments, with the batch axes `dims` of their leaves."""
    leaves, in_tree = tree_flatten((args, kwargs))
    flat_fun = FlatFunction(fun, in_tree, has_kwargs=True)
    outs, out_dims = vmap_flat(flat_fun, leaves, dims, axis, fun)
    role, result = f"vmap of `{name_of(fun)}`", tree_unflatten(flat_fun.out_tree, outs)
    placed = []
    wanted = axes_of_leaves(f"{role}: out_axes", out_axes, result, "result")
    for out, dim, destination in zip(outs, out_dims, wanted, strict=True):
        place = axis_of_result(role, out, dim, destination)
        placed.append(out if place is None else move_batch_dim(out, axis, dim, place))
    return tree_unflatten(flat_fun.out_tree, placed)


def mapped_axes(
    caller: str, fun: Any, in_axes: Any, axis_size: int | None, args: Any, kwargs: Any
) -> tuple[list[BatchDim], int]:
    """The mapped axis of each leaf of the arguments, and the common size.

    Arguments:
        caller: the transformation, for messages.
        fun: the function to map.
        in_axes: the axes, as for `vmap`.
        axis_size: the size, if given.
        args: the positional arguments.
        kwargs: the arguments by keyword.
    """
    role = f"{caller} of `{name_of(fun)}`"
    if not isinstance(axis_size, int | None):
        raise TypeError(f"{role}: axis_size must be an int, found {shown(axis_size)}")
    axes = axes_of_leaves(f"{role}: in_axes", in_axes, args, "args")
    axes += [0] * len(tree_leaves(kwargs))
    rows: list[Any] = [] if axis_size is None else [("axis_size", "", "", axis_size)]
    leaves = zip(argument_names(fun, args, kwargs), tree_leaves((args, kwargs)), strict=True)
    for i, (label, leaf) in enumerate(leaves):
        axis = axes[i]
        if axis is None:  # need not be an array: `fun` gets it unchanged
            continue
        aval = typeof_named(f"{role}: {label}", leaf)
        if not -aval.ndim <= axis < aval.ndim:
            raise MappedAxisError(
                f"{role}: {label} of type {aval} has no axis {axis} to map over. Give it None in "
                "in_axes where it is the same for all examples."
            )
        axes[i] = axis % aval.ndim
        rows.append((label, str(aval.shape), axes[i], aval.shape[axis]))
    sizes = {size for *_, size in rows}
    if len(sizes) != 1:
        problem = "mapped axes differ in size" if sizes else "nothing is mapped"
        table = [("argument", "shape", "axis", "size"), *rows]
        lines = "\n".join(f"    {a:<20} {b:<14} {c!s:<5} {d}" for a, b, c, d in table)
        raise MappedAxisError(
            f"{caller}: {problem}\n{lines}\n  in call of `{name_of(fun)}` at {user_source()}\n"
            "Give in_axes an axis for at least one argument, all of one size, and None for those "
            "that are not mapped; or give axis_size."
        )
    return axes, sizes.pop()


def axes_of_leaves(role: str, axes: Any, tree: Any, name: str) -> list[BatchDim]:
    """The axis for each leaf of a tree, from a prefix `axes`."""
    prefix = f"{role}, a prefix of {name}"
    found = broadcast_prefix(axes, tree, is_leaf=lambda x: x is None, name=prefix)
    for axis in found:
        if isinstance(axis, bool) or not isinstance(axis, int | None):
            raise TypeError(f"{role} must hold ints and None, found {shown(axis)}")
    return found


def axis_of_result(role: str, out: Any, dim: BatchDim, axis: BatchDim) -> BatchDim:
    """The mapped axis of a result, from `out_axes`; `dim` is its current batch axis."""
    if axis is not None:
        return canonical_axis(f"{role}: out_axes", axis, typeof(out).ndim + (dim is None))
    if dim is not None:
        raise MappedAxisError(
            f"{role}: out_axes is None for a result that differs between examples. Give out_axes "
            "an int there, the axis along which to stack them."
        )
    return None
