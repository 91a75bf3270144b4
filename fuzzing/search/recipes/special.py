"""Special functions of scipy."""

from fuzzing.search.arguments import Arguments, call
from fuzzing.search.recipes.forms import Recipe, n_ary, over_axes, recipes, unary


def polygamma(a: Arguments, name: str) -> str:
    return call(name, a.number(0, 3), a.array("f", domain="positive"))


def multigammaln(a: Arguments, name: str) -> str:
    return call(name, f"3 + {a.array('f', domain='positive')}", 2)


def order(a: Arguments, name: str) -> str:
    return call(name, a.number(0, 4))


def factorial(a: Arguments, name: str) -> str:
    return call(name, a.array("fi", domain="whole"))


def softmax(a: Arguments, name: str) -> str:
    x = a.array("fi", ndims=(1, 3))
    return call(name, x, axis=a.axes(x))


def bessel_jn(a: Arguments, name: str) -> str:
    return call(name, a.array("f", domain="positive"), v=a.number(0, 3))


def sph_harm_y(a: Arguments, name: str) -> str:
    n = a.number(1, 3)
    degrees, orders = (a.input("int32", (n,), domain) for domain in ("positive", "unit"))
    angles = [a.input("float32", (n,), "positive") for _ in range(2)]
    return call(name, degrees, orders, *angles, n_max=5)


RECIPES: dict[str, Recipe] = {
    **recipes(
        "jax.scipy.special",
        [
            (
                unary("fi"),
                """digamma entr erf erfc erfcx exp1 expi expit fresnel gamma gammaln gammasgn i0 i0e
                i1
                i1e log_ndtr loggamma ndtr sici spence""",
            ),
            (n_ary("unit"), "erfinv logit ndtri"),
            (
                n_ary("positive", "positive"),
                "beta betaln gammainc gammaincc poch zeta kl_div rel_entr",
            ),
            (n_ary("unit", "unit", "unit"), "betainc"),
            (n_ary("any", "any"), "xlogy xlog1py owens_t"),
            (n_ary("whole", "positive"), "expn"),
            (polygamma, "polygamma"),
            (multigammaln, "multigammaln"),
            (factorial, "factorial"),
            (over_axes("fi", where="", keepdims="", return_sign="", b=""), "logsumexp"),
            (softmax, "softmax log_softmax"),
            (order, "bernoulli"),
            (bessel_jn, "bessel_jn"),
            (sph_harm_y, "sph_harm_y"),
        ],
    ),
}
