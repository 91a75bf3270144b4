"""References: programs that read and write them, and errors, beside JAX."""

from functools import partial

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from libraries import results_at_once
from tables import for_each

import glassjax
from glassjax.runtime.refs import AbstractRef


def results(name, jnp, library):
    """What a program returns, and what its reference holds in the end."""
    ref = library.new_ref(jnp.arange(3.0))
    out = PROGRAMS[name](library, jnp, ref)
    return [*library.tree.leaves(out), ref[...]]


def stash_of(library):
    """A function that keeps its cotangent."""

    @library.custom_vjp
    def stash(ref, x):
        return x

    def backward(ref, ct):
        ref[...] = ct
        return None, ct

    stash.defvjp(lambda ref, x: (x, ref), backward)
    return stash


def written(ref, index, x):
    ref[index] = x
    return ref[index]


def powers(library, x):
    """A sum that a reference collects in a loop."""
    total = library.new_ref(0.0 * x)

    def step(i, carry):
        total[...] = total[...] * x + library.numpy.sin(x * i)
        return carry

    library.lax.fori_loop(0, 4, step, 0)
    return total[...]


def deep(library, ref, start):
    lax, jnp = library.lax, library.numpy

    def outer(carry, x):
        def inner(i, carry):
            ref[1] = ref[1] + x
            return carry

        carry = lax.fori_loop(0, 2, inner, carry)
        lax.cond(x > 1, lambda: written(ref, 2, 9.0), lambda: 0.0)
        return carry, ref[1]

    return lax.scan(outer, start, jnp.arange(3.0))


def counting(library, ref):
    class Counter:
        def __call__(self, x):
            ref[0] += 1
            return x * ref[0]

    counter = Counter()
    return [library.jit(counter)(2.0), library.jit(counter)(2.0)]


PROGRAMS = {
    "eager": lambda lib, jnp, r: [written(r, 1, 5.0), r[0], r[1:], written(r, ..., r[...] + 1)],
    "at": lambda lib, jnp, r: [r.at[1:][0], written(r.at[1:], 1, 7.0)],
    "functions": lambda lib, jnp, r: [
        lib.ref.swap(r, 1, 7.0), lib.ref.get(r, 1), lib.ref.get(r),
        lib.ref.addupdate(r, jnp.array([0, 0, 2]), jnp.ones(3)), lib.ref.set(r, 1, 4.0),
    ],
    "argument": lambda lib, jnp, r: lib.jit(lambda r, x: written(r, 0, x) * r[2])(r, 7.0),
    "closed over": lambda lib, jnp, r: [
        f(x) for f in [lib.jit(lambda x: written(r, 0, r[0] + x))] for x in (1.0, 2.0, 3.0)
    ],
    "both kinds": lambda lib, jnp, r: lib.jit(
        lambda q: written(q, ..., r[0] + 1) + written(r, 0, 2.0)
    )(lib.new_ref(jnp.ones(()))),
    "traced index": lambda lib, jnp, r: lib.jit(lambda i: written(r, i, 8.0))(2),
    "static index": lambda lib, jnp, r: lib.jit(
        lambda r, n: written(r, n, 1.5), static_argnums=1
    )(r, 2),
    "jit in jit": lambda lib, jnp, r: lib.jit(
        lambda x: lib.jit(lambda y: written(r, 0, y))(x) + r[0]
    )(3.0),
    "scan": lambda lib, jnp, r: lib.lax.scan(
        lambda c, x: (c, written(r, 0, r[0] + x)), 0.0, jnp.arange(4.0)
    ),
    "while": lambda lib, jnp, r: lib.lax.while_loop(
        lambda i: i < 3, lambda i: written(r, 0, r[0] + 1) * 0 + i + 1, 0.0
    ),
    "traced bounds": lambda lib, jnp, r: lib.jit(
        lambda n: lib.lax.fori_loop(0, n, lambda i, c: written(r, 0, r[0] + c), 1.0)
    )(3),
    "map": lambda lib, jnp, r: lib.lax.map(
        lambda i: written(r, i, i.astype(r.dtype) * 2), jnp.arange(3)
    ),
    "cond": lambda lib, jnp, r: [
        lib.lax.cond(flag, lambda: written(r, 0, 3.0), lambda: r[1]) for flag in (True, False)
    ],
    "cond of one": lambda lib, jnp, r: lib.lax.cond(
        True, lambda r, x: written(r, 0, x), lambda r, x: x, r, 4.0
    ),
    "switch": lambda lib, jnp, r: lib.lax.switch(
        1, [lambda: 0.0, lambda: written(r, 0, -1.0), lambda: written(r, 0, 2.0)]
    ),
    "deep": lambda lib, jnp, r: [
        f(x) for f in [lib.jit(lambda x: deep(lib, r, x))] for x in (0.0, 1.0)
    ],
    "jvp": lambda lib, jnp, r: lib.jvp(lambda x: powers(lib, x), (1.3,), (1.0,)),
    "grad": lambda lib, jnp, r: [
        lib.grad(lambda x: powers(lib, x))(1.3),
        lib.jit(lib.grad(lambda x: powers(lib, x)))(1.3),
    ],
    "grad that reads": lambda lib, jnp, r: lib.grad(lambda x: x * r[2] ** 2)(1.0),
    "grad that writes": lambda lib, jnp, r: lib.grad(
        lambda x: 0 * written(r, 0, lib.lax.stop_gradient(2 * x)) + x * x
    )(3.0),
    "grad of some": lambda lib, jnp, r: lib.grad(lambda x, r: x * r[1] ** 2)(3.0, r),
    "cotangents": lambda lib, jnp, r: [
        transform(lib.grad(lambda x: jnp.sum(jnp.sin(stash_of(lib)(r, jnp.sin(x))) * x)))(
            jnp.arange(3.0) + 1
        )
        for transform in (lambda f: f, lib.jit)
    ],
    "vmap": lambda lib, jnp, r: lib.vmap(lambda r, x: written(r, ..., x))(r, jnp.arange(3.0) * 2),
    "vmap along another axis": lambda lib, jnp, r: lib.vmap(
        lambda q, x: written(q, 0, x) + q[2], in_axes=(1, 0)
    )(lib.new_ref(jnp.ones((3, 2))), jnp.arange(2.0)),
    "vmap inside": lambda lib, jnp, r: lib.vmap(
        lambda x: written(lib.new_ref(0.0 * x), ..., x) + r[1]
    )(jnp.arange(3.0)),
    "vmap of jit": lambda lib, jnp, r: lib.vmap(lib.jit(lambda x: x + r[0]))(jnp.arange(2.0)),
    "checkpoint": lambda lib, jnp, r: lib.checkpoint(lambda x: written(r, 0, 7.0) * x)(1.5),
    "callable object": lambda lib, jnp, r: counting(lib, r),
    "freeze": lambda lib, jnp, r: lib.freeze(r),
    "shapes": lambda lib, jnp, r: [
        r.shape, r.ndim, r.size, len(r), lib.eval_shape(lambda r: written(r, 0, 1.0), r).shape
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def of_jax():
    jitted = [name for name in PROGRAMS if name != "freeze"]  # which JAX cannot in a jit
    found = results_at_once([partial(results, name) for name in jitted], jax.numpy, jax)
    return {
        **dict(zip(jitted, found, strict=True)),
        "freeze": results("freeze", jax.numpy, jax),
    }


@for_each("name", PROGRAMS)
def test_as_in_jax(name, of_jax):
    for ours, theirs in zip(results(name, glassjax.numpy, glassjax), of_jax[name], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 3)), max_size=6),
    st.sampled_from(["python", "jit", "scan", "grad"]),
)
def test_a_law_writes_happen_in_order(steps, how):
    """A program on a reference is the program on a list of numbers."""
    numbers = [0.0, 1.0, 2.0]
    ref = glassjax.new_ref(glassjax.numpy.arange(3.0))

    def run(target, scale):
        for to, source, kind in steps:
            if kind == 0:
                target[to] = target[source] * scale
            elif kind == 1:
                target[to] = target[to] + target[source]
            elif kind == 2:
                target[to] = scale
            else:
                target[source], target[to] = target[to], target[source]
        return scale

    run(numbers, 3.0)
    if how == "jit":
        glassjax.jit(lambda scale: run(ref, scale))(3.0)
    elif how == "scan":
        glassjax.lax.scan(lambda c, x: (c, run(ref, x)), 0, np.array([3.0]))
    elif how == "grad":
        glassjax.grad(lambda x: run(ref, 3.0) * x)(1.0)
    else:
        run(ref, 3.0)
    assert ref[...].tolist() == numbers


def test_second_derivatives_and_batches_of_loops():
    """JAX cannot map the gradient of a loop that writes."""

    def plain(x):
        total = 0.0
        for i in range(4):
            total = total * x + glassjax.numpy.sin(x * i)
        return total

    xs = np.linspace(0.1, 1, 4, dtype=np.float32)
    found, expected = glassjax.jit(
        lambda xs: [
            [glassjax.vmap(transform(f))(xs) for transform in (glassjax.grad, glassjax.hessian)]
            for f in (partial(powers, glassjax), plain)
        ]
    )(xs)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_how_it_looks():
    for library in (glassjax, jax):
        ref = library.new_ref(library.numpy.ones((2, 2), "float32"))
        assert repr(ref) == "Ref([[1., 1.],\n     [1., 1.]], dtype=float32)".replace(
            "\n     ", "\n       "
        )
        assert str(library.typeof(ref)) == "Ref{float32[2,2]}"
        assert isinstance(ref, library.Ref)
        assert library.jit(lambda ref, lib=library: isinstance(ref, lib.Ref))(ref)
        assert library.tree.leaves({"a": ref}) == [ref]
    assert glassjax.typeof(glassjax.new_ref(1.0)) == AbstractRef(glassjax.typeof(np.float64(1)))
    assert repr(glassjax.new_ref(1.0).at[()]).startswith("RefView(Ref(1.")


def test_jaxprs_take_and_return_the_arrays():
    ref = glassjax.new_ref(glassjax.numpy.ones(()))
    closed = glassjax.make_jaxpr(lambda ref, x: written(ref, ..., ref[...] + x))(ref, np.ones(()))
    assert str(closed) == "{ lambda ; a:f64[] b:f64[]. let c:f64[] = add a b in (c, c) }"


def custom(ref):
    """A function with a derivative of its own that writes."""
    f = glassjax.custom_jvp(lambda x: written(ref, (0, 0), x))
    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0]))
    return f


def leaked():
    kept = []
    glassjax.jit(lambda: kept.append(glassjax.new_ref(1.0)))()
    return kept[0][...]


def with_ref(f):
    return lambda: f(glassjax.new_ref(glassjax.numpy.zeros((2, 3))))


@for_each(
    ("program", "error", "message"),
    [
        (with_ref(lambda r: glassjax.jit(lambda a, b: a[0])(r, r)), ValueError, "passed twice"),
        (with_ref(lambda r: glassjax.jit(lambda a: a[0] + r[0])(r)), ValueError, "closes over it"),
        (with_ref(lambda r: glassjax.jit(lambda r: r)(r)), ValueError, "cannot be returned"),
        (
            with_ref(lambda r: glassjax.jit(lambda: glassjax.new_ref(1.0))()),
            TypeError,
            r"ref\[...\]",
        ),
        (
            with_ref(lambda r: glassjax.grad(lambda x: written(r, (0, 0), x))(1.0)),
            ValueError,
            "stop_g",
        ),
        (
            with_ref(lambda r: glassjax.vmap(lambda x: written(r, (0, 0), x))(np.ones(2))),
            ValueError,
            "belongs to the vmap",
        ),
        (with_ref(lambda r: glassjax.grad(lambda r: r[0, 0])(r)), TypeError, r"ref\[...\] reads"),
        (with_ref(lambda r: glassjax.numpy.sin(r)), TypeError, r"ref\[...\] reads its array"),
        (with_ref(lambda r: np.asarray(r)), TypeError, r"ref\[...\] reads its array"),
        (
            with_ref(lambda r: glassjax.lax.scan(lambda c, x: (c, x), r, np.ones(2))),
            TypeError,
            "ref",
        ),
        (with_ref(lambda r: written(r, 0, np.ones(4))), ValueError, r"\(3,\), the value \(4,\)"),
        (with_ref(lambda r: written(r, 0, 1.0)), ValueError, r"\(3,\), the value \(\)"),
        (with_ref(lambda r: written(r, ..., np.ones((2, 3), "int32"))), ValueError, "astype"),
        (with_ref(lambda r: written(r, 0, "a")), TypeError, "'a' of type str"),
        (with_ref(lambda r: written(r, 5, np.ones(3))), IndexError, "index 5 is out of bounds"),
        (with_ref(lambda r: r[0, -4]), IndexError, "index -4 is out of bounds for axis 1"),
        (with_ref(lambda r: glassjax.free_ref(r) or r[...]), ValueError, "ended by free_ref"),
        (with_ref(lambda r: glassjax.new_ref(r)), TypeError, "of type Ref"),
        (lambda: glassjax.new_ref(1.0, kind="other"), NotImplementedError, "kind"),
        (lambda: glassjax.empty_ref(3), TypeError, "ShapeDtypeStruct"),
        (lambda: glassjax.freeze(3), TypeError, "expected a Ref"),
        (lambda: glassjax.free_ref(3), TypeError, "expected a Ref"),
        (leaked, ValueError, "has ended"),
        (with_ref(lambda r: glassjax.jit(custom(r))(1.0)), ValueError, "a custom derivative of"),
        (
            with_ref(lambda r: glassjax.jit(lambda x: custom(r)(x) + r[0, 0])(1.0)),
            ValueError,
            "cannot return what becomes of it",
        ),
    ],
)
def test_what_is_refused(program, error, message):
    with pytest.raises(error, match=message):
        program()


@for_each("transform", ["jit", "checkpoint", "vmap", "grad"])
def test_after_an_error_a_reference_holds_what_it_held(transform):
    ref = glassjax.new_ref(glassjax.numpy.zeros(2))

    def fails(ref, x):
        ref[0] = 1.0
        raise RuntimeError("stop")

    given = {"vmap": {"in_axes": (None, 0)}, "grad": {"argnums": 1}}.get(transform, {})
    with pytest.raises(RuntimeError, match="stop"):
        getattr(glassjax, transform)(fails, **given)(ref, np.ones(3) if given else 1.0)
    assert ref[...].tolist() == ([1.0, 0.0] if transform == "grad" else [0.0, 0.0])


def test_compiled_programs_read_and_write_references():
    def update(ref, x, n):
        ref[...] += n * x
        outer[...] *= 2
        return x.sum()

    ref, outer = glassjax.new_ref(np.zeros(3, np.float32)), glassjax.new_ref(np.float32(1))
    x = np.ones(3, np.float32)
    jitted = glassjax.jit(update, static_argnums=2)
    compiled = jitted.lower(ref, x, 3).compile()
    for times in (1, 2):
        assert compiled(ref, x) == 3
        np.testing.assert_array_equal(ref[...], [3 * times] * 3)
        assert outer[...] == 2**times
    assert jitted.trace(ref, x, 3).out_info.shape == jitted.eval_shape(ref, x, 3).shape == ()
    with pytest.raises(TypeError, match=r"with 1 reference among its leaves.*found 0"):
        compiled(x, x)


# Cotangents that are added to references.
def accumulated(j):
    out, f_vjp = j.vjp(lambda x, y: j.numpy.sin(x) * y, 1.0, 2.0)
    total = j.new_ref(j.numpy.array(10.0))
    cts = f_vjp.with_refs(total, j.ad.GradValue())(1.0)
    return out, str(cts[0]), cts[1], total[...]


def unwanted(j):
    _, f_vjp = j.vjp(lambda p: p["a"] * p["b"], {"a": 1.0, "b": 2.0})
    ((ct),) = f_vjp.with_refs({"a": j.ad.DontWant(), "b": j.ad.GradValue()})(1.0)
    return str(ct["a"]), ct["b"]


def changing(j, start=10):
    """A function that reads and writes a reference: its cotangent goes through the call."""

    def f(ref, x):
        y = ref[...] * x
        ref[...] = y
        return y * x

    ref, ct = j.new_ref(j.numpy.array(3.0)), j.new_ref(j.numpy.array(start * 1.0))
    out, f_vjp = j.vjp(f, ref, 2.0)
    cts = f_vjp.with_refs(ct, j.ad.GradValue())(1.0)
    return out, ref[...], str(cts[0]), cts[1], ct[...]


def with_aux(j):
    ref, ct = j.new_ref(j.numpy.arange(3.0)), j.new_ref(j.numpy.zeros(3))
    out, f_vjp, aux = j.vjp(lambda ref, x: (ref[1] * x, ref[0]), ref, 2.0, has_aux=True)
    return out, aux, f_vjp.with_refs(ct, j.ad.GradValue())(1.0)[1], ct[...]


def inside(j, transformation):
    def square_slope(x):
        ref, ct = j.new_ref(x), j.new_ref(j.numpy.zeros_like(x))
        _, f_vjp = j.vjp(lambda ref: ref[...] ** 2, ref)
        f_vjp.with_refs(ct)(j.numpy.ones_like(x))
        return ct[...]

    return getattr(j, transformation)(square_slope)(3.0)


@pytest.mark.parametrize(
    "program",
    [accumulated, unwanted, changing, with_aux, *(
        partial(inside, transformation=name) for name in ("jit", "grad")
    )],
)  # fmt: skip
def test_cotangents_are_added_to_references(program):
    for ours, theirs in zip(*map(jax.tree.leaves, (program(glassjax), program(jax))), strict=True):
        if isinstance(ours, str):
            assert ours == theirs
        else:
            np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_products_of_unwanted_cotangents_are_not_computed():
    """The backward pass of one factor of each product is left out, also inside of jit and scan."""

    def rows(p):
        return glassjax.lax.scan(lambda c, x: (c, x @ p["b"]), 0, p["a"])[1]

    marks = {"a": glassjax.ad.DontWant(), "b": glassjax.ad.GradValue()}
    a, b = glassjax.numpy.ones((3, 4)), glassjax.numpy.ones((4, 5))
    for f in (lambda p: p["a"] @ p["b"], glassjax.jit(lambda p: p["a"] @ p["b"]), rows):
        out, f_vjp = glassjax.vjp(f, {"a": a, "b": b})
        text = str(glassjax.make_jaxpr(f_vjp.with_refs(marks))(out))
        assert text.count("dot_general") == 1
        assert str(glassjax.make_jaxpr(f_vjp)(out)).count("dot_general") == 2
        ((ct,),) = (f_vjp.with_refs(marks)(out),)
        np.testing.assert_array_equal(ct["b"], f_vjp(out)[0]["b"])
        assert ct["a"] == glassjax.ad.DidntWant()


def test_references_that_get_no_cotangent_are_told_so(lib):
    ref = lib.new_ref(lib.numpy.array(3.0))
    _, f_vjp = lib.vjp(lambda ref, x: ref[...] * x, ref, 2.0)
    for call in (
        lambda: f_vjp(1.0),
        lambda: f_vjp.with_refs(lib.ad.GradValue(), lib.ad.GradValue())(1.0),
        lambda: f_vjp.with_refs(ref)(1.0),
        lambda: lib.vjp(lib.numpy.sin, 1.0)[1].with_refs(lib.new_ref(lib.numpy.zeros(3)))(1.0),
    ):
        with pytest.raises(ValueError, match="ref"):
            call()
    f = lambda x: lib.numpy.sin(x) * 2  # noqa: E731
    assert len(lib.vjp(f, 1.0)[1].jaxpr.outvars) == 1


def test_functions_that_pull_back_do_not_remember():
    """JAX adds the values of calls of one bound function, beside those in references."""
    total = glassjax.new_ref(glassjax.numpy.array(0.0))
    pull_back = glassjax.vjp(lambda x, y: x * y, 3.0, 2.0)[1].with_refs(
        total, glassjax.ad.GradValue()
    )
    assert [pull_back(1.0)[1].item() for _ in range(2)] == [3, 3]
    assert total[...] == 4
