"""`shard_map`, at its old place and with its old arguments (`jax.experimental.shard_map`)."""

from collections.abc import Callable, Hashable
from typing import Any

from minijax.parallel.shard_map import shard_map as _shard_map
from minijax.shardings.mesh import AbstractMesh, Mesh


def shard_map(
    f: Callable[..., Any],
    mesh: Mesh | AbstractMesh,
    in_specs: Any,
    out_specs: Any,
    check_rep: bool = True,
    auto: frozenset[Hashable] = frozenset(),
) -> Callable[..., Any]:
    """`minijax.shard_map`, with arguments that need not be named.

    Arguments:
        f: function of arrays and pytrees of arrays.
        mesh: the mesh.
        in_specs: as in `minijax.shard_map`.
        out_specs: as in `minijax.shard_map`.
        check_rep: its `check_vma`.
        auto: the mesh axes left to the partitioner: all but its `axis_names`.

    >>> from minijax.experimental.shard_map import shard_map
    >>> mesh = minijax.make_mesh((1,), ("data",))
    >>> shard_map(lambda x: 2 * x, mesh, minijax.P("data"), minijax.P("data"))(jnp.ones(2))
    Array([2., 2.], dtype=float32)
    """
    return _shard_map(
        f,
        mesh=mesh,
        in_specs=in_specs,
        out_specs=out_specs,
        check_vma=check_rep,
        axis_names=frozenset(mesh.axis_names) - auto,
    )


__all__ = ["shard_map"]
