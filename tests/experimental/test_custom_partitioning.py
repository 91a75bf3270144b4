"""Sharding rules of `custom_partitioning` in Shardy's syntax, beside JAX."""

import jax
import jax.experimental.custom_partitioning
import pytest
from jax._src import custom_partitioning_sharding_rule as of_jax
from jax._src.interpreters import mlir
from jax._src.lib.mlir import ir
from tables import for_each

import glassjax
from glassjax.experimental import custom_partitioning as ours
from glassjax.experimental.custom_partitioning import rule_of_text
from glassjax_stage2 import ShapedArray

CASES = [
    ("... i -> ...i", {}, [(8, 4)], [(8, 4)]),
    ("i j, j k -> i k", {"reduction_factors": ("j",)}, [(2, 3), (3, 4)], [(2, 4)]),
    ("(h w) x -> h x, w", {}, [(6, 5)], [(2, 5), (3,)]),
    ("(h w) x -> h x, w", {"h": 2}, [(6, 5)], [(2, 5), (3,)]),
    ("->", {}, [()], [()]),
    ("i -> i", {}, [(3,)], [(2,)]),
    ("... -> ", {}, [(3,)], [()]),
    (
        "...1 i, ...2 j -> ...1 i",
        {"permutation_factors": ("i",), "need_replication_factors": ("j",)},
        [(1, 2, 3), (4, 5)],
        [(1, 2, 3)],
    ),
    ("i_1 j2 -> i_1", {}, [(3, 4)], [(3,)]),
    ("(a b) c -> (b c)", {"a": 2, "b": 3}, [(6, 4)], [(12,)]),
    ("(a b) c -> (b c)", {"a": 2, "b": 2}, [(6, 4)], [(12,)]),
    ("(a b) c -> (b c)", {"a": 2}, [(6, 4)], [(12,)]),
    *[(text, {}, [(3,)], [(3,)]) for text in (
        "i", "(i) -> i", "((i j) k) -> i", "1i -> i", "i -> i j", "i ... -> i", "i . -> i",
        "i) -> i", "(i j -> i", "i -> i -> i", "… -> i", "i, j -> i", "i & -> i", "_i -> i",
    )],
    ("...i, ...j -> i", {}, [(3, 2), (2, 2)], [(3,)]),
    ("...i, ...j -> i", {}, [(3, 2), (2,)], [(3,)]),
    ("i -> i", {"reduction_factors": ("i",), "permutation_factors": ("i",)}, [(3,)], [(3,)]),
    ("i -> i", {"reduction_factors": ("i", "i")}, [(3,)], [(3,)]),
    ("i -> i", {"reduction_factors": ["i"]}, [(3,)], [(3,)]),
    ("i -> i", {"reduction_factors": ("k",)}, [(3,)], [(3,)]),
    ("i -> i", {"i": 3}, [(3,)], [(3,)]),
    ("i -> i", {"k": 3}, [(3,)], [(3,)]),
    ("i -> i", {"k": 3.5}, [(3,)], [(3,)]),
    (3, {}, [(3,)], [(3,)]),
    (" ".join(f"f{n}" for n in range(20)) + " -> f0", {}, [(2,) * 20], [(2,)]),
]  # fmt: skip


def outcome(make):
    try:
        return str(make())
    except (TypeError, ValueError) as error:
        return type(error)


@for_each(("rule", "options", "ins", "outs"), CASES)
def test_rules_of_texts(rule, options, ins, outs):
    def their_rule():
        ins_and_outs = [
            [ir.RankedTensorType.get([*shape], ir.F32Type.get()) for shape in shapes]
            for shapes in (ins, outs)
        ]
        found = of_jax.str_to_sdy_sharding_rule(rule, **options)
        return of_jax.sdy_sharding_rule_to_mlir(found, *ins_and_outs)

    def our_rule():
        avals = [[ShapedArray(shape, "float32") for shape in shapes] for shapes in (ins, outs)]
        return ir.Attribute.parse(rule_of_text(rule, **options).as_text(*avals))

    with mlir.make_ir_context(), ir.Location.unknown():
        assert outcome(our_rule) == outcome(their_rule)


@for_each("module", [ours, jax.experimental.custom_partitioning])
def test_parts_of_rules(module):
    mapping = module.ArrayMapping(module.BATCHING, module.CompoundFactor("b", "c"), "d")
    assert mapping == (module.BATCHING, ("b", "c"), "d")
    rule = module.SdyShardingRule((mapping,), (mapping,), b=2, c=3, reduction_factors=("b",))
    assert rule.factor_sizes == {"b": 2, "c": 3}
    assert rule.reduction_factors == ("b",)
    assert rule.permutation_factors == ()
    for make in [
        lambda: module.CompoundFactor("b"),
        lambda: module.CompoundFactor("b", 3),
        lambda: module.CompoundFactor("b", module.BATCHING),
        lambda: module.ArrayMapping("b", module.BATCHING),
        lambda: module.ArrayMapping(("b", "c")),
        lambda: module.ArrayMapping("2b"),
        lambda: module.custom_partitioning(abs).def_partition(abs, sharding_rule=rule, i=3),
    ]:
        with pytest.raises(ValueError, match=r"\w"):
            make()


def test_a_rule_is_for_as_many_arrays_as_the_function_has():
    rule, aval = rule_of_text("i -> i"), ShapedArray((3,), "float32")
    with pytest.raises(ValueError, match="1 operands, the function 2"):
        rule.as_text([aval, aval], [aval])


def test_on_one_device_it_is_the_function():
    f = ours.custom_partitioning(lambda x, y=3: x * y)
    f.def_partition(abs, sharding_rule="i, -> i")
    assert f(2.0) == 6
    assert f(2.0, y=4) == 8
    assert glassjax.jit(f)(2.0) == 6
