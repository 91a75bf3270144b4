"""Elementwise functions of numpy, and operators."""

from fuzzing.search.arguments import ALL, NUMBERS, REAL, Arguments, call
from fuzzing.search.recipes.forms import Recipe, binary, n_ary, recipes, unary


def clip(a: Arguments, name: str) -> str:
    x = a.array(REAL)
    low, high = (a.broadcastable(x, REAL) if not a.chance(3) else None for _ in range(2))
    return call(name, x, min=low, max=high)


def where(a: Arguments, name: str) -> str:
    x = a.array()
    return call(name, a.broadcastable(x, "b" if a.chance(2) else ALL), x, a.broadcastable(x))


def choose(a: Arguments, name: str) -> str:
    x = a.array()
    choices = ", ".join(str(a.broadcastable(x)) for _ in range(2))
    return call(name, a.indices(2, x.shape), f"[{choices}]", mode=a.one_of("'clip'", "'wrap'"))


def select(a: Arguments, name: str) -> str:
    x = a.array()
    conditions = ", ".join(str(a.array("b", shape=x.shape)) for _ in range(2))
    return call(name, f"[{conditions}]", f"[{x}, {a.broadcastable(x)}]", a.one_of(0, 2.5))


def round_(a: Arguments, name: str) -> str:
    return call(name, a.array(), a.one_of(0, 1, -1, 3))


def nan_to_num(a: Arguments, name: str) -> str:
    return call(name, a.array(domain="any"), **a.some(nan="3.0", posinf="9.0", neginf="-9"))


def isclose(a: Arguments, name: str) -> str:
    x = a.array()
    options = a.some(rtol="0.5", atol="0.1", equal_nan="True")
    return call(name, x, a.broadcastable(x), **options)


def equal_arrays(a: Arguments, name: str) -> str:
    x = a.array()
    y = a.one_of(x, a.broadcastable(x))
    options = a.some(equal_nan="True") if name == "jnp.array_equal" else {}
    return call(name, x, y, **options)


def ldexp(a: Arguments, name: str) -> str:
    x = a.array("fiu")
    return call(name, x, a.broadcastable(x, "i", "tame"))


def shift(a: Arguments, name: str) -> str:
    x = a.array("iu")
    return call(name, x, a.broadcastable(x, "iu"))


def piecewise(a: Arguments, name: str) -> str:
    x = a.array(REAL)
    functions = a.one_of("[jnp.sin, 2]", "[jnp.square, lambda x: -x]", "[1.5, jnp.abs]")
    return call(name, x, f"[{x} > 0]", functions)


def vectorize(a: Arguments, name: str) -> str:
    x = a.array()
    y = a.broadcastable(x)
    return f"jnp.vectorize(lambda x, y: x + y)({x}, {y})"


def frompyfunc(a: Arguments, name: str) -> str:
    x = a.array(NUMBERS, ndims=(1, 2))
    ufunc = "jnp.frompyfunc(lambda x, y: x * y, 2, 1, identity=1)"
    method = a.one_of("", ".reduce", ".accumulate", ".outer")
    if method in ("", ".outer"):
        return f"{ufunc}{method}({x}, {a.array(NUMBERS, shape=x.shape)})"
    return f"{ufunc}{method}({x}, axis={a.axis(x)})"


def of_types(a: Arguments, name: str) -> str:
    if name == "jnp.promote_types":
        return call(name, a.quoted_dtype(), a.quoted_dtype())
    if name in ("jnp.can_cast", "jnp.issubdtype"):
        return call(name, f"jnp.dtype({a.quoted_dtype()})", f"jnp.dtype({a.quoted_dtype()})")
    return call(name, a.array(), a.one_of(a.array(), a.quoted_dtype()))


def operator(a: Arguments, name: str) -> str:
    x = a.array()
    y = a.broadcastable(x)
    symbol = a.one_of(
        *["+", "-", "*", "/", "//", "%", "**", "@", "==", "<", ">=", "&", "|", "^", "<<", ">>"]
    )
    return f"{x} {symbol} {y}"


RECIPES: dict[str, Recipe] = recipes(
    "jnp",
    [
        (
            unary(),
            """abs absolute negative positive square sqrt exp exp2 expm1 log log1p log2 log10 sin
            cos
            tan sinh cosh tanh arcsin arccos arctan arcsinh arccosh arctanh asin acos atan
            asinh acosh
            atanh sign reciprocal conj conjugate real imag angle isnan isinf isfinite
            iscomplex isreal
            iscomplexobj isrealobj logical_not sinc copy ravel shape ndim size atleast_1d atleast_2d
            atleast_3d sort_complex matrix_transpose isscalar""",
        ),
        (
            unary(REAL),
            """ceil floor trunc rint fabs cbrt deg2rad rad2deg degrees radians i0 isneginf isposinf
            signbit spacing frexp modf""",
        ),
        (unary("iub"), "bitwise_not invert bitwise_invert bitwise_count"),
        (
            binary(),
            """add subtract multiply divide true_divide power pow float_power equal not_equal less
            less_equal greater greater_equal maximum minimum logical_and logical_or logical_xor
            """,
        ),
        (
            binary(REAL),
            """fmax fmin floor_divide mod remainder fmod divmod arctan2 atan2 copysign hypot
            nextafter
            heaviside logaddexp logaddexp2""",
        ),
        (binary("iub"), "bitwise_and bitwise_or bitwise_xor"),
        (binary("iu"), "gcd lcm"),
        (shift, "left_shift right_shift bitwise_left_shift bitwise_right_shift"),
        (ldexp, "ldexp"),
        (clip, "clip"),
        (where, "where"),
        (choose, "choose"),
        (select, "select"),
        (round_, "round around"),
        (nan_to_num, "nan_to_num"),
        (isclose, "isclose allclose"),
        (equal_arrays, "array_equal array_equiv"),
        (piecewise, "piecewise"),
        (vectorize, "vectorize"),
        (frompyfunc, "frompyfunc"),
        (of_types, "result_type promote_types can_cast issubdtype"),
        (operator, "ndarray.__add__"),
        (n_ary("any", kinds=ALL), "array_repr array_str"),
    ],
)
