"""Registering classes as containers, in all of JAX's ways."""

import dataclasses
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from operator import attrgetter
from typing import Any, TypeVar

from minijax.errors.tracebacks import hiding_frames
from minijax.pytrees.keys import (
    DictKey,
    FlattenedIndexKey,
    FlattenWithKeys,
    GetAttrKey,
    keyed_classes,
    keys_by_example,
)
from minijax_stage2 import tree
from minijax_stage2.errors import shown

Flatten = Callable[[Any], tuple[Iterable[Any], Any]]
Unflatten = Callable[[Any, tuple[Any, ...]], Any]
Class = TypeVar("Class", bound=type[Any])


@hiding_frames
def register_pytree_node(
    nodetype: type[Any],
    flatten_func: Flatten,
    unflatten_func: Unflatten,
    flatten_with_keys_func: FlattenWithKeys | None = None,
) -> None:
    """Make the instances of a class inner nodes of trees (JAX's function of that name).

    Arguments:
        nodetype: the class; its subclasses are not registered with it.
        flatten_func: `flatten_func(node) -> (children, aux_data)`. `aux_data` holds everything that
            is not a child: it is compared when structures are, and should be hashable.
        unflatten_func: `unflatten_func(aux_data, children) -> node`, the inverse. The
            children may be any objects, so it should not check or convert them.
        flatten_with_keys_func: `flatten_with_keys_func(node) -> (pairs, aux_data)` with a
            pair of key and child for each child, for readable key paths.

    Raises:
        ValueError: the class is already registered.

    >>> class Point:
    ...     def __init__(self, x, y):
    ...         self.x, self.y = x, y
    >>> minijax.tree_util.register_pytree_node(
    ...     Point, lambda p: ((p.x, p.y), None), lambda _, xy: Point(*xy)
    ... )
    >>> minijax.tree.leaves([Point(1, 2), 3])
    [1, 2, 3]
    """
    flatten = _checked(nodetype, flatten_func)
    if flatten_with_keys_func is None:
        _register(nodetype, flatten, unflatten_func)
    else:
        keys = keys_by_example(unflatten_func, flatten_with_keys_func)
        _register(nodetype, flatten, unflatten_func, keys)
        keyed_classes[nodetype] = flatten_with_keys_func


def _register(
    nodetype: type[Any],
    flatten: Flatten,
    unflatten: Unflatten,
    keys: Callable[[Any, int], Iterable[Any]] = lambda _, n: map(FlattenedIndexKey, range(n)),
) -> None:
    if not isinstance(nodetype, type):
        raise TypeError(f"only a class can be registered as a tree node, got {nodetype!r}")
    tree.register_pytree_node(nodetype, flatten, unflatten, keys)


def _checked(nodetype: type[Any], flatten: Flatten) -> Flatten:
    """The same function, which says what is wrong with its result.

    C++ calls the function itself: what is wrong there is found by flattening the tree again.
    """

    def checked(node: Any) -> tuple[Iterable[Any], Any]:
        pair = flatten(node)
        if not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[0], Iterable):
            raise ValueError(
                f"the flatten function of the tree node {nodetype.__name__} must return a pair "
                f"(children, aux_data) with an iterable of children, found {shown(pair)}"
            )
        return pair

    checked.unchecked = flatten  # type: ignore[attr-defined]
    return checked


@hiding_frames
def register_pytree_with_keys(
    nodetype: type[Any],
    flatten_with_keys: FlattenWithKeys,
    unflatten_func: Unflatten,
    flatten_func: Flatten | None = None,
) -> None:
    """Register a class by a flattening function that returns each child with its key.

    Arguments:
        nodetype: the class.
        flatten_with_keys: `flatten_with_keys(node) -> (pairs of key and child, aux_data)`.
        unflatten_func: `unflatten_func(aux_data, children) -> node`.
        flatten_func: the same without keys, `flatten_func(node) -> (children, aux_data)`,
            if that is faster than dropping the keys.

    Raises:
        ValueError: the class is already registered.

    >>> from minijax.tree_util import *
    >>> class Pair:
    ...     def __init__(self, low, high):
    ...         self.low, self.high = low, high
    >>> def flatten_with_keys(pair):
    ...     return [(GetAttrKey("low"), pair.low), (GetAttrKey("high"), pair.high)], None
    >>> register_pytree_with_keys(Pair, flatten_with_keys, lambda _, children: Pair(*children))
    >>> [(keystr(path), leaf) for path, leaf in tree_leaves_with_path({"p": Pair(1, 2)})]
    [("['p'].low", 1), ("['p'].high", 2)]
    """

    def drop_keys(node: Any) -> tuple[Iterable[Any], Any]:
        pairs, aux_data = flatten_with_keys(node)
        return [child for _, child in pairs], aux_data

    register_pytree_node(nodetype, flatten_func or drop_keys, unflatten_func, flatten_with_keys)


@hiding_frames
def register_pytree_node_class(cls: Class) -> Class:
    """Register a class by its methods; a decorator.

    The class has `tree_flatten(self) -> (children, aux_data)` and a class method
    `tree_unflatten(cls, aux_data, children) -> node`.

    Returns:
        The class itself.

    Raises:
        ValueError: the class is already registered.

    >>> @minijax.tree_util.register_pytree_node_class
    ... class Scaled:
    ...     def __init__(self, value, unit):
    ...         self.value, self.unit = value, unit
    ...     def tree_flatten(self):
    ...         return [self.value], self.unit
    ...     @classmethod
    ...     def tree_unflatten(cls, unit, children):
    ...         return cls(*children, unit)
    >>> minijax.tree.map(lambda x: 2 * x, Scaled(1.5, "m")).value
    3.0
    """
    if not hasattr(cls, "tree_flatten") or not hasattr(cls, "tree_unflatten"):
        raise TypeError(
            "register_pytree_node_class: the class must have the methods tree_flatten and "
            f"tree_unflatten, found {cls!r}"
        )
    register_pytree_node(cls, lambda node: node.tree_flatten(), cls.tree_unflatten)
    return cls


@hiding_frames
def register_pytree_with_keys_class(cls: Class) -> Class:
    """Register a class by its methods, with keys; a decorator.

    The class has `tree_flatten_with_keys(self) -> (pairs of key and child, aux_data)`, a
    class method `tree_unflatten(cls, aux_data, children) -> node`, and may have
    `tree_flatten(self) -> (children, aux_data)` as the faster way without keys.

    Returns:
        The class itself.

    Raises:
        ValueError: the class is already registered.

    >>> from minijax.tree_util import *
    >>> @register_pytree_with_keys_class
    ... class Span:
    ...     def __init__(self, low, high):
    ...         self.low, self.high = low, high
    ...     def tree_flatten_with_keys(self):
    ...         return [(GetAttrKey("low"), self.low), (GetAttrKey("high"), self.high)], None
    ...     @classmethod
    ...     def tree_unflatten(cls, aux_data, children):
    ...         return cls(*children)
    >>> [keystr(path) for path, leaf in tree_leaves_with_path(Span(1, 2))]
    ['.low', '.high']
    """
    if not hasattr(cls, "tree_flatten_with_keys") or not hasattr(cls, "tree_unflatten"):
        raise TypeError(
            "register_pytree_with_keys_class: a class must have the methods "
            f"tree_flatten_with_keys and tree_unflatten, found {shown(cls)}"
        )
    register_pytree_with_keys(
        cls,
        lambda node: node.tree_flatten_with_keys(),
        cls.tree_unflatten,
        (lambda node: node.tree_flatten()) if hasattr(cls, "tree_flatten") else None,
    )
    return cls


@hiding_frames
def register_dataclass(
    nodetype: Class,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> Class:
    """Register a dataclass, or a class like one: some fields are children, others structure.

    Arguments:
        nodetype: the class. It is rebuilt by a call with the fields of both kinds as keyword
            arguments.
        data_fields: names of the fields that are children.
        meta_fields: names of the fields that are structure; their values should be hashable. Give
            both, or, for a dataclass, neither: then the fields with `field(metadata={"static":
            True})` are meta fields, and all others data fields.
        drop_fields: names of fields to drop from the tree; they need a default.

    Returns:
        The class itself, so that this serves as a decorator.

    Raises:
        TypeError: only one of the two is given, or neither for a class that is not a dataclass.
        ValueError: the names do not match the fields that `__init__` takes, a field is of both
            kinds, or the class is already registered.

    >>> from dataclasses import dataclass, field
    >>> @minijax.tree_util.register_dataclass
    ... @dataclass
    ... class Layer:
    ...     weight: float
    ...     name: str = field(metadata={"static": True}, default="dense")
    >>> minijax.tree.leaves(Layer(0.5))
    [0.5]
    """
    if (data_fields is None) != (meta_fields is None):
        raise TypeError("register_dataclass: give both data_fields and meta_fields, or neither")
    is_dataclass = dataclasses.is_dataclass(nodetype)
    if data_fields is None or meta_fields is None:
        if not is_dataclass:
            raise TypeError(
                f"register_dataclass: {nodetype!r} is not a dataclass, so data_fields and "
                "meta_fields must say what its fields are"
            )
        fields = [f for f in dataclasses.fields(nodetype) if f.name not in drop_fields]
        data_fields = [f.name for f in fields if not f.metadata.get("static", False)]
        meta_fields = [f.name for f in fields if f.metadata.get("static", False)]
    data, meta = tuple(data_fields), tuple(meta_fields)
    if both := sorted({*data} & {*meta}):
        raise ValueError(
            f"register_dataclass: fields of {nodetype!r} cannot be data and meta, found {both} in "
            "data_fields and in meta_fields"
        )

    if is_dataclass:
        init = {f.name for f in dataclasses.fields(nodetype) if f.init} - set(drop_fields)
        if missing := sorted(init - {*data, *meta}):
            raise ValueError(
                f"register_dataclass: {nodetype!r} has the fields {missing}, which are named "
                "neither in data_fields nor in meta_fields; name them there or in drop_fields"
            )
        if unexpected := sorted({*data, *meta} - init):
            raise ValueError(
                f"register_dataclass: the constructor of {nodetype!r} does not take the fields "
                f"{unexpected}; name them in drop_fields if they are fields with init=False"
            )

    children_of, aux_data_of = _attributes(data), _attributes(meta)

    def flatten(node: Any) -> tuple[Iterable[Any], Hashable]:
        return children_of(node), aux_data_of(node) if meta else ()

    def unflatten(aux_data: Any, children: tuple[Any, ...]) -> Any:
        return nodetype(
            **dict(zip(data, children, strict=True)), **dict(zip(meta, aux_data, strict=True))
        )

    _register(nodetype, flatten, unflatten, lambda *_: map(GetAttrKey, data))
    return nodetype


def _attributes(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """The values of these attributes; `attrgetter` gives a tuple of two or more."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda node: tuple([getattr(node, name) for name in names])


@hiding_frames
def register_static(cls: Class) -> Class:
    """Register a class whose instances have no leaves and are all structure.

    Instances should be hashable and comparable. Serves as a decorator.

    Returns:
        The class itself.

    Raises:
        ValueError: the class is already registered.

    >>> @minijax.tree_util.register_static
    ... class Unit(str):
    ...     pass
    >>> minijax.tree.leaves({"length": 3.0, "unit": Unit("m")})
    [3.0]
    """
    _register(cls, lambda node: ([], node), lambda node, _: node)
    return cls


_register(
    OrderedDict,
    lambda node: (node.values(), tuple(node)),
    lambda keys, children: OrderedDict(zip(keys, children, strict=True)),
    lambda keys, _: map(DictKey, keys),
)


def _flatten_defaultdict(node: defaultdict[Any, Any]) -> tuple[Iterable[Any], Any]:
    values, keys = tree.registry[dict].flatten(node)
    return values, (node.default_factory, keys)


_register(
    defaultdict,
    _flatten_defaultdict,
    lambda data, children: defaultdict(data[0], zip(data[1], children, strict=True)),
    lambda data, _: map(DictKey, data[1]),
)
