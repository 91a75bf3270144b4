"""`tree` and `tree_util`: leaves, structures, key paths and errors, beside JAX."""

import collections
import dataclasses
import functools
import operator

import jax
import jax.tree_util
import numpy as np
import pytest
from libraries import refused, result_of

import glassjax
import glassjax.tree_util


class Pair:
    def __init__(self, first, second):
        self.first, self.second = first, second

    def __repr__(self):
        return f"Pair({self.first!r}, {self.second!r})"

    def __eq__(self, other):
        return (self.first, self.second) == (other.first, other.second)

    __hash__ = None


class Keyed(Pair):
    pass


class WithKeys(Pair):
    """Registered by `register_pytree_node`, with a function that gives keys."""


class Decorated(Pair):
    def tree_flatten(self):
        return (self.first,), self.second

    @classmethod
    def tree_unflatten(cls, second, children):
        return cls(*children, second)


class OfOurKeys(Decorated):
    def tree_flatten_with_keys(self):
        return (("any key", self.first),), self.second


@dataclasses.dataclass
class Model:
    weights: object
    bias: object = None
    name: str = dataclasses.field(default="model", metadata={"static": True})


@dataclasses.dataclass
class Layer:
    kernel: object
    activation: str
    cache: object = dataclasses.field(default=7, init=False)


@dataclasses.dataclass(frozen=True)
class Config:
    width: int


Point = collections.namedtuple("Point", ["x", "y"])


def of_pair(pair):
    return (pair.first, pair.second), None


def to_pair(_, children):
    return Pair(*children)


for lib in (glassjax, jax):
    util = lib.tree_util
    util.register_pytree_node(Pair, of_pair, to_pair)
    util.register_pytree_with_keys(
        Keyed,
        lambda node, util=util: (
            ((util.GetAttrKey("first"), node.first), (util.DictKey("second"), node.second)),
            None,
        ),
        lambda _, children: Keyed(*children),
    )
    util.register_pytree_node(
        WithKeys,
        of_pair,
        lambda _, children: WithKeys(*children),
        lambda node, util=util: (
            ((util.SequenceKey(0), node.first), (util.FlattenedIndexKey(3), node.second)),
            None,
        ),
    )
    util.register_pytree_node_class(Decorated)
    util.register_pytree_with_keys_class(OfOurKeys)
    util.register_dataclass(Model)
    util.register_dataclass(
        Layer, data_fields=["kernel"], meta_fields=["activation"], drop_fields=["cache"]
    )
    util.register_static(Config)

TREES = {
    "a leaf": 1,
    "None": None,
    "nothing": (),
    "list": [1, [2, (3,)], []],
    "dict": {"b": 1, "a": {"d": 2, "c": 4}},
    "numbers as keys": {2: "x", 1: "y"},
    "ordered": collections.OrderedDict([("b", 1), ("a", 2)]),
    "default": collections.defaultdict(list, {"b": 1, "a": [2]}),
    "namedtuple": Point(1, {"a": Point(2, None)}),
    "None inside": [None, (1, None), {"a": None}],
    "pair": Pair(1, [2, Pair(3, 4)]),
    "keyed": {"k": Keyed(1, (2, 3))},
    "with keys": [WithKeys(1, 2)],
    "decorated": Decorated([1, 2], "aux"),
    "keys of any type": (OfOurKeys({"a": 1}, "aux"),),
    "dataclass": {"m": Model([1, 2], (3,), "other")},
    "fields by name": Layer({"w": 1}, "relu"),
    "static": (Config(3), 1),
    "partial": functools.partial(operator.add, 1),
    "strings": ["a", b"b", {"c"}, 1.5],
    "arrays": (np.float32(2), np.arange(2).tolist()),
    "characters": {"it's": 1, 'say "so"': 2, "a b": (3,)},
}


def plain(util, x):
    """A result as objects that compare: structures and keys as text."""
    if isinstance(x, Exception):
        return x
    if isinstance(x, util.PyTreeDef):
        return str(x)
    if isinstance(x, util.SequenceKey | util.DictKey | util.GetAttrKey | util.FlattenedIndexKey):
        return type(x).__name__, str(x), util.keystr((x,), simple=True)
    if type(x) in (list, tuple):
        return type(x)(plain(util, item) for item in x)
    if isinstance(x, Layer):
        return "Layer", x.kernel, x.activation, x.cache
    return x


def compare(program):
    """Runs a program of a library with either, and compares what can be compared as objects."""
    ours = plain(glassjax.tree_util, result_of(lambda n, lib: program(lib), None, glassjax))
    theirs = plain(jax.tree_util, result_of(lambda n, lib: program(lib), None, jax))
    assert isinstance(theirs, Exception) == hasattr(program, "is_refused"), theirs
    if isinstance(theirs, Exception):
        related = isinstance(ours, type(theirs)) or isinstance(theirs, type(ours))
        assert isinstance(ours, Exception), (ours, theirs)
        assert related, (ours, theirs)
        return
    assert type(ours) is type(theirs)
    assert ours == theirs


def compare_all(program):
    """The same for each of the trees; all that differ are listed."""
    wrong = []
    for name, tree in TREES.items():
        try:
            compare(lambda lib, tree=tree: program(lib, tree))
        except AssertionError as error:
            wrong.append(f"{name}: {error}")
    assert not wrong, "\n".join(wrong)


def test_trees_come_apart_and_together():
    def program(lib, tree):
        leaves, structure = lib.tree.flatten(tree)
        util = lib.tree_util
        return [
            leaves,
            structure,
            structure.num_leaves,
            structure.num_nodes,
            util.treedef_children(structure),
            util.treedef_is_leaf(structure),
            lib.tree.unflatten(structure, [10 * i for i in range(len(leaves))]),
            lib.tree.leaves(tree, is_leaf=lambda x: x is None),
            lib.tree.structure(tree, is_leaf=lambda x: isinstance(x, list)),
            lib.tree.map(lambda x: (x,), tree),
            lib.tree.map(lambda x, y: [x, y], tree, tree),
            lib.tree.map(str, tree, is_leaf=lambda x: x is None),
            lib.tree.all(tree),
            lib.tree.reduce(lambda total, x: [total, x], tree, "first"),
            lib.tree.broadcast(3, tree),
            lib.tree.broadcast(tree, tree),
            util.treedef_tuple([structure, structure]),
            structure == lib.tree.structure(lib.tree.map(lambda x: 0, tree)),
            hash(structure) == hash(lib.tree.structure(tree)),
            util.tree_leaves(tree) == lib.tree.leaves(tree),
        ]

    compare_all(program)


def test_paths_to_leaves():
    def program(lib, tree):
        util = lib.tree_util
        pairs, structure = lib.tree.flatten_with_path(tree)
        below = lib.tree.leaves_with_path(tree, is_leaf=lambda x: x is None)
        return [
            pairs,
            structure,
            below,
            [util.keystr(path) for path, _ in pairs],
            [util.keystr(path, simple=True, separator="/") for path, _ in pairs],
            [util.keystr(path, separator="|") for path, _ in below],
            lib.tree.map_with_path(lambda path, x: (util.keystr(path), x), tree),
            lib.tree.map_with_path(
                lambda path, x, y: (len(path), x, y), tree, tree, is_leaf=lambda x: x is None
            ),
            util.tree_map_with_path(lambda path, x: 0, tree),
            util.tree_leaves_with_path(tree) == pairs,
        ]

    compare_all(program)


def test_keys():
    def program(lib):
        util = lib.tree_util
        keys = [
            util.DictKey("a"),
            util.DictKey(3),
            util.SequenceKey(2),
            util.GetAttrKey("name"),
            util.FlattenedIndexKey(1),
        ]
        return [
            keys,
            util.keystr(tuple(keys)),
            util.keystr(()),
            util.keystr((), simple=True, separator="."),
            util.keystr(tuple(keys), simple=True, separator="."),
            keys[0] == util.DictKey("a"),
            keys[0] == util.GetAttrKey("a"),
            hash(keys[1]) == hash(util.DictKey(3)),
            [keys[0].key, keys[2].idx, keys[3].name, keys[4].key],
        ]

    compare(program)


def test_reductions_of_leaves():
    for program in [
        lambda lib: lib.tree.reduce(operator.sub, [1, (2, 3), None]),
        refused(lambda lib: lib.tree.reduce(operator.add, [1, None], is_leaf=lambda x: x is None)),
        refused(lambda lib: lib.tree.reduce(operator.add, [])),
        lambda lib: lib.tree.reduce(operator.add, [], 4),
        lambda lib: lib.tree.reduce(operator.add, [None, [1]], [], is_leaf=lambda x: x == [1]),
        lambda lib: lib.tree.reduce_associative(operator.add, ["a", ("b", "c"), "d", "e"]),
        lambda lib: lib.tree.reduce_associative(operator.add, ["a"], identity="x"),
        lambda lib: lib.tree.reduce_associative(operator.add, [], identity="x"),
        refused(lambda lib: lib.tree.reduce_associative(operator.add, [])),
        lambda lib: lib.tree.reduce_associative(
            operator.add, [[1], [2]], is_leaf=lambda x: isinstance(x, list) and len(x) == 1
        ),
        lambda lib: lib.tree_util.all_leaves([1, "a", 2.0]),
        lambda lib: lib.tree_util.all_leaves([1, ()]),
        lambda lib: lib.tree_util.all_leaves([None]),
        lambda lib: lib.tree_util.all_leaves([]),
        lambda lib: lib.tree_util.all_leaves([None, [1]], is_leaf=lambda x: x is None),
        lambda lib: lib.tree_util.all_leaves([None, 1], is_leaf=lambda x: x is None),
        lambda lib: lib.tree.all({"a": True, "b": (1, None)}),
        lambda lib: lib.tree.all([0, 1]),
    ]:
        compare(program)


def test_trees_of_trees():
    for program in [
        lambda lib: lib.tree.transpose(
            lib.tree.structure([0, 0]), lib.tree.structure({"a": 0, "b": 0}),
            [{"a": 1, "b": 2}, {"a": 3, "b": 4}],
        ),
        lambda lib: lib.tree.transpose(lib.tree.structure([0, 0]), None, [(1, 2), (3, 4)]),
        refused(lambda lib: lib.tree.transpose(
            lib.tree.structure([0, 0]), lib.tree.structure((0, 0)), [(1, 2), 3]
        )),
        lambda lib: lib.tree_util.treedef_tuple([]),
        lambda lib: lib.tree.broadcast((1, 2), ([0, 0], {"a": 0, "b": None})),
        lambda lib: lib.tree.broadcast(
            (None, 2), ([0, 0], {"a": 0}), is_leaf=lambda x: x is None
        ),
        lambda lib: lib.tree.broadcast({"a": [1, 2]}, {"a": [(0, 0), 0]}),
        lambda lib: lib.tree.unflatten(lib.tree.structure([0, (0, 0)]), iter("abc")),
        lambda lib: lib.tree_util.Partial(operator.add, 1, x=2).keywords,
        lambda lib: lib.tree.leaves(lib.tree_util.Partial(operator.add, 1, x=[2])),
        lambda lib: [
            lib.tree_util.keystr(path)
            for path, _ in lib.tree.leaves_with_path(lib.tree_util.Partial(max, 1, x=[2]))
        ],
        lambda lib: lib.tree_util.Partial(lib.tree_util.Partial(operator.sub, 5), 3)(),
        lambda lib: lib.jit(lambda m: Model([m.weights[0] * 2], None, m.name))(
            Model([3], None, "n")
        ).name,
        lambda lib: lib.jit(lambda c, x: x * c.width)(Config(3), 2).item(),
        lambda lib: lib.grad(lambda p: p.first * p.second)(Pair(2.0, 3.0)).first.item(),
        lambda lib: lib.vmap(lambda m: Point(m.y, m.x))(Point(np.arange(2), np.ones(2))).x.tolist(),
    ]:  # fmt: skip
        compare(program)


class Twice:
    pass


# What is refused, and what the message has to name beside JAX's class of error.
WRONG = {
    "another length": (lambda lib: lib.tree.map(max, [1, (2, 3)], [1, (2, 3, 4)]), r"\[1\]"),
    "another key": (lambda lib: lib.tree.map(max, {"k": {"a": 1}}, {"k": {"b": 1}}), r"\['k'\]"),
    "another type": (lambda lib: lib.tree.map(max, {"k": [1]}, {"k": (1,)}), r"\['k'\]"),
    "a leaf for a node": (lambda lib: lib.tree.map(max, [0, [1]], [0, 1]), r"\[1\]"),
    "None for a node": (lambda lib: lib.tree.map(max, [0, [1]], [0, None]), r"\[1\]"),
    "a leaf for None": (lambda lib: lib.tree.map(max, [0, None], [0, 1]), r"\[1\]"),
    "another aux": (
        lambda lib: lib.tree.map(max, [Decorated(1, "a")], [Decorated(1, "b")]),
        r"\[0\]",
    ),
    "another static": (lambda lib: lib.tree.map(max, [Config(1)], [Config(2)]), r"\[0\]"),
    "another field": (
        lambda lib: lib.tree.map(max, {"m": Model([1])}, {"m": Model([1, 2])}),
        r"\['m'\]\.weights",
    ),
    "with paths": (
        lambda lib: lib.tree.map_with_path(lambda p, x, y: x, {"k": [1]}, {"k": [1, 2]}),
        r"\['k'\]",
    ),
    "no prefix": (lambda lib: lib.tree.broadcast([1, (2, 3)], [1, (2, 3, 4)]), r"\[1\]"),
    "no prefix of a leaf": (lambda lib: lib.tree.broadcast({"a": [1]}, {"a": 2}), r"\['a'\]"),
    "too few leaves": (lambda lib: lib.tree.unflatten(lib.tree.structure([0, 0]), [1]), "2"),
    "too many leaves": (lambda lib: lib.tree.unflatten(lib.tree.structure([0]), [1, 2]), "1"),
    "keys of many types": (lambda lib: lib.tree.flatten({"w": {"a": 1, 2: 3}}), "sort"),
    "registered twice": (
        lambda lib: lib.tree_util.register_pytree_node(Pair, of_pair, to_pair), "Pair",
    ),
    "a builtin": (lambda lib: lib.tree_util.register_pytree_node(list, of_pair, to_pair), "list"),
    "a dataclass without a field": (
        lambda lib: lib.tree_util.register_dataclass(
            dataclasses.make_dataclass("D", ["a", "b"]), data_fields=["a"], meta_fields=[]
        ),
        "b",
    ),
    "a dataclass with another field": (
        lambda lib: lib.tree_util.register_dataclass(
            dataclasses.make_dataclass("D", ["a"]), data_fields=["a", "b"], meta_fields=[]
        ),
        "b",
    ),
    "one kind of fields": (
        lambda lib: lib.tree_util.register_dataclass(
            dataclasses.make_dataclass("D", ["a"]), data_fields=["a"]
        ),
        "fields",
    ),
    "no dataclass": (lambda lib: lib.tree_util.register_dataclass(Twice), "fields"),
    "not transposed": (
        lambda lib: lib.tree.transpose(
            lib.tree.structure([0, 0]), lib.tree.structure((0, 0)), [(1, 2), (3, 4, 5)]
        ),
        r"\[1\]",
    ),
}  # fmt: skip


def test_what_is_refused():
    for name, (program, named) in WRONG.items():
        compare(refused(program))
        with pytest.raises(Exception, match=named):
            pytest.fail(f"{name}: {program(glassjax)}")


def test_fields_that_belong_to_the_structure():
    def of(lib):
        @lib.tree_util.register_dataclass
        @dataclasses.dataclass
        class Layer:
            weight: float
            name: str = lib.tree.static(default="dense", metadata={"unit": "m"})

        layer = lib.tree.map(lambda x: 2 * x, Layer(3.0, "conv"))
        metadata = dataclasses.fields(Layer)[1].metadata
        return layer.weight, layer.name, Layer(1.0).name, dict(metadata), lib.tree.leaves(layer)

    assert of(glassjax) == of(jax)


def test_a_partial_of_a_partial_has_the_outer_arguments_as_leaves():
    for lib in (glassjax, jax):
        partial = lib.tree_util.Partial(functools.partial(max, 5.0), 2.0)
        assert lib.tree.leaves(partial) == [2.0]
        assert partial(3.0) == 5.0
        assert float(lib.jit(lambda f: f.args[0])(partial)) == 2.0


def walked(lib, tree):
    leaves, structure = lib.tree.flatten(tree)
    return structure.walk(lambda children, data: ("node", children, data), str, leaves)


def written(lib, tree):
    structure = lib.tree.structure(tree)
    data = structure.serialize_using_proto()
    registry = lib.tree_util.default_registry
    assert type(structure).deserialize_using_proto(registry, data) == structure
    return data


def one_level(lib, tree):
    registry = lib.tree_util.default_registry
    return lib.tree_util.flatten_one_level(tree), registry.flatten_one_level(tree)


def with_paths(lib, tree):
    pairs, _ = lib.tree_util.default_registry.flatten_with_path(tree)
    return [([(type(key).__name__, str(key)) for key in path], leaf) for path, leaf in pairs]


ORDERED = collections.OrderedDict(b=1, a=(2,))


@pytest.mark.parametrize("call", [walked, written, one_level, with_paths])
def test_structures_are_walked_written_and_opened(call):
    trees = [{"b": (1, 2), "a": [3, None]}, (1,), [1, (2,)], None]
    if call is not written:  # which is for containers of Python only
        trees += [ORDERED, Point(1, 2), Pair(1, [2]), Decorated(1, 2), Config(3)]
    for tree in trees:
        assert call(glassjax, tree) == call(jax, tree)
    for lib in (glassjax, jax):
        with pytest.raises(ValueError, match=r"User-defined nodes|Only string keys"):
            written(lib, {1: 2})
        with pytest.raises(ValueError, match=r"Too few leaves|expected 2 leaves"):
            lib.tree.structure((1, 2)).walk(lambda xs, data: xs, str, [1])


def test_flattening_that_gives_no_pair_is_an_error(lib):
    for result in (5, (1, 2, 3), (5, None), [(), None]):
        node = type("Node", (), {})
        lib.tree_util.register_pytree_node(node, lambda _, found=result: found, lambda *_: None)
        for call in (lib.tree.leaves, lib.jit(lambda x: 1)):
            with pytest.raises(ValueError, match=r"Node must return a pair|custom PyTree node"):
                call(node())


def test_fields_are_data_or_meta(lib):
    with pytest.raises(ValueError, match="'bias'"):
        lib.tree_util.register_dataclass(
            dataclasses.make_dataclass("Both", ["weights", "bias"]), ["weights", "bias"], ["bias"]
        )
