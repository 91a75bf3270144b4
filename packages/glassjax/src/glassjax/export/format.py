"""The format of exported functions on disk."""

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np

from glassjax import xla
from glassjax.settings.number_types import no_numbers
from glassjax.shardings.mesh import AbstractMesh, AxisType
from glassjax.shardings.partition_spec import PartitionSpec
from glassjax.shardings.sharding import NamedSharding
from glassjax.xla import trees
from glassjax_stage2 import ShapedArray
from glassjax_stage2.errors import shown
from glassjax_stage2.tree import PyTreeDef, find_node_type, tree_structure

_MAGIC = b"glassjax exported program "
VERSION = 3
_DIGEST_SIZE = 32


class NodeForm(NamedTuple):
    """Serialization of a registered class of tree nodes: its name, and its aux_data as bytes."""

    cls: type
    name: str
    serialize_auxdata: Callable[[Any], bytes]
    deserialize_auxdata: Callable[[bytes], Any]
    from_children: Callable[[Any, Any], Any]


_by_class: dict[type, NodeForm] = {}
_by_name: dict[str, NodeForm] = {}


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
    if nodetype in _by_class or serialized_name in _by_name:
        other = _by_class.get(nodetype) or _by_name[serialized_name]
        raise ValueError(f"{other.cls.__name__} is registered already, as {other.name!r}")
    form = NodeForm(
        nodetype,
        serialized_name,
        serialize_auxdata,
        deserialize_auxdata,
        from_children or node_type.unflatten,
    )
    _by_class[nodetype] = _by_name[serialized_name] = form
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
    Array(6., dtype=float32, weak_type=True)
    """
    if not (issubclass(nodetype, tuple) and hasattr(nodetype, "_fields")):
        raise ValueError(f"{nodetype.__name__} is not a namedtuple")
    return register_pytree_node_serialization(
        nodetype,
        serialized_name=serialized_name,
        serialize_auxdata=lambda aux_data: b"",
        deserialize_auxdata=lambda data: None,
        from_children=lambda aux_data, children: nodetype(*children),
    )


def pack(header: dict[str, Any], modules: Sequence[bytes], vjp: bytes = b"") -> bytearray:
    """One block of bytes, with a magic number and a checksum.

    Arguments:
        header: the description of the program, as JSON.
        modules: the module for each platform.
        vjp: the derivative, packed itself; empty if there is none.
    """
    import hashlib  # late: importing them takes milliseconds
    import json

    different = list(dict.fromkeys(modules))
    places = {
        "modules": [different.index(module) for module in modules],
        "module_sizes": list(map(len, different)),
    }
    described = json.dumps({**header, **places}).encode()
    content = len(described).to_bytes(8, "little") + described + b"".join(different) + vjp
    digest = hashlib.sha256(content).digest()
    return bytearray(_MAGIC + str(VERSION).encode() + b"\n" + digest + content)


def unpack(data: bytes | bytearray) -> tuple[dict[str, Any], list[bytes], bytes]:
    """The header, the module for each platform, and the derivative, empty if there is none.

    Raises:
        ValueError: the data were not made by `pack`, are of a later version, or are damaged.
    """
    import hashlib
    import json

    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError(f"deserialize: expected bytes, found {shown(data)}")
    data = bytes(data)
    first_line, newline, rest = data.partition(b"\n")
    if not first_line.startswith(_MAGIC) or not newline:
        raise ValueError(
            "deserialize: this is not a program that glassjax exported: it begins with "
            f"{bytes(data[:16])!r}"
        )
    written = first_line.removeprefix(_MAGIC).decode(errors="replace")
    if written not in map(str, range(1, VERSION + 1)):
        raise ValueError(
            f"deserialize: the program was exported in format {written:.20}, this version of "
            f"glassjax reads formats 1 to {VERSION}; use a newer one"
        )
    digest, content = rest[:_DIGEST_SIZE], rest[_DIGEST_SIZE:]
    if hashlib.sha256(content).digest() != digest:
        raise ValueError("deserialize: the data are damaged: a part is missing or was changed")
    size = int.from_bytes(content[:8], "little")
    try:
        header = json.loads(content[8 : 8 + size])
    except (ValueError, RecursionError) as error:
        raise malformed("a header in JSON") from error
    if not isinstance(header, dict):
        raise malformed("a header with names", header)
    rest, numbers = content[8 + size :], header.get("modules")
    sizes: Any = header.get("module_sizes")
    if int(written) < 3:
        numbers, sizes = [0], [header.get("program_size") if written == "2" else len(rest)]
    if not isinstance(sizes, list) or not all(map(_is_size, sizes)) or sum(sizes) > len(rest):
        raise malformed("sizes of modules", sizes)
    ends = [0, *accumulate(sizes)]
    different = [rest[start:end] for start, end in pairwise(ends)]
    if not isinstance(numbers, list) or not all(_is_size(n) and n < len(sizes) for n in numbers):
        raise malformed("the number of a module for each platform", numbers)
    return header, [different[number] for number in numbers], rest[ends[-1] :]


def malformed(expected: str, *found: Any) -> ValueError:
    """The error for intact data that `pack` did not write."""
    instead = f", found {found[0]!r:.60}" if found else ""
    return ValueError(f"deserialize: the data are malformed: expected {expected}{instead}")


def aval_to_json(aval: ShapedArray) -> Any:
    dtype = aval.dtype.names[0] if aval.dtype.names else aval.dtype.name
    return [list(aval.shape), dtype, aval.weak_type]


def avals_from_json(described: Any) -> tuple[ShapedArray, ...]:
    """Types of arrays.

    Raises:
        ValueError: something else is described.
    """
    if not isinstance(described, list):
        raise malformed("a list of types", described)
    return tuple(map(_aval_from_json, described))


def _aval_from_json(described: Any) -> ShapedArray:
    xla.client()  # registers dtypes such as bfloat16 with numpy
    without_numbers = {other.names[0]: other for other in no_numbers if other.names}
    match described:
        case [[*shape], str(dtype), bool(weak_type)] if all(map(_is_size, shape)):
            try:
                aval = ShapedArray(
                    tuple(shape), without_numbers.get(dtype) or np.dtype(dtype), weak_type
                )
            except (SyntaxError, TypeError, ValueError) as error:
                raise malformed("the shape and dtype of an array", described) from error
            if aval_to_json(aval) == described:  # numpy also parses "i4,f4" and the like
                return aval
    raise malformed("shape, dtype and weak_type of an array", described)


def _is_size(n: Any) -> bool:
    return type(n) is int and n >= 0


def shardings_to_json(shardings: Sequence[NamedSharding | None]) -> Any:
    """Shardings as JSON.

    Raises:
        ValueError: the name of an axis of a mesh is not a string.
    """
    return [None if each is None else _sharding_to_json(each) for each in shardings]


def _sharding_to_json(sharding: NamedSharding) -> Any:
    mesh = sharding.mesh
    for name in mesh.axis_names:
        if not isinstance(name, str):
            raise ValueError(
                f"export: an axis of {mesh} has the name {shown(name)} of type "
                f"{type(name).__name__}; names that are strings can be written down"
            )
    types = [axis_type.name for axis_type in mesh.axis_types]
    axes = [list(axis) for axis in zip(mesh.axis_names, mesh.axis_sizes, types, strict=True)]
    spec = [
        _UNCONSTRAINED if entry is PartitionSpec.UNCONSTRAINED else list(names)
        for entry, names in zip(sharding.spec, sharding.spec.names(), strict=True)
    ]
    return {"axes": axes, "spec": spec}


_UNCONSTRAINED = "unconstrained"


def shardings_from_json(
    described: Any, avals: Sequence[ShapedArray], num_devices: int
) -> tuple[NamedSharding | None, ...]:
    """The shardings of arrays of these types, over meshes without devices.

    Raises:
        ValueError: something else is described, or does not fit the types or the number of devices.
    """
    if not isinstance(described, list) or len(described) != len(avals):
        raise malformed(f"a list of {len(avals)} shardings", described)
    return tuple(
        None if each is None else _sharding_from_json(each, aval, num_devices)
        for each, aval in zip(described, avals, strict=True)
    )


def _sharding_from_json(described: Any, aval: ShapedArray, num_devices: int) -> NamedSharding:
    match described:
        case {"axes": [*axes], "spec": [*spec]} if all(map(_is_axis, axes)):
            names, sizes, types = zip(*axes, strict=True) if axes else ((), (), ())
            entries = [
                PartitionSpec.UNCONSTRAINED if entry == _UNCONSTRAINED else entry for entry in spec
            ]
            try:
                mesh = AbstractMesh(sizes, names, tuple(AxisType[each] for each in types))
                sharding = NamedSharding(mesh, PartitionSpec(*entries))
                sharding.shard_shape(aval.shape)
            except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
                raise malformed(f"a sharding of {aval}", described) from error
            if mesh.size == num_devices:
                return sharding
    raise malformed(f"a sharding of {aval} among {num_devices} devices", described)


def _is_axis(described: Any) -> bool:
    match described:
        case [str(), size, str()]:
            return _is_size(size)
    return False


def tree_to_json(treedef: PyTreeDef, role: str) -> Any:
    """A structure as JSON.

    Raises:
        ValueError: a class in it is not registered, or a dict has keys that JSON does not support.
    """
    node = trees.node_data(treedef)
    if node is None:
        return "*"
    cls, aux_data = node
    children = [tree_to_json(child, role) for child in trees.children(treedef)]
    if cls is type(None):
        return None
    if cls in (tuple, list):
        return {cls.__name__: children}
    if cls is dict:
        for key in aux_data:
            if type(key) not in (str, int, bool):
                raise ValueError(
                    f"export: {role} have a dict with the key {shown(key)} of type "
                    f"{type(key).__name__}; keys of str, int and bool can be written down"
                )
        return {"dict": [[key, child] for key, child in zip(aux_data, children, strict=True)]}
    form = _by_class.get(cls)
    if form is None:
        is_namedtuple = issubclass(cls, tuple)
        register = "namedtuple" if is_namedtuple else "pytree_node"
        raise ValueError(
            f"export: {role} have a {cls.__name__}, which has no name under which another process "
            f"would find it. Give it one: export.register_{register}_serialization"
            f"({cls.__name__}, serialized_name=...)"
        )
    written = b"" if issubclass(cls, tuple) else form.serialize_auxdata(aux_data)
    return {"node": form.name, "aux_data": written.hex(), "children": children}


def tree_from_json(described: Any) -> PyTreeDef:
    """The structure.

    Raises:
        ValueError: a class in it is not registered in this process, or the text does not describe a
            structure.
    """
    try:
        example = _example(described)
    except RecursionError as error:
        raise malformed("a structure of fewer levels") from error
    try:
        return tree_structure(example)
    except ValueError as error:  # keys of a dict that cannot be sorted
        raise malformed("the structure of a pytree", described) from error


def _example(described: Any) -> Any:
    """A tree of this structure."""
    match described:
        case "*":
            return 0
        case None:
            return None
        case {"dict": [*items]}:
            return dict(map(_item, items))
        case {"tuple": [*children]}:
            return tuple(map(_example, children))
        case {"list": [*children]}:
            return list(map(_example, children))
        case {"node": str(name), "aux_data": str(written), "children": [*children]}:
            return _example_of(name, written, list(map(_example, children)))
    raise malformed("the structure of a pytree", described)


def _item(described: Any) -> tuple[Any, Any]:
    match described:
        case [str() | int() as key, child]:  # a bool is an int
            return key, _example(child)
    raise malformed("key and value of a dict", described)


def _example_of(name: str, written: str, children: list[Any]) -> Any:
    form = _by_name.get(name)
    if form is None:
        raise ValueError(
            f"deserialize: the program has a node of the class {name!r} in its "
            "arguments or results; register that class by export.register_..._serialization, "
            "as where it was exported"
        )
    try:
        return form.from_children(form.deserialize_auxdata(bytes.fromhex(written)), children)
    except Exception as error:  # the class may raise any error
        raise malformed(f"parts that make a {form.cls.__name__}", written) from error
