"""Products of arrays, and polynomials."""

from fuzzing.search.arguments import ALL, Arguments, call
from fuzzing.search.recipes.forms import Recipe, recipes


def product(least: int, vectors: bool = False) -> Recipe:
    """Of two arrays contracted over the last axis of the first."""

    def recipe(a: Arguments, name: str) -> str:
        x = a.array(ndims=(least, 3))
        n = x.shape[-1] if x.ndim else 1
        if vectors or x.ndim <= 1 or a.chance(3):
            return call(name, x, a.array(shape=(n,) if x.ndim else ()), **precision(a, name))
        return call(
            name, x, a.array(shape=(*x.shape[:-2], n, a.number(0, 3))), **precision(a, name)
        )

    return recipe


def precision(a: Arguments, name: str) -> dict[str, str]:
    if name.split(".")[-1] in ("matvec", "vecmat"):
        return {}
    return a.some(preferred_element_type=lambda: a.quoted_dtype("fc")) if a.chance(3) else {}


def inner(a: Arguments, name: str) -> str:
    x = a.array(ndims=(0, 2))
    return call(name, x, a.array(shape=(*a.shape(0, 1), *x.shape[-1:])))


def of_one_size(a: Arguments, name: str) -> str:
    x = a.array()
    return call(name, x, a.array(shape=x.shape))


def of_two(kinds: str = ALL, ndims: tuple[int, int] = (0, 2), smallest: int = 0) -> Recipe:
    return lambda a, name: call(
        name,
        a.array(kinds, ndims=ndims, smallest=smallest),
        a.array(kinds, ndims=ndims, smallest=smallest),
    )


def vecmat(a: Arguments, name: str) -> str:
    x = a.array(ndims=(1, 2))
    return call(name, x, a.array(shape=(*x.shape, a.number(0, 3))))


def tensordot(a: Arguments, name: str) -> str:
    x = a.array()
    n = a.number(0, x.ndim)
    rest = a.shape(0, 1)
    return call(name, x, a.array(shape=(*x.shape[x.ndim - n :], *rest)), axes=n)


def einsum(a: Arguments, name: str) -> str:
    formula = a.one_of(
        "ij,jk->ik", "i,i->", "ij->ji", "ii->i", "ii", "ij,ij->i", "...i,...i->...", "i,j", "ij->",
        "ijk,ik->j", "bij,bjk->bik", "i,ij,j->", "iij->j", "ij,kj", "i...->...",
    )  # fmt: skip
    sizes = {letter: a.one_of(2, 3, 1, 0) for letter in "ijkb"}
    operands = [
        a.array(shape=tuple(sizes[letter] for letter in part.replace("...", "")))
        for part in formula.partition("->")[0].split(",")
    ]
    return call(name, repr(formula), *operands, **precision(a, name))


def einsum_path(a: Arguments, name: str) -> str:
    formula = a.one_of("ij,jk,kl->il", "i,i->", "ij,j,ik->k")
    operands = [f"jnp.ones({(2,) * len(part)})" for part in formula.partition("->")[0].split(",")]
    how = repr(a.one_of("greedy", "optimal"))
    return f"{call(name, repr(formula), *operands, optimize=how)}[0]"


def cross(a: Arguments, name: str) -> str:
    n = a.one_of(3, 2)
    shape = (*a.shape(0, 1), n if name == "jnp.cross" else 3)
    return call(name, a.array(shape=shape), a.array(shape=(*shape[:-1], a.one_of(3, shape[-1]))))


def diff(a: Arguments, name: str) -> str:
    x = a.array(ndims=(1, 3))
    options = a.some(prepend="1", append="2") if a.chance(2) else {}
    return call(name, x, n=a.number(0, 3), axis=a.some_axis(x), **options)


def ediff1d(a: Arguments, name: str) -> str:
    x = a.array()
    options = a.some(to_end=lambda: a.array(shape=(), dtype=x.dtype), to_begin="0")
    return call(name, x, **options)


def gradient(a: Arguments, name: str) -> str:
    x = a.array("fic", ndims=(1, 3), smallest=2)
    return call(name, x, *(["0.5"] if a.chance(2) else []), axis=a.some_axis(x))


def polynomials(count: int) -> Recipe:
    return lambda a, name: call(name, *(a.array(ndims=(1, 1), domain="tame") for _ in range(count)))


def polyval(a: Arguments, name: str) -> str:
    return call(name, a.array(ndims=(1, 1)), a.array(), **a.some(unroll="2"))


def polyder(a: Arguments, name: str) -> str:
    return call(name, a.array("fic", ndims=(1, 1)), a.number(0, 3))


def polyfit(a: Arguments, name: str) -> str:
    n = a.number(3, 4)
    x = f"jnp.arange({n}.0)"
    y = a.array("fi", shape=a.one_of((n,), (n, 2)), domain="tame")
    options = a.some(full="True") if a.chance(2) else a.some(w=lambda: f"jnp.arange(1.0, {n}.5)")
    return call(name, x, y, a.number(0, 2), **options)


def poly(a: Arguments, name: str) -> str:
    return call(name, a.array("fic", ndims=(1, 1), domain="tame"))


def roots(a: Arguments, name: str) -> str:
    p = a.array("fic", ndims=(1, 1), domain="positive")
    return call(name, p, **a.some(strip_zeros="False"))


def convolve(a: Arguments, name: str) -> str:
    kinds, smallest = ALL, 1
    x = a.array(kinds, ndims=(1, 1), smallest=smallest, domain="tame")
    y = a.array(kinds, ndims=(1, 1), smallest=smallest, domain="tame")
    return call(name, x, y, **a.some(mode=lambda: repr(a.one_of("same", "valid", "full"))))


RECIPES: dict[str, Recipe] = recipes(
    "jnp",
    [
        (product(0), "dot"),
        (product(1), "matmul linalg.matmul"),
        (product(2, vectors=True), "matvec"),
        (vecmat, "vecmat"),
        (inner, "inner"),
        (of_one_size, "vdot"),
        (of_two(), "outer kron"),
        (of_two(ndims=(1, 1)), "linalg.outer"),
        (tensordot, "tensordot linalg.tensordot"),
        (einsum, "einsum"),
        (einsum_path, "einsum_path"),
        (cross, "cross linalg.cross"),
        (diff, "diff"),
        (ediff1d, "ediff1d"),
        (gradient, "gradient"),
        (polynomials(2), "polyadd polysub polymul polydiv"),
        (polyval, "polyval"),
        (polyder, "polyder polyint"),
        (polyfit, "polyfit"),
        (poly, "poly"),
        (roots, "roots"),
        (convolve, "convolve correlate"),
    ],
)
