"""Type checkers accept users' programs, and find mistakes in them."""

import importlib
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rows import for_each

from glassjax.lax.primitive_names import attribute_of

HERE = Path(__file__).parent / "typed"
ROOT = Path(__file__).parents[4]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
MODULES = (
    "", "checkpoints", "core", "custom_batching", "custom_derivatives", "debug", "dlpack", "dtypes",
    "errors", "export", "flatten_util", "image", "lax", "lax.linalg", "nn", "nn.initializers",
    "numpy", "numpy.fft", "numpy.linalg", "ops", "random", "scipy", "scipy.fft", "scipy.integrate",
    "scipy.linalg", "scipy.ndimage", "scipy.optimize", "scipy.signal", "scipy.special",
    "scipy.stats", "sharding", "stages", "test_util", "tree", "tree_util",
    "typing",
)  # fmt: skip


# The library is checked once for both kinds of programs: examples have settings of their own.
MYPY = f"""
[mypy]
strict = true
ignore_missing_imports = true

[mypy-{",".join(path.stem for path in EXAMPLES)}]
disallow_untyped_defs = false
disallow_incomplete_defs = false
disallow_untyped_calls = false
disallow_untyped_decorators = false
disallow_any_generics = false
disallow_subclassing_any = false
warn_return_any = false
strict_equality = false
extra_checks = false
# `__doc__.partition` of a documented module
disable_error_code = union-attr, var-annotated
"""


def found_by_mypy(directory, strict, files):
    """The errors that mypy finds in files: pairs of a path with a line, and a message."""
    settings = directory / "mypy.ini"
    settings.write_text(MYPY)
    command = ["-m", "mypy", "--config-file", str(settings), "--no-pretty"]
    # One for each kind of check: mypy 2.4 mixes up modules and functions that it read from another.
    cache = f"--cache-dir={ROOT / '.mypy_cache' / ('users' if strict else 'examples')}"
    lines = output_of([*command, cache, "--show-absolute-path", *files]).splitlines()
    matches = (re.match(r"(.+?):(\d+): error: (.*)", line) for line in lines)
    return [((m[1], int(m[2])), m[3]) for m in matches if m]


def found_by_pyright(directory, strict, files):
    settings = {
        "typeCheckingMode": "standard" if strict else "basic",
        "reportMissingImports": strict,
        "reportMissingModuleSource": False,
        "reportOptionalMemberAccess": strict,
        "pythonVersion": "{}.{}".format(*sys.version_info),
    }
    (directory / "pyrightconfig.json").write_text(json.dumps(settings))
    command = ["-m", "pyright", "--pythonpath", sys.executable, "--outputjson"]
    found = json.loads(output_of([*command, *files], cwd=directory))["generalDiagnostics"]
    return [
        ((each["file"], each["range"]["start"]["line"] + 1), each["message"])
        for each in found
        if each["severity"] == "error"
    ]


def output_of(command, cwd=None):
    command = [sys.executable, *map(str, command)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


@pytest.fixture(params=[found_by_mypy, found_by_pyright], ids=["mypy", "pyright"])
def errors_in(request, tmp_path):
    name = request.node.callspec.id.partition("-")[0]
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed; the session `types` has it")

    def errors_in(*files, strict=True):
        return request.param(tmp_path, strict, files)

    return errors_in


def test_types_are_inferred_and_mistakes_found(errors_in, tmp_path):
    mistakes, names = HERE / "mistakes.py", tmp_path / "names.py"
    names.write_text(program_of_all_names())
    planted = {
        (str(mistakes), number)
        for number, line in enumerate(mistakes.read_text().splitlines(), 1)
        if line.endswith("# mistake")
    }
    found = errors_in(HERE / "expected.py", mistakes, names)
    assert not [each for each in found if each[0] not in planted]
    assert not planted - {place for place, _ in found}


def test_examples_have_no_errors(errors_in):
    assert not errors_in(*EXAMPLES, strict=False)


def program_of_all_names():
    """A program that names everything public, which no checker may miss."""
    lines = []
    for each in MODULES:
        module = ".".join(filter(None, ("glassjax", each)))
        alias = module.replace(".", "_")
        lines.append(f"import {module} as {alias}")
        lines += [f"{alias}.{name}" for name in importlib.import_module(module).__all__]
    return "\n".join(lines)


@for_each("name", ["lax", "lax.linalg"])
def test_declared_primitives_are_there(name):
    module = importlib.import_module(f"glassjax.{name}")
    stub = Path(module.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    declared = re.findall("^([a-z0-9_]+_p): Primitive$", stub, re.MULTILINE)
    assert len(declared) > 10
    for each in declared:
        assert f"{attribute_of(getattr(module, each))}_p" == each
