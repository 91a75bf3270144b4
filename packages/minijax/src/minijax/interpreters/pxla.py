"""Options of a compilation, under the name of `jax.interpreters.pxla`."""

from collections.abc import Mapping, Sequence
from typing import Any

from minijax.xla.clients import compile_options


def create_compile_options(
    computation: Any,
    tuple_args: bool,
    allow_prop_to_inputs: Sequence[bool],
    allow_prop_to_outputs: Sequence[bool],
    backend: Any,
    np_dev: Any,
    compiler_options: Mapping[str, Any],
) -> Any:
    """jaxlib's options for a program that is sharded over devices.

    Arguments:
        computation, backend: ignored.
        tuple_args: whether the program takes its arguments as one tuple.
        allow_prop_to_inputs: for each argument whether XLA may choose how it is sharded.
        allow_prop_to_outputs: the same of results.
        np_dev: the devices, an array of numpy.
        compiler_options: options of XLA by name.

    >>> from minijax.interpreters import pxla
    >>> devices = np.array(minijax.devices()[:1])
    >>> pxla.create_compile_options(None, False, [False], [True], None, devices, {}).num_replicas
    1
    """
    options = dict(compiler_options)
    profile = options.pop("fdo_profile", None)
    made = compile_options(1, np_dev.size, np_dev.reshape(1, -1), options, profile)
    made.parameter_is_tupled_arguments = tuple_args
    build = made.executable_build_options
    build.allow_spmd_sharding_propagation_to_parameters = list(allow_prop_to_inputs)
    build.allow_spmd_sharding_propagation_to_output = list(allow_prop_to_outputs)
    return made


__all__ = ["create_compile_options"]
