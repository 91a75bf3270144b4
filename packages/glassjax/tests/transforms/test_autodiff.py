"""Transformations of users' functions: pytrees, static arguments, and Arrays as results."""

import numpy as np
import pytest
from rows import for_each

import glassjax.numpy as jnp
import glassjax_stage4 as stage4
from glassjax import (
    Array,
    block_until_ready,
    checkpoint,
    checkpoint_policies,
    core,
    grad,
    hessian,
    jacfwd,
    jacobian,
    jacrev,
    jit,
    jvp,
    lax,
    linear_transpose,
    linearize,
    make_jaxpr,
    tree,
    value_and_grad,
    vjp,
    vmap,
)
from glassjax.errors import UnexpectedTracerError
from glassjax.experimental import checkify


def are_arrays(*results):
    return all(isinstance(leaf, Array) for leaf in tree.leaves(results))


def cube(x):
    return x * x * x


# Each gives numbers or numpy's arrays to a transformation, whose results must be Arrays.
X = np.array([1.0, 2.0])


CALLS = {
    "jit": lambda: jit(cube)(X),
    "grad": lambda: grad(cube)(2.0),
    "grad of what is not used": lambda: grad(lambda x: 1.0)(2.0),
    "value_and_grad": lambda: value_and_grad(cube)(np.float32(2.0)),
    "value_and_grad with aux": lambda: value_and_grad(lambda x: (x, {"x": x}), has_aux=True)(2.0),
    "vjp": lambda: vjp(cube, X)[0],
    "vjp, backwards": lambda: vjp(cube, X)[1](X),
    "jvp": lambda: jvp(cube, (X,), (X,)),
    "jvp of what is not used": lambda: jvp(lambda x, y: y, (X, 1.0), (X, 0.0)),
    "linearize": lambda: linearize(cube, X)[0],
    "linearize, forwards": lambda: linearize(cube, X)[1](X),
    "linear_transpose": lambda: linear_transpose(jnp.sum, X)(2.0),
    "vmap": lambda: vmap(cube)(X),
    "vmap of the identity": lambda: vmap(lambda x: x)(X),
    "vmap of a constant": lambda: vmap(lambda x: 1.0)(X),
    "jacfwd": lambda: jacfwd(lambda x: -x)(X),
    "jacrev": lambda: jacrev(lambda x: -x)(X),
    "jacobian": lambda: jacobian(cube)(X),
    "hessian": lambda: hessian(lambda x: jnp.sum(cube(x)))(X),
}


@for_each("call", CALLS.values())
def test_results_are_arrays(call):
    assert are_arrays(call())


def test_values():
    assert grad(cube)(2.0) == 12.0
    value, gradient = value_and_grad(lambda x, y: x * y, argnums=(0, -1))(2.0, 3.0)
    assert (value, gradient) == (6.0, (3.0, 2.0))
    np.testing.assert_array_equal(hessian(lambda x: jnp.sum(cube(x)))(X), np.diag(6 * X))
    np.testing.assert_array_equal(vjp(cube, X)[1](X)[0], 3 * X**3)
    out, f_vjp, aux = vjp(lambda x: (x * x, "a note"), 3.0, has_aux=True)
    assert (out, f_vjp(1.0), aux) == (9.0, (6.0,), "a note")


def test_arguments_that_are_not_differentiated_stay_what_they_are():
    def power(x, n, note):
        assert note == "as it is"
        for _ in range(n):  # a Python int
            x = x * x
        return x

    assert grad(power)(2.0, 2, "as it is") == 32.0
    assert grad(power)(2.0, n=2, note="as it is") == 32.0


def test_numbers_that_are_not_mapped_stay_what_they_are():
    def repeat(x, n):
        return jnp.stack([x] * n)

    assert vmap(repeat, in_axes=(0, None))(X, 3).shape == (2, 3)


def test_functions_keep_their_names_and_transformations_their_docstrings():
    for transformation in (grad, vmap, jit):
        assert transformation(cube).__name__ == "cube"
        assert "Arguments:" in transformation.__doc__


def test_numbers_stay_literals_of_a_staged_program():
    text = str(make_jaxpr(lambda x: x + jnp.zeros(3) * jnp.sin(2.0))(1.0))
    assert "sin 2.0" in text
    assert "lambda ;" in text  # and nothing became a constant


INSIDE = {
    "jvp": lambda f: lambda x: jvp(f, (x,), (x,)),
    "grad": lambda f: grad(lambda x: jnp.sum(f(x))),
    "vmap": lambda f: vmap(f),
    "linearize": lambda f: lambda x: linearize(f, x)[1](x),
    "vmap of grad": lambda f: vmap(grad(lambda x: jnp.sum(f(x)))),
    "grad of jit": lambda f: grad(lambda x: jnp.sum(jit(f)(x))),
}


@for_each("transform", INSIDE.values())
def test_what_is_made_inside_of_other_transformations_is_staged_too(transform):
    def f(x):
        return x * jnp.ones(2) * jnp.sin(2.0) + jnp.arange(2) - jnp.float32(3)

    jaxpr = make_jaxpr(transform(f))(jnp.ones(2))
    assert jaxpr.consts == []
    np.testing.assert_array_equal(tree.leaves(jit(transform(f))(X)), tree.leaves(transform(f)(X)))


@for_each("name", [name for name in INSIDE if "jit" not in name])
def test_what_is_made_inside_is_on_the_device_where_nothing_is_staged(name):
    def f(x):
        assert are_arrays(jnp.ones(2), jnp.exp(np.ones(2)), jnp.sin(2.0))
        return x

    INSIDE[name](f)(X)


def test_block_until_ready_takes_a_pytree():
    tree = {"x": jnp.ones(3), "note": "as it is"}
    assert block_until_ready(tree) is not None
    assert block_until_ready(tree)["note"] == "as it is"


def test_derivatives_of_jitted_functions_that_close_over_what_is_differentiated():
    def outer(x):
        return jit(lambda y: jnp.sum(jnp.tanh(x) * y))(x)

    x = np.array([0.5, -1.0])
    expected = np.tanh(x) + x * (1 - np.tanh(x) ** 2)
    np.testing.assert_allclose(grad(outer)(x), expected)
    np.testing.assert_allclose(jit(grad(outer))(x), expected)
    np.testing.assert_allclose(vmap(grad(outer))(np.stack([x, x])), [expected] * 2)


def with_aux(x):
    return cube(x), {"doubled": 2 * x, "note": "as it is"}


AUX = {
    "grad": lambda f: grad(f, has_aux=True)(2.0),
    "value_and_grad": lambda f: value_and_grad(f, has_aux=True)(2.0)[0],
    "vjp": lambda f: vjp(f, 2.0, has_aux=True),
    "jvp": lambda f: jvp(f, (2.0,), (1.0,), has_aux=True),
    "linearize": lambda f: linearize(f, 2.0, has_aux=True),
    "jacfwd": lambda f: jacfwd(f, has_aux=True)(2.0),
    "jacrev": lambda f: jacrev(f, has_aux=True)(2.0),
    "hessian": lambda f: hessian(f, has_aux=True)(2.0),
}


@for_each("name", AUX)
def test_what_is_not_differentiated_comes_last(name):
    *out, aux = AUX[name](with_aux)
    assert aux == {"doubled": 4.0, "note": "as it is"}
    assert len(out) == (2 if name in ("vjp", "jvp", "linearize") else 1)
    match name:
        case "jvp":
            found = out[1]
        case "vjp":
            (found,) = out[1](1.0)
        case "linearize":
            found = out[1](1.0)
        case _:
            (found,) = out
    assert found == (8.0 if name == "value_and_grad" else 12.0)


@for_each("name", AUX)
def test_what_is_not_differentiated_may_depend_on_outer_transformations(name):
    def f(x):
        return AUX[name](lambda y: (x * cube(y), x * x))[-1]

    assert grad(f)(3.0) == 6.0
    assert jit(f)(3.0) == 9.0
    np.testing.assert_array_equal(vmap(f)(X), X * X)
    np.testing.assert_array_equal(jit(vmap(grad(f)))(X), 2 * X)


def test_what_is_not_differentiated_holds_no_tracers():
    def loss(x):
        return jnp.sum(x * x), (x, jnp.sin(x), 1, [lax.stop_gradient(x)])

    gradient, aux = grad(loss, has_aux=True)(X)
    assert not any(isinstance(leaf, core.Tracer) for leaf in tree.leaves(aux))
    second = grad(lambda x: jnp.sum(grad(loss, has_aux=True)(x)[1][1]))(X)
    np.testing.assert_allclose(second, np.cos(X), rtol=1e-6)
    gradient, aux = jit(grad(loss, has_aux=True))(X)
    np.testing.assert_allclose(aux[1], np.sin(X), rtol=1e-6)
    np.testing.assert_allclose(gradient, 2 * X)


def test_a_leaked_tracer_that_comes_besides_is_named():
    leaked = []
    grad(lambda x: leaked.append(x) or x)(1.0)
    with pytest.raises(UnexpectedTracerError, match="which has ended"):
        grad(lambda x: (x, leaked[0]), has_aux=True)(1.0)


@for_each("returned", [lambda x: x, lambda x: (x, x, x), lambda x: [x, x]])
@for_each("name", AUX)
def test_a_function_that_does_not_return_a_pair_is_named(name, returned):
    with pytest.raises(TypeError, match=r"`<lambda>` with has_aux=True must return a pair"):
        AUX[name](returned)


def test_jacobians_take_keyword_arguments():
    def f(x, *, y):
        return x * y

    for transformation in (jacfwd, jacrev):
        np.testing.assert_array_equal(transformation(f)(X, y=3.0), 3.0 * np.eye(2))
    assert hessian(lambda x, y: y * cube(x))(2.0, y=2.0) == 24.0


@for_each("jacobian", [jacfwd, jacrev, hessian])
def test_jacobians_of_python_numbers_are_weak_as_gradients_are(jacobian):
    assert jacobian(lambda x: x * x * x)(2.0).weak_type
    assert jit(jacobian(lambda x: x * x * x))(2.0).weak_type
    assert not jacobian(lambda x: x * x * x)(X[0]).weak_type


def test_derivatives_of_complex_functions():
    z = 1.0 + 2.0j
    assert grad(lambda z: z * z, holomorphic=True)(z) == 2 * z
    assert jacfwd(lambda z: z * z, holomorphic=True)(z) == 2 * z
    assert jacrev(lambda z: z * z, holomorphic=True)(z) == 2 * z
    assert hessian(cube, holomorphic=True)(z) == 6 * z
    # Of a real function: df/dx - i df/dy.
    assert grad(lambda z: lax.real(z) ** 2 + lax.imag(z) ** 2)(z) == 2.0 - 4.0j


def test_integers_have_gradients_of_nothing():
    assert grad(lambda n, x: n * x, allow_int=True)(3, 2.0).dtype == [("float0", np.void, 0)]
    both = grad(lambda n, x: n * x, argnums=(0, 1), allow_int=True)(3, 2.0)
    assert both[1] == 3.0
    rows = jacrev(lambda n: 2.0 * n, allow_int=True)(np.arange(3))
    assert (rows.shape, rows.dtype) == ((3, 3), jnp.arange(3).dtype)
    assert not rows.any()


@for_each("argnums", [0, np.int64(0), -2])
def test_a_single_argnum_is_an_int_of_any_make(argnums):
    for transformation in (grad, jacfwd, jacrev):
        assert transformation(lambda x, y: x * y, argnums)(2.0, 3.0) == 3.0
        of_list = transformation(lambda x, y: x * y, [argnums, 1])(2.0, 3.0)
        assert of_list == (3.0, 2.0)


def test_what_is_made_of_numbers_stays_weak():
    """A number for a parameter takes the dtype of what it meets, and so does its gradient."""
    weak = jnp.sin(jnp.arange(3) * 1.0)
    half = jnp.ones((), jnp.bfloat16)
    assert vmap(lambda x: x * half)(weak).dtype == jnp.bfloat16
    for like in (jnp.zeros_like, jnp.ones_like, lambda x: jnp.full_like(x, 2)):
        assert like(weak).weak_type
        assert not like(weak * half).weak_type
    assert not jnp.zeros_like(weak, dtype=jnp.float32).weak_type

    def loss(x):
        return jnp.sum(x * jnp.ones(3))

    for gradient in (grad(loss)(1.0), jit(grad(loss))(1.0), vjp(loss, 1.0)[1](jnp.ones(()))[0]):
        assert gradient.weak_type
        assert (gradient * half).dtype == jnp.bfloat16
    assert not grad(loss)(jnp.float32(1)).weak_type
    counts = vmap(lambda x: lax.while_loop(lambda n: n < x, lambda n: n + 1, 0))(jnp.ones(2))
    assert counts.weak_type


class Counting(core.Trace):
    """Counts the primitives that are applied, and changes nothing."""

    count = 0

    def process(self, primitive, args, params):
        self.count += 1
        return self.leave_to_parent(primitive, args, params)


def test_a_trace_of_the_users_stays_in_the_library():
    # Numpy evaluated what was computed in it, with 64 bits.
    def program():
        x = jnp.arange(3) / 2
        return x, jnp.zeros(3), jit(jnp.sin)(x), grad(lambda x: jnp.sum(x * x))(x), vmap(jnp.exp)(x)

    trace = Counting()
    with trace.run():
        found = program()
    assert trace.count > 5
    for x, expected in zip(found, program(), strict=True):
        assert type(x) is Array
        assert x.aval is expected.aval
        assert x.tolist() == expected.tolist()


@for_each("transformation", [jit, grad, vmap])
def test_a_trace_of_the_users_inside_of_a_transformation(transformation):
    def counted(x):
        trace = Counting()
        with trace.run():
            y = jnp.sin(x) * 2
        assert trace.count == 2
        return y

    x = jnp.ones(3) if transformation is vmap else 1.0
    plain = transformation(lambda x: jnp.sin(x) * 2)(x)
    assert np.all(transformation(counted)(x) == plain)


def test_a_cond_of_stage_4_in_a_function_of_the_library():
    """The library's `cond` has a primitive of its own, with rules that stage 4 does not know."""

    def f(x):
        return stage4.cond(x > 0, lambda x: jnp.log(x), lambda x: x * 2.0, x)

    assert lax.cond_p is not stage4.cond_p
    np.testing.assert_allclose(vmap(f)(jnp.array([1.0, -1.0])), [0.0, -2.0])
    keep = checkpoint_policies.everything_saveable
    for gradient in (grad(f), jit(grad(f)), grad(jit(f)), grad(checkpoint(f, policy=keep))):
        assert (gradient(2.0), gradient(-2.0)) == (0.5, 2.0)
    nan_in_branch = jit(lambda x: stage4.cond(x > 0, lambda x: jnp.log(-x), lambda x: x, x))
    errors = [checkify.checkify(nan_in_branch, checkify.nan_checks)(x)[0] for x in (2.0, -2.0)]
    assert [error.get() is None for error in errors] == [False, True]


def test_the_transpose_of_a_function_of_integers_has_integers():
    transposed = linear_transpose(lambda x: 2 * jnp.cumsum(x), jnp.arange(3))
    np.testing.assert_array_equal(transposed(jnp.arange(3))[0], [6, 6, 4])
    for ct in (jnp.ones(3), jnp.arange(2)):
        with pytest.raises(TypeError, match="the cotangent must have the types of the result"):
            transposed(ct)
    with pytest.raises(TypeError, match="cotangent: expected an array or a number, found"):
        transposed((jnp.arange(3),))
    with pytest.raises(TypeError, match="must all be integers, or all real or complex"):
        linear_transpose(lambda x: 2.0 * x, jnp.arange(3))
