"""The names of JAX that are here, and those that are not, each with the reason."""

import fnmatch
import functools
import importlib
import json
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

# The public names that are absent: by reason, the full names, or patterns of them.
REASONS = {
    "Types of arrays that a user defines are unsupported; a pytree may do.": """
        jax.experimental.EArray jax.experimental.primal_tangent_dtype
        jax.experimental.hijax.HiPspec jax.experimental.hijax.HiType
        jax.experimental.hijax.MappingSpec jax.experimental.hijax.register_hitype""",
    "A process runs Python for its own devices; these send it to other hosts.": """
        jax.experimental.colocated_python.func.*""",
    "A process has one client for each platform, made from the settings when first used.": """
        jax.extend.backend.clear_backends jax.extend.backend.register_backend_factory""",
    "An array is sharded over the named axes of a mesh: use `NamedSharding`.": """
        jax.extend.sharding.GSPMDSharding""",
    "Lowering writes StableHLO as text; these are parts of JAX's lowering to MLIR objects.": """
        jax.interpreters.mlir.AxisContext jax.interpreters.mlir.LoweringParameters
        jax.interpreters.mlir.LoweringResult jax.interpreters.mlir.SPMDAxisContext
        jax.interpreters.mlir.ShapePolyLoweringState jax.interpreters.mlir.ShardingContext
        jax.interpreters.mlir.Token jax.interpreters.mlir.TokenSet
        jax.interpreters.mlir.ir_type_handlers jax.interpreters.mlir.lower_jaxpr_to_*
        jax.interpreters.mlir.lowerable_effects""",
    "They work on the tracers, jaxprs and references inside JAX's interpreters.": """
        jax.custom_derivatives.remat_opt_p jax.extend.core*.eval_jaxpr_transpose
        jax.experimental.hijax.RefAccum jax.experimental.hijax.TransformedRef
        jax.experimental.hijax.control_flow_allowed_effects
        jax.interpreters.ad.jvp jax.interpreters.ad.linearize
        jax.interpreters.partial_eval.custom_partial_eval_rules
        jax.interpreters.partial_eval.lower_jaxpr* jax.interpreters.partial_eval.new_eqn_recipe""",
    "They need a newer ml_dtypes than the oldest that is supported.": """
        jax.numpy.int1 jax.numpy.uint1""",
    "Kernels are interpreted on every device; this is for compilers of TPUs and GPUs.": """
        jax.experimental.pallas.Indirect jax.experimental.pallas.debug_check
        jax.experimental.pallas.delay jax.experimental.pallas.enable_*
        jax.experimental.pallas.get_global jax.experimental.pallas.kernel
        jax.experimental.pallas.lower_as_mlir jax.experimental.pallas.pallas_export_experimental
        jax.experimental.pallas.run_state jax.experimental.pallas.select_ref
        jax.experimental.pallas.semaphore* jax.experimental.pallas.*.*""",
    "They are not written yet.": """
        jax.experimental.layout.explicit_layout jax.lax.psum_scatter_start""",
}


def reason_of(name: str) -> str | None:
    """The reason why a name of JAX is absent; None if none is listed."""
    for reason, patterns in REASONS.items():
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns.split()):
            return reason
    return None


# Modules of JAX that are absent here can be imported, and raise an error where they are used.


@functools.cache
def _names() -> dict[str, Any]:
    text = Path(__file__).with_name("public_names.json").read_text(encoding="utf-8")
    return json.loads(text)


def public_names() -> dict[str, list[str]]:
    """The public names of JAX, by module, except for those for the compilers of kernels."""
    return _names()["modules"]


def names_of(module: str) -> list[str] | None:
    """The public names of a module of JAX; None if there is no such module."""
    return public_names().get(module, _names()["others"].get(module))


class AbsentName:
    """A name of JAX that this library does not have: any use of it is an error."""

    is_absent = True

    def __init__(self, name: str):
        self.__name__ = name

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            f"{self.__name__} is not in glassjax: JAX 0.12 has it, and the program that runs here "
            f"in JAX's place uses it. {reason_of(self.__name__) or ''} "
            "glassjax.coverage() lists what is there"
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # Python asks for these to see what this is
            raise AttributeError(name)
        self._refuse()

    def __or__(self, other: Any) -> Any:  # in an annotation, which is never evaluated further
        return self

    __ror__ = __or__
    __call__ = __getitem__ = __iter__ = __enter__ = __mro_entries__ = _refuse

    def __repr__(self) -> str:
        return f"<{self.__name__}, which is not in glassjax>"


class AbsentLoader(Loader):
    """Makes a module whose names, public or not, are all absent."""

    def __init__(self, module: str):
        self.module = module

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        module.__doc__ = f"{self.module}, which is not in glassjax."

        def absent(name: str) -> AbsentName:
            if name.startswith("__") or names_of(f"{self.module}.{name}") is not None:
                raise AttributeError(name)  # a module is imported by its name
            return AbsentName(f"{self.module}.{name}")

        module.__getattr__ = absent  # type: ignore[method-assign]


def spec_of_absent(fullname: str, module: str) -> ModuleSpec | None:
    """The spec of `fullname` if it is a module of JAX that is not here, or None.

    What is below Pallas changes with JAX's versions, and libraries import it without using it.
    """
    if names_of(module) is None and not module.startswith("jax.experimental.pallas."):
        return None
    return ModuleSpec(fullname, AbsentLoader(module), is_package=True)


# The table of JAX's public names that are here.


def recorded_version() -> str:
    """The version of JAX whose names these are."""
    return _names()["version"]


def missing_names(module: str) -> list[str]:
    """The public names of a module of JAX that are not here."""
    names = public_names()[module]
    try:
        here = importlib.import_module(f"glass{module}")
    except ModuleNotFoundError:
        return names
    return [name for name in names if getattr(getattr(here, name, AbsentName), "is_absent", False)]


def coverage() -> None:
    """Print JAX's public modules, with how many of their names are here and which are not.

    The names are JAX 0.12's, without modules for TPUs, for TensorFlow and for compilers of kernels.

    >>> glassjax.coverage()  # doctest: +ELLIPSIS
    module ... there ... of ... missing
    jax ...
    """
    rows = []
    for module, names in public_names().items():
        if names:
            missing = missing_names(module)
            rows.append((module, len(names) - len(missing), len(names), " ".join(missing)))
    there, count = sum(row[1] for row in rows), sum(row[2] for row in rows)
    rows.append(("in all", there, count, f"{there / count:.1%} are there"))
    width = max(len(row[0]) for row in rows)
    print(f"{'module':{width}}  there    of  missing")
    for row in rows:
        print(f"{row[0]:{width}}  {row[1]:5} {row[2]:5}  {row[3]}".rstrip())
