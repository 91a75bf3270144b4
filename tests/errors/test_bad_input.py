# ruff: noqa: E501  # a row of the table is a line
"""Messages for bad input, by public function.

One table of calls, with the class of the error and what its message must contain; and a fuzz that
throws anything at everything.
"""

import jax
import numpy as np
import pytest
from tables import for_each

import glassjax
import glassjax_stage1 as s1
import glassjax_stage2 as s2
from glassjax_stage2 import (
    ConcretizationTypeError,
    MissingRuleError,
    Primitive,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    UnexpectedTracerError,
    add,
    astype,
    bind1,
    broadcast_in_dim,
    broadcast_to,
    deriv,
    dot_general,
    full_like,
    jacfwd,
    jvp,
    matmul,
    moveaxis,
    mul,
    neg,
    reduce_sum,
    reshape,
    select_n,
    sin,
    transpose,
    tree_flatten,
    tree_map,
    tree_structure,
    tree_unflatten,
    vmap,
    where,
)
from glassjax_stage3 import array, eval_jaxpr, jit, make_jaxpr
from glassjax_stage4 import (
    cond,
    grad,
    hessian,
    jacrev,
    linear_transpose,
    linearize,
    tape,
    value_and_grad,
    vjp,
)

ones2, ones3, ones23 = np.ones(2), np.ones(3), np.ones((2, 3))


f32 = np.ones(3, np.float32)


mine = Primitive("mine")


def square(x):
    return mul(x, x)


def identity(x):
    return x


def branching(x):
    if x > 0:
        return x
    return neg(x)


def of_leaked(transformation, use, x=1.0):
    """Carries a tracer out of a transformed function and uses it afterwards."""
    leaked = []

    def keep(x):
        leaked.append(x)
        return x

    transformation(keep)(x)
    return use(leaked[0])


NOT_ARRAY = "expected an array or a number, found 'a' of type str"


NOT_FUNCTION = "expected a function, found 3"


# fmt: off
TABLE = {
    "jit": [
        (lambda: jit(3), TypeError, f"jit: {NOT_FUNCTION}"),
        (lambda: jit(identity)("a"), TypeError, f"jit of `identity`: argument x: {NOT_ARRAY}.*made static"),
        (lambda: jit(lambda p: p)({"w": [1.0, "a"]}), TypeError, r"argument p\['w'\]\[1\]: " + NOT_ARRAY),
        (lambda: jit(identity)(10**30), OverflowError, "argument x: the Python int 10+ does not fit in 64 bits"),
        (lambda: jit(lambda x: "a")(1.0), TypeError, f"result of `<lambda>`: {NOT_ARRAY}"),
        (lambda: jit(lambda x: {"a": [x, object()]})(1.0), TypeError, r"result\['a'\]\[1\] of `<lambda>`"),
        (lambda: jit(identity, static_argnums=0)([1]), ValueError, "static argument 0 is of type list, which is not hashable"),
        (lambda: glassjax.jit(identity, static_argnums=3), ValueError, "static_argnums names argument 3 of `identity`, which has 1"),
        (lambda: glassjax.jit(identity, static_argnums="a"), TypeError, "static_argnums must be ints, found 'a'"),
        (lambda: glassjax.jit(identity, static_argnames="y"), ValueError, "static_argnames names 'y', which is not a parameter"),
        (lambda: glassjax.jit(identity, static_argnames=3), TypeError, "static_argnames must be strs, found 3"),
        (lambda: jit(branching)(1.0), TracerBoolConversionError, r"(?s)test_bad_input.py:\d+ .*if x > 0:.*argument x of `branching`.*jit.*cond"),
        (lambda: jit(float)(1.0), ConcretizationTypeError, "Python float is needed"),
        (lambda: jit(lambda x: range(x))(3), TracerIntegerConversionError, "(?s)Python integer is needed.*static argument"),
        (lambda: jit(np.asarray)(1.0), TracerArrayConversionError, "(?s)numpy array is needed.*in place of numpy's"),
        (lambda: jit(lambda x, y: x)(1.0), TypeError, "missing 1 required positional argument: 'y'"),
        (lambda: of_leaked(jit, neg), UnexpectedTracerError, "JaxprTracer made at .* belongs to the jit of `keep`, which has ended"),
        (lambda: glassjax.jit(identity).lower(1.0).compile()(ones3), TypeError, r"`identity` was compiled for f(32|64)\[\], called with f(32|64)\[3\]"),
        (lambda: glassjax.jit(identity).lower(1.0).compile()(1.0, 2.0), TypeError, "was compiled for arguments of structure"),
        (lambda: jit(lambda x: bind1(mine, x))(1.0), MissingRuleError, r"`mine` has no rule for abstract evaluation.*abstract_eval_rules\[mine_p\]"),
    ],
    "make_jaxpr": [
        (lambda: make_jaxpr(3)(1.0), TypeError, f"make_jaxpr: {NOT_FUNCTION}"),
        (lambda: make_jaxpr(identity)("a"), TypeError, f"make_jaxpr of `identity`: argument x: {NOT_ARRAY}"),
        (lambda: eval_jaxpr(make_jaxpr(identity)(1.0).jaxpr, []), TypeError, r"the jaxpr takes f64\[\], found nothing"),
    ],
    "grad": [
        (lambda: grad(3), TypeError, f"grad: {NOT_FUNCTION}"),
        (lambda: value_and_grad(3), TypeError, NOT_FUNCTION),
        (lambda: grad(identity)(ones3), TypeError, r"result of `identity` must be one real number, found f64\[3\]. Sum"),
        (lambda: grad(lambda x: (x, x))(1.0), TypeError, r"must be one real number, found PyTreeDef\(\(\*, \*\)\). Return one of them"),
        (lambda: glassjax.grad(lambda x: (x, x))(1.0), TypeError, "must be one real number, found a pytree of 2 leaves.*has_aux=True"),
        (lambda: grad(lambda x: None)(1.0), TypeError, "must be one real number, found None"),
        (lambda: grad(lambda x: 1)(1.0), TypeError, r"must be one real number, found i64\[\]"),
        (lambda: grad(square)(3), TypeError, "argument 0 of `square` must be real or complex, found i64.*Make it a float"),
        (lambda: grad(square)({"a": 1.0, "b": [2]}), TypeError, r"argument 0\['b'\]\[0\] of `square` must be real or complex, found i64"),
        (lambda: grad(square)(1j), TypeError, r"result of `square` must be one real number, found c128\[\]. Return its real part, or use vjp"),
        (lambda: glassjax.grad(square)(1j), TypeError, r"result of `square` must be one real number, found c128\[\]. Return its real part; for a complex derivative give holomorphic=True"),
        (lambda: glassjax.grad(square, holomorphic=True)(1.0), TypeError, r"argument 0 of `square` must be complex where holomorphic=True, found f64\[\]"),
        (lambda: glassjax.grad(lambda x: 1.0, holomorphic=True)(1j), TypeError, r"must be one complex number, where holomorphic=True, found f64\[\]"),
        (lambda: grad(square)("a"), TypeError, f"argument 0 of `square`: {NOT_ARRAY}"),
        (lambda: grad(square)(), TypeError, "arguments of `square`; given by position: 0"),
        (lambda: grad(square, argnums=1)(1.0), TypeError, "argnums 1 must name different arguments of `square`"),
        (lambda: grad(square, argnums="a")(1.0), (TypeError, ValueError), "argnums.*'a'"),
        (lambda: grad(square, argnums=None)(1.0), TypeError, "argnums must be an int or ints, found None"),
        (lambda: glassjax.grad(square, has_aux=True)(1.0), TypeError, r"has_aux=True must return a pair \(out, aux\)"),
        (lambda: of_leaked(grad, neg), UnexpectedTracerError, "belongs to the jvp of `keep`, which has ended"),
    ],
    "vjp, linearize, linear_transpose": [
        (lambda: vjp(3, 1.0), TypeError, f"vjp: {NOT_FUNCTION}"),
        (lambda: vjp(square, "a"), TypeError, NOT_ARRAY),
        (lambda: vjp(lambda x: (x, x), 1.0)[1](1.0), TypeError, "trees differ in structure at vjp of `<lambda>`: cotangent: expected tuple of 2"),
        (lambda: vjp(square, ones3)[1](ones2), TypeError, r"cotangent must have type f64\[3\]; found f64\[2\]"),
        (lambda: vjp(square, ones3)[1](f32), TypeError, r"must have type f64\[3\]; found f32\[3\]. Tangents and cotangents have the shape and dtype of their value"),
        (lambda: linearize(3, 1.0), TypeError, f"linearize: {NOT_FUNCTION}"),
        (lambda: linearize(square, ones3)[1](ones2), TypeError, r"must have type f64\[3\]; found f64\[2\]"),
        (lambda: linearize(square, 1.0)[1](1.0, 2.0), TypeError, "trees differ in structure at linearized `square`: tangents: expected tuple of 1"),
        (lambda: linear_transpose(3, 1.0), TypeError, f"linear_transpose: {NOT_FUNCTION}"),
        (lambda: linear_transpose(sin, 1.0)(1.0), NotImplementedError, "`sin` has no rule for transposition"),
        (lambda: linear_transpose(square, 1.0)(1.0), NotImplementedError, "not linear"),
        (lambda: linear_transpose(neg, ones3)(ones2), TypeError, r"must have type f64\[3\]; found f64\[2\]"),
    ],
    "jvp, deriv": [
        (lambda: jvp(3, (1.0,), (1.0,)), TypeError, f"jvp: {NOT_FUNCTION}"),
        (lambda: jvp(square, 1.0, 1.0), TypeError, r"primals must be a tuple or list, such as \(x,\); found 1.0"),
        (lambda: jvp(square, (1.0,), (1.0, 2.0)), TypeError, "trees differ in structure at jvp of `square`: tangents: expected tuple of 1, found tuple of 2"),
        (lambda: jvp(square, (ones3,), (ones2,)), TypeError, r"tangents\[0\] must have type f64\[3\]; found f64\[2\]"),
        (lambda: jvp(square, (ones3,), (f32,)), TypeError, r"must have type f64\[3\]; found f32\[3\]"),
        (lambda: jvp(square, (3,), (1.0,)), TypeError, r"must have type float0\[\].*make it a float"),
        (lambda: jvp(square, ("a",), (1.0,)), TypeError, rf"primals\[0\]: {NOT_ARRAY}"),
        (lambda: jvp(lambda x: bind1(mine, x), (1.0,), (1.0,)), MissingRuleError, "`mine` has no rule for jvp"),
        (lambda: deriv(3), TypeError, f"deriv: {NOT_FUNCTION}"),
        (lambda: deriv(square)(np.arange(3)), TypeError, r"must have type float0\[3\]; found i64\[3\]"),
        (lambda: jacfwd(square, argnums=None)(1.0), TypeError, "argnums must be an int or ints"),
    ],
    "jacfwd, jacrev, hessian": [
        (lambda: jacfwd(3), TypeError, f"jacfwd: {NOT_FUNCTION}"),
        (lambda: jacrev(3), TypeError, f"jacrev: {NOT_FUNCTION}"),
        (lambda: hessian(3), TypeError, NOT_FUNCTION),
        (lambda: jacrev(lambda x: "a")(1.0), TypeError, f"result of `<lambda>`: {NOT_ARRAY}"),
        (lambda: jacfwd(square)(np.arange(3)), TypeError, r"argument 0 of `square` must be real or complex, found i64\[3\]"),
        (lambda: jacrev(square)(3), TypeError, r"argument 0 of `square` must be real or complex, found i64\[\]"),
        (lambda: hessian(square)(3), TypeError, r"`square`.*i64\[\]"),
        (lambda: jacrev(lambda x: x > 0)(1.0), TypeError, r"result of `<lambda>` must be real or complex, found bool\[\]"),
        (lambda: jacrev(square)(1j), TypeError, "result of `square` is complex.*imaginary parts"),
        (lambda: glassjax.jacrev(square)(1j), TypeError, "result of `square` is complex.*give holomorphic=True"),
        (lambda: glassjax.jacrev(square, holomorphic=True)(1.0), TypeError, "argument 0 of `square` must be complex where holomorphic=True"),
        (lambda: glassjax.jacrev(lambda x: 1.0, holomorphic=True)(1j), TypeError, "result of `<lambda>` must be complex where holomorphic=True"),
        (lambda: glassjax.jacfwd(square)(1j), TypeError, r"jacfwd: argument 0 of `square` is complex, c128\[\]. Give holomorphic=True"),
        (lambda: glassjax.hessian(square, holomorphic=True)(1.0), TypeError, "hessian: argument 0 of `square` must be complex where"),
        (lambda: glassjax.jacfwd(identity, has_aux=True)(1.0), TypeError, r"`identity` with has_aux=True must return a pair"),
        (lambda: jacrev(square, argnums=2)(1.0), TypeError, "argnums 2 must name different arguments of `square`"),
    ],
    "vmap": [
        (lambda: vmap(3), TypeError, f"vmap: {NOT_FUNCTION}"),
        (lambda: vmap(add)(ones2, ones3), ValueError, r"(?s)mapped axes differ in size.*x +\(2,\) +0 +2.*y +\(3,\) +0 +3.*call of `add`"),
        (lambda: vmap(square)(1.0), ValueError, r"x of type f64\[\] has no axis 0"),
        (lambda: vmap(square, in_axes=2)(ones3), ValueError, r"x of type f64\[3\] has no axis 2"),
        (lambda: vmap(square, in_axes=None)(1.0), ValueError, "nothing is mapped"),
        (lambda: vmap(lambda: 1)(), ValueError, "nothing is mapped"),
        (lambda: vmap(square, in_axes=(0, 0))(ones3), ValueError, "in_axes, a prefix of args.*expected tuple of 2, found tuple of 1"),
        (lambda: vmap(square, in_axes="a")(ones3), TypeError, "in_axes must hold ints and None, found 'a'"),
        (lambda: vmap(square, in_axes=({"b": 0},))({"a": ones3}), ValueError, r"in_axes, a prefix of args\[0\]"),
        (lambda: vmap(square, out_axes=3)(ones3), ValueError, "out_axes: axis 3 is out of range for ndim 1"),
        (lambda: vmap(square, out_axes=None)(ones3), ValueError, "out_axes is None for a result that differs"),
        (lambda: vmap(square, axis_size=5)(ones3), ValueError, "(?s)mapped axes differ in size.*axis_size +5"),
        (lambda: vmap(square, None, axis_size="a")(1.0), TypeError, "axis_size must be an int, found 'a'"),
        (lambda: vmap(branching)(ones3), TracerBoolConversionError, "(?s)vmap maps `branching` over 3 examples at once.*where"),
        (lambda: of_leaked(vmap, jit(neg), ones3), UnexpectedTracerError, "belongs to the vmap of `keep`, which has ended"),
    ],
    "cond": [
        (lambda: cond(ones3 > 0, neg, neg, 1.0), TypeError, r"pred must be a scalar, found bool\[3\].*where"),
        (lambda: cond("a", neg, neg, 1.0), TypeError, f"cond: pred: {NOT_ARRAY}"),
        (lambda: glassjax.lax.cond(None, neg, neg, 1.0), TypeError, "cond: pred: expected an array or a number, found None"),
        (lambda: cond(True, 3, neg, 1.0), TypeError, f"cond: {NOT_FUNCTION}"),
        (lambda: cond(True, neg, neg, "a"), TypeError, f"cond of `neg`: argument x: {NOT_ARRAY}"),
        (lambda: cond(True, identity, lambda x: ones3, 1.0), TypeError, r"same types, but result is f64\[\] of the first and f64\[3\] of the second. Convert"),
        (lambda: cond(True, identity, lambda x: np.int32(1), np.float32(1)), TypeError, r"same types, but result is f32\[\] of the first and i32\[\]"),
        (lambda: cond(True, lambda x: (x, x), identity, 1.0), TypeError, "same tree structure: at the root: expected tuple of 2"),
    ],
    "the tape": [
        (lambda: tape.grad(3), TypeError, NOT_FUNCTION),
        (lambda: tape.grad(identity)(ones3), TypeError, "result of `identity` must be one real number"),
        (lambda: tape.grad(square)("a"), TypeError, f"argument 0 of `square`: {NOT_ARRAY}"),
        (lambda: tape.grad(jit(square))(1.0), MissingRuleError, "`jit` has no rule for the tape"),
        (lambda: of_leaked(tape.grad, neg), UnexpectedTracerError, "belongs to the vjp on a tape of `keep`, which has ended"),
    ],
    "functions of arrays": [
        (lambda: sin("a"), TypeError, NOT_ARRAY),
        (lambda: sin(jax.numpy.ones(2)), TypeError, r"numpy.array\(...\) makes it an array"),
        (lambda: jax.jit(lambda x: sin(x))(1.0), TypeError, "JitTracer"),
        (lambda: sin(np.array([None])), TypeError, "expected an array of numbers, found dtype object"),
        (lambda: add([1.0], 1.0), TypeError, r"found \[1.0\] of type list.*numpy.array"),
        (lambda: add(ones2, ones3), ValueError, r"Incompatible shapes for broadcasting: \(2,\) and \(3,\)"),
        (lambda: neg(True), TypeError, "neg: found a boolean array.*x == False"),
        (lambda: s2.abs(1j), TypeError, "expected integers or reals, found c128"),
        (lambda: matmul(1.0, ones3), ValueError, r"need an axis, found shapes \(\), \(3,\)"),
        (lambda: matmul(ones23, ones23), ValueError, "contracted with axis 0.*sizes are 3 and 2"),
        (lambda: dot_general(ones23, ones23, (((1,), (0,)), ((), ()))), TypeError, "dot_general: axes .* differ in size"),
        (lambda: dot_general(ones3, ones3, (((5,), (0,)), ((), ()))), TypeError, r"dot_general: \(5,\) are not distinct axes of f"),
        (lambda: dot_general(ones3, ones3, 1), TypeError, "int.*iterable"),
        (lambda: reshape(ones3, (2, 2)), ValueError, r"reshape: f64\[3\], of size 3, does not fit shape \(2, 2\)"),
        (lambda: reshape(ones3, (-1, -1)), ValueError, r"does not fit shape \(-1, -1\)"),
        (lambda: reshape(ones3, "a"), TypeError, "reshape: shape must be an int or ints, found 'a'"),
        (lambda: reshape(ones3, 1.5), TypeError, "reshape: shape must be an int or ints, found 1.5"),
        (lambda: reduce_sum(ones3, axis=1), ValueError, "reduce_sum: axis 1 is out of range for ndim 1"),
        (lambda: reduce_sum(ones23, axis=(0, 0)), ValueError, r"reduce_sum: axis \(0, 0\) is out of range for ndim 2, or given twice"),
        (lambda: reduce_sum(ones3, axis="a"), TypeError, "reduce_sum: axis must be an int or ints, found 'a'"),
        (lambda: transpose(ones23, (0,)), TypeError, "does not permute the axes of f"),
        (lambda: moveaxis(ones3, 1, 0), ValueError, "moveaxis: axis 1 is out of range"),
        (lambda: broadcast_to(ones3, (2,)), ValueError, r"shape \(3,\) does not broadcast to shape \(2,\)"),
        (lambda: broadcast_in_dim(ones3, (2,), (1,)), TypeError, r"broadcast_in_dim: f64\[3\] does not fit axes"),
        (lambda: broadcast_in_dim(ones3, (2, 3), ()), TypeError, r"broadcast_in_dim: f64\[3\] does not fit axes"),
        (lambda: broadcast_in_dim(ones3, (3, 3), (0, 0)), TypeError, r"broadcast_in_dim: f64\[3\] does not fit axes"),
        (lambda: broadcast_in_dim(ones3, (2,), (0,)), TypeError, r"broadcast_in_dim: f64\[3\] does not fit axes"),
        (lambda: select_n(1.0, ones3, ones3), TypeError, "select_n: the first operand must be boolean"),
        (lambda: where(ones3 > 0, ones2, ones3), ValueError, "Incompatible shapes"),
        (lambda: where("a", 1.0, 2.0), TypeError, NOT_ARRAY),
        (lambda: astype(ones3, "elf"), TypeError, "'elf'"),
        (lambda: astype(ones3, "U3"), TypeError, "astype: dtype must be a dtype of numbers or the name of one, such as 'float32', found 'U3'"),
        (lambda: full_like(ones3, "a"), (TypeError, ValueError), "'a'"),
        (lambda: bind1(mine, 1.0), MissingRuleError, r"`mine` has no rule for evaluation. Add one: impl_rules\[mine_p\]"),
    ],
    "operators": [
        (lambda: jit(lambda x: x + "a")(1.0), TypeError, "unsupported operand.*'JaxprTracer' and 'str'"),
        (lambda: vmap(lambda x: [1] * x)(ones3), TypeError, "BatchTracer"),
        (lambda: array([1.0]) + "a", TypeError, "unsupported operand.*'Array' and 'str'"),
        (lambda: array([1.0, 2.0]) @ 3.0, ValueError, "matmul: operands need an axis"),
        (lambda: array([1.0, 2.0]) * ones3, ValueError, "Incompatible shapes"),
        (lambda: -array([True]), TypeError, "neg: found a boolean array"),
        (lambda: hash(array(1.0)), TypeError, "unhashable type: 'Array'"),
    ],
    "arrays": [
        (lambda: array("a"), TypeError, NOT_ARRAY),
        (lambda: array([None]), TypeError, "expected an array of numbers, found dtype object"),
        (lambda: array([[1], [1, 2]]), ValueError, "inhomogeneous shape"),
        (lambda: array([1.0], "elf"), TypeError, "'elf'"),
        (lambda: array([1.0], "U1"), TypeError, "expected an array of numbers, found dtype <U1"),
        (lambda: bool(array([1.0, 2.0])), ValueError, "truth value of an array with more than one element"),
        (lambda: int(array([1.0, 2.0])), TypeError, r"f64\[2\] is not a scalar"),
        (lambda: array([1.0, 2.0]).item(), ValueError, "array of size 1"),
        (lambda: range(array(1.0)), TypeError, "only integer scalar arrays"),
        (lambda: len(array(1.0)), TypeError, "is a scalar and has no length"),
    ],
    "trees": [
        (lambda: tree_unflatten(tree_structure([1, 2]), [1]), ValueError, "has num_leaves 2, found 1"),
        (lambda: tree_map(add, [1, (2, 3)], [1, 2]), ValueError, r"\[1\]"),
        (lambda: tree_flatten({1: 1, "a": 2}), ValueError, r"cannot be sorted: \[1, 'a'\]"),
    ],
    "stage 1": [
        (lambda: s1.add("a", 1.0), TypeError, "argument 0 of add: expected a float or an int, found 'a' of type str"),
        (lambda: s1.derivative(sin, 1.0), TypeError, "of stage 1 knows `add` and `mul` on numbers only"),
        (lambda: s1.jvp(jit(square), 1.0, 1.0), TypeError, "of stage 1 knows `add` and `mul` on numbers only"),
        (lambda: s1.build_jaxpr(square, -1), ValueError, "num_args must be an int of at least 0, found -1"),
        (lambda: s1.eval_jaxpr(s1.build_jaxpr(identity, 1), ()), TypeError, "takes 1 arguments, found 0"),
    ],
}


# fmt: on

CASES = {
    f"{section}-{number}": row for section, rows in TABLE.items() for number, row in enumerate(rows)
}


@for_each(("call", "error", "message"), CASES.values(), ids=CASES)
def test_what_a_bad_input_is_told(call, error, message):
    with pytest.raises(error, match=message):
        call()
