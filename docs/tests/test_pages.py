"""All pages of the site: nothing fails, nothing is fetched from elsewhere, nothing is cut off."""

import re

import pytest
from playwright.sync_api import expect
from visits import NARROW, PAGES, WIDE, Handler, Visit

TEXTS = "/search/texts.json"

# Where visits begin: at home, the tutorial, a chapter with cells, and others with formulas.
FIRST = [
    "",
    "learn/",
    "learn/stage1/dual_numbers/",
    "learn/stage4/transpose/",
    "learn/duals/",
    "use/",
]
LIGHT = 600_000  # bytes

# The elements that reach beyond the right edge of the window, unless a box around them scrolls.
TOO_WIDE = """() => {
  const width = document.documentElement.clientWidth
  if (document.documentElement.scrollWidth <= width) return []
  return [...document.querySelectorAll("body *")]
    .filter(e => e.getBoundingClientRect().right > width + 1 && e.checkVisibility())
    .map(e => `<${e.tagName.toLowerCase()} class="${e.className}"> ${e.textContent.slice(0, 50)}`)
}"""

# The figures and instruments that are wider than their place, and so must be scrolled sideways.
SCROLLED = """() => [...document.querySelectorAll("figure, figure *, .drawing, .cell-output *")]
  .filter(each => each.scrollWidth > each.clientWidth + 1 && each.clientWidth > 0)
  .filter(each => ["auto", "scroll"].includes(getComputedStyle(each).overflowX))
  .filter(each => each.closest("figure"))
  .map(each => `<${each.tagName.toLowerCase()} class="${each.getAttribute("class")}">`)"""

# The code blocks that must be scrolled sideways.
CUT_OFF = """() =>
  [...document.querySelectorAll("pre code, pre")]
    .filter(each => each.scrollWidth > each.clientWidth + 1)
    .filter(each => getComputedStyle(each).overflowX !== "visible")
    .map(each => each.textContent.slice(0, 200))"""

# The lines that begin with a fence: its block has not become code.
FENCES = r"""() => document.querySelector("main").innerText.match(/^\s*```.*$/gm) ?? []"""

# The outputs without any text, each by the end of the program above it.
EMPTY = """() => [...document.querySelectorAll(".language-text.highlight")]
  .filter(each => each.innerText.trim() === "")
  .map(each => each.previousElementSibling?.innerText.slice(-100) ?? "")"""

# Before the page is there, so that it is laid out once.
NO_TRANSITIONS = """
  const sheet = new CSSStyleSheet()
  sheet.replaceSync("* { transition: none !important }")
  document.adoptedStyleSheets = [sheet]"""

UNFOLD = """() => document.querySelectorAll("details").forEach(each => each.open = true)"""

# Text whose contrast with what is behind it is below 4.5 to 1, on the page, in figures and in
# instruments. What is behind a text of a figure is the last shape drawn before it, around it.
FAINT = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true })
  const remembered = (f, known = new Map()) => key => {
    if (!known.has(key)) known.set(key, f(key))
    return known.get(key)
  }
  const parsed = remembered(color => {
    canvas.clearRect(0, 0, 1, 1)
    canvas.fillStyle = color
    canvas.fillRect(0, 0, 1, 1)
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data
    return [r, g, b, a / 255]
  })
  const over = ([r, g, b, a], [R, G, B]) =>
    [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a)]
  const around = element => element.parentElement ?? element.getRootNode().host ?? null
  const opacity = remembered(element => element === null ? 1
    : getComputedStyle(element).opacity * opacity(around(element)))
  const behind = remembered(element => element === null ? [255, 255, 255]
    : over(parsed(getComputedStyle(element).backgroundColor), behind(around(element))))
  const shapes = remembered(svg => [...svg.querySelectorAll("rect, circle, ellipse, text")])
  const behindInFigure = text => {
    const svg = text.ownerSVGElement
    const { x, y, width, height } = text.getBoundingClientRect()
    let color = behind(svg)
    for (const shape of shapes(svg)) {
      if (shape === text) break
      const box = shape.getBoundingClientRect(), style = getComputedStyle(shape)
      const isAround = box.left <= x + width / 2 && x + width / 2 <= box.right
        && box.top <= y + height / 2 && y + height / 2 <= box.bottom
      if (shape.tagName === "text" || style.fill === "none" || !isAround) continue
      const [r, g, b, a] = parsed(style.fill)
      color = over([r, g, b, a * style.fillOpacity * opacity(shape)], color)
    }
    return color
  }
  const luminance = rgb => {
    const [r, g, b] = rgb.map(c => c / 255)
      .map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const faint = new Map()
  function look(root) {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT)
    while (walker.nextNode()) {
      const node = walker.currentNode
      if (node.shadowRoot) look(node.shadowRoot)
      const element = node.parentElement, text = node.textContent.trim()
      if (node.nodeType !== Node.TEXT_NODE || !element || !text) continue
      if (element.closest("script, style, desc, title, :disabled, .headerlink, .katex")) continue
      if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue
      const figure = element.closest("svg text")
      const style = getComputedStyle(element)
      const back = figure ? behindInFigure(figure) : behind(element)
      const [r, g, b, a] = parsed(figure ? style.fill : style.color)
      const front = over([r, g, b, a * opacity(element)], back)
      const [light, dark] = [front, back].map(luminance).sort((a, b) => b - a)
      const ratio = (light + 0.05) / (dark + 0.05)
      if (ratio >= 4.5) continue
      const name = `${element.tagName}.${element.getAttribute("class") ?? ""}`
      faint.set(name, `${ratio.toFixed(2)} ${text.slice(0, 40)}`)
    }
  }
  look(document.body)
  return [...faint].map(each => each.join(": "))
}"""


@pytest.fixture(scope="module")
def tab(browser, address):
    """One tab for all pages, since opening one takes longer than opening a page."""
    tab = Visit(browser, address, WIDE, "light")
    tab.context.add_init_script(NO_TRANSITIONS)
    yield tab
    tab.context.close()


def test_there_are_pages():
    assert len(PAGES) > 60


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path or "home")
def test_page(path, tab):
    """Nothing fails, code fits, text can be read in both schemes, a narrow window is enough."""
    tab.problems.clear()
    page = tab.open(f"{path}/" if path else "")
    found = {"not rendered": page.evaluate(FENCES), "without output": page.evaluate(EMPTY)}
    page.evaluate(UNFOLD)
    # First as wide as the window is now: each change lays the page out anew.
    for size in sorted((WIDE, NARROW), key=lambda size: size != page.viewport_size):
        page.set_viewport_size(size)
        if size == NARROW:
            found["too wide"] = page.evaluate(TOO_WIDE)
            found["scrolled"] = page.evaluate(SCROLLED)
            continue
        found["cut off"] = page.evaluate(CUT_OFF)
        for scheme in ("default", "slate"):
            page.evaluate("scheme => document.body.dataset.mdColorScheme = scheme", scheme)
            found[f"faint in {scheme}"] = page.evaluate(FAINT)
    found["failed"] = list(tab.problems)
    problems = [f"{what}: {each}" for what, them in found.items() for each in them]
    assert problems == []


@pytest.mark.parametrize("path", FIRST, ids=lambda path: path or "home")
def test_first_load_is_light(path, visit):
    """All that the server sends until nothing is asked for any more."""
    tab = visit()
    Handler.sent.clear()
    tab.open(path).wait_for_load_state("networkidle")
    assert sum(Handler.sent.values()) < LIGHT, Handler.sent.most_common()


@pytest.mark.parametrize(("preferred", "scheme"), [("light", "default"), ("dark", "slate")])
def test_scheme_is_the_preferred_one_until_it_is_changed(preferred, scheme, visit):
    page = visit(scheme=preferred).open("")
    shown = "document.body.dataset.mdColorScheme"
    assert page.evaluate(shown) == scheme
    page.locator("label[for^=__palette]:visible").click()
    assert page.evaluate(shown) != scheme


def test_search_finds_einsum_first(visit):
    """The texts of the site are fetched when the reader goes to the search."""
    Handler.fetched.clear()
    page = visit().open("")
    page.wait_for_timeout(500)
    assert TEXTS not in Handler.fetched
    with page.expect_response(lambda response: response.url.endswith(TEXTS)):
        page.keyboard.press("/")
    page.keyboard.type("einsum", delay=20)
    first = page.locator(".md-search-result__item").first
    expect(first.locator("a[href*='#']").first).to_have_attribute(
        "href", re.compile(r"/reference/numpy/products/#glassjax\.numpy\.einsum$")
    )
    assert Handler.fetched.count(TEXTS) == 1


def test_keyboard_alone_reaches_everything(visit):
    """Tab goes from the skip link through the tabs to the text, and each stop is visible."""
    page = visit().open("learn/stage1/interpreters/")
    seen = []
    for _ in range(120):
        page.keyboard.press("Tab")
        seen.append(
            page.evaluate(
                "(() => { const e = document.activeElement; const box = e.getBoundingClientRect();"
                "return [e.tagName, (e.textContent || e.ariaLabel || '').trim().slice(0, 20),"
                "box.width > 0 || e.type === 'radio' || e.tagName === 'LABEL'] })()"
            )
        )
        if seen[-1][1] == "Check":
            break
    texts = [text for _, text, _ in seen]
    assert "Skip to content" in texts[0]
    assert {"Learn", "Run", "Edit", "Check"} <= set(texts), texts
    assert all(visible for _, _, visible in seen), seen
