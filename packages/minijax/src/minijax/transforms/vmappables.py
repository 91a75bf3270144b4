"""Classes that `vmap` maps over by functions that their library registers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from minijax.runtime.conversion import tree_to_arrays
from minijax.runtime.wrapping import wraps
from minijax_stage1.interpreter import set_interpreter
from minijax_stage2 import current_trace
from minijax_stage2.errors import MappedAxisError, shown
from minijax_stage2.shaped_array import typeof
from minijax_stage2.tree import broadcast_prefix, tree_flatten, tree_leaves, tree_map
from minijax_stage2.vmap import BatchTrace, move_batch_dim


class Vmappable(NamedTuple):
    """The functions of one class; see `register_vmappable`."""

    spec_type: type
    axis_size_type: type
    to_elt: Callable[..., Any]
    from_elt: Callable[..., Any]
    make_iota: Callable[[Any], Any] | None


vmappables: dict[type, Vmappable] = {}


def register_vmappable(
    data_type: type,
    spec_type: type,
    axis_size_type: type,
    to_elt: Callable[..., Any],
    from_elt: Callable[..., Any],
    make_iota: Callable[[Any], Any] | None,
) -> None:
    """Have `vmap` map over the instances of a class as functions of its library say.

    Arguments:
        data_type: the class. Its instances are leaves for `vmap`, also if it is a pytree.
        spec_type: the type of their entries in `in_axes` and `out_axes`, such as int.
        axis_size_type: the type of the size of the mapped axis, such as int.
        to_elt: `to_elt(cont, get_idx, x, spec)` returns one example of `x`. `cont(part, spec)`
            gives that of a part, an array along an axis; `get_idx()` the index of the example.
        from_elt: `from_elt(cont, axis_size, element, spec)` returns the examples as one object.
            `cont(axis_size, part, spec)` gives that of a part.
        make_iota: returns the indices of the examples for a size of `axis_size_type`; None: ints.
    """
    vmappables[data_type] = Vmappable(spec_type, axis_size_type, to_elt, from_elt, make_iota)


def unregister_vmappable(data_type: type) -> None:
    """Of no effect, as in JAX: a class that was registered stays so."""


def _is_vmappable(x: Any) -> bool:
    return type(x) in vmappables


def _is_spec(x: Any) -> bool:
    return x is None or any(type(x) is each.spec_type for each in vmappables.values())


def _ints(axes: Any) -> Any:
    """Axes without specs of other types, which are of instances that are mapped here."""
    return tree_map(lambda x: x if isinstance(x, int) else None, axes, is_leaf=_is_spec)


class _Split:
    """A tree apart from the instances of registered classes in it.

    Attributes:
        rest: the tree, with None in their places.
        specs: for each instance its entry in the axes, which are for a prefix of the tree.
    """

    def __init__(self, tree: Any, axes: Any):
        self._leaves, self._tree = tree_flatten(tree, _is_vmappable)
        self._are_here = [*map(_is_vmappable, self._leaves)]
        marks = [_Mark() if is_here else 0 for is_here in self._are_here]
        found = broadcast_prefix(axes, self._tree.unflatten(marks), _is_spec)
        self.specs = [spec for spec, is_here in zip(found, self._are_here, strict=True) if is_here]
        self.rest = self._tree.unflatten(
            None if is_here else leaf
            for leaf, is_here in zip(self._leaves, self._are_here, strict=True)
        )

    @property
    def found(self) -> Iterator[tuple[Any, Any]]:
        """The instances, each with its spec."""
        return zip(filter(_is_vmappable, self._leaves), self.specs, strict=True)

    def join(self, instances: list[Any], rest: Any) -> Any:
        """The tree with others in the places of its parts."""
        first, second = iter(instances), iter(tree_leaves(rest))
        return self._tree.unflatten(
            next(first if is_here else second) for is_here in self._are_here
        )


class _Mark:
    """A leaf in the place of an instance."""


def map_vmappables(
    mapping: Callable[..., Any],
    fun: Callable[..., Any],
    in_axes: Any,
    out_axes: Any,
    axis_size: Any,
    args: Any,
    kwargs: Any,
) -> Any:
    """The result of `vmap` where arguments or results may be of registered classes.

    Arguments:
        mapping: `vmap` of functions of arrays: it takes the function, the axes and the size.
    """
    inputs = _Split((args, kwargs), (in_axes, 0))
    sizes = {_size(x, spec) for x, spec in inputs.found} - {None}
    if axis_size is None and len(sizes) == 1:
        (axis_size,) = sizes
    outputs: list[Any] = []

    @wraps(fun)
    def of_elements(*args: Any, **kwargs: Any) -> Any:
        trace: Any = current_trace()
        with set_interpreter(trace.parent):
            elements = [_element(trace, axis_size, x, spec) for x, spec in inputs.found]
        args, kwargs = inputs.join(elements, (args, kwargs))
        split = _Split(fun(*args, **kwargs), out_axes)
        with set_interpreter(trace.parent):
            found = [
                _examples(trace, axis_size or trace.axis.size, x, spec) for x, spec in split.found
            ]
        outputs[:] = split, found
        return split.rest

    rest_args, rest_kwargs = inputs.rest
    number = None if axis_size is None else int(axis_size)
    result = mapping(of_elements, _ints(in_axes), _ints(out_axes), number)(
        *rest_args, **rest_kwargs
    )
    split, found = outputs
    return split.join(found, result)


def _size(x: Any, spec: Any) -> Any:
    """The size of the mapped axis of an instance that has a shape; None if nothing says it."""
    shape = getattr(x, "shape", ())
    is_axis = isinstance(spec, int) and -len(shape) <= spec < len(shape)
    return shape[spec] if is_axis else None


def _element(trace: BatchTrace, axis_size: Any, x: Any, spec: Any) -> Any:
    """One example of an instance, or of an array."""

    @functools.cache
    def index() -> Any:
        size = trace.axis.size if axis_size is None else axis_size
        for each in vmappables.values():
            if each.make_iota and type(size) is each.axis_size_type:
                return trace.box(each.make_iota(size), 0)
        return trace.box(np.arange(trace.axis.size, dtype=np.int32), 0)

    def element(x: Any, spec: Any) -> Any:
        handlers = vmappables.get(type(x))
        if handlers:
            return handlers.to_elt(element, index, x, spec)
        if spec is None:
            return x
        if not isinstance(spec, int) or not -typeof(x).ndim <= spec < typeof(x).ndim:
            raise MappedAxisError(
                f"vmap: {shown(spec)} is not an axis of {typeof(x)}, a part of an argument that "
                "register_vmappable is about"
            )
        return trace.box(x, spec % typeof(x).ndim)

    return element(x, spec)


def _examples(trace: BatchTrace, axis_size: Any, x: Any, spec: Any) -> Any:
    """All examples as one instance, or as one array."""

    def examples(axis_size: Any, x: Any, spec: Any) -> Any:
        handlers = vmappables.get(type(x))
        if handlers:
            return handlers.from_elt(examples, axis_size, x, spec)
        (value,), (dim,) = trace.unbox([x])
        if spec is not None:
            return tree_to_arrays(move_batch_dim(value, trace.axis, dim, spec))
        if dim is not None:
            raise MappedAxisError(
                "vmap: out_axes is None for a part of a result, of a class that register_vmappable "
                "is about, that differs between examples. Give it an axis."
            )
        return value

    return examples(axis_size, x, spec)
