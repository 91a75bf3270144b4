"""Functions of lax that call functions, and windows."""

from fuzzing.search.arguments import Arguments, call
from fuzzing.search.recipes.forms import Recipe, recipes


def reduce_(a: Arguments, name: str) -> str:
    x = a.array("fi")
    # The start is neutral: how often XLA combines it is left open.
    least = f'jnp.iinfo("{x.dtype}").min' if x.dtype[0] == "i" else "-jnp.inf"
    function, start = a.one_of(
        ("lax.add", 0), ("lax.mul", 1), ("lax.max", least), ("lambda x, y: x + y", 0)
    )
    axes = tuple(a.permutation(x.ndim)[: a.number(0, x.ndim)])
    return call(name, x, f'jnp.array({start}, "{x.dtype}")', function, axes)


def reduce_window(a: Arguments, name: str) -> str:
    x = a.array("fi", ndims=(1, 3))
    function, start = a.one_of(("lax.add", "0"), ("lax.max", "-jnp.inf"), ("lax.min", "jnp.inf"))
    if x.dtype[0] in "iu":
        start = {"0": "0", "-jnp.inf": "jnp.iinfo(x.dtype).min"}.get(
            start, "jnp.iinfo(x.dtype).max"
        )
        start = start.replace("x.dtype", repr(x.dtype))
    window = tuple(a.number(1, 2) for _ in x.shape)
    strides = tuple(a.number(1, 2) for _ in x.shape)
    start = f'jnp.array({start}, "{x.dtype}")'
    return call(name, x, start, function, window, strides, repr(a.one_of("VALID", "SAME")))


def convolution(a: Arguments, name: str) -> str:
    dtype = a.dtype("fi")
    channels, out = a.number(1, 2), a.number(1, 2)
    x = a.array(
        dtype=dtype, shape=(a.number(0, 2), channels, a.number(1, 4), a.number(1, 4)), domain="tame"
    )
    w = a.array(dtype=dtype, shape=(out, channels, a.number(1, 2), a.number(1, 2)), domain="tame")
    padding = repr(a.one_of("VALID", "SAME"))
    if name == "lax.conv_general_dilated":
        options = a.some(lhs_dilation=(1, 2), rhs_dilation=(2, 1))
        return call(name, x, w, (a.number(1, 2), 1), padding, **options)
    if name == "lax.conv_with_general_padding":
        return call(name, x, w, (1, a.number(1, 2)), padding, "None", "None")
    if name == "lax.conv_general_dilated_patches":
        return call(name, x, (2, 1), (1, 1), padding)
    if name == "lax.conv_general_dilated_local":
        sizes = [max(0, x.shape[i] - w.shape[i] + 1) for i in (2, 3)]
        n = channels * w.shape[2] * w.shape[3]
        local = a.array(shape=(out, n, *sizes), dtype=dtype, domain="tame")
        return call(name, x, local, (1, 1), repr("VALID"), w.shape[2:])
    if name == "lax.conv_transpose":
        layout = ("NCHW", "OIHW", "NCHW")
        return call(name, x, w, (a.number(1, 2), 1), padding, dimension_numbers=layout)
    return call(name, x, w, (1, a.number(1, 2)), padding)


def scan(a: Arguments, name: str) -> str:
    xs = a.array("fi", ndims=(1, 3))
    init = a.array(shape=xs.shape[1:], dtype=xs.dtype)
    body = a.one_of(
        "lambda c, x: (c * x, c + x)", "lambda c, x: (c, x > c)", "lambda c, x: (x, None)"
    )
    return call(name, body, init, xs, **a.some(reverse="True", unroll="2"))


def map_(a: Arguments, name: str) -> str:
    xs = a.array(ndims=(1, 3))
    function = a.one_of("lambda x: x * 2", "jnp.sum", "lambda x: (x, 1)")
    return call(name, function, xs, **a.some(batch_size="2"))


def cond(a: Arguments, name: str) -> str:
    x, p = a.array(), a.array("b", shape=())
    one, other = a.one_of(
        ("lambda x: x", "lambda x: x"), ("lambda x: x + x", "lambda x: x * x"),
        ("lambda x: jnp.sum(x)", "lambda x: jnp.sum(x * x)"),
        ("lambda x: (x, 1)", "lambda x: (x, 2)"),
    )  # fmt: skip
    if name == "lax.switch":
        return call(name, a.scalar("i"), f"[{one}, {other}]", x)
    return call(name, p, one, other, x)


def while_loop(a: Arguments, name: str) -> str:
    x = a.array("fi")
    condition, body = "lambda s: s[0] < 3", "lambda s: (s[0] + 1, s[1] * s[1])"
    return call(name, condition, body, f"(0, {x})")


def fori_loop(a: Arguments, name: str) -> str:
    x = a.array("fi")
    upper = a.one_of(2, a.array("i", dtype="int32", shape=(), domain="whole"))
    return call(name, 0, upper, "lambda i, x: x * x", x)


def associative_scan(a: Arguments, name: str) -> str:
    x = a.array(ndims=(1, 3))
    function = a.one_of("jnp.add", "jnp.multiply", "jnp.maximum")
    return call(name, function, x, axis=a.axis(x), **a.some(reverse="True"))


RECIPES: dict[str, Recipe] = recipes(
    "lax",
    [
        (reduce_, "reduce"),
        (reduce_window, "reduce_window"),
        (
            convolution,
            """conv conv_general_dilated conv_with_general_padding conv_transpose
            conv_general_dilated_patches conv_general_dilated_local""",
        ),
        (scan, "scan"),
        (map_, "map"),
        (cond, "cond switch"),
        (while_loop, "while_loop"),
        (fori_loop, "fori_loop"),
        (associative_scan, "associative_scan"),
    ],
)
