"""LSTMs with all weights in one array, under the names of `jax.experimental.rnn`.

The weights of a layer and direction are `W_ih`, of the input, `W_hh`, of the hidden state, and
their biases `b_ih` and `b_hh`; the four gates, input, forget, cell and output, follow one another
along the first axis. The array has the weights of all layers, then all biases, as cuDNN's.

    i, f, o = sigmoid(...)    g = tanh(...)    c = f c + i g    h = o tanh(c)

(S. Hochreiter and J. Schmidhuber, "Long short-term memory", Neural Computation 9(8), 1997.)
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from glassjax import numpy as jnp
from glassjax import random
from glassjax.lax.control_flow.scan import scan
from glassjax.nn.activations import sigmoid
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.jit import jit
from glassjax.transforms.vmap import vmap

# The weights of one kind, by layer; of a bidirectional LSTM each direction counts as a layer.
Weights = dict[int, Array]


def _shapes(
    input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> list[tuple[int, ...]]:
    """The shapes of the weights, in the order in which they are stored."""
    directions = 2 if bidirectional else 1
    rows = 4 * hidden_size
    weights: list[tuple[int, ...]] = []
    for layer in range(num_layers * directions):
        columns = input_size if layer < directions else directions * hidden_size
        weights += [(rows, columns), (rows, hidden_size)]
    return weights + [(rows,)] * len(weights)


def get_num_params_in_lstm(
    input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> int:
    """The number of weights of an LSTM.

    Arguments:
        input_size, hidden_size, num_layers, bidirectional: as in `init_lstm_weight`.

    >>> from glassjax.experimental import rnn
    >>> rnn.get_num_params_in_lstm(3, 5, num_layers=1, bidirectional=False)
    200
    """
    return sum(map(math.prod, _shapes(input_size, hidden_size, num_layers, bidirectional)))


def init_lstm_weight(
    rng: ArrayLike, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> Array:
    """Random weights between -k and k, where k = 1 / sqrt(hidden_size).

    Arguments:
        rng: a key.
        input_size: the number of features of the input.
        hidden_size: the number of features of the hidden state.
        num_layers: the number of layers.
        bidirectional: whether each layer reads in both directions.

    Returns:
        An array of shape `(get_num_params_in_lstm(...),)` and dtype float32.
    """
    count = get_num_params_in_lstm(input_size, hidden_size, num_layers, bidirectional)
    k = np.sqrt(1.0 / hidden_size)
    return random.uniform(rng, (count,), np.float32, -k, k)


def _parts(
    weights: Any, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> list[Any]:
    shapes = _shapes(input_size, hidden_size, num_layers, bidirectional)
    array = jnp.asarray(weights)
    sizes = list(map(math.prod, shapes))
    if array.shape != (sum(sizes),):
        raise ValueError(
            f"lstm: expected weights of shape {(sum(sizes),)}, as get_num_params_in_lstm counts "
            f"them, found {array.shape}"
        )
    pieces = jnp.split(array, np.cumsum(sizes)[:-1].tolist())
    return [piece.reshape(shape) for piece, shape in zip(pieces, shapes, strict=True)]


def swap_lstm_gates(
    weights: ArrayLike, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> Array:
    """The weights with the last two gates of each, cell and output, swapped.

    Arguments:
        weights: the array of all weights.
        input_size, hidden_size, num_layers, bidirectional: as in `init_lstm_weight`.

    Raises:
        ValueError: there are not as many weights.
    """
    swapped = []
    for part in _parts(weights, input_size, hidden_size, num_layers, bidirectional):
        i, f, g, o = jnp.split(part, 4)
        swapped.append(jnp.concatenate([i, f, o, g]).reshape(-1))
    return jnp.concatenate(swapped)


def unpack_lstm_weights(
    weights: ArrayLike, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> tuple[Weights, Weights, Weights, Weights]:
    """The weights by kind and layer.

    Arguments:
        weights: the array of all weights.
        input_size, hidden_size, num_layers, bidirectional: as in `init_lstm_weight`.

    Returns:
        Dicts `W_ih, W_hh, b_ih, b_hh` by the number of the layer. For a bidirectional LSTM, the
        forward direction of layer `n` is at `2 n`, and the backward one at `2 n + 1`.

    Raises:
        ValueError: there are not as many weights.
    """
    parts = _parts(weights, input_size, hidden_size, num_layers, bidirectional)
    half = len(parts) // 2
    matrices, biases = parts[:half], parts[half:]
    return (
        dict(enumerate(matrices[::2])), dict(enumerate(matrices[1::2])),
        dict(enumerate(biases[::2])), dict(enumerate(biases[1::2])),
    )  # fmt: skip


def lstm(
    x: ArrayLike, h_0: ArrayLike, c_0: ArrayLike, weights: ArrayLike, seq_lengths: ArrayLike,
    input_size: int, hidden_size: int, num_layers: int, dropout: float, bidirectional: bool,
    precision: Any = None,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """The outputs and the last states of an LSTM, for a batch of sequences.

    Arguments:
        x: the sequences, of shape `(batch, steps, input_size)`.
        h_0: the first hidden states, of shape `(directions * num_layers, batch, hidden_size)`.
        c_0: the first cell states, of that shape.
        weights: the array of all weights.
        seq_lengths: the number of steps of each sequence, of shape `(batch,)` and dtype int32.
        input_size: the number of features of the input.
        hidden_size: the number of features of the hidden state.
        num_layers: the number of layers.
        dropout: must be 0.
        bidirectional: whether each layer reads in both directions.
        precision: as in `lax.dot_general`.

    Returns:
        The outputs of the last layer, of shape `(batch, steps, directions * hidden_size)`, zero
        after the end of a sequence, and the states `h_n` and `c_n` at the ends.

    Raises:
        NotImplementedError: `dropout` is not 0, or `seq_lengths` are not of dtype int32.
        ValueError: there are not as many weights.

    >>> from glassjax.experimental import rnn
    >>> weights = rnn.init_lstm_weight(glassjax.random.key(0), 3, 5, 1, False)
    >>> x, state = jnp.ones((2, 7, 3)), jnp.zeros((1, 2, 5))
    >>> y, h_n, c_n = rnn.lstm(x, state, state, weights, jnp.array([7, 4]), 3, 5, 1, 0.0, False)
    >>> y.shape, h_n.shape
    ((2, 7, 5), (1, 2, 5))
    """
    kinds = unpack_lstm_weights(weights, input_size, hidden_size, num_layers, bidirectional)
    return _lstm(
        x, h_0, c_0, *kinds, seq_lengths, num_layers, dropout, bidirectional, precision
    )  # fmt: skip


def lstm_ref(
    x: ArrayLike, h_0: ArrayLike, c_0: ArrayLike, W_ih: Weights, W_hh: Weights, b_ih: Weights,
    b_hh: Weights, seq_lengths: ArrayLike, input_size: int, hidden_size: int, num_layers: int,
    dropout: float, bidirectional: bool,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """`lstm` of weights as `unpack_lstm_weights` returns them.

    Arguments:
        x, h_0, c_0: as in `lstm`.
        W_ih, W_hh, b_ih, b_hh: the weights by layer, as `unpack_lstm_weights` returns them.
        seq_lengths, input_size, hidden_size, num_layers, dropout, bidirectional: as in `lstm`.

    Raises:
        NotImplementedError: `dropout` is not 0, or `seq_lengths` are not of dtype int32.
    """
    return _lstm(
        x, h_0, c_0, W_ih, W_hh, b_ih, b_hh, seq_lengths, num_layers, dropout, bidirectional, None
    )


@partial(jit, static_argnums=(8, 9, 10, 11))
def _lstm(
    x: Any, h_0: Any, c_0: Any, W_ih: Weights, W_hh: Weights, b_ih: Weights, b_hh: Weights,
    seq_lengths: Any, num_layers: int, dropout: float, bidirectional: bool, precision: Any,
) -> tuple[Array, Array, Array]:  # fmt: skip
    if dropout != 0.0:
        raise NotImplementedError(f"lstm: dropout must be 0, found {dropout}")
    if seq_lengths.dtype != np.int32:
        raise NotImplementedError(
            f"lstm: seq_lengths must be of dtype int32, found {seq_lengths.dtype}"
        )
    directions = 2 if bidirectional else 1
    ys = jnp.swapaxes(x, 0, 1)  # steps first
    ends = []
    for layer in range(num_layers):
        outs = []
        for direction in range(directions):
            n = layer * directions + direction
            weights = W_ih[n], W_hh[n], b_ih[n] + b_hh[n]
            xs = _reversed(ys, seq_lengths) if direction else ys
            end, out = _layer(xs, (h_0[n], c_0[n]), weights, seq_lengths, precision)
            outs.append(_reversed(out, seq_lengths) if direction else out)
            ends.append(end)
        ys = jnp.concatenate(outs, -1)
    h_n, c_n = (jnp.stack(states) for states in zip(*ends, strict=True))
    return jnp.swapaxes(ys, 0, 1), h_n, c_n


def _layer(xs: Any, start: Any, weights: Any, lengths: Any, precision: Any) -> tuple[Any, Any]:
    """The last states and the outputs of one layer in one direction."""
    w_input, w_hidden, bias = weights
    inputs = jnp.matmul(xs, w_input.T, precision=precision) + bias

    def lstm_step(carry: Any, x: Any) -> tuple[Any, Any]:
        h, c = carry
        gates = x + jnp.matmul(h, w_hidden.T, precision=precision)
        i, f, g, o = jnp.split(gates, 4, -1)
        c = sigmoid(f) * c + sigmoid(i) * jnp.tanh(g)
        h = sigmoid(o) * jnp.tanh(c)
        return (h, c), (h, c)

    _, (hs, cs) = scan(lstm_step, start, inputs)
    examples = jnp.arange(hs.shape[1])
    end = hs[lengths - 1, examples], cs[lengths - 1, examples]
    within = jnp.arange(hs.shape[0])[:, None] < lengths
    return end, jnp.where(within[..., None], hs, 0)


def _reversed(sequences: Any, lengths: Any) -> Any:
    """Each sequence in reverse order; the padding stays at the end."""
    steps = jnp.arange(sequences.shape[0])

    def reverse_sequence(sequence: Any, length: Any) -> Any:
        return sequence[jnp.where(steps < length, length - 1 - steps, steps)]

    return vmap(reverse_sequence, in_axes=(1, 0), out_axes=1)(sequences, lengths)


__all__ = [
    "get_num_params_in_lstm", "init_lstm_weight", "lstm", "lstm_ref", "swap_lstm_gates",
    "unpack_lstm_weights",
]  # fmt: skip
