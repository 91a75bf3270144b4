"""`disable_jit` and `ensure_compile_time_eval`, beside JAX."""

import jax
import numpy as np

import glassjax
from glassjax import config

X = np.linspace(-1.0, 1.0, 3)


LIBRARIES = [jax, glassjax]


def both(program):
    """What a program returns under either library, which has to be the same."""
    theirs, ours = (program(library, library.numpy) for library in LIBRARIES)
    jax.tree.map(np.testing.assert_allclose, theirs, ours)
    return ours


def python_loops(library, jnp):
    """Programs that decide by values, which no tracer has."""
    lax = library.lax

    @library.jit
    def chosen(x):
        return x * 2 if x.sum() > 0 else x - 1

    @library.jit(static_argnums=1)
    def powers(x, n):
        return [x**i for i in range(n)]

    x = jnp.asarray(X)
    return [
        chosen(x + 1),
        powers(x, 3),
        lax.scan(lambda c, x: (c + x if x > 0 else c, {"c": c}), jnp.float64(1), x),
        lax.scan(lambda c, x: (c + x, c if c > 0 else x), jnp.float64(1), x, reverse=True),
        lax.scan(lambda c, _: (c * 2, None), 1.0, None, length=3),
        lax.while_loop(lambda c: bool(c < 100), lambda c: c * 3 if c > 10 else c + 4, 1),
        lax.fori_loop(0, 4, lambda i, c: c + X[int(i) % 3], jnp.float64(0)),
        lax.cond(x[0] < 0, lambda y: y + int(y[0]), lambda y: y, x),
        lax.switch(1, [lambda: 1, lambda: "no array and so" and 2, lambda: 3]),
        lax.switch(7, [lambda y: y, lambda y: y + float(y[1])], x),
        lax.map(lambda y: y * 2 if y > 0 else -y, x),
        library.grad(lambda y: chosen(y).sum())(x),
        library.vmap(lambda y: lax.while_loop(lambda c: c < 3, lambda c: c + 1, y))(x),
        library.vmap(lambda y: lax.cond(y > 0, lambda v: v, lambda v: -v, y))(x),
        library.jit(lambda y: lax.while_loop(lambda c: c < 3, lambda c: c + 1, y))(0),
    ]


def test_without_jit_programs_are_python():
    def program(library, jnp):
        with library.disable_jit():
            return python_loops(library, jnp)

    both(program)


def test_without_jit_loops_give_arrays():
    with glassjax.disable_jit():
        n = glassjax.lax.while_loop(lambda n: n < 3, lambda n: n + 1, 0)
    assert (type(n), n.dtype, n.weak_type) == (glassjax.Array, "int64", True)


def test_without_jit_nothing_is_traced_and_with_it_all_is_as_before():
    seen = []
    f = glassjax.jit(lambda x: seen.append(isinstance(x, glassjax.core.Tracer)) or x + 1)
    with glassjax.disable_jit():
        f(1.0)
        with glassjax.disable_jit(False):
            f(1.0)
        f(1.0)
    f(1.0)
    assert seen == [False, True, False]
    config.update("jax_disable_jit", True)
    try:
        f(2.0)
    finally:
        config.update("jax_disable_jit", False)
    assert seen == [False, True, False, False]
    assert not config.disable_jit


def test_what_is_known_can_be_computed_while_tracing():
    def program(library, jnp):
        @library.custom_jvp
        def twice(x):
            return 2 * x

        twice.defjvp(lambda primals, tangents: (twice(*primals), 2 * tangents[0]))

        def f(x):
            with library.ensure_compile_time_eval():
                table = jnp.arange(5.0)
                jitted = library.jit(lambda y: jnp.sum(y * y))(table)
                looped = library.lax.fori_loop(0, 3, lambda i, c: c + i, 0)
                # JAX leaves custom derivatives to what is around
                custom = twice(table[1]) if library is glassjax else 2.0
                slope = library.grad(lambda y: y**3)(2.0)
                chosen = library.lax.cond(table[0] > 0, lambda: 1, lambda: 2)
                numbers = [float(y) for y in (jitted, looped, custom, slope, chosen)]
                assert numbers == [30.0, 3.0, 2.0, 12.0, 2.0]
                x = x * float(jitted)  # of what is known and what is not
            return x + table

        return [library.jit(f)(2.0), library.jacfwd(f)(2.0), library.vmap(f)(jnp.ones(2)), f(2.0)]

    both(program)
