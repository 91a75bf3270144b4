"""The manifest of a checkpoint: the structure of the tree, and a line about each leaf, in JSON.

Numbers of Python stand in the manifest, those of arrays in the database. A digest reveals damage.
"""

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

from minijax.checkpoints.steps import MANIFEST
from minijax.checkpoints.storage import StoredArray, tensorstore_version
from minijax.exporting.format import aval_to_json, avals_from_json, tree_from_json, tree_to_json
from minijax.settings.version import installed_version
from minijax_stage2.tree import PyTreeDef

_FORMAT = "minijax checkpoint"
_VERSION = 1
PYTHON_TYPES: tuple[type[Any], ...] = (bool, int, float, complex)


class Leaf(NamedTuple):
    """A leaf of the tree.

    Attributes:
        path: where it is in the tree.
        kind: "Array", "numpy", or the name of a type of Python's numbers.
        array: the array in the database; None for a number of Python.
        value: the number.
    """

    path: str
    kind: str
    array: StoredArray | None = None
    value: complex | None = None

    def to_json(self) -> dict[str, Any]:
        described: dict[str, Any] = {"path": self.path, "kind": self.kind}
        if self.array is None:
            return described | {"value": repr(self.value)}
        name, aval, chunks = self.array
        return described | {"array": name, "type": aval_to_json(aval), "chunks": [*chunks]}


class Manifest(NamedTuple):
    """A checkpoint but for the numbers of its arrays.

    Attributes:
        step: the step.
        leaves: the leaves of the tree.
        structure: the tree without its leaves, as JSON; None if it has nodes of classes that are
            not registered for serialization.
    """

    step: int
    leaves: tuple[Leaf, ...]
    structure: Any

    def treedef(self) -> PyTreeDef | None:
        """The structure of the tree.

        Raises:
            ValueError: it has nodes of classes that this process does not know.
        """
        return None if self.structure is None else tree_from_json(self.structure[0])

    def digest(self) -> str:
        """A digest of what all processes have to agree on: all but the numbers of Python."""
        leaves = [leaf._replace(value=None).to_json() for leaf in self.leaves]
        return _digest([self.step, leaves, self.structure])

    def to_text(self) -> str:
        content = {
            "format": _FORMAT,
            "version": _VERSION,
            "step": self.step,
            "written_by": {"minijax": installed_version(), "tensorstore": tensorstore_version()},
            "structure": self.structure,
            "leaves": [leaf.to_json() for leaf in self.leaves],
        }
        return json.dumps(content | {"sha256": _digest(content)}, indent=1)


def structure_of(treedef: PyTreeDef) -> Any:
    """A structure as JSON, in a list; None if it has nodes of classes without a name."""
    try:
        return [tree_to_json(treedef, "the tree")]
    except ValueError:
        return None


def read_manifest(directory: Path) -> Manifest:
    """The manifest of the checkpoint in a directory.

    Raises:
        ValueError: it is damaged, or of a later version.
        OSError: it cannot be read.
    """
    path = directory / MANIFEST
    try:
        content = json.loads(path.read_bytes())
        digest = content.pop("sha256")
    except (ValueError, RecursionError, AttributeError, KeyError, TypeError):
        digest = content = None
    if content is None or digest != _digest(content) or content.get("format") != _FORMAT:
        raise ValueError(f"{path} is damaged: a part is missing or was changed")
    if content["version"] > _VERSION:
        raise ValueError(
            f"{path} is of version {content['version']}, and this version of minijax reads version "
            f"{_VERSION}; use a newer one"
        )
    leaves = tuple(map(_leaf_from_json, content["leaves"]))
    return Manifest(content["step"], leaves, content["structure"])


def _leaf_from_json(described: dict[str, Any]) -> Leaf:
    path, kind = described["path"], described["kind"]
    if "value" in described:
        return Leaf(path, kind, None, _number(kind, described["value"]))
    (aval,) = avals_from_json([described["type"]])
    return Leaf(path, kind, StoredArray(described["array"], aval, tuple(described["chunks"])))


def _number(kind: str, text: str) -> complex:
    """The number of Python that has this `repr`."""
    if kind == "bool":
        return text == "True"
    (cls,) = [cls for cls in PYTHON_TYPES if cls.__name__ == kind]
    number: complex = cls(text)
    return number


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
