"""Functions of pytrees."""

from fuzzing.search.arguments import Arguments, call
from fuzzing.search.recipes.forms import Recipe, recipes


def tree(a: Arguments) -> str:
    x, y = a.array(), a.array()
    return str(
        a.one_of(f'{{"b": {x}, "a": [{y}]}}', x, f"({x}, None, ({y},))", f"[{x}, {y}, []]", "()")
    )


def of_a_tree(a: Arguments, name: str) -> str:
    return call(name, tree(a))


def all_of(a: Arguments, name: str) -> str:
    return call(name, f"[{a.array('b', shape=())}, (True, {a.array('b', shape=())})]")


def keystr(a: Arguments, name: str) -> str:
    paths = f'jax.tree.leaves_with_path({{"b": [1, {tree(a)}]}})'
    return call(name, f"{paths}[0][0]", **a.some(simple="True", separator="'/'"))


def mapped(a: Arguments, name: str) -> str:
    takes_paths = name.endswith("with_path")
    f = "lambda path, x: (len(path), x)" if takes_paths else a.one_of("jnp.sum", "lambda x: (x, 1)")
    return call(name, f, tree(a))


def reduced(a: Arguments, name: str) -> str:
    x = a.array()
    return call(name, "jnp.add", f"({x}, [{a.same_type(x)}, {x}])")


def unflatten(a: Arguments, name: str) -> str:
    given = tree(a)
    return call(name, f"jax.tree.structure({given})", f"jax.tree.leaves({given})")


def transpose(a: Arguments, name: str) -> str:
    outer, inner = "jax.tree.structure([0, 0])", "jax.tree.structure((0, 0))"
    return call(name, outer, inner, f"[({a.array()}, {a.array()}), ({a.array()}, 1)]")


def broadcast(a: Arguments, name: str) -> str:
    return call(name, f"({a.array()}, 1)", '({"a": 0, "b": 1}, [2, 3])')


def all_leaves(a: Arguments, name: str) -> str:
    return call(name, f"[{a.array()}, {tree(a)}]")


def ravel_pytree(a: Arguments, name: str) -> str:
    return f"{call(name, tree(a))}[0]"


RECIPES: dict[str, Recipe] = recipes(
    "jax",
    [
        (of_a_tree, "tree.flatten tree.flatten_with_path tree.leaves tree.leaves_with_path"),
        (of_a_tree, "tree.structure"),
        (all_of, "tree.all"),
        (keystr, "tree_util.keystr"),
        (mapped, "tree.map tree.map_with_path"),
        (reduced, "tree.reduce tree.reduce_associative"),
        (unflatten, "tree.unflatten"),
        (transpose, "tree.transpose"),
        (broadcast, "tree.broadcast"),
        (all_leaves, "tree_util.all_leaves"),
        (ravel_pytree, "flatten_util.ravel_pytree"),
    ],
)
