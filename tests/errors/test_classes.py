# ruff: noqa: E501  # a row of the table is a line
"""Error classes that programs written for JAX catch."""

import pickle

import jax
import jax.errors
import numpy as np
import pytest
from tables import for_each

import glassjax
import glassjax.errors

ones2, ones3, ones23 = (np.ones(shape, np.float32) for shape in (2, 3, (2, 3)))
half3 = np.ones(3, np.float16)


def used_twice(lib):
    with lib.debug_key_reuse(True):
        key = lib.random.key(0)
        return lib.random.normal(key), lib.random.uniform(key)


def leaked(lib):
    kept = []
    lib.jit(lambda x: kept.append(x))(1.0)
    return kept[0] + 1


def strictly_added(lib):
    with lib.numpy_dtype_promotion("strict"):
        return lib.numpy.float32(1) + lib.numpy.int32(2)


def branching(x):
    return 1.0 if x > 0 else 2.0


# fmt: off
TABLE = {
    "if": lambda lib: lib.jit(branching)(1.0),
    "if, mapped": lambda lib: lib.vmap(branching)(ones3),
    "arange": lambda lib: lib.jit(lib.numpy.arange)(3),
    "zeros": lambda lib: lib.jit(lib.numpy.zeros)(3),
    "linspace": lambda lib: lib.jit(lambda n: lib.numpy.linspace(0, 1, n))(3),
    "axis": lambda lib: lib.jit(lambda n: lib.numpy.sum(ones23, axis=n))(0),
    "range": lambda lib: lib.jit(lambda n: list(range(n)))(3),
    "list index": lambda lib: lib.jit(lambda i: [1, 2, 3][i])(1),
    "one_hot": lambda lib: lib.jit(lambda n: lib.nn.one_hot(np.arange(2), n))(3),
    "numpy": lambda lib: lib.jit(np.sin)(1.0),
    "numpy, differentiated": lambda lib: lib.grad(lambda x: np.sin(x))(1.0),
    "numpy index": lambda lib: lib.jit(lambda i: np.arange(3)[i])(1),
    "float": lambda lib: lib.jit(float)(1.0),
    "item": lambda lib: lib.jit(lambda x: x.item())(1.0),
    "tolist": lambda lib: lib.jit(lambda x: x.tolist())(1.0),
    "pickle": lambda lib: lib.jit(lambda x: pickle.dumps(x))(1.0),
    "format": lambda lib: lib.jit(lambda x: f"{x:.2f}")(1.0),
    "hash": lambda lib: lib.jit(hash)(1.0),
    "nonzero": lambda lib: lib.jit(lib.numpy.nonzero)(ones3),
    "unique": lambda lib: lib.jit(lib.numpy.unique)(ones3),
    "repeat": lambda lib: lib.jit(lambda n: lib.numpy.repeat(ones3, n))(2),
    "mask": lambda lib: lib.jit(lambda x: x[x > 0])(ones3),
    "mask to write": lambda lib: lib.jit(lambda x: x.at[x > 0].set(ones2))(ones3),
    "slice": lambda lib: lib.jit(lambda x, i: x[:i])(ones3, 2),
    "leaked": leaked,
    "psum": lambda lib: lib.lax.psum(1.0, "i"),
    "psum, mapped": lambda lib: lib.vmap(lambda x: lib.lax.psum(x, "j"), axis_name="i")(ones3),
    "axis_index": lambda lib: lib.lax.axis_index("i"),
    "grad of an array": lambda lib: lib.grad(lambda x: x)(ones3),
    "grad of a tree": lambda lib: lib.grad(lambda x: (x, x))(1.0),
    "grad of an integer": lambda lib: lib.grad(branching)(3),
    "grad of an integer result": lambda lib: lib.grad(lambda x: 1)(3.0),
    "grad of a complex result": lambda lib: lib.grad(lambda x: 1j * x)(3.0),
    "grad, holomorphic": lambda lib: lib.grad(lambda x: x, holomorphic=True)(3.0),
    "jacrev of an integer": lambda lib: lib.jacrev(lambda x: x)(3),
    "jacfwd of an integer": lambda lib: lib.jacfwd(lambda x: x)(3),
    "jacrev of a complex": lambda lib: lib.jacrev(lambda x: x)(3j),
    "jacfwd of a complex": lambda lib: lib.jacfwd(lambda x: x)(3j),
    "argnums": lambda lib: lib.grad(lambda x: x, argnums=2)(3.0),
    "carry of scan": lambda lib: lib.lax.scan(lambda c, x: (c + 1.5, x), np.int32(0), ones3),
    "carry of scan, a tree": lambda lib: lib.lax.scan(lambda c, x: ((c, c), x), np.float32(0), ones3),
    "carry of while_loop": lambda lib: lib.lax.while_loop(lambda c: c < 3, lambda c: c * 1.5, np.int32(1)),
    "carry of fori_loop": lambda lib: lib.lax.fori_loop(0, 3, lambda i, c: c * 1.5, np.int32(1)),
    "condition of while_loop": lambda lib: lib.lax.while_loop(lambda c: c, lambda c: c, 1.0),
    "no pair": lambda lib: lib.lax.scan(lambda c, x: c, 0.0, ones3),
    "elements of scan": lambda lib: lib.lax.scan(lambda c, x: (c, x), 0.0, (ones2, ones3)),
    "no elements of scan": lambda lib: lib.lax.scan(lambda c, x: (c, x), 0.0, None),
    "branches": lambda lib: lib.lax.cond(True, lambda x: x, lambda x: lib.numpy.ones(3), 1.0),
    "branches, trees": lambda lib: lib.lax.cond(True, lambda x: (x, x), lambda x: x, 1.0),
    "many branches": lambda lib: lib.lax.switch(0, [lambda x: x, lambda x: lib.numpy.ones(3)], 1.0),
    "predicate": lambda lib: lib.lax.cond(ones3 > 0, lambda x: x, lambda x: x, 1.0),
    "tree_map": lambda lib: lib.tree.map(lambda x, y: x, [1, (2, 3)], [1, 2]),
    "tree_unflatten": lambda lib: lib.tree.unflatten(lib.tree.structure([1, 2]), [1]),
    "tree_transpose": lambda lib: lib.tree.transpose(lib.tree.structure([1, 2]), lib.tree.structure((1, 2)), [1, 2]),
    "jvp, trees": lambda lib: lib.jvp(lambda x: x, (1.0,), (1.0, 2.0)),
    "jvp, shapes": lambda lib: lib.jvp(lambda x: x, (ones3,), (ones2,)),
    "jvp, dtypes": lambda lib: lib.jvp(lambda x: x, (ones3,), (half3,)),
    "jvp, numbers": lambda lib: lib.jvp(lambda x: x, 1.0, 1.0),
    "vjp, trees": lambda lib: lib.vjp(lambda x: (x, x), 1.0)[1](1.0),
    "vjp, shapes": lambda lib: lib.vjp(lambda x: x, ones3)[1](ones2),
    "vjp, dtypes": lambda lib: lib.vjp(lambda x: x, ones3)[1](half3),
    "linearize, trees": lambda lib: lib.linearize(lambda x: x, 1.0)[1](1.0, 2.0),
    "linearize, shapes": lambda lib: lib.linearize(lambda x: x, ones3)[1](ones2),
    "linear_transpose, shapes": lambda lib: lib.linear_transpose(lambda x: x, ones3)(ones2),
    "linear_transpose, trees": lambda lib: lib.linear_transpose(lambda x: x, ones3)((ones3, 1)),
    "sizes of vmap": lambda lib: lib.vmap(lambda x, y: x)(ones2, ones3),
    "a scalar for vmap": lambda lib: lib.vmap(lambda x: x)(1.0),
    "a prefix for vmap": lambda lib: lib.vmap(lambda x: x, in_axes=({"b": 0},))({"a": ones3}),
    "no axes for vmap": lambda lib: lib.vmap(lambda x: x, in_axes=None)(ones3),
    "axes for vmap": lambda lib: lib.vmap(lambda x: x, in_axes=(0, 0))(ones3),
    "no axes of vmap's result": lambda lib: lib.vmap(lambda x: x, out_axes=None)(ones3),
    "axes of vmap's result": lambda lib: lib.vmap(lambda x: x, out_axes=3)(ones3),
    "prefix of vmap's result": lambda lib: lib.vmap(lambda x: x, out_axes=(0, 0))(ones3),
    "add": lambda lib: lib.numpy.ones(2) + lib.numpy.ones(3),
    "lax.add": lambda lib: lib.lax.add(ones2, ones3),
    "add, jitted": lambda lib: lib.jit(lib.numpy.add)(ones2, ones3),
    "where": lambda lib: lib.numpy.where(ones2 > 0, ones3, 0.0),
    "matmul": lambda lib: lib.numpy.matmul(ones23, ones23),
    "dot": lambda lib: lib.numpy.dot(ones23, ones23),
    "matmul of a scalar": lambda lib: lib.numpy.matmul(1.0, ones3),
    "reshape": lambda lib: lib.numpy.reshape(ones3, (2, 2)),
    "reshape to -1": lambda lib: lib.numpy.reshape(ones3, (-1, 2)),
    "lax.reshape": lambda lib: lib.lax.reshape(ones3, (2, 2)),
    "broadcast_to": lambda lib: lib.numpy.broadcast_to(ones3, (2,)),
    "broadcast_shapes": lambda lib: lib.numpy.broadcast_shapes((2,), (3,)),
    "transpose": lambda lib: lib.numpy.transpose(ones23, (0,)),
    "concatenate": lambda lib: lib.numpy.concatenate([ones23, np.ones((2, 4))]),
    "stack": lambda lib: lib.numpy.stack([ones2, ones3]),
    "set": lambda lib: lib.numpy.ones(3).at[:2].set(ones3),
    "sum": lambda lib: lib.numpy.sum(ones3, axis=2),
    "None": lambda lib: lib.numpy.array(None),
    "None among numbers": lambda lib: lib.numpy.array([1.0, None]),
    "a string": lambda lib: lib.numpy.array("word"),
    "no function": lambda lib: lib.jit(None),
    "a list that is static": lambda lib: lib.jit(lambda x: x, static_argnums=0)([1]),
    "strict promotion": strictly_added,
    "narrow floats": lambda lib: lib.numpy.ones(3, "float8_e4m3fn") + lib.numpy.ones(3, "float8_e5m2"),
    "a key twice": used_twice,
    "many keys": lambda lib: lib.random.normal(lib.random.split(lib.random.key(0))),
    "no key": lambda lib: lib.random.normal(ones3),
}
# fmt: on

PYTHONS = (IndexError, NameError, NotImplementedError, RuntimeError, TypeError, ValueError)


def raised(call, lib):
    with pytest.raises(PYTHONS) as caught:
        call(lib)
    return type(caught.value)


@for_each("name", TABLE)
def test_an_error_is_caught_as_that_of_jax_is(name):
    """By the class of Python that it is, and by its name in `jax.errors` where it has one there."""
    theirs, ours = raised(TABLE[name], jax), raised(TABLE[name], glassjax)
    for cls in PYTHONS:
        assert issubclass(ours, cls) or not issubclass(theirs, cls)
    if hasattr(jax.errors, theirs.__name__):
        assert issubclass(ours, getattr(glassjax.errors, theirs.__name__))


def test_the_errors_of_jax_are_there_by_their_names():
    """Except for the bases of others, and for the sizes without numbers that are not here."""
    published = {name for name in dir(jax.errors) if name[0] != "_"}
    lacking = published - {*glassjax.errors.__all__}
    assert lacking <= {"InconclusiveDimensionOperation", "JAXIndexError", "JAXTypeError"}
