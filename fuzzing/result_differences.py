"""Small programs that give another result than JAX's on purpose, and why."""

from typing import NamedTuple


class Kept(NamedTuple):
    program: str  # an expression of `jax`, `jnp`, `lax` and `np`
    of_jax: str  # what it gives, as text, or the class of the error
    here: str
    reason: str


KEPT = (
    Kept(
        'lax.convert_element_type(2**32, "int32")', "0", "OverflowError",
        "a number that does not fit is an error, as in arrays",
    ),
    Kept(
        'lax.convert_element_type(complex("nan"), "int32")', "0", "TypeError",
        "an imaginary part is not dropped without a word",
    ),
    Kept(
        "jax.jacfwd(lambda x: (x, 3))(1.0)", "(1.0, 0)", "IntegerGradientError",
        "integers have no derivative, in `jacrev` of both libraries, too",
    ),
    Kept(
        "jax.grad(with_cotangent('int32'))(1.0).dtype", "int32", "float32",
        "a gradient has the dtype of its argument, whatever a rule returns",
    ),
    Kept(
        "jax.grad(lambda x: jnp.linalg.norm(x, jnp.inf))(jnp.zeros(2))", "[0.25 0.25]", "[0.5 0.5]",
        "the slopes of a norm sum to one where its elements tie, at zero as elsewhere",
    ),
    Kept(
        "jax.grad(lambda x: jnp.partition(x, 1)[0])(jnp.array([1.0, 1.0, 0.0]))",
        "[ 0. -0.  1.]", "[0. 0. 1.]",
        "a permutation has no negative zeros as slopes; nor does it give an element's slope twice "
        "where elements tie",
    ),
    Kept(
        "jax.grad(lambda x: jax.ops.segment_max(x, np.array([0, 1]), 2)[0])"
        "(jnp.array([1.0, jnp.nan]))",
        "[1. 0.]", "[ 1. nan]", "where a maximum is NaN its slope is, too",
    ),
    Kept("jnp.arange(5)[range(2)]", "TypeError", "[0 1]", "a range is a sequence of ints"),
    Kept(
        "jnp.fft.fftfreq(3.0)", "[ 0.          0.33333334 -0.33333334]", "TypeError",
        "a length is an int, as in numpy",
    ),
    Kept(
        "lax.dynamic_update_slice(jnp.zeros(2), jnp.ones(1), (jnp.int8(1),))[1] + "
        "lax.dynamic_update_slice(jnp.zeros((1, 2)), jnp.ones((1, 1)), (jnp.int8(0), 1))[0, 1]",
        "TypeError", "2.0", "indices may differ in dtype",
    ),
    Kept(
        "setattr(jnp.ones(2), 'name', 'x')", "None", "AttributeError",
        "arrays are many: one with a dict of its own takes more memory",
    ),
    Kept(
        "jax.make_jaxpr(lambda x: lax.psum(x, 'i'), axis_env=[('i', 4)])(1.0).jaxpr.eqns[0]"
        ".primitive.name", "psum", "NotImplementedError",
        "a collective belongs to the `vmap` that names its axis: stage that",
    ),
    Kept(
        "jax.grad(jax.nn.mish)(-jnp.inf)", "nan", "0.0", "the limit exists",
    ),
    Kept(
        "jax.grad(jax.grad(lambda x: x**1.0))(0.0)", "nan", "0.0", "a line has no curvature",
    ),
    Kept(
        "str(jax.make_jaxpr(jnp.dot)(jnp.ones(2, 'float16'), jnp.ones(2))).count('convert')",
        "0", "1", "operands of a product have one dtype; widening one of them is exact",
    ),
    Kept(
        "len(jax.make_jaxpr(lambda: lax.convert_element_type(3.0, 'float16'))().jaxpr.eqns)",
        "0", "1", "the program converts the number; XLA does so before it runs",
    ),
    Kept(
        "traces_of_checkpoint(jax)", "1", "2",
        "`checkpoint` traces its function at each call outside of `jit`, since what the function "
        "closes over may have changed",
    ),
)  # fmt: skip

__all__ = ["KEPT", "Kept"]
