"""Pytrees, under the names of `jax.tree_util`."""

from __future__ import annotations

import dataclasses
import functools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, TypeVar

import glassjax_stage2 as stage2
from glassjax.errors.tracebacks import hiding_frames
from glassjax.settings.names import counted, list_public_names, not_given
from glassjax.xla import trees
from glassjax.xla.trees import compose, fast_registry, fast_treedef
from glassjax_stage2 import tree
from glassjax_stage2.errors import TreeMismatchError, shown
from glassjax_stage2.tree import (
    IsLeaf,
    KeyPath,
    PyTreeDef,
    broadcast_prefix,
    explain_mismatch,
    find_node_type,
    registry,
)

# Keys: the steps from the root of a tree to a leaf, as objects.
#
# The paths of stage 2 are strings; programs that use paths need their keys and indices.


@dataclass(frozen=True, slots=True)
class SequenceKey:
    """A position in a list or tuple, written `[0]`.

    >>> glassjax.tree_util.keystr((SequenceKey(0),))
    '[0]'
    """

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"


@dataclass(frozen=True, slots=True)
class DictKey:
    """A key of a dict, written `['a']`.

    >>> glassjax.tree_util.keystr((DictKey("a"),))
    "['a']"
    """

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"


@dataclass(frozen=True, slots=True)
class GetAttrKey:
    """An attribute, such as a field of a namedtuple, written `.name`.

    >>> glassjax.tree_util.keystr((GetAttrKey("name"),))
    '.name'
    """

    name: str

    def __str__(self) -> str:
        return f".{self.name}"


@dataclass(frozen=True, slots=True)
class FlattenedIndexKey:
    """A child of a node without keys, written `[<flat index 0>]`.

    >>> glassjax.tree_util.keystr((FlattenedIndexKey(0),))
    '[<flat index 0>]'
    """

    key: int

    def __str__(self) -> str:
        return f"[<flat index {self.key!r}>]"


FlattenWithKeys = Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]]

# `flatten_with_keys(node) -> (pairs of key and child, aux_data)` of classes that define keys.
keyed_classes: dict[type[Any], FlattenWithKeys] = {}


def children_with_keys(node: Any) -> list[tuple[Any, Any]]:
    """The children of a node, each with its key."""
    cls = type(node)
    if cls in keyed_classes:
        return [(key, child) for key, child in keyed_classes[cls](node)[0]]
    found, aux_data = find_node_type(cls).flatten(node)
    children = tuple(found)
    return list(zip(_child_keys(cls, aux_data, len(children)), children, strict=True))


def _child_keys(cls: Any, aux_data: Any, num_children: int) -> Iterable[Any]:
    if cls is list or cls is tuple:
        return map(SequenceKey, range(num_children))
    if cls is dict:
        return map(DictKey, aux_data)
    if cls not in registry:  # a namedtuple
        return map(GetAttrKey, cls._fields)
    keys = registry[cls].keys(aux_data, num_children)
    # a class that was registered in stage 2 has only texts
    return [FlattenedIndexKey(i) if isinstance(key, str) else key for i, key in enumerate(keys)]


def keys_by_example(unflatten: Callable[..., Any], flatten_with_keys: FlattenWithKeys) -> Any:
    """The function `keys` of a node type, from the keys of a node of placeholders.

    Messages need it where only the structure of a tree is known.
    """

    def keys(aux_data: Any, num_children: int) -> list[Any]:
        try:
            pairs, _ = flatten_with_keys(unflatten(aux_data, (object(),) * num_children))
            found = [key for key, _ in pairs]
        except Exception:  # the class checks its children
            found = []
        is_whole = len(found) == num_children
        return found if is_whole else [*map(FlattenedIndexKey, range(num_children))]

    return keys


# Operations on pytrees that interpreters do not need: paths as text, folds, transposition.


@hiding_frames
def keystr(keys: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """Write a key path as Python code that reaches the leaf (`jax.tree_util.keystr`).

    Arguments:
        keys: the path, as from `tree_flatten_with_path`. Keys of any other type are written with
            `str`.
        simple: write the bare index, key or name, without brackets, quotes and dots.
        separator: the text between two keys.

    Returns:
        The path as one string; empty for the root.

    >>> keystr((DictKey("layers"), SequenceKey(0), GetAttrKey("weight")))
    "['layers'][0].weight"
    >>> keystr((DictKey("layers"), SequenceKey(0)), simple=True, separator="/")
    'layers/0'
    """
    return separator.join(map(_bare if simple else str, keys))


def _bare(key: Any) -> str:
    match key:
        case SequenceKey(bare) | DictKey(bare) | GetAttrKey(bare) | FlattenedIndexKey(bare):
            return str(bare)
    return str(key)


@hiding_frames
def tree_flatten_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """Flatten a tree as `tree_flatten` does, with the path to each leaf.

    Arguments:
        tree: the tree.
        is_leaf: `is_leaf(node) -> bool`, makes further nodes leaves.
        is_leaf_takes_path: call `is_leaf(path, node)` instead.

    Returns:
        Pairs of key path and leaf, and the structure.

    Raises:
        ValueError: as `tree_flatten`.

    >>> pairs, _ = tree_flatten_with_path({"w": [1, 2]})
    >>> [(keystr(path), leaf) for path, leaf in pairs]
    [("['w'][0]", 1), ("['w'][1]", 2)]
    """
    if is_leaf is not None and is_leaf_takes_path:
        is_leaf = _asked_with_path(is_leaf)
    treedef = stage2.tree_structure(tree, is_leaf)
    found: list[tuple[KeyPath, Any]] = []
    pending: list[tuple[KeyPath, Any]] = [((), tree)]
    for node in treedef.nodes:
        path, x = pending.pop()
        if node is None:
            found.append((path, x))
        else:
            pending += [((*path, key), child) for key, child in reversed(children_with_keys(x))]
    return found, treedef


def _asked_with_path(is_leaf: Callable[[KeyPath, Any], bool]) -> IsLeaf:
    """Return `is_leaf` as a predicate of nodes alone, called on the way down."""
    pending: list[KeyPath] = [()]

    def is_leaf_here(node: Any) -> bool:
        path = pending.pop()
        is_leaf_of_tree = is_leaf(path, node)
        if find_node_type(type(node)) is not None and not is_leaf_of_tree:
            pending.extend((*path, key) for key, _ in reversed(children_with_keys(node)))
        return is_leaf_of_tree

    return is_leaf_here


@hiding_frames
def tree_leaves_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, Any]]:
    """Return the pairs of `tree_flatten_with_path`, without the structure.

    Arguments:
        tree: the tree.
        is_leaf: `is_leaf(node) -> bool`, makes further nodes leaves.
        is_leaf_takes_path: call `is_leaf(path, node)` instead.

    >>> for path, leaf in tree_leaves_with_path({"layers": [{"w": 1.0}, {"w": 2.0}]}):
    ...     print(keystr(path), leaf)
    ['layers'][0]['w'] 1.0
    ['layers'][1]['w'] 2.0
    """
    return tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


@hiding_frames
def tree_map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """Map over leaves as `tree_map` does, with the path as first argument.

    Arguments:
        f: `f(path, leaf, *others) -> leaf`.
        tree: the first tree, as for `tree_map`.
        *rest: further trees, as for `tree_map`.
        is_leaf: as in `tree_flatten_with_path`.
        is_leaf_takes_path: as in `tree_flatten_with_path`.

    Returns:
        A tree of the results of `f`, with the structure of `tree`.

    Raises:
        ValueError: a tree of `rest` differs; the message gives the path and both sides.

    >>> tree_map_with_path(lambda path, x: f"{keystr(path)} is {x}", {"w": (1,)})
    {'w': ("['w'][0] is 1",)}
    """
    pairs, treedef = tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    others = [treedef.flatten_up_to(other, f"rest[{i}]") for i, other in enumerate(rest)]
    results = (f(*pair, *xs) for pair, *xs in zip(pairs, *others, strict=True))
    return treedef.unflatten(results)


@hiding_frames
def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf | None = None) -> bool:
    """Return True if every item is a leaf.

    >>> all_leaves([1, 2]), all_leaves([1, None])
    (True, False)
    """
    if is_leaf is None:
        return all(find_node_type(type(x)) is None for x in iterable)
    return all(is_leaf(x) or find_node_type(type(x)) is None for x in iterable)


@hiding_frames
def tree_all(tree: Any, *, is_leaf: IsLeaf | None = None) -> bool:
    """Return True if all leaves are true, or there are none.

    Arguments:
        tree: the tree.
        is_leaf: `is_leaf(node) -> bool`, makes further nodes leaves.

    >>> tree_all({"a": [True, 1], "b": False}), tree_all([])
    (False, True)
    """
    try:
        return all(stage2.tree_leaves(tree, is_leaf))
    except ValueError as error:  # an array with several elements
        raise ValueError(f"tree_all: a leaf is neither true nor false: {error}") from None


@hiding_frames
def tree_reduce(
    function: Callable[[Any, Any], Any],
    tree: Any,
    initializer: Any = not_given,
    is_leaf: IsLeaf | None = None,
) -> Any:
    """Fold the leaves into one value, from left to right, as `functools.reduce` does.

    Arguments:
        function: `function(value_so_far, leaf) -> value`.
        tree: the tree.
        initializer: the first value; without it, the first leaf.
        is_leaf: `is_leaf(node) -> bool`, makes further nodes leaves.

    Returns:
        The last value.

    Raises:
        TypeError: there are no leaves and no initializer.

    >>> tree_reduce(lambda total, x: total + x, {"a": 1, "b": [2, 3]})
    6
    """
    leaves = stage2.tree_leaves(tree, is_leaf)
    if initializer is not not_given:
        return functools.reduce(function, leaves, initializer)
    if not leaves:
        raise TypeError("tree_reduce: the tree has no leaves; give an initializer")
    return functools.reduce(function, leaves)


@hiding_frames
def tree_transpose(
    outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any
) -> Any:
    """Turn a tree of trees inside out.

    Arguments:
        outer_treedef: the outer structure, before.
        inner_treedef: the inner structure, the same at each leaf of the outer one; None to take it
            from the first.
        pytree_to_transpose: the tree. JAX accepts any tree with the right number of leaves; here
            its structure must match.

    Returns:
        A tree with `inner_treedef` outside and `outer_treedef` at each of its leaves.

    Raises:
        TypeError: the tree has another structure; the message gives the path.

    >>> pairs = [(1, 2), (3, 4), (5, 6)]
    >>> tree_transpose(tree_structure([0, 0, 0]), tree_structure((0, 0)), pairs)
    ([1, 3, 5], [2, 4, 6])
    """
    if inner_treedef is None:
        first = outer_treedef.flatten_up_to(pytree_to_transpose)[:1]
        if not first:
            raise TypeError(
                "tree_transpose: the outer structure has no leaves to take the inner structure "
                "from; give inner_treedef"
            )
        inner_treedef = stage2.tree_structure(first[0])
    leaves, treedef = stage2.tree_flatten(pytree_to_transpose)
    expected = compose(outer_treedef, inner_treedef)
    if treedef != expected:
        mismatch = explain_mismatch(expected, pytree_to_transpose, name="pytree_to_transpose")
        raise TreeMismatchError(
            f"tree_transpose: {mismatch}. The tree must have the outer structure, with the inner "
            "one in the place of each leaf."
        )
    num_inner = inner_treedef.num_leaves
    return inner_treedef.unflatten(
        outer_treedef.unflatten(leaves[i::num_inner]) for i in range(num_inner)
    )


@hiding_frames
def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """Return the structure of a tuple whose items have the given structures.

    >>> treedef_tuple([tree_structure([1, 2]), tree_structure(3)])
    PyTreeDef(([*, *], *))
    """
    items = tuple(treedefs)
    for item in items:
        if not isinstance(item, PyTreeDef):
            raise TypeError(f"treedef_tuple: expected PyTreeDefs, found {shown(item)}")
    nodes = [node for item in items for node in item.nodes]
    return PyTreeDef(((tuple, None, len(items)), *nodes))


@hiding_frames
def tree_broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf | None = None) -> Any:
    """Extend a prefix to the structure of the full tree.

    Arguments:
        prefix_tree: the prefix; each leaf stands for a subtree of the full tree.
        full_tree: the full tree.
        is_leaf: function that returns True for nodes of the prefix to treat as leaves.

    >>> tree_broadcast((0, 1), ([1, 2], {"a": 3}))
    ([0, 0], {'a': 1})
    """
    return stage2.tree_structure(full_tree).unflatten(
        broadcast_prefix(prefix_tree, full_tree, is_leaf)
    )


# Registering classes as containers, in all of JAX's ways.


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
    >>> glassjax.tree_util.register_pytree_node(
    ...     Point, lambda p: ((p.x, p.y), None), lambda _, xy: Point(*xy)
    ... )
    >>> glassjax.tree.leaves([Point(1, 2), 3])
    [1, 2, 3]
    """
    flatten = _checked_flatten(nodetype, flatten_func)
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


def _checked_flatten(nodetype: type[Any], flatten: Flatten) -> Flatten:
    """The same function with an error for bad results.

    C++ calls the original function; its errors are found by flattening the tree again.
    """

    def checked_flatten(node: Any) -> tuple[Iterable[Any], Any]:
        pair = flatten(node)
        if not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[0], Iterable):
            raise ValueError(
                f"the flatten function of the tree node {nodetype.__name__} must return a pair "
                f"(children, aux_data) with an iterable of children, found {shown(pair)}"
            )
        return pair

    checked_flatten.unchecked = flatten  # type: ignore[attr-defined]
    return checked_flatten


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

    >>> from glassjax.tree_util import *
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

    >>> @glassjax.tree_util.register_pytree_node_class
    ... class Scaled:
    ...     def __init__(self, value, unit):
    ...         self.value, self.unit = value, unit
    ...     def tree_flatten(self):
    ...         return [self.value], self.unit
    ...     @classmethod
    ...     def tree_unflatten(cls, unit, children):
    ...         return cls(*children, unit)
    >>> glassjax.tree.map(lambda x: 2 * x, Scaled(1.5, "m")).value
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

    >>> from glassjax.tree_util import *
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
    >>> @glassjax.tree_util.register_dataclass
    ... @dataclass
    ... class Layer:
    ...     weight: float
    ...     name: str = field(metadata={"static": True}, default="dense")
    >>> glassjax.tree.leaves(Layer(0.5))
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

    >>> @glassjax.tree_util.register_static
    ... class Unit(str):
    ...     pass
    >>> glassjax.tree.leaves({"length": 3.0, "unit": Unit("m")})
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


# Pytrees, under the names of `jax.tree_util`.


Function = TypeVar("Function", bound=Callable[..., Any])


def _hiding_frames_here(function: Function) -> Function:
    """A function of stage 2 that calls user functions: arguments, or methods of registered classes.

    Its module is this one, where a pickle finds it.
    """
    function = hiding_frames(function)
    function.__module__ = __name__
    return function


tree_flatten = _hiding_frames_here(tree.tree_flatten)
tree_leaves = _hiding_frames_here(tree.tree_leaves)
tree_map = _hiding_frames_here(tree.tree_map)
tree_structure = _hiding_frames_here(tree.tree_structure)
tree_unflatten = _hiding_frames_here(tree.tree_unflatten)

KeyEntry = DictKey | FlattenedIndexKey | GetAttrKey | SequenceKey


class Partial(functools.partial[Any]):
    """`functools.partial` as a pytree: its arguments are leaves, the function is structure.

    So it passes through transformations, with its arguments.

    >>> import glassjax
    >>> scale = Partial(lambda factor, x: factor * x, 3.0)
    >>> glassjax.jit(lambda f, x: f(x))(scale, 2.0).item()
    6.0
    """

    __module__ = "glassjax.tree_util"  # shown in its text

    def __new__(cls, func: Callable[..., Any], /, *args: Any, **keywords: Any) -> Partial:
        whole = _Whole(func) if isinstance(func, functools.partial) else func
        return super().__new__(cls, whole, *args, **keywords)


class _Whole:
    """A `functools.partial` that counts as one function: another partial does not take it apart."""

    def __init__(self, fun: Callable[..., Any]):
        self.fun = fun

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fun(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Whole) and self.fun == other.fun

    def __hash__(self) -> int:
        return hash(self.fun)

    def __repr__(self) -> str:
        return repr(self.fun)


register_pytree_node(
    Partial,
    lambda partial: ((partial.args, partial.keywords), partial.func),
    lambda func, children: Partial(func, *children[0], **children[1]),
)


@hiding_frames
def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Return True for the structure of a single leaf or an empty container.

    >>> tree_structure = glassjax.tree_util.tree_structure
    >>> glassjax.tree_util.treedef_is_leaf(tree_structure(1.0))
    True
    >>> glassjax.tree_util.treedef_is_leaf(tree_structure([1.0, 2.0]))
    False
    """
    return len(treedef.nodes) == 1


@hiding_frames
def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """The structures of the root's children, empty for a leaf.

    >>> structure = glassjax.tree_util.tree_structure({"a": 1, "b": [2, 3]})
    >>> [child.num_leaves for child in glassjax.tree_util.treedef_children(structure)]
    [1, 2]
    """
    return trees.children(treedef)


def is_tree_node(typ: type) -> bool:
    """Return True if the instances of a class are inner nodes of trees.

    >>> glassjax.tree_util.is_tree_node(dict), glassjax.tree_util.is_tree_node(float)
    (True, False)
    """
    return typ is type(None) or tree.find_node_type(typ) is not None


@hiding_frames
def flatten_one_level(tree: Any) -> tuple[Any, Any]:
    """The children of the root of a tree, and its auxiliary data.

    Raises:
        ValueError: the tree is a leaf.

    >>> glassjax.tree_util.flatten_one_level({"a": [1, 2], "b": 3})
    (([1, 2], 3), ('a', 'b'))
    """
    if tree is None or type(tree) not in registry:  # a namedtuple
        pairs, aux_data = flatten_one_level_with_keys(tree)
        children = [child for _, child in pairs]
        return children if isinstance(tree, tuple) else tuple(children), aux_data
    found, aux_data = registry[type(tree)].flatten(tree)
    is_tuple = isinstance(found, tuple) or type(tree) in (dict, defaultdict)
    return (tuple if is_tuple else list)(found), aux_data


@hiding_frames
def flatten_one_level_with_keys(tree: Any) -> tuple[Any, Any]:
    """The children of the root of a tree, each with its key, and its auxiliary data.

    Raises:
        ValueError: the tree is a leaf.

    >>> glassjax.tree_util.flatten_one_level_with_keys({"a": [1, 2]})
    (((DictKey(key='a'), [1, 2]),), ('a',))
    """
    if tree is None:
        return (), None
    cls = type(tree)
    if not is_tree_node(cls):
        raise ValueError(f"{cls!r} is not registered as a tree node")
    aux_data = registry[cls].flatten(tree)[1] if cls in registry else cls  # a namedtuple
    return tuple(children_with_keys(tree)), aux_data


@hiding_frames
def tree_reduce_associative(
    operation: Callable[[Any, Any], Any],
    tree: Any,
    *,
    identity: Any = None,
    is_leaf: Callable[[Any], bool] | None = None,
) -> Any:
    """Combine the leaves pairwise with an associative operation.

    Each leaf takes part in few steps, so rounding errors stay small even for many leaves.

    Arguments:
        operation: function of two leaves that returns one like them.
        tree: the tree.
        identity: the result if there are no leaves.
        is_leaf: `is_leaf(node) -> bool`, makes further nodes leaves.

    Raises:
        TypeError: there are no leaves, and `identity` is not given.

    >>> gradients = {"w": jnp.array([3.0, 0.0]), "b": jnp.array([4.0])}
    >>> squares = glassjax.tree.map(lambda g: jnp.sum(g**2), gradients)
    >>> jnp.sqrt(glassjax.tree.reduce_associative(jnp.add, squares))
    Array(5., dtype=float32)
    """
    leaves = tree_leaves(tree, is_leaf=is_leaf)
    if not leaves:
        if identity is None:
            raise TypeError("tree_reduce_associative: the tree has no leaves; give an identity")
        return identity
    while len(leaves) > 1:
        pairs = [operation(*leaves[i : i + 2]) for i in range(0, len(leaves) - 1, 2)]
        leaves = pairs + leaves[len(leaves) - len(leaves) % 2 :]
    return leaves[0]


# `default_registry`: the table of the classes whose instances are nodes of trees.


class PyTreeRegistry:
    """The functions of `tree_util` as methods of JAX's registry.

    >>> registry = glassjax.tree_util.default_registry
    >>> registry.flatten_one_level((1, [2, 3]))[0]
    (1, [2, 3])
    >>> registry.flatten_one_level(1.0) is None
    True
    """

    def __reduce__(self) -> str:
        return "default_registry"

    def flatten(self, tree: Any, leaf_predicate: IsLeaf | None = None) -> tuple[Any, PyTreeDef]:
        """As `tree_flatten`."""
        return tree_flatten(tree, leaf_predicate)

    def flatten_with_path(
        self, tree: Any, leaf_predicate: IsLeaf | None = None
    ) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
        """As `tree_flatten_with_path`."""
        return tree_flatten_with_path(tree, leaf_predicate)

    def flatten_one_level(self, tree: Any) -> tuple[Any, Any] | None:
        """As `tree_util.flatten_one_level`; None for a leaf."""
        return flatten_one_level(tree) if self.is_node(type(tree)) else None

    def flatten_one_level_with_keys(self, tree: Any) -> tuple[Any, Any] | None:
        """As `tree_util.flatten_one_level_with_keys`; None for a leaf."""
        return flatten_one_level_with_keys(tree) if self.is_node(type(tree)) else None

    def is_node(self, type: type) -> bool:
        """As `tree_util.is_tree_node`."""
        return is_tree_node(type)

    def register_node(self, nodetype: type, to_iterable: Any, from_iterable: Any) -> None:
        """As `register_pytree_node`."""
        register_pytree_node(nodetype, to_iterable, from_iterable)


default_registry = PyTreeRegistry()


# Methods of structures, as in JAX: walking, and serialization.


def _walk(
    treedef: PyTreeDef,
    f_node: Callable[[Any, Any], Any],
    f_leaf: Callable[[Any], Any] | None,
    leaves: Iterable[Any],
) -> Any:
    """Replace leaves and, from the leaves up, nodes.

    Arguments:
        f_node: `f_node(children, node_data)`, in the place of each node.
        f_leaf: `f_leaf(leaf)`, in the place of each leaf; None keeps them.
        leaves: the leaves.

    Raises:
        ValueError: the number of leaves does not match the structure.

    >>> tree = glassjax.tree.structure({"a": (1, 2)})
    >>> tree.walk(lambda children, data: sum(children), lambda leaf: 10 * leaf, [1, 2])
    30
    """
    leaves = list(leaves)
    if len(leaves) != treedef.num_leaves:
        raise ValueError(
            f"walk: expected {counted(treedef.num_leaves, 'leaf')}, found {len(leaves)}, for the "
            f"structure {treedef}"
        )

    def node(cls: type, aux_data: Any, children: tuple[Any, ...]) -> Any:
        if cls not in registry:  # a namedtuple
            return f_node(children, cls)
        return f_node(children, list(aux_data) if cls is dict else aux_data)

    return treedef._build([*map(f_leaf, leaves)] if f_leaf else leaves, node)


def _serialize_using_proto(treedef: PyTreeDef) -> bytes:
    """The structure as bytes, in JAX's format.

    Raises:
        ValueError: it has nodes that are not tuples, lists, None, or dicts with strings as keys.

    >>> tree = glassjax.tree.structure({"a": (1, 2)})
    >>> data = tree.serialize_using_proto()
    >>> type(tree).deserialize_using_proto(glassjax.tree_util.default_registry, data)
    PyTreeDef({'a': (*, *)})
    """
    return bytes(fast_treedef(treedef).serialize_using_proto())


def _deserialize_using_proto(registry: Any, data: bytes) -> PyTreeDef:
    """The structure from these bytes; `registry` is ignored."""
    fast = fast_treedef(stage2.tree_structure(0)).deserialize_using_proto(fast_registry(), data)
    return stage2.tree_structure(fast.unflatten([object()] * fast.num_leaves))


def set_treedef_methods() -> None:
    """Give all structures these methods."""
    treedef: Any = PyTreeDef
    for method in _walk, _serialize_using_proto, _deserialize_using_proto:
        method.__name__ = method.__name__.removeprefix("_")
        method.__qualname__ = f"PyTreeDef.{method.__name__}"
        is_static = method is _deserialize_using_proto
        setattr(treedef, method.__name__, staticmethod(method) if is_static else method)


set_treedef_methods()


__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "Partial",
    "PyTreeDef",
    "SequenceKey",
    "all_leaves",
    "default_registry",
    "flatten_one_level",
    "flatten_one_level_with_keys",
    "is_tree_node",
    "keystr",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "tree_all",
    "tree_broadcast",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_with_path",
    "tree_reduce",
    "tree_reduce_associative",
    "tree_structure",
    "tree_transpose",
    "tree_unflatten",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_tuple",
]
list_public_names(globals())
