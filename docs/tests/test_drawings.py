"""Figures that the reader changes, and the map on the home page."""

import re

import pytest
from playwright.sync_api import expect
from visits import NARROW, WIDE

DUAL = "learn/stage1/dual_numbers/"
DERIVATIVES = "learn/stage2/vmap_rules/"


def figure_of(page, label):
    """The figure with a control of this label."""
    controls = page.get_by_label(label, exact=True)
    return page.locator("glassjax-figure").filter(has=controls).first


def test_a_point_is_moved_by_keys(visit):
    page = visit().open(DUAL)
    figure = figure_of(page, "x")
    expect(figure.locator("p")).to_have_text("At x = 2.0, foo is 10.0 and its slope is 7.0")
    slider = figure.get_by_role("slider")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    says = "At x = 1.9, foo is 9.31 and its slope is 6.8"
    expect(figure.locator("p")).to_have_text(says)
    expect(slider).to_have_attribute("aria-valuetext", says)
    expect(figure.locator("svg")).to_contain_text("9.31 + 6.8 ε")


@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["wide", "narrow"])
def test_a_point_is_dragged(viewport, visit):
    page = visit(viewport).open(DUAL)
    figure = figure_of(page, "x")
    drawing = figure.locator("svg")
    drawing.scroll_into_view_if_needed()
    dot = figure.locator("circle").bounding_box()
    x, y = dot["x"] + dot["width"] / 2, dot["y"] + dot["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 60, y, steps=4)
    page.mouse.up()
    moved = figure.locator("circle").bounding_box()
    assert abs(moved["x"] - (dot["x"] - 60)) < 6
    value = float(figure.get_by_role("slider").get_attribute("value") or 0)
    assert value == 60  # what the page had; what the reader chose is the property
    assert float(figure.get_by_role("slider").input_value()) < value
    page.mouse.move(x - 120, y)  # no button is down
    assert figure.locator("circle").bounding_box() == moved


def test_axes_are_chosen_by_a_click(visit):
    page = visit().open("learn/stage2/vmap/")
    figure = page.locator("glassjax-figure").first
    text = figure.get_by_role("status")
    expect(text).to_contain_text("w: f64[] and x: f64[3]")
    choice = figure.get_by_role("group", name="x", exact=True)
    choice.get_by_text("1", exact=True).click()
    expect(text).to_have_text("in_axes=(0, 1): vmap: mapped axes differ in size")
    expect(figure.locator("svg")).to_contain_text("MappedAxisError")
    page.keyboard.press("ArrowLeft")
    expect(choice.get_by_label("0")).to_be_checked()
    expect(figure.locator("svg")).to_contain_text("f64[2,3]")


def test_an_animation_runs_once_it_is_seen_and_is_paused(visit):
    page = visit().open(DERIVATIVES)
    figure = page.locator("glassjax-figure").first
    figure.locator("svg").scroll_into_view_if_needed()
    button = figure.get_by_role("button")
    expect(button).to_have_text("Pause")
    slider = figure.get_by_role("slider")
    expect(slider).not_to_have_value("0")
    button.click()
    expect(button).to_have_text("Play")
    value = slider.input_value()
    page.wait_for_timeout(400)
    assert slider.input_value() == value


def test_an_animation_waits_for_those_who_want_less_motion(visit):
    each = visit()
    each.page.emulate_media(reduced_motion="reduce")
    page = each.open(DERIVATIVES)
    figure = page.locator("glassjax-figure").first
    figure.locator("svg").scroll_into_view_if_needed()
    expect(figure.get_by_role("button")).to_have_text("Play")
    value = figure.get_by_role("slider").input_value()
    page.wait_for_timeout(400)
    assert figure.get_by_role("slider").input_value() == value
    figure.get_by_role("button").click()
    expect(figure.get_by_role("slider")).not_to_have_value(value)


# The map on the home page.


def test_map_is_one_tab_stop_with_arrow_keys(visit):
    page = visit().open("")
    panel = page.get_by_role("region", name=re.compile("whole rule"))
    grid = page.get_by_role("grid")
    assert grid.locator("[tabindex='0']").count() == 1
    page.locator("h2").first.click()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    focused = page.locator(":focus")
    expect(focused).to_have_text("t * cos(x)")
    expect(panel).to_contain_text("sin: jvp, stage 2")
    expect(panel).to_contain_text("lambda t, out, x: mul(t, cos(x))")
    page.keyboard.press("ArrowDown")
    expect(panel).to_contain_text("cos: jvp")
    page.keyboard.press("End")
    expect(panel).to_contain_text("not linear")
    page.keyboard.press("Control+Home")
    expect(panel).to_contain_text("add: evaluate, stage 1")
    page.keyboard.press("ArrowUp")
    expect(focused).to_have_text("np.add")
    page.keyboard.press("Tab")
    expect(focused).to_have_text("explained here")
    page.keyboard.press("Enter")
    page.wait_for_url("**/learn/stage1/**")


def test_map_shows_the_rule_that_is_pointed_at_or_touched(visit, browser, address):
    page = visit().open("")
    panel = page.get_by_role("region", name=re.compile("whole rule"))
    page.get_by_role("grid").get_by_text("exponential").hover()
    expect(panel).to_contain_text("exp: lower, stage 3")
    expect(panel).to_contain_text("def elementwise")
    with browser.new_context(viewport=NARROW, has_touch=True) as context:
        page = context.new_page()
        page.goto(f"{address}/")
        page.locator(".map a").nth(1).tap()
        expect(page.locator(".map-panel")).to_contain_text("add: jvp, stage 1")
        expect(page.locator(".map-panel")).to_be_in_viewport()
        assert page.url == f"{address}/"
