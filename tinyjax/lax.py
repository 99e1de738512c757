"""The names of jax.lax: primitives as functions, control flow, collectives. Nothing is made here."""

from tinyjax.primitives.elementwise import abs_ as abs
from tinyjax.primitives.elementwise import add, bitwise_and, bitwise_not, bitwise_or, bitwise_xor
from tinyjax.primitives.elementwise import ceil, clz
from tinyjax.primitives.elementwise import complex_ as complex
from tinyjax.primitives.elementwise import conj, div, eq, floor, ge, gt, imag, integer_pow
from tinyjax.primitives.elementwise import is_finite, le, lt
from tinyjax.primitives.elementwise import max_ as max
from tinyjax.primitives.elementwise import min_ as min
from tinyjax.primitives.elementwise import mul, ne, neg, nextafter, population_count, real, rem
from tinyjax.primitives.elementwise import round_ as round
from tinyjax.primitives.elementwise import select, select_n, shift_left
from tinyjax.primitives.elementwise import shift_right_arithmetic, shift_right_logical, sign, sub
from tinyjax.primitives.linear import (
    broadcast,
    broadcast_in_dim,
    broadcast_to_rank,
    convert_element_type,
    expand_dims,
    full,
    reduce_sum,
    reshape,
    squeeze,
    transpose,
)
