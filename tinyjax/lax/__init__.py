"""The names of jax.lax: primitives, control flow, collectives. Nothing is made here."""

from tinyjax.lazy import lazy_imports as _lazy_imports

with _lazy_imports(globals()):
    from tinyjax.dtypes import dtype
    from tinyjax.lax import linalg
    from tinyjax.lax.fourier import FftType, fft, fft_p
    from tinyjax.lax.odds import (
        AccuracyMode,
        ConvGeneralDilatedDimensionNumbers,
        DotAlgorithm,
        DotDimensionNumbers,
        PrecisionLike,
        Tolerance,
        after_all,
        broadcast_like,
        create_token,
        dce_sink,
        dce_sink_p,
        dynamic_index_in_dim,
        platform_dependent,
        shape_as_value,
        stage,
    )
    from tinyjax.lax.patches import conv_general_dilated_local, conv_general_dilated_patches
    from tinyjax.lax.ragged import RaggedDotDimensionNumbers, ragged_dot, ragged_dot_general
    from tinyjax.lax.scaled import scaled_dot
    from tinyjax.mapping import map
    from tinyjax.primitives.approximate import approx_max_k, approx_min_k, approx_top_k_p
    from tinyjax.primitives.arithmetic import (
        add,
        add_p,
        div,
        div_p,
        eq,
        eq_p,
        ge,
        ge_p,
        gt,
        gt_p,
        integer_pow,
        integer_pow_p,
        le,
        le_p,
        lt,
        lt_p,
        mul,
        mul_p,
        ne,
        ne_p,
        neg,
        neg_p,
        sub,
        sub_p,
    )
    from tinyjax.primitives.bessel import bessel_i0e, bessel_i0e_p, bessel_i1e, bessel_i1e_p
    from tinyjax.primitives.bits import (
        and_p,
        bitwise_and,
        bitwise_not,
        bitwise_or,
        bitwise_xor,
        clz,
        clz_p,
        not_p,
        or_p,
        population_count,
        population_count_p,
        shift_left,
        shift_left_p,
        shift_right_arithmetic,
        shift_right_arithmetic_p,
        shift_right_logical,
        shift_right_logical_p,
        xor_p,
    )
    from tinyjax.primitives.broadcasting import (
        RoundingMethod,
        broadcast_shapes,
        broadcast_to,
    )
    from tinyjax.primitives.complex_parts import complex_ as complex
    from tinyjax.primitives.complex_parts import (
        complex_p,
        conj,
        conj_p,
        imag,
        imag_p,
        real,
        real_p,
    )
    from tinyjax.primitives.conv_shapes import (
        ConvDimensionNumbers,
        conv_dimension_numbers,
        conv_general_permutations,
        conv_general_shape_tuple,
        conv_shape_tuple,
        conv_transpose_shape_tuple,
        padtype_to_pads,
    )
    from tinyjax.primitives.convolution import (
        conv,
        conv_general_dilated,
        conv_general_dilated_p,
        conv_transpose,
        conv_with_general_padding,
    )
    from tinyjax.primitives.creation import (
        broadcasted_iota,
        empty,
        full_like,
        iota,
        iota_p,
    )
    from tinyjax.primitives.cumulative import (
        cumlogsumexp,
        cumlogsumexp_p,
        cummax,
        cummax_p,
        cummin,
        cummin_p,
        cumprod,
        cumprod_p,
        cumsum,
        cumsum_p,
    )
    from tinyjax.primitives.dot import (
        DotAlgorithmPreset,
        Precision,
        batch_matmul,
        dot,
        dot_general,
        dot_general_p,
    )
    from tinyjax.primitives.gather_scatter import (
        gather,
        gather_p,
        scatter,
        scatter_add,
        scatter_add_p,
        scatter_apply,
        scatter_max,
        scatter_max_p,
        scatter_min,
        scatter_min_p,
        scatter_mul,
        scatter_mul_p,
        scatter_p,
        scatter_sub,
        scatter_sub_p,
    )
    from tinyjax.primitives.generators import (
        RandomAlgorithm,
        rng_bit_generator,
        rng_bit_generator_p,
        rng_uniform,
        rng_uniform_p,
    )
    from tinyjax.primitives.identities import (
        bitcast_convert_type,
        bitcast_convert_type_p,
        collapse,
        copy_p,
        optimization_barrier,
        optimization_barrier_p,
        reduce_precision,
        reduce_precision_p,
        stop_gradient,
        stop_gradient_p,
    )
    from tinyjax.primitives.incomplete import (
        betainc,
        igamma,
        igamma_grad_a,
        igamma_grad_a_p,
        igamma_p,
        igammac,
        igammac_p,
        random_gamma_grad,
        regularized_incomplete_beta_p,
    )
    from tinyjax.primitives.linear import (
        broadcast,
        broadcast_in_dim,
        broadcast_in_dim_p,
        broadcast_to_rank,
        convert_element_type,
        convert_element_type_p,
        expand_dims,
        full,
        reduce_sum_p,
        reshape,
        reshape_p,
        squeeze,
        squeeze_p,
        transpose,
        transpose_p,
    )
    from tinyjax.primitives.maths import (
        acos,
        acos_p,
        acosh,
        acosh_p,
        asin,
        asin_p,
        asinh,
        asinh_p,
        atan,
        atan2,
        atan2_p,
        atan_p,
        atanh,
        atanh_p,
        cbrt,
        cbrt_p,
        cos,
        cos_p,
        cosh,
        cosh_p,
        digamma,
        digamma_p,
        erf,
        erf_inv,
        erf_inv_p,
        erf_p,
        erfc,
        erfc_p,
        exp,
        exp2,
        exp2_p,
        exp_p,
        expm1,
        expm1_p,
        lgamma,
        lgamma_p,
        log,
        log1p,
        log1p_p,
        log_p,
        logistic,
        logistic_p,
        mulhi,
        mulhi_p,
        polygamma,
        polygamma_p,
        pow_p,
        reciprocal,
        rsqrt,
        rsqrt_p,
        sin,
        sin_p,
        sinh,
        sinh_p,
        sqrt,
        sqrt_p,
        square,
        square_p,
        tan,
        tan_p,
        tanh,
        tanh_p,
        zeta,
        zeta_p,
    )
    from tinyjax.primitives.maths import pow_ as pow
    from tinyjax.primitives.order import abs_ as abs
    from tinyjax.primitives.order import (
        abs_p,
        ceil,
        ceil_p,
        floor,
        floor_p,
        is_finite,
        is_finite_p,
        max_p,
        min_p,
        nextafter,
        nextafter_p,
        rem,
        rem_p,
        round_p,
        sign,
        sign_p,
    )
    from tinyjax.primitives.order import max_ as max
    from tinyjax.primitives.order import min_ as min
    from tinyjax.primitives.order import round_ as round
    from tinyjax.primitives.pooling import (
        reduce_window_max_p,
        reduce_window_min_p,
        reduce_window_shape_tuple,
        reduce_window_sum_p,
        select_and_gather_add_p,
        select_and_scatter_add_p,
    )
    from tinyjax.primitives.reducing import (
        argmax,
        argmax_p,
        argmin,
        argmin_p,
        reduce_and,
        reduce_and_p,
        reduce_max,
        reduce_max_p,
        reduce_min,
        reduce_min_p,
        reduce_or,
        reduce_or_p,
        reduce_prod,
        reduce_prod_p,
        reduce_sum,
        reduce_xor,
        reduce_xor_p,
    )
    from tinyjax.primitives.selection import (
        clamp,
        clamp_p,
        select,
        select_n,
        select_n_p,
    )
    from tinyjax.primitives.shaping import (
        concatenate,
        concatenate_p,
        pad,
        pad_p,
        rev,
        rev_p,
        slice,
        slice_p,
        split,
        split_p,
    )
    from tinyjax.primitives.slicing import (
        dynamic_slice,
        dynamic_slice_in_dim,
        dynamic_slice_p,
        dynamic_update_index_in_dim,
        dynamic_update_slice,
        dynamic_update_slice_in_dim,
        dynamic_update_slice_p,
        index_in_dim,
        index_take,
        slice_in_dim,
    )
    from tinyjax.primitives.sorting import (
        sort,
        sort_key_val,
        sort_p,
        top_k,
        top_k_p,
    )
    from tinyjax.primitives.stacking import (
        stack,
        stack_p,
        tile,
        tile_p,
        unstack,
        unstack_p,
    )
    from tinyjax.primitives.windows import (
        GatherDimensionNumbers,
        GatherScatterMode,
        ScatterDimensionNumbers,
    )
    from tinyjax.putting import device_put_p, sharding_constraint_p, with_sharding_constraint
    from tinyjax.transforms.collectives import (
        all_gather,
        all_to_all,
        axis_index,
        axis_size,
        pmax,
        pmean,
        pmin,
        ppermute,
        pshuffle,
        psum,
        psum_scatter,
        pswapaxes,
    )
    from tinyjax.transforms.composite import composite
    from tinyjax.transforms.cond import (
        cond,
        cond_p,
        switch,
    )
    from tinyjax.transforms.control import associative_scan
    from tinyjax.transforms.custom_solve import custom_linear_solve, custom_root, linear_solve_p
    from tinyjax.transforms.exchanges import all_gather_p, all_to_all_p, ppermute_p
    from tinyjax.transforms.folding import reduce, reduce_p, reduce_window, reduce_window_p
    from tinyjax.transforms.named_reductions import axis_index_p, pmax_p, pmin_p, psum_p
    from tinyjax.transforms.scan import (
        scan,
        scan_p,
    )
    from tinyjax.transforms.while_loop import (
        fori_loop,
        while_loop,
        while_p,
    )
