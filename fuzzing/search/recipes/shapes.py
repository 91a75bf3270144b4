"""Functions that rearrange, join, split and pad arrays."""

from fuzzing.search.arguments import ALL, Arguments, call
from fuzzing.search.recipes.forms import Recipe, along_axis, recipes


def reshape(a: Arguments, name: str) -> str:
    x = a.array()
    shape = a.factored(x.size)
    if x.size and shape and a.chance(3):
        shape = (-1, *shape[1:])
    return call(name, x, shape, **a.some(order=lambda: repr(a.one_of("F", "C"))))


def resize(a: Arguments, name: str) -> str:
    return call(name, a.array(), a.shape(0, 2))


def of_arrays(axis: bool, dtype: bool = False) -> Recipe:
    """Of a list of arrays of one shape."""

    def recipe(a: Arguments, name: str) -> str:
        x = a.array(ndims=(1, 3))
        others = [a.array(shape=x.shape) for _ in range(a.number(0, 2))]
        options = {"dtype": lambda: a.quoted_dtype()} if dtype else {}
        listed = f"[{', '.join(map(str, [x, *others]))}]"
        if axis:
            return call(name, listed, axis=a.some_axis(x), **a.some(**options))
        return call(name, listed, **a.some(**options))

    return recipe


def append(a: Arguments, name: str) -> str:
    x = a.array(ndims=(1, 3))
    return call(name, x, a.array(shape=x.shape), axis=a.some_axis(x))


def starred(a: Arguments, name: str) -> str:
    return call(name, *(a.array() for _ in range(a.number(1, 3))))


def broadcast_arrays(a: Arguments, name: str) -> str:
    x = a.array()
    return call(name, x, *(a.broadcastable(x) for _ in range(a.number(0, 2))))


def broadcast_to(a: Arguments, name: str) -> str:
    x = a.array()
    return call(name, x, (*a.shape(0, 2), *(a.one_of(2, 3, 0) if n == 1 else n for n in x.shape)))


def expand_dims(a: Arguments, name: str) -> str:
    x = a.array()
    return call(name, x, a.one_of(0, -1, (0, 1), ()))


def squeeze(a: Arguments, name: str) -> str:
    x = a.array()
    ones = tuple(i for i, n in enumerate(x.shape) if n == 1)
    return call(name, x, axis=a.one_of(None, ones, *ones))


def swapaxes(a: Arguments, name: str) -> str:
    x = a.array(ndims=(1, 3))
    return call(name, x, a.axis(x), a.axis(x))


def transpose(a: Arguments, name: str) -> str:
    x = a.array()
    axes = tuple(a.permutation(x.ndim))
    return call(name, x, None if name == "jnp.transpose" and a.chance(3) else axes)


def rollaxis(a: Arguments, name: str) -> str:
    x = a.array(ndims=(1, 3))
    return call(name, x, a.axis(x), a.number(0, x.ndim))


def matrices_of_any_dtype(kinds: str = ALL, **options: str) -> Recipe:
    def recipe(a: Arguments, name: str) -> str:
        x = a.array(kinds, ndims=(2, 3))
        return call(name, x, **a.some(**{key: lambda: a.number(-2, 2) for key in options}))

    return recipe


def rot90(a: Arguments, name: str) -> str:
    x = a.array(ndims=(2, 3))
    return call(name, x, a.number(-1, 4), **a.some(axes=lambda: tuple(a.permutation(x.ndim)[:2])))


def flip(a: Arguments, name: str) -> str:
    x = a.array()
    return call(name, x, axis=a.axes(x))


def roll(a: Arguments, name: str) -> str:
    x = a.array()
    axis = a.axes(x)
    if isinstance(axis, tuple):
        shift = a.one_of(1, tuple(a.number(-3, 3) for _ in axis))
    else:
        shift = a.one_of(1, -2, 5, a.array("i", shape=(), domain="tame"))
    return call(name, x, shift, axis)


def repeat(a: Arguments, name: str) -> str:
    x = a.array(ndims=(1, 3))
    axis = a.some_axis(x)
    size = x.size if axis is None else x.shape[axis]
    if a.chance(2):
        return call(name, x, a.number(0, 3), axis=axis)
    repeats = a.input("int32", (size,), "whole", constant=a.chance(2))
    return call(name, x, repeats, axis=axis, total_repeat_length=a.number(0, 6))


def tile(a: Arguments, name: str) -> str:
    return call(name, a.array(), a.one_of(2, (2, 1), (), (0, 2), (1, 2, 2), 0))


def pad(a: Arguments, name: str) -> str:
    x = a.array()
    mode = a.one_of(
        "constant", "edge", "reflect", "symmetric", "wrap", "linear_ramp", "maximum", "mean",
        "median", "minimum", "empty",
    )  # fmt: skip
    width = a.one_of(1, (1, 2), tuple((a.number(0, 3), a.number(0, 3)) for _ in x.shape), 0)
    options = {}
    if mode == "constant":
        options = a.some(constant_values=lambda: a.one_of(1, 2.5, (1, 2)))
    elif mode in ("reflect", "symmetric"):
        options = a.some(reflect_type="'odd'")
    elif mode == "linear_ramp":
        options = a.some(end_values=lambda: a.one_of(1, (1, 2)))
    elif mode not in ("edge", "wrap", "empty"):
        options = a.some(stat_length=lambda: a.one_of(1, 2, (1, 2)))
    return call(name, x, width, repr(mode), **options)


def split(a: Arguments, name: str) -> str:
    least = {"jnp.hsplit": 1, "jnp.vsplit": 2, "jnp.dsplit": 3}.get(name, 1)
    x = a.array(ndims=(least, 3))
    sections = a.one_of(1, 2, (1,), (1, 2), (), (0, 9))
    takes_an_axis = name in ("jnp.split", "jnp.array_split")
    return call(name, x, sections, axis=a.some_axis(x) if takes_an_axis else None)


def diag(a: Arguments, name: str) -> str:
    return call(name, a.array(ndims=(1, 2)), **a.some(k=lambda: a.number(-2, 2)))


def diagonal(a: Arguments, name: str) -> str:
    x = a.array(ndims=(2, 3))
    options = a.some(offset=lambda: a.number(-2, 2))
    if a.chance(2):
        first, second = a.permutation(x.ndim)[:2]
        options |= {"axis1": first, "axis2": second}
    if name == "jnp.trace":
        options |= a.some(dtype=lambda: a.quoted_dtype("fic"))
    return call(name, x, **options)


def packbits(a: Arguments, name: str) -> str:
    x = a.array("bu", ndims=(1, 2))
    return call(name, x, axis=a.some_axis(x), **a.some(bitorder="'little'"))


def unpackbits(a: Arguments, name: str) -> str:
    x = a.array("u", dtype="uint8", ndims=(1, 2))
    return call(name, x, axis=a.some_axis(x), **a.some(bitorder="'little'", count="5"))


def unwrap(a: Arguments, name: str) -> str:
    x = a.array("fi", ndims=(1, 3))
    return call(name, x, axis=a.some_axis(x), **a.some(period="2.5", discont="1.0"))


def apply_along_axis(a: Arguments, name: str) -> str:
    x = a.array(ndims=(1, 3))
    function = a.one_of("jnp.sum", "jnp.cumsum", "jnp.sort", "lambda row: row[:1] * 2")
    return call(name, function, a.axis(x), x)


def apply_over_axes(a: Arguments, name: str) -> str:
    x = a.array(ndims=(1, 3))
    return call(name, "jnp.sum", x, a.permutation(x.ndim)[: a.number(1, x.ndim)])


def block(a: Arguments, name: str) -> str:
    x = a.array(ndims=(2, 2))
    return call(name, f"[[{x}, {a.array(shape=x.shape)}], [{x}, {x}]]")


# The arguments of methods of arrays, as sources; others are called without any.
METHODS = {
    "all": ("", "0"),
    "any": ("", "axis=-1"),
    "argmax": ("", "0"),
    "argmin": ("", "-1"),
    "argpartition": ("0",),
    "argsort": ("", "descending=True"),
    "astype": ("'float32'", "'int8'"),
    "choose": ("[1, 2.5], mode='clip'",),
    "clip": ("0, 1", "max=2"),
    "compress": ("np.array([True]), 0",),
    "cumprod": ("0",),
    "cumsum": ("0",),
    "diagonal": ("", "1"),
    "dot": ("2",),
    "max": ("", "-1"),
    "mean": ("", "0"),
    "min": ("", "-1, keepdims=True"),
    "nonzero": ("", "size=2"),
    "prod": ("", "0"),
    "ptp": ("", "0"),
    "repeat": ("2", "2, 0, total_repeat_length=3"),
    "reshape": ("-1", "1, -1"),
    "round": ("", "1"),
    "searchsorted": ("2", "jnp.array([0, 3]), side='right'"),
    "sort": ("", "0"),
    "std": ("", "0, ddof=1"),
    "sum": ("", "0, keepdims=True"),
    "swapaxes": ("0, -1",),
    "take": ("0", "jnp.array([0, 1]), 0, mode='clip'"),
    "trace": ("", "1"),
    "transpose": ("", "-1"),
    "var": ("", "0"),
    "view": ("'int8'", "'uint16'"),
} | dict.fromkeys(("conj", "flatten", "item", "ravel", "squeeze"), ("",))


def method(a: Arguments, name: str) -> str:
    last = name.rpartition(".")[2]
    arguments = a.one_of(*METHODS[last])
    if last == "choose":
        x = a.indices(2)
    elif last == "item":
        x = a.array(shape=(1,) * a.number(0, 2))
    else:
        x = a.array(ndims=(1, 1 if last in ("searchsorted", "transpose") else 3))
    make = "jnp.sort" if last == "searchsorted" else "jnp.asarray"
    return f"{make}({x}).{last}({arguments})"


def attribute(a: Arguments, name: str) -> str:
    return f"jnp.asarray({a.array(ndims=(1, 3))}).{name.rpartition('.')[2]}"


RECIPES: dict[str, Recipe] = recipes(
    "jnp",
    [
        (reshape, "reshape"),
        (resize, "resize"),
        (of_arrays(True, True), "concatenate stack"),
        (of_arrays(True), "concat"),
        (of_arrays(False, True), "vstack hstack dstack"),
        (of_arrays(False), "column_stack"),
        (append, "append"),
        (broadcast_arrays, "broadcast_arrays"),
        (broadcast_to, "broadcast_to"),
        (expand_dims, "expand_dims"),
        (squeeze, "squeeze"),
        (swapaxes, "swapaxes moveaxis"),
        (transpose, "transpose permute_dims"),
        (rollaxis, "rollaxis"),
        (matrices_of_any_dtype(), "fliplr flipud"),
        (matrices_of_any_dtype(k=""), "tril triu"),
        (matrices_of_any_dtype(), "diag_indices_from"),
        (rot90, "rot90"),
        (flip, "flip"),
        (roll, "roll"),
        (repeat, "repeat"),
        (tile, "tile"),
        (pad, "pad"),
        (split, "split array_split hsplit vsplit dsplit"),
        (along_axis(), "unstack"),
        (diag, "diag diagflat"),
        (diagonal, "diagonal trace"),
        (matrices_of_any_dtype(k=""), "tril_indices_from triu_indices_from"),
        (packbits, "packbits"),
        (unpackbits, "unpackbits"),
        (unwrap, "unwrap"),
        (apply_along_axis, "apply_along_axis"),
        (apply_over_axes, "apply_over_axes"),
        (block, "block"),
        (method, " ".join(f"ndarray.{name}" for name in METHODS)),
        (attribute, "ndarray.T ndarray.mT ndarray.real ndarray.imag"),
    ],
)
