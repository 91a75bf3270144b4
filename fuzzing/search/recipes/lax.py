"""Functions of lax, which promote nothing."""

from fuzzing.search.arguments import ALL, NUMBERS, REAL, Arguments, Array, call
from fuzzing.search.recipes.forms import Recipe, recipes, same_types, unary


def convert(a: Arguments, name: str) -> str:
    return call(name, a.array(), a.quoted_dtype())


def bitcast(a: Arguments, name: str) -> str:
    x = a.array("fiu")
    return call(name, x, a.quoted_dtype("fiu"))


def clamp(a: Arguments, name: str) -> str:
    x = a.array()
    if a.chance(2):
        return call(name, a.input(x.dtype, ()), x, a.input(x.dtype, ()))
    return call(name, a.same_type(x), x, a.same_type(x))


def integer_pow(a: Arguments, name: str) -> str:
    return call(name, a.array(NUMBERS), a.number(-3, 4))


def power(a: Arguments, name: str) -> str:
    x = a.array("fc")
    return call(name, x, a.array("i", shape=x.shape) if a.chance(3) else a.same_type(x))


def select_n(a: Arguments, name: str) -> str:
    x = a.array()
    if name == "lax.select" or a.chance(2):
        return call(name, a.array("b", shape=x.shape), x, a.same_type(x))
    return call(name, a.indices(3, x.shape), x, a.same_type(x), a.same_type(x))


def over_axes(kinds: str) -> Recipe:
    def recipe(a: Arguments, name: str) -> str:
        x = a.array(kinds)
        return call(name, x, tuple(a.permutation(x.ndim)[: a.number(0, x.ndim)]))

    return recipe


def cumulative(kinds: str) -> Recipe:
    def recipe(a: Arguments, name: str) -> str:
        x = a.array(kinds, ndims=(1, 3))
        return call(name, x, a.number(0, x.ndim - 1), **a.some(reverse="True"))

    return recipe


def arg_of_extreme(a: Arguments, name: str) -> str:
    x = a.array(REAL, ndims=(1, 3), smallest=1)
    return call(name, x, a.number(0, x.ndim - 1), a.quoted_dtype("iu"))


def broadcast(a: Arguments, name: str) -> str:
    return call(name, a.array(), a.shape(0, 2))


def broadcast_in_dim(a: Arguments, name: str) -> str:
    x = a.array(ndims=(0, 2))
    before, after = a.shape(0, 1), a.shape(0, 1)
    dimensions = tuple(range(len(before), len(before) + x.ndim))
    return call(name, x, (*before, *x.shape, *after), dimensions)


def reshape(a: Arguments, name: str) -> str:
    x = a.array()
    return call(name, x, a.factored(x.size))


def transpose(a: Arguments, name: str) -> str:
    x = a.array()
    return call(name, x, tuple(a.permutation(x.ndim)))


def reverse(a: Arguments, name: str) -> str:
    x = a.array()
    return call(name, x, tuple(a.permutation(x.ndim)[: a.number(0, x.ndim)]))


def squeeze(a: Arguments, name: str) -> str:
    x = a.array()
    return call(name, x, tuple(i for i, n in enumerate(x.shape) if n == 1))


def expand_dims(a: Arguments, name: str) -> str:
    return call(name, a.array(), a.one_of((0,), (-1,), (0, 1), ()))


def concatenate(a: Arguments, name: str) -> str:
    x = a.array(ndims=(1, 3))
    axis = a.number(0, x.ndim - 1)
    return call(name, f"[{', '.join(str(a.same_type(x)) for _ in range(a.number(1, 3)))}]", axis)


def pad(a: Arguments, name: str) -> str:
    x = a.array()
    config = [(a.number(-1, 2), a.number(-1, 2), a.number(0, 2)) for _ in x.shape]
    return call(name, x, a.input(x.dtype, ()), config)


def bounds(a: Arguments, x: Array) -> tuple[list[int], list[int]]:
    starts = [a.number(0, n) for n in x.shape]
    return starts, [a.number(start, n) for start, n in zip(starts, x.shape, strict=True)]


def slice_(a: Arguments, name: str) -> str:
    x = a.array()
    starts, limits = bounds(a, x)
    strides = [a.number(1, 2) for _ in x.shape] if a.chance(3) else None
    return call(name, x, starts, limits, strides)


def slice_in_dim(a: Arguments, name: str) -> str:
    x = a.array(ndims=(1, 3))
    start, limit = a.one_of(None, 0, 1, -1), a.one_of("None", 2, -1)
    return call(name, x, start or 0, limit, a.number(1, 2), axis=a.axis(x))


def dynamic_slice(a: Arguments, name: str) -> str:
    x = a.array(ndims=(1, 3))
    starts = ", ".join(str(a.scalar("i")) for _ in x.shape)
    return call(name, x, f"[{starts}]", [a.number(0, n) for n in x.shape])


def dynamic_update_slice(a: Arguments, name: str) -> str:
    x = a.array(ndims=(1, 3))
    update = a.array(shape=[a.number(0, n) for n in x.shape], dtype=x.dtype)
    return call(name, x, update, f"[{', '.join(str(a.scalar('i')) for _ in x.shape)}]")


def dynamic_slice_in_dim(a: Arguments, name: str) -> str:
    x = a.array(ndims=(1, 3))
    axis = a.axis(x)
    return call(name, x, a.scalar("i"), a.number(0, x.shape[axis]), axis=axis)


def dynamic_index_in_dim(a: Arguments, name: str) -> str:
    x = a.array(ndims=(1, 3), smallest=1)
    index = a.scalar("i") if name.startswith("lax.dynamic") else 0
    return call(name, x, index, a.axis(x), **a.some(keepdims="False"))


def dynamic_update_in_dim(a: Arguments, name: str) -> str:
    x = a.array(ndims=(1, 3), smallest=1)
    axis = a.axis(x)
    shape = list(x.shape)
    shape[axis] = 1
    return call(name, x, a.array(shape=shape, dtype=x.dtype), a.scalar("i"), axis)


def dot_general(a: Arguments, name: str) -> str:
    batch, contracted = a.shape(0, 1), a.shape(0, 2)
    x = a.array(shape=(*batch, *contracted, *a.shape(0, 1)))
    y = a.array(shape=(*batch, *contracted, *a.shape(0, 1)), dtype=x.dtype)
    axes = list(range(len(batch))), list(range(len(batch), len(batch) + len(contracted)))
    options = a.some(preferred_element_type=lambda: a.quoted_dtype("fi")) if a.chance(3) else {}
    return call(name, x, y, ((axes[1], axes[1]), (axes[0], axes[0])), **options)


def dot(a: Arguments, name: str) -> str:
    x = a.array(ndims=(1, 2))
    rest = a.shape(0, 1)
    return call(name, x, a.array(shape=(x.shape[-1], *rest), dtype=x.dtype))


def batch_matmul(a: Arguments, name: str) -> str:
    x = a.array(ndims=(2, 3))
    return call(name, x, a.array(shape=(*x.shape[:-2], x.shape[-1], a.number(0, 3)), dtype=x.dtype))


def iota(a: Arguments, name: str) -> str:
    if name == "lax.iota":
        return call(name, a.quoted_dtype("fiuc"), a.number(0, 4))
    shape = a.shape(1, 3)
    return call(name, a.quoted_dtype("fiuc"), shape, a.number(0, len(shape) - 1))


def full(a: Arguments, name: str) -> str:
    if name == "lax.full":
        return call(name, a.shape(0, 2), a.array(shape=()), a.quoted_dtype())
    return call(name, a.array(), a.array(shape=()), **a.some(shape=lambda: a.shape(0, 2)))


def sort(a: Arguments, name: str) -> str:
    x = a.array(ndims=(1, 3))
    dimension = a.axis(x)
    if name == "lax.sort_key_val":
        return call(name, x, a.array(shape=x.shape), dimension)
    if a.chance(2):
        pair = f"({x}, {a.array(shape=x.shape)})"
        return call(name, pair, dimension=dimension, num_keys=a.number(1, 2))
    return call(name, x, dimension)


def top_k(a: Arguments, name: str) -> str:
    x = a.array("fi", ndims=(1, 3), smallest=1)
    return call(name, x, a.number(0, x.shape[-1]))


def split(a: Arguments, name: str) -> str:
    x = a.array(ndims=(1, 3))
    axis = a.number(0, x.ndim - 1)
    first = a.number(0, x.shape[axis])
    return call(name, x, [first, x.shape[axis] - first], axis)


def stack(a: Arguments, name: str) -> str:
    x = a.array()
    return call(name, f"[{x}, {a.same_type(x)}]", a.number(0, x.ndim))


def unstack(a: Arguments, name: str) -> str:
    x = a.array(ndims=(1, 3))
    return call(name, x, a.number(0, x.ndim - 1))


def tile(a: Arguments, name: str) -> str:
    x = a.array()
    return call(name, x, tuple(a.number(0, 2) for _ in x.shape))


def collapse(a: Arguments, name: str) -> str:
    x = a.array(ndims=(1, 3))
    start = a.number(0, x.ndim - 1)
    return call(name, x, start, a.number(start + 1, x.ndim))


def broadcast_to_rank(a: Arguments, name: str) -> str:
    x = a.array(ndims=(0, 2))
    return call(name, x, a.number(x.ndim, 3))


def reduce_precision(a: Arguments, name: str) -> str:
    return call(name, a.array("f"), a.number(2, 8), a.number(1, 10))


def zeta(a: Arguments, name: str) -> str:
    x = a.array("f", domain="positive")
    return call(name, x, a.same_type(x, "positive"))


def fft(a: Arguments, name: str) -> str:
    kind = a.one_of("FFT", "IFFT", "RFFT", "IRFFT")
    lengths = tuple(a.number(1, 4) for _ in range(a.number(1, 2)))
    last = lengths[-1] // 2 + 1 if kind == "IRFFT" else lengths[-1]
    shape = (*a.shape(0, 1), *lengths[:-1], last)
    dtype = a.dtype("f") if kind == "RFFT" else a.dtype("c")
    return call(name, a.array(shape=shape, dtype=dtype), repr(kind), lengths)


def ragged_dot(a: Arguments, name: str) -> str:
    m, k, n, groups = a.number(0, 4), a.number(0, 3), a.number(1, 3), a.number(1, 3)
    x = a.array("fi", shape=(m, k), domain="tame")
    y = a.array(shape=(groups, k, n), dtype=x.dtype, domain="tame")
    sizes = a.input("int32", (groups,), "unit")
    return call(name, x, y, sizes)


def rng_bit_generator(a: Arguments, name: str) -> str:
    key = a.input("uint32", (4,), "whole")
    return call(name, key, a.shape(0, 2), **a.some(dtype=lambda: a.quoted_dtype("u")))


def broadcast_like(a: Arguments, name: str) -> str:
    x = a.array()
    return call(name, x, a.array(shape=(*a.shape(0, 1), *x.shape)))


def broadcast_shapes(a: Arguments, name: str) -> str:
    shape = a.shape()
    return call(name, shape, shape[1:], tuple(a.one_of(n, 1) for n in shape))


def shape_as_value(a: Arguments, name: str) -> str:
    return call(name, a.shape())


def empty(a: Arguments, name: str) -> str:
    return call(name, a.shape(0, 2), a.quoted_dtype())


# The shapes of an image, of a kernel, and the letters of their axes.
IMAGE, KERNEL, LAYOUT = (1, 2, 5, 6), (3, 2, 2, 3), ("NCHW", "OIHW", "NCHW")


def shapes_of_convolution(a: Arguments, name: str) -> str:
    padding = a.one_of(repr("SAME"), repr("VALID"), [(1, 0), (0, 2)])
    strides = (a.number(1, 2), a.number(1, 3))
    if name == "lax.conv_dimension_numbers":
        return call(name, IMAGE, KERNEL, a.one_of(LAYOUT, "None"))
    if name == "lax.conv_general_permutations":
        return call(name, LAYOUT)
    if name == "lax.padtype_to_pads":
        return call(name, IMAGE[2:], KERNEL[2:], strides, repr(a.one_of("SAME", "VALID")))
    if name == "lax.conv_shape_tuple":
        return call(name, IMAGE, KERNEL, strides, padding)
    if name == "lax.reduce_window_shape_tuple":
        return call(name, IMAGE, (1, 1, 2, 2), (1, 1, *strides), [(0, 0), (0, 0), (1, 0), (0, 2)])
    return call(name, IMAGE, KERNEL, strides, padding, LAYOUT)


RECIPES: dict[str, Recipe] = recipes(
    "lax",
    [
        (fft, "fft"),
        (ragged_dot, "ragged_dot"),
        (rng_bit_generator, "rng_bit_generator"),
        (broadcast_like, "broadcast_like"),
        (broadcast_shapes, "broadcast_shapes"),
        (shape_as_value, "shape_as_value"),
        (empty, "empty"),
        (unary(), "dtype"),
        (
            shapes_of_convolution,
            """conv_dimension_numbers conv_general_permutations conv_general_shape_tuple
            conv_shape_tuple conv_transpose_shape_tuple padtype_to_pads
            reduce_window_shape_tuple""",
        ),
        (unary(NUMBERS), "abs neg sign square"),
        (
            unary("fc"),
            """sqrt rsqrt exp exp2 expm1 log log1p sin cos tan sinh cosh tanh asin acos atan asinh
            acosh
            atanh logistic reciprocal""",
        ),
        (unary("c"), "real imag conj"),
        (
            unary("f"),
            "cbrt ceil floor round erf erfc erf_inv lgamma digamma bessel_i0e bessel_i1e is_finite",
        ),
        (unary("iu"), "clz population_count"),
        (unary("iub"), "bitwise_not"),
        (unary(), "stop_gradient optimization_barrier"),
        (same_types(2, NUMBERS), "add sub mul div"),
        (same_types(2), "max min eq ne"),
        (same_types(2), "lt le gt ge"),
        (same_types(2, "fiu"), "rem"),
        (same_types(2, "f"), "atan2 nextafter complex"),
        (same_types(2, "iub"), "bitwise_and bitwise_or bitwise_xor"),
        (same_types(2, "iu"), "shift_left shift_right_arithmetic shift_right_logical"),
        (same_types(2, "f", "positive"), "igamma igammac igamma_grad_a random_gamma_grad"),
        (same_types(3, "f", "unit"), "betainc"),
        (zeta, "zeta polygamma"),
        (power, "pow"),
        (integer_pow, "integer_pow"),
        (clamp, "clamp"),
        (convert, "convert_element_type"),
        (bitcast, "bitcast_convert_type"),
        (select_n, "select select_n"),
        (over_axes(NUMBERS), "reduce_sum reduce_prod"),
        (over_axes(ALL), "reduce_max reduce_min"),
        (over_axes("b"), "reduce_and reduce_or reduce_xor"),
        (cumulative(ALL), "cumsum cumprod"),
        (cumulative("fiu"), "cummax cummin"),
        (cumulative("f"), "cumlogsumexp"),
        (arg_of_extreme, "argmax argmin"),
        (broadcast, "broadcast"),
        (broadcast_in_dim, "broadcast_in_dim"),
        (reshape, "reshape"),
        (transpose, "transpose"),
        (reverse, "rev"),
        (squeeze, "squeeze"),
        (expand_dims, "expand_dims"),
        (concatenate, "concatenate"),
        (pad, "pad"),
        (slice_, "slice"),
        (slice_in_dim, "slice_in_dim"),
        (dynamic_slice, "dynamic_slice"),
        (dynamic_update_slice, "dynamic_update_slice"),
        (dynamic_slice_in_dim, "dynamic_slice_in_dim"),
        (dynamic_index_in_dim, "dynamic_index_in_dim index_in_dim"),
        (dynamic_update_in_dim, "dynamic_update_slice_in_dim dynamic_update_index_in_dim"),
        (dot_general, "dot_general"),
        (dot, "dot"),
        (batch_matmul, "batch_matmul"),
        (iota, "iota broadcasted_iota"),
        (full, "full full_like"),
        (sort, "sort sort_key_val"),
        (top_k, "top_k approx_max_k approx_min_k"),
        (split, "split"),
        (stack, "stack"),
        (unstack, "unstack"),
        (tile, "tile"),
        (collapse, "collapse"),
        (broadcast_to_rank, "broadcast_to_rank"),
        (reduce_precision, "reduce_precision"),
    ],
)
