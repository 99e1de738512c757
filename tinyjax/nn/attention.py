"""Scaled dot-product attention."""

import numpy as np

from tinyjax import dtypes, lax
from tinyjax import numpy as jnp
from tinyjax.mapping import vmap
from tinyjax.nn.normalizing import logsumexp, softmax
from tinyjax.tracebacks import boundary


@boundary
def dot_product_attention(query, key, value, bias=None, mask=None, *, scale=None, is_causal=False,
                          query_seq_lengths=None, key_value_seq_lengths=None,
                          local_window_size=None, implementation=None,
                          return_residual=False):  # fmt: skip
    """softmax(scale * query @ key^T + bias) @ value, for each head.

    Axes: B batch, T queries, S keys, N heads of the query, K of key and value (N a multiple of K),
    H features. B may be left out.

    Args:
      query: (B, T, N, H).
      key, value: (B, S, K, H).
      bias: added to the logits; broadcasts to (B, N, T, S).
      mask: booleans, where to look; broadcasts to (B, N, T, S).
      scale: of the logits; 1 / sqrt(H) by default.
      is_causal: no query looks at later keys.
      query_seq_lengths, key_value_seq_lengths: (B,), how many of T and S are no padding.
      local_window_size: how far to the left and to the right queries look; a number or a pair.
      implementation: None or "xla", which is all there is here.
      return_residual: also return the logarithm of the sum of exponentials, (B, T, N).

    Returns (B, T, N, H).
    """
    if implementation not in (None, "xla"):
        raise ValueError(f"Unsupported implementation option: {implementation}")
    shape = jnp.asarray(query).shape
    query, key, value = map(four_axes, (query, key, value))
    bias = None if bias is None else four_axes(bias)
    mask = None if mask is None else four_axes(mask)
    if isinstance(local_window_size, int):
        local_window_size = (local_window_size, local_window_size)
    batch, _, heads, features = key.shape
    check("value", value, [batch, key.shape[1], heads, features], key.dtype)
    check("query", query, [batch, -1, -1, features], key.dtype)
    check("mask", mask, [-1] * 4, np.dtype(bool))
    check("bias", bias, [-1] * 4, None)
    lengths = [
        None if n is None else jnp.asarray(n) for n in (query_seq_lengths, key_value_seq_lengths)
    ]
    if query.shape[-2] % heads:
        raise ValueError(
            "The number of query heads must be a multiple of key/value heads, but got "
            f"{query.shape[-2]} vs {heads}"
        )
    scale = 1.0 / np.sqrt(features) if scale is None else scale
    masks = (is_causal, *lengths, local_window_size)
    out, residual = grouped(query, key, value, bias, mask, scale, masks)
    if not return_residual:
        return out.reshape(shape)
    return out.reshape(shape), residual.reshape(shape[:-1])


def four_axes(x):
    """x with leading axes of size 1 until there are four."""
    x = jnp.asarray(x)
    return lax.expand_dims(x, range(4 - x.ndim)) if x.ndim < 4 else x


def check(name, x, shape, dtype):
    """Raise ValueError unless x has a shape (-1 is any size) and dtype."""
    if x is None:
        return
    if x.ndim != len(shape):
        raise ValueError(f"{name} ndim should be {len(shape)}, but got {x.ndim}")
    if dtype is not None and x.dtype != dtype:
        raise ValueError(f"{name} dtype should be {dtype}, but got {x.dtype}")
    if any(want not in (-1, n) for want, n in zip(shape, x.shape)):
        raise ValueError(f"{name} shape should be {shape}: but got {x.shape}")


def grouped(query, key, value, bias, mask, scale, masks):
    """Heads of the query share heads of key and value: one vmap over the ones that share."""
    b, t, n, h = query.shape
    k = key.shape[2]
    query = query.reshape(b, t, k, n // k, h)

    def spread(x):
        """bias or mask with its heads in groups."""
        if x is None:
            return None
        if x.shape[1] == 1:
            sizes = (x.shape[0], 1, n // k, *x.shape[2:])
            return jnp.broadcast_to(x[:, :, None, :, :], sizes)
        return x.reshape(x.shape[0], k, n // k, *x.shape[2:])

    def one(query, bias, mask):
        return attend(query, key, value, bias, mask, scale, *masks)

    in_axes = (3, None if bias is None else 2, None if mask is None else 2)
    out, residual = vmap(one, in_axes, out_axes=3)(query, spread(bias), spread(mask))
    return out.reshape(b, t, n, h), residual.reshape(b, t, n)


def attend(query, key, value, bias, mask, scale, is_causal, q_lengths, kv_lengths, window):
    """Attention where every head of the query has its own key and value."""
    dtype = jnp.promote_types(query.dtype, np.float32)
    logits = jnp.einsum("BTNH,BSNH->BNTS", query, key, preferred_element_type=dtype)
    logits = logits * jnp.array(scale, dtype=logits.dtype)
    if bias is not None:
        logits = (logits + bias).astype(logits.dtype)
    allowed = allowed_pairs(logits.shape, mask, is_causal, q_lengths, kv_lengths, window)
    if allowed is not None:
        lowest = -0.7 * float(min(dtypes.finfo(logits.dtype).max, np.finfo(np.float32).max))
        logits = jnp.where(allowed, logits, jnp.asarray(lowest, dtype=logits.dtype))
    logits = logits.astype(np.float32)
    weights = softmax(logits, axis=-1).astype(key.dtype)
    out = jnp.einsum("BNTS,BSNH->BTNH", weights, value)
    if q_lengths is not None:
        real = jnp.arange(out.shape[1])[None, :] < q_lengths[:, None]
        out = out * real[:, :, None, None].astype(out.dtype)
    residual = logsumexp(logits, axis=-1).astype(key.dtype)
    return out, lax.stop_gradient(jnp.transpose(residual, (0, 2, 1)))


def allowed_pairs(shape, mask, is_causal, q_lengths, kv_lengths, window):
    """Which query may look at which key: booleans that broadcast to (B, N, T, S), or None."""
    t, s = shape[2:]
    queries, keys = jnp.arange(t)[:, None], jnp.arange(s)[None, :]
    conditions = [] if mask is None else [mask]
    if is_causal:
        conditions.append(keys <= queries)
    if window is not None:
        left, right = window
        conditions.append((queries <= keys + left) & (queries >= keys - right))
    if q_lengths is not None:
        conditions.append((queries < q_lengths[:, None, None])[:, None])
    if kv_lengths is not None:
        conditions.append((keys < kv_lengths[:, None, None])[:, None])
    out = None
    for condition in conditions:
        out = condition if out is None else jnp.logical_and(out, condition)
    return out
