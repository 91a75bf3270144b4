"""Calls of jitted functions: the first of a signature and later ones agree.

All of this is so with compiled calls and without; `./noxw -s tests-calls` tries both.
"""

import gc
import importlib.metadata
import itertools
import os
import pickle
import re
import sys
import threading
import weakref
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rows import for_each

import glassjax
from glassjax import jit, tree, xla
from glassjax import numpy as jnp
from glassjax.runtime import compiled_calls, program
from glassjax.settings.config import Switch
from glassjax.sharding import NamedSharding
from glassjax.sharding import PartitionSpec as P
from glassjax_stage2 import tree as stage2_tree


@pytest.fixture(autouse=True)
def as_if_no_switch_had_been_on(monkeypatch):
    monkeypatch.setattr(Switch, "used", False)


class Point(NamedTuple):
    x: object
    y: object


@glassjax.tree_util.register_dataclass
@dataclass
class State:
    weights: object
    step: object


class Tagged:
    """A node whose data is whatever it was made with."""

    def __init__(self, child, tag):
        self.child, self.tag = child, tag


class Unhashed:
    __hash__ = None


glassjax.tree_util.register_pytree_node(
    Tagged, lambda node: ((node.child,), node.tag), lambda tag, children: Tagged(*children, tag)
)


def test_calls_are_compiled_where_that_is_asked_for():
    asked = os.environ.get("GLASSJAX_COMPILED")
    assert asked != "0" or program.compiled is None
    assert asked != "required" or program.compiled is not None, compiled_calls.state


def extension_module(**attributes):
    """What `import _glassjax_calls` gives."""
    return SimpleNamespace(built_from=compiled_calls.checksum(), **attributes)


@pytest.mark.parametrize(
    ("found", "state"),
    [
        (extension_module(), "used"),
        (None, r"not installed, pip install 'glassjax\[compiled\]' does so: .*_glassjax_calls.*"),
        (
            SimpleNamespace(built_from=0),
            "not used: glassjax-compiled 0.9 was built for another glassjax than this, 1.0; "
            "pip install glassjax-compiled==1.0",
        ),
    ],
    ids=["there", "absent", "another version"],
)
def test_a_module_that_does_not_fit_is_not_used_which_is_told(monkeypatch, found, state):
    versions = {"glassjax": "1.0", "glassjax-compiled": "0.9"}
    monkeypatch.setattr(importlib.metadata, "version", versions.__getitem__)
    monkeypatch.delenv("GLASSJAX_COMPILED", raising=False)
    monkeypatch.setitem(sys.modules, "_glassjax_calls", found)
    module, said = compiled_calls.find()
    assert re.fullmatch(state, said)
    assert module is (found if state == "used" else None)


def leaves():
    numbers = st.integers(-9, 9).map(float)
    return st.one_of(
        numbers,
        st.integers(-9, 9),
        st.booleans(),
        numbers.map(np.float32),
        st.lists(numbers, min_size=1, max_size=3).map(lambda x: np.array(x, np.float32)),
        st.lists(numbers, min_size=1, max_size=3).map(lambda x: jnp.array(x, jnp.float32)),
        st.integers(0, 9).map(lambda x: jnp.array(x, jnp.int8)),
    )


def nodes(children):
    return st.one_of(
        st.lists(children, max_size=3),
        st.lists(children, max_size=3).map(tuple),
        st.dictionaries(st.sampled_from("zyxa"), children, max_size=3),
        st.dictionaries(st.sampled_from("zyxa"), children, max_size=3).map(OrderedDict),
        st.tuples(children, children).map(lambda pair: Point(*pair)),
        st.tuples(children, children).map(lambda pair: State(*pair)),
        st.none(),
    )


trees = st.recursive(leaves(), nodes, max_leaves=8)


def other_numbers(x):
    """A leaf of the same type."""
    if type(x) is bool:
        return not x
    return x * 2 if isinstance(x, np.ndarray | glassjax.Array) else x + type(x)(1)


def expected(x):
    return np.asarray(x) * np.asarray(3, np.asarray(x).dtype)


def assert_same(found, wanted):
    assert tree.structure(found) == tree.structure(wanted)
    for a, b in zip(tree.leaves(found), tree.leaves(wanted), strict=True):
        np.testing.assert_array_equal(np.asarray(a), b)


@settings(deadline=None, max_examples=20)  # each compiles programs
@given(st.lists(trees, max_size=3), st.dictionaries(st.sampled_from("cb"), trees, max_size=2))
def test_every_call_gives_what_the_first_gives(args, kwargs):
    """Whatever the arguments are, and whichever numbers they have."""

    @jit
    def triple(*args, **kwargs):
        return tree.map(lambda x: x * jnp.asarray(3, x.dtype), (args, kwargs))

    for _ in range(3):
        found = triple(*args, **kwargs)
        wanted = tree.map(lambda x: expected(glassjax.numpy.asarray(x)), (tuple(args), kwargs))
        assert_same(found, wanted)
        args, kwargs = tree.map(other_numbers, (args, kwargs))
    assert triple._cache_size() == 1


def test_items_of_a_dict_are_told_apart_in_any_order():
    difference = jit(lambda z, **more: z["a"] - z["b"] + more["c"] * more["d"])
    one, two, four = map(jnp.float32, (1, 2, 4))
    for _ in range(2):
        assert difference({"a": one, "b": two}, c=four, d=two) == 7
        assert difference({"b": two, "a": one}, d=two, c=four) == 7
        assert difference({"b": one, "a": two}, d=four, c=one) == 5
        assert difference({"b": one, "a": one}, d=four, c=four) == 16
    assert difference._cache_size() == 1


@for_each("on_device", [True, False])
def test_what_is_equal_need_not_be_the_same(on_device):
    x = np.float32(2)
    x = jnp.asarray(x) if on_device else x
    type_of = jit(lambda x, n: (x, str(type(n)))[0] * n, static_argnums=1)
    negative = jit(lambda x, y: jnp.signbit(y) | jnp.signbit(x))
    for _ in range(2):
        assert type_of(x, 1).dtype == type_of(x, True).dtype == jnp.float32
        assert type_of(x, 1.0) == 2
        assert type_of._cache_size() == 3
        assert not negative(x, 0.0)
        assert negative(x, -0.0)


class Color(Enum):
    RED = 1
    BLUE = 2


static_values = st.recursive(
    st.one_of(
        st.sampled_from(
            [0, 0.0, -0.0, False, 1, 1.0, True, None, "1", b"1", Color.RED, Color.BLUE]
        ),
        st.sampled_from([np.dtype("int8"), np.dtype("float32"), np.float32, np.sin, jnp.sin]),
    ),
    lambda items: st.one_of(
        st.lists(items, max_size=2).map(tuple),
        st.frozensets(items, max_size=2),
        st.tuples(items, items).map(lambda pair: Point(*pair)),
    ),
    max_leaves=4,
)


@settings(deadline=None, max_examples=20)  # each compiles programs
@given(st.lists(static_values, min_size=1, max_size=4))
def test_each_static_value_has_its_program(values):
    """Also those that are equal to others, as 1 is to True and to 1.0."""
    traced = []

    def number_of_trace(x, value):
        traced.append(value)
        return x + len(traced) - 1

    f = jit(number_of_trace, static_argnums=1)
    for _ in range(3):
        for value in values:
            found = traced[int(f(0, value))]
            assert type(found) is type(value)
            assert found == value
            if not isinstance(value, frozenset):  # whose items have no order
                assert repr(found) == repr(value)


def test_static_values_without_a_hash_are_refused_each_time():
    f = jit(lambda x, value: x, static_argnums=1)
    f(1, 1)
    for _ in range(2):
        for value in ([1], (1, [2]), Unhashed()):
            with pytest.raises(ValueError, match="not hashable"):
                f(1, value)


def test_static_values_are_part_of_a_call():
    power = jit(lambda x, n, *, sign: sign * x**n, static_argnums=1, static_argnames="sign")
    x = jnp.arange(3.0)
    for _ in range(2):
        for n in (2, 3):
            for sign in (-1, 1):
                np.testing.assert_allclose(power(x, n, sign=sign), sign * np.arange(3.0) ** n)
    last = jit(lambda x, n: x * n, static_argnums=-1)
    for _ in range(2):
        assert last(x, 2).tolist() == [0, 2, 4]
        assert last(x, 3).tolist() == [0, 3, 6]


def test_arguments_of_operations_that_are_arrays_and_static():
    """An axis that is an array is a part of the program like any other axis."""
    x = jnp.arange(6.0).reshape(2, 3)
    for _ in range(2):
        for axis in (0, 1):
            wanted = np.asarray(x).sum(axis)
            np.testing.assert_array_equal(jnp.sum(x, axis=jnp.array(axis)), wanted)
            np.testing.assert_array_equal(jnp.sum(x, axis), wanted)
    for _ in range(2):
        with pytest.raises(TypeError, match="expected an array"):
            jnp.sum([x, x])


def test_deleted_and_donated_arrays_are_refused_each_time():
    x, kept = jnp.arange(3.0), jnp.ones(3)
    add = jit(lambda d: d["x"] + d["y"])
    add({"x": x, "y": kept})
    add({"x": x, "y": kept})
    x.delete()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="was deleted"):
            add({"x": x, "y": kept})
    donating = jit(lambda x: x + 1, donate_argnums=0)
    for _ in range(2):
        y = jnp.arange(4.0)
        assert donating(y).tolist() == [1, 2, 3, 4]
        assert y.is_deleted()
        with pytest.raises(RuntimeError, match="donated"):
            add({"x": y, "y": y})


def test_donated_trees_are_taken_over_at_each_call():
    """But for those that a numpy array views, of which XLA makes a copy."""
    step = jit(lambda s, x, n: {k: v * n + x for k, v in s.items()}, donate_argnums=0)
    x, numbers = jnp.arange(4.0), np.arange(4.0)
    for n in (2, 2.0, jnp.full((), 2.0), 2):
        state = {"w": x + 1, "b": x + 2}  # not in the order of the program's arguments
        for _ in range(3):
            given, state = state, step(state, x, n)
            assert all(v.is_deleted() for v in given.values())
            with pytest.raises(RuntimeError, match=r"donated to `<lambda>` at .*test_calls\.py"):
                step(given, x, n)
        for first, v in ((1, state["w"]), (2, state["b"])):
            assert v.tolist() == (8 * (numbers + first) + 7 * numbers).tolist()
        viewed = {"w": x + 1, "b": x + 2}
        views = {k: np.asarray(v) for k, v in viewed.items()}
        assert step(viewed, x, n)["w"].tolist() == (2 * (numbers + 1) + numbers).tolist()
        assert {k: v.tolist() for k, v in views.items()} == {"w": [1, 2, 3, 4], "b": [2, 3, 4, 5]}
    assert not x.is_deleted()


def test_what_cannot_be_donated_is_refused_or_copied_at_each_call():
    constant = jnp.arange(3.0)
    add = jit(lambda x, y: x + y, donate_argnums=0)
    closing = jit(lambda x: x + constant, donate_argnums=0)
    negative = jit(lambda x: -x, donate_argnums=0)
    given = np.arange(3.0, dtype=np.float32)
    for _ in range(3):
        x = constant + 1
        with pytest.raises(ValueError, match=r"argument x, which is donated: the same array is"):
            add(x, x)
        assert add(x, 1.0).tolist() == [2, 3, 4]
        assert closing(constant + 1).tolist() == [1, 3, 5]
        with pytest.raises(ValueError, match=r"the same array is a constant"):
            closing(constant)
        assert negative(given).tolist() == [0, -1, -2]
        assert negative(2.0) == -2
    assert given.tolist() == constant.tolist() == [0, 1, 2]


@for_each("twice", [False, True])
def test_an_argument_that_is_not_used_is_donated_by_name_and_number(twice):
    for options in ({"donate_argnames": "s"}, {"donate_argnums": 1}):
        f = jit(lambda x, s: [s[1] + 1, x], **options)
        for _ in range(1 + twice):
            s, x = [jnp.ones(2), jnp.zeros(3)], jnp.ones(4)
            assert f(x, s=s)[0].tolist() == [1, 1, 1]
            assert s[1].is_deleted()
            assert not s[0].is_deleted()
            assert not x.is_deleted()


def test_errors_are_the_same_at_each_call(monkeypatch):
    monkeypatch.setattr(stage2_tree, "MAX_NODES", 1000)
    f = jit(lambda x: x)
    cyclic = []
    cyclic.append(cyclic)
    deep = 1.0
    for _ in range(200):
        deep = [deep]
    f({"a": 1.0})
    for _ in range(2):
        for bad, error in [
            ("text", TypeError), (cyclic, ValueError), ({"a": 1.0, 1: 2.0}, ValueError),
            (np.array(["text"]), TypeError), ({"a": object()}, TypeError),
        ]:  # fmt: skip
            with pytest.raises(error) as raised:
                f(bad)
            text = str(raised.value)
            with pytest.raises(error) as again:
                f(bad)
            assert str(again.value) == text
        assert tree.leaves(f(deep)) == [1.0]


def test_an_error_of_a_program_comes_from_the_users_line():
    def fail(x):
        raise ValueError("on the host")

    f = jit(lambda x: glassjax.pure_callback(fail, x, x))
    for _ in range(3):
        with pytest.raises(Exception, match="on the host") as raised:
            f(jnp.ones(2))
        files = [entry.frame.code.path for entry in raised.traceback]
        assert [str(file) for file in files] == [__file__] * len(files)


@pytest.mark.cpu_only  # a GPU is still running when the call returns
def test_a_program_that_fails_to_run_names_the_users_line():
    @jit
    def astronomical(x):
        return jnp.zeros((2**45,)) + x

    for _ in range(2):
        with pytest.raises(RuntimeError, match="emory") as raised:
            astronomical(1.0)
        files = [entry.frame.code.path for entry in raised.traceback]
        assert [str(file) for file in files] == [__file__] * len(files)
        assert f"at {__file__}:" in str(raised.value)


def test_nodes_with_data_of_any_kind():
    double = jit(lambda node: node.child * 2)
    for _ in range(2):
        for tag in ("a", "b", (1, 2)):
            assert double(Tagged(jnp.ones(()), tag)) == 2
        assert double(Tagged(jnp.ones(()), Unhashed())) == 2
    assert double._cache_size() >= 3


def test_classes_registered_after_the_first_call():
    pair = namedtuple("pair", "x y")
    f = jit(lambda p: p.x - p.y)
    assert f(pair(jnp.ones(()), jnp.zeros(()))) == 1
    glassjax.tree_util.register_pytree_node(
        pair, lambda p: ((p.y, p.x), None), lambda _, children: pair(children[1], children[0])
    )
    for _ in range(2):
        assert f(pair(jnp.ones(()), jnp.zeros(()))) == 1


def test_number_types_are_part_of_a_call():
    double = jit(lambda x: x * 2)
    for _ in range(2):
        for wide in (True, False):
            with glassjax.enable_x64(wide):
                assert double(np.float64(1)).dtype == (jnp.float64 if wide else jnp.float32)
                assert double(1).dtype == (jnp.int64 if wide else jnp.int32)
                assert double(2**20).dtype == (jnp.int64 if wide else jnp.int32)


def test_calls_in_transformations_are_part_of_the_program_around_them():
    inner = jit(lambda d: d["x"] * d["y"])
    x = jnp.float32(3)
    assert inner({"x": x, "y": x}) == 9
    for _ in range(2):
        assert glassjax.grad(lambda x: inner({"x": x, "y": x}))(x) == 6
        assert glassjax.vmap(lambda x: inner({"x": x, "y": 2.0}))(jnp.ones(2)).tolist() == [2, 2]
        assert inner({"x": x, "y": x}) == 9
        with glassjax.disable_jit():
            assert inner({"x": x, "y": x}) == 9


def test_cleared_caches_are_filled_again():
    f = jit(lambda x: x + 1)
    for _ in range(2):
        assert f(jnp.ones(())) == f(jnp.ones(())) == 2
        glassjax.clear_caches()
        assert f._cache_size() == 0


def test_a_function_is_freed_with_what_it_knows():
    f = jit(lambda d: d["x"] + 1)
    gone = []
    x = jnp.ones(7)
    f({"x": x})
    f({"x": x})
    weakref.finalize(f, gone.append, 1)
    weakref.finalize(x, gone.append, 2)
    del x
    gc.collect()
    assert gone == [2]
    del f
    gc.collect()
    assert gone == [2, 1]


def devices():
    """As many as this jaxlib can read arrays from."""
    return np.array(glassjax.devices()[: None if xla.can_read_all_arrays() else 1])


def placements():
    """Shardings of a matrix whose axes all devices divide."""
    meshes = [glassjax.sharding.Mesh(each, "x") for each in (devices(), devices()[::-1])]
    specs = P("x"), P(None, "x"), P()
    return [NamedSharding(mesh, spec) for mesh in meshes for spec in specs]


def matrix():
    count = len(devices())
    return np.arange(count * count, dtype=np.float32).reshape(count, count)


def test_arrays_on_several_devices_are_told_apart_by_where_they_lie():
    def mixed(args, scale=1):
        return {"sum": args["b"] + args["a"] * scale, "first": args["a"]}

    numbers, again = matrix(), jit(mixed, static_argnames="scale")
    for _ in range(2):
        for where in placements():
            args = glassjax.device_put({"b": numbers, "a": 1 + numbers}, where)
            for scale in (1, 2):
                wanted = jit(mixed, static_argnames="scale")(args, scale=scale)
                found = again(args, scale=scale)
                np.testing.assert_array_equal(found["sum"], numbers + (1 + numbers) * scale)
                np.testing.assert_array_equal(found["first"], 1 + numbers)
                for name in found:
                    assert found[name].sharding == wanted[name].sharding
                    assert found[name].committed


def test_arrays_are_brought_to_where_a_function_wants_them_each_time():
    numbers = matrix()
    for wanted in placements():
        double = jit(lambda x, y: (x * 2, y), in_shardings=wanted, out_shardings=wanted)
        plain = jit(lambda x, y: x * y)
        there = glassjax.device_put(numbers, wanted)
        for _ in range(2):
            for x in (there, numbers):
                found, kept = double(x, there)
                np.testing.assert_array_equal(found, numbers * 2)
                np.testing.assert_array_equal(kept, numbers)
                assert found.sharding == kept.sharding == wanted
            for y in (jnp.float32(3), 3.0, np.float32(3), there * 0 + 3):
                np.testing.assert_array_equal(plain(there, y), numbers * 3)
        there.delete()
        for _ in range(2):
            with pytest.raises(RuntimeError, match="was deleted"):
                double(there, there)


MEMORY = Path("/proc/self/statm")


@pytest.mark.skipif(not MEMORY.exists(), reason="the system does not say what a process holds")
@pytest.mark.parametrize(
    ("is_placed", "is_tree", "donates"),
    [  # each pair of answers by day, all three at night
        pytest.param(*each, marks=[pytest.mark.nightly] if sum(each) % 2 else [])
        for each in itertools.product([False, True], repeat=3)
    ],
)
def test_calls_leave_nothing_behind(is_placed, is_tree, donates):
    options = {"donate_argnums": 0} if donates else {}
    double = jit(lambda x: tree.map(lambda x: x * 2, x), **options)
    x = jnp.ones(3)
    if is_placed:
        x = glassjax.device_put(
            x, NamedSharding(glassjax.sharding.Mesh(devices()[:1], "x"), P("x"))
        )
    x = {"x": x} if is_tree else x

    def held_after(times):
        nonlocal x
        for _ in range(times):
            out = double(x)
            x = out if donates else x
        gc.collect()
        return int(MEMORY.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    before = held_after(3_000)
    assert held_after(12_000) - before < 2**19


def in_threads(count, call):
    """Calls a function with the number of each thread."""
    threads = [threading.Thread(target=call, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_threads_call_at_once():
    f = jit(lambda d, n: d["x"] * n + d["y"])
    x, found = jnp.arange(4.0), []

    def call(n):
        for _ in range(200):
            found.append(f({"y": x, "x": x}, n).tolist() == [(n + 1) * k for k in range(4)])

    in_threads(8, call)
    assert all(found)
    assert len(found) == 1600


def test_threads_donate_at_once():
    """One of those that donate the same array has it; the others are told that it is donated."""
    f, outcomes = jit(lambda x: x + 1, donate_argnums=0), []
    shared = [jnp.full(4, float(k)) for k in range(200)]

    def call(_):
        for k, x in enumerate(shared):
            try:
                outcomes.append(f(x).tolist() == [k + 1] * 4)
            except RuntimeError as error:
                outcomes.append("donated" in str(error))

    in_threads(4, call)
    assert all(outcomes)
    assert len(outcomes) == 800


def module_function(x):
    return x + 1


jitted_of_module = jit(module_function)


def test_jitted_functions_are_pickled_and_bound():
    copy = pickle.loads(pickle.dumps(jit(module_function)))
    assert copy(jnp.ones(())) == copy(jnp.ones(())) == 2

    class Model:
        @jit
        def double(self, x):
            return x * 2

    glassjax.tree_util.register_static(Model)
    model = Model()
    for _ in range(2):
        assert model.double(jnp.ones(())) == 2


def test_calls_of_equal_leaves_are_told_apart_by_their_structure():
    """By position or name, in whichever order names come, as trees, and as static values."""
    x, y = jnp.asarray([1.0, 2.0]), jnp.asarray([3.0, 5.0])
    same = jit(lambda *args, **kwargs: (args, kwargs))
    calls = [
        ((x, y), {}),
        ((x,), {"b": y}),
        ((), {"a": x, "b": y}),
        ((), {"b": y, "a": x}),
        (({"a": x, "b": y},), {}),
        (({"b": y, "a": x},), {}),
        (([x, y],), {}),
        (((x, y),), {}),
        (((x,), y), {}),
        (([x], [y]), {}),
        (({"a": x}, {"b": y}), {}),
        (({"a": {"b": y}}, x), {}),
        ((x, None, y), {}),
        ((x,), {"b": {"a": y}}),
    ]
    for _ in range(3):  # the way of the first call, and that of the others
        for args, kwargs in calls:
            found, expected = same(*args, **kwargs), (args, kwargs)
            assert tree.structure(found) == tree.structure(expected)
            assert tree.all(tree.map(np.array_equal, found, expected))
