"""The rules of the repository, checked in its sources."""

import ast
import gc
import importlib
import importlib.metadata
import inspect
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest
from tables import for_each

from benchmarks.lines import total
from tools import words

ROOT = Path(__file__).parents[2]
STAGES = ["glassjax_stage1", "glassjax_stage2", "glassjax_stage3", "glassjax_stage4"]
PACKAGES = [*STAGES, "glassjax_watch", "glassjax"]
DISTRIBUTIONS = [package.replace("_", "-") for package in PACKAGES]
ADDS = {"glassjax_stage2": {"numpy"}, "glassjax_stage3": {"jaxlib"}, "glassjax": {"ml_dtypes"}}
# The packages that one needs, the stages below those included.
BUILDS_ON = {
    "glassjax_stage2": ["glassjax_stage1"],
    "glassjax_stage3": ["glassjax_stage2"],
    "glassjax_stage4": ["glassjax_stage3"],
    "glassjax_watch": ["glassjax_stage1"],  # and watches later stages where they are
    "glassjax": ["glassjax_stage4", "glassjax_watch"],
}
# A stage is read in an afternoon: at most so many code lines.
MOST_LINES = {
    "glassjax_stage1": 233,
    "glassjax_stage2": 1510,
    "glassjax_stage3": 1197,
    "glassjax_stage4": 972,
}
# Imported where they are needed, or where they are.
EXTRAS = {
    "glassjax": {"glassjax-compiled", "jax-cuda13-pjrt", "jax-cuda13-plugin", "rich", "tensorstore"}
}
EXTENSION_MODULES = {"glassjax": {"_glassjax_calls"}}  # of glassjax-compiled

every_package = for_each("package", PACKAGES)


@pytest.fixture(scope="module", autouse=True)
def _trees_are_kept_for_these_tests():
    """The collector takes as long for all syntax trees as it takes to parse them."""
    gc.disable()
    yield
    tree_of.cache_clear()
    imports.cache_clear()
    gc.enable()


def sources(package):
    directory = ROOT / "packages" / package.removeprefix("glassjax_") / "src" / package
    files = sorted(directory.rglob("*.py"))
    assert files
    return files


def module_name(file, package):
    parts = file.relative_to(next(p for p in file.parents if p.name == "src")).with_suffix("").parts
    assert parts[0] == package
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def tree_of(file):
    return ast.parse(file.read_text(encoding="utf-8"), str(file))


@cache
def imports(file, package):
    """The modules that a file imports, wherever in it; `from a import b` counts as both."""
    return list(_imports(tree_of(file), module_name(file, package), file.name == "__init__.py"))


def _imports(tree, module, is_package):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = module.split(".")
                above = above[: len(above) - node.level + is_package]
                base = ".".join([*above, base] if base else above)
            yield base, node
            yield from ((f"{base}.{alias.name}", node) for alias in node.names)
        elif isinstance(node, ast.Call) and "import_module" in vars(node.func).values():
            yield from ((arg.value, node) for arg in node.args if isinstance(arg, ast.Constant))


# 1. A stage stands alone.


@every_package
def test_a_stage_imports_earlier_stages_and_what_it_declares(package):
    earlier = PACKAGES[: PACKAGES.index(package) + 1]
    allowed = {*earlier, *(name for stage in earlier for name in ADDS.get(stage, ()))}
    allowed |= {name.replace("-", "_") for name in EXTRAS.get(package, ())}
    allowed |= EXTENSION_MODULES.get(package, set())
    for file in sources(package):
        for name, node in imports(file, package):
            top = name.partition(".")[0]
            assert top in allowed or top in sys.stdlib_module_names, f"{file}:{node.lineno}: {name}"


@every_package
def test_a_distribution_requires_its_sibling_and_what_it_adds(package):
    directory = ROOT / "packages" / package.removeprefix("glassjax_")
    settings = tomllib.loads((directory / "pyproject.toml").read_text(encoding="utf-8"))
    hook = settings["tool"]["hatch"]["metadata"]["hooks"]["custom"]
    siblings, others = set(), set()
    for requirement in hook.get("dependencies", []):
        name, pin = re.match(r"([\w-]+)(.*)", requirement).groups()
        (siblings if name in DISTRIBUTIONS else others).add(name)
        assert name not in DISTRIBUTIONS or pin == "=={version}"
    assert siblings == {name.replace("_", "-") for name in BUILDS_ON.get(package, ())}
    assert others == ADDS.get(package, set())
    optional = hook.get("optional-dependencies", {}).values()
    extras = {re.match(r"[\w-]+", each).group() for group in optional for each in group}
    assert extras == EXTRAS.get(package, set())


def test_all_have_one_version():
    version = (ROOT / "VERSION").read_text(encoding="utf-8").strip()
    for package, distribution in zip(PACKAGES, DISTRIBUTIONS, strict=True):
        directory = ROOT / "packages" / package.removeprefix("glassjax_")
        project = tomllib.loads((directory / "pyproject.toml").read_text(encoding="utf-8"))
        assert "version" in project["project"]["dynamic"]
        try:
            installed = importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:  # run from the sources
            continue
        assert installed == version


@every_package
def test_types_are_for_users_too(package):
    assert (sources(package)[0].parents[0] / "py.typed").exists()


@for_each("package", STAGES)
def test_a_stage_is_short(package):
    assert total(sources(package)).code <= MOST_LINES[package]


# 2. A stage imports, never copies.


def functions(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def body_without_docstring(function):
    return function.body[1:] if ast.get_docstring(function) else function.body


def test_no_function_stands_twice():
    alike = defaultdict(list)  # by the kinds of their nodes, which are found faster than texts
    for package in PACKAGES:
        for file in sources(package):
            for function in functions(tree_of(file)):
                body = body_without_docstring(function)
                nodes = [node for each in body for node in ast.walk(each)]
                if sum(isinstance(node, ast.stmt) for node in nodes) > 3:
                    place = f"{file.relative_to(ROOT)}:{function.lineno}"
                    alike[tuple(map(type, nodes))].append((place, body))
    where = defaultdict(list)
    for found in alike.values():
        for place, body in found if len(found) > 1 else ():
            where["\n".join(map(ast.dump, body))].append(place)
    assert [places for places in where.values() if len(places) > 1] == []


# 3. A later stage never changes an earlier one.

OBSERVE = """
from importlib import import_module
import glassjax_stage1 as s1

def f(x):
    return s1.mul(x, s1.add(x, 3.0))

def show(rules):
    functions = {str(k): getattr(v, "func", v) for k, v in rules.items()}
    return {k: (v.__module__, v.__qualname__, id(v)) for k, v in functions.items()}

def observe_1():
    return [
        f(2.0), s1.jvp(f, 2.0, 1.0), [s1.nth_order_derivative(n, f, 2.0) for n in range(5)],
        str(s1.build_jaxpr(f, 1)), s1.eval_jaxpr(s1.build_jaxpr(f, 1), (2.0,)),
        {k: id(v) for k, v in vars(s1).items() if not hasattr(v, "__path__") and k[0] != "_"},
        [(k, id(v)) for cls in (s1.Interpreter, s1.JVPInterpreter) for k, v in vars(cls).items()],
        type(s1.current_interpreter()).__name__,
    ]

def observe_2():
    import numpy as np
    import glassjax_stage2 as s2
    def g(x):
        return s2.reduce_sum(s2.sin(x) * x + s2.where(x > 1.0, x, 2.0 * x))
    x = np.arange(3.0)
    results = [
        g(x), s2.jvp(g, (x,), (x,)), s2.vmap(lambda x: x * x)(x), s2.deriv(f)(2.0),
        s2.jacfwd(lambda x: x * x)(x), s2.tree_flatten({"a": [1, (2, None)]}),
        s2.typeof(x), str(s2.current_trace()),
        [type(out).__name__ for out in (g(x), s2.sin(1.0), s2.sin(x), s2.neg(1))],
    ]
    tables = [
        {k: v for k, v in show(rules).items() if k in NAMES}
        for rules in (s2.impl_rules, s2.jvp_rules, s2.vmap_rules)
    ]
    names = {k: id(v) for k, v in vars(s2).items() if not hasattr(v, "__path__") and k[0] != "_"}
    methods = [(k, id(v)) for cls in (s2.Tracer, s2.Trace) for k, v in vars(cls).items()]
    return [repr(results), tables, names, methods]

from glassjax_stage1 import *

before_1 = observe_1()
import glassjax_stage2
assert observe_1() == before_1
NAMES = set(map(str, glassjax_stage2.impl_rules))
before_2 = observe_2()
for later in "glassjax_stage3", "glassjax_stage4", "glassjax":
    import_module(later)
    assert observe_1() == before_1, later
    for x, y in zip(before_2, observe_2(), strict=True):
        assert x == y, (later, x, y)
    assert later == "glassjax" or type(glassjax_stage2.sin(1.0)) is float
"""


def test_importing_a_later_stage_leaves_the_earlier_ones_alone():
    command = [sys.executable, "-c", OBSERVE]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr


# 4. One concept a file, and imports run one way.


def needs_of(module, file, files, package):
    """The modules of its package that a module imports, wherever in the file.

    `from a import b` needs the module `a.b` where there is one, and `a` where `b` is defined there.
    """
    tree = tree_of(file)
    for_type_checkers = {
        node
        for outer in tree.body
        if isinstance(outer, ast.If) and "TYPE_CHECKING" in ast.unparse(outer.test)
        for node in ast.walk(outer)
    }
    needs = set()
    for name, node in imports(file, package):
        if node in for_type_checkers:
            continue
        if isinstance(node, ast.ImportFrom) and all(
            f"{name}.{alias.name}" in files for alias in node.names
        ):
            continue
        needs.add(name)
    return (needs & {*files}) - {module}


@every_package
def test_imports_run_one_way(package):
    """No modules import each other, imports inside functions counted."""
    files = {module_name(file, package): file for file in sources(package)}
    needs = {module: needs_of(module, file, files, package) for module, file in files.items()}
    done = set()
    while needs:
        ready = sorted(module for module, others in needs.items() if others <= done)
        assert ready, f"these import each other: {sorted(needs)}"
        done.update(ready)
        needs = {module: others for module, others in needs.items() if module not in done}


# Modules are imported, not long lists of names.
MOST_NAMES = 4
# Their names are known, as those of Python itself.
CONVENTIONAL = {"collections.abc", "types", "typing"}
# Imports of more names, where a variable has the name of the module. The number may only fall.
MORE_NAMES = 18


def test_names_are_imported_by_their_module():
    """At most four names from one module, but where a public module offers them all."""
    found = []
    for file in sources("glassjax"):
        tree = tree_of(file)
        lists = any("__all__" in ast.unparse(node) for node in tree.body)
        found += [
            f"{file}:{node.lineno}"
            for node in tree.body
            if isinstance(node, ast.ImportFrom) and len(node.names) > MOST_NAMES
            if node.module not in CONVENTIONAL and not lists
        ]
    assert len(found) <= MORE_NAMES, "\n".join(found)


# 5. One client of jaxlib.


def test_one_module_and_one_room_know_jaxlib():
    clients = set()
    for package in PACKAGES:
        for file in sources(package):
            if any(name.partition(".")[0] == "jaxlib" for name, _ in imports(file, package)):
                clients.add(module_name(file, package))
    of_library = {client for client in clients if client.startswith("glassjax.xla.")}
    assert clients - of_library == {"glassjax_stage3.backend"}


# 7. No dependency on jax.


@every_package
def test_no_source_imports_jax(package):
    for file in sources(package):
        tops = {name.partition(".")[0] for name, _ in imports(file, package)}
        assert "jax" not in tops, file


# What a user meets has a docstring.


def public_names(module):
    names = getattr(module, "__all__", None) or [n for n in vars(module) if not n.startswith("_")]
    return [name for name in names if not inspect.ismodule(getattr(module, name))]


@every_package
def test_every_public_name_has_a_docstring(package):
    module = importlib.import_module(package)
    public = {name: getattr(module, name) for name in public_names(module)}
    described = {
        name: value
        for name, value in public.items()
        if inspect.isclass(value) or inspect.isroutine(value)
    }
    assert described
    bare = [
        name
        for name, value in described.items()
        if not inspect.getdoc(value)
        or (inspect.isclass(value) and not value.__doc__)
        or (inspect.isclass(value) and value.__doc__.startswith(f"{value.__name__}("))
    ]
    assert bare == []
    missing = [file for file in sources(package) if not ast.get_docstring(tree_of(file))]
    assert missing == []
    summaries = re.compile(r'"""(?:What|How|Where|Whether|Which) .*')
    indirect = [line for file in sources(package) for line in summaries.findall(file.read_text())]
    assert indirect == [], "summaries begin with a noun or a verb"


def test_what_is_marked_as_a_region_is_shown_by_a_document():
    documents = "\n".join(page.read_text(encoding="utf-8") for page in ROOT.glob("docs/**/*.md"))
    marked = {
        f'file="{file.relative_to(ROOT / "packages/glassjax/src").as_posix()}" region="{region}"'
        for file in sources("glassjax")
        for region in re.findall(r"--8<-- \[start:(\w+)\]", file.read_text(encoding="utf-8"))
    }
    assert marked
    assert {region for region in marked if region not in documents} == set()


def test_no_words_that_the_house_avoids():
    counts = {name: len(found) for name, found in words.hits().items() if found}
    assert counts == {}, "python -m tools.words NAME lists the places"


def test_the_former_name_stands_in_one_line_of_the_changelog():
    """Another project has it on the package index."""
    former = "mini" + "jax"
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    if listed.returncode:
        pytest.skip("not a clone")
    files = [ROOT / name for name in listed.stdout.splitlines()]
    assert not [file for file in files if former in str(file.relative_to(ROOT)).lower()]
    found = [
        f"{file.relative_to(ROOT)}: {line}"
        for file in files
        if file.is_file()
        for line in file.read_text(encoding="utf-8", errors="ignore").splitlines()
        if former in line.lower()
    ]
    assert [line.partition(":")[0] for line in found] == ["CHANGELOG.md"], found
