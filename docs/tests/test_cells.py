"""Live cells and exercises, used as a reader uses them."""

import re

import pytest
from playwright.sync_api import expect
from visits import SITE, WIDE, Handler, Visit

CHAPTER = "learn/stage1/interpreters/"


@pytest.fixture(scope="module")
def tab(browser, address):
    """One tab, since to start Python takes longer than most tests."""
    tab = Visit(browser, address, WIDE, "light")
    tab.open(CHAPTER)
    yield tab
    tab.context.close()


@pytest.fixture
def page(tab):
    """The chapter, with the Python that the tests before started; then all cells are reset."""
    yield tab.page
    for button in tab.page.get_by_role("button", name="Reset").all():
        if button.is_enabled():
            button.click()
    problems, tab.problems[:] = list(tab.problems), []
    assert problems == []


def cell(page, kind=".cell"):
    """The first cell of a kind, its status and its output."""
    box = page.locator(kind).first
    return box, box.locator(".cell-status"), box.locator(".cell-output")


def press(box, name):
    box.get_by_role("button", name=name, exact=True).click()


def write(page, box, code):
    """Replaces the code of a cell, by keyboard."""
    if box.get_by_role("button", name="Edit").is_visible():
        press(box, "Edit")
    editor = box.locator(".cm-content")
    editor.focus()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(code)


def solution(page, name):
    return page.locator(f'.solution[data-exercise="{name}"] code').text_content()


def test_cells_print_what_was_recorded(visit):
    """All cells before stage 2, each page from its last cell: those above run first.

    The first run fetches Python, and nothing before it.
    """
    tab = visit()
    Handler.fetched.clear()
    chapters = [SITE / "learn/zero", *sorted((SITE / "learn/stage1").glob("*/"))]
    for chapter in chapters:
        page = tab.open(f"{chapter.relative_to(SITE)}/")
        cells = page.locator(".cell:not(.exercise)")
        if not cells.count():
            continue
        if chapter == chapters[0]:
            assert [path for path in Handler.fetched if "pyodide" in path] == []
        recorded = cells.locator(".cell-output").all_inner_texts()
        press(cells.last, "Run")
        expect(cells.last.locator(".cell-status")).to_contain_text("Ran in")
        assert cells.locator(".cell-output").all_inner_texts() == recorded
    assert Handler.fetched.count("/assets/vendor/pyodide/pyodide.asm.wasm") == 1
    assert [path for path in Handler.fetched if "codemirror" in path] == []


def test_edited_cell_runs_breaks_and_is_reset(page):
    box, status, output = cell(page)
    recorded = output.inner_text()
    write(page, box, "1 + 1")
    page.keyboard.press("Shift+Enter")
    expect(output).to_have_text("2\n")
    write(page, box, "x = 1\nprint(x / 0)")
    page.keyboard.press("Shift+Enter")
    expect(output).to_contain_text("ZeroDivisionError in line 2")
    expect(output.locator(".cell-error code")).to_have_text("print(x / 0)")
    expect(output.locator("details code")).not_to_contain_text("cell_runner")
    write(page, box, "print(")
    page.keyboard.press("Shift+Enter")
    expect(output).to_contain_text("SyntaxError in line 1")
    press(box, "Reset")
    assert output.inner_text() == recorded
    press(box, "Run")
    expect(status).to_contain_text("Ran in")
    assert output.inner_text() == recorded


def test_endless_loop_is_stopped(page):
    """Python is interrupted, and keeps its variables."""
    box, status, output = cell(page)
    write(page, box, "print('begun', flush=True)\nkept = 5\nwhile True: print('on')")
    page.keyboard.press("Shift+Enter")
    expect(output).to_contain_text("begun")
    press(box, "Stop")
    expect(status).to_contain_text("Stopped")
    write(page, box, "print(kept)")
    page.keyboard.press("Shift+Enter")
    expect(output).to_contain_text("5\n")


def test_what_does_not_heed_a_stop_is_given_up(visit):
    page = visit().open(CHAPTER)
    box, status, output = cell(page)
    write(page, box, "print('begun', flush=True)\nsum(range(10**10))")
    page.keyboard.press("Shift+Enter")
    expect(output).to_contain_text("begun")
    press(box, "Stop")
    expect(status).to_contain_text("Stopped. The next run starts Python anew.")
    write(page, box, "print(6)")
    page.keyboard.press("Shift+Enter")
    expect(output).to_contain_text("6\n")


def test_python_is_kept_from_page_to_page(visit):
    """Its modules are, while the names of a page are its own; a page left ends what it ran."""
    tab = visit()
    page = tab.open(CHAPTER)
    box, status, _ = cell(page)
    write(page, box, "import sys\nsys.kept = name = 5")
    page.keyboard.press("Shift+Enter")
    expect(status).to_contain_text("Ran in")
    write(page, box, "print('begun', flush=True)\nwhile True: pass")
    page.keyboard.press("Shift+Enter")
    expect(box).to_contain_text("begun")
    tab.open("use/sharp_bits/")
    page = tab.open("learn/stage1/dual_numbers/")
    box, status, output = cell(page)
    write(page, box, "import sys\nprint(sys.kept, 'name' in globals())")
    page.keyboard.press("Shift+Enter")
    expect(output).to_have_text("5 False\n")


def test_failure_above_is_told(page):
    box, _, output = cell(page)
    write(page, box, "1 / 0")
    exercise, status, _ = cell(page, ".exercise.cell")
    press(exercise, "Check")
    expect(status).to_contain_text("Cell 1, above, did not end well")
    expect(output).to_contain_text("ZeroDivisionError")


def test_exercise_is_failed_and_then_passed(page):
    box, status, output = cell(page, ".exercise.cell")
    press(box, "Check")
    expect(status).to_have_text("Not yet.")
    expect(output).to_contain_text("following.lines ==")
    expect(output.locator(".cell-values")).to_contain_text("following.lines[]")
    write(page, box, "FollowingInterpreter = None")
    page.keyboard.press("Shift+Enter")
    expect(output).to_contain_text("TypeError in line 1 of the check")
    write(page, box, solution(page, "follow"))
    page.keyboard.press("Shift+Enter")
    expect(status).to_have_text("Passed.")


def test_what_was_written_and_solved_is_remembered(visit):
    tab = visit()
    page = tab.open(CHAPTER)
    box, status, _ = cell(page, ".exercise.cell")
    write(page, box, solution(page, "follow"))
    page.keyboard.press("Shift+Enter")
    expect(status).to_have_text("Passed.")
    page = tab.open(CHAPTER)
    box, status, _ = cell(page, ".exercise.cell")
    expect(status).to_have_text("Solved before.")
    expect(box.locator(".cm-content")).to_contain_text("FollowingInterpreter")
    mark = page.locator(".md-nav--primary a.md-nav__link--active .menu-mark")
    expect(mark).to_have_text(re.compile(r"^1/\d✎$"))
    press(box, "Reset")
    page = tab.open(CHAPTER)
    _, status, _ = cell(page, ".exercise.cell")
    expect(status).to_have_text("")


def test_cells_are_used_by_keyboard_alone(page):
    box = page.locator(".cell:not(.exercise)").last  # no other test has opened its editor
    output = box.locator(".cell-output")
    box.get_by_role("button", name="Edit").focus()
    page.keyboard.press("Enter")
    expect(box.locator(".cm-content")).to_be_focused()
    page.keyboard.press("Control+a")
    page.keyboard.type("for i in range(2):\nprint(i)")  # the editor indents
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(box.get_by_role("button", name="Run")).to_be_focused()
    page.keyboard.press("Enter")
    expect(output).to_have_text("0\n1\n")


def test_without_javascript_cells_are_blocks(browser, address):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/{CHAPTER}")
    expect(page.locator(".cell").first.locator("code").first).to_contain_text("def foo")
    assert page.locator(".cell button").count() == 0
    context.close()


def test_notebook_is_downloaded(page):
    with page.expect_download() as download:
        page.get_by_text("This chapter as a notebook").click()
    assert download.value.suggested_filename == "interpreters.ipynb"
