"""The compile cache on disk: hits, misses and faults.

What happened is read off the log: one line for each program that was looked for.
"""

import hashlib
import logging
import os
import shutil
import socket
import stat
import subprocess
import sys
import textwrap
import threading
import warnings

import numpy as np
import pytest
from rows import for_each

from glassjax import config, jit, pure_callback, xla
from glassjax import numpy as jnp
from glassjax.runtime import compilation_cache
from glassjax.runtime.program import compile_or_load
from glassjax_stage2 import ShapedArray
from glassjax_stage3 import backend
from glassjax_stage3.backend import CompileError

needs_modes = pytest.mark.skipif(os.name == "nt", reason="modes mean nothing on this system")
needs_restraint = pytest.mark.skipif(
    os.name == "nt" or os.geteuid() == 0, reason="this user may write anywhere"
)

X = np.linspace(0.0, 1.0, 5)
EXPECTED = np.sin(X) * 2 + 1


@pytest.fixture
def directory(tmp_path):
    """A cache of our own, switched on for this thread."""
    path = tmp_path / "cache"
    compilation_cache.reset_cache()
    with config.override(enable_compilation_cache=True, compilation_cache_dir=path):
        yield path
    compilation_cache.reset_cache()


@pytest.fixture
def events(caplog):
    """What happened since the last call: "hit" and "miss", in order."""
    caplog.set_level(logging.DEBUG, "glassjax.compilation_cache")

    def take():
        found = [record.getMessage().partition(":")[0] for record in caplog.records]
        caplog.clear()
        return found

    return take


def compute():
    """Compiles a program anew, and checks what it computes."""
    np.testing.assert_allclose(jit(lambda x: jnp.sin(x) * 2 + 1)(X), EXPECTED)


def entry_of(directory):
    (entry,) = directory.iterdir()
    return entry


TEXT = """module @double {
  func.func public @main(%x: tensor<2xf64>) -> (tensor<2xf64>) {
    %y = stablehlo.add %x, %x : tensor<2xf64> loc("a b.py":3:1)
    return %y : tensor<2xf64>
  }
}
"""


# What hits.


def test_the_same_program_is_loaded(directory, events):
    compute()
    assert events() == ["miss"]
    compute()
    assert events() == ["hit"]


def test_every_kind_of_program_is_loaded(directory, events):
    """With several results, with none, and without arguments."""

    def several(x):
        return {"a": x + 1, "b": (x > 0, 3.0, jnp.sum(x, axis=0))}

    results = [repr(jit(lambda x: several(x))(X)) for _ in range(2)]
    assert results[0] == results[1]
    assert events() == ["miss", "hit"]
    assert [jit(lambda x: ())(X) for _ in range(2)] == [(), ()]
    assert events() == ["miss", "hit"]
    assert [float(jit(lambda: 2.0)()) for _ in range(2)] == [2.0, 2.0]
    assert events() == ["miss", "hit"]


def test_what_is_loaded_can_be_looked_at(directory, events):
    """All that a program says of itself survives."""
    first, second = [jit(lambda x: jnp.sin(x) * 2 + 1).lower(X).compile() for _ in range(2)]
    assert events() == ["miss", "hit"]
    assert first.as_text() == second.as_text()
    assert first.cost_analysis() == second.cost_analysis()
    assert first.memory_analysis() == second.memory_analysis()


PROGRAM = """
    import logging, sys
    logging.basicConfig(stream=sys.stderr, format="%(message).4s")
    logging.getLogger("glassjax.compilation_cache").setLevel(logging.DEBUG)
    import numpy as np
    import glassjax_stage3 as stage3
    from glassjax import jit, numpy as jnp, grad
    from glassjax_stage2 import sin

    def loss(w, x):
        return jnp.sum(jnp.tanh(x @ w) ** 2)

    x = np.linspace(-1, 1, 12).reshape(3, 4)
    print(repr(jit(grad(loss))(x.T, x)))
    print(repr(jnp.exp(x)))
    print(stage3.jit(sin)(np.ones(2)))
"""


def in_fresh_process(directory, program=PROGRAM, **variables):
    """Its output, and what the cache logged: "hit:" and "miss"."""
    env = os.environ | {
        "GLASSJAX_ENABLE_COMPILATION_CACHE": "true",
        "GLASSJAX_COMPILATION_CACHE_DIR": str(directory),
        **variables,
    }
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(program)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, logged(done.stderr)


def logged(text):
    """The lines of the cache. XLA of jaxlib 0.10 adds some of its own on some processors."""
    return [line for line in text.splitlines() if line in ("hit:", "miss")]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A cache that a process has filled, its output, and its events."""
    directory = tmp_path_factory.mktemp("compiled")
    return directory, *in_fresh_process(directory)


def test_a_second_process_loads_what_the_first_compiled(compiled):
    """Also what a stage computes beside glassjax: one seam serves all."""
    directory, first, first_events = compiled
    second, second_events = in_fresh_process(directory)
    assert first == second
    assert set(first_events) == {"miss"}
    assert second_events == ["hit:"] * len(first_events)


NARROW = """
    import logging, sys
    logging.basicConfig(stream=sys.stderr, format="%(message).4s")
    logging.getLogger("glassjax.compilation_cache").setLevel(logging.DEBUG)
    from glassjax import grad, jit, numpy as jnp

    @jit
    def loss(packed, x):
        weights = packed.astype("float32").reshape(2, 4)
        return jnp.sum((weights @ x) ** 2), packed[::2]

    for dtype in "int2", "uint2", "int4", "uint4", "float4_e2m1fn":
        packed = jnp.arange(8).astype(dtype)
        x = jnp.arange(4.0)
        print(repr(loss(packed, x)), repr(grad(lambda x: loss(packed, x)[0])(x)), packed * packed)
"""


def test_programs_of_numbers_narrower_than_a_byte_are_loaded(tmp_path):
    first, first_events = in_fresh_process(tmp_path / "cache", NARROW)
    second, second_events = in_fresh_process(tmp_path / "cache", NARROW)
    assert first == second
    assert len(first_events) > 5 * 3
    assert second_events == ["hit:"] * len(first_events)


def test_a_process_with_other_flags_or_no_cache_compiles(compiled):
    directory, first, first_events = compiled
    other_flags = in_fresh_process(directory, XLA_FLAGS="--xla_cpu_enable_fast_math=false")
    assert other_flags == (first, first_events)
    fewer_threads = in_fresh_process(directory, NPROC="1")
    assert fewer_threads == (first, first_events)
    off = in_fresh_process(directory, GLASSJAX_ENABLE_COMPILATION_CACHE="0")
    assert off == (first, [])


PARTITIONED = """
    import logging, os, sys
    logging.basicConfig(stream=sys.stderr, format="%(message).4s")
    logging.getLogger("glassjax.compilation_cache").setLevel(logging.DEBUG)
    import numpy as np
    import glassjax
    from glassjax import P, jit, lax, numpy as jnp

    def step(w, x):
        h = lax.with_sharding_constraint(jnp.tanh(x @ w), columns)
        return w - 0.1 * x.T @ h, jnp.sum(h)

    def show(*arrays):
        for x in arrays:
            print(np.asarray(x).tolist(), x.sharding, x.committed)

    x = np.linspace(-1, 1, 64).reshape(8, 8).astype("f4")
    for direction in os.environ.get("DIRECTIONS", "1").split():
        devices = np.array(glassjax.devices()[:: int(direction)])
        mesh = glassjax.sharding.Mesh(devices.reshape(4, 2), ("x", "y"))
        rows, columns, whole = (
            glassjax.NamedSharding(mesh, spec) for spec in (P("x"), P(None, "y"), P())
        )
        glassjax.clear_caches()
        a = glassjax.device_put(x, rows)
        show(*jit(step, in_shardings=(whole, rows), out_shardings=(columns, None))(x, x))
        show(*jit(step, donate_argnums=0)(glassjax.device_put(x, rows), a))
        total = glassjax.shard_map(
            lambda x: lax.psum(x, ("x", "y")), mesh=mesh, in_specs=P("x", "y"), out_specs=P()
        )
        show(total(a), jit(total)(a), a * 2, a.T)
        show(glassjax.device_put(x, glassjax.devices()[3]) + 1)
        with glassjax.set_mesh(mesh):
            show(jnp.sin(x))
"""

needs_divided_arrays = pytest.mark.skipif(
    not xla.can_read_all_arrays(), reason="jaxlib cannot read sharded arrays"
)


def on_eight_devices(directory, program=PARTITIONED, **variables):
    return in_fresh_process(directory, program, GLASSJAX_NUM_CPU_DEVICES="8", **variables)


@pytest.fixture(scope="module")
def partitioned(tmp_path_factory):
    directory = tmp_path_factory.mktemp("partitioned")
    return directory, *on_eight_devices(directory)


@needs_divided_arrays
def test_partitioned_programs_are_loaded_on_the_same_devices(partitioned, tmp_path):
    directory, first, first_events = partitioned
    shutil.copytree(directory, tmp_path / "copy")
    assert set(first_events) == {"miss"}
    mirrored, events = on_eight_devices(tmp_path / "copy", DIRECTIONS="1 -1")
    assert mirrored == 2 * first  # a mesh is written without its devices
    of_first, of_mirrored = events[: len(first_events)], events[len(first_events) :]
    assert of_first == ["hit:"] * len(first_events)
    assert set(of_mirrored[:2]) == {"miss"}  # of the same text
    again = on_eight_devices(tmp_path / "copy", DIRECTIONS="1 -1")
    assert again == (mirrored, ["hit:"] * len(events))


@needs_divided_arrays
def test_a_damaged_partitioned_program_is_compiled_anew(partitioned, tmp_path):
    directory, first, events = partitioned
    damaged = tmp_path / "copy"
    shutil.copytree(directory, damaged)
    entries = sorted(damaged.iterdir())
    assert len(entries) == len(events)
    for number, entry in enumerate(entries):
        data = bytearray(entry.read_bytes())
        data[len(data) * number // len(entries)] ^= 1
        entry.write_bytes(data if number % 3 else data[: len(data) // 2])
    assert on_eight_devices(damaged) == (first, ["miss"] * len(events))
    assert on_eight_devices(damaged) == (first, ["hit:"] * len(events))


@needs_divided_arrays
def test_shardings_that_python_looks_at_are_told_by_each_compilation(tmp_path):
    program = """
        import numpy as np
        import glassjax
        mesh = glassjax.make_mesh((8,), ("x",))
        def f(x):
            glassjax.debug.inspect_array_sharding(x, callback=lambda sharding: print(sharding.spec))
            return x + 1
        glassjax.jit(f, in_shardings=glassjax.NamedSharding(mesh, glassjax.P("x")))(np.ones(8))
    """
    for _ in range(2):
        out, _ = on_eight_devices(tmp_path, program)
        assert out == "P('x',)\n"


def test_flags_that_compiling_has_to_act_on_switch_it_off(tmp_path):
    (tmp_path / "flags").write_text("--xla_cpu_enable_fast_math=false")
    for flags in (f"--xla_dump_to={tmp_path / 'dump'}", str(tmp_path / "flags")):
        assert in_fresh_process(tmp_path / "cache", XLA_FLAGS=flags)[1] == []
    assert list((tmp_path / "dump").iterdir())


# What the key is made of.


def test_where_a_program_stands_does_not_matter(directory, events):
    source = "\n" * 3 + "def f(x): return jnp.sin(x) * 2 + 1"
    for text, name in ((source, "a.py"), ("\n" * 7 + source, "b c.py")):
        namespace = {"jnp": jnp}
        exec(compile(text, name, "exec"), namespace)
        text = jit(namespace["f"]).lower(X).as_text(debug_info=True)
        assert f'"{name}"' in text
        jit(namespace["f"])(X)
    assert events() == ["miss", "hit"]


@for_each(
    ("before", "after"),
    [
        ("stablehlo.add", "stablehlo.multiply"),
        ("2xf64", "3xf64"),
        ("@double", "@other"),
        # What only looks like a location is part of the program.
        ("stablehlo.add", 'stablehlo.add {a = " loc(unknown)"}'),
        (' loc("a b.py":3:1)', ' {a = " loc(\\"a b.py\\":3:1)"}'),
    ],
)
def test_another_text_is_another_key(before, after):
    assert before in TEXT
    assert compilation_cache.cache_key(TEXT, {}) != compilation_cache.cache_key(
        TEXT.replace(before, after), {}
    )


@for_each("location", ["", " loc(unknown)", ' loc("/x/y(1).py":40:1)'])
def test_another_location_is_the_same_key(location):
    text = TEXT.replace(' loc("a b.py":3:1)', location)
    assert compilation_cache.cache_key(TEXT, {}) == compilation_cache.cache_key(text, {})


def test_options_jaxlib_and_machine_are_in_the_key(monkeypatch):
    keys = {
        compilation_cache.cache_key(TEXT, options)
        for options in ({}, {"a": 1}, {"a": "1"}, {"a": 1, "b": 2})
    }
    assert len(keys) == 4
    assert compilation_cache.cache_key(TEXT, {"b": 2, "a": 1}) in keys
    fingerprint, machine = xla.fingerprint(), compilation_cache._machine()
    assert fingerprint[0] == xla.jaxlib_version()
    for owner, name, parts in (
        (xla, "fingerprint", fingerprint),
        (compilation_cache, "_machine", machine),
    ):
        for i, part in enumerate(parts):
            other = (*parts[:i], f"{part}?", *parts[i + 1 :])
            with monkeypatch.context() as patch:
                patch.setattr(owner, name, lambda *_, other=other: other)
                keys.add(compilation_cache.cache_key(TEXT, {}))
    assert len(keys) == 4 + len(fingerprint) + len(machine)


def test_the_processor_is_in_the_key():
    """Its name and its abilities, or else the name of the machine."""
    processor = compilation_cache._machine()[3:]
    if sys.platform == "linux":
        assert any(line.startswith(("flags", "Features")) for line in processor)
        assert not any("MHz" in line for line in processor)  # which varies
    else:
        assert len(processor) == 1


def test_the_key_is_the_same_in_every_process():
    program = (
        f"from glassjax.runtime import compilation_cache as c; print(c.cache_key({TEXT!r}, {{}}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == compilation_cache.cache_key(TEXT, {})


def test_options_reach_the_compiler(directory, events):
    avals = [ShapedArray((2,), np.dtype("float64"))]
    for options in ({}, {"xla_cpu_enable_fast_math": True}):
        for _ in range(2):
            double = compile_or_load(TEXT, avals, options)
            (result,) = double.execute([backend.put(np.ones(2), avals[0])])
            np.testing.assert_array_equal(backend.get(result), [2.0, 2.0])
    assert events() == ["miss", "hit", "miss", "hit"]
    with pytest.raises(CompileError, match="no_such_flag"):
        compile_or_load(TEXT, avals, {"no_such_flag": True})


def test_a_program_that_xla_refuses_is_refused_each_time(directory):
    for _ in range(2):
        with pytest.raises(CompileError):
            compile_or_load("module { nonsense }", [])
    assert list(directory.iterdir()) == []


# When it is off.


def test_switched_off(directory, events):
    with config.override(enable_compilation_cache=False):
        compute()
    with config.override(compilation_cache_dir=None):
        compute()
    assert events() == []
    assert not directory.exists()


def test_a_program_that_calls_python_is_kept_and_given_the_functions_of_its_process(
    directory, events
):
    def double(x):
        return np.asarray(x) * 2

    def triple(x):
        return np.asarray(x) * 3

    for function, expected in [(double, EXPECTED), (triple, 1.5 * (EXPECTED - 1) + 1)]:
        out = jit(lambda x: pure_callback(function, x, jnp.sin(x)) + 1)(X)  # noqa: B023
        np.testing.assert_allclose(out, expected)
    assert events() == ["miss", "hit"]
    calling = jit(lambda x: pure_callback(double, x, x)).lower(X).compile()
    with pytest.raises(RuntimeError, match="cannot leave"):
        xla.serialize(calling.compiled.executable)


def test_a_program_that_xla_writes_about_is_not_kept():
    assert compilation_cache._is_cacheable(TEXT, {})
    assert not compilation_cache._is_cacheable(TEXT, {"xla_dump_to": "here"})


def test_a_program_that_xla_cannot_write_down_is_not_kept(directory, events, monkeypatch):
    def serialize(executable, with_functions=False):
        raise RuntimeError("UNIMPLEMENTED")

    monkeypatch.setattr(xla, "serialize", serialize)
    compute()
    compute()
    assert events() == ["miss", "miss"]
    assert list(directory.iterdir()) == []


@pytest.mark.parametrize(
    "limit",
    [
        {"persistent_cache_min_compile_time_secs": 1e6},
        {"persistent_cache_min_entry_size_bytes": 10**9},
    ],
    ids=str,
)
def test_programs_that_compile_fast_enough_or_are_small_enough_are_not_kept(
    directory, events, limit
):
    with config.override(**limit):
        compute()
        compute()
    assert events() == ["miss", "miss"]
    assert list(directory.iterdir()) == []


def test_the_directory_can_be_changed(tmp_path, events):
    before = config.compilation_cache_dir
    try:
        with config.override(enable_compilation_cache=True):
            for name in ("a", "b", "a"):
                compilation_cache.set_cache_dir(tmp_path / name)
                compute()
    finally:
        compilation_cache.set_cache_dir(before)
    assert events() == ["miss", "miss", "hit"]
    assert entry_of(tmp_path / "a").name == entry_of(tmp_path / "b").name


# Entries that are no good.


def damaged(content):
    yield "empty", b""
    yield "of another program", content[:60] + content[61:]
    yield "cut in the header", content[:20]
    yield "only the header", content[:59]
    yield "truncated", content[:-1]
    yield "longer", content + b"\0"
    yield "foreign", b"#!/bin/sh\necho hello\n" * 1_000
    yield "of another format", content.replace(b"program 1", b"program 0")
    for i in range(0, len(content), len(content) // 20):
        changed = bytearray(content)
        changed[i] ^= 1
        yield f"byte {i} changed", bytes(changed)


def test_a_damaged_entry_is_compiled_anew_and_replaced(directory, events):
    compute()
    entry = entry_of(directory)
    good = entry.read_bytes()
    events()
    tried = 0
    for how, content in damaged(good):
        entry.write_bytes(content)
        compute()
        assert events() == ["miss"], how
        assert entry.read_bytes() != content, how
        compute()
        assert events() == ["hit"], how
        tried += 1
    assert tried > 20


def test_an_entry_under_another_name_is_not_taken(directory, events):
    """Its checksum is right, but it is not the program that was asked for."""
    compute()
    entry = entry_of(directory)
    jit(lambda x: x - 1)(X)
    (other,) = set(directory.iterdir()) - {entry}
    entry.write_bytes(other.read_bytes())
    events()
    compute()
    assert events() == ["miss"]


def test_an_entry_that_xla_rejects_is_replaced(directory, events, monkeypatch):
    """The checksum holds, but this jaxlib does not know what to make of the data."""
    compute()
    entry = entry_of(directory)
    key = entry.name.removesuffix(".glassjax")
    compilation_cache._write_entry(str(directory), str(entry), key, b"no such data")
    events()
    compute()
    assert events() == ["miss"]
    compute()
    assert events() == ["hit"]


def test_an_entry_that_cannot_be_unpacked_is_replaced(directory, events):
    """Its digest is right, and the data are not what zlib writes."""
    compute()
    entry = entry_of(directory)
    key = entry.name.removesuffix(".glassjax").encode()
    packed = b"not packed"
    digest = hashlib.sha256(key + packed).digest()
    entry.write_bytes(compilation_cache._FORMAT + digest + packed)
    events()
    compute()
    compute()
    assert events() == ["miss", "hit"]


def make_socket(path):
    short = str(path.with_name("socket"))  # the path of a socket has to be short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(short))
    os.rename(short, path)


@pytest.mark.skipif(os.name == "nt", reason="named pipes are another thing on this system")
@pytest.mark.parametrize("make", ["mkfifo", "mkdir", "socket"])
def test_an_entry_that_is_not_a_file_is_not_waited_for(directory, events, make, monkeypatch):
    compute()
    entry = entry_of(directory)
    entry.unlink()
    monkeypatch.chdir(directory)
    make_socket(entry) if make == "socket" else getattr(os, make)(entry)
    events()
    compute()
    assert events() == ["miss"]


# Who may read and write.


@needs_modes
def test_nobody_else_can_read_or_write_what_is_made(tmp_path, events):
    compilation_cache.reset_cache()
    directory = tmp_path / "new" / "cache"
    previous = os.umask(0)
    try:
        with config.override(enable_compilation_cache=True, compilation_cache_dir=directory):
            compute()
    finally:
        os.umask(previous)
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert stat.S_IMODE(entry_of(directory).stat().st_mode) == 0o600


@needs_modes
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o1777])
def test_a_directory_that_others_may_write_to_is_refused(directory, events, mode):
    compute()
    entry = entry_of(directory)
    directory.chmod(mode)
    events()
    with pytest.warns(UserWarning, match=f"{directory.name}.* others may write to it"):
        compute()
    compute()  # it is not spoken of again: a warning would be an error
    assert events() == []
    directory.chmod(0o700)
    compute()
    assert events() == ["hit"]
    assert entry == entry_of(directory)


@needs_modes
def test_a_directory_of_another_user_is_refused(directory, events, monkeypatch):
    compute()
    events()
    monkeypatch.setattr(os, "geteuid", lambda: directory.stat().st_uid + 1)
    with pytest.warns(UserWarning, match="belongs to another user"):
        compute()
    assert events() == []


@needs_modes
def test_a_file_that_others_may_write_to_is_replaced(directory, events):
    compute()
    entry = entry_of(directory)
    entry.chmod(0o666)
    events()
    compute()
    assert events() == ["miss"]
    assert stat.S_IMODE(entry.stat().st_mode) == 0o600


# Disks that refuse.


@pytest.fixture
def refusing(monkeypatch):
    """Files can be read, but not made, as on a disk that is full or mounted for reading."""
    real_open = os.open

    def refuse(path, flags, *args, **kwargs):
        if flags & os.O_CREAT:
            raise OSError(28, "No space left on device")
        return real_open(path, flags, *args, **kwargs)

    monkeypatch.setattr(os, "open", refuse)


def test_a_full_disk_is_one_warning(directory, events, refusing):
    with pytest.warns(UserWarning, match="cannot be written to .*No space left"):
        compute()
    compute()
    assert events() == ["miss", "miss"]


def test_the_disk_may_fill_up_while_writing(directory, events, monkeypatch):
    def replace(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", replace)
    with pytest.warns(UserWarning, match="No space left"):
        compute()
    assert list(directory.iterdir()) == []  # what was begun is cleared away


@needs_restraint
def test_a_directory_for_reading_only(directory, events):
    compute()
    directory.chmod(0o500)
    try:
        compute()
        with pytest.warns(UserWarning, match="cannot be written to"):
            program(3)(X)
        program(4)(X)
        assert events() == ["miss", "hit", "miss", "miss"]
    finally:
        directory.chmod(0o700)


def test_a_directory_that_cannot_be_made(tmp_path, events):
    compilation_cache.reset_cache()
    (tmp_path / "file").write_text("in the way")
    path = tmp_path / "file" / "cache"
    with config.override(enable_compilation_cache=True, compilation_cache_dir=path):
        with pytest.warns(UserWarning, match="cannot be used"):
            compute()
        compute()
    assert events() == []


def test_a_url_is_no_directory(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with (
        config.override(enable_compilation_cache=True, compilation_cache_dir="gs://bucket/cache"),
        pytest.warns(UserWarning, match="it must be a directory, and is a URL"),
    ):
        compute()
    assert not [*tmp_path.iterdir()]


def test_a_default_directory_that_cannot_be_made_is_no_concern_of_the_user(tmp_path):
    (tmp_path / "file").write_text("in the way")
    place = str(tmp_path / "file")
    variables = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA"), place)
    _, events = in_fresh_process("", **variables)  # an empty variable is no variable
    assert events == []


def test_a_directory_that_is_removed_while_in_use(directory, events):
    compute()
    for entry in directory.iterdir():
        entry.unlink()
    directory.rmdir()
    compute()
    compute()
    assert events() == ["miss", "miss", "hit"]


@pytest.mark.parametrize("path", ["a/" * 2400, "a" * 5000, "a\0b"], ids=["deep", "long", "null"])
def test_a_directory_that_no_system_makes(path, tmp_path, events):
    with (
        config.override(enable_compilation_cache=True, compilation_cache_dir=tmp_path / path),
        pytest.warns(UserWarning, match="cannot be used"),
    ):
        compute()
    assert events() == []


def test_entries_that_vanish_while_they_are_written_are_no_concern_of_the_user(
    directory, events, monkeypatch
):
    """Another process empties the directory: nothing is kept, and nothing is wrong."""

    def replace(source, target):
        os.remove(source)
        raise FileNotFoundError(source)

    monkeypatch.setattr(os, "replace", replace)
    compute()
    assert events() == ["miss"]
    assert list(directory.iterdir()) == []


# The bound.


def sizes(directory):
    return [entry.stat().st_size for entry in directory.iterdir()]


def program(number):
    return jit(lambda x: x + number)


def test_what_was_not_used_for_longest_is_deleted(directory, events):
    program(1)(X)
    oldest = entry_of(directory)
    limit = int(4.8 * oldest.stat().st_size)
    with config.override(compilation_cache_max_size=limit):
        for number in range(2, 5):
            program(number)(X)
        assert len(sizes(directory)) == 4
        for age, entry in enumerate(sorted(directory.iterdir(), key=lambda e: e.stat().st_mtime)):
            os.utime(entry, (age, age))
        program(1)(X)  # used again: now another one is the oldest
        events()
        program(5)(X)
        assert sum(sizes(directory)) <= limit
        assert oldest in directory.iterdir()
        program(1)(X)
        program(2)(X)
    assert events() == ["miss", "hit", "miss"]


def test_the_bound_holds_for_many(directory):
    program(0.5)(X)
    limit = int(5.5 * entry_of(directory).stat().st_size)
    with config.override(compilation_cache_max_size=limit):
        for number in range(1, 12):
            program(number)(X)
            assert sum(sizes(directory)) <= limit


def test_what_other_processes_wrote_counts(directory):
    directory.mkdir(mode=0o700)
    for i in range(5):
        (directory / f"{i}.glassjax").write_bytes(b"x" * 100_000)
        os.utime(directory / f"{i}.glassjax", (i, i))
    (directory / "notes.txt").write_text("not ours")
    os.utime(directory / "notes.txt", (0, 0))
    with config.override(compilation_cache_max_size=350_000):
        compute()
    assert sum(sizes(directory)) <= 350_000
    names = {entry.name for entry in directory.iterdir()}
    assert {"notes.txt", "4.glassjax"} <= names
    assert "0.glassjax" not in names


def test_a_program_that_is_larger_than_the_bound_is_not_kept(directory, events):
    with config.override(compilation_cache_max_size=100):
        compute()
        compute()
    assert events() == ["miss", "miss"]
    assert list(directory.iterdir()) == []


def test_no_bound(directory, events):
    with config.override(compilation_cache_max_size=-1):
        compute()
        compute()
    assert events() == ["miss", "hit"]


# Many at once.


def test_many_processes_at_once(tmp_path):
    """Some write and read the same entries, of which they then have one each."""
    wait = f"""
    import os, time
    open(os.path.join({str(tmp_path)!r}, str(os.getpid())), "w").close()
    import glassjax
    while len(os.listdir({str(tmp_path)!r})) < 4: time.sleep(0.01)
    """
    cache = tmp_path.parent / f"{tmp_path.name}-cache"
    env = os.environ | {
        "GLASSJAX_ENABLE_COMPILATION_CACHE": "true",
        "GLASSJAX_COMPILATION_CACHE_DIR": str(cache),
    }
    source = textwrap.dedent(wait) + textwrap.dedent(PROGRAM)
    processes = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", source], env=env, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for _ in range(4)
    ]  # fmt: skip
    results = [process.communicate(timeout=300) for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, results
    assert len({out for out, _ in results}) == 1
    programs = len(logged(results[0][1]))
    assert len(list(cache.iterdir())) == programs
    out, events = in_fresh_process(cache)
    assert out == results[0][0]
    assert events == ["hit:"] * programs


def test_many_threads_at_once(directory):
    errors = []

    def work():
        override = {"enable_compilation_cache": True, "compilation_cache_dir": directory}
        try:
            with config.override(**override), config.override(compilation_cache_max_size=20_000):
                for number in range(4):
                    np.testing.assert_array_equal(program(number)(X), X + number)
                compute()
        except BaseException as error:
            errors.append(error)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert errors == []
    assert not [entry for entry in directory.iterdir() if "-" in entry.name]  # nothing half-written
