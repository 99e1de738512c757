"""Flags of JAX that change nothing here, so that scripts may set and read them."""

import functools

from tinyjax.config import _CANONICAL, Config, Flag, FlagScope, define
from tinyjax.printer import install

OFF = """
    bcoo_cusparse_lowering check_static_indices compilation_cache_check_contents
    compilation_cache_expect_pgle compilation_cache_include_metadata_in_key custom_vjp3
    debug_leaked_clients_on_clear_backends disable_bwd_checks disable_most_optimizations
    disable_vmap_shmap_error disallow_mesh_context_manager distributed_debug enable_pgle
    enable_recoverability experimental_unsafe_xla_runtime_errors
    export_ignore_forward_compatibility force_dcn_cross_host_transfers high_dynamic_range_gumbel
    log_checkpoint_residuals log_compiles mosaic_allow_hlo no_execution no_tracing
    pallas_enable_debug_checks pallas_poison_buffers pallas_verbose_errors
    ragged_dot_use_gpu_pallas_triton_lowering raise_persistent_cache_errors refs_to_pins remat3
    remove_custom_partitioning_ptr_from_cache_key remove_size_one_mesh_axis_from_type scan3
    share_binary_between_hosts softmax_custom_jvp thread_guard threefry_gpu_kernel_lowering
    use_emit_pipeline_primitive use_simplified_jaxpr_constants"""
ON = """
    allow_f16_reductions auto_pcast check_proxy_envs compiler_enable_remat_pass
    enable_compilation_cache enable_preemption_service
    include_debug_info_in_dumps include_full_tracebacks_in_locations mutable_array_checks
    pallas_use_mosaic_gpu pprint_use_color ragged_dot_use_ragged_dot_instruction
    sort_devices_by_process_index use_direct_linearize use_shardy_partitioner"""
SETTINGS = """
    array_garbage_collection_guard backend_target captured_constants_report_frames
    captured_constants_warn_bytes compilation_cache_max_size compiler_detailed_logging_min_ops
    cpu_collectives_implementation cpu_get_global_topology_timeout_minutes
    cpu_get_local_topology_timeout_minutes cross_host_transfer_socket_address
    cross_host_transfer_timeout_seconds cross_host_transfer_transfer_size
    cross_host_transport_addresses cuda_visible_devices debug_log_modules default_device
    dump_ir_modes dump_ir_to embedded_constants_max_bytes error_checking_behavior_divide
    error_checking_behavior_nan error_checking_behavior_oob exec_time_optimization_effort
    export_calling_convention_version hlo_source_file_canonicalization_regex logging_level
    memory_fitting_effort memory_fitting_level mock_gpu_topology oneapi_visible_devices
    optimization_level persistent_cache_enable_xla_caches persistent_cache_min_compile_time_secs
    persistent_cache_min_entry_size_bytes pgle_aggregation_percentile pgle_profiling_runs
    pjrt_client_create_options random_seed_offset rocm_visible_devices send_traceback_to_runtime
    serialization_version share_binary_between_hosts_timeout_ms source_url_schema
    traceback_in_locations_limit tracer_error_num_traceback_frames transfer_guard
    transfer_guard_device_to_device transfer_guard_device_to_host transfer_guard_host_to_device
    use_magma xla_backend xla_profile_version"""


class AnyFlag(Flag):
    """A flag that takes any value."""

    def check(self, value, source):
        """Every value is right."""
        return value


for _default, _names in ((False, OFF), (True, ON)):
    for _name in _names.split():
        define(Flag(_name, _default, "JAX's: nothing here heeds it."))
for _name in SETTINGS.split():
    define(AnyFlag(_name, None, "JAX's: nothing here heeds it."))


def read(self, name):
    """The value of a flag by its name, as config.jax_... gives it."""
    return getattr(self, name)


def values(self):
    """All flags under JAX's names, with their values."""
    return {f"jax_{name}": getattr(self, name) for name in sorted(_CANONICAL)}


install(Config, read=read, values=property(values))

# Their context managers.
log_compiles = functools.partial(FlagScope, "log_compiles")
no_tracing = functools.partial(FlagScope, "no_tracing")
no_execution = functools.partial(FlagScope, "no_execution")
softmax_custom_jvp = functools.partial(FlagScope, "softmax_custom_jvp")
transfer_guard = functools.partial(FlagScope, "transfer_guard")
thread_guard = functools.partial(FlagScope, "thread_guard")
auto_pcast = functools.partial(FlagScope, "auto_pcast")
allow_f16_reductions = functools.partial(FlagScope, "allow_f16_reductions")
array_garbage_collection_guard = functools.partial(FlagScope, "array_garbage_collection_guard")
transfer_guard_device_to_device = functools.partial(FlagScope, "transfer_guard_device_to_device")
transfer_guard_device_to_host = functools.partial(FlagScope, "transfer_guard_device_to_host")
transfer_guard_host_to_device = functools.partial(FlagScope, "transfer_guard_host_to_device")
