"""Operands that tests of `numpy` share."""

import numpy as np

x = np.array([[0.5, -2.0, 3.0, 0.25], [1.5, 0.0, 3.0, -1.0], [2.0, 0.5, -0.75, 4.0]], np.float32)
i = np.array([[3, -1, 7], [0, 7, 2]])
u = np.array([3, 200, 7, 7], np.uint8)
b = np.array([True, False, False, True])
z = x[:2] + 1j * x[1:]
row = x[0]
nothing = np.zeros((2, 0), np.float32)
