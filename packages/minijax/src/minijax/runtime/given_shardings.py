"""`in_shardings` and `out_shardings`: the shardings of arguments and results of a function."""

from collections.abc import Callable, Sequence
from typing import Any

from minijax.runtime.array import Array
from minijax.runtime.conversion import type_of
from minijax.runtime.partitioning import Shardings, declared_shardings
from minijax.runtime.staging import ShapeDtypeStruct
from minijax.shardings.sharding import Sharding
from minijax.shardings.trees import entries_for, require_shardings, shardings_for
from minijax_stage2.tree import PyTreeDef


class GivenShardings:
    """The `in_shardings` and `out_shardings` that `jit` was given.

    Arguments:
        in_shardings: for the tuple of positional arguments, or a pytree prefix of it.
        out_shardings: for the result, or a pytree prefix of it.

    Raises:
        TypeError: one holds something other than shardings, specs, devices and None.
    """

    def __init__(self, in_shardings: Any, out_shardings: Any):
        require_shardings("jit", "in_shardings", in_shardings)
        require_shardings("jit", "out_shardings", out_shardings)
        self.in_shardings = in_shardings
        self.out_shardings = out_shardings

    def of_arguments(
        self, name: str, leaves: Sequence[Any], args: Any, names: Callable[[], Sequence[str]]
    ) -> Shardings:
        """The sharding of each leaf of the arguments, None where it is not fixed.

        Raises:
            ValueError: an Array was put elsewhere, or is not divided evenly; numbers of this
                process are to be divided among several.
        """
        given = shardings_for("jit", "in_shardings", self.in_shardings, args)
        given += [None] * (len(leaves) - len(given))  # arguments by keyword
        found = []
        lying = declared_shardings(leaves) or (None,) * len(leaves)
        for number, (x, sharding, lies) in enumerate(zip(leaves, given, lying, strict=True)):
            aval = type_of(x)
            ndim = aval.ndim
            if sharding is not None:
                try:
                    sharding.shard_shape(aval.shape)
                except ValueError as error:
                    what = f"argument {names()[number]}"
                    raise ValueError(f"jit of `{name}`: {what}: {error}") from None
            if lies and sharding and not lies.is_equivalent_to(sharding, ndim):
                raise ValueError(
                    f"jit of `{name}`: in_shardings says {sharding} for argument "
                    f"{names()[number]}, which lies as {lies} says. Bring it there by device_put, "
                    "or leave its sharding out of in_shardings."
                )
            if sharding is not None and _divides_what_is_local(sharding, x):
                raise ValueError(
                    f"jit of `{name}`: in_shardings divides argument {names()[number]} among "
                    f"processes, and it is a {type(x).__name__}, which each process has to itself. "
                    "make_array_from_process_local_data(sharding, x) makes an array of the parts "
                    "of all; device_put(x, sharding) one of a value that is the same in all."
                )
            found.append(lies or sharding)
        return tuple(found)

    def with_refs(self, args: Any, are_refs: Sequence[bool], outer: int) -> "GivenShardings":
        """The shardings of `runtime.refs.program_with_refs`, where arguments are references.

        Arguments:
            args: the positional arguments.
            are_refs: whether each leaf of the arguments is a reference.
            outer: the number of references that are used without being given.
        """
        entries = entries_for("jit", "in_shardings", self.in_shardings, args)
        entries += [None] * (len(are_refs) - len(entries))  # arguments by keyword
        pairs = [*zip(entries, are_refs, strict=True)]
        held = [entry for entry, is_ref in pairs if is_ref] + [None] * outer
        rest = [entry for entry, is_ref in pairs if not is_ref]
        return GivenShardings((held, rest), (held, self.out_shardings))

    def of_results(self, out_tree: PyTreeDef) -> Shardings:
        """The sharding of each leaf of the result, None where it is not fixed."""
        results = out_tree.unflatten(range(out_tree.num_leaves))
        return tuple(shardings_for("jit", "out_shardings", self.out_shardings, results))


def _divides_what_is_local(sharding: Sharding, x: Any) -> bool:
    """Return True if numbers that only this process has are to be divided among several."""
    return not (
        isinstance(x, Array | ShapeDtypeStruct)
        or sharding.is_abstract
        or sharding.is_fully_addressable
        or sharding.is_fully_replicated
    )
