"""`custom_root`: a root of a function, differentiated by the implicit function theorem."""

from collections.abc import Callable, Sequence
from typing import Any

from minijax.lax.control_flow.implicit import check_structure, check_types, stage_part, without_aux
from minijax.primitives.loops import cut
from minijax.pytrees.operations import treedef_tuple
from minijax.runtime.conversion import tree_to_arrays
from minijax.runtime.evaluation import evaluated_by_library
from minijax.transforms.custom_derivatives.rules import JvpRule, custom_call
from minijax_stage2 import Zero, neg, typeof
from minijax_stage2.arguments import argument_names, require_function
from minijax_stage2.jvp import jvp_flat
from minijax_stage2.source import name_of
from minijax_stage2.tangent import instantiate
from minijax_stage2.tree import tree_flatten, tree_unflatten
from minijax_stage3 import eval_jaxpr
from minijax_stage3.staging import abstractify
from minijax_stage4 import linearize


@evaluated_by_library
def custom_root(
    f: Callable[..., Any],
    initial_guess: Any,
    solve: Callable[..., Any],
    tangent_solve: Callable[..., Any],
    has_aux: bool = False,
) -> Any:
    """Solve `f(x) == 0`; derivatives are those of the equation, not of the solver.

    The root is a function of what `f` closes over. With f(x, p) = 0, its derivative solves
    (df/dx) x' = -(df/dp) p'.

    Arguments:
        f: function of a pytree of arrays that returns a pytree of the same structure.
        initial_guess: the start of the search; the root does not depend on it.
        solve: function of `f` and `initial_guess` that returns a root.
        tangent_solve: function `(g, y)` that returns the x with `g(x) == y`, where `g` is linear:
            the derivative of `f` at the root.
        has_aux: whether `solve` returns a pair of the root and auxiliary values, which have no
            derivative.

    Returns:
        The result of `solve`.

    Raises:
        TypeError: a function returns another structure than that of `initial_guess`, or
            `tangent_solve` other dtypes than those of the root.
        ValueError: `solve` does not return the pair that `has_aux` promises, or `tangent_solve`
            returns other shapes than those of the root.

    >>> import minijax
    >>> import minijax.numpy as jnp
    >>> def square_root(a):
    ...     return custom_root(
    ...         lambda x: x * x - a, a, lambda f, x: jnp.sqrt(a), lambda g, y: y / g(1.0)
    ...     )
    >>> minijax.grad(square_root)(4.0)
    Array(0.25, dtype=float32, weak_type=True)
    """
    caller = "custom_root"
    for fun in (f, solve, tangent_solve):
        require_function(caller, fun)
    guess = tree_to_arrays(initial_guess)
    leaves, tree = tree_flatten(guess)
    abstractify(f"{caller} of `{name_of(f)}`", lambda: argument_names(f, (guess,), {}), leaves)
    one, two = treedef_tuple([tree]), treedef_tuple([tree, tree])
    avals = list(map(typeof, leaves))
    of_f = stage_part(caller, f, avals, one)
    check_structure(f"{caller}: f", f, "initial_guess", tree, of_f.out_tree)
    of_solve = stage_part(caller, lambda x: solve(f, x), avals, one, named=solve)
    solution_tree = without_aux(f"{caller}: solve", solve, of_solve.out_tree, has_aux)
    check_structure(f"{caller}: solve", solve, "initial_guess", tree, solution_tree)
    root_avals = of_solve.jaxpr.out_avals[: len(leaves)]
    if root_avals != avals:  # a guess of integers, for instance
        of_f = stage_part(caller, f, root_avals, one)

    def solve_for_tangent(x: Any, y: Any) -> Any:
        return tangent_solve(linearize(f, x)[1], y)

    of_tangent = stage_part(
        caller, solve_for_tangent, [*root_avals, *of_f.jaxpr.out_avals], two, named=tangent_solve
    )
    what = f"{caller}: tangent_solve"
    check_structure(what, tangent_solve, "the root", tree, of_tangent.out_tree)
    check_types(what, tangent_solve, "the root", tree, root_avals, of_tangent.jaxpr.out_avals)

    parts = (of_f, of_solve, of_tangent)
    counts = [len(part.consts) for part in parts]

    def root(*args: Any) -> list[Any]:
        _, consts, _, guess = cut(args, *counts)
        return eval_jaxpr(of_solve.jaxpr, [], *consts, *guess)

    def jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        outs = custom_call(root, rule, primals, solve)
        x = outs[: len(leaves)]
        f_consts, _, consts, _ = cut(primals, *counts)

        def f_at_root(*params: Any) -> list[Any]:
            return eval_jaxpr(of_f.jaxpr, [], *params, *x)

        _, changes = jvp_flat(f_at_root, f_consts, tangents[: len(f_consts)], f)
        out_dots: list[Any] = [Zero.like(out) for out in outs]
        if any(type(change) is not Zero for change in changes):
            dots = eval_jaxpr(of_tangent.jaxpr, [], *consts, *x, *map(instantiate, changes))
            out_dots[: len(x)] = map(neg, dots)
        return outs, out_dots

    rule = JvpRule(jvp)
    consts = [const for part in parts for const in part.consts]
    outs = custom_call(root, rule, [*consts, *leaves], solve)
    return tree_to_arrays(tree_unflatten(of_solve.out_tree, outs))


__all__ = ["custom_root"]
