"""Keras: models trained, a convolution, layers of one's own, Lambda."""

import os

os.environ["KERAS_BACKEND"] = "jax"

import keras
import numpy as np
from keras import layers, ops

TOLERANCE = 1e-4


class Scaled(layers.Layer):
    """A dense layer with a learned scale, whose shapes Keras infers with an unknown batch size."""

    def __init__(self, units):
        super().__init__()
        self.units = units

    def build(self, shape):
        self.kernel = self.add_weight(
            shape=(shape[-1], self.units), initializer=keras.initializers.GlorotUniform(seed=3)
        )
        self.scale = self.add_weight(shape=(self.units,), initializer="ones")

    def call(self, x):
        centered = x - ops.mean(x, axis=0, keepdims=True)
        return ops.reshape(centered @ self.kernel * self.scale, (ops.shape(x)[0], -1))


def trained(model, x, y, loss):
    """The losses of a few epochs, and the predictions after them."""
    model.compile(optimizer=keras.optimizers.Adam(0.01), loss=loss)
    history = model.fit(x, y, epochs=3, batch_size=8, shuffle=False, verbose=0)
    return {"losses": history.history["loss"], "predictions": model.predict(x[:5], verbose=0)}


def main():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(32, 4)).astype(np.float32)
    targets = (rows.sum(1, keepdims=True) > 0).astype(np.float32)
    images = rng.normal(size=(16, 8, 8, 1)).astype(np.float32)
    kinds = (images.mean((1, 2, 3)) > 0).astype(np.int32)

    def init(seed):
        return keras.initializers.GlorotUniform(seed=seed)

    mlp = keras.Sequential(
        [
            layers.Input((4,)),
            layers.Dense(8, activation="relu", kernel_initializer=init(0)),
            layers.Dense(1, activation="sigmoid", kernel_initializer=init(1)),
        ]
    )
    convolution = keras.Sequential(
        [
            layers.Input((8, 8, 1)),
            layers.Conv2D(4, 3, activation="relu", kernel_initializer=init(2)),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(2, kernel_initializer=init(4)),
        ]
    )
    given = layers.Input((4,))
    hidden = layers.Lambda(lambda x: ops.concatenate([x, ops.sin(x) / x.shape[1]], axis=-1))(given)
    hidden = ops.gelu(Scaled(6)(hidden))
    functional = keras.Model(given, layers.Dense(1, kernel_initializer=init(5))(hidden))
    by_class = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return {
        "mlp": trained(mlp, rows, targets, "binary_crossentropy"),
        "convolution": trained(convolution, images, kinds, by_class),
        "functional": trained(functional, rows, targets, "mse"),
        "shapes": [str(functional.output_shape), str(hidden.shape)],
    }
