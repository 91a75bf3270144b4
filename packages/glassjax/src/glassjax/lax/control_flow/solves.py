"""Implicit solutions of equations, differentiated without their solvers."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import glassjax_stage2 as stage2
import glassjax_stage3 as stage3
from glassjax.errors import TreeMismatchError
from glassjax.primitives import loops
from glassjax.primitives.higher_order import WithToken, declare_program
from glassjax.runtime.array import tree_to_arrays
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.settings.number_types import result_type
from glassjax.transforms.custom_derivatives import JvpRule, custom_call
from glassjax.tree_util import treedef_tuple
from glassjax.xla import trees
from glassjax_stage2 import ShapedArray, Zero, bind, typeof
from glassjax_stage2.arguments import FlatFunction, argument_names, require_function
from glassjax_stage2.jvp import jvp_flat
from glassjax_stage2.source import name_of
from glassjax_stage2.tangent import instantiate
from glassjax_stage2.vmap import BatchAxis, BatchDim, move_batch_dim
from glassjax_stage3 import Jaxpr, JaxprEqn, Var, eval_jaxpr
from glassjax_stage3.jaxpr import consts_as_invars, require_accepted
from glassjax_stage3.jit_rules import vmap_jaxpr
from glassjax_stage3.lowering import FunctionBuilder, Value
from glassjax_stage3.staging import abstractify
from glassjax_stage4 import linearize
from glassjax_stage4.errors import NonlinearError
from glassjax_stage4.jit_rules import transpose_jaxpr
from glassjax_stage4.transpose import UndefPrimal, nonlinear_in

# Implicit solutions: an equation and its solvers as programs.
#
# A solution depends on the values that its equation closes over. So equation and solvers are
# staged, and these values become arguments of their programs, visible to interpreters.


class Program(NamedTuple):
    """A staged function: it takes the values that it closes over, then its arguments."""

    jaxpr: Jaxpr
    consts: list[Any]
    out_tree: stage2.tree.PyTreeDef


def stage_part(
    caller: str,
    fun: Callable[..., Any],
    in_avals: loops.Avals,
    in_tree: stage2.tree.PyTreeDef,
    named: Any = None,
) -> Program:
    """Stage a function that is part of an equation; messages name `named` instead."""
    flat = FlatFunction(fun, in_tree)
    closed = loops.stage_body(flat, in_avals, caller, named or fun)
    return Program(consts_as_invars(closed), closed.consts, flat.out_tree)


def without_aux(
    label: str, fun: Any, out_tree: stage2.tree.PyTreeDef, has_aux: bool
) -> stage2.tree.PyTreeDef:
    """The structure of the solution within the structure of a solver's result.

    Raises:
        ValueError: with `has_aux` it did not return a pair.
    """
    if not has_aux:
        return out_tree
    node = trees.node_data(out_tree)
    if node is None or node[0] is not tuple or len(trees.children(out_tree)) != 2:
        raise ValueError(
            f"{label} `{name_of(fun)}` must return a pair, the solution and auxiliary results, "
            f"because of has_aux=True; found {out_tree}"
        )
    return trees.children(out_tree)[0]


def check_structure(
    label: str, fun: Any, name: str, expected: stage2.tree.PyTreeDef, found: stage2.tree.PyTreeDef
) -> None:
    """Raise TreeMismatchError unless a function's result has the structure of `name`."""
    if found != expected:
        raise TreeMismatchError(
            f"{label} `{name_of(fun)}` must return the structure of {name}: "
            + stage2.explain_mismatch(expected, found, name="result")
        )


def check_types(
    label: str,
    fun: Any,
    name: str,
    tree: stage2.tree.PyTreeDef,
    expected: loops.Avals,
    found: loops.Avals,
) -> None:
    """Raise an error unless a function's result has the types of `name`.

    Raises:
        ValueError: shapes differ.
        TypeError: dtypes do.
    """
    differing = _differing(expected, found)
    if not differing:
        return
    paths = [
        path
        for path, _ in stage2.tree.tree_flatten_with_path(
            stage2.tree.tree_unflatten(tree, expected)
        )[0]
    ]
    rows = [("", name, "returned")]
    rows += [
        (f"result{stage2.tree.keystr(paths[i])}", str(expected[i]), str(found[i]))
        for i in differing
    ]
    table = "\n".join(f"    {path:<24} {x:<16} {y}" for path, x, y in rows)
    shapes_differ = any(expected[i].shape != found[i].shape for i in differing)
    error = ValueError if shapes_differ else TypeError
    raise error(f"{label} `{name_of(fun)}` must return the types of {name}\n{table}")


def _differing(expected: loops.Avals, found: loops.Avals) -> Sequence[int]:
    return [
        i
        for i, (x, y) in enumerate(zip(expected, found, strict=True))
        if x.strip_weak_type() != y.strip_weak_type()
    ]


# `custom_root`: a root of a function, differentiated by the implicit function theorem.


@evaluated_by_library
def custom_root(
    f: Callable[..., Any],
    initial_guess: Any,
    solve: Callable[..., Any],
    tangent_solve: Callable[..., Any],
    has_aux: bool = False,
) -> Any:
    """Solve `f(x) == 0`; its derivatives differentiate the equation, not the solver.

    The root is a function of the values p that `f` closes over. By the implicit function theorem,
    f(x, p) = 0 implies (df/dx) x' = -(df/dp) p', a linear system for its derivative x'.

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
        TypeError: a result differs in structure from `initial_guess`, or the result of
            `tangent_solve` differs in dtype from the root.
        ValueError: `solve` does not return the pair that `has_aux` promises, or the result of
            `tangent_solve` differs in shape from the root.

    >>> import glassjax
    >>> import glassjax.numpy as jnp
    >>> def square_root(a):
    ...     return custom_root(
    ...         lambda x: x * x - a, a, lambda f, x: jnp.sqrt(a), lambda g, y: y / g(1.0)
    ...     )
    >>> glassjax.grad(square_root)(4.0)
    Array(0.25, dtype=float32, weak_type=True)
    """
    caller = "custom_root"
    for fun in (f, solve, tangent_solve):
        require_function(caller, fun)
    guess = tree_to_arrays(initial_guess)
    leaves, tree = stage2.tree.tree_flatten(guess)
    abstractify(f"{caller} of `{name_of(f)}`", lambda: argument_names(f, (guess,), {}), leaves)
    one, two = treedef_tuple([tree]), treedef_tuple([tree, tree])
    avals = list(map(typeof, leaves))
    f_part = stage_part(caller, f, avals, one)
    check_structure(f"{caller}: f", f, "initial_guess", tree, f_part.out_tree)
    solve_part = stage_part(caller, lambda x: solve(f, x), avals, one, named=solve)
    solution_tree = without_aux(f"{caller}: solve", solve, solve_part.out_tree, has_aux)
    check_structure(f"{caller}: solve", solve, "initial_guess", tree, solution_tree)
    root_avals = solve_part.jaxpr.out_avals[: len(leaves)]
    if root_avals != avals:  # an integer guess, for instance
        f_part = stage_part(caller, f, root_avals, one)

    def solve_for_tangent(x: Any, y: Any) -> Any:
        return tangent_solve(linearize(f, x)[1], y)

    tangent_part = stage_part(
        caller, solve_for_tangent, [*root_avals, *f_part.jaxpr.out_avals], two, named=tangent_solve
    )
    label = f"{caller}: tangent_solve"
    check_structure(label, tangent_solve, "the root", tree, tangent_part.out_tree)
    check_types(label, tangent_solve, "the root", tree, root_avals, tangent_part.jaxpr.out_avals)

    parts = (f_part, solve_part, tangent_part)
    counts = [len(part.consts) for part in parts]

    def root(*args: Any) -> list[Any]:
        _, consts, _, guess = loops.split_by_sizes(args, *counts)
        return eval_jaxpr(solve_part.jaxpr, [], *consts, *guess)

    def root_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        outs = custom_call(root, rule, primals, solve)
        x = outs[: len(leaves)]
        # The root depends on what `f` closes over, not on the guess or on the solver.
        f_consts, _, consts, _ = loops.split_by_sizes(primals, *counts)

        def f_at_root(*params: Any) -> list[Any]:
            return eval_jaxpr(f_part.jaxpr, [], *params, *x)

        _, changes = jvp_flat(f_at_root, f_consts, tangents[: len(f_consts)], f)
        out_dots: list[Any] = [Zero.like(out) for out in outs]
        if any(type(change) is not Zero for change in changes):
            dots = eval_jaxpr(tangent_part.jaxpr, [], *consts, *x, *map(instantiate, changes))
            out_dots[: len(x)] = map(stage2.neg, dots)
        return outs, out_dots

    rule = JvpRule(root_jvp)
    consts = [const for part in parts for const in part.consts]
    outs = custom_call(root, rule, [*consts, *leaves], solve)
    return tree_to_arrays(stage2.tree.tree_unflatten(solve_part.out_tree, outs))


# `custom_linear_solve`: solutions of linear systems, differentiated implicitly.
#
# However x with A x = b is found, its derivative follows from the equation: A x' = b' - A' x. So
# the solver is never differentiated, and reverse mode solves the transposed system.


class Equations(NamedTuple):
    """The parts of a linear system: the map, its transpose, and a solver for each.

    They are programs, or values for each, such as its constants. Without a solver of the transposed
    system, its two parts have no program.
    """

    matvec: Any
    vecmat: Any
    solve: Any
    transpose_solve: Any

    def transposed(self) -> "Equations":
        return Equations(self.vecmat, self.matvec, self.transpose_solve, self.solve)


Equations.__name__ = "_LinearSolveTuple"  # in printed programs, as in JAX's


# Operands: the constants of each program, in the order of `Equations`, then the right-hand side.
# Each program takes its constants first.
linear_solve_p = stage2.Primitive("custom_linear_solve", higher_order=True)


@evaluated_by_library
def custom_linear_solve(
    matvec: Callable[..., Any],
    b: Any,
    solve: Callable[..., Any],
    transpose_solve: Callable[..., Any] | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """Solve `matvec(x) == b`; its derivatives differentiate the equation, not the solver.

    Arguments:
        matvec: linear function from arrays like `b`, a pytree, to arrays like `b`.
        b: the right-hand side, a pytree of arrays.
        solve: function of `matvec` and a right-hand side that returns the solution.
        transpose_solve: function of the transpose of `matvec` and a right-hand side that returns
            the solution of the transposed system, for reverse mode.
        symmetric: whether `matvec` is its own transpose. Then `solve` solves for both, unless
            `transpose_solve` is given.
        has_aux: whether both solvers return a pair of the solution and auxiliary values, which have
            no derivative.

    Returns:
        The result of `solve`.

    Raises:
        TypeError: a result differs from `b` in structure or dtype; or reverse mode needs a solver
            of the transposed system and there is none.
        ValueError: a result differs from `b` in shape, or a solver does not return the pair that
            `has_aux` promises.
        NonlinearError: `matvec` is not linear, and its transpose is needed.

    >>> import glassjax
    >>> f = lambda a: custom_linear_solve(lambda x: a * x, 6.0, lambda _, b: b / a, symmetric=True)
    >>> f(2.0), glassjax.grad(f)(2.0)
    (Array(3., dtype=float32, weak_type=True), Array(-1.5, dtype=float32, weak_type=True))
    """
    caller = "custom_linear_solve"
    for fun in (matvec, solve, *(() if transpose_solve is None else (transpose_solve,))):
        require_function(caller, fun)
    if transpose_solve is None and symmetric:
        transpose_solve = solve
    b = tree_to_arrays(b)
    leaves, tree = stage2.tree.tree_flatten(b)
    abstractify(
        f"{caller} of `{name_of(matvec)}`", lambda: argument_names(matvec, (b,), {}), leaves
    )
    matvec_part, leaves = _stage_matvec(matvec, leaves, tree)
    avals = list(map(typeof, leaves))

    def stage_solver(solver: Callable[..., Any], role: str, of: Callable[..., Any]) -> Program:
        label = f"{caller}: {role}"
        program = stage_part(
            caller, lambda b: solver(of, b), avals, treedef_tuple([tree]), named=solver
        )
        found = without_aux(label, solver, program.out_tree, has_aux)
        check_structure(label, solver, "b", tree, found)
        check_types(label, solver, "b", tree, avals, program.jaxpr.out_avals[: len(avals)])
        return program

    solve_part = stage_solver(solve, "solve", matvec)
    vecmat_part = transpose_part = None
    if transpose_solve is not None:
        vecmat = matvec
        # a symmetric map is its own transpose
        vecmat_part = matvec_part
        if not symmetric:
            vecmat_part = _transposed_part(matvec_part)
            vecmat = _part_function(vecmat_part)
        transpose_part = stage_solver(transpose_solve, "transpose_solve", vecmat)
    outs = solve_by_parts((matvec_part, vecmat_part, solve_part, transpose_part), leaves)
    return tree_to_arrays(stage2.tree.tree_unflatten(solve_part.out_tree, outs))


def solve_by_parts(parts: Sequence[Program | None], b: Sequence[Any]) -> list[Any]:
    """The solution of a linear system whose parts are staged, in the order of `Equations`."""
    consts = [[] if part is None else part.consts for part in parts]
    return bind(
        linear_solve_p,
        *(x for part_consts in consts for x in part_consts),
        *b,
        jaxprs=Equations(*[None if part is None else part.jaxpr for part in parts]),
        const_lengths=Equations(*map(len, consts)),
    )


def _stage_matvec(
    matvec: Callable[..., Any], b: Sequence[Any], tree: stage2.tree.PyTreeDef
) -> tuple[Program, list[Any]]:
    """The program of `matvec`, and the right-hand side, promoted to the dtypes that it returns."""
    label = "custom_linear_solve: matvec"
    b = list(b)
    while True:
        avals = list(map(typeof, b))
        program = stage_part("custom_linear_solve", matvec, avals, treedef_tuple([tree]))
        check_structure(label, matvec, "b", tree, program.out_tree)
        found = program.jaxpr.out_avals
        promoted = [
            x if aval.dtype == out.dtype else stage2.astype(x, result_type(aval, out).dtype)
            for x, aval, out in zip(b, avals, found, strict=True)
        ]
        if [typeof(x).dtype for x in promoted] == [aval.dtype for aval in avals]:
            check_types(label, matvec, "b", tree, avals, found)
            return program, b
        b = promoted


def _transposed_part(part: Program) -> Program:
    """The transpose of a linear map."""
    is_const = [True] * len(part.consts)
    linear = (*[False] * len(is_const), *[True] * (len(part.jaxpr.invars) - len(is_const)))
    cts_nonzero = (True,) * len(part.jaxpr.outvars)
    program, consts, _ = transpose_jaxpr(part.jaxpr, linear, cts_nonzero, linear)
    return Program(program, [*consts, *part.consts], part.out_tree)


def _part_function(part: Program) -> Callable[[Any], Any]:
    """A staged map as a function of pytrees, which a solver can call."""

    def apply_part(x: Any) -> Any:
        leaves, tree = stage2.tree.tree_flatten(x)
        if tree != part.out_tree:
            raise TreeMismatchError(
                "custom_linear_solve: the transpose of matvec takes an argument of the structure "
                f"of b: {stage2.explain_mismatch(part.out_tree, tree, name='argument')}"
            )
        return stage2.tree.tree_unflatten(
            part.out_tree, eval_jaxpr(part.jaxpr, [], *part.consts, *leaves)
        )

    return apply_part


def split_operands(
    operands: Sequence[Any], const_lengths: Equations
) -> tuple[Equations, list[Any]]:
    """The constants of each program, and the right-hand side."""
    *consts, b = loops.split_by_sizes(operands, *const_lengths)
    return Equations(*consts), b


def _linear_solve_type(
    *in_avals: ShapedArray, jaxprs: Equations, const_lengths: Equations
) -> list[ShapedArray]:
    consts, b = split_operands(in_avals, const_lengths)
    for jaxpr, program_consts in zip(jaxprs, consts, strict=True):
        if jaxpr is None:
            continue
        require_accepted("custom_linear_solve: a program", jaxpr.in_avals, [*program_consts, *b])
    solution = [
        x.update(weak_type=like.weak_type)
        for x, like in zip(jaxprs.solve.out_avals, b, strict=False)
    ]
    return [*solution, *jaxprs.solve.out_avals[len(b) :]]


def _linear_solve_lower(
    b: FunctionBuilder,
    out_avals: loops.Avals,
    *args: Value,
    jaxprs: Equations,
    const_lengths: Equations,
) -> list[Value]:
    consts, right_hand_side = split_operands(args, const_lengths)
    return loops.call_text(b, jaxprs.solve, "linear_solve", [*consts.solve, *right_hand_side])


def _linear_solve_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, jaxprs: Equations, const_lengths: Equations
) -> tuple[list[Any], list[Any]]:
    """A x' = b' - A' x."""
    outs = bind(linear_solve_p, *primals, jaxprs=jaxprs, const_lengths=const_lengths)
    consts, b = split_operands(primals, const_lengths)
    const_dots, rhs = split_operands(tangents, const_lengths)
    # The constants of the solvers do not matter: the equation alone determines x.
    if any(type(t) is not Zero for t in const_dots.matvec):

        def matvec_at_solution(*params: Any) -> list[Any]:
            return eval_jaxpr(jaxprs.matvec, [], *params, *outs[: len(b)])

        _, changes = jvp_flat(matvec_at_solution, consts.matvec, const_dots.matvec, None)
        rhs = [_difference(t, change) for t, change in zip(rhs, changes, strict=True)]
    zeros = [Zero.like(x) for x in outs]
    if all(type(t) is Zero for t in rhs):
        return outs, zeros
    operands = [x for program_consts in consts for x in program_consts]
    dots = bind(
        linear_solve_p,
        *operands,
        *map(instantiate, rhs),
        jaxprs=jaxprs,
        const_lengths=const_lengths,
    )
    return outs, [*dots[: len(b)], *zeros[len(b) :]]


def _difference(x: Any, y: Any) -> Any:
    if type(y) is Zero:
        return x
    return -y if type(x) is Zero else x - y


def _linear_solve_vmap(
    axis: BatchAxis,
    values: Sequence[Any],
    dims: Sequence[BatchDim],
    *,
    jaxprs: Equations,
    const_lengths: Equations,
) -> tuple[list[Any], list[BatchDim]]:
    """Batching rule: the solution has the batch axes of the right-hand side, and vice versa."""
    consts, b = split_operands(values, const_lengths)
    const_dims, b_dims = split_operands(dims, const_lengths)

    def program_for(part: int, batched: loops.Flags, forced: loops.Flags | None) -> Any:
        in_dims = (*const_dims[part], *(0 if flag else None for flag in batched))
        return vmap_jaxpr(jaxprs[part], axis, in_dims, forced)

    parts = [part for part, jaxpr in enumerate(jaxprs) if jaxpr is not None]

    def becomes_batched(batched: loops.Flags) -> list[bool]:
        # All programs take or return the right-hand side's structure, so they share its batch axes.
        rows = [program_for(part, batched, None)[2][: len(b)] for part in parts]
        return [any(dim is not None for dim in column) for column in zip(*rows, strict=True)]

    batched = loops.until_stable(tuple(dim is not None for dim in b_dims), becomes_batched)
    batched_programs: list[Jaxpr | None] = [None] * len(jaxprs)
    batched_consts: list[list[Any]] = [[]] * len(jaxprs)
    out_dims = Equations(*[None] * len(jaxprs))._asdict()
    for part, name in enumerate(Equations._fields):
        if part not in parts:
            continue
        num_aux = len(jaxprs[part].outvars) - len(b)
        program, more, out_dims[name] = program_for(part, batched, (*batched, *[False] * num_aux))
        batched_programs[part] = program
        batched_consts[part] = [*more, *consts[part]]
    b = [
        move_batch_dim(x, axis, dim, 0) if flag else x
        for x, dim, flag in zip(b, b_dims, batched, strict=True)
    ]
    outs = bind(
        linear_solve_p,
        *(x for program_consts in batched_consts for x in program_consts),
        *b,
        jaxprs=Equations(*batched_programs),
        const_lengths=Equations(*map(len, batched_consts)),
    )
    return outs, out_dims["solve"]


def _linear_solve_transpose(
    cts: Sequence[Any], *args: Any, jaxprs: Equations, const_lengths: Equations
) -> list[Any]:
    """Transpose rule: a solution of the transposed system, linear in the right-hand side."""
    consts, b = split_operands(args, const_lengths)
    known = [x for program_consts in consts for x in program_consts]
    linear_in = [i for i, x in enumerate(known) if isinstance(x, UndefPrimal)]
    if linear_in:
        raise nonlinear_in(linear_solve_p, linear_in)
    if jaxprs.transpose_solve is None:
        raise TypeError(
            "custom_linear_solve is differentiated in reverse mode, which solves the transposed "
            "equations: give transpose_solve, or symmetric=True where matvec is its own transpose"
        )
    x_cts, aux_cts = loops.split_by_sizes(cts, len(b))
    if any(type(ct) is not Zero for ct in aux_cts):
        raise NonlinearError(
            "custom_linear_solve: what solve returns besides the solution is not linear in b"
        )
    outs = bind(
        linear_solve_p,
        *(x for program_consts in consts.transposed() for x in program_consts),
        *map(instantiate, x_cts),
        jaxprs=jaxprs.transposed(),
        const_lengths=const_lengths.transposed(),
    )
    in_cts = [ct if isinstance(x, UndefPrimal) else None for ct, x in zip(outs, b, strict=False)]
    return [*[None] * len(known), *in_cts]


def _linear_solve_effects(
    with_token: WithToken, eqn: JaxprEqn, token: Var | stage3.Literal, following: Var
) -> list[JaxprEqn]:
    """A call of the solver, which calls the map to invert."""
    jaxprs, const_lengths = eqn.params["jaxprs"], eqn.params["const_lengths"]
    consts, b = split_operands(eqn.invars, const_lengths)
    params = {"jaxpr": with_token(jaxprs.solve), "name": "linear_solve"}
    outvars = [*eqn.outvars, following]
    return [JaxprEqn(stage3.jit_p, [*consts.solve, *b, token], outvars, params, eqn.source)]


def _linear_solve_keys(
    keys_of: Callable[[Jaxpr], Any], count: int, *, jaxprs: Equations, const_lengths: Equations
) -> Any:
    """The keys used by the solver, whose operands are its constants and the right-hand side."""
    consts, b = split_operands(range(count), const_lengths)
    return keys_of(jaxprs.solve).at([*consts.solve, *b], count)


declare_program(
    linear_solve_p,
    abstract_eval=_linear_solve_type,
    lower=_linear_solve_lower,
    vmap=_linear_solve_vmap,
    jvp=_linear_solve_jvp,
    transpose=_linear_solve_transpose,
    partial_eval=None,
    dce=None,
    dependence=None,
    order=_linear_solve_effects,
    keys=_linear_solve_keys,
    steps=None,
)
