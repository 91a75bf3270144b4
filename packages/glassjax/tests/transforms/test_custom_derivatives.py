"""`custom_gradient` as a decorator."""

from glassjax import custom_gradient, grad


def test_custom_gradient_without_a_function_is_the_decorator():
    @custom_gradient()
    def square(x):
        return x * x, lambda ct: 10 * ct

    assert (square(3.0), grad(square)(3.0)) == (9, 10)
