"""The public names of JAX: `python -m tools.public_names` writes them for `glassjax.coverage()`.

A name is public in a module if the module lists it in `__all__`, imports it from elsewhere under
the same name by `import x as x`, which is how JAX marks what it exports, or defines it with a
docstring. Modules are those without a leading underscore.
"""

import ast
import importlib
import inspect
import json
import pkgutil
import warnings
from pathlib import Path
from types import ModuleType

import jax

# For the compilers of kernels: listed, and not counted.
OTHERS = "jax.experimental.pallas."
# For TPUs and TensorFlow; finished kernels; jaxlib's own modules, and those of tests and tools.
LEFT_OUT = (
    "jax.experimental.jax2tf", "jax.experimental.mosaic", "jax.experimental.pallas.ops",
    "jax.experimental.thunky", "jax.experimental.x64_context", "jax.extend.mlir",
    "jax.extend.pallas", "jax.jax2tf", "jax.tools", "jax.collect_profile",
    "jax.experimental.topologies",
)  # fmt: skip
FILE = Path("packages/glassjax/src/glassjax/as_jax/public_names.json")


def modules(name: str = "jax") -> dict[str, ModuleType]:
    """The public modules of a package, itself among them."""
    try:
        module = importlib.import_module(name)
    except Exception:  # something that it needs is not installed
        return {}
    found = {name: module}
    for each in pkgutil.iter_modules(getattr(module, "__path__", ())):
        child = f"{name}.{each.name}"
        is_private = each.name.startswith("_") or "test" in each.name
        if not is_private and not child.startswith(LEFT_OUT):
            found |= modules(child)
    return found


def exported(module: ModuleType) -> set[str]:
    """The names that a module imports in the form of an export."""
    tree = ast.parse(inspect.getsource(module))
    return {
        alias.asname
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom | ast.Import)
        for alias in node.names
        if alias.asname == alias.name.rpartition(".")[2]
    }


def public_names(module: ModuleType) -> list[str]:
    """The public names of a module that are no modules."""
    if hasattr(module, "__all__"):
        names = set(module.__all__)
    else:
        names = exported(module)
        for name, value in vars(module).items():
            is_own = getattr(value, "__module__", None) == module.__name__
            if is_own and callable(value) and getattr(value, "__doc__", None):
                names.add(name)
    kept = []
    for name in sorted(names):
        if not name.startswith("_") and not inspect.ismodule(getattr(module, name, module)):
            kept.append(name)
    return kept


def main() -> None:
    warnings.simplefilter("ignore")
    kept = {name: public_names(module) for name, module in sorted(modules().items())}
    others = {name: kept.pop(name) for name in list(kept) if name.startswith(OTHERS)}
    table = {"version": jax.__version__, "modules": kept, "others": others}
    FILE.write_text(json.dumps(table, indent=1) + "\n")
    print(f"{sum(map(len, kept.values()))} names in {len(kept)} modules of JAX {jax.__version__}")
    print(f"not counted: {sum(map(len, others.values()))} names in {len(others)} modules")


if __name__ == "__main__":
    main()
