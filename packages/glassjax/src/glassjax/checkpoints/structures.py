"""Types of arrays and structures of trees in a checkpoint's manifest: JSON."""

from typing import Any

import numpy as np

from glassjax import xla
from glassjax.export.nodes import by_name, form_of_class
from glassjax.settings.number_types import no_numbers
from glassjax.xla import trees
from glassjax_stage2 import ShapedArray
from glassjax_stage2.errors import shown
from glassjax_stage2.tree import PyTreeDef, tree_structure


def malformed(expected: str, *found: Any) -> ValueError:
    """The error for an intact manifest that no checkpoint has."""
    instead = f", found {found[0]!r:.60}" if found else ""
    return ValueError(f"checkpoint: the manifest is malformed: expected {expected}{instead}")


def aval_to_json(aval: ShapedArray) -> Any:
    dtype = aval.dtype.names[0] if aval.dtype.names else aval.dtype.name
    return [list(aval.shape), dtype, aval.weak_type]


def aval_from_json(described: Any) -> ShapedArray:
    """The type of an array.

    Raises:
        ValueError: something else is described.
    """
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
                    f"checkpoint: {role} have a dict with the key {shown(key)} of type "
                    f"{type(key).__name__}; keys of str, int and bool can be written down"
                )
        return {"dict": [[key, child] for key, child in zip(aux_data, children, strict=True)]}
    form = form_of_class("checkpoint", role, cls)
    written = form.serialize_auxdata(aux_data)
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
    form = by_name.get(name)
    if form is None:
        raise ValueError(
            f"checkpoint: the tree has a node of the class {name!r}; register that class by "
            "export.register_..._serialization, as where it was saved"
        )
    try:
        return form.from_children(form.deserialize_auxdata(bytes.fromhex(written)), children)
    except Exception as error:  # the class may raise any error
        raise malformed(f"parts that make a {form.cls.__name__}", written) from error
