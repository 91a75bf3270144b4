"""Exported functions: `export`, `Exported`, `deserialize`."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax import xla
from glassjax.dimensions.scopes import SymbolicScope, scope_of
from glassjax.dimensions.solving import fits
from glassjax.errors import TreeMismatchError
from glassjax.errors.tracebacks import hiding_frames
from glassjax.export import format as jax_format
from glassjax.export import saved
from glassjax.export.call import (
    PLATFORM_NUMBER,
    AbstractShardings,
    PortableProgram,
    constant_p,
    effectful_call_exported_p,
    words_type,
)
from glassjax.export.format import malformed
from glassjax.ffi import effectful_ffi_call_p, ffi_call_p
from glassjax.lax.control_flow.conditionals import switch
from glassjax.lax.key_arrays import random_unwrap, random_unwrap_p, random_wrap_p
from glassjax.primitives.axes import plain_type
from glassjax.runtime import pipeline
from glassjax.runtime.effects import has_effects
from glassjax.runtime.evaluation import eval_context, evaluated_by_library
from glassjax.runtime.jax_params import read_jaxpr
from glassjax.runtime.jit import jit
from glassjax.runtime.pipeline import Compilation, CompileOptions
from glassjax.runtime.places import Places, Shardings
from glassjax.runtime.program import has_addresses
from glassjax.runtime.stages import Traced, known_platforms
from glassjax.runtime.staging import struct_of
from glassjax.runtime.symbolic_modules import dynamic
from glassjax.settings.number_types import implementation_of, is_key_type
from glassjax.shardings.memories import in_space, space_of
from glassjax.shardings.mesh import AbstractMesh, AxisType, Mesh, get_abstract_mesh
from glassjax.shardings.partition_spec import PartitionSpec
from glassjax.shardings.sharding import NamedSharding, Sharding
from glassjax.shardings.types import ShardedArray, leave_to_compiler, reshard_p, unsharded
from glassjax.transforms.autodiff import vjp
from glassjax.transforms.custom_derivatives import custom_vjp
from glassjax.version import installed_version
from glassjax_stage2 import ShapedArray, bind, bind1, typeof
from glassjax_stage2.errors import shown
from glassjax_stage2.shaped_array import float0
from glassjax_stage2.tangent import tangent_type
from glassjax_stage2.tree import PyTreeDef, explain_mismatch, keystr, tree_flatten_with_path
from glassjax_stage3 import Jaxpr, JaxprEqn, Var
from glassjax_stage3.jaxpr import consts_as_invars, inner_jaxprs
from glassjax_stage3.jit import jit_p


def default_export_platform() -> str:
    """The default platform of exported functions: the default device's.

    >>> glassjax.export.default_export_platform() in ("cpu", "cuda")
    True
    """
    return xla.platform_of()


foreign_calls = (ffi_call_p, effectful_ffi_call_p)

# The supported versions of JAX's calling convention: the newest.
minimum_supported_calling_convention_version = 10
maximum_supported_calling_convention_version = 10


@dataclass(frozen=True)
class DisabledSafetyCheck:
    """A check that an exported function skips, made by `platform` or `custom_call`.

    >>> check = glassjax.export.DisabledSafetyCheck.custom_call("mine")
    >>> check, check.is_custom_call()
    (custom_call:mine, 'mine')
    """

    _impl: str

    @classmethod
    def platform(cls) -> "DisabledSafetyCheck":
        """Skip the check that the program runs on a platform that it was exported for."""
        return cls("platform")

    @classmethod
    def custom_call(cls, target_name: str) -> "DisabledSafetyCheck":
        """Skip the check of a foreign function, by its name."""
        return cls(f"custom_call:{target_name}")

    def is_custom_call(self) -> str | None:
        """Return the name of the foreign function; None for another check."""
        kind, _, name = self._impl.partition(":")
        return name if kind == "custom_call" and name else None

    def __str__(self) -> str:
        return self._impl

    __repr__ = __str__


@dataclass(frozen=True, eq=False)
class Exported:
    """A function as a program that is independent of its Python source.

    Attributes:
        fun_name: the name of the function.
        in_tree: structure of the pair of its positional and keyword arguments.
        in_avals: the types of their leaves.
        out_tree: structure of the result.
        out_avals: the types of its leaves.
        platforms: the platforms that the program can run on.
        program: the program.
        disabled_safety_checks: the checks to skip.
        get_vjp: returns the exported derivative; None if there is none.

    >>> exported = glassjax.export.export(glassjax.jit(lambda x: {"twice": 2 * x}))(jnp.ones(3))
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
    disabled_safety_checks: tuple[DisabledSafetyCheck, ...] = ()
    get_vjp: "Callable[[], Exported] | None" = field(default=None, repr=False)

    @property
    def mlir_module_serialized(self) -> bytes:
        """The StableHLO module in its portable form, which any XLA reads.

        The first argument of a module for several platforms is the number of the platform.
        """
        return self.program.module

    @property
    def calling_convention_version(self) -> int:
        """The version of JAX's calling convention that the program uses."""
        return maximum_supported_calling_convention_version

    @property
    def nr_devices(self) -> int:
        """The number of devices that the program runs on.

        A program for one device runs on any number, unless it has a mesh inside.
        """
        return self.program.num_devices

    @property
    def in_shardings_hlo(self) -> tuple[Any, ...]:
        """The `HloSharding` of each leaf of the arguments; None where it is not fixed."""
        return _as_hlo(self.program.in_shardings, self.in_avals)

    @property
    def out_shardings_hlo(self) -> tuple[Any, ...]:
        """The `HloSharding` of each leaf of the result; None where it is not fixed."""
        return _as_hlo(self.program.out_shardings, self.out_avals)

    def in_shardings_jax(self, mesh: Mesh | AbstractMesh) -> tuple[Sharding | None, ...]:
        """The sharding of each leaf of the arguments, on a mesh.

        Arguments:
            mesh: a mesh of the same axes as the one at export; it may be abstract.

        Returns:
            For each leaf a sharding, or None where it is not fixed.

        Raises:
            TypeError: `mesh` is not a mesh.
            ValueError: it has other axes.
        """
        return self._on_mesh("in_shardings_jax", mesh, self.program.in_shardings)

    def out_shardings_jax(self, mesh: Mesh | AbstractMesh) -> tuple[Sharding | None, ...]:
        """The sharding of each leaf of the result, as `in_shardings_jax` for arguments.

        Raises:
            TypeError: `mesh` is not a mesh.
            ValueError: it has other axes.
        """
        return self._on_mesh("out_shardings_jax", mesh, self.program.out_shardings)

    def _on_mesh(
        self, caller: str, mesh: Mesh | AbstractMesh, shardings: AbstractShardings
    ) -> tuple[Sharding | None, ...]:
        if not isinstance(mesh, Mesh | AbstractMesh):
            raise TypeError(
                f"{caller}: mesh must be a Mesh, found {shown(mesh)} of type {type(mesh).__name__}"
            )
        for each in shardings:
            if each is not None and each.mesh.shape_tuple != mesh.shape_tuple:
                raise ValueError(
                    f"{caller}: `{self.fun_name}` was exported for {each.mesh}, and {mesh} has "
                    "other axes. Give a mesh with axes of these names and sizes; its devices may "
                    "be any."
                )
        return tuple(each and each.update(mesh=mesh) for each in shardings)

    def mlir_module(self) -> str:
        """The StableHLO module as text."""
        return self.program.text

    @property
    def has_effects(self) -> bool:
        """True if the program calls foreign functions with side effects."""
        return self.program.primitive is effectful_call_exported_p

    def has_vjp(self) -> bool:
        """Return True if the program can be differentiated in reverse mode."""
        return self.get_vjp is not None

    def vjp(self) -> "Exported":
        """The exported derivative.

        Its arguments are the leaves of the arguments, and a cotangent for each leaf of the result;
        its result is a tuple of a cotangent for each leaf of the arguments. Cotangents of integers
        have the dtype float0.

        Raises:
            ValueError: there is none.

        >>> exported = glassjax.export.export(glassjax.jit(lambda x: x * x))(3.0)
        >>> exported.vjp().call(3.0, 1.0)
        (Array(6., dtype=float32, weak_type=True),)
        """
        if self.get_vjp is None:
            raise ValueError(
                f"vjp: the exported `{self.fun_name}` was written without its derivative; write "
                "it by serialize(vjp_order=1)"
            )
        return self.get_vjp()

    @evaluated_by_library
    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program, also inside a jitted function.

        A program for several devices runs where its arguments lie, or on the mesh in context, in
        the order of those devices.

        Raises:
            TypeError: structure or types of the arguments differ from the exported ones; it is
                differentiated in forward mode.
            ValueError: the program is for other platforms, or for another number of devices.
            NotImplementedError: it is mapped, or differentiated though it has no derivative.
        """
        leaves, in_tree = stage2.tree_flatten((args, kwargs))
        if in_tree != self.in_tree:
            raise TreeMismatchError(
                f"the exported `{self.fun_name}` takes arguments of another structure: "
                f"{explain_mismatch(self.in_tree, (args, kwargs), name='(args, kwargs)')}"
            )
        found = [typeof(leaf) for leaf in leaves]
        for number, (takes, aval) in enumerate(zip(self.in_avals, found, strict=True)):
            if not fits(takes, _unsharded(plain_type(aval))):
                raise TypeError(
                    f"the exported `{self.fun_name}` takes {takes} as leaf {number} of its "
                    f"arguments, found {aval}"
                )
        mesh = next((aval.mesh for aval in found if isinstance(aval, ShardedArray)), None)
        mesh = get_abstract_mesh() if mesh is None else mesh
        if not mesh.explicit_axes:
            return self.out_tree.unflatten(self._leaves_of_result(*leaves))
        inside = mesh.update_axis_types(dict.fromkeys(mesh.explicit_axes, AxisType.Auto))
        outs = self._leaves_of_result(*[leave_to_compiler(x, inside) for x in leaves])
        pairs = zip(outs, self.program.out_shardings, strict=True)
        return self.out_tree.unflatten(
            [_with_result_sharding(x, sharding, mesh) for x, sharding in pairs]
        )

    @cached_property
    def _leaves_of_result(self) -> Callable[..., list[Any]]:
        """The function of leaves that computes the result, with its derivative if there is one."""
        if self.get_vjp is None:
            return self.program
        count, get_vjp = len(self.in_avals), self.get_vjp

        def exported_pull_back(args: Sequence[Any], cts: Sequence[Any]) -> tuple[Any, ...]:
            found = get_vjp().call(*args, *cts)
            return tuple([None if typeof(ct).dtype == float0 else ct for ct in found[:count]])

        fun = custom_vjp(self.program.__call__)
        fun.defvjp(lambda *args: (fun(*args), args), exported_pull_back)
        return fun

    def serialize(self, vjp_order: int = 0) -> bytearray:
        """The exported function as bytes, for `deserialize`.

        Arguments:
            vjp_order: how many times the function can be differentiated, in reverse mode, where it
                is loaded.

        The format is JAX's, and each reads what the other writes. It has no weak types.

        Raises:
            TypeError: `vjp_order` is not an int.
            ValueError: it is negative, or larger than the number of derivatives available;
                arguments or results contain a class that is not registered for serialization, or
                a dict whose keys are not strings; a mesh has an axis whose name is not a string.
        """
        if type(vjp_order) is not int:
            raise TypeError(f"serialize: vjp_order must be an int, found {shown(vjp_order)}")
        if vjp_order < 0:
            raise ValueError(f"serialize: vjp_order must not be negative, found {vjp_order}")
        return jax_format.pack(self._fields(vjp_order))

    def save(self, directory: str | os.PathLike[str], *weights: Any) -> None:
        """Write the program to a new directory, to be served without Python.

        It holds the StableHLO module as bytecode and as text, compile options, `weights/*.npy`, a
        manifest with the types of arguments and results, and `runner.cc`, which compiles the
        program by a PJRT plugin and calls it.

        Arguments:
            directory: the path.
            weights: the first positional arguments of the function, which are stored; a caller of
                the runner passes the others.

        Raises:
            ValueError: the program is for several platforms, devices or sizes; there are too many
                weights; an array has a dtype that the runner does not know.
            TypeError: a weight has another type than the function takes.
            FileExistsError: the directory exists.

        >>> import pathlib, tempfile
        >>> exported = glassjax.export.export(glassjax.jit(jnp.dot))(jnp.ones((2, 3)), jnp.ones(3))
        >>> directory = pathlib.Path(tempfile.mkdtemp(), "dot")
        >>> exported.save(directory, jnp.ones((2, 3)))
        >>> print((directory / "manifest.txt").read_text())
        argument 11 24 2 2 3 0.npy [0][0]
        argument 11 12 1 3 - [0][1]
        result 11 8 1 2 .
        <BLANKLINE>
        """
        saved.save(self, directory, weights)

    def _fields(self, vjp_order: int) -> jax_format.Fields:
        program = self.program
        effects = [jax_format.FFI_EFFECT] * self.has_effects
        checks = [check.is_custom_call() for check in self.disabled_safety_checks]
        return {
            "serialization_version": jax_format.VERSION,
            "writer": f"{jax_format.WRITER} {installed_version()}",
            "function_name": self.fun_name,
            "in_tree": jax_format.tree_to_fields(self.in_tree, "the arguments"),
            "out_tree": jax_format.tree_to_fields(self.out_tree, "the results"),
            "platforms": self.platforms,
            "unordered_effects": [{"type_name": name} for name in effects],
            "disabled_checks": list(map(jax_format.check_to_fields, checks)),
            "mlir_module_serialized": program.module,
            "calling_convention_version": self.calling_convention_version,
            "uses_global_constants": program.is_symbolic,
            "module_kept_var_idx": program.kept,
            "vjp": self.vjp()._fields(vjp_order - 1) if vjp_order else None,
            "nr_devices": self.nr_devices,
            **jax_format.types_to_fields({"in_avals": self.in_avals, "out_avals": self.out_avals}),
            **jax_format.shardings_to_fields(
                {"in_shardings": program.in_shardings, "out_shardings": program.out_shardings}
            ),
        }


def _with_result_sharding(x: Any, sharding: NamedSharding | None, mesh: AbstractMesh) -> Any:
    """A result, typed with its sharding over `Explicit` axes of a mesh."""
    if sharding is None or sharding.mesh.shape_tuple != mesh.shape_tuple:
        return x
    explicit = {*mesh.explicit_axes}
    names = [[name for name in axes if name in explicit] for axes in sharding.spec.names()]
    if not any(names):
        return x
    return bind1(reshard_p, x, sharding=sharding.update(mesh=mesh, spec=PartitionSpec(*names)))


def _as_hlo(shardings: AbstractShardings, avals: Sequence[ShapedArray]) -> tuple[Any, ...]:
    return tuple(
        None if each is None else xla.hlo_sharding(each.tiling(aval.ndim))
        for each, aval in zip(shardings, avals, strict=True)
    )


@hiding_frames
def export(
    fun_jit: Callable[..., Any],
    *,
    platforms: Sequence[str] | None = None,
    disabled_checks: Sequence[DisabledSafetyCheck] = (),
) -> Callable[..., Exported]:
    """Export a jitted function.

    Arguments:
        fun_jit: a jitted function.
        platforms: the platforms to export for, such as `["cpu", "cuda"]`; they need not have
            devices here. By default, or if it is empty, the platform of the default device.
        disabled_checks: the checks to skip: that the program is called on one of these platforms
            (others then run the program for the first one); and that foreign functions, by name,
            exist and mean the same where it is called.

    Returns:
        A function of the same arguments; only their types matter: anything with a shape and
        a dtype may replace an array. It returns an `Exported`. Static arguments are compiled in,
        and are not arguments of the exported function. The number of devices and the shardings of
        arguments are as in a call of the function.

    Raises:
        TypeError: `fun_jit` is not jitted; `disabled_checks` holds something other than checks.
        ValueError: there is no such platform; when called, the function closes over tracers, has
            callbacks, or calls a foreign function that is not among the disabled checks.
        NotImplementedError: when called, an operation has no program for one of the platforms.

    >>> import glassjax
    >>> import glassjax.numpy as jnp
    >>> exported = export(glassjax.jit(lambda x: {"twice": 2 * x}))(jnp.zeros(3))
    >>> data = exported.serialize()
    >>> deserialize(data).call(jnp.arange(3.0))
    {'twice': Array([0., 2., 4.], dtype=float32)}
    """
    if not hasattr(fun_jit, "trace") or not hasattr(fun_jit, "lower"):
        raise TypeError(
            f"export: expected what `jit` returns, found {shown(fun_jit)}; jit it first"
        )
    checks = tuple(disabled_checks)
    for check in checks:
        if not isinstance(check, DisabledSafetyCheck):
            raise TypeError(
                f"export: disabled_checks must have results of DisabledSafetyCheck.platform() or "
                f"DisabledSafetyCheck.custom_call(name), found {shown(check)}"
            )
    chosen = known_platforms("export: platforms", platforms)

    @hiding_frames
    def export_for(*args: Any, **kwargs: Any) -> Exported:
        traced = fun_jit.trace(*args, **kwargs)
        _require_allowed(traced.fun_name, traced.jaxpr, checks)
        for_these = chosen or (default_export_platform(),)
        return _exported(traced, traced.where, traced.out_shardings, for_these, checks)

    return export_for


def _require_allowed(name: str, jaxpr: Jaxpr, checks: Sequence[DisabledSafetyCheck]) -> None:
    """Raise an error if a program calls a foreign function that the checks do not name."""
    allowed = {check.is_custom_call() for check in checks}
    for eqn in jaxpr.eqns:
        target = eqn.params.get("target_name")
        if eqn.primitive in foreign_calls and target not in allowed:
            raise ValueError(
                f"export: `{name}` calls the foreign function {target!r}, which may be missing, "
                "or mean something else, where the program runs. If not, pass "
                f"disabled_checks=[DisabledSafetyCheck.custom_call({target!r})]"
            )
        for inner in inner_jaxprs(eqn):
            _require_allowed(name, inner, checks)


def _exported(
    traced: Traced,
    where: Places,
    out_shardings: Shardings,
    platforms: tuple[str, ...],
    checks: tuple[DisabledSafetyCheck, ...] = (),
) -> Exported:
    name, closed = traced.fun_name, traced.jaxpr
    if any(isinstance(x, stage2.Tracer) for x in closed.consts):
        raise ValueError(
            f"export: `{name}` closes over values of a transformation that is running; pass them "
            "as arguments"
        )
    jaxpr = _with_words(_with_constants_inside(read_jaxpr(closed), closed.consts))
    texts = {}
    scope, arguments = scope_of(closed.in_avals), argument_paths(traced.in_tree)
    for platform in dict.fromkeys(platforms):
        text, partitioned = _lowered(traced, jaxpr, where, out_shardings, platform)
        texts[platform] = dynamic(text, scope, arguments) if scope else text
    different = set(texts.values())
    if any(xla.calls_python(text) or has_addresses(text) for text in different):
        raise ValueError(
            f"export: `{name}` calls Python functions of this process, by a callback or a "
            "function of `debug`, and they cannot leave it; export a function without them"
        )
    in_avals, out_avals = (
        tuple(map(_unsharded, avals)) for avals in (closed.in_avals, closed.out_avals)
    )
    found: tuple[Sequence[Any], Sequence[Any]] = (None,) * len(in_avals), (None,) * len(out_avals)
    if partitioned is not None:
        found = partitioned.given
    in_shardings, out_shardings = [tuple(map(_without_devices, each)) for each in found]

    def program_of(
        text: str,
        platforms: tuple[str, ...],
        in_avals: Sequence[ShapedArray],
        out_avals: Sequence[ShapedArray],
        any_platform: bool,
    ) -> PortableProgram:
        return PortableProgram(
            name,
            xla.to_portable(text),
            platforms,
            in_avals,
            out_avals,
            1 if partitioned is None else partitioned.num_devices,
            in_shardings,
            out_shardings,
            range(len(in_avals)),
            any_platform,
            has_effects(jaxpr),
            arguments,
        )

    text = texts[platforms[0]]
    if len(platforms) > 1:
        types = jaxpr.in_avals, jaxpr.out_avals
        alone = {text: program_of(text, platforms[:1], *types, True) for text in different}
        places = where._replace(shardings=in_shardings if any(in_shardings) else ())
        text = _choosing_text([alone[texts[each]] for each in platforms], places, out_shardings)
        text = dynamic(text, scope, ["the platform", *arguments]) if scope else text
    any_platform = DisabledSafetyCheck.platform() in checks
    program = program_of(text, platforms, in_avals, out_avals, any_platform)

    @cache
    def exported_vjp() -> Exported:
        places = where._replace(shardings=(*in_shardings, *out_shardings))
        traced_vjp = _trace_vjp(name, closed, in_shardings + out_shardings)
        return _exported(traced_vjp, places, in_shardings, platforms, checks)

    trees = traced.in_tree, traced.out_tree
    return Exported(
        name, trees[0], in_avals, trees[1], out_avals, platforms, program, checks, exported_vjp
    )


def _lowered(
    traced: Traced, jaxpr: Jaxpr, where: Places, out_shardings: Shardings, platform: str
) -> tuple[str, Any]:
    """The module of a traced function, and what it is for several devices, or None."""
    alone = pipeline.Traced(traced.fun_name, jaxpr, [], traced.in_tree, traced.out_tree)
    options = CompileOptions(keep_unused=True)
    compilation = Compilation(alone, options, where, out_shardings, platform)
    partitioned = compilation.partitioned(lambda: traced.argument_names)
    return compilation.text() if partitioned is None else partitioned.text, partitioned


def argument_paths(in_tree: PyTreeDef) -> list[str]:
    """The names of the leaves of the arguments: `args[0]['x']`, `kwargs['y']`."""
    args, kwargs = in_tree.unflatten(range(in_tree.num_leaves))
    named = [("args", args), ("kwargs", kwargs)]
    return [
        name + keystr(path) for name, tree in named for path, _ in tree_flatten_with_path(tree)[0]
    ]


def _choosing_text(
    programs: Sequence[PortableProgram], where: Places, out_shardings: AbstractShardings
) -> str:
    """A module whose first argument is the number of the program that it runs."""
    first = programs[0]

    def chosen(number: Any, *leaves: Any) -> list[Any]:
        if len({*programs}) == 1:
            return first(*leaves)
        return switch(number, programs, *leaves)

    chosen.__name__ = first.name
    types = [PLATFORM_NUMBER, *first.in_avals]
    traced = jit(chosen).trace(*map(struct_of, types, (None, *first.in_shardings)))
    if where.shardings:
        where = where._replace(shardings=(None, *where.shardings))
    return _lowered(traced, read_jaxpr(traced.jaxpr), where, out_shardings, first.platforms[0])[0]


def _without_devices(sharding: Sharding | None) -> NamedSharding | None:
    """The sharding over the axes of its mesh; None for a single device."""
    if not isinstance(sharding, NamedSharding):
        return None
    return sharding.update(mesh=sharding.mesh.abstract_mesh)


def _unsharded(aval: ShapedArray) -> ShapedArray:
    """The type without its sharding, in the same memory."""
    return in_space(unsharded(aval), space_of(aval))


def _trace_vjp(name: str, closed: Jaxpr, shardings: AbstractShardings) -> Traced:
    """The function from arguments and cotangents of results to cotangents of arguments."""
    jaxpr, count = consts_as_invars(read_jaxpr(closed)), len(closed.in_avals)

    def pulled_back(*args_and_cts: Any) -> Any:
        args, cts = args_and_cts[:count], args_and_cts[count:]
        _, pull_back = vjp(
            lambda *leaves: tuple(bind(jit_p, *closed.consts, *leaves, jaxpr=jaxpr, name=name)),
            *args,
        )
        return pull_back(cts)

    pulled_back.__name__ = f"{name}_vjp"
    types = [*closed.in_avals, *map(tangent_type, closed.out_avals)]
    return jit(pulled_back).trace(*map(struct_of, types, shardings))


def _with_constants_inside(jaxpr: Jaxpr, consts: Sequence[Any]) -> Jaxpr:
    """The same program, with its constants in its text instead of passed as arguments."""
    eqns: list[JaxprEqn] = []
    for var, x in zip(jaxpr.constvars, consts, strict=True):
        stored = var
        if is_key_type(var.aval.dtype):
            with eval_context():  # an export inside a function that is being traced
                x = random_unwrap(x)
            stored = Var(typeof(x))
        value = np.asarray(x, stored.aval.dtype)
        eqns.append(JaxprEqn(constant_p, [], [stored], {"value": value}))
        if stored is not var:
            kind = {"impl": implementation_of(var.aval.dtype)}
            eqns.append(JaxprEqn(random_wrap_p, [stored], [var], kind))
    return Jaxpr([], jaxpr.invars, [*eqns, *jaxpr.eqns], jaxpr.outvars)


def _with_words(jaxpr: Jaxpr) -> Jaxpr:
    """The same program, whose arguments and results are the words of keys instead of keys."""
    first: list[JaxprEqn] = []
    last: list[JaxprEqn] = []
    invars, outvars = [*jaxpr.invars], [*jaxpr.outvars]
    for number, var in enumerate(jaxpr.invars):
        if is_key_type(var.aval.dtype):
            invars[number] = Var(words_type(var.aval))
            kind = {"impl": implementation_of(var.aval.dtype)}
            first.append(JaxprEqn(random_wrap_p, [invars[number]], [var], kind))
    for number, out in enumerate(jaxpr.outvars):
        if is_key_type(out.aval.dtype):
            outvars[number] = words = Var(words_type(out.aval))
            last.append(JaxprEqn(random_unwrap_p, [out], [words], {}))
    return Jaxpr([], invars, [*first, *jaxpr.eqns, *last], outvars)


def deserialize(blob: bytes | bytearray) -> Exported:
    """The exported function from the result of `Exported.serialize`.

    They may be JAX's. They contain a program, not Python code. A digest at the end of those that
    glassjax wrote detects damage, not malice: jaxlib reads the program, and a forged one may crash
    it.

    Arguments:
        blob: the bytes.

    Raises:
        ValueError: they are not an exported function, are damaged, malformed or of another calling
            convention, or name a class that is not registered here; when called, they are newer
            than this version of jaxlib, or the program does not match their types.
        NotImplementedError: an array is not in a device's memory, or the function has ordered
            effects, or calls back into Python.

    >>> from glassjax.export import deserialize, export
    >>> data = export(glassjax.jit(jnp.cumsum))(jnp.ones(3)).serialize()
    >>> deserialize(data).call(jnp.array([1.0, 2.0, 3.0]))
    Array([1., 3., 6.], dtype=float32)
    """
    return _from_fields(jax_format.unpack(blob), SymbolicScope())


def _from_fields(fields: jax_format.Fields, scope: SymbolicScope) -> Exported:
    name, platforms = fields["function_name"], tuple(fields["platforms"])
    if name is None or not platforms:
        raise malformed("the name of a function, and its platforms")
    version = fields["calling_convention_version"]
    if version != maximum_supported_calling_convention_version:
        raise ValueError(
            f"deserialize: `{name:.60}` has calling convention {version}, and this version of "
            f"glassjax reads {maximum_supported_calling_convention_version}"
        )
    in_avals, out_avals = jax_format.types_from_fields(fields, scope)
    in_shardings, out_shardings = jax_format.shardings_from_fields(
        fields, {"in_shardings": in_avals, "out_shardings": out_avals}
    )
    in_tree, out_tree = [
        jax_format.tree_from_fields(fields[role]) for role in ("in_tree", "out_tree")
    ]
    for tree, types in ((in_tree, in_avals), (out_tree, out_avals)):
        if tree.num_leaves != len(types):
            raise malformed(f"a type for each leaf of {tree}", types)
    kept = fields["module_kept_var_idx"]
    if kept != sorted({*kept}) or any(number >= len(in_avals) for number in kept):
        raise malformed(f"numbers of {len(in_avals)} arguments in ascending order", kept)
    num_devices = fields["nr_devices"]
    if num_devices < 1:
        raise malformed("a number of devices", num_devices)
    found_checks = map(jax_format.check_from_fields, fields["disabled_checks"])
    checks = tuple(
        DisabledSafetyCheck.platform()
        if target is None
        else DisabledSafetyCheck.custom_call(target)
        for target in found_checks
    )
    effects = [
        each["type_name"] for role in ("ordered", "unordered") for each in fields[f"{role}_effects"]
    ]
    if fields["ordered_effects"] or any(each != jax_format.FFI_EFFECT for each in effects):
        raise NotImplementedError(
            f"deserialize: `{name:.60}` has the effects {effects!r:.200}; only foreign "
            "calls may have side effects"
        )
    program = PortableProgram(
        name,
        fields["mlir_module_serialized"],
        platforms,
        in_avals,
        out_avals,
        num_devices,
        in_shardings,
        out_shardings,
        kept,
        DisabledSafetyCheck.platform() in checks,
        bool(effects),
        argument_paths(in_tree),
    )
    loaded = Exported(name, in_tree, in_avals, out_tree, out_avals, platforms, program, checks)
    if fields["vjp"] is None:
        return loaded
    derivative = _from_fields(fields["vjp"], scope)
    takes = (*in_avals, *map(tangent_type, out_avals))
    found = derivative.platforms, derivative.in_avals, derivative.out_avals
    if found != (platforms, takes, tuple(map(tangent_type, in_avals))):
        raise malformed(f"the derivative of `{name:.60}`", found)
    return replace(loaded, get_vjp=lambda: derivative)
