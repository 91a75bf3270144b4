"""Sorting, searching and sets."""

from fuzzing.search.arguments import ALL, Arguments, call
from fuzzing.search.recipes.forms import Recipe, recipes


def with_size(kinds: str = ALL, fill_value: bool = True, least: int = 0) -> Recipe:
    """Of an array, to a result whose size depends on values unless it is given."""

    def recipe(a: Arguments, name: str) -> str:
        x = a.array(kinds, ndims=(least, 3))
        options = {"size": a.number(0, 4)} if a.chance(2) else {}
        if options and fill_value:
            options |= a.some(fill_value="1")
        return call(name, x, **options)

    return recipe


def of_two_sets(a: Arguments, name: str) -> str:
    x, y = a.array(), a.array()
    options = {"size": a.number(0, 4)} if a.chance(2) else {}
    return call(name, x, y, **options)


def unique(a: Arguments, name: str) -> str:
    x = a.array()
    options = a.some(return_index="True", return_inverse="True", return_counts="True")
    options |= a.some(axis=lambda: a.axis(x), equal_nan="False")
    if a.chance(2):
        options |= {"size": a.number(0, 4)}
    return call(name, x, **options)


def isin(a: Arguments, name: str) -> str:
    return call(name, a.array(), a.array(), **a.some(invert="True", assume_unique="True"))


def searchsorted(a: Arguments, name: str) -> str:
    bins = f"jnp.sort({a.array('fiu', ndims=(1, 1))})"
    options = a.some(
        side="'right'",
        method=lambda: repr(a.one_of("scan", "sort", "compare_all", "scan_unrolled")),
    )
    return call(name, bins, a.array("fiu"), **options)


def digitize(a: Arguments, name: str) -> str:
    bins = f"jnp.sort({a.array('fiu', ndims=(1, 1))})"
    return call(name, a.array("fiu"), bins, **a.some(right="True"))


def sort(a: Arguments, name: str) -> str:
    x = a.array(ndims=(1, 3))
    options = a.some(axis=lambda: a.one_of("None", a.axis(x)), descending="True")
    return call(name, x, **options, **a.some(stable="False" if name == "jnp.sort" else "True"))


def lexsort(a: Arguments, name: str) -> str:
    x = a.array(ndims=(1, 2))
    return call(name, f"[{x}, {a.array(shape=x.shape)}]", axis=a.some_axis(x))


def partition(a: Arguments, name: str) -> str:
    x = a.array("fiu", ndims=(1, 3), smallest=1)
    axis = a.axis(x)
    return call(name, x, a.number(0, x.shape[axis] - 1), axis=axis)


def interp(a: Arguments, name: str) -> str:
    n = a.number(1, 3)
    xp = f"jnp.arange({n}, dtype={a.quoted_dtype('fi')})"
    fp = a.array("fic", shape=(n,))
    options = a.some(left="-1.0", right="7.0")
    return call(name, a.array("fi"), xp, fp, **options, **a.some(period="2.5"))


RECIPES: dict[str, Recipe] = recipes(
    "jnp",
    [
        (with_size(), "argwhere flatnonzero unique_values unique_counts unique_inverse unique_all"),
        (with_size(least=1), "nonzero"),
        (of_two_sets, "intersect1d setdiff1d setxor1d union1d"),
        (unique, "unique"),
        (isin, "isin"),
        (searchsorted, "searchsorted"),
        (digitize, "digitize"),
        (sort, "sort argsort"),
        (lexsort, "lexsort"),
        (partition, "partition argpartition"),
        (interp, "interp"),
    ],
)
