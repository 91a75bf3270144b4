"""Additions of the library to the pytrees of stage 2."""

import operator
from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import for_each

import glassjax
import glassjax.numpy as jnp
from glassjax.tree_util import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    Partial,
    SequenceKey,
    all_leaves,
    keystr,
    register_dataclass,
    register_pytree_node_class,
    register_pytree_with_keys,
    register_pytree_with_keys_class,
    register_static,
    tree_all,
    tree_broadcast,
    tree_flatten,
    tree_leaves,
    tree_leaves_with_path,
    tree_map,
    tree_map_with_path,
    tree_reduce,
    tree_reduce_associative,
    tree_structure,
    tree_transpose,
    tree_unflatten,
    treedef_children,
    treedef_is_leaf,
    treedef_tuple,
)
from glassjax_stage2 import register_pytree_node as register_in_stage2
from glassjax_stage2.tree import explain_mismatch

Point = namedtuple("Point", "x y")


@register_dataclass
@dataclass
class Layer:
    weight: Any
    bias: Any
    activation: str = field(default="tanh", metadata={"static": True})


@register_pytree_node_class
class Bag:
    """Registered by methods, without keys."""

    def __init__(self, *items: Any, label: str = "") -> None:
        self.items, self.label = items, label

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bag) and (self.items, self.label) == (other.items, other.label)

    def tree_flatten(self):
        return self.items, self.label

    @classmethod
    def tree_unflatten(cls, label, items):
        return cls(*items, label=label)


@register_pytree_with_keys_class
class Span:
    """Registered by methods, with keys."""

    def __init__(self, start: Any, stop: Any) -> None:
        self.start, self.stop = start, stop

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Span) and (self.start, self.stop) == (other.start, other.stop)

    def tree_flatten_with_keys(self):
        return ((GetAttrKey("start"), self.start), (GetAttrKey("stop"), self.stop)), None

    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)


@register_static
@dataclass(frozen=True)
class Config:
    size: int


class Plain:
    pass


@dataclass
class Late:
    x: int
    y: int = field(init=False)


def containers(tree):
    return st.one_of(
        st.lists(tree, max_size=3),
        st.dictionaries(st.sampled_from("abc"), tree, max_size=3),
        st.builds(Layer, tree, tree, st.sampled_from(["tanh", "relu"])),
        st.lists(tree, max_size=3).map(lambda items: Bag(*items, label="b")),
        st.builds(Span, tree, tree),
        st.lists(tree, max_size=3).map(tuple),
        st.dictionaries(st.sampled_from("abc"), tree, max_size=3).map(OrderedDict),
        st.dictionaries(st.sampled_from("abc"), tree, max_size=3).map(
            lambda d: defaultdict(int, d)
        ),
        st.builds(Point, tree, tree),
    )


leaves = st.integers() | st.text(max_size=2)
trees = st.recursive(leaves | st.none() | st.builds(Config, st.integers(0, 2)), containers)


@given(trees)
def test_classes_come_apart_and_together(tree):
    leaves, treedef = tree_flatten(tree)
    assert tree_unflatten(treedef, leaves) == tree
    assert tree_map(lambda x: x, tree) == tree
    assert [leaf for _, leaf in tree_leaves_with_path(tree)] == leaves


def follow(tree, path):
    for key in path:
        match key:
            case SequenceKey(i):
                tree = tree[i]
            case DictKey(k):
                tree = tree[k]
            case GetAttrKey(name):
                tree = getattr(tree, name)
            case FlattenedIndexKey(i):
                tree = tree_leaves(tree, is_leaf=lambda x, node=tree: x is not node)[i]
    return tree


@given(trees)
def test_key_paths_reach_the_leaves(tree):
    assert all(follow(tree, path) is leaf for path, leaf in tree_leaves_with_path(tree))


def test_a_class_that_stage_2_learns_of_is_known_to_compiled_calls():
    """It is mirrored when it is first met, also after others were."""
    assert glassjax.jit(lambda x: x[0])([1.0]) == 1.0

    class Late:
        def __init__(self, x):
            self.x = x

    register_in_stage2(Late, lambda node: ((node.x,), None), lambda _, children: Late(*children))
    assert glassjax.jit(lambda node: Late(2 * node.x))(Late(3.0)).x == 6.0
    ((path, leaf),) = tree_leaves_with_path(Late(3.0))
    assert (path, leaf) == ((FlattenedIndexKey(0),), 3.0)


def test_keys_of_registered_classes():
    (path, _), (other, _) = tree_leaves_with_path([Layer(1, None), Span((2,), None)])
    assert (keystr(path), keystr(other)) == ("[0].weight", "[1].start[0]")
    assert (
        explain_mismatch(Span([1], 2), Span((1,), 2))
        == "at .start: expected list of 1, found tuple of 1"
    )
    assert explain_mismatch([Config(1)], [Config(2)]).startswith(
        "at [0]: expected Config of 0 with"
    )


def test_keys_print_as_in_jax():
    path = (DictKey("a"), SequenceKey(1), GetAttrKey("w"), FlattenedIndexKey(2))
    assert keystr(path) == "['a'][1].w[<flat index 2>]"
    assert keystr(path, simple=True, separator="/") == "a/1/w/2"
    assert repr(path[0]) == "DictKey(key='a')"
    with pytest.raises(AttributeError):
        path[1].idx = 1


def test_is_leaf_may_take_the_path():
    def is_leaf(path, _):
        seen.append(keystr(path))
        return len(path) == 1

    seen = []
    pairs = tree_leaves_with_path({"a": 1, "b": [[2], 3]}, is_leaf, is_leaf_takes_path=True)
    assert pairs == [((DictKey("a"),), 1), ((DictKey("b"),), [[2], 3])]
    assert seen == ["", "['a']", "['b']"]
    deep = [1, [Span(2, (3,))]]
    found = tree_leaves_with_path(deep, lambda path, _: False, is_leaf_takes_path=True)
    assert found == tree_leaves_with_path(deep)


@given(trees, trees)
def test_transposing_twice_changes_nothing(outer, inner):
    outer_treedef, inner_treedef = tree_structure(outer), tree_structure(inner)
    composed = outer_treedef.compose(inner_treedef)
    tree = tree_unflatten(composed, range(composed.num_leaves))
    transposed = tree_transpose(outer_treedef, inner_treedef, tree)
    if composed.num_leaves:
        assert tree_transpose(inner_treedef, outer_treedef, transposed) == tree


@given(trees, trees)
def test_a_prefix_becomes_the_full_tree(prefix, inner):
    full = tree_map(lambda _: inner, prefix)
    repeated = [x for x in tree_leaves(prefix) for _ in tree_leaves(inner)]
    assert tree_broadcast(prefix, full) == tree_unflatten(tree_structure(full), repeated)


@given(st.lists(trees, max_size=3))
def test_a_structure_is_the_tuple_of_its_children(items):
    treedefs = [tree_structure(item) for item in items]
    assert treedef_tuple(treedefs) == tree_structure(tuple(items))
    assert tree_structure(tuple(items)).children() == treedefs


@given(trees)
def test_nodes_are_counted(tree):
    treedef = tree_structure(tree)
    assert treedef.num_nodes == 1 + sum(child.num_nodes for child in treedef.children())
    assert treedef.num_leaves == 1 or treedef.node_data() is not None


@given(trees, trees)
def test_composition_puts_one_structure_at_the_leaves_of_another(outer, inner):
    composed = tree_map(lambda _: inner, outer)
    assert tree_structure(outer).compose(tree_structure(inner)) == tree_structure(composed)


def test_dicts_that_keep_their_order_or_have_defaults_are_nodes():
    assert tree_leaves(OrderedDict(b=1, a=2)) == [1, 2]
    assert tree_map(str, defaultdict(list, b=1, a=2))["new"] == []
    with pytest.raises(ValueError, match=r"at rest\[0\]: expected OrderedDict of 2 with aux data"):
        tree_map(operator.add, OrderedDict(a=1, b=2), OrderedDict(b=1, a=2))
    with pytest.raises(ValueError, match=r"\(<class 'list'>, \('a',\)\), found defaultdict of 1"):
        tree_map(operator.add, defaultdict(list, a=1), defaultdict(int, a=1))


def test_a_class_that_checks_its_children_has_paths_of_indices_in_messages():
    """Its keys are unknown where there is only a structure: no example of it can be made."""

    class Positive:
        def __init__(self, x):
            if not x > 0:
                raise ValueError
            self.x = x

    register_pytree_with_keys(
        Positive, lambda node: ([(GetAttrKey("x"), node.x)], None), lambda _, xs: Positive(*xs)
    )
    assert keystr(tree_leaves_with_path(Positive(1))[0][0]) == ".x"
    structure = tree_structure([(0,)])
    assert explain_mismatch(structure, [(Positive(1),)]).startswith("at [0][0]: expected a leaf")
    with_list = tree_structure(Positive(1)).compose(structure)
    assert explain_mismatch(with_list, tree_structure(Positive(1))).startswith(
        "at [<flat index 0>]"
    )


def test_folds():
    assert tree_all([])
    assert tree_all({"a": 1, "b": [True]})
    assert not tree_all([1, 0])
    assert tree_reduce(operator.add, ["a", {"x": "b"}]) == "ab"
    assert tree_reduce(operator.add, [], 5) == 5
    assert all_leaves((1, "a"))
    assert not all_leaves([1, []])
    assert all_leaves([1, []], is_leaf=lambda x: x == [])
    mapped = tree_map_with_path(lambda path, a, b: (keystr(path), a, b), [1], [2])
    assert mapped == [("[0]", 1, 2)]


def test_dataclass_fields_by_name_and_dropped():
    @partial(register_dataclass, data_fields=["x"], meta_fields=["name"], drop_fields=["cache"])
    @dataclass
    class State:
        x: Any
        name: str
        cache: Any = None

    leaves, treedef = tree_flatten(State(1, "s", cache="big"))
    assert leaves == [1]
    assert tree_unflatten(treedef, [2]) == State(2, "s", None)
    assert keystr(tree_leaves_with_path(State(1, "s"))[0][0]) == ".x"


def test_functions_with_and_without_keys():
    class Box:
        def __init__(self, content):
            self.content = content

    def flatten_with_keys(box):
        return [(GetAttrKey("content"), box.content)], None

    register_pytree_with_keys(Box, flatten_with_keys, lambda _, children: Box(*children))
    assert tree_leaves([Box((1, 2))]) == [1, 2]
    assert keystr(tree_leaves_with_path([Box((1, 2))])[1][0]) == "[0].content[1]"


@for_each(
    ("call", "error", "message"),
    [
        (
            lambda: tree_reduce(operator.add, []),
            TypeError,
            "tree_reduce: the tree has no leaves; give an initializer",
        ),
        (
            lambda: tree_transpose(tree_structure([0]), tree_structure({"a": 0}), [{"b": 1}]),
            TypeError,
            "tree_transpose: at pytree_to_transpose[0]: expected dict of 1 with aux data ('a',)",
        ),
        (
            lambda: tree_transpose(tree_structure([]), None, []),
            TypeError,
            "tree_transpose: the outer structure has no leaves to take the inner structure from; "
            "give inner_treedef",
        ),
        (
            lambda: register_static(list),
            ValueError,
            "<class 'list'> is already registered as a tree node",
        ),
        (
            lambda: glassjax.tree_util.register_pytree_node(7, tuple, tuple),
            TypeError,
            "only a class can be registered as a tree node, got 7",
        ),
        (
            lambda: register_dataclass(Late, data_fields=["x"]),
            TypeError,
            "register_dataclass: give both data_fields and meta_fields, or neither",
        ),
        (
            lambda: register_dataclass(Plain),
            TypeError,
            f"register_dataclass: {Plain!r} is not a dataclass, so data_fields and meta_fields "
            "must say what its fields are",
        ),
        (
            lambda: register_dataclass(Late, data_fields=[], meta_fields=[]),
            ValueError,
            f"register_dataclass: {Late!r} has the fields ['x'], which are named neither in "
            "data_fields nor in meta_fields; name them there or in drop_fields",
        ),
        (
            lambda: register_dataclass(Late),
            ValueError,
            f"register_dataclass: the constructor of {Late!r} does not take the fields ['y']; "
            "name them in drop_fields if they are fields with init=False",
        ),
    ],
)
def test_bad_calls_say_what_where_and_the_way_out(call, error, message):
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value).startswith(message)


def scale(factor, x):
    return factor * x


def test_a_partial_is_a_tree_of_its_arguments():
    partial = Partial(scale, 3.0)
    assert tree_leaves(partial) == [3.0]
    assert tree_structure(partial) == tree_structure(Partial(scale, 4.0))
    assert tree_structure(partial) != tree_structure(Partial(operator.mul, 3.0))
    assert glassjax.jit(lambda f, x: f(x))(partial, 2.0) == 6.0
    gradient = glassjax.grad(lambda f: f(5.0))(partial)
    assert isinstance(gradient, Partial)
    assert gradient.args[0] == 5.0
    assert glassjax.vmap(lambda f: f(2.0))(Partial(scale, jnp.arange(3.0))).tolist() == [0, 2, 4]


def test_structures_are_looked_into():
    structure = tree_structure((1, {"a": 2}))
    assert not treedef_is_leaf(structure)
    assert treedef_children(structure) == [tree_structure(1), tree_structure({"a": 2})]
    assert treedef_is_leaf(tree_structure(1))


@for_each("count", range(1, 10))
def test_leaves_are_combined_in_order(count):
    leaves = [chr(ord("a") + i) for i in range(count)]
    assert tree_reduce_associative(operator.add, {"x": leaves}) == "".join(leaves)


def test_nothing_to_combine_needs_an_identity():
    assert tree_reduce_associative(operator.add, [], identity=7) == 7
    with pytest.raises(TypeError, match="the tree has no leaves; give an identity"):
        tree_reduce_associative(operator.add, [])
