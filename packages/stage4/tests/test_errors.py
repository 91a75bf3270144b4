"""Bad calls, and the message that each must give: what, where, and the way out."""

import numpy as np
import pytest

from glassjax_stage2 import MissingRuleError, Primitive, bind1, defjvp, impl_rules, sin
from glassjax_stage3 import abstract_eval_rules, array, jit
from glassjax_stage4 import (
    NonlinearError,
    grad,
    hessian,
    jacrev,
    linear_transpose,
    linearize,
    tape,
    vjp,
)

ones = np.ones
no_array = "expected an array or a number, found"


def identity(x):
    return x


def model(params, x):
    return params["w"] * x


def pair(x):
    return x, x


def pull(f, *primals):
    return vjp(f, *primals)[1]


floor_p = Primitive("floor")  # knows evaluation only
impl_rules[floor_p] = lambda x: [np.floor(x)]
half_p = Primitive("half")  # has a jvp rule that does not say how to be staged
impl_rules[half_p] = lambda x: [x / 2]
defjvp(half_p, lambda t, out, x: bind1(half_p, t))

CALLS = [
    # grad: the result
    (
        lambda: grad(lambda x: x * 2)(ones(3)),
        TypeError,
        "grad: the result of `<lambda>` must be one real number, found f64[3]. Sum over it, or "
        "use vjp or jacrev.",
    ),
    (
        lambda: grad(pair)(1.0),
        TypeError,
        "grad: the result of `pair` must be one real number, found PyTreeDef((*, *)). Return one "
        "of them, or use vjp.",
    ),
    (lambda: grad(lambda x: None)(1.0), TypeError, "found None. Is a return missing?"),
    (lambda: grad(lambda x: ())(1.0), TypeError, "found PyTreeDef(()). Return"),
    (lambda: grad(lambda x: [x])(1.0), TypeError, "found PyTreeDef([*]). Return"),
    (
        lambda: grad(lambda x: 3)(1.0),
        TypeError,
        "must be one real number, found i64[]. Convert it, or use vjp.",
    ),
    (lambda: grad(lambda x: x > 0)(1.0), TypeError, "found bool[]. Convert it, or use vjp."),
    (lambda: grad(lambda x: x * 1j)(1.0), TypeError, "found c128[]. Return its real part"),
    (lambda: grad(lambda x: "x")(1.0), TypeError, f"result of `<lambda>`: {no_array} 'x' of type"),
    (
        lambda: grad(lambda x: {"a": [x, "x"]})(1.0),
        TypeError,
        f"result['a'][1] of `<lambda>`: {no_array} 'x' of type str",
    ),
    (lambda: jit(grad(identity))(ones(3)), TypeError, "must be one real number, found f64[3]"),
    # grad: the arguments
    (
        lambda: grad(identity)(3),
        TypeError,
        "grad: argument 0 of `identity` must be real or complex, found i64[]. Make it a float, or "
        "leave it out.",
    ),
    (
        lambda: grad(model)({"w": np.arange(3)}, 1.0),
        TypeError,
        "grad: argument 0['w'] of `model` must be real or complex, found i64[3]",
    ),
    (lambda: grad(identity)(True), TypeError, "argument 0 of `identity` must be real"),
    (lambda: grad(model, 1)({"w": 1.0}, array(2)), TypeError, "argument 1 of `model` must be real"),
    (
        lambda: grad(identity)(1j),
        TypeError,
        "grad: the result of `identity` must be one real number, found c128[]. Return its real "
        "part, or use vjp.",
    ),
    (
        lambda: jacrev(identity)(1j),
        TypeError,
        "jacrev: result of `identity` is complex, c128[]. Use jacfwd, or return its real and "
        "imaginary parts.",
    ),
    (
        lambda: grad(model)({"w": "heavy"}, 1.0),
        TypeError,
        f"grad: argument 0['w'] of `model`: {no_array} 'heavy' of type str",
    ),
    (
        lambda: grad(identity, argnums=1)(1.0),
        TypeError,
        "grad: argnums 1 must name different arguments of `identity`; "
        "given by position: 1. Count from 0",
    ),
    (lambda: grad(identity, argnums=(0, -2))(1.0), TypeError, "argnums (0, -2) must name"),
    (lambda: grad(identity)(x=1.0), TypeError, "given by position: 0"),
    (
        lambda: grad(identity, argnums="x")(1.0),
        TypeError,
        "grad: argnums must be an int or ints, found 'x'",
    ),
    (
        lambda: grad(model, argnums=(1, -1))({"w": 1.0}, 1.0),
        TypeError,
        "grad: argnums (1, -1) must name different arguments of `model`; given by position: 2",
    ),
    # what is not a function
    *(
        (call, TypeError, f"{name}: expected a function, found 3")
        for name, call in (
            ("grad", lambda: grad(3)),
            ("vjp", lambda: vjp(3, 1.0)),
            ("linearize", lambda: linearize(3, 1.0)),
            ("linear_transpose", lambda: linear_transpose(3, 1.0)),
            ("jacrev", lambda: jacrev(3)),
            ("grad on a tape", lambda: tape.grad(3)(1.0)),
            ("vjp on a tape", lambda: tape.vjp(3, 1.0)),
        )
    ),
    (lambda: grad(identity)(1.0, 2.0), TypeError, "takes 1 positional argument but 2 were given"),
    # vjp: the cotangent
    (
        lambda: pull(pair, 1.0)(1.0),
        TypeError,
        "trees differ in structure at vjp of `pair`: cotangent: expected tuple of 2, found a leaf",
    ),
    (
        lambda: pull(lambda x: {"a": x}, 1.0)({"b": 1.0}),
        TypeError,
        "cotangent: expected dict of 1 with aux data ('a',), found dict of 1",
    ),
    (
        lambda: pull(pair, ones(3))((ones(3), ones(2))),
        TypeError,
        "vjp of `pair`: cotangent[1] must have type f64[3]; found f64[2]. "
        "Tangents and cotangents have the shape and dtype of their value",
    ),
    (lambda: pull(sin, ones(3))(1.0), TypeError, "must have type f64[3]; found f64[]"),
    (lambda: pull(sin, np.float32(1))(ones(())), TypeError, "must have type f32[]; found f64[]"),
    (
        lambda: pull(lambda x: 3, 1.0)(1.0),
        TypeError,
        "must have type float0[]; found f64[]. Tangents and cotangents have the shape and dtype of "
        "their value; for an integer give numpy.zeros(shape, float0)",
    ),
    (
        lambda: pull(sin, 1.0)("up"),
        TypeError,
        f"vjp of `sin`: cotangent: {no_array} 'up' of type str",
    ),
    (lambda: vjp(identity, "x"), TypeError, f"{no_array} 'x' of type str"),
    # linearize
    (lambda: linearize(identity, "x"), TypeError, f"{no_array} 'x' of type str"),
    (
        lambda: linearize(identity, 1.0)[1](1.0, 2.0),
        TypeError,
        "trees differ in structure at linearized `identity`: tangents: expected tuple of 1",
    ),
    # jacobians
    (
        lambda: jacrev(identity)(3),
        TypeError,
        "jacrev: argument 0 of `identity` must be real or complex, found i64[]. Make it a float",
    ),
    (
        lambda: jacrev(lambda x: {"a": (x, 1)})(1.0),
        TypeError,
        "jacrev: result['a'][1] of `<lambda>` must be real or complex, found i64[]. Make it a "
        "float, or leave it out.",
    ),
    (lambda: jacrev(identity, 2)(1.0), TypeError, "jacrev: argnums 2 must name"),
    (lambda: hessian(identity)(3), TypeError, "must be real or complex, found i64[]"),
    # rules that are missing
    (
        lambda: grad(lambda x: bind1(floor_p, x))(1.0),
        MissingRuleError,
        "the primitive `floor` has no rule for jvp. Add one: jvp_rules[floor_p] = rule",
    ),
    (
        lambda: grad(lambda x: bind1(half_p, x))(1.0),
        MissingRuleError,
        "the primitive `half` has no rule for abstract evaluation",
    ),
    (
        lambda: linear_transpose(sin, 1.0)(1.0),
        NonlinearError,
        "the primitive `sin` has no rule for transposition, so it is taken not to be linear. If "
        "it is, say how it is transposed: deftranspose(sin_p, formula)",
    ),
    # the tape
    (
        lambda: tape.grad(lambda x: x * 2)(ones(3)),
        TypeError,
        "grad on a tape: the result of `<lambda>` must be one real number, found f64[3]",
    ),
    (
        lambda: tape.grad(identity)(np.arange(3)),
        TypeError,
        "grad on a tape: argument 0 of `identity` must be real or complex, found i64[3]",
    ),
    (lambda: tape.grad(identity)(1j), TypeError, "must be one real number, found c128[]. Return"),
    (lambda: tape.grad(identity, 1)(1.0), TypeError, "grad on a tape: argnums 1 must name"),
    (
        lambda: tape.vjp(pair, 1.0)[1](1.0),
        TypeError,
        "trees differ in structure at vjp of `pair`: cotangent: expected tuple of 2, found a leaf",
    ),
    (
        lambda: tape.grad(lambda x: bind1(floor_p, x))(1.0),
        MissingRuleError,
        "the primitive `floor` has no rule for the tape. Add one: vjp_rules[floor_p] = rule",
    ),
    (
        lambda: tape.grad(lambda x: float(x))(1.0),
        TypeError,
        "a Python float is needed of a traced value",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), CALLS)
def test_a_bad_call_says_what_where_and_how_to_go_on(call, error, message):
    with pytest.raises(error) as info:
        call()
    assert message in str(info.value)


def test_errors_are_of_pythons_kinds():
    assert issubclass(NonlinearError, MissingRuleError)
    assert issubclass(MissingRuleError, NotImplementedError)


def test_a_rule_that_is_added_is_found():
    abstract_eval_rules[half_p] = lambda x: [x]
    with pytest.raises(NonlinearError, match=r"deftranspose\(half_p, formula\)"):
        grad(lambda x: bind1(half_p, x))(1.0)
    del abstract_eval_rules[half_p]
