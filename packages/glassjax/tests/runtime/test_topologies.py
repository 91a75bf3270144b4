"""Programs compiled for absent GPUs, where the plugin is installed.

`./noxw -s tests-gpu-compiler` installs it, which needs neither a GPU nor its driver.
"""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from rows import for_each

import glassjax
import glassjax.numpy as jnp
from glassjax import P, ShapeDtypeStruct, errors, jit, lax, random, xla
from glassjax.experimental import plan
from glassjax.plan import absent_devices
from glassjax.xla import clients

needs_plugin = pytest.mark.skipif(
    clients._place_of_cuda() is None, reason="the plugin for GPUs is not installed"
)

MESH = glassjax.sharding.AbstractMesh((4, 2), ("data", "model"))


def compiled(function, *args, gpu="h100"):
    """The optimized program in HLO."""
    text = jit(function).trace(*args).lower(lowering_platforms=("cuda",)).as_text()
    return xla.compile_for_gpus(text, xla.GPUS[gpu], 1, {})[0]


def law():
    """The module of the law: each package has one of that name."""
    file = Path(__file__).parents[1] / "laws/test_law.py"
    spec = importlib.util.spec_from_file_location("law_of_the_library", file)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


WITHOUT_ROUTINES = {"schur", "hessenberg"}  # on GPUs
BY_PRIMITIVE = {}
for example in law().EXAMPLES:
    if example.primitive.name not in WITHOUT_ROUTINES:
        BY_PRIMITIVE.setdefault(example.primitive, []).append(example)


@needs_plugin
@for_each("primitive", BY_PRIMITIVE)
def test_every_primitive_is_compiled(primitive):
    """All examples of the law are one program: XLA knows each operation and each routine."""
    examples = BY_PRIMITIVE[primitive]
    draws = [example.draw() for example in examples]

    def program(*draws):
        return [example(*draw) for example, draw in zip(examples, draws, strict=True)]

    assert "ENTRY" in compiled(program, *draws)


FUNCTIONS = {
    "random": lambda x: random.normal(random.wrap_key_data(x.astype("uint32")[0, :2]), (1000,)),
    "fft": lambda x: jnp.fft.rfft2(x),
    "solve": lambda x: jnp.linalg.solve(x, x),
    "lstsq": lambda x: jnp.linalg.lstsq(x, x)[0],
    "sort": lambda x: (jnp.sort(x), jnp.argsort(x)),
    "attention": lambda x: glassjax.nn.dot_product_attention(*[x[None, :, None]] * 3),
    "loop": lambda x: lax.while_loop(lambda y: y.sum() < 9, lambda y: y * 2, x),
    "gradient": glassjax.grad(lambda x: jnp.linalg.svd(x)[1].sum()),
    "bfloat16": lambda x: x.astype(jnp.bfloat16) @ x.astype(jnp.bfloat16),
    "callback": lambda x: glassjax.debug.print("{}", x),
}


@needs_plugin
@for_each("name", FUNCTIONS)
def test_functions_are_compiled(name):
    assert "ENTRY" in compiled(FUNCTIONS[name], np.eye(4, dtype="float32"))


@needs_plugin
@pytest.mark.parametrize("gpu", xla.GPUS)
def test_plans_for_gpus_count_the_work_that_plans_for_cpus_count(gpu):
    def loss(w, x):
        return jnp.sum(jnp.tanh(x @ w) ** 2)

    w, x = ShapeDtypeStruct((512, 256), "float32"), ShapeDtypeStruct((1024, 512), "float32")
    where = {"mesh": MESH, "in_shardings": (P("model"), P("data", "model"))}
    here, there = (plan(glassjax.grad(loss), w, x, **where, topology=each) for each in (None, gpu))
    assert there.flops == here.flops > 0
    assert there.argument_bytes == here.argument_bytes
    assert there.output_bytes == here.output_bytes
    assert {(c.kind, c.axes, c.bytes) for c in there.collectives} == {
        (c.kind, c.axes, c.bytes) for c in here.collectives
    }
    assert f"on each {gpu} of data=4, model=2" in str(there)


@needs_plugin
@pytest.mark.parametrize("of", ["images", "kernel"])
def test_convolutions_of_cudnn_are_counted(of):
    def loss(kernel, images):
        return jnp.sum(lax.conv(images, kernel, (1, 1), "SAME") ** 2)

    kernel = ShapeDtypeStruct((8, 3, 5, 5), "float32")
    images = ShapeDtypeStruct((16, 3, 64, 64), "float32")
    derivative = glassjax.grad(loss, argnums=0 if of == "kernel" else 1)
    where = {"mesh": MESH, "in_shardings": (P(), P("data"))}
    there = plan(derivative, kernel, images, **where, topology="h100")
    forward = 2 * (16 // 4) * 8 * 64 * 64 * 3 * 5 * 5
    assert there.flops == 2 * forward  # and as much for the derivative


@needs_plugin
def test_what_xla_does_not_compile_for_a_gpu():
    x = ShapeDtypeStruct((8, 8), "float32")
    options = {"xla_nonsense": True}
    with pytest.raises(errors.CompileError, match="xla_nonsense"):
        plan(
            jnp.sum, x, mesh=MESH, in_shardings=P("data"), topology="h100", compiler_options=options
        )


@needs_plugin
def test_the_command_line_takes_a_topology(tmp_path):
    example = tmp_path / "example.py"
    example.write_text(
        "import glassjax.numpy as jnp\n"
        "from glassjax import P, ShapeDtypeStruct\n"
        "def step_and_arguments(mesh):\n"
        "    return jnp.sin, (ShapeDtypeStruct((8, 8), 'float32', sharding=P('data')),)\n"
    )
    command = [sys.executable, "-m", "glassjax.plan", str(example), "--mesh", "data=8"]
    done = subprocess.run(
        [*command, "--topology", "h100", "--json"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["topology"] == "h100"


def test_a_topology_has_a_name():
    with pytest.raises(ValueError, match="topology is one of 'a100', 'h100', 'h200', 'b200'"):
        plan(jnp.sum, np.ones(8), mesh=MESH, topology="abacus")


def test_without_the_plugin_there_is_no_topology(monkeypatch):
    """The process that compiles says what is missing, and the error here passes it on."""
    program = "from glassjax.xla import clients; clients._CUDA_VERSIONS = ('0',)"
    start = f"{program}; from glassjax.plan.absent_devices import _main; _main()"
    run = subprocess.run

    def without_plugin(command, **options):
        return run([sys.executable, "-c", start], **options)

    monkeypatch.setattr(absent_devices.subprocess, "run", without_plugin)
    with pytest.raises(
        errors.PlatformError, match=r"plan: h100 needs.*pip install 'glassjax\[cuda"
    ):
        plan(jnp.sum, np.ones(8, "f4"), mesh=MESH, in_shardings=P("data"), topology="h100")
