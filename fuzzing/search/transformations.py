"""Transformations of a program: each takes a library, a function and its arguments.

It gives the transformed function and the arguments of that. The first parameter is called `jax`
because the source of what is used is printed with each case, which stands alone.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Function = Callable[..., Any]
Arguments = Sequence[Any]

# What the transformations share; printed with each case.


def weights(jax: Any, x: Any) -> Any:
    """An array of the type of `x`, whose elements differ."""
    x = jax.numpy.asarray(x)
    values = jax.numpy.asarray(np.cos(1.0 + np.arange(x.size)).reshape(x.shape)).astype(x.dtype)
    if not jax.typeof(x).weak_type:
        return values
    # A number of Python is of a weak type, as the result is that is computed of such.
    number = np.cos(1.0).astype(x.dtype).item()
    return number if x.shape == () else jax.numpy.full(x.shape, number)


def is_inexact(jax: Any, x: Any) -> bool:
    return bool(jax.numpy.issubdtype(jax.numpy.result_type(x), np.inexact))


def is_key(jax: Any, x: Any) -> bool:
    return bool(hasattr(x, "dtype") and jax.numpy.issubdtype(x.dtype, jax.dtypes.prng_key))


def rows(jax: Any, x: Any, n: int) -> Any:
    """An array of `n` examples like `x`."""
    if is_key(jax, x):
        return jax.random.split(x, n)
    dtype = jax.numpy.asarray(x).dtype
    x = np.asarray(x)
    examples = [np.roll(x, k) for k in range(n)] or np.zeros((0, *x.shape))
    return jax.numpy.asarray(np.stack(examples) if n else examples, dtype)


def mapped(jax: Any, args: Arguments, n: int) -> tuple[Any, ...]:
    """The arguments with rows of examples for each array."""
    return tuple(rows(jax, x, n) if hasattr(x, "shape") else x for x in args)


def of_inexact(jax: Any, f: Function, args: Arguments) -> tuple[Function, tuple[Any, ...]]:
    """The inexact results of `f`, as a function of its inexact arguments; and these."""
    places = [i for i, x in enumerate(args) if not is_key(jax, x) and is_inexact(jax, x)]

    def g(*primals: Any) -> list[Any]:
        given = list(args)
        for i, primal in zip(places, primals, strict=True):
            given[i] = primal
        outs = jax.tree.leaves(f(*given))
        return [y for y in outs if not is_key(jax, y) and is_inexact(jax, y)]

    return g, tuple(args[i] for i in places)


# The transformations


def jit(jax: Any, f: Function, args: Arguments) -> tuple[Function, Arguments]:
    return jax.jit(f), args


def vmap(jax: Any, f: Function, args: Arguments) -> tuple[Function, Arguments]:
    axes = tuple(0 if hasattr(x, "shape") else None for x in args)
    return jax.vmap(f, axes), mapped(jax, args, 2)


def vmap_of_nothing(jax: Any, f: Function, args: Arguments) -> tuple[Function, Arguments]:
    axes = tuple(0 if hasattr(x, "shape") else None for x in args)
    return jax.vmap(f, axes), mapped(jax, args, 0)


def vmap_of_the_first(jax: Any, f: Function, args: Arguments) -> tuple[Function, Arguments]:
    axes = (0,) + (None,) * (len(args) - 1)
    return jax.vmap(f, axes), (*mapped(jax, args[:1], 3), *args[1:])


def vmap_of_the_last(jax: Any, f: Function, args: Arguments) -> tuple[Function, Arguments]:
    axes = (None,) * (len(args) - 1) + (-1,)
    last = rows(jax, args[-1], 2)
    return jax.vmap(f, axes), (*args[:-1], jax.numpy.moveaxis(last, 0, -1))


def grad(jax: Any, f: Function, args: Arguments) -> tuple[Function, Arguments]:
    g, primals = of_inexact(jax, f, args)

    def total(*primals: Any) -> Any:
        outs = [jax.numpy.sum(weights(jax, y) * y) for y in g(*primals)]
        return sum((jax.numpy.real(y).astype(np.float32) for y in outs), jax.numpy.float32(0))

    return jax.grad(total, tuple(range(len(primals)))) if primals else g, primals


def vjp(jax: Any, f: Function, args: Arguments) -> tuple[Function, Arguments]:
    g, primals = of_inexact(jax, f, args)

    def both(*primals: Any) -> Any:
        outs, back = jax.vjp(g, *primals)
        return outs, back([weights(jax, y) for y in outs])

    return both if primals else g, primals


def jvp(jax: Any, f: Function, args: Arguments) -> tuple[Function, Arguments]:
    g, primals = of_inexact(jax, f, args)
    return lambda *xs: jax.jvp(g, xs, tuple(weights(jax, x) for x in xs)), primals


def linearize(jax: Any, f: Function, args: Arguments) -> tuple[Function, Arguments]:
    g, primals = of_inexact(jax, f, args)

    def both(*primals: Any) -> Any:
        outs, linear = jax.linearize(g, *primals)
        return outs, linear(*(weights(jax, x) for x in primals))

    return both if primals else g, primals


def jacfwd(jax: Any, f: Function, args: Arguments) -> tuple[Function, Arguments]:
    g, primals = of_inexact(jax, f, args)
    return jax.jacfwd(g) if primals else g, primals


def jacrev(jax: Any, f: Function, args: Arguments) -> tuple[Function, Arguments]:
    g, primals = of_inexact(jax, f, args)
    return jax.jacrev(g) if primals else g, primals


def checkpoint(jax: Any, f: Function, args: Arguments) -> tuple[Function, Arguments]:
    return jax.checkpoint(f), args


def scan(jax: Any, f: Function, args: Arguments) -> tuple[Function, Arguments]:
    def scanned(*args: Any) -> Any:
        is_array = [hasattr(x, "shape") for x in args]
        xs = [x for x, each in zip(args, is_array, strict=True) if each]

        def step(i: Any, row: Any) -> Any:
            parts = iter(row)
            return i + 1, f(
                *(next(parts) if each else x for x, each in zip(args, is_array, strict=True))
            )

        return jax.lax.scan(step, 0, xs, length=2)

    return scanned, mapped(jax, args, 2)


def fori_loop(jax: Any, f: Function, args: Arguments) -> tuple[Function, Arguments]:
    def looped(*args: Any) -> Any:
        return jax.lax.fori_loop(0, 2, lambda i, out: f(*args), f(*args))

    return looped, args


def while_loop(jax: Any, f: Function, args: Arguments) -> tuple[Function, Arguments]:
    def looped(*args: Any) -> Any:
        start = (0, f(*args))
        return jax.lax.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, f(*args)), start)

    return looped, args


def cond(jax: Any, f: Function, args: Arguments) -> tuple[Function, Arguments]:
    def zeros(*args: Any) -> Any:
        return jax.tree.map(jax.numpy.zeros_like, f(*args))

    return lambda *args: jax.lax.cond(jax.numpy.array(True), f, zeros, *args), args


def disable_jit(jax: Any, f: Function, args: Arguments) -> tuple[Function, Arguments]:
    def at_once(*args: Any) -> Any:
        with jax.disable_jit():
            return f(*args)

    return at_once, args


def eval_shape(jax: Any, f: Function, args: Arguments) -> tuple[Function, Arguments]:
    return lambda *args: jax.eval_shape(f, *args), args


def eval_jaxpr(jax: Any, f: Function, args: Arguments) -> tuple[Function, Arguments]:
    def staged(*args: Any) -> Any:
        closed = jax.make_jaxpr(f)(*args)
        return jax.core.eval_jaxpr(closed.jaxpr, closed.consts, *jax.tree.leaves(args))

    return staged, args


def shard_map(jax: Any, f: Function, args: Arguments) -> tuple[Function, Arguments]:
    """Over a mesh of one device: what is computed of divided arguments varies from part to part."""
    auto = (jax.sharding.AxisType.Auto,)
    mesh, spec = jax.make_mesh((1,), ("d",), axis_types=auto), jax.sharding.PartitionSpec

    def part(*args: Any) -> Any:
        return jax.tree.map(lambda y: jax.numpy.expand_dims(y, 0), f(*args))

    divided = tuple(spec("d") if getattr(x, "ndim", 0) else spec() for x in args)
    mapped = jax.shard_map(part, mesh=mesh, in_specs=divided, out_specs=spec("d"))
    return lambda *args: jax.tree.map(lambda y: y[0], mapped(*args)), args


def in_mesh_without_axes(jax: Any, f: Function, args: Arguments) -> tuple[Function, Arguments]:
    def within(*args: Any) -> Any:
        with jax.set_mesh(jax.make_mesh((), ())):
            return f(*args)

    return within, args


def donated_copies(jax: Any, f: Function, args: Arguments) -> tuple[Function, Arguments]:
    """The results after copies of the arguments were given away."""

    def twice(*args: Any) -> Any:
        is_array = [isinstance(x, jax.Array) for x in args]
        copies = [
            jax.numpy.array(x, copy=True) if each else x
            for x, each in zip(args, is_array, strict=True)
        ]
        places = tuple(i for i, each in enumerate(is_array) if each)
        jax.jit(f, donate_argnums=places)(*copies)
        return f(*args)

    return twice, args


def exported(jax: Any, f: Function, args: Arguments) -> tuple[Function, Arguments]:
    def called(*args: Any) -> Any:
        program = jax.export.export(jax.jit(f))(*args)
        try:  # noqa: SIM105  # the source is printed alone
            program = jax.export.deserialize(program.serialize())
        except ImportError:  # of what JAX writes by, which need not be there
            pass
        return program.call(*args)

    return called, args


SHARED = [weights, is_inexact, is_key, rows, mapped, of_inexact]
TRANSFORMATIONS = {
    f.__name__: f
    for f in (
        jit, vmap, grad, jvp, vjp, vmap_of_nothing, vmap_of_the_first, vmap_of_the_last,
        linearize, jacfwd, jacrev, checkpoint, scan, fori_loop, while_loop, cond, disable_jit,
        eval_shape, eval_jaxpr, shard_map, in_mesh_without_axes, donated_copies, exported,
    )
}  # fmt: skip
# What gives no arrays, so that nothing more can be made of it.
LAST = {"eval_shape"}
