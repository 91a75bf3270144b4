"""The format of exported functions on disk: JAX's.

It is a FlatBuffer. Types, meshes and shardings are in lists without duplicates, and arguments and
results refer to them by numbers; for shardings these begin at 1, and 0 means that it is not fixed.

Data that glassjax writes end with a digest, which readers of FlatBuffers pass over.
"""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from glassjax import xla
from glassjax.dimensions.expressions import Size, is_symbolic_dim
from glassjax.dimensions.parsing import Parser
from glassjax.dimensions.scopes import SymbolicScope
from glassjax.errors import InconclusiveDimensionOperation
from glassjax.export import flatbuffer
from glassjax.export.flatbuffer import Vector
from glassjax.export.nodes import by_name, form_of_class
from glassjax.memory import Space
from glassjax.settings.number_types import implementation_of, is_key_type, named
from glassjax.shardings.memories import in_space, space_of
from glassjax.shardings.mesh import AbstractMesh, AxisType
from glassjax.shardings.partition_spec import PartitionSpec
from glassjax.shardings.sharding import NamedSharding
from glassjax.xla import trees
from glassjax_stage2 import ShapedArray
from glassjax_stage2.errors import shown
from glassjax_stage2.shaped_array import float0
from glassjax_stage2.tree import PyTreeDef, tree_structure

Fields = dict[str, Any]

VERSION = 12  # what JAX 0.12 writes

# The tables of JAX's schema and their fields, in order; None for one that is neither written
# nor read.
SCHEMA: flatbuffer.Schema = {
    "Exported": {
        "serialization_version": "H",
        "function_name": "text",
        "in_tree": "PyTreeDef",
        "_in_avals": None,
        "out_tree": "PyTreeDef",
        "_out_avals": None,
        "_nr_devices_short": None,
        "_in_shardings": None,
        "_out_shardings": None,
        "platforms": Vector("text"),
        "ordered_effects": Vector("Effect"),
        "unordered_effects": Vector("Effect"),
        "disabled_checks": Vector("DisabledSafetyCheck"),
        "mlir_module_serialized": "bytes",
        "calling_convention_version": "H",
        "module_kept_var_idx": Vector("H"),
        "uses_global_constants": "?",
        "vjp": "Exported",
        "nr_devices": "I",
        "unique_avals": Vector("AbstractValue"),
        "unique_abstract_meshes": Vector("AbstractMesh"),
        "unique_named_shardings": Vector("NamedSharding"),
        "in_avals": Vector("I"),
        "out_avals": Vector("I"),
        "in_shardings": Vector("I"),
        "out_shardings": Vector("I"),
        "writer": "text",
    },
    "PyTreeDef": {
        "kind": "b",
        "children": Vector("PyTreeDef"),
        "keys": Vector("text"),
        "name": "text",
        "aux_data": "bytes",
    },
    "AbstractValue": {
        "kind": "b",
        "shape": Vector("text"),
        "dtype": "b",
        "memory_space": "b",
    },
    "AbstractMesh": {
        "axis_sizes": Vector("I"),
        "axis_names": Vector("text"),
        "axis_types": Vector("b"),
        "_abstract_device": None,
    },
    "PartitionSpecOneAxis": {"axes": Vector("text")},
    "PartitionSpec": {
        "partitions": Vector("PartitionSpecOneAxis"),
        "reduced": Vector("text"),
        "unreduced": Vector("text"),
    },
    "NamedSharding": {
        "_mesh": None,
        "spec": "PartitionSpec",
        "memory_kind": "text",
        "mesh": "I",
    },
    "Effect": {"type_name": "text"},
    "DisabledSafetyCheck": {"kind": "b", "custom_call_target": "text"},
}

# Numbers of enumerations.
_LEAF, _NONE, _TUPLE, _LIST, _DICT, _CUSTOM = range(6)  # kinds of nodes
_AXIS_TYPES = (AxisType.Auto, AxisType.Explicit, AxisType.Manual)  # from 1
_DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128", "bfloat16", "int4", "uint4",
    "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
    "float0", "float8_e4m3", "float8_e3m4", "float8_e8m0fnu", "float4_e2m1fn",
    "threefry2x32", "rbg", "unsafe_rbg",
)  # fmt: skip
_PLATFORM, _CUSTOM_CALL = 0, 1  # kinds of disabled checks
FFI_EFFECT = "<class 'jax._src.ffi.FfiEffect'>"  # foreign calls with side effects


WRITER = "glassjax"  # and its version
_SEAL = b"sha256"
_DIGEST_SIZE = 32


def pack(exported: Fields) -> bytearray:
    """An exported function as bytes."""
    data = flatbuffer.write(SCHEMA, "Exported", exported)
    return data + _SEAL + hashlib.sha256(data).digest()


def unpack(data: bytes | bytearray) -> Fields:
    """The exported function in bytes.

    Raises:
        TypeError: the argument is not bytes.
        ValueError: the bytes are damaged, or something else.
    """
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError(f"deserialize: expected bytes, found {shown(data)}")
    data = bytes(data)
    content, seal = data[: -len(_SEAL) - _DIGEST_SIZE], data[-len(_SEAL) - _DIGEST_SIZE :]
    is_sealed = seal.startswith(_SEAL)
    if is_sealed and hashlib.sha256(content).digest() != seal[len(_SEAL) :]:
        raise _damaged()
    try:
        fields = flatbuffer.read(SCHEMA, "Exported", content if is_sealed else data)
    except ValueError as error:
        raise malformed("an exported function", str(error)) from error
    if not is_sealed and (fields["writer"] or "").startswith(WRITER):
        raise _damaged()
    return fields


def _damaged() -> ValueError:
    return ValueError("deserialize: the data are damaged: a part is missing or was changed")


def malformed(expected: str, *found: Any) -> ValueError:
    """The error for data that are not an exported function."""
    instead = f", found {found[0]!r:.60}" if found else ""
    return ValueError(f"deserialize: the data are malformed: expected {expected}{instead}")


class Numbered:
    """A list without duplicates, whose items are referred to by number."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}

    def number(self, item: Any) -> int:
        return self.numbers.setdefault(item, len(self.numbers))

    def items(self, describe: Callable[[Any], Fields]) -> list[Fields]:
        return [describe(item) for item in self.numbers]


def item_at(items: Sequence[Any], number: int, role: str) -> Any:
    """An item by its number in the data."""
    if number >= len(items):
        raise malformed(f"the number of one of {len(items)} {role}", number)
    return items[number]


# Types.


def types_to_fields(types: Mapping[str, Sequence[ShapedArray]]) -> Fields:
    """Types of arguments and results, without their weakness, which the format does not have."""
    unique = Numbered()
    fields: Fields = {
        role: [unique.number(aval.strip_weak_type()) for aval in avals]
        for role, avals in types.items()
    }
    return fields | {"unique_avals": unique.items(_aval_to_fields)}


def types_from_fields(
    fields: Fields, scope: SymbolicScope
) -> tuple[tuple[ShapedArray, ...], tuple[ShapedArray, ...]]:
    """Types of arguments, and of results, with symbolic sizes in a scope.

    Raises:
        ValueError: something else is described.
        NotImplementedError: an array is in the host's memory.
    """
    unique = [_aval_from_fields(each, scope) for each in fields["unique_avals"]]
    takes, returns = [
        tuple([item_at(unique, number, "types") for number in fields[role]])
        for role in ("in_avals", "out_avals")
    ]
    return takes, returns


def _aval_to_fields(aval: ShapedArray) -> Fields:
    dtype = aval.dtype
    name = dtype.name
    if dtype == float0:
        name = "float0"
    elif is_key_type(dtype):
        name = implementation_of(dtype).name
    if name not in _DTYPES or (is_key_type(dtype) and named.get(name) != implementation_of(dtype)):
        raise ValueError(f"export: the format has no name for the dtype of {aval}")
    return {
        "shape": list(map(str, aval.shape)),
        "dtype": _DTYPES.index(name),
        "memory_space": space_of(aval).value,
    }


def _aval_from_fields(fields: Fields, scope: SymbolicScope) -> ShapedArray:
    xla.client()  # registers dtypes such as bfloat16 with numpy
    if not 0 <= fields["dtype"] < len(_DTYPES) or fields["kind"]:
        raise malformed("a dtype", fields["dtype"])
    if fields["memory_space"] not in (0, Space.Device.value, Space.Host.value):
        raise malformed("the memory of an array", fields["memory_space"])
    name = _DTYPES[fields["dtype"]]
    without_numbers = {"float0": float0} | {each: keys.dtype for each, keys in named.items()}
    dtype = without_numbers.get(name) or np.dtype(name)
    try:
        shape: Any = tuple([_size_from_text(size, scope) for size in fields["shape"]])
        return in_space(ShapedArray(shape, dtype), Space(fields["memory_space"] or 1))
    except (
        TypeError,
        ValueError,
        OverflowError,
        RecursionError,
        InconclusiveDimensionOperation,
    ) as error:
        raise malformed("the shape and dtype of an array", fields) from error


_LONGEST = 10_000  # characters of a size


def _size_from_text(text: str, scope: SymbolicScope) -> Size:
    if text.isascii() and text.isdecimal():
        return int(text)
    if len(text) > _LONGEST or re.search(r"\^\s*\d{3}", text):
        raise ValueError("the size would take too long to read")
    size = Parser(text, scope).size()
    if not is_symbolic_dim(size):
        raise ValueError(f"{text} is not the text of an int")
    return size


# Shardings.


def shardings_to_fields(shardings: Mapping[str, Sequence[NamedSharding | None]]) -> Fields:
    """Shardings of arguments and results.

    Raises:
        ValueError: the name of an axis of a mesh is not a string, or an axis of an array is
            unconstrained.
    """
    meshes, unique = Numbered(), Numbered()
    fields: Fields = {
        role: [0 if each is None else 1 + unique.number(each) for each in given]
        for role, given in shardings.items()
    }
    described = unique.items(lambda each: _sharding_to_fields(each, meshes))
    return fields | {
        "unique_named_shardings": described,
        "unique_abstract_meshes": meshes.items(_mesh_to_fields),
    }


def _mesh_to_fields(mesh: AbstractMesh) -> Fields:
    for name in mesh.axis_names:
        if not isinstance(name, str):
            raise ValueError(
                f"export: an axis of {mesh} has the name {shown(name)} of type "
                f"{type(name).__name__}; names that are strings can be written down"
            )
    types = [1 + _AXIS_TYPES.index(axis_type) for axis_type in mesh.axis_types]
    return {"axis_sizes": mesh.axis_sizes, "axis_names": mesh.axis_names, "axis_types": types}


def _sharding_to_fields(sharding: NamedSharding, meshes: Numbered) -> Fields:
    spec = sharding.spec
    if PartitionSpec.UNCONSTRAINED in tuple(spec):
        raise ValueError(
            f"export: {spec} leaves an axis to the partitioner, which cannot be written down; "
            "write None, or the name of a mesh axis"
        )
    fields: Fields = {"partitions": [{"axes": names} for names in spec.names()]}
    for role in ("reduced", "unreduced"):
        fields[role] = sorted(getattr(spec, role))
    kind = sharding.memory_kind
    return {"spec": fields, "memory_kind": kind, "mesh": meshes.number(sharding.mesh)}


def shardings_from_fields(
    fields: Fields, types: Mapping[str, Sequence[ShapedArray]]
) -> list[tuple[NamedSharding | None, ...]]:
    """The shardings of arrays of these types, for each role, over meshes without devices.

    Raises:
        ValueError: something else is described, or does not fit the types or the number of devices.
    """
    meshes = [_mesh_from_fields(each) for each in fields["unique_abstract_meshes"]]
    unique = [_sharding_from_fields(each, meshes) for each in fields["unique_named_shardings"]]
    found = []
    for role, avals in types.items():
        numbers = fields[role] or [0] * len(avals)
        if len(numbers) != len(avals):
            raise malformed(f"{len(avals)} shardings", numbers)
        shardings = [number and item_at(unique, number - 1, "shardings") for number in numbers]
        for sharding, aval in zip(shardings, avals, strict=True):
            if sharding:
                _require_fit(sharding, aval, fields["nr_devices"])
        found.append(tuple([sharding or None for sharding in shardings]))
    return found


def _require_fit(sharding: NamedSharding, aval: ShapedArray, num_devices: int) -> None:
    try:
        sharding.shard_shape(aval.shape)
    except (ValueError, ZeroDivisionError) as error:
        raise malformed(f"a sharding of {aval}", sharding) from error
    if sharding.mesh.size != num_devices:
        raise malformed(f"a sharding of {aval} among {num_devices} devices", sharding)


def _mesh_from_fields(fields: Fields) -> AbstractMesh:
    types = fields["axis_types"]
    if not all(1 <= each <= len(_AXIS_TYPES) for each in types):
        raise malformed("types of axes of a mesh", types)
    try:
        return AbstractMesh(
            fields["axis_sizes"], fields["axis_names"], tuple(_AXIS_TYPES[n - 1] for n in types)
        )
    except ValueError as error:
        raise malformed("axes of a mesh", fields) from error


def _sharding_from_fields(fields: Fields, meshes: Sequence[AbstractMesh]) -> NamedSharding:
    spec = fields["spec"] or {"partitions": [], "reduced": [], "unreduced": []}
    try:
        return NamedSharding(
            item_at(meshes, fields["mesh"], "meshes"),
            PartitionSpec(
                *[_entry(each["axes"]) for each in spec["partitions"]],
                reduced=frozenset(spec["reduced"]),
                unreduced=frozenset(spec["unreduced"]),
            ),
            memory_kind=fields["memory_kind"],
        )
    except (TypeError, ValueError) as error:
        raise malformed("a sharding over the axes of a mesh", spec) from error


def _entry(names: Sequence[str]) -> Any:
    return tuple(names) if len(names) > 1 else names[0] if names else None


# Structures.


def tree_to_fields(treedef: PyTreeDef, role: str) -> Fields:
    """A structure.

    Raises:
        ValueError: a class in it is not registered, or a dict has keys that are not strings.
    """
    node = trees.node_data(treedef)
    if node is None:
        return {"kind": _LEAF}
    cls, aux_data = node
    fields: Fields = {"children": [tree_to_fields(x, role) for x in trees.children(treedef)]}
    if cls is type(None):
        return {"kind": _NONE}
    if cls in (tuple, list):
        return fields | {"kind": _TUPLE if cls is tuple else _LIST}
    if cls is dict:
        for key in aux_data:
            if type(key) is not str:
                raise ValueError(
                    f"export: {role} have a dict with the key {shown(key)} of type "
                    f"{type(key).__name__}; keys that are strings can be written down"
                )
        return fields | {"kind": _DICT, "keys": aux_data}
    form = form_of_class("export", role, cls)
    written = form.serialize_auxdata(aux_data)
    return fields | {"kind": _CUSTOM, "name": form.name, "aux_data": written}


def tree_from_fields(fields: Fields | None) -> PyTreeDef:
    """The structure.

    Raises:
        ValueError: a class in it is not registered in this process, or something else is described.
    """
    if fields is None:
        raise malformed("the structure of a pytree")
    try:
        return tree_structure(_example(fields))
    except RecursionError as error:
        raise malformed("a structure of fewer levels") from error


def _example(fields: Fields) -> Any:
    """A tree of this structure."""
    children = list(map(_example, fields["children"]))
    match fields["kind"]:
        case 0 if not children:
            return 0
        case 1 if not children:
            return None
        case 2:
            return tuple(children)
        case 3:
            return children
        case 4 if len({*fields["keys"]}) == len(fields["keys"]) == len(children):
            return dict(zip(fields["keys"], children, strict=True))
        case 5 if fields["name"] is not None:
            return _example_of(fields["name"], fields["aux_data"], children)
    raise malformed("the structure of a pytree", fields["kind"])


def _example_of(name: str, written: bytes, children: list[Any]) -> Any:
    form = by_name.get(name)
    if form is None:
        raise ValueError(
            f"deserialize: the program has a node of the class {name!r:.60} in its arguments or "
            "results; register that class by export.register_..._serialization, as where it was "
            "exported"
        )
    try:
        return form.from_children(form.deserialize_auxdata(written), children)
    except Exception as error:  # the class may raise any error
        raise malformed(f"parts that make a {form.cls.__name__}", written) from error


# Disabled checks.


def check_to_fields(custom_call: str | None) -> Fields:
    """A disabled check: of a foreign function, by its name, or of the platform for None."""
    if custom_call is None:
        return {"kind": _PLATFORM}
    return {"kind": _CUSTOM_CALL, "custom_call_target": custom_call}


def check_from_fields(fields: Fields) -> str | None:
    """The name of the foreign function; None for the check of the platform.

    Raises:
        ValueError: it is another check.
    """
    if fields["kind"] == _CUSTOM_CALL and fields["custom_call_target"]:
        return str(fields["custom_call_target"])
    if fields["kind"] == _PLATFORM:
        return None
    raise malformed("a safety check", fields)
