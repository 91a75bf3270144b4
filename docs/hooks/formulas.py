"""mkdocs hook: KaTeX, loaded by the pages that have formulas and by no others."""

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    if 'class="arithmatex"' not in output:
        return output

    def url(asset: str) -> str:
        return get_relative_url(f"assets/{asset}", page.url)

    style = f'<link rel="stylesheet" href="{url("vendor/katex/dist/katex.min.css")}">'
    scripts = "".join(
        f'<script src="{url(asset)}"></script>'
        for asset in ("vendor/katex/dist/katex.min.js", "formulas.js")
    )
    head, body, end = output.partition("</head>")
    return head + style + body + end.replace("</body>", f"{scripts}</body>")
