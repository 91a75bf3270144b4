"""Callbacks: arguments, order, exceptions and dtypes, beside JAX."""

import os
import subprocess
import sys
import threading
from functools import partial

import jax
import jax.custom_batching
import jax.experimental
import numpy as np
import pytest
from tables import for_each

import glassjax
import glassjax.debug
import glassjax.experimental
import glassjax_stage3
from glassjax.errors import ExecutionError

X = np.linspace(-1.0, 1.0, 3)


class Log(list):
    """What functions were called with, and functions that write it here."""

    def noting(self, tag):
        return lambda *xs: self.append((tag, *(np.round(np.asarray(x), 6).tolist() for x in xs)))


def logged(library, program, *args):
    """What a program does under a library, in which order, and what it returns."""
    log = Log()

    def see(tag, *xs):
        library.debug.callback(log.noting(tag), *xs, ordered=True)

    def do(tag, *xs):
        library.experimental.io_callback(log.noting(tag), None, *xs, ordered=True)

    out = program(library, see, do, *args)
    library.effects_barrier()
    return list(log), library.tree.map(np.asarray, out)


def nested(library, see, do, x):
    jnp, lax = library.numpy, library.lax

    @library.jit
    def inner(y):
        do("in", y)
        return lax.cond(
            y > 2,
            lambda y: (do("true", y), y * 2)[1],
            lambda y: (do("false", y), do("again", y), y + 1)[2],
            y,
        )

    def body(carry, x):
        do("body", carry, x)
        return inner(carry), None

    return lax.scan(body, x, jnp.arange(3.0))[0]


def loops(library, see, do, x):
    def goes_on(carry):
        do("goes on?", carry)
        return carry < 10

    def body(carry):
        do("body", carry)
        inside = library.lax.fori_loop(0, 2, lambda i, v: (do("round", i, v), v + 1)[1], carry)
        return inside * 2

    return library.lax.while_loop(goes_on, body, x)


def unused(library, see, do, x):
    """Nothing that is returned needs any of this."""
    library.lax.cond(x > 0, lambda y: (do("chosen"), y)[1], lambda y: y, x)
    library.jit(lambda y: (do("jit", y), y * 2)[1])(x)
    library.lax.scan(lambda c, _: (c, (do("scan"), c)[1]), x, None, length=2)
    library.lax.switch(1, [lambda: None, lambda: do("switch"), lambda: None])
    do("constant", 1)
    return x


def looked_at(library, see, do, x):
    see("outside", x)
    y = library.jit(lambda y: (see("inside", y), library.numpy.sin(y))[1])(x)
    y, _ = library.lax.scan(lambda c, _: ((see("round", c), c * c)[1], None), y, None, length=2)
    return library.lax.cond(y < 5, lambda y: (see("branch", y), y)[1], lambda y: y, y)


def custom(library, see, do, x):
    @library.custom_vjp
    def f(x):
        do("f", x)
        return x * 2

    def forward(x):
        do("forward", x)
        return f(x), x

    def backward(x, ct):
        do("backward", ct)
        return (ct * 2,)

    f.defvjp(forward, backward)
    return f(x)


def custom_batches(library, see, do, x):
    @library.custom_batching.custom_vmap
    def f(x):
        do("f", x)
        return x * 2

    @f.def_vmap
    def rule(axis_size, in_batched, x):
        return x * 2, in_batched[0]

    do("before")
    y = f(x)
    do("after", y)
    return y


def solved(library, see, do, x):
    """`matvec` is called by the solver."""

    def matvec(y):
        see("matvec", y)
        return 2.0 * y

    def solve(matvec, b):
        see("solve", b)
        return matvec(b) / 4.0

    see("before", x)
    y = library.lax.custom_linear_solve(matvec, x, solve, symmetric=True)
    see("after", y)
    return y


def transformed(transform, program):
    """`program` of a function that is transformed."""

    def run(library, see, do, x):
        return transform(library)(lambda x: program(library, see, do, x))(x)

    return run


PROGRAMS = {
    "nested": nested,
    "loops": loops,
    "unused": unused,
    "looked at": looked_at,
    "grad": transformed(lambda library: library.grad, looked_at),
    "hessian": transformed(lambda library: library.hessian, looked_at),
    "jvp": transformed(
        lambda library: lambda f: lambda x: library.jvp(f, (x,), (x,)),
        looked_at,
    ),
    "grad of custom": transformed(lambda library: library.grad, custom),
    "custom": custom,
    "solved": solved,
    "grad of solved": transformed(lambda library: library.grad, solved),
    "custom batches": custom_batches,
}


def named(name, library, see, do, x):
    """A program whose entries in the log have its name."""
    return PROGRAMS[name](
        library, lambda tag, *xs: see((name, tag), *xs), lambda tag, *xs: do((name, tag), *xs), x
    )


def all_of_them(library, see, do, x):
    return library.jit(lambda x: {name: named(name, library, see, do, x) for name in PROGRAMS})(x)


def test_what_programs_do_is_done_once_and_in_order():
    log, out = logged(jax, all_of_them, 1.5)
    compiled, found = logged(glassjax, all_of_them, 1.5)
    for name in PROGRAMS:
        expected = [entry for entry in log if entry[0][0] == name]
        assert expected
        assert [entry for entry in compiled if entry[0][0] == name] == expected
        evaluated, ours = logged(glassjax, partial(named, name), 1.5)
        assert evaluated == expected
        for each in (found[name], ours):
            glassjax.tree.map(np.testing.assert_allclose, each, out[name])


def test_mapped_functions_that_look_on_see_one_example_after_the_other():
    def program(library, see, do, x):
        def f(x, y):
            see("all", y)
            see("each", x, y)
            goes_on = library.lax.while_loop(
                lambda c: c < 4, lambda c: (see("round", c), c * c + 1)[1], x
            )
            return library.lax.cond(x > 1, lambda v: (see("branch", v), v)[1], lambda v: v, goes_on)

        return library.vmap(f, (0, None))(library.numpy.arange(3.0), x)

    expected, out = logged(jax, program, 2.0)
    found, ours = logged(glassjax, program, 2.0)
    assert found == expected
    np.testing.assert_allclose(ours, out)


def test_nothing_is_done_twice_because_something_is_computed_twice():
    """JAX does what is in a checkpoint, and in a loop that is linearized, once more."""

    def checkpointed(library, see, do, x):
        f = library.checkpoint(lambda x: library.numpy.sin(looked_at(library, see, do, x)))
        return library.grad(f)(x)

    def linearized(library, see, do, x):
        @library.jit
        def square(c):
            see("round", c)
            return c * c

        out, f_jvp = library.linearize(
            lambda x: library.lax.while_loop(lambda c: c < 10, square, x), x
        )
        return out, f_jvp(1.0), f_jvp(1.0)

    once, _ = logged(glassjax, looked_at, 1.5)
    assert logged(glassjax, checkpointed, 1.5)[0] == once
    found, (out, *slopes) = logged(glassjax, linearized, 2.0)
    assert found == [("round", 2.0), ("round", 4.0)]
    assert (out, *slopes) == (16.0, 32.0, 32.0)


@pytest.mark.parametrize("transformed", ["grad", "linearize", "vjp", "checkpoint"])
def test_an_effect_without_operands_belongs_to_one_half(transformed):
    """Both halves of a program compute constants; both called what has no operands, too."""

    def program(library, see, do, x):
        draws = iter((2.0, 3.0))

        @library.jit
        def f(x):
            do("once")
            type_ = library.ShapeDtypeStruct((), np.float32)
            return x * x * library.experimental.io_callback(lambda: np.float32(next(draws)), type_)

        if transformed in ("grad", "checkpoint"):
            return library.grad(f if transformed == "grad" else library.checkpoint(f))(x)
        out, backward = getattr(library, transformed)(f, x)
        return out, backward(x)

    found, ours = logged(glassjax, program, np.float32(2))
    assert found == [("once",)]
    if transformed != "checkpoint":  # JAX draws again
        expected, out = logged(jax, program, np.float32(2))
        assert found == expected
        glassjax.tree.map(np.testing.assert_allclose, ours, out)


def test_the_order_holds_between_programs():
    log = Log()
    f = glassjax.jit(lambda x: glassjax.debug.callback(log.noting("f"), x))
    for number in range(5):
        f(number)
        glassjax.debug.callback(log.noting("eager"), number)
        log.append(number)
    assert log == [x for i in range(5) for x in (("f", i), ("eager", i), i)]


def test_mapped_pure_functions_get_the_arguments_that_the_method_says():
    def mapped(library, method):
        shapes = []

        def called(x, y, *, z):
            shapes.append((np.shape(x), np.shape(y), np.shape(z)))
            return {"out": (np.asarray(x) + np.asarray(y) + np.asarray(z)).astype(np.float64)}

        def f(x, y, z):
            out = {"out": jax.ShapeDtypeStruct((), np.float64)}
            return library.pure_callback(called, out, x, y, z=z, vmap_method=method)["out"] * 2

        g = library.vmap(f, (0, None, None))
        if method != "legacy_vectorized":  # which has a function guess what an axis means
            g = library.vmap(g, (None, None, 0))
        return g(X, 1.0, X if method != "legacy_vectorized" else 2.0), shapes

    def run(library):
        shapes = {}

        def everything():
            outs = {}
            for method in ("sequential", "expand_dims", "broadcast_all", "legacy_vectorized"):
                outs[method], shapes[method] = mapped(library, method)
            return outs

        return library.tree.map(np.asarray, library.jit(everything)()), shapes

    (expected, shapes), (found, ours) = run(jax), run(glassjax)
    glassjax.tree.map(np.testing.assert_allclose, found, expected)
    assert ours == shapes


def test_pure_functions_are_called_only_where_their_results_are_needed():
    called = []

    def f(x):
        return glassjax.pure_callback(lambda x: called.append(1) or np.asarray(x), x, x)

    glassjax.jit(lambda x: (f(x), x)[1])(X)
    assert not called
    np.testing.assert_array_equal(glassjax.jit(f)(X), X)
    assert called == [1]


DTYPES = [
    "bool", "int8", "uint16", "int64", "bfloat16", "float8_e4m3fn", "float64", "complex128",
]  # fmt: skip


def test_arrays_of_every_dtype_go_there_and_back():
    xs = [glassjax.numpy.asarray(np.ones((2, 3)), dtype) for dtype in DTYPES]

    def same(x):
        assert type(x) is type(glassjax.numpy.ones(1))
        return x

    outs = glassjax.jit(lambda xs: [glassjax.pure_callback(same, x, x) for x in xs])(xs)
    for x, out in zip(xs, outs, strict=True):
        assert out.dtype == x.dtype
        np.testing.assert_array_equal(np.asarray(out), np.asarray(x))


def wrong(library, x, returned, out):
    return library.pure_callback(lambda x: returned, out, x)


def struct(shape, dtype=np.float64):
    return jax.ShapeDtypeStruct(shape, dtype)


BAD = {
    "raises": lambda lib, x: lib.pure_callback(lambda x: {}["missing"], x, x),
    "shape": lambda lib, x: wrong(lib, x, np.zeros(2), struct(())),
    "dtype": lambda lib, x: wrong(lib, x, np.zeros(2, np.int32), struct((2,))),
    "number": lambda lib, x: wrong(lib, x, (1.0, 2.0), struct(())),
    "nothing": lambda lib, x: lib.experimental.io_callback(lambda: 1, None),
    "narrow": lambda lib, x: wrong(lib, x, 1.0, struct((), np.float32)),
    "derivative": lambda lib, x: lib.grad(lambda x: wrong(lib, x, x, struct(())))(1.0),
    "io derivative": lambda lib, x: lib.grad(
        lambda x: lib.experimental.io_callback(np.sin, struct(()), x)
    )(1.0),
    "not mapped": lambda lib, x: lib.vmap(lambda x: wrong(lib, x, x, struct(())))(x),
    "method": lambda lib, x: lib.pure_callback(np.sin, x, x, vmap_method="other"),
    "ordered": lambda lib, x: lib.vmap(
        lambda x: lib.experimental.io_callback(np.sin, struct(()), x, ordered=True)
    )(x),
    "no array": lambda lib, x: lib.experimental.io_callback(print, None, "text"),
    "no place": lambda lib, x: lib.debug.print("text", x),
    "no place by name": lambda lib, x: lib.debug.print("text", x=x),
    "no argument": lambda lib, x: lib.debug.print("{} {}", x),
    "no argument by name": lambda lib, x: lib.debug.print("{y}", x=x),
}


@for_each("bad", BAD.values(), ids=BAD)
def test_errors_are_of_jaxs_classes(bad):
    def raised(library, wrap=lambda f: f):
        with pytest.raises(Exception) as info:  # noqa: PT011 - which one is the question
            wrap(lambda x: bad(library, x))(library.numpy.asarray(X))
        return info.value

    theirs = raised(jax)
    for ours in (raised(glassjax), raised(glassjax, glassjax.jit)):
        if isinstance(theirs, jax.errors.JaxRuntimeError):
            assert isinstance(ours, glassjax.errors.JaxRuntimeError)
        else:
            assert type(ours) is type(theirs)
        assert str(ours)


def failing(x):
    raise KeyError("the culprit")


@pytest.mark.parametrize("jitted", [False, True])
def test_an_exception_reaches_the_user_with_its_traceback(jitted):
    def f(x):
        glassjax.debug.callback(failing, x)
        return x

    with pytest.raises(ExecutionError) as info:
        (glassjax.jit(f) if jitted else f)(X)
    assert isinstance(info.value.__cause__, KeyError)
    message = str(info.value)
    assert "test_callbacks.py" in message
    assert 'raise KeyError("the culprit")' in message
    for ours in (glassjax, glassjax_stage3):  # whose frames are hidden there
        assert os.path.dirname(ours.__file__) not in message
    with pytest.raises(ExecutionError):  # and the next call fails for the same reason
        (glassjax.jit(f) if jitted else f)(X)


def test_what_is_no_error_passes_through():
    def interrupted(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        glassjax.jit(lambda x: glassjax.experimental.io_callback(interrupted, None, x))(X)


def test_functions_may_compute_with_the_library_from_several_threads():
    jnp = glassjax.numpy

    def nested(x):
        return np.asarray(glassjax.jit(lambda y: y @ y + glassjax.grad(jnp.sum)(y))(x))

    f = glassjax.jit(lambda x: glassjax.pure_callback(nested, x, x) @ x)
    x = np.eye(300)
    outs = []
    threads = [threading.Thread(target=lambda: outs.append(f(x))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for out in outs:
        np.testing.assert_allclose(out, x + 1)
    assert len(outs) == 4


def test_programs_are_waited_for_also_by_an_asynchronous_client():
    program = """
import glassjax, numpy as np
glassjax.config.update("jax_cpu_enable_async_dispatch", True)
log = []
x = glassjax.numpy.ones((500, 500))
long = glassjax.jit(lambda x: x @ x @ x / 500**2)
seen = lambda x: glassjax.debug.callback(lambda v: log.append(int(v)), x[0, 0])
look = glassjax.jit(lambda x: (seen(x), x)[1])
for number in range(3):
    x = look(long(x))
    log.append(-number)
nested = glassjax.jit(lambda x: glassjax.pure_callback(lambda x: np.asarray(long(x)), x, x))
print(log, float(nested(long(x))[0, 0]))
"""
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[1, 0, 1, -1, 1, -2] 1.0"


def test_programs_that_call_python_are_not_exported():
    f = glassjax.jit(lambda x: (glassjax.debug.print("{}", x), x)[1])
    with pytest.raises(ValueError, match="`<lambda>` calls Python functions of this process"):
        glassjax.export.export(f)(X)


COMPUTATIONS = {
    "reduce": lambda lib, x, f: lib.lax.reduce(x, 0.0, lambda a, b: a + f(b), (0,)),
    "reduce_window": lambda lib, x, f: lib.lax.reduce_window(
        x, 0.0, lambda a, b: a + f(b), (1,), (1,), "VALID"
    ),
    "apply": lambda lib, x, f: x.at[np.array([0])].apply(f),
}


@for_each("computation", COMPUTATIONS.values(), ids=COMPUTATIONS)
def test_computations_on_elements_call_no_python(computation):
    # XLA ended the process; what `apply` was to do was not done.
    def run(lib):
        def seen(x):
            lib.debug.callback(print, x)
            return x

        return lib.jit(lambda x: computation(lib, x, seen))(np.ones(3))

    for lib in (glassjax, jax):
        with pytest.raises(NotImplementedError):
            run(lib)
    with pytest.raises(NotImplementedError, match="Call Python on the whole array"):
        computation(
            glassjax,
            glassjax.numpy.ones(3),
            lambda x: glassjax.pure_callback(np.sin, glassjax.ShapeDtypeStruct((), x.dtype), x),
        )


def test_callbacks_of_examples_that_end_at_different_times():
    def count(n):
        def body(i):
            io_callback(lambda: None, None)
            return i + 1

        return glassjax.lax.while_loop(lambda i: i < n, body, 0)

    def choose(n):
        return glassjax.lax.switch(n, [lambda: 0, lambda: io_callback(lambda: 1, np.int32(0))])

    io_callback = glassjax.experimental.io_callback
    for function in (count, choose):
        with pytest.raises(NotImplementedError, match="io_callback in it would run for all"):
            glassjax.vmap(function)(np.array([1, 3]))
