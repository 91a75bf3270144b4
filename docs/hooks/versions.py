"""mkdocs hook: a menu of versions, on the site that mike publishes."""

from mkdocs.config.defaults import MkDocsConfig


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    if "mike" in config.plugins:
        config.extra["version"] = {"provider": "mike"}
    return config
