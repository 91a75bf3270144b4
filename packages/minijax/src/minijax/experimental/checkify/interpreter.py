"""`checkify`: an interpreter that looks at each operation, and keeps the first error."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from minijax.experimental.checkify.error import (
    Error,
    ErrorCategory,
    FailedCheckError,
    JaxException,
    Site,
    check_p,
    first_of,
    no_code,
    user_checks,
)
from minijax.primitives.interpreters import Trace
from minijax.runtime.conversion import tree_to_arrays
from minijax.runtime.evaluation import evaluated_by_library
from minijax.runtime.wrapping import wraps
from minijax_stage1.interpreter import set_interpreter
from minijax_stage2 import Primitive, tree_flatten, tree_unflatten, typeof
from minijax_stage2.arguments import FlatFunction, require_function
from minijax_stage2.errors import shown
from minijax_stage2.source import on_behalf_of, user_source
from minijax_stage3 import Jaxpr, eval_jaxpr
from minijax_stage3.executable import cached_by_jaxpr
from minijax_stage3.staging import trace_to_jaxpr

Categories = frozenset[ErrorCategory]

# `rule(trace, args, params) -> results`: evaluates a primitive on the level below, and tells the
# trace what may have gone wrong, by `trace.fail` or `trace.found`.
check_rules: dict[Primitive, Callable[..., Sequence[Any]]] = {}
# The rule of all other primitives, called with the primitive first: the last of these.
check_defaults: list[Callable[..., Sequence[Any]]] = []


class CheckTrace(Trace):
    """Evaluates operations, and collects the errors that they may have."""

    transformation = "checkify"

    def __init__(self, f: Any, categories: Categories):
        super().__init__(f)
        self.categories = categories
        self.found: list[Error] = []  # in the order of the program

    def process(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> list[Any]:
        rule = check_rules.get(primitive)
        if rule is None:
            require_no_checks(primitive, params)
            rule = partial(check_defaults[-1], primitive)
        with on_behalf_of(user_source()), set_interpreter(self.parent):
            return list(rule(self, args, params))

    def fail(self, category: ErrorCategory, code: Any, numbers: Sequence[Any], site: Site) -> None:
        """Note an operation that may fail, if its category is asked for."""
        if category in self.categories:
            self.found.append(Error(code, numbers, (site,)))


def require_no_checks(primitive: Primitive, params: dict[str, Any]) -> None:
    """Raise an error if programs of a primitive without a rule check: nobody would see it."""
    if not primitive.higher_order:
        return
    for value in params.values():
        for jaxpr in value if isinstance(value, tuple) else (value,):
            if isinstance(jaxpr, Jaxpr) and calls_check(jaxpr):
                raise NotImplementedError(
                    f"checkify: a function inside of `{primitive}` calls check, and what fails "
                    f"there cannot be returned. Have the function that `{primitive}` is given "
                    "made by checkify, and return its error; or check before or after"
                )


@cached_by_jaxpr
def calls_check(jaxpr: Jaxpr) -> bool:
    """Return True if a program, or one inside of it, has a `check`."""
    _, sites = checked_program(jaxpr, user_checks)
    return bool(sites)


@cached_by_jaxpr
def checked_program(jaxpr: Jaxpr, categories: Categories) -> tuple[Jaxpr, tuple[Site, ...]]:
    """The program that returns its error before its results, flat; and the sites of the error.

    If there is nothing to check, it is `jaxpr` itself, and there are no sites.
    """
    sites: list[tuple[Site, ...]] = []

    def program(*args: Any) -> list[Any]:
        error, outs = with_error(partial(eval_jaxpr, jaxpr, []), args, categories)
        sites.append(error._sites)
        return [error._code, *error._numbers, *outs]

    closed = trace_to_jaxpr(program, jaxpr.in_avals, "checkify", None)
    return (closed.jaxpr, sites[0]) if sites[0] else (jaxpr, ())


@cached_by_jaxpr
def without_checks(jaxpr: Jaxpr) -> Jaxpr:
    """The program without its calls of `check`."""

    def program(*args: Any) -> Sequence[Any]:
        _, outs = with_error(partial(eval_jaxpr, jaxpr, []), args, frozenset())
        return list(outs)

    return trace_to_jaxpr(program, jaxpr.in_avals, "checkify", None).jaxpr


def with_error(
    fun: Callable[..., Any], args: Sequence[Any], categories: Categories
) -> tuple[Error, Any]:
    """The first error of a call, and its result."""
    trace = CheckTrace(fun, categories)
    with trace.run():
        out = fun(*args)
    return first_of(trace.found), out


def error_from(outs: Sequence[Any], sites: tuple[Site, ...]) -> tuple[Error, list[Any]]:
    """The error and the results that a checked program has returned."""
    if not sites:
        return Error(no_code()), list(outs)
    count = 1 + sum(site.num_numbers for site in sites)
    return Error(outs[0], outs[1:count], sites), list(outs[count:])


def _check(trace: CheckTrace, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    if FailedCheckError in trace.categories:
        code, *numbers = args
        trace.found.append(Error(code, numbers, params["sites"]))
    return []


check_rules[check_p] = _check


def checkify(
    f: Callable[..., Any], errors: Iterable[ErrorCategory] = user_checks
) -> Callable[..., tuple[Error, Any]]:
    """Return a function that returns its first error, besides its result.

    Arguments:
        f: function of arrays and pytrees of arrays.
        errors: the categories of errors to look for: `user_checks`, the calls of `check` (the
            default), `nan_checks`, `index_checks`, `div_checks`, unions of them, `float_checks`,
            `automatic_checks` or `all_checks`.

    Returns:
        A function of the same arguments. It returns a pair: an `Error`, and what `f` returns. It
        can be jitted, mapped and differentiated like any other, and so can functions in `f`.

    Raises:
        TypeError: `f` is no function, or `errors` are no categories.

    >>> from minijax.experimental import checkify
    >>> def mean_of_logs(x):
    ...     return jnp.log(x).mean()
    >>> checked = minijax.jit(checkify.checkify(mean_of_logs, errors=checkify.all_checks))
    >>> error, out = checked(jnp.array([1.0, -1.0]))
    >>> print(error)
    Error(nan generated by primitive: log.)
    """
    require_function("checkify", f)
    categories = frozenset(errors)
    for category in categories:
        if not (isinstance(category, type) and issubclass(category, JaxException)):
            raise TypeError(
                "checkify: errors are a set of categories, such as checkify.user_checks or "
                f"checkify.all_checks, found {shown(category)} among them"
            )

    @wraps(f)
    @evaluated_by_library
    def checked(*args: Any, **kwargs: Any) -> tuple[Error, Any]:
        leaves, in_tree = tree_flatten(tree_to_arrays((args, kwargs)))
        flat_fun = FlatFunction(f, in_tree, has_kwargs=True)
        closed = trace_to_jaxpr(flat_fun, [typeof(x) for x in leaves], "checkify", f)
        program = partial(eval_jaxpr, closed.jaxpr, closed.consts)
        error, outs = with_error(program, leaves, categories)
        return tree_to_arrays((error, tree_unflatten(flat_fun.out_tree, outs)))

    return checked
