"""Exported programs: results, types and disabled checks, beside JAX."""

from collections import OrderedDict, namedtuple

import jax
import jax.debug
import jax.errors
import jax.export
import jax.extend
import jax.ffi
import jax.interpreters.batching
import jax.interpreters.mlir
import jax.numpy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from libraries import LIBRARIES

import glassjax
import glassjax.ad_checkpoint
import glassjax.debug
import glassjax.export
import glassjax.extend
import glassjax.extend.core
import glassjax.interpreters.batching
import glassjax.interpreters.mlir
import glassjax.numpy

X = np.arange(3, dtype=np.float32)


def same(program):
    """Runs a program of a library and its numpy with both."""
    ours, theirs = (program(*library) for library in LIBRARIES)
    assert ours == theirs
    return ours


def test_exported_functions_compute_the_same():
    def program(lib, jnp):
        def f(params, x):
            return {"y": jnp.tanh(x @ params["w"])}

        args = {"w": np.ones((3, 2), np.float32)}, lib.ShapeDtypeStruct((3,), jnp.float32)
        exported = lib.export.export(lib.jit(f))(*args)
        exported = lib.export.deserialize(exported.serialize())
        return (
            exported.fun_name,
            exported.platforms,
            [str(aval.shape) for aval in (*exported.in_avals, *exported.out_avals)],
            np.asarray(lib.jit(lambda x: exported.call(args[0], x))(X)["y"]).tolist(),
        )

    same(program)


THREE = np.float32(3)


# Checks of exports.
@pytest.mark.newest_jax
def test_disabled_checks_of_exports(lib):
    check = lib.export.DisabledSafetyCheck
    assert [str(check.platform()), repr(check.custom_call("a"))] == ["platform", "custom_call:a"]
    assert [check.platform().is_custom_call(), check.custom_call("a").is_custom_call()] == [
        None,
        "a",
    ]
    assert check.custom_call("a") == check.custom_call("a") != check.custom_call("b")
    assert len({check.platform(), check.platform(), check.custom_call("b")}) == 2
    call = lib.ffi.ffi_call("no_function", lib.ShapeDtypeStruct((), "float32"))
    foreign = lib.jit(lambda x: lib.jit(lambda y: call(y) + 1)(x))
    with pytest.raises(ValueError, match=r"custom_call\('"):
        lib.export.export(foreign)(THREE)
    allowed = (check.custom_call("no_function"),)
    exported = lib.export.export(foreign, disabled_checks=allowed)(THREE)
    assert tuple(exported.disabled_safety_checks) == allowed
    with pytest.raises((TypeError, AttributeError)):
        lib.export.export(foreign, disabled_checks=["platform"])(THREE)
    lowest = lib.export.minimum_supported_calling_convention_version
    highest = lib.export.maximum_supported_calling_convention_version
    assert lowest <= exported.calling_convention_version <= highest == 10


def test_programs_for_another_platform_run_where_the_check_is_disabled(lib):
    check = lib.export.DisabledSafetyCheck.platform()
    double = lib.jit(lambda x: x * 2)
    with pytest.raises(ValueError, match="platform"):
        lib.export.export(double, platforms=["cuda"])(THREE).call(THREE)
    exported = lib.export.export(double, platforms=["cuda"], disabled_checks=[check])(THREE)
    assert exported.call(THREE) == 6
    loaded = lib.export.deserialize(exported.serialize(vjp_order=1))
    assert loaded.call(THREE) == 6
    assert tuple(loaded.disabled_safety_checks) == (check,)
    assert lib.grad(loaded.call)(THREE) == 2


# Files that one library writes and the other reads.

Pair = namedtuple("Pair", "first second")


class Scaled:
    def __init__(self, values, by):
        self.values, self.by = values, by


for library in (jax, glassjax):
    library.export.register_namedtuple_serialization(Pair, serialized_name="beside_jax.Pair")
    library.tree_util.register_pytree_node(
        Scaled, lambda x: ([x.values], x.by), lambda by, values: Scaled(*values, by)
    )
    library.export.register_pytree_node_serialization(
        Scaled,
        serialized_name="beside_jax.Scaled",
        serialize_auxdata=lambda by: str(by).encode(),
        deserialize_auxdata=lambda data: int(data),
    )


def key_data(lib, x):
    is_key = lib.dtypes.issubdtype(x.dtype, lib.dtypes.prng_key)
    return lib.random.key_data(x) if is_key else x


def described(aval):
    return aval.shape, (getattr(aval.dtype, "names", None) or [str(aval.dtype)])[0]


def bits(lib, tree):
    return [np.asarray(key_data(lib, x)) for x in lib.tree.leaves(tree)]


NARROW = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz", "float8_e3m4", "bfloat16"]
NUMBERS = ["bool", "int8", "uint16", "int32", "uint32", "float16", "float32", "complex64", *NARROW]

# For each a function of a library, and its arguments.
PROGRAMS = {
    "trees": lambda lib: (
        lambda t, *, k: {"b": [t["p"].first + k, None], "a": (t["s"].values * t["s"].by, ())},
        ({"p": Pair(X, 1.0), "s": Scaled(X, 3), "none": None},),
        {"k": X},
    ),
    "nodes": lambda lib: (
        lambda d: [Scaled(d["z"], 7), Pair(X, (d["a"],)), d],
        (OrderedDict(z=X, a=1.0),),
        {},
    ),
    "dtypes": lambda lib: (
        lambda xs: xs[::-1],
        ([lib.numpy.ones((2, 0), name) for name in NUMBERS] + [lib.numpy.ones(3, "bfloat16")],),
        {},
    ),
    "unused arguments": lambda lib: (lambda a, b, c: b * 2, (X, X, X), {}),
    "constants": lambda lib: (lambda x: x + np.arange(3, dtype=np.float32) / 7, (X,), {}),
    "lapack": lambda lib: (
        lambda x: lib.numpy.linalg.cholesky(lib.numpy.outer(x, x) + lib.numpy.eye(3)),
        (X,),
        {},
    ),
    "fft": lambda lib: (lambda x: lib.numpy.fft.fft(x), (X,), {}),
    "loops": lambda lib: (
        lambda x: lib.lax.scan(lambda c, y: (c * y, lib.numpy.sin(c)), 1.0, x),
        (X,),
        {},
    ),
    "keys": lambda lib: (
        lambda key: (lib.random.split(key), lib.random.normal(key, (2,))),
        (lib.random.key(7),),
        {},
    ),
    "keys of rbg": lambda lib: (
        lambda key: lib.random.fold_in(key, 1),
        (lib.random.key(7, impl="rbg"),),
        {},
    ),
    "nothing": lambda lib: (lambda: (), (), {}),
}
PLATFORMS = {"one": None, "two": ["cuda", "cpu"]}


@pytest.mark.parametrize("platforms", PLATFORMS)
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("writer", [jax, glassjax], ids=lambda lib: lib.__name__)
def test_what_one_library_writes_the_other_reads(writer, name, platforms):
    f, args, kwargs = PROGRAMS[name](writer)
    exported = writer.export.export(writer.jit(f), platforms=PLATFORMS[platforms])(*args, **kwargs)
    written = exported.serialize()
    found = []
    for lib in (jax, glassjax):
        _, args, kwargs = PROGRAMS[name](lib)
        loaded = lib.export.deserialize(written)
        out = lib.jit(loaded.call)(*args, **kwargs)
        avals = list(map(described, (*loaded.in_avals, *loaded.out_avals)))
        trees = str(loaded.in_tree), str(loaded.out_tree), str(lib.tree.structure(out))
        found.append((bits(lib, out), avals, trees, loaded.fun_name, loaded.platforms))
    (theirs, *they_say), (ours, *we_say) = found
    assert we_say == they_say
    for x, y in zip(ours, theirs, strict=True):
        assert (x.dtype, x.tobytes()) == (y.dtype, y.tobytes())


@pytest.mark.parametrize("platforms", PLATFORMS)
@pytest.mark.parametrize("writer", [jax, glassjax], ids=lambda lib: lib.__name__)
def test_derivatives_of_what_the_other_library_wrote(writer, platforms):
    def f(x, by, steps):
        return {"y": x**4 * by, "steps": steps + 1}

    args = np.float32(2), np.float32(3), np.int32(1)
    exported = writer.export.export(writer.jit(f), platforms=PLATFORMS[platforms])(*args)
    for order in range(3):
        written = exported.serialize(vjp_order=order)
        for lib in (jax, glassjax):
            derivative = loaded = lib.export.deserialize(written).call
            for number in range(order):
                inner = derivative
                derivative = lib.grad(
                    lambda *args, f=inner, first=not number: f(*args)["y"] if first else f(*args)
                )
            out = derivative(*args)
            assert (out if order else out["y"]) == [48, 96, 144][order]
            with pytest.raises((NotImplementedError, ValueError)):
                lib.grad(lambda *args, f=derivative, at=order: f(*args) if at else f(*args)["y"])(
                    *args
                )
        assert loaded is not None


@pytest.mark.parametrize("writer", [jax, glassjax], ids=lambda lib: lib.__name__)
def test_checks_and_effects_of_what_the_other_library_wrote(writer):
    call = writer.ffi.ffi_call(
        "no_function", writer.ShapeDtypeStruct((), "float32"), has_side_effect=True
    )
    check = writer.export.DisabledSafetyCheck
    checks = check.custom_call("no_function"), check.platform()
    exported = writer.export.export(
        writer.jit(lambda x: (call(x), x)[1]), platforms=["cuda"], disabled_checks=checks
    )(THREE)
    found = []
    for lib in (jax, glassjax):
        loaded = lib.export.deserialize(exported.serialize())
        has_effects = loaded.has_effects if lib is glassjax else bool(loaded.unordered_effects)
        found.append((list(map(str, loaded.disabled_safety_checks)), has_effects))
        program = lib.jit(lambda x, f=loaded.call: (f(x), x + 1)[1]).lower(THREE).as_text()
        assert "@no_function(" in program  # kept, though its result is unused
    assert found[0] == found[1] == (["custom_call:no_function", "platform"], True)


@given(st.data())
@settings(deadline=None, max_examples=200)
def test_damaged_files_of_jax_give_the_documented_error(data):
    """They have no digest; what is damaged in the program itself is found when it is called."""
    exported = data.draw(st.sampled_from(EXPORTED))
    written = exported.serialize()
    flat, module = bytearray(written), exported.mlir_module_serialized
    start = written.index(b"ML\xefR")
    positions = st.one_of(
        st.integers(0, start - 1), st.integers(start + len(module), len(flat) - 1)
    )
    for _ in range(data.draw(st.integers(1, 3))):
        flat[data.draw(positions)] = data.draw(st.integers(0, 255))
    flat = flat[: data.draw(st.integers(len(flat) - 50, len(flat)))]
    try:
        glassjax.export.deserialize(flat)
    except (ValueError, NotImplementedError) as error:
        assert str(error).startswith("deserialize: ")  # noqa: PT017


EXPORTED = [
    jax.export.export(jax.jit(lambda t: t["a"].first, keep_unused=True))(
        {"a": Pair(jax.ShapeDtypeStruct(shape, np.float32), np.int32(1))}
    )
    for shape in ((3,), jax.export.symbolic_shape("2*b + max(n, 3), n, floordiv(b, 2)"))
]
