"""`scan`: a loop over the elements of arrays, and the loops built on it."""

import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

import minijax.lax.control_flow.scan_rules as _rules  # noqa: F401
from minijax.errors.argument_errors import require_fit
from minijax.errors.classes import ConcretizationTypeError
from minijax.lax.control_flow.disabled_jit import scan_in_python
from minijax.lax.control_flow.program_cache import keeps_programs
from minijax.lax.control_flow.scan_primitive import scan_p
from minijax.lax.control_flow.while_loop import repeat_while
from minijax.lax.indexing.slice_pad_concatenate import concatenate, slice
from minijax.primitives.loops import hoist_invariant, stage_body, stage_with_carry
from minijax.pytrees import structures
from minijax.pytrees.operations import treedef_tuple
from minijax.runtime.conversion import to_array, tree_to_arrays
from minijax.runtime.evaluation import evaluated_by_library
from minijax.runtime.refs import Ref, passing, values_of, with_outer_refs, write_all
from minijax.settings.debugging import jit_is_disabled
from minijax.settings.promotion import promote
from minijax.transforms.transformations import vmap
from minijax_stage2 import ShapedArray, Tracer, add, bind, lt, reshape, tree_map, typeof
from minijax_stage2.arguments import FlatFunction, argument_names, require_function
from minijax_stage2.errors import shown
from minijax_stage2.functions import ints
from minijax_stage2.shaped_array import kind_of, typeof_named
from minijax_stage2.source import name_of
from minijax_stage2.tree import (
    PyTreeDef,
    keystr,
    tree_flatten,
    tree_flatten_with_path,
    tree_unflatten,
)
from minijax_stage3.jaxpr import consts_as_invars
from minijax_stage3.staging import abstractify
from minijax_stage4.partial_eval import merge, partition

Carry = TypeVar("Carry")
Y = TypeVar("Y")

# Operands: constants, carry, arrays to take elements of. The program takes constants, carry and
# elements, and returns the next carry and elements of results.


@evaluated_by_library
@keeps_programs("f", "length", "reverse", "unroll", "_split_transpose")
def scan(
    f: Callable[[Carry, Any], tuple[Carry, Y]],
    init: Carry,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[Carry, Y]:
    """Call `f` with a carry and each element of `xs` in turn.

    `f` is traced once, and the program does not grow with the length.

    Arguments:
        f: function of a carry and an element that returns the next carry, of the same structure
            and types, and an element of the results.
        init: the initial carry, a pytree of arrays.
        xs: a pytree of arrays whose elements lie along the first axis; None for a loop without
            elements.
        length: the number of iterations, required if `xs` holds no arrays.
        reverse: whether to begin with the last element; results keep the positions of their
            elements.
        unroll: the number of iterations to unroll; True: all of them.

    Returns:
        The last carry, and the results of all iterations, stacked along a new first axis.

    Raises:
        TypeError: `f` does not return a pair, or the carry changes its structure or types.
        ValueError: the first axes of `xs` differ in size, or `length` does, or is not given.

    >>> import minijax.numpy as jnp
    >>> scan(lambda total, x: (total + x, total), jnp.float32(0), jnp.arange(4.0))
    (Array(6., dtype=float32), Array([0., 0., 1., 3.], dtype=float32))
    """
    return _scan(f, init, xs, length, reverse, unroll)


def _scan(
    f: Callable[..., Any],
    init: Any,
    xs: Any,
    length: int | None,
    reverse: bool,
    unroll: int | bool,
    counts: bool = False,
) -> Any:
    """`scan`, or with `counts` a `fori_loop`, whose users see only the last entry of the carry."""
    require_function("scan", f)

    def stage(refs: Sequence[Ref]) -> Any:
        if not refs:
            return _scan_alone(f, init, xs, length, reverse, unroll, counts)

        def body(state: Any, x: Any) -> Any:
            values, (carry, y) = passing(refs, f)(state[0], state[1], x)
            return (values, carry), y

        body.__name__ = name_of(f)
        state = values_of(refs), init
        (values, last), ys = _scan_alone(body, state, xs, length, reverse, unroll, counts)
        write_all(refs, values)
        return last, ys

    return with_outer_refs(stage)


def _scan_alone(
    f: Callable[..., Any],
    init: Any,
    xs: Any,
    length: int | None,
    reverse: bool,
    unroll: int | bool,
    counts: bool,
) -> Any:
    """`_scan` of a function that uses no references of the code around it."""
    if type(reverse) is not bool:
        require_fit("scan", "reverse", reverse, bool)
    carry, carry_tree = tree_flatten(init)
    elements, xs_tree = tree_flatten(xs)
    length = _length(f, xs, length)
    if length and jit_is_disabled():
        init, xs = tree_to_arrays((init, xs))
        return scan_in_python(f, init, xs, length, bool(reverse))
    rounds = _rounds_at_once(length, unroll)
    element_avals = [aval.without_axis(0) for aval in [typeof(x) for x in elements]]
    body = FlatFunction(f, treedef_tuple([carry_tree, xs_tree]))

    def names() -> list[str]:
        return argument_names(f, (init, xs), {})

    abstractify(f"scan of `{name_of(f)}`", names, [*carry, *elements])
    closed, carry = stage_with_carry(
        "scan",
        f,
        lambda avals: stage_body(body, [*avals, *element_avals], "scan", f, names),
        lambda: _carry_and_result(f, body.out_tree)[0],
        carry_tree,
        carry,
        counts,
    )
    jaxpr, is_const = hoist_invariant(
        consts_as_invars(closed.jaxpr), len(closed.consts), (False,) * len(carry)
    )
    changing, invariant = partition(is_const, carry)
    consts = [*invariant, *closed.consts]
    outs = bind(
        scan_p,
        *consts,
        *changing,
        *elements,
        jaxpr=jaxpr,
        num_consts=len(consts),
        num_carry=len(changing),
        length=length,
        reverse=bool(reverse),
        unroll=rounds,
    )
    _, result_tree = _carry_and_result(f, body.out_tree)
    last = merge(is_const, outs[: len(changing)], invariant)
    return (
        tree_unflatten(carry_tree, [to_array(x) for x in last]),
        tree_unflatten(result_tree, [to_array(x) for x in outs[len(changing) :]]),
    )


def _carry_and_result(f: Any, out_tree: PyTreeDef) -> list[PyTreeDef]:
    """The structures of the two results of the body."""
    node, parts = structures.node_data(out_tree), structures.children(out_tree)
    if node is None or node[0] not in (tuple, list) or len(parts) != 2:
        raise TypeError(
            f"scan: `{name_of(f)}` must return a pair, the next carry and an element of the "
            f"results (or None); found {out_tree}"
        )
    return parts


def _length(f: Any, xs: Any, length: Any) -> int:
    """Return the number of rounds."""
    rows = []
    for path, x in tree_flatten_with_path(xs)[0]:
        shape = typeof(x).shape
        if not shape:
            raise ValueError(
                f"scan of `{name_of(f)}`: xs{keystr(path)} is a scalar, and has no elements to "
                "take; what is the same in every round can be closed over"
            )
        rows.append((f"xs{keystr(path)}", str(shape), shape[0]))
    if length is not None:
        try:
            length = operator.index(length)
        except ConcretizationTypeError as error:
            raise type(error)(
                "scan: length must be known, for it decides the shape of the results; fori_loop "
                f"and while_loop run as often as a traced number says. Here {error}"
            ) from None
        except TypeError:
            raise TypeError(f"scan: length must be an int, found {shown(length)}") from None
    sizes = {size for _, _, size in rows} | ({length} if length is not None else set())
    if not sizes:
        raise ValueError(f"scan of `{name_of(f)}`: xs holds no arrays, so length must be given")
    if len(sizes) > 1:
        if length is not None:
            rows.insert(0, ("length", "", length))
        table = [("argument", "shape", "size"), *rows]
        lines = [f"    {name:<20} {shape:<14} {size}" for name, shape, size in table]
        raise ValueError(f"scan of `{name_of(f)}`: first axes differ in size\n" + "\n".join(lines))
    return int(sizes.pop())


def _rounds_at_once(length: int, unroll: int | bool) -> int:
    if unroll is True:
        return max(length, 1)
    if unroll is False:
        return 1
    try:
        rounds = operator.index(unroll)
    except TypeError as error:
        raise TypeError(f"scan: unroll must be an int or a bool, found {shown(unroll)}") from error
    if rounds < 0:
        raise ValueError(f"scan: unroll must not be negative, found {rounds}")
    return min(max(rounds, 1), max(length, 1))


@evaluated_by_library
@keeps_programs("lower", "upper", "body_fun", "unroll")
def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Callable[[Any, Carry], Carry],
    init_val: Carry,
    *,
    unroll: int | bool | None = None,
) -> Carry:
    """Call `body_fun` with each integer from `lower` up to `upper`, exclusive, and a carry.

    With known bounds it is a `scan`, and has derivatives in both modes. With traced bounds it is a
    `while_loop`, which has none in reverse mode.

    Arguments:
        lower, upper: real numbers of one dtype, most often integers; of those that are known when
            the loop is traced, the integral parts count.
        body_fun: function of an integer and the carry that returns the next carry.
        init_val: the initial carry, a pytree of arrays.
        unroll: the number of iterations to unroll; True: all of them.

    Returns:
        The last carry.

    Raises:
        TypeError: a bound is not an integer, the bounds differ in dtype, or the carry changes its
            structure or types.
        ValueError: `unroll` is given and a bound is traced.

    >>> fori_loop(0, 5, lambda i, total: total + i, 0)
    Array(10, dtype=int32, weak_type=True)
    """
    if unroll is not None and type(unroll) is not int:
        require_fit("fori_loop", "unroll", unroll, bool)
    require_function("fori_loop", body_fun)
    first, last = (_bound(role, bound) for role, bound in (("lower", lower), ("upper", upper)))
    are_weak = first.weak_type or last.weak_type
    if first.dtype != last.dtype and not (are_weak and first.dtype.kind == last.dtype.kind == "i"):
        raise TypeError(f"fori_loop: lower and upper must have one dtype, found {first} and {last}")
    init_val = tree_to_arrays(init_val)
    if not any(isinstance(x, Tracer) for x in (lower, upper)):
        length = max(int(upper) - int(lower), 0)
        if length == 0:
            return init_val

        def numbered(carry: Any, _: None) -> Any:
            i, x = carry
            return (add(i, 1), body_fun(i, x)), None

        numbered.__name__ = name_of(body_fun)
        start = (int(lower), init_val)
        (_, out), _ = _scan(numbered, start, None, length, False, unroll or 1, counts=True)
        return out
    if unroll is not None and unroll is not False and unroll != 1:
        raise ValueError(
            "fori_loop: unroll asks for bounds that are known when the loop is traced, found "
            f"lower of type {first} and upper of type {last}, of which one is a tracer"
        )

    def cond_fun(carry: Any) -> Any:
        i, end, _ = carry
        return lt(i, end)

    def step(carry: Any) -> Any:
        i, end, x = carry
        return add(i, 1), end, body_fun(i, x)

    step.__name__ = name_of(body_fun)
    first_round, end = promote(lower, upper)
    _, _, out = repeat_while(cond_fun, step, (first_round, end, init_val), counts=True)
    return out


def _bound(role: str, x: Any) -> ShapedArray:
    aval = typeof_named(f"fori_loop: {role}", x)
    if aval.shape or kind_of(aval.dtype) >= kind_of(np.dtype(np.complex64)):
        raise TypeError(
            f"fori_loop: {role} must be a real scalar, found {aval}. Convert it by int(...), or "
            "by astype where it is traced."
        )
    return aval


@evaluated_by_library
@keeps_programs("f", "batch_size")
def map(f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """Call `f` with each element of `xs` in turn, and stack the results.

    Arguments:
        f: function of an element, a pytree of arrays.
        xs: a pytree of arrays whose elements lie along the first axis.
        batch_size: the number of elements to compute at once with `vmap`; one by one if None or 0.

    Returns:
        The results, stacked along a new first axis.

    Raises:
        ValueError: `batch_size` is negative, or the first axes of `xs` differ in size.

    >>> import minijax.numpy as jnp
    >>> map(lambda x: x * x, jnp.arange(3.0))
    Array([0., 1., 4.], dtype=float32)
    """
    require_function("map", f)
    (batch_size,) = (0,) if batch_size is None else ints("map: batch_size", batch_size)
    if batch_size == 0:
        return scan(_one_by_one(f), None, xs)[1]
    if batch_size < 0:
        raise ValueError(f"map: batch_size must not be negative, found {batch_size}")
    xs = tree_to_arrays(xs)
    length = _length(f, xs, None)
    batches, rest = divmod(length, batch_size)
    parts = []
    if batches:

        def split(x: Any) -> Any:
            whole = _between(x, 0, length - rest)
            return reshape(whole, (batches, batch_size, *typeof(x).shape[1:]))

        def join(x: Any) -> Any:
            return reshape(x, (batches * batch_size, *typeof(x).shape[2:]))

        out = scan(_one_by_one(vmap(f)), None, tree_map(split, xs))[1]
        parts.append(tree_map(join, out))
    if rest or not batches:
        parts.append(vmap(f)(tree_map(lambda x: _between(x, length - rest, length), xs)))
    if len(parts) == 1:
        return parts[0]
    return tree_map(lambda *pieces: concatenate(pieces, 0), *parts)


def _between(x: Any, start: int, limit: int) -> Any:
    """Some of the elements of `x` along its first axis."""
    rest = typeof(x).shape[1:]
    return slice(x, (start, *[0] * len(rest)), (limit, *rest))


def _one_by_one(f: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    def step(_: None, x: Any) -> Any:
        return None, f(x)

    step.__name__ = name_of(f)
    return step


__all__ = ["fori_loop", "map", "scan"]
