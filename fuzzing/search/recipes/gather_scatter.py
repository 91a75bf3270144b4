"""Gather and the scatters, of any dimension numbers, and what is made of them."""

from dataclasses import dataclass

from fuzzing.search.arguments import ALL, NUMBERS, REAL, Arguments, Array, call
from fuzzing.search.recipes.forms import Recipe, recipes


@dataclass
class Slices:
    """Slices of an operand at indices: their sizes and the axes that they lie along."""

    sizes: tuple[int, ...]
    indices: Array
    offset: tuple[int, ...]  # axes of what is gathered, or of the updates
    collapsed: tuple[int, ...]
    starts: tuple[int, ...]
    batching: tuple[int, ...]
    shape: tuple[int, ...]  # of what is gathered, or of the updates

    def numbers(self, kind: str) -> str:
        """The source of their dimension numbers, which are the same for gather and scatter."""
        batching = (self.batching, self.batching) if self.batching else ()
        return call(
            f"lax.{kind}DimensionNumbers", self.offset, self.collapsed, self.starts, *batching
        )


def slices(a: Arguments, x: Array) -> Slices:
    # Axis 0 of the operand may run along with axis 0 of the indices.
    batching = (0,) if x.ndim and a.chance(4) else ()
    others = [axis for axis in range(x.ndim) if axis not in batching]
    sizes = [1 if axis in batching else a.number(0, n) for axis, n in enumerate(x.shape)]
    collapsed = tuple(axis for axis in others if sizes[axis] == 1 and not a.chance(3))
    order = [others[i] for i in a.permutation(len(others))]
    starts = tuple(order[: a.number(0, len(order))])
    places = (*(x.shape[axis] for axis in batching), *a.shape(0, 2))
    indices = a.input(
        a.one_of("int32", "int8", "uint8"), (*places, len(starts)), a.one_of("whole", "tame")
    )
    window = [sizes[axis] for axis in others if axis not in collapsed]
    ndim = len(places) + len(window)
    offset = tuple(sorted(a.permutation(ndim)[: len(window)]))
    along_places, along_window = iter(places), iter(window)
    shape = tuple(next(along_window if i in offset else along_places) for i in range(ndim))
    return Slices(tuple(sizes), indices, offset, collapsed, starts, batching, shape)


def mode(a: Arguments, *options: str) -> dict[str, str]:
    return a.some(mode=lambda: repr(a.one_of(*options)))


def gather(a: Arguments, name: str) -> str:
    x = a.array()
    taken = slices(a, x)
    options = mode(a, "fill", "clip")
    if "fill" in options.get("mode", ""):
        options |= a.some(fill_value="2")
    return call(name, x, taken.indices, taken.numbers("Gather"), taken.sizes, **options)


def scatter(kinds: str) -> Recipe:
    def recipe(a: Arguments, name: str) -> str:
        x = a.array(kinds)
        put = slices(a, x)
        updates = a.array(kinds, shape=put.shape, dtype=x.dtype)
        options = mode(a, "drop", "clip")
        return call(name, x, put.indices, updates, put.numbers("Scatter"), **options)

    return recipe


def scatter_apply(a: Arguments, name: str) -> str:
    x = a.array(NUMBERS)
    put = slices(a, x)
    function = a.one_of("lambda x: x * 2", "jnp.square", "jnp.negative")
    numbers = put.numbers("Scatter")
    return call(name, x, put.indices, function, numbers, update_shape=put.shape)


def index_take(a: Arguments, name: str) -> str:
    x = a.array(ndims=(1, 3), smallest=1)
    axes = tuple(a.permutation(x.ndim)[: a.number(1, x.ndim)])
    n = a.number(0, 3)
    listed = ", ".join(str(a.indices(x.shape[axis], (n,))) for axis in axes)
    return call(name, x, f"[{listed}]", axes)


def segments(kinds: str) -> Recipe:
    def recipe(a: Arguments, name: str) -> str:
        x = a.array(kinds, ndims=(1, 3))
        ids = a.indices(4, (x.shape[0],))
        options = a.some(indices_are_sorted="False", bucket_size="2")
        return call(name, x, ids, num_segments=a.number(1, 4), **options)

    return recipe


RECIPES: dict[str, Recipe] = {
    **recipes(
        "lax",
        [
            (gather, "gather"),
            (scatter(ALL), "scatter"),
            (scatter(NUMBERS), "scatter_add scatter_sub scatter_mul"),
            (scatter(REAL), "scatter_min scatter_max"),
            (scatter_apply, "scatter_apply"),
            (index_take, "index_take"),
        ],
    ),
    **recipes(
        "jax.ops",
        [
            (segments(NUMBERS), "segment_sum segment_prod"),
            (segments(REAL), "segment_max segment_min"),
        ],
    ),
}
