"""Platforms: the default, missing ones, and two in one process.

There need not be a GPU: a second client of the CPU stands for one.
"""

import os
import pickle
import subprocess
import sys
import textwrap
import types

import numpy as np
import pytest
from rows import for_each

import glassjax
import glassjax.numpy as jnp
from glassjax import device_put, devices, errors, jit, lax, random, xla
from glassjax.xla import clients
from glassjax.xla import clients as platforms
from glassjax_stage3 import backend

X = np.arange(6.0).reshape(2, 3)


def in_fresh_process(program, **variables):
    """What it prints, and the warnings."""
    env = {k: v for k, v in os.environ.items() if k not in ("GLASSJAX_PLATFORMS", "JAX_PLATFORMS")}
    command = [sys.executable, "-W", "always", "-c", textwrap.dedent(program)]
    done = subprocess.run(command, env=env | variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr


# A machine is said to have a GPU or not; the plugin is never there.
COMPUTE = """
import glassjax, glassjax.numpy as jnp
from glassjax.xla import clients
clients._DEVICE_FILES = {files!r}
clients._CUDA_VERSIONS = ("0",)
try:
    print(float(jnp.ones(3).sum()), glassjax.default_backend())
except glassjax.errors.PlatformError as error:
    print(error)
"""


def test_without_a_gpu_the_cpu_computes_and_nothing_is_said():
    printed, warned = in_fresh_process(COMPUTE.format(files=("/nowhere",)))
    assert (printed, warned) == ("3.0 cpu", "")


def test_a_gpu_without_its_plugin_is_announced_once():
    printed, warned = in_fresh_process(COMPUTE.format(files=(os.devnull,)))
    assert printed == "3.0 cpu"
    assert warned.count("a GPU of NVIDIA seems to be here, and the plugin") == 1
    assert "pip install 'glassjax[cuda13]'" in warned
    assert "GLASSJAX_PLATFORMS=cpu" in warned
    quiet = {"GLASSJAX_PLATFORMS": "cpu"}
    assert in_fresh_process(COMPUTE.format(files=(os.devnull,)), **quiet) == ("3.0 cpu", "")


@pytest.mark.parametrize("chosen", ["cuda", "gpu"])
def test_a_platform_that_must_compute_and_cannot_is_an_error(chosen):
    printed, _ = in_fresh_process(COMPUTE.format(files=("/nowhere",)), GLASSJAX_PLATFORMS=chosen)
    assert f"config.platforms={chosen!r} (GLASSJAX_PLATFORMS) allows no platform" in printed
    assert "no GPU of NVIDIA is here (there is none of /nowhere)" in printed
    assert "jax-cuda0-pjrt" in printed
    assert "GLASSJAX_PLATFORMS=cpu, the CPU computes" in printed


def test_the_next_of_several_platforms_computes():
    program = COMPUTE.format(files=("/nowhere",))
    assert in_fresh_process(program, GLASSJAX_PLATFORMS="cuda,cpu") == ("3.0 cpu", "")


def test_platforms_of_jaxs_name_may_be_chosen_before_the_first_array():
    program = """
    import glassjax
    glassjax.config.update("jax_platforms", "cpu")
    try:
        glassjax.devices("gpu")
    except glassjax.errors.PlatformError as error:
        print(error)
    """
    printed, _ = in_fresh_process(program)
    assert "config.platforms='cpu' (GLASSJAX_PLATFORMS) leaves it out" in printed


def test_an_unknown_platform_of_the_environment():
    printed, _ = in_fresh_process(COMPUTE.format(files=()), GLASSJAX_PLATFORMS="abacus")
    assert "abacus: no platform of this name is known, only 'cpu', 'cuda'" in printed


@for_each(
    ("path", "message"),
    [("/nowhere.so", "which does not exist"), (os.devnull, "cannot be loaded")],
)
def test_plugins_are_named_by_the_environment(monkeypatch, path, message):
    monkeypatch.setenv("PJRT_NAMES_AND_LIBRARY_PATHS", f"Abacus:{path}")
    with pytest.raises(errors.PlatformError, match=message):
        devices("abacus")


def test_the_versions_of_jaxlib_and_the_plugin_must_be_equal(monkeypatch):
    monkeypatch.setattr(clients, "can_read_all_arrays", lambda: True)
    for name in ("jax_cuda13_plugin", "jax_cuda13_plugin.version"):
        monkeypatch.setitem(sys.modules, name, types.SimpleNamespace(__version__="0.0.1"))
    with pytest.raises(clients.UnavailableError) as caught:
        clients._require_version("13")
    assert f"is of version 0.0.1, jaxlib of {xla.jaxlib_version()}" in caught.value.reason
    assert f"[with-cuda]=={xla.jaxlib_version()}" in caught.value.remedy


def test_an_old_jaxlib_cannot_read_arrays_of_a_gpu(monkeypatch):
    monkeypatch.setattr(clients, "can_read_all_arrays", lambda: False)
    with pytest.raises(clients.UnavailableError, match="too old to read arrays of a GPU"):
        clients._require_version("13")


@pytest.mark.parametrize(
    ("name", "value", "option", "expected"),
    [
        ("python_client_mem_fraction", 0.4, "memory_fraction", 0.4),
        ("python_client_preallocate", False, "preallocate", False),
        ("python_client_allocator", "platform", "allocator", "platform"),
        ("cuda_visible_devices", "0, 2", "visible_devices", [0, 2]),
    ],
)
def test_the_options_of_a_gpus_client(monkeypatch, name, value, option, expected):
    assert platforms._gpu_options().get(option) in (None, "default")
    monkeypatch.setattr(glassjax.config.option(name), "_everywhere", value)
    assert platforms._gpu_options()[option] == expected


def test_xlas_own_variables_are_read(monkeypatch):
    monkeypatch.setenv("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.3")
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    options = platforms._gpu_options()
    assert (options["memory_fraction"], options["preallocate"]) == (0.3, False)


@pytest.fixture(autouse=True)
def _all_platforms_are_allowed(monkeypatch):
    monkeypatch.setattr(glassjax.config.option("platforms"), "_everywhere", None)


pytestmark = pytest.mark.cpu_only  # a GPU, where there is one, has tests of its own


@pytest.fixture
def second(monkeypatch):
    """The devices of another client, which stands for that of GPUs."""
    monkeypatch.setattr(platforms, "_clients", dict(platforms._clients))
    monkeypatch.setattr(platforms, "has_nvidia_device", lambda: True)
    monkeypatch.setattr(platforms, "load_plugin", lambda platform: clients.Plugin("second", None))
    monkeypatch.setattr(platforms, "client_of_plugin", lambda *_: OTHER_CLIENT)
    return devices("cuda")


OTHER_CLIENT = backend.import_module("jaxlib.xla_client").make_cpu_client(num_devices=2)


def test_the_devices_of_two_platforms_are_beside_each_other(second):
    assert len(second) == glassjax.device_count("gpu") == 2
    assert second == glassjax.local_devices(backend="gpu")
    assert set(second).isdisjoint(devices())


def test_a_program_runs_where_its_arguments_lie(second):
    x = device_put(X, second[1])
    assert x.devices() == {second[1]}
    for result in (jit(jnp.sin)(x), jnp.sin(x), x @ x.T, jnp.linalg.inv(x @ x.T + jnp.eye(2))):
        assert result.devices() == {second[1]}
    np.testing.assert_allclose(jit(jnp.sin)(x), np.sin(X), rtol=1e-6)
    np.testing.assert_allclose(lax.fori_loop(0, 3, lambda i, y: y + x, x), 4 * X)
    back = device_put(jnp.sin(x), devices()[0])
    assert back.devices() == {devices()[0]}
    np.testing.assert_allclose(back, np.sin(X), rtol=1e-6)
    assert device_put(jnp.ones(2), second[0]).devices() == {second[0]}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_another_library_may_ask_for_a_copy_on_the_cpu(second, dtype, monkeypatch):
    monkeypatch.setattr(xla, "dlpack_device", lambda buffer: (2, 1))  # as of a GPU
    x = device_put(jnp.asarray(X, dtype), second[1])
    copied = glassjax.dlpack.from_dlpack(x, device=devices("cpu")[0])
    np.testing.assert_array_equal(np.asarray(copied, "float32"), np.asarray(x, "float32"))
    assert type(x.__dlpack__(dl_device=(1, 0))).__name__ == "PyCapsule"
    with pytest.raises(BufferError, match="without a copy"):
        x.__dlpack__(dl_device=(1, 0), copy=False)


def test_dlpack_shares_the_memory_of_an_array_on_a_chosen_device(second):
    x = device_put(X, second[1])
    assert np.shares_memory(np.from_dlpack(x), np.from_dlpack(x))
    np.testing.assert_array_equal(np.from_dlpack(x), X)


def test_arguments_of_two_platforms_do_not_meet(second):
    x, y = device_put(X, second[0]), device_put(X, devices()[0])
    with pytest.raises(ValueError, match="incompatible devices"):
        jit(jnp.add)(x, y)


def test_the_platform_of_a_function_or_of_a_block(second):
    assert jit(jnp.cos, backend="cuda")(1.0).devices() == {second[0]}
    assert jit(jnp.cos, device="cuda")(1.0).devices() == {second[0]}
    with glassjax.default_device("cuda"):
        made = jnp.ones(3) + 1
        assert made.devices() == {second[0]}
        assert random.normal(random.key(0), (3,)).devices() == {second[0]}
    np.testing.assert_array_equal(made, 2.0)


@pytest.mark.skipif(not xla.can_read_all_arrays(), reason="jaxlib cannot read sharded arrays")
def test_a_mesh_of_another_platform(second):
    mesh = glassjax.make_mesh((2,), ("x",), devices=second)
    x = device_put(X, glassjax.NamedSharding(mesh, glassjax.P("x")))
    assert jit(lambda x: x.sum(0))(x).devices() == set(second)
    np.testing.assert_allclose(jit(lambda x: x.sum(0))(x), X.sum(0))


def test_callbacks_run_on_another_platform(second, capsys):
    jit(lambda x: glassjax.debug.print("{}", x))(device_put(3, second[0]))
    glassjax.effects_barrier()
    assert capsys.readouterr().out == "3\n"


def test_pickled_shardings_know_their_platform():
    sharding = glassjax.sharding.SingleDeviceSharding(devices()[0])
    assert pickle.loads(pickle.dumps(sharding)) == sharding


def test_complex_convolutions_are_real_ones_where_xla_has_no_other():
    """XLA has complex convolutions for CPUs only; the text for others runs here, too."""
    rng = np.random.default_rng(0)
    shapes = (1, 2, 9), (4, 2, 3)
    x, k = ((rng.normal(size=s) + 1j * rng.normal(size=s)).astype("c8") for s in shapes)
    function = jit(lambda x, k: lax.conv(x, k, (2,), "SAME"))
    traced = function.trace(x, k)
    text = traced.lower(lowering_platforms=("cuda",)).as_text()
    assert "convolution" in text
    (out,) = traced.out_avals
    buffers = [backend.put(each, glassjax.typeof(each)) for each in (x, k)]
    found = backend.get(backend.compile(text, [out]).execute(buffers)[0])
    np.testing.assert_allclose(found, function(x, k), rtol=1e-5)
    assert not any("complex" in line for line in text.splitlines() if "convolution" in line)


def test_nvidias_libraries_are_loaded_from_their_wheels(monkeypatch, tmp_path):
    """Each after those that it needs; one that cannot be loaded is told of, and the others are."""
    root = tmp_path / "nvidia" / "cu13"
    (root / "lib").mkdir(parents=True)
    (root / "nvvm" / "libdevice").mkdir(parents=True)
    for name in ("libcudnn.so.9", "libcudart.so.13", "libother.so.1"):
        (root / "lib" / name).touch()
    monkeypatch.delenv("CUDA_ROOT", raising=False)
    monkeypatch.setattr(clients, "_nvidia_directories", lambda: iter([str(root)]))
    loaded = []
    monkeypatch.setattr(clients.ctypes, "CDLL", loaded.append)
    assert clients._load_libraries() == []
    assert [os.path.basename(path) for path in loaded] == ["libcudart.so.13", "libcudnn.so.9"]
    assert clients._toolkit() == str(root)
    monkeypatch.undo()
    monkeypatch.setattr(clients, "_nvidia_directories", lambda: iter([str(root)]))
    failures = clients._load_libraries()
    assert [text.partition(" ")[0] for text in failures] == ["libcudart.so.13", "libcudnn.so.9"]
    monkeypatch.setenv("CUDA_ROOT", "/here")
    assert clients._toolkit() == "/here"
