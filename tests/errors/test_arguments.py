# ruff: noqa: E501  # a row of the table is a line
"""Invalid arguments: the error names the argument, and JAX raises one as well.

`fuzzing/bad_input.py` tries every argument of every public function; here are the classes of mistakes
that it found, and a share of it.
"""

import functools
import warnings

import jax
import numpy as np
import pytest
from libraries import assert_alike
from tables import for_each

import glassjax
from glassjax import core, lax, random
from glassjax import numpy as jnp
from glassjax.errors.arguments import contains_itself, fits
from glassjax.example_libraries import stax
from glassjax_stage2 import tree as stage2_tree

itself = [1.0]


itself.append(itself)


keys = random.split(random.key(0))


ones3 = np.ones(3, np.float32)


@glassjax.jit
def factorial(n):
    return jnp.where(n < 2, 1, n * factorial(n - 1))


def written_to():
    jnp.zeros(3)[0] = 1


# fmt: off
TABLE = [
    # What has no end.
    (lambda: jnp.array_split(ones3, 10**30), ValueError, "array_split: indices_or_sections must be 100,000 at most, found 1000"),
    (lambda: glassjax.scipy.special.bernoulli(10**13), ValueError, "bernoulli: n must be 100,000 at most"),
    (lambda: factorial(3.0), RecursionError, r"jit: `factorial` at .*test_arguments.py:\d+ calls itself"),
    (lambda: jnp.around(ones3, itself), ValueError, "round: decimals is a list that contains itself"),
    (lambda: jnp.array(itself), ValueError, "contains itself"),
    (lambda: glassjax.device_put(itself), ValueError, "contains itself"),
    # Errors of the insides.
    (lambda: jnp.repeat(ones3, None), TypeError, "repeat: repeats cannot be None"),
    (lambda: jnp.insert(ones3, None, 1.0), TypeError, "insert: obj: expected an array or a number, found None"),
    (lambda: jnp.pad(keys, 1), ValueError, "elements of array are keys, so constant_values must be one, found 0"),
    (lambda: jnp.choose(jnp.array([0]), {"a": 1.0}), TypeError, "choose: choices must be a sequence of arrays, found {'a': 1.0}"),
    (lambda: jnp.tril_indices(10**30), ValueError, "tril_indices: n is out of range: 1000"),
    (lambda: jnp.var(ones3, ddof="abc"), TypeError, "var: ddof must be .*, found 'abc' of type str"),
    (lambda: glassjax.ops.segment_sum(ones3, np.arange(3), num_segments="abc"), TypeError, "segment_sum: num_segments must be an int or None, found 'abc'"),
    # Accepted once.
    (lambda: jnp.zeros(b"abc"), TypeError, "zeros: shape must be an int or a sequence of ints, found b'abc'"),
    (lambda: random.fold_in(random.key(0), float("nan")), ValueError, "fold_in: data must be an integer, found nan"),
    (lambda: jnp.zeros(3, dtype=[None, None]), TypeError, r"dtype must be a dtype or the name of one.*found \(None, None\)"),
    (lambda: jnp.zeros(3, "abc"), TypeError, "dtype must be a dtype of numbers or the name of one, such as 'float32', found 'abc'"),
    (lambda: jnp.result_type(np.longdouble(1)), TypeError, "expected an array of numbers, found dtype"),
    (lambda: jnp.round(keys), TypeError, r"round: expected numbers, found key<fry>\[2\]"),
    (lambda: jnp.unique(keys), TypeError, r"sort: expected numbers, which have an order, found key<fry>\[2\]"),
    (lambda: jnp.gradient(keys), TypeError, "expected numbers, found key"),
    (lambda: glassjax.jit(lambda x: x, static_argnames="y"), ValueError, "static_argnames names 'y', which is not a parameter"),
    # Of arguments that say how: what is one number, or true or false, is not several.
    (lambda: jnp.sum(ones3, keepdims=[]), TypeError, r"sum: keepdims must be a bool, found \(\)"),
    (lambda: jnp.sum(ones3, keepdims=np.array([1, 2])), TypeError, "sum: keepdims must be a bool"),
    (lambda: jnp.sort(ones3, axis=(0,)), TypeError, r"sort: axis must be an int or None, found \(0,\)"),
    (lambda: jnp.stack([ones3], axis={0}), TypeError, "stack: axis must be an int"),
    (lambda: jnp.take(ones3, 0, unique_indices={1}), TypeError, "take: unique_indices must be a bool"),
    (lambda: lax.approx_max_k(ones3, 1, recall_target=...), TypeError, "approx_max_k: recall_target must be a number"),
    (lambda: glassjax.grad(jnp.sum, allow_int=jnp.arange(3)), TypeError, "grad: allow_int must be a bool, found"),
    (lambda: glassjax.vmap(jnp.sum, sum_match=np.array(["a", "b"])), TypeError, "vmap: sum_match must be a bool"),
    (lambda: glassjax.vmap(jnp.sum, axis_name=[1]), TypeError, "vmap: axis_name must be hashable"),
    (lambda: glassjax.vmap(jnp.sum, spmd_axis_name=["a"]), TypeError, "vmap: spmd_axis_name must be hashable"),
    (lambda: glassjax.checkpoint(jnp.sum, static_argnames=3), TypeError, "checkpoint: static_argnames must be a string"),
    (lambda: jnp.zeros(3, jnp.float32(1)), TypeError, "zeros: dtype must be .* a dtype, found"),
    (lambda: stax.MaxPool(""), TypeError, "MaxPool: window_shape must be an int or ints"),
    (lambda: stax.MaxPool((2, 2), spec="NC"), ValueError, "MaxPool: spec must have a letter for each axis"),
    (lambda: glassjax.export.deserialize(None), TypeError, "deserialize: expected bytes, found None"),
    (lambda: lax.convert_element_type(1j, "float32"), TypeError, "1j is complex, and float32 is not"),
    (lambda: jnp.full(2, 1j, "float32"), TypeError, "full: fill_value is complex, and float32 is not"),
    (lambda: jnp.choose(jnp.array([0]), -1), TypeError, "choose: choices must be a sequence of arrays, found -1"),
    (lambda: glassjax.devices(np.array(["a", "b"])), RuntimeError, "Unknown backend array"),
    (lambda: glassjax.tree_util.treedef_children(jnp.ones(2)), TypeError, "treedef_children: treedef must be a PyTreeDef"),
    (lambda: glassjax.tree_util.register_pytree_node_class(int), TypeError, "must have the methods tree_flatten and tree_unflatten"),
    (lambda: jnp.ones(3).at[0].set(1.0, mode=np.array(["a", "b"])), ValueError, "unknown mode of indexing"),
    (lambda: jnp.ones(3).std(ddof=1j), TypeError, "ddof must be a number, found 1j"),
    (lambda: jnp.ones(3).round(1.5), TypeError, "round: decimals must be an int"),
    (lambda: jnp.ones(3).repeat(2, total_repeat_length=-1), ValueError, "total_repeat_length must not be negative"),
    (lambda: lax.dot(ones3, ones3, precision=True), ValueError, "precision must be None, a lax.Precision"),
    (lambda: glassjax.debug.visualize_sharding({1}, None), TypeError, "visualize_sharding: shape must be a sequence"),
    (lambda: glassjax.debug.visualize_array_sharding(ones3, scale=10**30), ValueError, "scale must be at most 1000"),
    (lambda: glassjax.debug.visualize_array_sharding(ones3, min_width=None), TypeError, "min_width must be an int"),
    (lambda: glassjax.shard_map(out_specs=glassjax.P())(None), TypeError, "expected a function, found None"),
    # Of functions that extend the library.
    (lambda: core.vmap_flat(None, [ones3], [0], 3, "f"), TypeError, "vmap_flat: f must be a function"),
    (lambda: core.jvp_flat(jnp.sin, None, [ones3], "f"), TypeError, "jvp_flat: primals must be a sequence"),
    (lambda: core.trace_to_jaxpr("f", [], "f", None), TypeError, "trace_to_jaxpr: f must be a function"),
    (lambda: core.types_by(None), TypeError, "types_by: function must be a function"),
    (lambda: core.types_by(lambda x: [x])(None), TypeError, "the rule of a primitive takes types, such as .*, found None"),
    (lambda: core.types_by(lambda x: None)(core.typeof(ones3)), TypeError, "must return a list of results, found None"),
    (lambda: core.signature([], jnp.ones(2, bool)), TypeError, "signature: out_avals must be a sequence"),
    (lambda: core.signature(np.array(["a"]), []), TypeError, "signature: operands must be a sequence"),
    (lambda: core.ShapedArray((), "float32", vma={"x"}), TypeError, "ShapedArray: only primitives set vma"),
    (lambda: core.ShapedArray((), "abc"), TypeError, "data type 'abc' not understood"),
    (lambda: core.FlatFunction(jnp.sin, None), TypeError, "FlatFunction: in_tree must be a PyTreeDef, found None"),
    # What is not an array, and what to do about it.
    (lambda: jnp.sin([1.0]), TypeError, r"sin: x: .*found \[1.0\] of type list. jnp.array"),
    (lambda: jnp.stack([[1, 2], [3]]), TypeError, r"stack: arrays\[0\]: .*found \[1, 2\] of type list"),
    (lambda: jnp.sum({"a": 1}), TypeError, r"sum: a: .*found {'a': 1} of type dict"),
    (lambda: jnp.sin({"a": 1.0}), TypeError, "of type dict. Take the values of a dict by key, or all at once by tree_map."),
    (lambda: jnp.sin(None), TypeError, "of type NoneType. A function that ends without `return` gives None."),
    (lambda: jnp.sin(len), TypeError, "Call it, and use what it returns."),
    (lambda: jnp.sin(memoryview(b"a")), TypeError, r"numpy.asarray\(x\) makes it an array."),
    (lambda: jnp.sin(np.ma.masked_array([1.0], [1])), TypeError, "The mask of a masked array would be lost"),
    (lambda: jnp.sin(np.ones((1, 1)).view(np.matrix)), TypeError, "A matrix keeps two axes"),
    # Accepted once, by one function after the other.
    (lambda: jnp.take(ones3, 7, mode="fill", fill_value=1j), TypeError, "gather: fill_value is complex, 1j, and float32 is not"),
    (lambda: jnp.nonzero(ones3, fill_value="abc"), TypeError, "nonzero: fill_value: expected an array or a number"),
    (lambda: lax.dot(np.ones(3, np.int32), np.ones(3, np.int32), preferred_element_type="int8"), TypeError, "dot: preferred_element_type must not be narrower than int32"),
    (lambda: lax.conv(ones3.reshape(1, 1, 3), ones3.reshape(1, 1, 3), None, "VALID"), TypeError, "conv: window_strides must be a sequence of ints, found None"),
    (lambda: lax.conv_with_general_padding(ones3.reshape(1, 1, 3), ones3.reshape(1, 1, 3), (1,), "VALID", None, (10**13,)), ValueError, "rhs_dilation makes an axis too large"),
    (lambda: jnp.tril(np.ones((2, 2)), k=None), TypeError, "tril: k must be an int, found None"),
    (lambda: jnp.tril_indices(3, 1.5), TypeError, "tril_indices: k must be an int, found 1.5"),
    (lambda: jnp.polymul(2.0, ones3), ValueError, "polymul: coefficients must be an array of one axis"),
    (lambda: jnp.insert(ones3, 1.5, 1.0), TypeError, "insert: obj must be an int, a slice, or an array of integers"),
    (lambda: jnp.delete(ones3, np.float32(1)), TypeError, "delete: obj must be an int"),
    (lambda: jnp.arange(float("nan")), ValueError, "arange: start, stop and step must be real numbers"),
    (lambda: jnp.asarray(ones3, copy=np.array([1, 2])), TypeError, "asarray: copy must be a bool"),
    (lambda: jnp.cov(np.ones((2, 2)), dtype=int), ValueError, "cov: dtype must be one of floats"),
    (lambda: jnp.nanargmin(keys), TypeError, r"a: expected numbers, found key<fry>\[2\]"),
    (lambda: jnp.histogramdd(np.ones((2, 2)), bins=1.5), TypeError, "histogramdd: bins must be an int or a sequence, found 1.5"),
    (lambda: jnp.promote_types(1.5, "int8"), TypeError, "promote_types: a must be a dtype, found 1.5"),
    (lambda: glassjax.scipy.special.polygamma(1.5, 1.0), TypeError, "polygamma: n must be an integer"),
    (lambda: glassjax.scipy.linalg.lu_solve(ones3, ones3), TypeError, "lu_solve: lu_and_piv must be a pair, as lu_factor returns it"),
    (lambda: lax.linalg.triangular_solve(np.eye(2, dtype=np.float32), np.ones((2, 1), complex)), TypeError, "triangular_solve: operands must have one dtype"),
    (lambda: lax.reduce_window_shape_tuple((6,), 3, (2,), [(0, 0)]), TypeError, "window_dimensions must be a sequence of ints, found 3"),
    (lambda: glassjax.example_libraries.optimizers.exponential_decay(0.1, 10, 0.5)("abc"), TypeError, "step must be a number, found 'abc'"),
    (lambda: glassjax.dtypes.canonicalize_dtype("int8", allow_extended_dtype=[1]), TypeError, "allow_extended_dtype must be a bool"),
    (lambda: glassjax.device_put(ones3, may_alias=[None]), TypeError, "device_put: may_alias must be a bool"),
    (lambda: glassjax.jit(jnp.sum, inline=np.array([1, 2])), TypeError, "jit: inline must be a bool"),
    (lambda: glassjax.export.export(glassjax.jit(jnp.sum), platforms=3), TypeError, "export: platforms must be a sequence of strings or None, found 3"),
    (lambda: glassjax.tree_util.treedef_tuple([1, 2]), TypeError, "treedef_tuple: expected PyTreeDefs, found 1"),
    (lambda: glassjax.checkpoint(jnp.sum, prevent_cse=np.ones((2, 2))), TypeError, "checkpoint: prevent_cse must be a bool"),
    (lambda: glassjax.scipy.optimize.minimize(lambda x: x @ x, ones3, (1, 2), method="BFGS"), TypeError, "minimize: .* cannot be called with x and 2 arguments of args"),
    (lambda: glassjax.vmap(int)(ones3), (TypeError, glassjax.errors.ConcretizationTypeError), "."),
    (lambda: jnp.array(1.0, ndmin=10**13), ValueError, "array: ndmin must be 64 at most"),
    (lambda: glassjax.pmap(jnp.sin, axis_name={}), TypeError, "pmap: axis_name must be hashable"),
    (lambda: glassjax.pmap(jnp.sin, axis_name=(1, 2)), TypeError, r"pmap: axis_name must be one name, found \(1, 2\)"),
    (lambda: glassjax.pmap(jnp.sin, axis_size={}), TypeError, "pmap: axis_size must be an int"),
    (lambda: glassjax.pmap(jnp.sin, devices=object()), TypeError, "pmap: devices must be a sequence of devices"),
    (lambda: glassjax.pmap(jnp.sin, donate_argnums=None), TypeError, "pmap: donate_argnums must be an int"),
    (lambda: glassjax.pmap(jnp.sin)(np.ones((0, 2))), ValueError, "pmap of `sin`: there are no examples"),
    (lambda: lax.linalg.qdwh(np.eye(2, dtype=int)), TypeError, "qdwh: found i.*; the dtypes it takes are float32"),
    (lambda: lax.linalg.qdwh(np.eye(2), eps=-7), ValueError, "qdwh: eps must be positive, found -7"),
    (lambda: lax.linalg.qdwh(np.eye(2), dynamic_shape=[]), ValueError, "qdwh: dynamic_shape must be two sizes"),
    (lambda: jnp.pad(None, 1), TypeError, "pad: array: expected an array or a number, found None"),
    (lambda: glassjax.scipy.linalg.funm(np.eye(2), lambda x: None), TypeError, "funm: the result of func: expected an array"),
    (lambda: random.choice(random.key(0), 3, shape=iter([2])), TypeError, "choice: shape must be a sequence of ints"),
    # What the messages said, and in whose words.
    (written_to, TypeError, r"Write x = x\.at\[0\]\.set\(1\)\."),
    (lambda: jnp.mean({"a": 1.0}), TypeError, r"^mean: a: expected an array or a number, found \{'a': "),
    (lambda: random.normal((3,)), TypeError, r"^normal: expected a key, found .*; random.key\(0\) makes one"),
    (lambda: glassjax.jit(lambda x: 1 if x > 0 else 2)(1.0), TypeError, r"lax\.cond\("),
    (lambda: glassjax.jit(lambda x: np.sin(x))(1.0), TypeError, r"jnp\.sin for np\.sin"),
    (lambda: lax.cond(True, lambda x: x, lambda x: jnp.ones(3), 1.0), TypeError, r"cond: all branches, `<lambda>` at .*test_arguments.py:\d+, `<lambda>` at .*test_arguments.py:\d+, must"),
    (lambda: glassjax.vmap(lambda x: x, in_axes=(0, 0))(ones3), ValueError, "in_axes, a prefix of args.*expected tuple of 2, found tuple of 1"),
    (lambda: lax.scan(lambda c, x: c, 0.0, ones3), TypeError, r"found PyTreeDef\(\*\)"),
    (lambda: glassjax.jit("word" * 30), TypeError, r"found 'wordwordword\w*\.\.\."),
]


# fmt: on


@for_each(("call", "cls", "words"), TABLE)
def test_an_argument_is_refused_by_its_name(monkeypatch, call, cls, words):
    monkeypatch.setattr(stage2_tree, "MAX_NODES", 1000)
    with pytest.raises(cls, match=words) as caught:
        call()
    assert "stage 4" not in str(caught.value)


def test_imaginary_parts_are_dropped_with_a_warning():
    for lib in (jax, glassjax):
        x = lib.numpy.array([1.0 + 2j])
        with pytest.warns(np.exceptions.ComplexWarning):
            assert lib.lax.convert_element_type(x, "float32") == 1.0
        with pytest.warns(np.exceptions.ComplexWarning):
            assert lib.jit(lambda x, lib=lib: lib.lax.convert_element_type(x, bool))(x * 1j * 0 + 1)
        for convert in (lib.numpy.asarray, lib.numpy.array):
            with pytest.warns(np.exceptions.ComplexWarning):
                assert convert(x, "float32") == 1.0
            with pytest.warns(np.exceptions.ComplexWarning):
                assert convert(x, bool)
        for convert in (lib.numpy.astype, lambda x, dtype: x.astype(dtype)):
            for program in (convert, lib.jit(convert, static_argnums=1)):
                with pytest.warns(DeprecationWarning, match="real"):
                    assert program(x, "int32") == 1
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    assert program(x, bool)
        for function in (
            lambda jnp, x: jnp.sum(x, dtype="float32"),
            lambda jnp, x: jnp.prod(x, dtype="float32"),
            lambda jnp, x: jnp.mean(x, dtype="float32"),
            lambda jnp, x: jnp.cumsum(x, dtype="float32"),
            lambda jnp, x: jnp.add.reduce(x, dtype="float32"),
            lambda jnp, x: jnp.concatenate([x], dtype="float32"),
            lambda jnp, x: jnp.full(1, x[0], dtype="float32"),
        ):
            program = lib.jit(functools.partial(function, lib.numpy))
            with pytest.warns(np.exceptions.ComplexWarning):
                assert program(x) == 1.0


z = np.array([1 + 2j, 3], np.complex64)


LOSSES = {
    "einsum": lambda n: n.einsum("i->i", z, preferred_element_type="float32"),
    "insert": lambda n: n.insert(n.zeros(3), 1, z),
    "nan_to_num": lambda n: n.nan_to_num(n.zeros(2), nan=z[0]),
    "pad": lambda n: n.pad(n.zeros(3), 1, constant_values=z[0]),
    "piecewise": lambda n: n.piecewise(n.zeros(2), [np.array([True, False])], [z[0], 2.0]),
    "setdiff1d": lambda n: n.setdiff1d(n.zeros(3), n.ones(3), size=2, fill_value=z[0]),
    "get": lambda n: n.zeros(3).at[7].get(mode="fill", fill_value=z[0]),
    "take": lambda n: n.take(n.zeros(3), 7, mode="fill", fill_value=z[0]),
}


UPDATES = {
    "put": lambda n, v: n.put(n.zeros(3, int), np.array([0, 1]), v, inplace=False),
    "put_along_axis": lambda n, v: n.put_along_axis(
        n.zeros(3, int), np.array([0, 1]), v, 0, inplace=False
    ),
    "place": lambda n, v: n.place(n.zeros(2, int), np.array([True, True]), v, inplace=False),
    "fill_diagonal": lambda n, v: n.fill_diagonal(n.zeros((2, 2), int), v, inplace=False),
    "set": lambda n, v: n.zeros(3, int).at[:2].set(v),
    "add": lambda n, v: n.zeros(3, int).at[:2].add(v),
    "add.at": lambda n, v: n.add.at(n.zeros(3, int), np.array([0, 1]), v, inplace=False),
}


@for_each("name", LOSSES)
def test_what_takes_complex_numbers_for_real_ones_warns(name):
    with pytest.warns(np.exceptions.ComplexWarning):
        theirs = jax.jit(lambda: LOSSES[name](jax.numpy))()
    with pytest.warns(np.exceptions.ComplexWarning):
        assert_alike(LOSSES[name](glassjax.numpy), theirs)


@for_each("name", UPDATES)
def test_updates_by_what_the_array_does_not_hold_warn(name):
    for values, expected in ((z, {FutureWarning, np.exceptions.ComplexWarning}),
                             (z.real + 0.5, {FutureWarning})):  # fmt: skip
        found = []
        for lib in (glassjax, jax):
            update = functools.partial(UPDATES[name], lib.numpy, values)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                found.append(update() if lib is glassjax else jax.jit(update)())
            assert {each.category for each in caught} == expected
            assert lib is jax or {each.filename for each in caught} == {__file__}
        assert_alike(*found)


def test_an_int_that_needs_64_bits_is_told_of_them():
    with glassjax.enable_x64(False), pytest.raises(OverflowError, match="enable_x64"):
        jnp.array(2**40)


def test_an_error_of_the_user_s_is_the_user_s():
    """A function that a public one calls fails on its own account, whatever the arguments are."""

    def fails(x):
        return {}["missing"]

    with pytest.raises(KeyError, match="missing"):
        glassjax.tree.map(fails, [1.0])
    with pytest.raises(KeyError, match="missing"):
        jnp.apply_along_axis(fails, 0, ones3)


def test_a_value_fits_an_annotation():
    assert fits(np.int8(3), int | None)
    assert not fits(1.5, int)
    assert fits([1, 2], tuple[int, ...] | int) is True
    assert not fits("abc", int | tuple[int, ...])
    assert contains_itself(itself)
    assert not contains_itself([[ones3], [ones3]])
