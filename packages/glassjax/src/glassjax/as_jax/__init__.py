"""Programs written for JAX, run by glassjax without a change.

`install_as_jax()` in a program, `python -m glassjax.as_jax train.py` for a whole program,
`pytest -p glassjax.as_jax` for a suite of tests.
"""

import importlib
import logging
import os
import sys
from collections.abc import Iterable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import Distribution, DistributionFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from glassjax import version as version_of_library
from glassjax.as_jax.names import AbsentLoader, coverage, spec_of_absent
from glassjax.as_jax.private import MODULES, PrivateLoader, private_spec, set_attributes
from glassjax.runtime.nesting import Stagings
from glassjax.settings.config import config
from glassjax.xla.clients import import_module

VERSION = "0.12.0.1"
SHIM = str(Path(__file__).parent / "shim")
VARIABLE = "GLASSJAX_AS_JAX"

# The modules that `import jax` imports, too: programs look for them in sys.modules.
_IMPORTED_WITH_JAX = (
    "jax._src", "jax._src.numpy.util", "jax.api_util", "jax.core", "jax.custom_batching",
    "jax.custom_derivatives", "jax.debug", "jax.distributed", "jax.dlpack", "jax.dtypes",
    "jax.errors", "jax.experimental.compilation_cache.compilation_cache", "jax.export", "jax.ffi",
    "jax.image", "jax.interpreters.ad", "jax.interpreters.batching", "jax.interpreters.mlir",
    "jax.interpreters.partial_eval", "jax.interpreters.pxla", "jax.interpreters.xla",
    "jax.lax.linalg", "jax.lib", "jax.monitoring", "jax.nn.initializers", "jax.numpy.fft",
    "jax.numpy.linalg", "jax.ops", "jax.profiler", "jax.random", "jax.ref", "jax.scipy",
    "jax.sharding", "jax.stages", "jax.tree", "jax.tree_util", "jax.typing", "jax.version",
)  # fmt: skip

_ELSEWHERE = {
    "jax.extend.mlir": "jaxlib.mlir",
    **{f"jax._src.{name}": here for name, here in MODULES.items() if isinstance(here, str)},
}


def install_as_jax(version: str = VERSION) -> None:
    """Let `import jax` mean glassjax, in this process and those that it starts.

    `jax`, `jax.numpy` and all other modules are then the very modules of glassjax; `jaxlib` stays
    the real one. `jax.make_jaxpr` nests calls as JAX does, for programs that read its result.
    Programs that read `jax.__version__`, or ask for the installed version of `jax`,
    find `version`. Processes started from here do the same, by the environment variables
    `GLASSJAX_AS_JAX` and `PYTHONPATH`. A second call changes the version. Settings are taken from
    JAX's environment variables, such as `JAX_ENABLE_X64`, where glassjax's own are not set.

    Arguments:
        version: a version of JAX, "0.12.0.1" by default.

    Raises:
        ImportError: JAX is imported already.
        NotImplementedError: an environment variable asks for what glassjax has not.
        ValueError: `version` is not of the form "1.2.3", or an environment variable cannot be read.

    >>> glassjax.install_as_jax()
    >>> import jax
    >>> jax is glassjax, jax.__version__
    (True, '0.12.0.1')
    >>> from glassjax.as_jax import remove_as_jax
    >>> remove_as_jax()
    """
    numbers = version.split(".") if isinstance(version, str) else []
    if len(numbers) < 3 or not all(part.isdigit() for part in numbers[:3]):
        raise ValueError(
            f"install_as_jax: version is a version of JAX such as {VERSION!r}, got {version!r}"
        )
    imported = sys.modules.get("jax")
    if imported is not None and not _is_alias(imported):
        raise ImportError(
            f"install_as_jax: JAX itself is imported already, from {imported.__file__}, and its "
            "importers would keep it; call install_as_jax() before anything imports jax"
        )
    config.update_from_jax_environment()
    remove_as_jax()
    sys.meta_path.insert(0, _Finder(version))
    sys.meta_path.append(_FinderOfAbsent())
    version_of_library.stand_in_for(version)
    set_attributes()
    Stagings.nest = True
    logging.getLogger("glassjax").parent = logging.getLogger("jax")  # programs listen to it
    os.environ[VARIABLE] = version
    _set_python_path([SHIM, *_python_path()])


def remove_as_jax() -> None:
    """Take `install_as_jax` back: `import jax` means JAX again, where JAX is installed.

    Programs that imported it before keep what they have.
    """
    own = (_Finder, _FinderOfAbsent)
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, own)]
    modules = dict(sys.modules)
    for name, module in modules.items():
        is_made = isinstance(getattr(module, "__loader__", None), AbsentLoader | PrivateLoader)
        if is_made or (_is_of_jax(name) and _is_alias(module)):
            del sys.modules[name]
            parent, _, child = name.rpartition(".")
            if is_made or name in _ELSEWHERE:
                vars(modules[parent]).pop(child, None)
    version_of_library.stand_in_for(None)
    Stagings.nest = False
    logging.getLogger("glassjax").parent = logging.root
    os.environ.pop(VARIABLE, None)
    _set_python_path([path for path in _python_path() if path != SHIM])


def is_installed_as_jax() -> bool:
    """Return whether `import jax` means glassjax."""
    return any(isinstance(finder, _Finder) for finder in sys.meta_path)


def import_as_jax(name: str) -> None:
    """Put glassjax in the place of the package `jax` that is being imported from a file."""
    install_as_jax(os.environ.get(VARIABLE, VERSION))
    sys.modules.pop(name, None)
    __import__(name)  # finds glassjax; `import` then takes it from sys.modules


def _is_of_jax(name: str) -> bool:
    return name == "jax" or name.startswith("jax.")


def _name_here(name: str) -> str | None:
    """The name of the module here; None for a private one that is not here."""
    package = name
    while package and package not in _ELSEWHERE:
        package = package.rpartition(".")[0]
    if package:
        return _ELSEWHERE[package] + name.removeprefix(package)
    return None if name.startswith("jax._src.") else f"glass{name}"


def _is_alias(module: ModuleType) -> bool:
    """Return True if a module that is imported by a name of JAX is one of ours."""
    return module.__name__.partition(".")[0] in ("glassjax", "jaxlib") or _is_shim(module)


def _is_shim(module: ModuleType) -> bool:
    """The package `jax` of a file that calls `import_as_jax`, while it is being imported."""
    return hasattr(module, "__glassjax_shim__")


def _python_path() -> list[str]:
    text = os.environ.get("PYTHONPATH")
    return text.split(os.pathsep) if text else []


def _set_python_path(paths: Iterable[str]) -> None:
    text = os.pathsep.join(paths)
    if text:
        os.environ["PYTHONPATH"] = text
    else:
        os.environ.pop("PYTHONPATH", None)


class _Finder(DistributionFinder):
    """Finds the modules of glassjax by their names in JAX, and a distribution named jax."""

    def __init__(self, version: str):
        self.version = version

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not _is_of_jax(fullname):
            return None
        made, ours = private_spec(fullname), _name_here(fullname)
        if made or ours is None:
            return made
        parent, _, _ = ours.rpartition(".")
        if parent:
            # Not importlib.util.find_spec, which would find a module that is not part of a package.
            package = importlib.import_module(parent)
            has_file = PathFinder.find_spec(ours, getattr(package, "__path__", [])) is not None
            if not has_file and ours not in sys.modules:
                return spec_of_absent(fullname, fullname)
        return ModuleSpec(fullname, _Loader(ours))

    def find_distributions(
        self, context: DistributionFinder.Context | None = None
    ) -> Iterable[Distribution]:
        wanted = None if context is None else context.name
        return [_Metadata(self.version)] if wanted in (None, "jax") else []

    def invalidate_caches(self) -> None:
        """There are none."""


class _FinderOfAbsent(MetaPathFinder):
    """Finds modules of JAX that are not here where `from jax.experimental import x` looks for them.

    That is in the package of glassjax, and so this finder is the last.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        root, _, rest = fullname.partition(".")
        if root != "glassjax":
            return None
        private = f"jax._src.{rest}"  # as in `from jax._src.numpy import util`
        if "." in rest and (private in _ELSEWHERE or private_spec(private)):
            return ModuleSpec(fullname, _Loader(private))
        return spec_of_absent(fullname, f"jax.{rest}")


class _Loader(Loader):
    """Gives the module of glassjax as it is, with the `__spec__` that it has."""

    def __init__(self, name: str):
        self.name = name

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module: ModuleType = import_module(self.name)  # jaxlib has to be imported in one way
        self.spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has put the spec of the other name into the module.
        module.__spec__ = self.spec
        if self.name == "glassjax":
            for name in _IMPORTED_WITH_JAX:
                importlib.import_module(name)


class _Metadata(Distribution):
    """The distribution named jax, as `importlib.metadata` shows it."""

    def __init__(self, version: str):
        self._text = f"Metadata-Version: 2.1\nName: jax\nVersion: {version}\n"

    def read_text(self, filename: str) -> str | None:
        return self._text if filename == "METADATA" else None

    def locate_file(self, path: Any) -> Any:
        return Path(SHIM, path)


def pytest_addoption() -> None:
    """Install the alias. It is the first that pytest calls, before anything else is imported."""
    install_as_jax()


__all__ = [
    "coverage", "import_as_jax", "install_as_jax", "is_installed_as_jax", "remove_as_jax",
]  # fmt: skip
