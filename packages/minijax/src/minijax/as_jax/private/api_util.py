"""Functions of trees as functions of leaves."""

from minijax.api_util import *  # noqa: F403
