"""A primitive of one's own, known to every interpreter of this stage."""

import numpy as np
import pytest

from glassjax_stage2 import (
    MissingRuleError,
    Primitive,
    bind,
    bind1,
    defjvp,
    deriv,
    impl_rules,
    jvp,
    vmap,
    vmap_rules,
)
from glassjax_stage3 import abstract_eval_rules, array, jit, lowering_rules, make_jaxpr
from glassjax_stage3.lowering import signature
from glassjax_stage3.lowering_rules import elementwise

tanh_p = Primitive("tanh")


def tanh(x):
    return bind1(tanh_p, x)


impl_rules[tanh_p] = lambda x: [np.tanh(x)]
defjvp(tanh_p, lambda t, out, x: t * (1.0 - out * out))
vmap_rules[tanh_p] = lambda axis, values, dims: ([tanh(*values)], dims)
abstract_eval_rules[tanh_p] = lambda x: [x]
lowering_rules[tanh_p] = elementwise("tanh")

X = np.linspace(-1.0, 1.0, 5)
T = np.tanh(X)


def test_it_is_staged_and_compiled_and_transformed_in_any_order():
    assert "b:f64[5] = tanh a" in str(make_jaxpr(tanh)(X))
    np.testing.assert_allclose(jit(tanh)(X), T)
    np.testing.assert_allclose(tanh(array(X)), T)
    np.testing.assert_allclose(jit(vmap(deriv(tanh)))(X), 1 - T**2)
    np.testing.assert_allclose(vmap(deriv(jit(tanh)))(X), 1 - T**2)
    np.testing.assert_allclose(jvp(jit(tanh), (X,), (X,))[1], X * (1 - T**2))


def test_a_rule_may_write_any_operation_of_stablehlo():
    """Two results, a parameter, and a text of one's own."""
    split_p = Primitive("split")

    def split_type(x, *, at):
        (n,) = x.shape
        return [type(x)((at,), x.dtype), type(x)((n - at,), x.dtype)]

    def split_lowering(b, out_avals, x, *, at):
        (n,) = x.aval.shape
        return [
            b.emit(f"stablehlo.slice {x.name} [{i}:{j}] : {signature([x], [aval])}", aval)[0]
            for (i, j), aval in zip([(0, at), (at, n)], out_avals, strict=True)
        ]

    abstract_eval_rules[split_p] = split_type
    lowering_rules[split_p] = split_lowering
    first, rest = jit(lambda x: bind(split_p, x, at=2))(X)
    np.testing.assert_array_equal(np.concatenate([first, rest]), X)


def test_what_is_missing_is_named_with_the_way_to_add_it():
    odd_p = Primitive("odd")
    impl_rules[odd_p] = lambda x: [x]

    def odd(x):
        return bind1(odd_p, x)

    with pytest.raises(MissingRuleError) as error:
        jit(odd)(X)
    assert str(error.value).startswith(
        "the primitive `odd` has no rule for abstract evaluation. "
        "Add one: abstract_eval_rules[odd_p] = rule\n"
    )
    abstract_eval_rules[odd_p] = lambda x: [x]
    assert "odd" in str(make_jaxpr(odd)(X))
    with pytest.raises(MissingRuleError, match="no rule for lowering to StableHLO"):
        jit(odd)(X)
    with pytest.raises(MissingRuleError, match="no rule for lowering to StableHLO"):
        odd(array(X))
    assert odd(1.0) == 1.0
