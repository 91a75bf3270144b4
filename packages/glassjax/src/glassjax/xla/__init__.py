"""The part of jaxlib that stage 3 does not use: callbacks, routines, other formats."""

from glassjax.settings.facades import lazy_facade as _lazy_facade

_lazy_facade(
    globals(),
    {
        ".clients": """
            can_read_all_arrays client default_device device_class devices fingerprint import_module
            interrupts_deferred is_the_only jaxlib_version module_of_clients platform platform_of
            process_index pytree_registry use_gpus xla_flags
        """,
        ".coordination": "Coordination Timeouts coordination join_processes leave process_runs",
        ".executables": """
            DLPACK_CPU GPUS block_until_computed block_all buffer_assignment buffer_device
            call_target calls_python compile compile_calling compile_for_gpus cost_analysis
            deserialize deserialize_calling dlpack_device executor_of_one from_portable is_deleted
            is_ready memory_analysis nbytes only_launches optimized_module refined serialize
            to_dlpack to_portable xla_computation
        """,
        ".extensions": "Partitioner TARGET register_partitioners register_routines transformations",
        ".placement": """
            TileAssignment PartitionedExecutable Placement Tiling WHOLE buffers_here copy_semantics
            compile_partitioned deserialize_partitioned tiles_of explicit_transfers guard_threads
            hlo_sharding inspection_address join_parts memory_kinds moving_between_devices
            new_placement parts_here placement_of put_parts restore_guard set_guard with_placement
        """,
    },
)
