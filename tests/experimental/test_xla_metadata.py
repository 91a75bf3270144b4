"""Frontend attributes of operations: `xla_metadata` and `compute_on`, beside JAX."""

import re

import jax
import jax.experimental.compute_on
import jax.experimental.xla_metadata
import numpy as np
import pytest

import glassjax
import glassjax.experimental.compute_on
import glassjax.experimental.xla_metadata
from glassjax.experimental.xla_metadata import fuse_limit

X = np.arange(6, dtype=np.float32)


def in_blocks(lib, set_xla_metadata):
    def f(x):
        with set_xla_metadata(a="b", n=3, yes=True):
            y = lib.numpy.sin(x)
            with set_xla_metadata(n=None, more=1.5):
                z = lib.numpy.cos(y)
            z = lib.jit(lib.numpy.tanh)(z)
            z, _ = lib.lax.scan(lambda c, x: (lib.numpy.exp(c) + x, None), 0.0, z)
        return lib.numpy.log(z) + set_xla_metadata(lib.numpy.sqrt(z), root="here")

    return f


def decorated(lib, set_xla_metadata):
    return set_xla_metadata(outer=1)(lib.jit(in_blocks(lib, set_xla_metadata)))


def called(lib, set_xla_metadata, **options):
    module = lib.experimental.xla_metadata

    @module.xla_metadata_call2({"block": "first", "number": 2, "yes": False}, **options)
    def f(x):
        return lib.numpy.sin(x) * x, {"y": lib.numpy.exp(x)}

    def g(x):
        y, rest = f(x)
        return (module.must_fuse_call("7")(lib.numpy.cos)(y) + rest["y"]).sum()

    return g


PROGRAMS = {
    "blocks": in_blocks,
    "decorated": decorated,
    "called": called,
    "dropped": lambda *args: called(*args, ad_metadata="drop"),
    "of its own": lambda *args: called(*args, ad_metadata={"block": "second"}),
}
TRANSFORMS = {
    "plain": lambda lib, f: f,
    "grad": lambda lib, f: lib.grad(f),
    "jvp": lambda lib, f: lambda x: lib.jvp(f, (x,), (x,)),
    "vmap": lambda lib, f: lambda x: lib.vmap(f)(x[None]),
    "hessian": lambda lib, f: lib.jacfwd(lib.grad(f)),
}


def operations(text):
    kinds = "sine|cosine|tanh|exponential|log|sqrt|call"
    pattern = rf"\b({kinds}) [^\n]*?\{{mhlo.frontend_attributes = \{{(.*?)\}}"
    return sorted(set(re.findall(pattern, text)))


def assert_same_attributes(make, names, is_right=lambda name, text: True):
    """Operations of each function, under each transformation, have the attributes they have in JAX.

    `make(lib, name)` gives a function. One program computes the values of all of them.
    """

    def functions(lib):
        return {
            f"{name}, {transform}": of(lib, make(lib, name))
            for name in names
            for transform, of in TRANSFORMS.items()
        }

    texts, values = {}, {}
    for lib in (glassjax, jax):
        made = functions(lib)
        texts[lib] = {case: lib.jit(f).lower(X).as_text() for case, f in made.items()}
        values[lib] = lib.jit(lambda x, made=made: {case: f(x) for case, f in made.items()})(X)
    for case, text in texts[glassjax].items():
        assert operations(text) == operations(texts[jax][case]), case
        assert operations(text), case
        assert is_right(case.partition(",")[0], text), case
    for case, found in values[glassjax].items():
        for x, y in zip(*map(jax.tree.leaves, (found, values[jax][case])), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-5, err_msg=case)


def test_attributes_of_operations():
    assert_same_attributes(
        lambda lib, name: PROGRAMS[name](lib, lib.experimental.xla_metadata.set_xla_metadata),
        PROGRAMS,
    )


def test_a_function_is_traced_for_each_metadata():
    module, seen = glassjax.experimental.xla_metadata, []

    @glassjax.jit
    def f(x):
        seen.append(x)
        return x + 1

    for tags in ({}, {"tag": 1}, {}, {"tag": "1"}, {"tag": 2}):
        with module.set_xla_metadata(**tags):
            assert f(1.0) == 2
    assert len(seen) == 3


def test_metadata_of_callbacks_and_of_values():
    module = glassjax.experimental.xla_metadata

    @module.set_xla_metadata(tag="it")
    def f(x):
        y = glassjax.pure_callback(np.sin, x, x, vmap_method="expand_dims")
        return module.set_xla_metadata({"y": y, "x": x, "n": 2.0}, other="this")

    out = glassjax.jit(f)(X)
    np.testing.assert_allclose(out["y"], np.sin(X), rtol=1e-6)
    np.testing.assert_array_equal(glassjax.vmap(f)(X)["x"], X)
    assert f(X)["n"] == 2
    tagged = lambda x: 3 * module.set_xla_metadata(x, tag=1)  # noqa: E731
    assert glassjax.grad(tagged)(1.0) == 3


def test_locations_stay_beside_attributes():
    text = glassjax.jit(in_blocks(glassjax, glassjax.experimental.xla_metadata.set_xla_metadata))
    lines = text.lower(X).as_text(debug_info=True).splitlines()
    (line,) = [each for each in lines if "stablehlo.sine" in each]
    assert re.search(r'a = "b".* loc\("[^"]*test_xla_metadata.py":\d+:1\)$', line)
    assert "glassjax attributes" not in "".join(lines)
    with glassjax.named_scope("waves"), fuse_limit():
        text = glassjax.jit(lambda x: glassjax.numpy.sin(x)).lower(X).as_text(debug_info=True)
    assert 'FUSE_LIMIT = "true"' in text


def test_metadata_that_are_none(lib):
    module = lib.experimental.xla_metadata
    for make in [
        lambda: module.xla_metadata_call(np.sin, tag=[1]),
        lambda: module.xla_metadata_call2(np.sin, "tag"),
        lambda: module.xla_metadata_call2(np.sin, {}, ad_metadata="other"),
        lambda: module.xla_metadata_call2(np.sin, {}, ad_metadata={"tag": None}),
        lambda: module.xla_metadata_call2(3, {}),
    ]:
        with pytest.raises(TypeError):
            make()
    assert float(module.xla_metadata_call2()(lib.numpy.cos)(0.0)) == 1


KINDS = ["device_host", "device", "tpu_sparsecore", "gpu_stream:3"]


@pytest.mark.newest_jax
def test_compute_on():
    def make(lib, kind):
        return lib.experimental.compute_on.compute_on(
            lambda x: lib.numpy.sin(lib.numpy.exp(x)).sum(),
            compute_type=kind,
            out_memory_spaces=lib.memory.Space.Device,
            compiler_options={"a": 1} if kind == "device_host" else None,
        )

    def is_right(kind, text):
        return ("annotate_device_placement" in text) == (kind != "tpu_sparsecore")

    assert_same_attributes(make, KINDS, is_right)


@pytest.mark.newest_jax
def test_compute_on_refuses():
    module, device = glassjax.experimental.compute_on, glassjax.memory.Space.Device
    f = module.compute_on(compute_type="device", out_memory_spaces=device)(glassjax.numpy.sin)
    with pytest.raises(ValueError, match="calls another one"):
        module.compute_on(f, compute_type="device", out_memory_spaces=device)(1.0)
    with pytest.raises(ValueError, match="found 'somewhere'"):
        module.compute_on(f, compute_type="somewhere", out_memory_spaces=device)
    with pytest.raises(TypeError, match="must be a string"):
        module.compute_on(f, compute_type=None, out_memory_spaces=device)
    assert f(0.0) == 0
