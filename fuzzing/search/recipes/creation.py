"""Functions that create arrays."""

from fuzzing.search.arguments import Arguments, call
from fuzzing.search.recipes.forms import Recipe, recipes


def like(a: Arguments, name: str) -> str:
    x = a.array()
    value = a.array(shape=()) if name == "jnp.full_like" else None
    options = a.some(dtype=lambda: a.quoted_dtype(), shape=lambda: a.shape(0, 2))
    return call(name, x, value, **options)


def of_a_shape(a: Arguments, name: str) -> str:
    value = a.array(shape=()) if name == "jnp.full" else None
    return call(name, a.shape(0, 2), value, **a.some(dtype=lambda: a.quoted_dtype()))


def eye(a: Arguments, name: str) -> str:
    options = {"dtype": lambda: a.quoted_dtype()}
    if name != "jnp.identity":
        options |= {"M": lambda: a.number(0, 4), "k": lambda: a.number(-2, 2)}
    return call(name, a.number(0, 4), **a.some(**options))


def arange(a: Arguments, name: str) -> str:
    bounds = a.one_of("3", "0", "2.5", "1, 4", "4, 1, -1", "0, 1, 0.25", "-2", "5, 0", "np.int8(3)")
    return call(name, bounds, **a.some(dtype=lambda: a.quoted_dtype("fiu")))


def linspace(a: Arguments, name: str) -> str:
    domain = "positive" if name in ("jnp.logspace", "jnp.geomspace") else "tame"
    start = a.array("fic", domain=domain, ndims=(0, 2))
    stop = a.broadcastable(start, "fic", domain)
    options = a.some(endpoint="False", dtype=lambda: a.quoted_dtype("fic"), axis="-1")
    if name == "jnp.linspace":
        options |= a.some(retstep="True")
    return call(name, start, stop, a.number(0, 5), **options)


def meshgrid(a: Arguments, name: str) -> str:
    arrays = [a.array(ndims=(0, 1)) for _ in range(a.number(1, 3))]
    return call(name, *arrays, **a.some(sparse="True", indexing="'ij'"))


def of_a_size(a: Arguments, name: str) -> str:
    return call(name, a.number(0, 5), *(["2.5"] if name == "jnp.kaiser" else []))


def indices_of_a_triangle(a: Arguments, name: str) -> str:
    options = a.some(k=lambda: a.number(-1, 1), m=lambda: a.number(0, 3))
    return call(name, a.number(0, 3), **options)


def diag_indices(a: Arguments, name: str) -> str:
    return call(name, a.number(0, 3), a.number(0, 3))


def indices_of_dimensions(a: Arguments, name: str) -> str:
    return call(name, a.shape(0, 2), **a.some(dtype=lambda: a.quoted_dtype("fi"), sparse="True"))


def astype(a: Arguments, name: str) -> str:
    return call(name, a.array(), a.quoted_dtype())


def array(a: Arguments, name: str) -> str:
    x = a.array()
    what = a.one_of(x, x, f"[{x}, {x}]", "[1, 2.5]", "[[True], [3]]", "[]", "(1, [2], 3)")
    if what == "(1, [2], 3)":
        what = "(1, 2j)"
    options = {"dtype": lambda: a.quoted_dtype()}
    if name == "jnp.array":
        options["ndmin"] = lambda: a.number(0, 3)
    return call(name, what, **a.some(**options))


def vander(a: Arguments, name: str) -> str:
    options = a.some(N=lambda: a.number(0, 4), increasing="True")
    return call(name, a.array(ndims=(1, 1)), **options)


def fromfunction(a: Arguments, name: str) -> str:
    dtype = a.quoted_dtype("fi")
    return call(name, "lambda i, j: i + 2 * j", (a.number(0, 3), a.number(0, 3)), dtype=dtype)


def ix_(a: Arguments, name: str) -> str:
    return call(name, *(a.array("iu", ndims=(1, 1)) for _ in range(a.number(1, 3))))


def mask_indices(a: Arguments, name: str) -> str:
    function = a.one_of("jnp.triu", "jnp.tril")
    return call(name, a.number(0, 3), function, a.number(-1, 1), **a.some(size="4"))


def of_bytes(a: Arguments, name: str) -> str:
    if name == "jnp.fromstring":
        return call(name, repr("1 2 3"), a.quoted_dtype("fi"), sep=repr(" "))
    dtype = repr(a.one_of("uint8", "int16", "float32", "bool"))
    return call(name, "bytes(range(8))", dtype, **a.some(offset="4"))


def isdtype(a: Arguments, name: str) -> str:
    kinds = "bool", "integral", "real floating", "numeric", ("bool", "unsigned integer")
    return call(name, a.quoted_dtype(), repr(a.one_of(*kinds)))


def iterable(a: Arguments, name: str) -> str:
    return call(name, a.one_of(a.array(ndims=(1, 3)), "3", "[1]", "'ab'"))


def named_dtype(a: Arguments, name: str) -> str:
    dtype = a.quoted_dtype()
    if name == "jax.dtypes.issubdtype":
        return call(name, dtype, a.one_of("np.floating", "np.integer", "np.inexact", "np.number"))
    return call(name, a.one_of(dtype, repr("float64"), repr("int64")))


RECIPES: dict[str, Recipe] = recipes(
    "jnp",
    [
        (like, "zeros_like ones_like full_like"),
        (of_a_shape, "zeros ones full"),
        (eye, "eye identity tri"),
        (arange, "arange"),
        (linspace, "linspace logspace geomspace"),
        (meshgrid, "meshgrid"),
        (of_a_size, "bartlett blackman hamming hanning kaiser"),
        (indices_of_a_triangle, "tril_indices triu_indices"),
        (diag_indices, "diag_indices"),
        (indices_of_dimensions, "indices"),
        (astype, "astype"),
        (array, "array asarray"),
        (vander, "vander"),
        (fromfunction, "fromfunction"),
        (ix_, "ix_"),
        (like, "empty_like"),
        (of_a_shape, "empty"),
        (mask_indices, "mask_indices"),
        (of_bytes, "frombuffer fromstring"),
        (isdtype, "isdtype"),
        (iterable, "iterable"),
    ],
) | recipes("jax.dtypes", [(named_dtype, "canonicalize_dtype issubdtype itemsize_bits")])
