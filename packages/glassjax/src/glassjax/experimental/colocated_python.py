"""Python run by the hosts of devices (`jax.experimental.colocated_python`).

A process runs it for its own devices, at once; threads run it concurrently.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from glassjax import xla
from glassjax.runtime.array import Array
from glassjax.runtime.evaluation import ensure_compile_time_eval
from glassjax.runtime.program import Once
from glassjax.runtime.staging import ShapeDtypeStruct
from glassjax.settings.names import also_importable_as, list_public_names
from glassjax.shardings.mesh import Device, Mesh
from glassjax_stage2 import Tracer, tree_flatten, tree_leaves, tree_unflatten
from glassjax_stage2.arguments import require_function
from glassjax_stage2.errors import shown


def colocated_cpu_devices(devices_or_mesh: Iterable[Device] | Mesh) -> Any:
    """The CPU devices on the hosts of some devices, one for each.

    Arguments:
        devices_or_mesh: devices, or a mesh of them. CPU devices are returned as they are.

    Returns:
        A list of devices, in the same order; or a mesh of the same shape.

    Raises:
        ValueError: a process has fewer CPU devices than there are devices of it.

    >>> from glassjax.experimental import colocated_python
    >>> colocated_python.colocated_cpu_devices(glassjax.devices("cpu")[:1])
    [CpuDevice(id=0)]
    """
    if isinstance(devices_or_mesh, Mesh):
        mesh = devices_or_mesh
        cpus = np.array(colocated_cpu_devices(mesh.devices.flat)).reshape(mesh.devices.shape)
        return Mesh(cpus, mesh.axis_names, axis_types=mesh.axis_types)
    devices = list(devices_or_mesh)
    if all(device.platform == "cpu" for device in devices):
        return devices
    cpus_by_process: dict[int, Iterator[Device]] = {}
    found = []
    for device in devices:
        process = device.process_index
        if process not in cpus_by_process:
            cpus_by_process[process] = iter(
                [cpu for cpu in xla.devices("cpu") if cpu.process_index == process]
            )
        cpu = next(cpus_by_process[process], None)
        if cpu is None:
            raise ValueError(
                f"colocated_cpu_devices: process {process} has fewer CPU devices than the others "
                "that are given. config.update('num_cpu_devices', n) makes more."
            )
        found.append(cpu)
    return found


class ColocatedFunction:
    """A function that runs on the hosts of its arguments; `colocated_python` makes it."""

    def __init__(self, fun: Callable[..., Any], **specialization: Any):
        functools.update_wrapper(self, fun)
        self._fun, self._specialization = fun, specialization

    def specialize(
        self,
        in_specs: Any = None,
        out_specs_fn: Callable[..., Any] | None = None,
        devices: Iterable[Device] | None = None,
    ) -> ColocatedFunction:
        """The same function, with its types and devices fixed.

        Arguments:
            in_specs: the types of the arguments, a pair `(args, kwargs)` of `ShapeDtypeStruct`s.
            out_specs_fn: returns the types of the result, given the argument types.
            devices: the devices; a function without arguments needs them.

        Raises:
            ValueError: one of them is fixed already.
        """
        given = {"in_specs": in_specs, "out_specs_fn": out_specs_fn, "devices": devices}
        given = {name: value for name, value in given.items() if value is not None}
        for name in given.keys() & self._specialization.keys():
            raise ValueError(f"specialize: {name} is specified already")
        return ColocatedFunction(self._fun, **self._specialization, **given)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result of the function, called with these arrays.

        Raises:
            NotImplementedError: some of the devices belong to other processes.
            TypeError: an argument or a result is not an Array, or not as specialized.
            ValueError: the devices are unknown, or differ between arguments.
        """
        fixed = self._specialization
        given = self._types("argument", (args, kwargs))
        if "in_specs" in fixed:
            self._require("arguments", fixed["in_specs"], given)
        self._require_devices(tree_leaves((args, kwargs)))
        with ensure_compile_time_eval():
            result = self._fun(*args, **kwargs)
        found = self._types("result", result)
        if "out_specs_fn" in fixed:
            in_args, in_kwargs = given
            self._require("results", fixed["out_specs_fn"](*in_args, **in_kwargs), found)
        return result

    @property
    def _label(self) -> str:
        return f"colocated_python of `{getattr(self, '__name__', type(self._fun).__name__)}`"

    def _types(self, role: str, values: Any) -> Any:
        leaves, tree = tree_flatten(values)
        for x in leaves:
            if isinstance(x, Tracer):
                raise TypeError(
                    f"{self._label}: {role} {x} is traced. A compiled program calls Python by "
                    "io_callback."
                )
            if not isinstance(x, Array):
                raise TypeError(f"{self._label}: expected Arrays, found the {role} {shown(x)}")
        return tree_unflatten(tree, map(ShapeDtypeStruct.like, leaves))

    def _require(self, role: str, expected: Any, found: Any) -> None:
        wanted, tree = tree_flatten(expected)
        leaves, tree_found = tree_flatten(found)
        if tree != tree_found or not all(map(_fits, wanted, leaves)):
            raise TypeError(f"{self._label}: its specialization has {role} {expected}, not {found}")

    def _require_devices(self, arguments: list[Array]) -> None:
        used = {x.sharding.device_tuple for x in arguments}
        if "devices" in self._specialization:
            used.add(tuple(self._specialization["devices"]))
        if len(used) != 1:
            problem = f"the arguments are on different devices, {used}"
            if not used:
                problem = "without arguments, its devices are unknown; specialize(devices=...)"
            raise ValueError(f"{self._label}: {problem}")
        (devices,) = used
        if any(device.process_index != xla.process_index() for device in devices):
            raise NotImplementedError(
                f"{self._label}: some of its devices belong to other processes. Call it in each "
                "process, with the arrays of its own devices (`addressable_shards`)."
            )


def _fits(expected: Any, found: ShapeDtypeStruct) -> bool:
    return (expected.shape, expected.dtype) == (found.shape, found.dtype) and (
        expected.sharding is None
        or expected.sharding.is_equivalent_to(found.sharding, len(found.shape))
    )


def colocated_python(fun: Callable[..., Any]) -> ColocatedFunction:
    """Run a Python function on the hosts of its arguments' devices.

    Arguments:
        fun: a function of Arrays and pytrees of them, which returns such. It is not traced: it may
            read files, and loop over values.

    Returns:
        A function of the same arguments, with a method `specialize`.

    Raises:
        TypeError: `fun` is not callable.

    >>> from glassjax.experimental import colocated_python
    >>> @colocated_python.colocated_python
    ... def halve(x):
    ...     return x / 2 if x.sum() > 10 else x
    >>> halve(jnp.array([8.0, 4.0]))
    Array([4., 2.], dtype=float32)
    """
    require_function("colocated_python", fun)
    return ColocatedFunction(fun)


def colocated_python_class(cls: type) -> type:
    """A class whose objects live on the hosts of the arguments of their methods.

    An object of `cls` is made when a method is called for the first time, and destroyed with the
    object of the returned class. Each method is run as by `colocated_python`.

    Arguments:
        cls: the class.

    >>> from glassjax.experimental import colocated_python
    >>> class Counter:
    ...     def __init__(self):
    ...         self.count = 0
    ...     def add(self, x):
    ...         self.count += 1
    ...         return x + self.count
    >>> counter = colocated_python.colocated_python_class(Counter)()
    >>> counter.add(jnp.zeros(2)), counter.add(jnp.zeros(2))
    (Array([1., 1.], dtype=float32), Array([2., 2.], dtype=float32))
    """

    class Colocated:
        @functools.wraps(cls.__init__)  # type: ignore[misc]
        def __init__(self, *args: Any, **kwargs: Any):
            self._instance: Any = functools.partial(Once().get, lambda: cls(*args, **kwargs))

        def __getattr__(self, name: str) -> ColocatedFunction:
            method = getattr(cls, name, None)
            if not inspect.isfunction(method):
                raise AttributeError(f"{cls.__name__} has no method `{name}`")
            instance = self._instance

            @functools.wraps(method)
            def call(*args: Any, **kwargs: Any) -> Any:
                return getattr(instance(), name)(*args, **kwargs)

            self.__dict__[name] = ColocatedFunction(call)
            return self.__dict__[name]

    functools.update_wrapper(Colocated, cls, updated=())
    return Colocated


__all__ = ["colocated_cpu_devices", "colocated_python", "colocated_python_class"]
list_public_names(globals())

also_importable_as(globals(), "glassjax.experimental.colocated_python.api")
