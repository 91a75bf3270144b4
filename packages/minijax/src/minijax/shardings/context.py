"""The mesh in context: the mesh of every `PartitionSpec` that is given without one."""

import numpy as np

from minijax.shardings.mesh import (
    AbstractMesh,
    Mesh,
    mesh_in_context,
    mesh_of_programs,
    put_in_context,
)
from minijax_stage2.shown import shown


class set_mesh:
    """Set the mesh in context, for good or for the block of a `with`.

    Programs run on its devices. A `PartitionSpec` is one of this mesh.

    Arguments:
        mesh: the mesh.

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
        put_in_context(mesh)
        mesh_of_programs.set(mesh)

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
    return mesh_in_context.get() or Mesh(np.empty((), dtype=object), ())


def get_abstract_mesh() -> AbstractMesh:
    """The axes of the mesh in context; none if no mesh is set.

    >>> minijax.sharding.get_abstract_mesh().empty
    True
    """
    mesh = mesh_in_context.get()
    return AbstractMesh((), ()) if mesh is None else mesh.abstract_mesh
