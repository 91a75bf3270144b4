"""`import jax` imports glassjax, even where JAX is installed."""

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import jax
import numpy as np
import pytest
from tables import for_each

import glassjax
from glassjax.as_jax import VERSION, remove_as_jax
from glassjax.as_jax.names import missing_names
from glassjax.experimental import hijax

ROOT = Path(__file__).parents[2]


DISTRIBUTION = ROOT / "packages" / "glassjax-as-jax"


def run(program, *arguments, **environment):
    """What a program prints, in a process of its own; it may fail."""
    command = [sys.executable, *arguments] if arguments else [sys.executable, "-c"]
    if program:
        command.append(textwrap.dedent(program))
    done = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | environment, timeout=120
    )
    return done.stdout + done.stderr[-2000:]


def test_modules_are_the_very_ones_until_it_is_taken_back():
    out = run("""
        import sys
        import glassjax
        glassjax.install_as_jax()
        import jax
        import jax.numpy as jnp
        import jax.scipy.special as special
        import jaxlib
        from importlib.metadata import version
        from jax import lax
        from jax.experimental import mesh_utils
        from jax.tree_util import tree_map

        assert jax is glassjax and sys.modules["jax.numpy"] is jnp is glassjax.numpy
        assert lax is glassjax.lax and special is glassjax.scipy.special
        assert mesh_utils is glassjax.experimental.mesh_utils
        assert tree_map is glassjax.tree_util.tree_map
        assert jnp.__spec__.name == "glassjax.numpy" and jax.__spec__.name == "glassjax"
        assert jaxlib.__name__ == "jaxlib" and "jaxlib.mlir" not in sys.modules
        print(jax.__version__, version("jax"), jax.__version_info__, jax.grad(jnp.sin)(0.0))

        # It can be taken back, and given in another version.
        import os
        from glassjax.as_jax import is_installed_as_jax, remove_as_jax
        remove_as_jax()
        before = dict(os.environ)
        for chosen in ("0.9.1", "0.12.0"):
            glassjax.install_as_jax(chosen)
            import jax, jax.numpy
            assert is_installed_as_jax() and jax.__version__ == chosen
        remove_as_jax()
        assert not is_installed_as_jax() and dict(os.environ) == before
        ours = glassjax.__version__
        import jax, jax.numpy
        assert jax is not glassjax and jax.__version__ != ours
        print(jax.numpy.__name__, jax.numpy.__spec__.name)
    """)
    assert out.split() == [
        VERSION,
        VERSION,
        "(0,",
        "12,",
        "0,",
        "1)",
        "1.0",
        "jax.numpy",
        "jax.numpy",
    ]


def test_it_refuses_where_jax_is_imported():
    assert jax.__name__ == "jax"
    with pytest.raises(ImportError, match="JAX itself is imported already"):
        glassjax.install_as_jax()
    assert sys.modules["jax"] is jax
    assert jax.jit(lambda x: x + 1)(1) == 2


@for_each("text", ["", "12", "0.12", "a.b.c", None, 0.12])
def test_versions_are_numbers(text):
    with pytest.raises(ValueError, match="version is a version of JAX"):
        glassjax.install_as_jax(text)


def test_processes_and_threads_do_the_same():
    out = run("""
        import subprocess, sys, threading
        import glassjax
        glassjax.install_as_jax("0.11.5")
        thread = threading.Thread(target=exec, args=("import jax; print(jax.__name__)", {}))
        thread.start()
        thread.join()
        program = "import jax, jax.numpy; print(jax.__name__, jax.numpy.__name__, jax.__version__)"
        print(subprocess.check_output([sys.executable, "-c", program], text=True))
        glassjax.as_jax.remove_as_jax()
        program = "import jax; print(jax.__name__)"
        print(subprocess.check_output([sys.executable, "-c", program], text=True))
    """)
    assert out.split() == ["glassjax", "glassjax", "glassjax.numpy", "0.11.5", "jax"]


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(
        "import sys\nimport beside\nimport jax\n"
        "print(__name__, jax.__name__, jax.__version__, sys.argv[1:], beside.x)\n"
    )
    (tmp_path / "beside.py").write_text("x = 3\n")
    return path


def test_programs_from_the_command_line(script):
    words = ["__main__", "glassjax", VERSION, "['--steps',", "'3']", "3"]
    assert run("", "-m", "glassjax.as_jax", str(script), "--steps", "3").split() == words
    command = [
        sys.executable,
        "-m",
        "glassjax.as_jax",
        "--version=0.10.0",
        "-m",
        "train",
        "-m",
        "x",
    ]
    out = subprocess.check_output(command, text=True, cwd=script.parent)
    assert out.split() == ["__main__", "glassjax", "0.10.0", "['-m',", "'x']", "3"]
    assert "there is no file nowhere.py" in run("", "-m", "glassjax.as_jax", "nowhere.py")


def test_suites_of_tests(tmp_path):
    path = tmp_path / "test_it.py"
    path.write_text("import jax\ndef test_name():\n    assert jax.__name__ == 'glassjax'\n")
    out = run(
        "", "-m", "pytest", "-q", "-p", "glassjax.as_jax", "-p", "no:cacheprovider", str(path)
    )
    assert "1 passed" in out


def test_what_is_absent_says_so_where_it_is_used():
    out = run("""
        import glassjax
        glassjax.install_as_jax()
        import jax.experimental.pallas.mosaic_gpu as plgpu
        from jax.experimental.pallas import mosaic_gpu
        from jax.experimental.pallas.mosaic_gpu import Barrier
        assert plgpu is mosaic_gpu
        print(repr(Barrier))
        for use in (lambda: Barrier([]), lambda: Barrier.x, lambda: plgpu.kernel(print)):
            try:
                use()
            except NotImplementedError as error:
                print(error)
        try:
            import jax.nowhere
        except ModuleNotFoundError as error:
            print(error)
        try:
            from jax.numpy import nowhere
        except ImportError as error:
            print("no name")
    """).splitlines()
    module = "jax.experimental.pallas.mosaic_gpu"
    assert out[0] == f"<{module}.Barrier, which is not in glassjax>"
    assert out[1].startswith(f"{module}.Barrier is not in glassjax")
    assert out[3].startswith(f"{module}.kernel is not in glassjax")
    assert out[4:] == ["No module named 'jax.nowhere'", "no name"]


def test_the_distribution_is_the_alias():
    """It is one named jax, too, of the version that the alias tells, with the same module."""
    hook = (DISTRIBUTION / "hatch_jax.py").read_text(encoding="utf-8")
    assert re.search(r'^JAX = "(.*?)"', hook, re.MULTILINE)[1] == f"{VERSION}+glassjax"
    module = DISTRIBUTION / "src" / "jax" / "__init__.py"
    shim = ROOT / "packages/glassjax/src/glassjax/as_jax/shim/jax/__init__.py"
    assert module.read_text() == shim.read_text()
    out = run(
        "import jax, jax.numpy, glassjax; print(jax is glassjax, jax.numpy is glassjax.numpy)",
        PYTHONPATH=os.pathsep.join([str(module.parents[1]), os.environ.get("PYTHONPATH", "")]),
    )
    assert out.split() == ["True", "True"]


def test_taking_it_back_twice_is_once():
    remove_as_jax()
    remove_as_jax()
    assert sys.modules["jax"] is jax


def test_hijax_can_be_imported_and_says_what_it_lacks():
    class Point(hijax.HiType):
        norm = hijax.aval_method(len)
        x = hijax.aval_property(fget=len)

    with pytest.raises(NotImplementedError, match="Point: types of hijax"):
        Point()
    zero = hijax.Zero(hijax.ShapedArray((2,), np.dtype("float32")))
    assert np.asarray(hijax.instantiate_zeros(zero)).tolist() == [0.0, 0.0]
    assert hijax.instantiate_zeros(1.5) == 1.5


def test_values_of_types_of_hijax_are_refused():
    class Box:
        def __getattr__(self, name):
            return glassjax.typeof(self)

    hijax.register_hitype(Box, lambda box: None)
    with pytest.raises(NotImplementedError, match="type Box, which was registered"):
        glassjax.jit(lambda box: box)(Box())


def test_what_hijax_lacks_is_listed():
    missing = missing_names("jax.experimental.hijax")
    assert {"HiType", "register_hitype"} <= set(missing)
    assert "Zero" not in missing
