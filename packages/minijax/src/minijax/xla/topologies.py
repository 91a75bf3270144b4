"""Compilation for devices that are not there, by the plugin of their platform."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from minijax.xla.importing import import_module
from minijax.xla.mlir import parsed
from minijax.xla.plugins import CUDA, load_plugin
from minijax.xla.routines import register_routines
from minijax_stage3.errors import CompileError


class Gpu(NamedTuple):
    """A GPU, as XLA's compiler has to know it.

    Attributes:
        name: the name by which its driver knows it.
        capability: NVIDIA's compute capability, the major number.
        cores: the number of its multiprocessors.
        lanes: the number of 32-bit units in each of them.
        clock: their frequency, in GHz.
        memory: the bytes of its memory.
        bandwidth: the bytes per second that it reads from there.
        cache: the bytes of its L2 cache.
        shared: the bytes of memory that the threads of a multiprocessor share.
        shared_by_block: the bytes of it that one block of threads may use.
    """

    name: str
    capability: int
    cores: int
    lanes: int
    clock: float
    memory: int
    bandwidth: int
    cache: int
    shared: int
    shared_by_block: int

    def described(self) -> str:
        """The description in the text format of XLA's protocol buffer `GpuTargetConfigProto`."""
        extension = "ACCELERATED_FEATURES" if self.capability >= 9 else "NONE"
        return f"""
            platform_name: "CUDA"
            device_description_str: "{self.name}"
            dnn_version_info {{ major: 9 minor: 10 }}
            gpu_device_info {{
              cuda_compute_capability {{ major: {self.capability} feature_extension: {extension} }}
              core_count: {self.cores}
              fpus_per_core: {self.lanes}
              clock_rate_ghz: {self.clock}
              device_memory_size: {self.memory}
              memory_bandwidth: {self.bandwidth}
              l2_cache_size: {self.cache}
              shared_memory_per_core: {self.shared}
              shared_memory_per_block_optin: {self.shared_by_block}
              {_OF_ALL}
            }}
        """


# The limits of all of these GPUs.
_OF_ALL = """
    threads_per_warp: 32
    threads_per_block_limit: 1024
    threads_per_core_limit: 2048
    registers_per_core_limit: 65536
    registers_per_block_limit: 65536
    shared_memory_per_block: 49152
    thread_dim_limit_x: 1024
    thread_dim_limit_y: 1024
    thread_dim_limit_z: 64
    block_dim_limit_x: 2147483647
    block_dim_limit_y: 65535
    block_dim_limit_z: 65535
"""

_MIB = 2**20

# By the name that users give them: those in the module SXM, as their drivers describe them.
GPUS = {
    "a100": Gpu(
        "NVIDIA A100-SXM4-80GB", 8, 108, 64, 1.41, 85_100_068_864, 2_039_040_000_000, 40 * _MIB,
        167_936, 166_912,
    ),
    "h100": Gpu(
        "NVIDIA H100 80GB HBM3", 9, 132, 128, 1.98, 84_942_979_072, 3_352_320_000_000, 50 * _MIB,
        233_472, 232_448,
    ),
    "h200": Gpu(
        "NVIDIA H200", 9, 132, 128, 1.98, 151_397_597_184, 4_800_000_000_000, 50 * _MIB,
        233_472, 232_448,
    ),
    "b200": Gpu(
        "NVIDIA B200", 10, 148, 128, 1.965, 191_514_411_008, 7_672_320_000_000, 132_644_864,
        233_472, 232_448,
    ),
}  # fmt: skip

_IN_A_MACHINE = 8  # GPUs, connected by NVLink


def compile_for_gpus(
    text: str, gpu: Gpu, count: int, options: Mapping[str, Any]
) -> tuple[str, dict[str, int]]:
    """Compile a program for a number of GPUs, none of which need be there.

    Arguments:
        text: a StableHLO module, lowered for "cuda", with as many partitions.
        gpu: the kind of GPU.
        count: their number, of which eight are in each machine.
        options: XLA flags.

    Returns:
        The optimized program in HLO, and the bytes of memory by kind.

    Raises:
        UnavailableError: the plugin is not installed.
        CompileError: XLA does not accept the text or an option.
    """
    xla_client = import_module("jaxlib.xla_client")
    plugin = load_plugin(CUDA)
    register_routines(text, CUDA)
    in_a_machine = max(n for n in range(1, _IN_A_MACHINE + 1) if count % n == 0)
    topology = xla_client.make_c_api_device_topology(
        plugin.api,
        "",
        target_config=gpu.described(),
        topology=f"1x{count // in_a_machine}x{in_a_machine}",
    )
    devices = topology._make_compile_only_devices()
    compile_options = xla_client.CompileOptions()
    compile_options.num_replicas, compile_options.num_partitions = 1, count
    build = compile_options.executable_build_options
    build.use_spmd_partitioning = build.use_shardy_partitioner = True
    numbers = np.array([[device.id for device in devices]], np.int32)
    compile_options.device_assignment = xla_client.DeviceAssignment.create(numbers)
    compile_options.env_option_overrides = list({**plugin.flags, **options}.items())
    try:
        compiled = devices[0].client.compile(
            parsed(text), xla_client.DeviceList(tuple(devices)), compile_options
        )
    except RuntimeError as error:
        raise CompileError(str(error), text) from error
    stats = compiled.get_compiled_memory_stats()
    names = [name for name in dir(stats) if name.endswith("_size_in_bytes")]
    return (
        "\n".join(module.to_string() for module in compiled.hlo_modules()),
        {name: getattr(stats, name) for name in names},
    )


__all__ = ["GPUS", "Gpu", "compile_for_gpus"]
