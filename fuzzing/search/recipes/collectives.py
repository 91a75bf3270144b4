"""Collectives, over axes that vmap names."""

from fuzzing.search.arguments import ALL, NUMBERS, REAL, Arguments, Array, call
from fuzzing.search.recipes.forms import Recipe, recipes


def over_an_axis(x: Array, collective: str) -> str:
    """The source of a call for each row of `x`, whose axis is "i"."""
    return f'jax.vmap(lambda x: {collective}, axis_name="i")({x})'


def rows(a: Arguments, kinds: str = ALL, least: int = 1) -> Array:
    return a.array(kinds, ndims=(least, 3), smallest=1)


def reduction(kinds: str) -> Recipe:
    def recipe(a: Arguments, name: str) -> str:
        x = rows(a, kinds)
        if x.ndim > 1 and a.chance(4):
            over_both = call(name, "x", '("i", "j")')
            return over_an_axis(x, f'jax.vmap(lambda x: {over_both}, axis_name="j")(x)')
        return over_an_axis(x, call(name, "x", '"i"'))

    return recipe


def all_gather(a: Arguments, name: str) -> str:
    x = rows(a)
    tiled = x.ndim > 1 and a.chance(3)
    axis = a.number(0, x.ndim - (2 if tiled else 1))
    return over_an_axis(x, call(name, "x", '"i"', axis=axis, tiled=tiled or None))


def all_to_all(a: Arguments, name: str) -> str:
    n = a.one_of(2, 3, 1)
    tiled = a.chance(3)
    sizes = [n * a.number(1, 2) if tiled else n, *a.shape(0, 1)]
    x = a.array(shape=(n, *sizes))
    concat_axis = a.number(0, len(sizes) - 1)
    return over_an_axis(x, call(name, "x", '"i"', 0, concat_axis, tiled=tiled or None))


def psum_scatter(a: Arguments, name: str) -> str:
    n = a.one_of(2, 3, 1)
    tiled = a.chance(3)
    x = a.array(NUMBERS, shape=(n, n * a.number(1, 2) if tiled else n, *a.shape(0, 1)))
    return over_an_axis(x, call(name, "x", '"i"', scatter_dimension=0, tiled=tiled or None))


def pswapaxes(a: Arguments, name: str) -> str:
    n = a.one_of(2, 3, 1)
    return over_an_axis(a.array(shape=(n, n, *a.shape(0, 1))), call(name, "x", '"i"', 0))


def permuted(a: Arguments, name: str) -> str:
    x = rows(a)
    order = a.permutation(x.shape[0])
    pairs = list(zip(order, a.permutation(x.shape[0]), strict=True))
    return over_an_axis(x, call(name, "x", '"i"', order if name == "lax.pshuffle" else pairs))


def of_the_axis(a: Arguments, name: str) -> str:
    return over_an_axis(rows(a), f"(x, {call(name, repr('i'))})")


RECIPES: dict[str, Recipe] = recipes(
    "lax",
    [
        (reduction(ALL), "psum"),
        (reduction(NUMBERS), "pmean"),
        (reduction(REAL), "pmax pmin"),
        (all_gather, "all_gather"),
        (all_to_all, "all_to_all"),
        (psum_scatter, "psum_scatter"),
        (pswapaxes, "pswapaxes"),
        (permuted, "ppermute pshuffle"),
        (of_the_axis, "axis_index axis_size"),
    ],
)
