"""The mesh in context: the mesh of every `PartitionSpec` that is given without one."""

from collections.abc import Iterator

import numpy as np

from minijax.settings.reusable_contexts import reusable_context
from minijax.shardings.mesh import (
    AbstractMesh,
    Mesh,
    mesh_in_context,
    mesh_of_programs,
    put_in_context,
)
from minijax_stage2.errors import shown


class set_mesh:
    """Set the mesh in context, for good or for the block of a `with`.

    Programs run on its devices. A `PartitionSpec` is one of this mesh.

    Arguments:
        mesh: the mesh; one without devices leaves the mesh that is set.

    Raises:
        TypeError: it is not a mesh.

    >>> with minijax.set_mesh(minijax.make_mesh((1,), ("data",))):
    ...     minijax.sharding.get_mesh().axis_names
    ('data',)
    """

    def __init__(self, mesh: Mesh):
        if not isinstance(mesh, Mesh):
            raise TypeError(
                f"set_mesh: expected a Mesh, found {shown(mesh)} of type {type(mesh).__name__}"
            )
        self._previous = mesh_in_context.get(), mesh_of_programs.get()
        put_in_context(None if mesh.empty else mesh)
        mesh_of_programs.set(None if mesh.empty else mesh)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        mesh, of_programs = self._previous
        mesh_in_context.set(mesh)
        mesh_of_programs.set(of_programs)


def get_mesh() -> Mesh:
    """The mesh in context; an empty one if none is set.

    >>> minijax.sharding.get_mesh().empty
    True
    """
    mesh = mesh_in_context.get()
    return mesh if isinstance(mesh, Mesh) else Mesh(np.empty((), dtype=object), ())


def get_abstract_mesh() -> AbstractMesh:
    """The axes of the mesh in context; none if no mesh is set.

    >>> minijax.sharding.get_abstract_mesh().empty
    True
    """
    mesh = mesh_in_context.get()
    return AbstractMesh((), ()) if mesh is None else mesh.abstract_mesh


@reusable_context
def use_abstract_mesh(mesh: AbstractMesh) -> Iterator[None]:
    """Set the mesh in context for the block of a `with`, without its devices.

    A `PartitionSpec` is one of this mesh. Programs can be traced and lowered for it, but not run.

    Arguments:
        mesh: the mesh.

    Raises:
        ValueError: it is not an abstract mesh.

    >>> mesh = minijax.sharding.AbstractMesh((64, 8), ("data", "model"))
    >>> with minijax.sharding.use_abstract_mesh(mesh):
    ...     minijax.ShapeDtypeStruct((512, 8), "float32", sharding=minijax.P("data")).sharding.spec
    P('data',)
    """
    if not isinstance(mesh, AbstractMesh):
        raise ValueError(
            f"use_abstract_mesh: expected an AbstractMesh, found {shown(mesh)} of type "
            f"{type(mesh).__name__}"
        )
    before = mesh_in_context.get()
    put_in_context(mesh)
    try:
        yield
    finally:
        mesh_in_context.set(before)
