"""Examples of the laws for indexing primitives: operand types and parameters."""

import numpy as np

from glassjax import default_backend, lax
from glassjax.core import ShapedArray
from glassjax.lax import GatherScatterMode

F64, C128, I32, U8 = map(np.dtype, ("float64", "complex128", "int32", "uint8"))
CLIP, DROP = GatherScatterMode.CLIP, GatherScatterMode.FILL_OR_DROP
PROMISED = GatherScatterMode.PROMISE_IN_BOUNDS

# Of an array, of indices, of updates; the dimension numbers, and the sizes of a slice. Indices that
# the law draws are 1 to 4: some of them are out of bounds.
PLACES = {
    "rows": ((5, 3), (4, 1), (4, 3), ((1,), (0,), (0,)), (1, 3)),
    "windows": ((6, 3), (2, 1), (2, 2, 3), ((1, 2), (), (0,)), (2, 3)),
    "elements": ((3, 4), (5, 2), (5,), ((), (0, 1), (0, 1)), (1, 1)),
    "batches": ((2, 5, 3), (2, 4, 1), (2, 4, 3), ((2,), (1,), (1,), (0,), (0,)), (1, 1, 3)),
}


def gathers():
    kinds = (DROP, F64, I32), (CLIP, C128, U8), (PROMISED, I32, I32)
    for place, (shape, indices, _, numbers, sizes) in PLACES.items():
        for mode, dtype, index_dtype in kinds if place == "rows" else kinds[:1]:
            params = {
                "dimension_numbers": lax.GatherDimensionNumbers(*numbers),
                "slice_sizes": sizes,
                "unique_indices": False,
                "indices_are_sorted": False,
                "mode": mode,
                "fill_value": 0 if mode is DROP else None,
            }
            yield (ShapedArray(shape, dtype), ShapedArray(indices, index_dtype)), params


def scatters(is_ordered, is_exclusive):
    """Of scatters whose numbers have an order, or whose derivative needs updates apart."""
    kinds = (DROP, F64), (CLIP, I32 if is_ordered else C128)
    for place, (shape, indices, updates, numbers, _) in PLACES.items():
        for mode, dtype in kinds if place == "rows" else kinds[:1]:
            is_unique = is_exclusive and dtype != I32
            count = int(np.prod(indices[:-1]))
            if is_unique and count > 1:  # the law draws indices that are not unique
                indices, updates = _one_of(indices, updates, numbers)
            params = {
                "dimension_numbers": lax.ScatterDimensionNumbers(*numbers),
                "indices_are_sorted": False,
                "unique_indices": is_unique,
                "mode": mode,
            }
            avals = (
                ShapedArray(shape, dtype),
                ShapedArray(indices, I32),
                ShapedArray(updates, dtype),
            )
            yield avals, params


def _one_of(indices, updates, numbers):
    """Shapes with one index for each batch."""
    batch_axes = [axis for axis in range(len(updates)) if axis not in numbers[0]]
    along = numbers[4] if len(numbers) > 3 else ()
    sizes = {axis: 1 for i, axis in enumerate(batch_axes) if i not in along}
    indices = tuple(
        1 if i < len(indices) - 1 and i not in along else n for i, n in enumerate(indices)
    )
    return indices, tuple(sizes.get(axis, n) for axis, n in enumerate(updates))


def dynamic_slices():
    for shape, sizes in [((5,), (2,)), ((4, 3), (2, 3)), ((), ())]:
        for dtype in (F64, C128, I32):
            starts = [ShapedArray((), I32)] * len(shape)
            yield (ShapedArray(shape, dtype), *starts), {"slice_sizes": sizes}


def dynamic_update_slices():
    for (x, *starts), params in dynamic_slices():
        yield (x, ShapedArray(params["slice_sizes"], x.dtype), *starts), {}


def revs():
    for shape, dimensions in [((5,), (0,)), ((2, 3), (1, 0)), ((2, 3), ()), ((), ())]:
        for dtype in (F64, C128, U8):
            yield (ShapedArray(shape, dtype),), {"dimensions": dimensions}


def squeezes():
    for shape, dimensions in [((1,), (0,)), ((2, 1, 3), (1,)), ((1, 2, 1), (0, 2)), ((2,), ())]:
        for dtype in (F64, C128, U8):
            yield (ShapedArray(shape, dtype),), {"dimensions": dimensions}


def of(name):
    """The examples of the primitive of this name; none where it does not index."""
    if name.startswith("scatter") and name != "scatter_apply":
        is_ordered = name in ("scatter-min", "scatter-max")
        # Where updates meet on a GPU, any may stay: programs need not agree.
        any_stays = name == "scatter" and default_backend() != "cpu"
        return scatters(is_ordered, name == "scatter-mul" or any_stays)
    families = {
        "gather": gathers,
        "dynamic_slice": dynamic_slices,
        "dynamic_update_slice": dynamic_update_slices,
        "rev": revs,
        "squeeze": squeezes,
    }
    return families[name]() if name in families else ()
