"""Small programs on libraries written for JAX, the same with JAX and with glassjax in its place."""
