"""Export of compiled functions, to be called in another process without their Python source.

The names are those of `jax.export`. An exported function is a StableHLO module in a portable
format, which other versions of XLA can read, with the names, types and structures of arguments and
results.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minijax import xla
from minijax.errors.classes import TreeMismatchError
from minijax.errors.tracebacks import hiding_frames
from minijax.exporting.call import PortableProgram, constant_p
from minijax.exporting.format import (
    aval_to_json,
    avals_from_json,
    malformed,
    pack,
    register_namedtuple_serialization,
    register_pytree_node_serialization,
    tree_from_json,
    tree_to_json,
    unpack,
)
from minijax.runtime.ahead_of_time import Traced
from minijax.runtime.evaluation import evaluated_by_library
from minijax_stage2 import ShapedArray, Tracer, tree_flatten, typeof
from minijax_stage2.shown import shown
from minijax_stage2.tree import PyTreeDef, explain_mismatch
from minijax_stage3 import Jaxpr, JaxprEqn
from minijax_stage3.lowering import lower_to_module

__all__ = [
    "Exported", "deserialize", "export", "register_namedtuple_serialization",
    "register_pytree_node_serialization",
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Exported:
    """A function as a program that is independent of its Python source.

    Attributes:
        fun_name: the name of the function.
        in_tree: structure of the pair of its positional and keyword arguments.
        in_avals: the types of their leaves.
        out_tree: structure of the result.
        out_avals: the types of its leaves.
        platforms: where the program can run.
        program: the program.

    >>> exported = minijax.export.export(minijax.jit(lambda x: {"twice": 2 * x}))(jnp.ones(3))
    >>> exported.in_avals, exported.call(jnp.arange(3.0))
    ((ShapedArray(f32[3]),), {'twice': Array([0., 2., 4.], dtype=float32)})
    """

    fun_name: str
    in_tree: PyTreeDef
    in_avals: tuple[ShapedArray, ...]
    out_tree: PyTreeDef
    out_avals: tuple[ShapedArray, ...]
    platforms: tuple[str, ...]
    program: PortableProgram

    @property
    def mlir_module_serialized(self) -> bytes:
        """The StableHLO module in its portable form, which any XLA reads."""
        return self.program.data

    @property
    def nr_devices(self) -> int:
        """The number of devices that the program runs on."""
        return 1

    def mlir_module(self) -> str:
        """The StableHLO module as text."""
        return self.program.text

    @evaluated_by_library
    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program, also inside a jitted function.

        Raises:
            TypeError: structure or types of the arguments differ from those at export.
            NotImplementedError: it is differentiated or mapped.
        """
        leaves, in_tree = tree_flatten((args, kwargs))
        if in_tree != self.in_tree:
            raise TreeMismatchError(
                f"the exported `{self.fun_name}` takes arguments of another structure: "
                f"{explain_mismatch(self.in_tree, (args, kwargs), name='(args, kwargs)')}"
            )
        found = [typeof(leaf) for leaf in leaves]
        for number, (takes, aval) in enumerate(zip(self.in_avals, found, strict=True)):
            if takes.strip_weak_type() is not aval.strip_weak_type():
                raise TypeError(
                    f"the exported `{self.fun_name}` takes {takes} as leaf {number} of its "
                    f"arguments, found {aval}"
                )
        return self.out_tree.unflatten(self.program(*leaves))

    def serialize(self) -> bytearray:
        """The exported function as bytes, for `deserialize`.

        Raises:
            ValueError: arguments or results contain a class that is not registered for
                serialization.
        """
        header = {
            "fun_name": self.fun_name,
            "in_tree": tree_to_json(self.in_tree, "the arguments"),
            "in_avals": [aval_to_json(aval) for aval in self.in_avals],
            "out_tree": tree_to_json(self.out_tree, "the results"),
            "out_avals": [aval_to_json(aval) for aval in self.out_avals],
            "platforms": list(self.platforms),
            "jaxlib": xla.jaxlib_version(),
        }
        return pack(header, self.program.data)


@hiding_frames
def export(
    fun_jit: Callable[..., Any], *, platforms: Sequence[str] | None = None
) -> Callable[..., Exported]:
    """Export a jitted function.

    Arguments:
        fun_jit: a jitted function.
        platforms: None or `["cpu"]`.

    Returns:
        A function of the same arguments, of which only the types matter: anything with a shape and
        a dtype may replace an array. It returns an `Exported`. Static arguments are compiled in,
        and are not arguments of the exported function.

    Raises:
        TypeError: `fun_jit` is not jitted.
        ValueError: there is no such platform; when called, the function closes over tracers, or
            has callbacks.

    >>> import minijax
    >>> import minijax.numpy as jnp
    >>> exported = export(minijax.jit(lambda x: {"twice": 2 * x}))(jnp.zeros(3))
    >>> data = exported.serialize()
    >>> deserialize(data).call(jnp.arange(3.0))
    {'twice': Array([0., 2., 4.], dtype=float32)}
    """
    if not hasattr(fun_jit, "trace") or not hasattr(fun_jit, "lower"):
        raise TypeError(
            f"export: expected what `jit` returns, found {shown(fun_jit)}; jit it first"
        )
    if platforms is not None and list(platforms) != ["cpu"]:
        raise ValueError(f"export: platforms has to be None or ['cpu'], found {platforms!r}")

    @hiding_frames
    def export_for(*args: Any, **kwargs: Any) -> Exported:
        return _exported(fun_jit.trace(*args, **kwargs))

    return export_for


def _exported(traced: Traced) -> Exported:
    closed = traced.jaxpr
    if any(isinstance(x, Tracer) for x in closed.consts):
        raise ValueError(
            f"export: `{traced.fun_name}` closes over values of a transformation that is running; "
            "pass them as arguments"
        )
    in_avals, out_avals = tuple(closed.in_avals), tuple(closed.out_avals)
    text = lower_to_module(_with_constants_inside(closed.jaxpr, closed.consts), traced.fun_name)
    if xla.calls_python(text):
        raise ValueError(
            f"export: `{traced.fun_name}` calls Python functions of this process, by a callback or "
            "debug.print, and they cannot leave it; export a function without them"
        )
    program = PortableProgram(traced.fun_name, xla.to_portable(text), in_avals, out_avals)
    return Exported(
        traced.fun_name, traced.in_tree, in_avals, traced.out_tree, out_avals, ("cpu",), program
    )


def _with_constants_inside(jaxpr: Jaxpr, consts: Sequence[Any]) -> Jaxpr:
    """The same program with its constants in its text instead of passed as arguments."""
    eqns = [
        JaxprEqn(constant_p, [], [var], {"value": np.asarray(x, var.aval.dtype)})
        for var, x in zip(jaxpr.constvars, consts, strict=True)
    ]
    return Jaxpr([], jaxpr.invars, [*eqns, *jaxpr.eqns], jaxpr.outvars)


def deserialize(blob: bytes | bytearray) -> Exported:
    """The exported function from the result of `Exported.serialize`.

    The bytes contain a program, not Python code. A digest detects damage, not malice: jaxlib reads
    the program, and a forged one may crash it.

    Arguments:
        blob: the bytes.

    Raises:
        ValueError: they are not an exported function, are damaged, malformed or newer than this
            version of minijax, or name a class that is not registered here; when called, they are
            newer than this version of jaxlib, or the program does not match their header.

    >>> from minijax.export import deserialize, export
    >>> data = export(minijax.jit(jnp.cumsum))(jnp.ones(3)).serialize()
    >>> deserialize(data).call(jnp.array([1.0, 2.0, 3.0]))
    Array([1., 3., 6.], dtype=float32)
    """
    header, data = unpack(blob)
    match header:
        case {"fun_name": str(name), "platforms": ["cpu"]}:
            pass
        case _:
            raise malformed("the name of a function, for the CPU", header)
    trees = tree_from_json(header.get("in_tree")), tree_from_json(header.get("out_tree"))
    avals = avals_from_json(header.get("in_avals")), avals_from_json(header.get("out_avals"))
    for tree, types in zip(trees, avals, strict=True):
        if tree.num_leaves != len(types):
            raise malformed(f"a type for each leaf of {tree}", types)
    (in_tree, out_tree), (in_avals, out_avals) = trees, avals
    program = PortableProgram(name, data, in_avals, out_avals)
    return Exported(name, in_tree, in_avals, out_tree, out_avals, ("cpu",), program)
