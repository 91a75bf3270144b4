"""Functions of nn."""

from fuzzing.search.arguments import Arguments, call
from fuzzing.search.recipes.forms import Recipe, n_ary, over_axes, recipes


def activation(parameter: str | None = None) -> Recipe:
    def recipe(a: Arguments, name: str) -> str:
        x = a.array("fiub")
        return call(name, x, *(["0.5"] if parameter and a.chance(2) else []))

    return recipe


def glu(a: Arguments, name: str) -> str:
    x = a.array("f", shape=(*a.shape(0, 2), a.one_of(2, 4, 0)))
    return call(name, x)


def gelu(a: Arguments, name: str) -> str:
    return call(name, a.array("fi"), **a.some(approximate="False"))


def one_hot(a: Arguments, name: str) -> str:
    x = a.array("iu")
    return call(name, x, a.number(0, 4), **a.some(dtype=lambda: a.quoted_dtype("fi"), axis="0"))


def attention(a: Arguments, name: str) -> str:
    dtype = a.dtype("f")
    q = a.input(dtype, (1, a.number(1, 3), 2, 2), "tame")
    k = a.input(dtype, (1, a.number(1, 3), a.one_of(2, 1), 2), "tame")
    return call(
        name, q, k, a.input(dtype, k.shape, "tame"), **a.some(is_causal="True", scale="0.5")
    )


def variance_scaling(a: Arguments, name: str) -> str:
    mode = repr(a.one_of("fan_in", "fan_out", "fan_avg"))
    kind = repr(a.one_of("normal", "uniform", "truncated_normal"))
    return f"{call(name, 2.0, mode, kind)}({a.key()}, {a.shape(2, 3, 1)}, {a.quoted_dtype('f')})"


def delta_orthogonal(a: Arguments, name: str) -> str:
    shape = (*a.one_of((3,), (3, 3)), 2, a.number(2, 3))
    return f"{call(name)}({a.key()}, {shape}, 'float32')"


def initializer(a: Arguments, name: str) -> str:
    shape = a.shape(2, 3, smallest=1)
    dtype = a.quoted_dtype("f")
    if name.endswith((".ones", ".zeros")):
        return call(name, a.key(), shape, dtype)
    scale = ["1.0"] if name.endswith((".constant",)) else []
    return f"{call(name, *scale)}({a.key()}, {shape}, {dtype})"


RECIPES: dict[str, Recipe] = {
    **recipes(
        "jax.nn",
        [
            (
                activation(),
                """hard_sigmoid hard_silu hard_swish hard_tanh identity log_sigmoid mish relu relu6
                selu sigmoid silu soft_sign softplus sparse_plus sparse_sigmoid swish tanh""",
            ),
            (activation("parameter"), "celu elu leaky_relu squareplus"),
            (n_ary("positive", kinds="fi"), "log1mexp"),
            (gelu, "gelu"),
            (glu, "glu"),
            (over_axes(where=""), "softmax log_softmax"),
            (over_axes(where="", keepdims=""), "logmeanexp"),
            (over_axes("fic", where="", keepdims="", return_sign="", b=""), "logsumexp"),
            (over_axes(where="", epsilon=""), "standardize"),
            (one_hot, "one_hot"),
            (attention, "dot_product_attention"),
        ],
    ),
    **recipes(
        "jax.nn.initializers",
        [
            (
                initializer,
                """constant glorot_normal glorot_uniform he_normal he_uniform lecun_normal
                lecun_uniform normal ones orthogonal truncated_normal uniform zeros""",
            ),
            (variance_scaling, "variance_scaling"),
            (delta_orthogonal, "delta_orthogonal"),
        ],
    ),
}
