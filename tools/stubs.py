"""Writes the stubs that show type checkers facades, distributions and the methods of Arrays.

`python -m tools.stubs` updates them after a change of a facade's table, a formula or a signature.
"""

import importlib
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from glassjax.lax import primitive_names
from glassjax.numpy import array_methods
from glassjax.runtime.array import Array
from glassjax.scipy import stats

# Before other modules of the library are imported, which have more.
PRIMITIVES = [primitive_names.attribute_of(each) for each in primitive_names.all_primitives()]
SOURCES = Path(__file__).parents[1] / "packages/glassjax/src"
DISTRIBUTIONS = SOURCES / "glassjax/scipy/stats/__init__.pyi"
METHODS = SOURCES / "glassjax/runtime/array_methods.pyi"
HEAD_OF_METHODS = '''
"""The operators and methods that `glassjax.numpy` gives Arrays."""

from collections.abc import Iterator
from typing import Any, Literal, NoReturn

import glassjax_stage3 as stage3
from glassjax.dtypes import DTypeLike
from glassjax.lax.precision import PrecisionLike
from glassjax.numpy.at import _IndexUpdateHelper
from glassjax.numpy.reductions import Axes
from glassjax.runtime.array import Array, ArrayLike

class ArrayMethods(stage3.Array):
    @property
    def T(self) -> Array: ...
    def transpose(self, *axes: Any) -> Array: ...
'''


def facades() -> Iterator[tuple[str, Path]]:
    """Yield the modules that call `lazy_facade`, and the stub of each."""
    for path in sorted((SOURCES / "glassjax").rglob("*.py")):
        if "\n_lazy_facade(" in path.read_text(encoding="utf-8"):
            parts = path.relative_to(SOURCES).with_suffix("").parts
            yield ".".join(parts).removesuffix(".__init__"), path.with_suffix(".pyi")


def stub(name: str) -> str:
    """The stub of the facade of that name."""
    facade: Any = importlib.import_module(name)
    places = facade.__places__.items()
    imports = [f"from {home} import {n} as {n}" for p, (home, n) in places if n == p]
    imports += [f"import {home}" for p, (home, n) in places if n != p]
    own = {*facade.__all__} - {*facade.__places__}
    aliases = [(p, f"{home}.{n}") for p, (home, n) in places if n != p]
    values = []
    for key, value in vars(facade).items():
        if key in own:
            if isinstance(value, type):
                imports.append(f"import {value.__module__}")
                aliases.append((key, f"{value.__module__}.{value.__qualname__}"))
            else:
                values.append(f"{key}: {None if value is None else type(value).__name__}")
    values += [f"{alias} = {place}" for alias, place in aliases]
    primitives = [f"{each}_p: Primitive" for each in sorted(_primitives(name))]
    imports += ["from glassjax_stage2 import Primitive"] if primitives else []
    return formatted("\n".join([f'"""{facade.__doc__}"""', *imports, *values, *primitives]))


def _primitives(facade: str) -> set[str]:
    """The names of the primitives that a facade has."""
    named = {*PRIMITIVES, *primitive_names.FUNCTIONS, *primitive_names.INLINED}
    places = {*importlib.import_module(facade).__places__}
    if facade == "glassjax.lax":
        return {each for each in named if f"{each}_p" not in places}
    return named & places if facade == "glassjax.lax.linalg" else set()


def stub_of_distributions() -> str:
    """The stub of `glassjax.scipy.stats`, whose modules are made of formulas."""
    modules = [name for name in stats.__all__ if isinstance(getattr(stats, name), ModuleType)]
    functions = [getattr(stats, name) for name in stats.__all__ if name not in modules]
    lines = [f'"""{stats.__doc__}"""', "from glassjax.runtime.array import Array, ArrayLike"]
    lines += [
        f"from {each.__module__} import {each.__name__} as {each.__name__}" for each in functions
    ]
    lines += [line for name in modules for line in _distribution(name)]
    return formatted("\n".join(lines))


def _distribution(name: str) -> Iterator[str]:
    """A distribution as a class of static methods, one for all functions of a signature."""
    module = getattr(stats, name)
    yield f"class {name}:"
    first: dict[str, str] = {}
    for each in module.__all__:
        parameters = inspect.signature(getattr(module, each)).parameters.values()
        signature = ", ".join(map(_parameter, parameters))
        if signature in first:
            yield f"    {each} = {first[signature]}"
        else:
            first[signature] = each
            yield f"    @staticmethod\n    def {each}({signature}) -> Array: ..."


def _parameter(parameter: inspect.Parameter) -> str:
    if parameter.default is None:
        return f"{parameter.name}: None = None"
    has_default = parameter.default is not parameter.empty
    return f"{parameter.name}: ArrayLike" + (f" = {parameter.default}" if has_default else "")


def stub_of_methods() -> str:
    """The stub of the class whose methods Array has from `glassjax.numpy`."""
    return formatted(HEAD_OF_METHODS + "\n".join(map(_method, array_methods.METHODS)))


def _method(name: str) -> str:
    """A method as a line of a class: an operator, a property, or with its function's signature."""
    symbol = name.strip("_")
    if {symbol, symbol.removeprefix("r")} & {*array_methods.OPERATORS, *array_methods.COMPARISONS}:
        out = "tuple[Array, Array]" if symbol.endswith("divmod") else "Array"
        ignored = "  # type: ignore[override]" if symbol in ("eq", "ne") else ""
        return f"    def {name}(self, other: ArrayLike, /) -> {out}: ...{ignored}"
    getattr(Array, name)  # imports it
    function: Any = inspect.getattr_static(Array, name)
    is_property = isinstance(function, property)
    function = function.fget if is_property else function
    signature = inspect.signature(function)
    array, *others = signature.parameters.values()
    receiver = inspect.Parameter("self", array.kind)
    text = str(signature.replace(parameters=[receiver, *others]))
    result = f" -> {function.__name__}" if isinstance(function, type) else ""
    return "    @property\n" * is_property + f"    def {name}{text}{result}: ..."


def formatted(text: str) -> str:
    """A program as `./noxw -s format` leaves it."""
    for options in (["check", "--fix-only", "--select=I,UP037"], ["format"]):
        command = [sys.executable, "-m", "ruff", *options, "-q", "--stdin-filename=x.pyi", "-"]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
        text = done.stdout
    return text


def main() -> None:
    for name, path in facades():
        path.write_text(stub(name), encoding="utf-8")
    DISTRIBUTIONS.write_text(stub_of_distributions(), encoding="utf-8")
    METHODS.write_text(stub_of_methods(), encoding="utf-8")


if __name__ == "__main__":
    main()
