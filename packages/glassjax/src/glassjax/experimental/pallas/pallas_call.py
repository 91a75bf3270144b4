"""`pallas_call`: a kernel, run for each program of a grid on blocks of the arrays.

The programs run one after another, in a loop that XLA compiles. Its carry has the results and the
scratch arrays, and each iteration reads the blocks of one program, lets the kernel write to
references that hold them, and writes the blocks back. All of this is made of operations that have
derivatives in both modes: where blocks overlap, the transpose of reading sums their cotangents.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import glassjax_stage2 as stage2
import glassjax_stage3 as stage3
from glassjax.experimental.pallas import grid as grids
from glassjax.experimental.pallas import specs
from glassjax.experimental.pallas.blocks import BlockMapping, block_mapping, uninitialized
from glassjax.lax.control_flow.fori_loop import fori_loop
from glassjax.lax.control_flow.scan import scan
from glassjax.primitives import higher_order
from glassjax.primitives.loops import split_by_sizes
from glassjax.runtime.array import tree_to_arrays
from glassjax.runtime.jit import jit
from glassjax.runtime.named_scope import named_scope
from glassjax.runtime.pipeline import name_and_place_of
from glassjax.runtime.refs import Ref, values_of
from glassjax.settings.names import counted, set_all
from glassjax.settings.number_types import parse_dtype
from glassjax.settings.options import jit_is_disabled
from glassjax_stage2 import Primitive, ShapedArray, tree, typeof
from glassjax_stage2.arguments import require_function
from glassjax_stage2.errors import shown
from glassjax_stage2.source import name_of
from glassjax_stage2.vmap import BatchAxis, BatchDim, move_batch_dim
from glassjax_stage3 import Jaxpr
from glassjax_stage3.executable import cached_by_jaxpr
from glassjax_stage3.staging import trace_to_jaxpr

# The primitive calls the program of the whole loop. `grid` has its sizes, None for a traced one.

pallas_call_p = Primitive("pallas_call", higher_order=True)
_vmap_whole = higher_order.program_vmap(partial(stage2.bind, pallas_call_p))


@cached_by_jaxpr
def _over_batch(jaxpr: Jaxpr, axis: BatchAxis, are_batched: tuple[bool, ...]) -> Jaxpr:
    """The program whose grid has one more axis, the first, for the examples of a batch."""

    def all_examples(*operands: Any) -> list[Any]:
        batched = [x for x, is_batched in zip(operands, are_batched, strict=True) if is_batched]

        def one_example(_: None, examples: Sequence[Any]) -> Any:
            each = iter(examples)
            args = [
                next(each) if is_batched else x
                for x, is_batched in zip(operands, are_batched, strict=True)
            ]
            return None, stage3.eval_jaxpr(jaxpr, [], *args)

        return scan(one_example, None, batched, length=axis.size)[1]

    in_avals = [
        axis.batch(aval, 0 if is_batched else None)
        for aval, is_batched in zip(jaxpr.in_avals, are_batched, strict=True)
    ]
    closed = trace_to_jaxpr(all_examples, in_avals, "staging of vmap", None)
    return closed


def _vmap(
    axis: BatchAxis,
    values: Sequence[Any],
    dims: Sequence[BatchDim],
    /,
    *,
    jaxpr: Jaxpr,
    grid: grids.Sizes,
    name: str,
) -> tuple[list[Any], list[BatchDim]]:
    """One more axis of the grid; whole batches if devices, or collectives, share the axis."""
    if type(axis) is not BatchAxis:
        return _vmap_whole(axis, values, dims, jaxpr=jaxpr, grid=grid, name=name)
    are_batched = tuple(dim is not None for dim in dims)
    first = [
        x if dim is None else move_batch_dim(x, axis, dim, 0)
        for x, dim in zip(values, dims, strict=True)
    ]
    program = _over_batch(jaxpr, axis, are_batched)
    outs = stage2.bind(pallas_call_p, *first, jaxpr=program, grid=(axis.size, *grid), name=name)
    return outs, [0] * len(outs)


higher_order.declare_call(
    pallas_call_p, lower=higher_order.program_lower("pallas_call"), vmap=_vmap
)


def pallas_call(
    kernel: Callable[..., None],
    out_shape: Any,
    *,
    grid_spec: specs.GridSpec | None = None,
    grid: Any = (),
    in_specs: Any = specs.no_block_spec,
    out_specs: Any = specs.no_block_spec,
    scratch_shapes: Any = (),
    input_output_aliases: Mapping[int, int] = {},
    debug: bool = False,
    interpret: Any = False,
    name: str | None = None,
    compiler_params: Any = None,
    cost_estimate: Any = None,
    metadata: Mapping[str, str] | None = None,
) -> Callable[..., Any]:
    """A function of arrays that runs a kernel on blocks of them, once for each program of a grid.

    Kernels are interpreted on every device: the programs run one after another, in row-major order,
    in a loop that XLA compiles. The function can be jitted and differentiated in both modes, where
    JAX has no reverse mode for kernels; `vmap` adds an axis to the grid.

    Arguments:
        kernel: function of references to the blocks: of the arguments, the results and the scratch
            arrays, in this order. It writes the results, and returns None.
        out_shape: a pytree of `ShapeDtypeStruct`: the types of the results.
        grid_spec: in place of `grid`, `in_specs`, `out_specs` and `scratch_shapes`, all four.
        grid: the number of programs along each axis of the grid.
        in_specs: a list with a tree of `BlockSpec` for each argument.
        out_specs: a tree of `BlockSpec` of the structure of `out_shape`.
        scratch_shapes: types of scratch arrays, such as `pl.MemorySpace.ANY((8,), "float32")`.
            They stay from one program to the next, and are uninitialized in the first one.
        input_output_aliases: from numbers of arguments to numbers of results that start with their
            contents. Both count the leaves of trees.
        debug: whether to print the program of the kernel.
        interpret: ignored: kernels are always interpreted.
        name: the name of the kernel in programs, in place of the function's.
        compiler_params, cost_estimate, metadata: ignored.

    Returns:
        A function of pytrees of arrays, which returns the results in a tree like `out_shape`.
        Where no program writes, a result is uninitialized: NaN, or the least integer.

    Raises:
        TypeError: types or specifications are not of their kinds.
        ValueError: `grid_spec` is given besides another of the four, blocks do not fit their
            arrays, structures differ, or aliases have other types.

    >>> from glassjax.experimental import pallas as pl
    >>> def double_kernel(x_ref, y_ref):
    ...     y_ref[...] = 2 * x_ref[...]
    >>> rows = pl.BlockSpec((2,), lambda i: (i,))
    >>> double = pl.pallas_call(
    ...     double_kernel,
    ...     out_shape=glassjax.ShapeDtypeStruct((6,), jnp.float32),
    ...     grid=(3,),
    ...     in_specs=[rows],
    ...     out_specs=rows,
    ... )
    >>> double(jnp.arange(6.0))
    Array([ 0.,  2.,  4.,  6.,  8., 10.], dtype=float32)
    """
    require_function("pallas_call", kernel)
    if grid_spec is None:
        grid_spec = specs.GridSpec(grid, in_specs, out_specs, scratch_shapes)
    else:
        defaults = {
            "grid": (grid, ()),
            "in_specs": (in_specs, specs.no_block_spec),
            "out_specs": (out_specs, specs.no_block_spec),
            "scratch_shapes": (scratch_shapes, ()),
        }
        for given, (value, default) in defaults.items():
            if value is not default and value != default:
                raise ValueError(f"pallas_call: pass either grid_spec or {given}, not both")
    call = KernelCall(
        kernel, out_shape, grid_spec, dict(input_output_aliases), name or name_of(kernel), debug
    )
    traced_sizes = [size for size in grid_spec.grid if not isinstance(size, int)]
    staged = jit(call, inline=True)

    def run_kernel(*args: Any) -> Any:
        return (call if jit_is_disabled() else staged)(traced_sizes, args)

    run_kernel.__name__ = call.name
    return run_kernel


@dataclass(eq=False)
class KernelCall:
    """A `pallas_call`, as a function of the traced sizes of the grid and the arguments."""

    kernel: Callable[..., Any]
    out_shape: Any
    spec: specs.GridSpec
    aliases: Mapping[int, int]
    name: str
    debug: bool

    def __post_init__(self) -> None:
        self.__name__ = self.name  # the name of the jitted call
        self.traced = jit(self.over_grid)  # keeps its programs

    def __call__(self, traced_sizes: Sequence[Any], args: tuple[Any, ...]) -> Any:
        args = stage2.tree_map(_not_weak, tree_to_arrays(args))
        if jit_is_disabled():  # the kernel sees values
            return self.over_grid(traced_sizes, *args)
        jaxpr, operands, finish = higher_order.staged_call(
            "pallas_call", self.traced, (traced_sizes, *args), {}
        )
        if self.debug:
            print(f"pallas_call of `{self.name}`:\n{jaxpr}")
        grid = tuple(size if isinstance(size, int) else None for size in self.spec.grid)
        with named_scope(self.name):
            outs = stage2.bind(pallas_call_p, *operands, jaxpr=jaxpr, grid=grid, name=self.name)
        return finish(outs)

    def over_grid(self, traced_sizes: Sequence[Any], *args: Any) -> Any:
        """The results of the loop over the grid."""
        traced = iter(traced_sizes)
        sizes = [size if isinstance(size, int) else next(traced) for size in self.spec.grid]
        prefetched, rest = split_by_sizes(args, self.spec.num_scalar_prefetch)
        out_types = tuple(self.out_shape) if isinstance(self.out_shape, list) else self.out_shape
        inputs = Windows.of("in_specs", self.spec.in_specs, "args", tuple(rest))
        outputs = Windows.of("out_specs", self.spec.out_specs, "outputs", out_types)
        windows = [*inputs.mappings, *outputs.mappings]
        arrays, numbers = self._arrays(
            tree.tree_leaves(prefetched), tree.tree_leaves(rest), inputs, outputs
        )
        scratch_types, scratch_tree = tree.tree_flatten(self.spec.scratch_shapes)
        scratch = [uninitialized(each.shape, each.dtype) for each in scratch_types]

        def run_program(number: Any, state: tuple[list[Any], list[Any]]) -> Any:
            arrays, scratch = list(state[0]), list(map(Ref, state[1]))
            indices = grids.indices_of(number, sizes)
            with grids.program(indices, sizes, self.spec.grid_names):
                scalars = stage2.tree_map(Ref, prefetched)
                places = [window.place(indices, scalars) for window in windows]
                blocks = [
                    window.read(arrays[which], place)
                    for window, which, place in zip(windows, numbers, places, strict=True)
                ]
                refs = list(map(Ref, blocks))
                in_refs, out_refs = split_by_sizes(refs, len(inputs.mappings))
                self._run_kernel(
                    [*scalars, *tree.tree_unflatten(inputs.structure, in_refs)],
                    tree.tree_unflatten(outputs.structure, out_refs),
                    tree.tree_unflatten(scratch_tree, scratch),
                )
            for window, which, place, block, ref in zip(
                windows, numbers, places, blocks, refs, strict=True
            ):
                if (written := ref.read()) is not block:
                    arrays[which] = window.write(arrays[which], place, written)
            return arrays, values_of(scratch)

        arrays, _ = fori_loop(0, math.prod(sizes), run_program, (arrays, scratch))
        results = zip(outputs.mappings, numbers[len(inputs.mappings) :], strict=True)
        found = [window.unpad(arrays[which]) for window, which in results]
        return tree.tree_unflatten(outputs.structure, found)

    def _run_kernel(self, in_refs: list[Any], out_refs: Any, scratch: Any) -> None:
        if not isinstance(out_refs, tuple | list):
            out_refs = (out_refs,)
        named = scratch if isinstance(scratch, dict) else {}
        returned = self.kernel(*in_refs, *out_refs, *(() if named else scratch), **named)
        if returned is not None:
            raise ValueError(
                f"pallas_call: the kernel {name_and_place_of(self.kernel)} should return None, and "
                f"write its results to its references; it returned {shown(returned)}"
            )

    def _arrays(
        self, prefetched: list[Any], args: list[Any], inputs: Windows, outputs: Windows
    ) -> tuple[list[Any], list[int]]:
        """The padded arrays of the loop, and for each window the number of the array that it is of.

        A result shares the array of the argument that it aliases.
        """
        arrays = [window.pad(x) for window, x in zip(inputs.mappings, args, strict=True)]
        numbers = list(range(len(arrays)))
        aliased = self._aliased(len(prefetched), inputs, outputs)
        for i, window in enumerate(outputs.mappings):
            if i in aliased:
                numbers.append(aliased[i])
            else:
                numbers.append(len(arrays))
                arrays.append(uninitialized(window.padded_shape, window.aval.dtype))
        return arrays, numbers

    def _aliased(self, num_prefetched: int, inputs: Windows, outputs: Windows) -> dict[int, int]:
        """From numbers of results to numbers of the windowed arguments that they alias.

        Raises:
            ValueError: there is no such argument or result, or the two differ in type or padding.
        """
        aliased = {}
        for given, out in self.aliases.items():
            pair = f"pallas_call: input_output_aliases has {given}: {out}, and"
            each = given - num_prefetched
            if not 0 <= each < len(inputs.mappings):
                raise ValueError(
                    f"{pair} {given} is not the number of an argument with a window: these are "
                    f"{num_prefetched} to {num_prefetched + len(inputs.mappings) - 1}"
                )
            if not 0 <= out < len(outputs.mappings):
                raise ValueError(
                    f"{pair} there are {counted(len(outputs.mappings), 'result')}, numbered from 0"
                )
            source, target = inputs.mappings[each], outputs.mappings[out]
            if source.aval != target.aval:
                raise ValueError(
                    f"{pair} {source.role} has type {source.aval}, {target.role} {target.aval}; "
                    "an argument can only be the memory of a result of the same type"
                )
            if source.padding != target.padding:
                raise ValueError(
                    f"{pair} blocks reach beyond the array by {source.padding} in {source.role}, "
                    f"and by {target.padding} in {target.role}; give both the same blocks"
                )
            aliased[out] = each
        return aliased


@dataclass(frozen=True)
class Windows:
    """The block mappings of the arrays in a tree, one for each leaf."""

    structure: tree.PyTreeDef
    mappings: list[BlockMapping]

    @classmethod
    def of(cls, argument: str, given: Any, role: str, types: Any) -> Windows:
        """The windows on a tree of arrays, or of their types, that a tree of `BlockSpec` describes.

        Raises:
            TypeError: a leaf has no shape and dtype, or its specification is not a BlockSpec.
            ValueError: the structures of the two trees differ, or a block's rank.
        """
        leaves, structure = tree.tree_flatten_with_path(types)
        if given is specs.no_block_spec:
            flat = [given] * len(leaves)
        else:
            flat, given_tree = tree.tree_flatten(given)
            if given_tree != structure:
                raise ValueError(
                    f"pallas_call: {argument} must have the structure of the {role}: "
                    f"{stage2.explain_mismatch(given_tree, structure, name=argument)}"
                )
        return cls(
            structure,
            [
                block_mapping(
                    f"{role}{tree.keystr(path)}", _type_of(f"{role}{tree.keystr(path)}", x), spec
                )
                for (path, x), spec in zip(leaves, flat, strict=True)
            ],
        )


def _type_of(role: str, x: Any) -> ShapedArray:
    if not (hasattr(x, "shape") and hasattr(x, "dtype")):
        raise TypeError(
            f"pallas_call: {role} must be an array or its type, such as ShapeDtypeStruct(shape, "
            f"dtype), found {shown(x)} of type {type(x).__name__}"
        )
    return ShapedArray(tuple(x.shape), parse_dtype(f"pallas_call: {role}", x.dtype))


def _not_weak(x: Any) -> Any:
    return stage2.astype(x, typeof(x).dtype) if typeof(x).weak_type else x


set_all(globals())
