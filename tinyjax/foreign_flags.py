"""Flags of JAX that change nothing here, so that scripts may set and read them."""

import functools

from tinyjax.config import Flag, FlagScope, define

SWITCHES = """log_compiles explain_cache_misses no_tracing no_execution thread_guard scan3 remat3
    check_static_indices softmax_custom_jvp log_checkpoint_residuals enable_pgle
    raise_persistent_cache_errors custom_vjp3 high_dynamic_range_gumbel allow_f16_reductions
    distributed_debug debug_leaked_clients_on_clear_backends disable_most_optimizations
    enable_compilation_cache pprint_use_color jax2tf_associative_scan_reductions auto_pcast
    use_direct_linearize include_full_tracebacks_in_locations use_shardy_partitioner"""
SETTINGS = """persistent_cache_min_compile_time_secs persistent_cache_min_entry_size_bytes
    compilation_cache_max_size default_device logging_level debug_log_modules cuda_visible_devices
    transfer_guard transfer_guard_device_to_device transfer_guard_device_to_host random_seed_offset
    transfer_guard_host_to_device array_garbage_collection_guard optimization_level
    memory_fitting_level exec_time_optimization_effort tracer_error_num_traceback_frames
    captured_constants_warn_bytes cpu_enable_async_dispatch cpu_collectives_implementation
    xla_backend backend_target mock_gpu_topology include_debug_info_in_dumps dump_ir_to
    traceback_in_locations_limit hlo_source_file_canonicalization_regex
    persistent_cache_enable_xla_caches"""


class AnyFlag(Flag):
    """A flag that takes any value."""

    def check(self, value, source):
        """Every value is right."""
        return value


for _name in SWITCHES.split():
    define(Flag(_name, False, "JAX's: nothing here heeds it."))
for _name in SETTINGS.split():
    define(AnyFlag(_name, None, "JAX's: nothing here heeds it."))

# Their context managers.
log_compiles = functools.partial(FlagScope, "log_compiles")
explain_cache_misses = functools.partial(FlagScope, "explain_cache_misses")
no_tracing = functools.partial(FlagScope, "no_tracing")
no_execution = functools.partial(FlagScope, "no_execution")
softmax_custom_jvp = functools.partial(FlagScope, "softmax_custom_jvp")
transfer_guard = functools.partial(FlagScope, "transfer_guard")
