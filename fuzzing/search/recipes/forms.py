"""Recipes by the form of functions: those of one form share one."""

from collections.abc import Callable

from fuzzing.search.arguments import ALL, Arguments, call

Recipe = Callable[[Arguments, str], str]


def unary(kinds: str = ALL, domain: str | None = None) -> Recipe:
    return lambda a, name: call(name, a.array(kinds, domain=domain))


def binary(kinds: str = ALL, domain: str | None = None) -> Recipe:
    """Of two arrays whose shapes and dtypes are promoted."""

    def recipe(a: Arguments, name: str) -> str:
        x = a.array(kinds, domain=domain)
        y = a.broadcastable(x, kinds, domain)
        return call(name, x, y) if a.chance(2) else call(name, y, x)

    return recipe


def n_ary(*domains: str | None, kinds: str = "f") -> Recipe:
    """Of several arrays that are promoted, each with its domain."""

    def recipe(a: Arguments, name: str) -> str:
        x = a.array(kinds, domain=domains[0])
        others = [a.broadcastable(x, kinds, domain) for domain in domains[1:]]
        return call(name, x, *others)

    return recipe


def same_types(count: int, kinds: str = ALL, domain: str | None = None) -> Recipe:
    """Of arrays of one shape and dtype, as `lax` wants them."""

    def recipe(a: Arguments, name: str) -> str:
        x = a.array(kinds, domain=domain)
        return call(name, x, *(a.same_type(x, domain) for _ in range(count - 1)))

    return recipe


def reduction(kinds: str = ALL, **options: str) -> Recipe:
    """Of an array over axes; `options` says which other parameters there are, and what of."""

    def recipe(a: Arguments, name: str) -> str:
        x = a.array(kinds)
        axis = a.axes(x)
        given = {
            "where": lambda: a.array("b", shape=a.one_of(x.shape, x.shape[1:])),
            "dtype": lambda: a.quoted_dtype(options["dtype"]),
            "initial": lambda: a.one_of("1", "2.5", "-3"),
            "keepdims": "True",
            "ddof": "1",
            "promote_integers": "False",
            "equal_nan": "True",
        }
        return call(name, x, axis=axis, **a.some(**{key: given[key] for key in options}))

    return recipe


def over_axes(kinds: str = "fi", **options: str) -> Recipe:
    """Of an array over axes, to floats."""

    def recipe(a: Arguments, name: str) -> str:
        x = a.array(kinds, ndims=(0, 3))
        given = {
            "where": lambda: a.array("b", shape=x.shape),
            "keepdims": "True",
            "return_sign": "True",
            "b": lambda: a.broadcastable(x, "fi"),
            "epsilon": "0.1",
        }
        return call(name, x, axis=a.axes(x), **a.some(**{key: given[key] for key in options}))

    return recipe


def along_axis(kinds: str = ALL, **options: Callable[[Arguments], str] | str) -> Recipe:
    """Of an array along one axis, or its default."""

    def recipe(a: Arguments, name: str) -> str:
        x = a.array(kinds, ndims=(1, 3))
        drawn = {
            key: (lambda value=value: value(a)) if callable(value) else value
            for key, value in options.items()
        }
        return call(name, x, axis=a.some_axis(x), **a.some(**drawn))

    return recipe


def recipes(module: str, table: list[tuple[Recipe, str]]) -> dict[str, Recipe]:
    """A table of recipes and the names that they are for, by full name."""
    return {f"{module}.{name}": recipe for recipe, names in table for name in names.split()}
