"""The public functions that programs do not call, each with the reason."""

import fnmatch

# By reason, the functions by their full names, or patterns of these.
REASONS = {
    "They transform functions: programs are put under them, and under pairs of them.": """
        checkpoint disable_jit eval_shape fwd_and_bwd jacfwd jit jvp linearize make_jaxpr
        vjp vmap""",
    "They change settings; programs are run under the defaults, in 32 and in 64 bits.": """
        check_tracer_leaks checking_leaks debug_infs debug_key_reuse debug_nans default_device
        default_matmul_precision default_prng_impl enable_custom_prng enable_x64
        ensure_compile_time_eval explain_cache_misses legacy_prng_key log_compiles named_scope
        numpy_dtype_promotion numpy_rank_promotion threefry_partitionable
        allow_f16_reductions array_garbage_collection_guard auto_pcast enable_checks
        jax2tf_associative_scan_reductions make_user_context no_execution no_tracing
        remove_size_one_mesh_axis_from_type softmax_custom_jvp thread_guard transfer_guard*""",
    "They are about the process, its devices and its arrays, not about values.": """
        block_until_ready clear_caches copy_to_host_async default_backend device_count device_get
        device_put devices effects_barrier get_abstract_mesh get_mesh host_count host_id host_ids
        live_arrays local_device_count local_devices
        make_array_from_* make_mesh
        print_environment_info process_count process_index process_indices
        lax.with_sharding_constraint""",
    "They run programs on several devices; tests on eight devices hold them against JAX.": """
        pmap reshard shard_map smap use_abstract_mesh""",
    "They print, log or stop; what a program gives does not depend on them.": """
        ad_checkpoint.print_saved_residuals explain explain_error explain_memory debug.breakpoint
        debug.callback debug.inspect_array_sharding debug.log
        debug.print debug.step debug.visualize_array_sharding debug.visualize_sharding record""",
    "They give types, programs and rules, of classes that are each library's own.": """
        export.is_symbolic_dim export.symbolic_args_specs export.symbolic_dim_bounds
        export.symbolic_shape lax.after_all lax.create_token
        custom_derivatives.custom_vjp_primal_tree_values custom_derivatives.zero_from_primal
        typeof core.*
        dtypes.scalar_type_of random.Key random.key_dtype tree.static
        tree_util.treedef_children tree_util.treedef_is_leaf tree_util.treedef_tuple""",
    "They register classes of the user's, once in a process.": """
        export.register_namedtuple_serialization export.register_pytree_node_serialization
        tree_util.register_dataclass tree_util.register_pytree_node
        tree_util.register_pytree_node_class tree_util.register_pytree_with_keys
        tree_util.register_pytree_with_keys_class tree_util.register_static""",
    "They read files and buffers, or what another process wrote.": """
        export.default_export_platform export.deserialize
        numpy.from_dlpack numpy.fromfile numpy.load""",
    "JAX lacks them, knows them only in `shard_map`, or gives other numbers each time.": """
        lax.linalg.geqrf lax.pbroadcast lax.pcast lax.rng_uniform numpy.fromiter""",
    "They replace arrays in references; a law compares such programs with programs on lists.": """
        empty_ref free_ref freeze new_ref""",
    "They change what `import jax` means, and say what of JAX is here.": """
        coverage install_as_jax""",
    "Programs do not draw them yet; tests of their own hold them against JAX.": """
        custom_derivatives.linear_call
        ds lax.dce_sink lax.linalg.qdwh lax.log2 lax.mulhi lax.one_minus_square lax.polynomial
        lax.ragged_all_to_all lax.ragged_dot_general lax.scaled_dot lax.stage
        nn.get_scaled_dot_general_config nn.scaled_dot_general nn.scaled_matmul
        numpy.minmax numpy.top_k scipy.linalg.convolution_matrix
        scipy.linalg.fiedler_companion scipy.linalg.invhilbert scipy.linalg.invpascal
        scipy.special.boxcox scipy.special.boxcox1p scipy.special.comb scipy.special.dawsn
        scipy.special.erfcinv scipy.special.hyp1f1 scipy.special.hyp2f1 scipy.special.wofz
        tree_util.flatten_one_level tree_util.flatten_one_level_with_keys
        tree_util.is_tree_node""",
    "They make optimizers, and save the state of one; those of the library are called.": """
        example_libraries.optimizers.sm3 example_libraries.optimizers.optimizer
        example_libraries.optimizers.pack_optimizer_state
        example_libraries.optimizers.unpack_optimizer_state""",
}
LEFT_OUT = [name for names in REASONS.values() for name in names.split()]


def is_left_out(name: str) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in LEFT_OUT)
