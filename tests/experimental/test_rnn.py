"""`experimental.rnn`, against JAX's reference LSTM."""

import jax
import numpy as np
import pytest
from jax.experimental import rnn as theirs
from libraries import assert_close
from shares import one_in

import glassjax
import glassjax.numpy as gnp
from glassjax.experimental import rnn as ours

F32 = np.float32
BATCH, STEPS, INPUT, HIDDEN = 3, 6, 2, 4
LENGTHS = np.array([6, 1, 4], np.int32)


def arguments(num_layers, bidirectional):
    rng = np.random.default_rng(0)
    states = (num_layers * (1 + bidirectional), BATCH, HIDDEN)
    x = rng.normal(size=(BATCH, STEPS, INPUT)).astype(F32)
    h, c = rng.normal(size=(2, *states)).astype(F32)
    count = theirs.get_num_params_in_lstm(INPUT, HIDDEN, num_layers, bidirectional)
    return x, h, c, rng.normal(size=count).astype(F32)


@pytest.mark.parametrize(
    ("num_layers", "bidirectional"), one_in(4, [(2, True), (1, False), (1, True), (2, False)])
)
def test_outputs_and_gradients_are_those_of_the_reference(num_layers, bidirectional):
    x, h, c, weights = arguments(num_layers, bidirectional)
    sizes = INPUT, HIDDEN, num_layers
    of_weights = (*sizes, bidirectional)
    options = (LENGTHS, *sizes, 0.0, bidirectional)

    def reference(x, h, c, weights):
        kinds = theirs.unpack_lstm_weights(weights, *of_weights)
        out = theirs.lstm_ref(x, h, c, *kinds, *options)
        return sum((y**2).sum() for y in out), out

    def mine(x, h, c, weights):
        out = ours.lstm(x, h, c, weights, *options)
        return sum(gnp.sum(y**2) for y in out), out

    args = x, h, c, weights
    (_, expected), gradients = jax.jit(jax.value_and_grad(reference, (0, 1, 2, 3), has_aux=True))(
        *args
    )

    def both(*args):
        kinds = ours.unpack_lstm_weights(args[-1], *of_weights)
        again = ours.lstm_ref(*args[:-1], *kinds, *options)
        return glassjax.value_and_grad(mine, (0, 1, 2, 3), has_aux=True)(*args), again, kinds

    ((_, found), mine_gradients), again, kinds = glassjax.jit(both)(*args)
    assert_close(found, expected, 1e-4, 1e-5)
    assert_close(mine_gradients, gradients, 1e-3, 1e-4)
    assert_close(again, found, 1e-6, 1e-6)
    for one, other in zip(kinds, theirs.unpack_lstm_weights(weights, *of_weights), strict=True):
        assert one.keys() == other.keys()
        for layer in one:
            np.testing.assert_array_equal(one[layer], other[layer])


@pytest.mark.parametrize("bidirectional", one_in(2, [True, False]))
def test_weights(bidirectional):
    sizes = INPUT, HIDDEN, 2, bidirectional
    count = ours.get_num_params_in_lstm(*sizes)
    assert count == theirs.get_num_params_in_lstm(*sizes)
    weights = ours.init_lstm_weight(glassjax.random.key(0), *sizes)
    np.testing.assert_array_equal(weights, theirs.init_lstm_weight(jax.random.key(0), *sizes))
    np.testing.assert_array_equal(
        ours.swap_lstm_gates(weights, *sizes), theirs.swap_lstm_gates(np.asarray(weights), *sizes)
    )
    with pytest.raises(ValueError, match="get_num_params_in_lstm"):
        ours.unpack_lstm_weights(weights[1:], *sizes)


def test_what_is_refused():
    x, h, c, weights = arguments(1, False)
    with pytest.raises(NotImplementedError, match="dropout"):
        ours.lstm(x, h, c, weights, LENGTHS, INPUT, HIDDEN, 1, 0.5, False)
    with pytest.raises(NotImplementedError, match="int32"):
        ours.lstm(x, h, c, weights, LENGTHS.astype(F32), INPUT, HIDDEN, 1, 0.0, False)
