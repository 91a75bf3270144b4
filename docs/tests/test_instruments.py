"""What the pages let a reader watch: recordings to step through, jaxprs to point at."""

from playwright.sync_api import expect


def test_stepper_is_driven_by_buttons_and_keys(visit):
    page = visit().open("learn/watch/recording/")
    stepper = page.locator("glassjax-stepper").first
    count = stepper.locator("output")
    start = count.text_content()
    stepper.get_by_role("button", name="Next").click()
    second = count.text_content()
    assert second != start
    section = stepper.locator("section")
    section.focus()
    page.keyboard.press("ArrowRight")
    assert count.text_content() not in (start, second)
    page.keyboard.press("ArrowLeft")
    assert count.text_content() == second
    page.keyboard.press("End")
    expect(stepper.get_by_role("button", name="Next")).to_be_disabled()
    page.keyboard.press("Home")
    assert count.text_content() == start
    expect(stepper.get_by_role("button", name="Back")).to_be_disabled()


def test_recording_of_an_edited_program_can_be_stepped_through(visit):
    page = visit().open("learn/watch/recording/")
    cell = page.locator(".cell[data-prints=html]").first
    before = cell.locator("glassjax-stepper output").text_content()
    cell.get_by_role("button", name="Edit").click()
    cell.locator(".cm-content").focus()
    page.keyboard.press("Control+Home")
    page.keyboard.insert_text("foo = lambda x: mul(x, 2.0)\n")
    page.keyboard.press("Shift+Enter")
    expect(cell.locator(".cell-status")).to_contain_text("Ran in")
    count = cell.locator("glassjax-stepper output")
    assert count.text_content() != before
    cell.get_by_role("button", name="Next").click()
    assert count.text_content().startswith("2")


def test_pointing_at_a_variable_shows_its_definition_and_uses(visit):
    page = visit().open("learn/watch/programs/")
    jaxpr = page.locator("glassjax-jaxpr").first
    variable = jaxpr.locator("[data-var]").first
    name = variable.get_attribute("data-var")
    variable.hover()
    expect(jaxpr.locator(".gj-note")).to_contain_text("used")
    lit = jaxpr.locator(".gj-on")
    assert lit.count() == jaxpr.locator(f'[data-var="{name}"]').count() > 0
    page.mouse.move(0, 0)
    expect(lit).to_have_count(0)
