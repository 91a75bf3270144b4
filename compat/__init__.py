"""Small programs on libraries written for JAX, the same with JAX and with minijax in its place."""
