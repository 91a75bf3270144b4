"""Indexing, updates, and taking by indices."""

from fuzzing.search.arguments import Arguments, Array, call
from fuzzing.search.recipes.forms import Recipe, recipes


def take(a: Arguments, name: str) -> str:
    x = a.array(ndims=(1, 3))
    axis = a.some_axis(x)
    indices = a.indices(x.size if axis is None else x.shape[axis])
    options = a.some(mode=lambda: repr(a.one_of("clip", "wrap", "fill")))
    return call(name, x, indices, axis=axis, **options)


def take_along_axis(a: Arguments, name: str) -> str:
    x = a.array(ndims=(1, 3))
    axis = a.axis(x)
    shape = list(x.shape)
    shape[axis] = a.number(0, 3)
    options = a.some(mode=lambda: repr(a.one_of("clip", "fill")))
    return call(name, x, a.indices(x.shape[axis], shape), axis=axis, **options)


def put_along_axis(a: Arguments, name: str) -> str:
    x = a.array("fi", ndims=(1, 3))
    axis = a.axis(x)
    indices = a.indices(
        x.shape[axis], [1 if i == axis % x.ndim else n for i, n in enumerate(x.shape)]
    )
    return call(name, x, indices, a.array("fi", shape=()), axis, inplace=False)


def put(a: Arguments, name: str) -> str:
    x = a.array()
    n = a.number(1, 3)
    values = a.array(shape=a.one_of((), (n,), (2,)))
    options = a.some(mode=lambda: repr(a.one_of("clip", "wrap")))
    return call(name, x, a.indices(x.size, (n,)), values, inplace=False, **options)


def place(a: Arguments, name: str) -> str:
    x = a.array()
    return call(name, x, a.array("b", shape=x.shape), a.array(shape=(2,)), inplace=False)


def fill_diagonal(a: Arguments, name: str) -> str:
    x = a.array(ndims=(2, 2))
    return call(name, x, a.array(shape=a.one_of((), (2,))), inplace=False, **a.some(wrap="True"))


def compress(a: Arguments, name: str) -> str:
    x = a.array(ndims=(1, 3))
    axis = a.some_axis(x)
    size = x.size if axis is None else x.shape[axis]
    return call(name, a.array("b", shape=(size,), constant=a.chance(2)), x, axis=axis, size=2)


def extract(a: Arguments, name: str) -> str:
    x = a.array()
    return call(name, a.array("b", shape=x.shape), x, **a.some(size=2, fill_value=7))


def unravel_index(a: Arguments, name: str) -> str:
    return call(name, a.indices(6), a.one_of((2, 3), (6,), (1, 3, 2)))


def ravel_multi_index(a: Arguments, name: str) -> str:
    mode = a.one_of("clip", "wrap")
    n = a.number(0, 3)
    return call(name, f"({a.indices(2, (n,))}, {a.indices(3, (n,))})", (2, 3), mode=repr(mode))


def insert(a: Arguments, name: str) -> str:
    x = a.array(ndims=(1, 3))
    axis = a.some_axis(x)
    size = x.size if axis is None else x.shape[axis]
    where = a.one_of(0, -1, a.indices(size, (2,)), a.indices(size, ()))
    return call(name, x, where, a.array(shape=()), axis=axis)


def delete(a: Arguments, name: str) -> str:
    x = a.array(ndims=(1, 3))
    axis = a.some_axis(x)
    size = x.size if axis is None else x.shape[axis]
    what = a.one_of(0, -1, "slice(0, 2)", "np.array([0])", a.indices(size, (2,)))
    options = a.some(assume_unique_indices="True")
    return call(name, x, what, axis=axis, **options)


def trim_zeros(a: Arguments, name: str) -> str:
    return call(name, a.array(ndims=(1, 1)), **a.some(trim=lambda: repr(a.one_of("f", "b"))))


def indexing(a: Arguments, name: str) -> str:
    x = a.array(ndims=(1, 3))
    return f"{x}[{index(a, x)}]"


def index(a: Arguments, x: Array) -> str:
    parts = []
    for size in x.shape[: a.number(1, x.ndim)]:
        part = a.one_of(
            "0", ":", "-1", "1:", "::-1", "None, :", a.indices(size, (2,)), a.indices(size, ()),
            ":-1", "::2",
        )  # fmt: skip
        parts.append(str(part))
    if a.chance(5):
        parts.insert(a.number(0, len(parts)), "...")
    return ", ".join(parts)


UPDATES = "set add multiply mul min max subtract divide power apply get"


def updating(a: Arguments, name: str) -> str:
    method = name.rpartition(".")[2]
    x = a.array("fiu", ndims=(1, 3))
    at = f"{x}.at[{index(a, x)}]"
    options = a.some(mode=lambda: repr(a.one_of("drop", "clip", "wrap", "fill")))
    if method == "get":
        return call(f"{at}.get", **options, **a.some(fill_value="2"))
    values = "jnp.square" if method == "apply" else a.array("fiu", shape=())
    return call(f"{at}.{method}", values, **options)


RECIPES: dict[str, Recipe] = recipes(
    "jnp",
    [
        (take, "take"),
        (take_along_axis, "take_along_axis"),
        (put_along_axis, "put_along_axis"),
        (put, "put"),
        (place, "place"),
        (fill_diagonal, "fill_diagonal"),
        (compress, "compress"),
        (extract, "extract"),
        (unravel_index, "unravel_index"),
        (ravel_multi_index, "ravel_multi_index"),
        (insert, "insert"),
        (delete, "delete"),
        (trim_zeros, "trim_zeros"),
        (indexing, "ndarray.__getitem__"),
        (updating, " ".join(f"ndarray.at.{name}" for name in UPDATES.split())),
    ],
)
