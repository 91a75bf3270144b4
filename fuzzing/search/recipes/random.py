"""Random numbers."""

from fuzzing.search.arguments import Arguments, Array, call
from fuzzing.search.recipes.forms import Recipe, recipes


def sample(*parameters: str, shape: bool = True, methods: bool = False) -> Recipe:
    """Of a key and parameters, each of a domain; `methods` says whether there are two."""

    def recipe(a: Arguments, name: str) -> str:
        arrays: list[Array] = []
        for domain in parameters:
            arrays.append(
                a.broadcastable(arrays[0], "f", domain) if arrays else a.array("f", domain=domain)
            )
        options = {}
        if not arrays:
            options = a.some(shape=lambda: a.shape(0, 2), dtype=lambda: a.quoted_dtype("f"))
        elif a.chance(3) and shape:
            full = max((x.shape for x in arrays), key=len)
            options = {"shape": (2, *full)}
        if methods:
            options |= a.some(method="'approximate'")
        return call(name, a.key(), *arrays, **options)

    return recipe


def uniform(a: Arguments, name: str) -> str:
    options = a.some(minval="-1.0", maxval=lambda: a.array("f", shape=()))
    options |= a.some(shape=lambda: a.shape(0, 2), dtype=lambda: a.quoted_dtype("f"))
    return call(name, a.key(), **options)


def randint(a: Arguments, name: str) -> str:
    low, high = a.one_of((0, 10), (-3, 3), (5, 5), (0, 300), ("jnp.array([0, 1])", 7))
    shape = a.one_of((2,), (3, 2), (0, 2))
    return call(name, a.key(), shape, low, high, **a.some(dtype=lambda: a.quoted_dtype("iu")))


def bits(a: Arguments, name: str) -> str:
    options = a.some(shape=lambda: a.shape(0, 2), dtype=lambda: a.quoted_dtype("u"))
    return call(name, a.key(), **options)


def choice(a: Arguments, name: str) -> str:
    x = a.one_of(5, a.array(ndims=(1, 2), smallest=1))
    options = a.some(shape=lambda: a.one_of((1,), (0,)), replace="False")
    return call(name, a.key(), x, **options)


def permutation(a: Arguments, name: str) -> str:
    x = a.one_of(5, a.array(ndims=(1, 2)))
    return call(name, a.key(), x, **(a.some(independent="True") if isinstance(x, Array) else {}))


def categorical(a: Arguments, name: str) -> str:
    x = a.array("f", ndims=(1, 2), smallest=1)
    return call(name, a.key(), x, **a.some(axis=lambda: a.axis(x)))


def split(a: Arguments, name: str) -> str:
    return call(name, a.key(), *a.one_of((), (3,), ((2, 2),), (0,)))


def fold_in(a: Arguments, name: str) -> str:
    return call(name, a.key(), a.array("iu", shape=()))


def of_a_key(a: Arguments, name: str) -> str:
    return call(name, a.key())


def ball(a: Arguments, name: str) -> str:
    return call(name, a.key(), a.number(1, 3), **a.some(shape=lambda: a.shape(0, 1)))


def orthogonal(a: Arguments, name: str) -> str:
    return call(name, a.key(), a.number(0, 3), **a.some(shape=lambda: a.shape(0, 1)))


def dirichlet(a: Arguments, name: str) -> str:
    x = a.input("float32", (*a.shape(0, 1), a.number(1, 3)), "positive")
    return call(name, a.key(), x)


def multivariate_normal(a: Arguments, name: str) -> str:
    n = a.number(1, 3)
    mean = a.input("float32", (n,), "tame")
    return call(name, a.key(), mean, f"jnp.eye({n}) + 0.1", **a.some(shape="(2,)"))


def multinomial(a: Arguments, name: str) -> str:
    return call(name, a.key(), a.number(0, 5), "jnp.array([0.25, 0.5, 0.25])")


def make_key(a: Arguments, name: str) -> str:
    return call(name, a.one_of(a.number(0, 5), -1, 2**31, a.array("iu", shape=())))


def wrap_key_data(a: Arguments, name: str) -> str:
    return call(name, a.array("u", shape=(*a.shape(0, 1), 2), dtype="uint32"))


def triangular(a: Arguments, name: str) -> str:
    left = a.array("f", domain="positive")
    mode = f"{left} + {a.broadcastable(left, 'f', 'unit')}"
    right = f"({mode}) + {a.broadcastable(left, 'f', 'positive')}"
    return call(name, a.key(), left, mode, right)


def truncated_normal(a: Arguments, name: str) -> str:
    lower = a.array("f", domain="tame")
    upper = f"{lower} + {a.broadcastable(lower, 'f', 'positive')}"
    return call(name, a.key(), lower, upper)


RECIPES: dict[str, Recipe] = {
    **recipes(
        "jax.random",
        [
            (
                sample(),
                """cauchy exponential gumbel laplace logistic normal maxwell rademacher
                lognormal""",
            ),
            (sample("positive"), "pareto rayleigh wald"),
            (sample("positive", methods=True), "chisquare gamma loggamma poisson"),
            (sample("positive", shape=False), "generalized_normal t"),
            (sample("unit"), "bernoulli geometric"),
            (sample("positive", "positive"), "f"),
            (sample("positive", "positive", methods=True), "beta"),
            (sample("tame", "positive", shape=False), "double_sided_maxwell"),
            (sample("positive", "positive", shape=False), "weibull_min"),
            (sample("whole", "unit"), "binomial"),
            (uniform, "uniform"),
            (randint, "randint"),
            (bits, "bits"),
            (choice, "choice"),
            (permutation, "permutation"),
            (categorical, "categorical"),
            (split, "split"),
            (fold_in, "fold_in"),
            (of_a_key, "key_data clone"),
            (ball, "ball"),
            (orthogonal, "orthogonal"),
            (dirichlet, "dirichlet"),
            (multivariate_normal, "multivariate_normal"),
            (multinomial, "multinomial"),
            (make_key, "key PRNGKey"),
            (of_a_key, "key_impl"),
            (wrap_key_data, "wrap_key_data"),
            (triangular, "triangular"),
            (truncated_normal, "truncated_normal"),
        ],
    ),
}
