"""Functions of functions: derivatives, rules of the user's, and what else wraps a function."""

from fuzzing.search.arguments import Arguments, Array, call
from fuzzing.search.recipes.forms import Recipe, recipes

# Functions of one array that give one of its shape.
ELEMENTWISE = ("lambda x: x * x", "jnp.sin", "lambda x: 2 * x + 1")


def floats(a: Arguments, most: int = 2) -> Array:
    return a.array("f", ndims=(0, most), domain="tame")


def of_a_sum(a: Arguments, name: str) -> str:
    f = a.one_of("lambda x: jnp.sum(x * x * x)", "lambda x: jnp.sum(jnp.sin(x))")
    if a.chance(3):
        f = "lambda x, y: (jnp.sum(x * y), x)"
        x = floats(a)
        y = a.array("f", shape=x.shape, domain="tame")
        options = {"has_aux": "True"} | a.some(argnums=lambda: a.one_of("1", "(0, 1)"))
        return f"{call(name, f, **options)}({x}, {y})"
    return f"{call(name, f)}({floats(a)})"


def jacobian(a: Arguments, name: str) -> str:
    return (
        f"{call(name, a.one_of(*ELEMENTWISE, 'jnp.sum', 'lambda x: (x, x * x)'))}({floats(a, 1)})"
    )


def custom_gradient(a: Arguments, name: str) -> str:
    return f"{call(name, 'lambda x: (x * x, lambda g: 3 * g * x)')}({floats(a)})"


def custom_jvp(a: Arguments, name: str) -> str:
    rule = a.one_of(
        "f.defjvps(lambda t, out, x: 3 * t * x)", "f.defjvp(lambda xs, ts: (f(*xs), 3 * ts[0]))"
    )
    return f"(lambda f: ({rule}, f)[1])({call(name, a.one_of(*ELEMENTWISE))})({floats(a)})"


def custom_vjp(a: Arguments, name: str) -> str:
    rules = "lambda x: (f(x), x), lambda x, g: (3 * g * x,)"
    f = call(name, a.one_of(*ELEMENTWISE))
    return f"(lambda f: (f.defvjp({rules}), f)[1])({f})({floats(a)})"


def custom_vmap(a: Arguments, name: str) -> str:
    rule = "lambda size, mapped, x: (3 * x, mapped[0])"
    return f"(lambda f: (f.def_vmap({rule}), f)[1])({call(name, 'lambda x: 2 * x')})({a.array()})"


def sequential_vmap(a: Arguments, name: str) -> str:
    return f"{call(name, a.one_of('lambda x: -x', 'lambda x: (x, x + x)'))}({a.array()})"


def closure_convert(a: Arguments, name: str) -> str:
    x = floats(a)
    f = f"lambda y: y * {a.broadcastable(x, 'f', 'tame')}"
    return f"(lambda f, consts: f({x}, *consts))(*{call(name, f, x)})"


def linear_transpose(a: Arguments, name: str) -> str:
    x = floats(a)
    f = a.one_of("lambda x: 3 * x", "lambda x: jnp.flip(x)", "lambda x: x + x")
    return f"{call(name, f, x)}({a.same_type(x)})"


def wrapped(a: Arguments, name: str) -> str:
    x = a.array()
    return f"{call(name, 'lambda x: x + x')}({x})"


def composite(a: Arguments, name: str) -> str:
    f = a.one_of("lambda x: x + x", "lambda x: (x, jnp.sum(x))")
    return f"{call(name, f, repr('test.f'))}({a.array()})"


def platform_dependent(a: Arguments, name: str) -> str:
    return call(name, a.array(), cpu="lambda x: x + x", default="lambda x: x")


def custom_root(a: Arguments, name: str) -> str:
    # Newton's steps to the square root.
    x = a.array("f", dtype="float32", domain="positive")
    f = f"lambda y: y * y - {x}"
    solve = "lambda f, y: lax.fori_loop(0, 12, lambda i, y: y - f(y) / (2 * y), y)"
    return call(name, f, f"jnp.ones_like({x})", solve, "lambda g, y: y / g(jnp.ones_like(y))")


def custom_linear_solve(a: Arguments, name: str) -> str:
    n = a.one_of(2, 1, 3)
    x = a.input(a.one_of("float32", "complex64"), (n, n), "tame", add_to_diagonal=4)
    b = a.input(x.dtype, (n,), "tame")
    if a.chance(3) and x.dtype == "float32":
        s = f"({x} + {x}.T)"
        solve = f"lambda matvec, b: jnp.linalg.solve({s}, b)"
        return call(name, f"lambda v: {s} @ v", b, solve, symmetric=True)
    solve = f"lambda matvec, b: jnp.linalg.solve({x}, b)"
    transposed = f"lambda matvec, b: jnp.linalg.solve({x}.T, b)"
    options = [transposed] if not a.chance(4) else []
    return call(name, f"lambda v: {x} @ v", b, solve, *options)


def pure_callback(a: Arguments, name: str) -> str:
    x = a.array("fi")
    of = f'jax.ShapeDtypeStruct(jnp.shape({x}), "{x.dtype}")'
    return call(name, "np.asarray", of, x, vmap_method=repr(a.one_of("sequential", "expand_dims")))


def checkpoint_name(a: Arguments, name: str) -> str:
    return call(name, a.array(), repr("name"))


def exported(a: Arguments, name: str) -> str:
    x = a.array()
    return f"{call(name, 'jax.jit(lambda x: x + x)')}({x}).call({x})"


def minimize(a: Arguments, name: str) -> str:
    x = a.input("float32", (a.number(1, 3),), "tame")
    f = f"lambda v: jnp.sum((v - {x}) ** 2)"
    return f"{call(name, f, f'jnp.zeros_like({x})', method=repr('BFGS'))}.x"


def iteration(a: Arguments, name: str) -> str:
    n = a.one_of(2, 1, 3)
    x = a.input("float32", (n, n), "tame", add_to_diagonal=8)
    b = a.input("float32", (n,), "tame")
    matrix = f"({x} + {x}.T)"
    return f"{call(name, a.one_of(matrix, f'lambda v: {matrix} @ v'), b)}[0]"


RECIPES: dict[str, Recipe] = {
    **recipes(
        "jax",
        [
            (of_a_sum, "grad value_and_grad"),
            (jacobian, "hessian jacobian"),
            (custom_gradient, "custom_gradient"),
            (custom_jvp, "custom_jvp"),
            (custom_vjp, "custom_vjp"),
            (custom_vmap, "custom_batching.custom_vmap"),
            (sequential_vmap, "custom_batching.sequential_vmap"),
            (closure_convert, "closure_convert"),
            (linear_transpose, "linear_transpose"),
            (wrapped, "named_call"),
            (pure_callback, "pure_callback"),
            (checkpoint_name, "ad_checkpoint.checkpoint_name"),
            (exported, "export.export"),
            (minimize, "scipy.optimize.minimize"),
            (iteration, "scipy.sparse.linalg.cg scipy.sparse.linalg.bicgstab"),
            (iteration, "scipy.sparse.linalg.gmres"),
        ],
    ),
    **recipes(
        "lax",
        [
            (composite, "composite"),
            (platform_dependent, "platform_dependent"),
            (custom_root, "custom_root"),
            (custom_linear_solve, "custom_linear_solve"),
        ],
    ),
}
