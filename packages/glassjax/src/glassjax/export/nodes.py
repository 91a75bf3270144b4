"""Classes of pytree nodes in exported functions and checkpoints: names, and aux_data as bytes."""

import json
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

import glassjax.tree_util  # noqa: F401  # registers OrderedDict
from glassjax_stage2.tree import find_node_type


class NodeForm(NamedTuple):
    """Serialization of a registered class of tree nodes: its name, and its aux_data as bytes."""

    cls: type
    name: str
    serialize_auxdata: Callable[[Any], bytes]
    deserialize_auxdata: Callable[[bytes], Any]
    from_children: Callable[[Any, Any], Any]


by_class: dict[type, NodeForm] = {}
by_name: dict[str, NodeForm] = {}


def form_of_class(caller: str, role: str, cls: type) -> NodeForm:
    """The form of a class of nodes in `role`.

    Raises:
        ValueError: it is not registered.
    """
    if cls not in by_class:
        register = "namedtuple" if issubclass(cls, tuple) else "pytree_node"
        raise ValueError(
            f"{caller}: {role} have a {cls.__name__}, which has no name under which another "
            f"process would find it. Give it one: export.register_{register}_serialization"
            f"({cls.__name__}, serialized_name=...)"
        )
    return by_class[cls]


def register_pytree_node_serialization(
    nodetype: type,
    *,
    serialized_name: str,
    serialize_auxdata: Callable[[Any], bytes],
    deserialize_auxdata: Callable[[bytes], Any],
    from_children: Callable[[Any, Any], Any] | None = None,
) -> type:
    """Allow a class of pytree nodes in arguments and results of exported functions.

    Arguments:
        nodetype: a class that is registered as a pytree.
        serialized_name: its name in exported programs, the same wherever they are loaded.
        serialize_auxdata: turns the aux_data of a node into bytes.
        deserialize_auxdata: the inverse.
        from_children: `from_children(aux_data, children)` makes a node; by default the function
            registered for the class.

    Returns:
        The class.

    Raises:
        ValueError: the class is not a pytree, or class or name are registered already.

    >>> from glassjax import export
    >>> class Length:
    ...     def __init__(self, value, unit):
    ...         self.value, self.unit = value, unit
    >>> glassjax.tree_util.register_pytree_node(
    ...     Length, lambda x: ([x.value], x.unit), lambda unit, values: Length(*values, unit)
    ... )
    >>> Length = export.register_pytree_node_serialization(
    ...     Length,
    ...     serialized_name=f"{__name__}.Length",
    ...     serialize_auxdata=lambda unit: unit.encode(),
    ...     deserialize_auxdata=lambda data: data.decode(),
    ... )
    >>> double = export.export(glassjax.jit(lambda x: Length(2 * x.value, x.unit)))
    >>> export.deserialize(double(Length(1.0, "m")).serialize()).call(Length(3.0, "m")).unit
    'm'
    """
    node_type = find_node_type(nodetype)
    if node_type is None:
        raise ValueError(
            f"{nodetype.__name__} is not registered as a pytree, so there is nothing to export"
        )
    if nodetype in by_class or serialized_name in by_name:
        other = by_class.get(nodetype) or by_name[serialized_name]
        raise ValueError(f"{other.cls.__name__} is registered already, as {other.name!r}")
    form = NodeForm(
        nodetype,
        serialized_name,
        serialize_auxdata,
        deserialize_auxdata,
        from_children or node_type.unflatten,
    )
    by_class[nodetype] = by_name[serialized_name] = form
    return nodetype


def register_namedtuple_serialization(nodetype: type, *, serialized_name: str) -> type:
    """Allow a namedtuple in arguments and results of exported functions.

    Arguments:
        nodetype: the namedtuple.
        serialized_name: its name in exported programs, the same wherever they are loaded.

    Returns:
        The class.

    Raises:
        ValueError: it is not a namedtuple, or class or name are registered already.

    >>> from typing import NamedTuple
    >>> from glassjax import export
    >>> class Line(NamedTuple):
    ...     slope: float
    ...     start: float
    >>> Line = export.register_namedtuple_serialization(Line, serialized_name=f"{__name__}.Line")
    >>> double = export.export(glassjax.jit(lambda line: glassjax.tree.map(lambda x: 2 * x, line)))
    >>> export.deserialize(double(Line(1.0, 2.0)).serialize()).call(Line(3.0, 4.0)).slope
    Array(6., dtype=float32)
    """
    if not (issubclass(nodetype, tuple) and hasattr(nodetype, "_fields")):
        raise ValueError(f"{nodetype.__name__} is not a namedtuple")
    return register_pytree_node_serialization(
        nodetype,
        serialized_name=serialized_name,
        serialize_auxdata=lambda aux_data: json.dumps(nodetype._fields).encode(),
        deserialize_auxdata=json.loads,
        from_children=lambda names, children: nodetype(**dict(zip(names, children, strict=True))),
    )


# As in JAX.
register_pytree_node_serialization(
    OrderedDict,
    serialized_name="collections.OrderedDict",
    serialize_auxdata=lambda keys: json.dumps(keys).encode(),
    deserialize_auxdata=lambda data: tuple(json.loads(data)),
)
