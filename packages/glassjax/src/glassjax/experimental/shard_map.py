"""`shard_map`, at its old place and with its old arguments (`jax.experimental.shard_map`)."""

from collections.abc import Callable, Hashable
from typing import Any

from glassjax.parallel.shard_map import shard_map as _shard_map
from glassjax.shardings.mesh import AbstractMesh, Mesh


def shard_map(
    f: Callable[..., Any],
    mesh: Mesh | AbstractMesh,
    in_specs: Any,
    out_specs: Any,
    check_rep: bool = True,
    auto: frozenset[Hashable] = frozenset(),
) -> Callable[..., Any]:
    """`glassjax.shard_map`, with arguments that need not be named.

    Arguments:
        f: function of arrays and pytrees of arrays.
        mesh: the mesh.
        in_specs: as in `glassjax.shard_map`.
        out_specs: as in `glassjax.shard_map`.
        check_rep: its `check_vma`.
        auto: the mesh axes left to the partitioner: all but its `axis_names`.

    >>> from glassjax.experimental.shard_map import shard_map
    >>> mesh = glassjax.make_mesh((1,), ("data",))
    >>> shard_map(lambda x: 2 * x, mesh, glassjax.P("data"), glassjax.P("data"))(jnp.ones(2))
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
