"""Partition specs with unreduced and reduced axes, beside JAX."""

import operator
import pickle

import jax
import numpy as np
import pytest
from tables import for_each

import glassjax

KIND = {jax: jax.sharding.UnreducedKind, glassjax: glassjax.sharding.UnreducedKind}
U = {"unreduced": {"x"}}

SPECS = {
    "unreduced": lambda j, P: P("a", unreduced={"x"}),
    "reduced": lambda j, P: P("a", reduced={"x"}),
    "both": lambda j, P: P(unreduced={"x"}, reduced={"z"}),
    "kind": lambda j, P: P("a", unreduced={"x"}, unreduced_kind=KIND[j].max),
    "sets": lambda j, P: sorted(P("a", unreduced=frozenset("xy"), reduced={"z"}).unreduced),
    "no sets": lambda j, P: (P("a").unreduced, P("a").reduced, P("a").unreduced_kind),
    "kind of spec": lambda j, P: str(P(**U).unreduced_kind).rpartition(".")[2],
    "kinds": lambda j, P: [(kind.name, kind.value) for kind in KIND[j]],
    "partitions": lambda j, P: (P("a", None, **U).partitions, len(P("a", None, **U))),
    "equality": lambda j, P: [
        P("a", **U) == other
        for other in (P("a"), P("a", **U), P("a", unreduced={"y"}), P("a", reduced={"x"}), ("a",))
    ],
    "hashes": lambda j, P: hash(P("a", **U)) == hash(P("a", unreduced=frozenset("x"))),
    "update": lambda j, P: (
        P("a", **U).update(unreduced={"y"}),
        P("a", **U).update(partitions=("b",)),
        P("a").update(partitions=("b",)),
    ),
    "sum": lambda j, P: P("a", **U) + P("b", **U),
    "sum of two kinds": lambda j, P: P("a", **U) + P("b"),
    "sum with a tuple": lambda j, P: operator.add(P("a", **U), ("b",)),
    "pickled": lambda j, P: pickle.loads(pickle.dumps(P("a", **U))),
    "twice": lambda j, P: P("a", unreduced={"a"}),
    "in both": lambda j, P: P(unreduced={"a"}, reduced={"a"}),
    "a string": lambda j, P: P(unreduced="x"),
    "a list": lambda j, P: P(reduced=["x"]),
    "none": lambda j, P: P(unreduced={None}),
}


@for_each("name", SPECS)
def test_specs_agree(name):
    found = []
    for j in (glassjax, jax):
        try:
            found.append(repr(SPECS[name](j, j.P)))
        except Exception as error:
            found.append(type(error))
    assert found[0] == found[1]


def test_parts_are_combined_by_sums_only():
    mesh = glassjax.make_mesh((1,), ("x",))
    x = np.ones(2, np.float32)
    spec = glassjax.P(**U, unreduced_kind=KIND[glassjax].max)
    uses = [
        lambda: glassjax.device_put(x, spec),
        lambda: glassjax.sharding.reshard(x, spec),
        lambda: glassjax.shard_map(lambda x: x, in_specs=glassjax.P(), out_specs=spec)(x),
        lambda: glassjax.shard_map(lambda x: x, in_specs=spec, out_specs=glassjax.P())(x),
        lambda: glassjax.jit(lambda x: x, out_shardings=spec)(x),
    ]
    with glassjax.set_mesh(mesh):
        for use in uses:
            with pytest.raises(NotImplementedError, match=r"combined by max.*only sums"):
                use()


def test_types_record_parts_over_explicit_axes_only():
    auto = glassjax.make_mesh((1,), ("x",), axis_types=(glassjax.sharding.AxisType.Auto,))
    for mesh, spec in (
        (auto, glassjax.P(**U)),
        (auto, glassjax.P(reduced={"x"})),
        (glassjax.make_mesh((1,), ("x",)), glassjax.P(unreduced={"y"})),
    ):
        with pytest.raises(ValueError, match="Explicit"):
            glassjax.NamedSharding(mesh, spec)


def test_types_say_neither_what_varies_nor_that_they_are_of_references():
    for given in ({"is_ref": True}, {"manual_axis_type": 3}):
        with pytest.raises(NotImplementedError, match="ShapeDtypeStruct"):
            glassjax.ShapeDtypeStruct((2,), "float32", **given)
    struct = glassjax.ShapeDtypeStruct((2,), "float32", is_ref=False, manual_axis_type=None)
    assert struct == glassjax.ShapeDtypeStruct((2,), "float32")
