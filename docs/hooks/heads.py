"""Files of the site that only some pages load: styles, and scripts, all of them modules."""

from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url


def url_of(asset: str, page: Page) -> str:
    """A file of `assets/` as seen from a page; also where a bare name would be a module's."""
    url = get_relative_url(f"assets/{asset}", page.url)
    return url if url.startswith(".") else f"./{url}"


def loading(output: str, page: Page, *assets: str) -> str:
    """A page that loads files of `assets/`, in this order."""
    tags = {
        "css": '<link rel="stylesheet" href="{}">',
        "js": '<script type="module" src="{}"></script>',
    }
    head = "".join(tags[asset.rpartition(".")[2]].format(url_of(asset, page)) for asset in assets)
    return output.replace("</head>", f"{head}</head>", 1)
