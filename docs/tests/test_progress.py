"""The path through the tutorial, and how far its reader is."""

import json
import re

from playwright.sync_api import expect
from visits import SITE

CHAPTER = "learn/stage1/staging/"
TABLE = (SITE / "assets/chapters.js").read_text("utf-8")
CHAPTERS = json.loads(TABLE.removeprefix("export const chapters = "))


def mark(page, number):
    return page.locator(".md-nav--primary a", has_text=re.compile(rf"^\s*{number} ")).locator(
        ".menu-mark"
    )


def read_to_the_end(page):
    page.locator(".chapter-end").scroll_into_view_if_needed()


def test_chapters_are_numbered_in_order():
    numbers = [tuple(map(int, each["title"].split()[0].split("."))) for each in CHAPTERS]
    assert numbers == sorted(set(numbers))
    assert {part for part, _ in numbers} >= {1, 2, 3, 4}
    assert all(each["minutes"] > 0 for each in CHAPTERS)


def test_chapter_has_number_minutes_and_needs(visit):
    page = visit().open(CHAPTER)
    number = page.locator("h1 .number").inner_text()
    assert page.title().startswith(f"{number} Staging")
    about = page.locator(".about-chapter")
    expect(about).to_contain_text(re.compile(r"^\d+ minutes, \d questions and \d exercises"))
    about.get_by_role("link", name="Jaxprs").click()
    expect(page.locator("h1")).to_contain_text("Jaxprs")


def test_chapter_is_read_at_its_end_and_shown_in_the_menu(visit):
    tab = visit()
    page = tab.open(CHAPTER)
    number = page.locator("h1 .number").inner_text()
    expect(mark(page, number)).to_be_empty()
    read_to_the_end(page)
    expect(mark(page, number)).to_have_text("✓")
    page = tab.open("learn/stage1/jaxprs/")
    expect(mark(page, number)).to_have_text("✓")
    page = tab.open("learn/")
    expect(page.locator(".progress")).to_contain_text(f"read 1 of {len(CHAPTERS)} chapters")
    expect(page.locator(".progress a")).to_contain_text(CHAPTERS[0]["title"])
    page = tab.open(CHAPTER)
    page.get_by_role("button", name="Read").press("Enter")
    expect(mark(page, number)).to_be_empty()


def test_what_was_solved_is_counted_and_forgotten(visit):
    tab = visit()
    page = tab.open(CHAPTER)
    number = page.locator("h1 .number").inner_text()
    question = page.locator(".question").first
    question.locator(".answer[data-right] label").click()
    question.get_by_role("button", name="Check").click()
    expect(mark(page, number)).to_have_text(re.compile(r"^1/\d"))
    page = tab.open("learn/")
    expect(page.locator(".progress")).to_contain_text("solved 1 exercises and questions")
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Forget all").click()
    expect(page.locator(".progress")).to_contain_text("read 0 of")
    expect(page.get_by_role("button", name="Forget all")).to_be_hidden()
    assert (
        page.evaluate("Object.keys(localStorage).filter(key => key.startsWith('glassjax '))") == []
    )


def test_progress_needs_no_storage(visit):
    tab = visit()
    tab.context.add_init_script(
        "Object.defineProperty(window, 'localStorage', { get() { throw new Error('blocked') } })"
    )
    page = tab.open(CHAPTER)
    read_to_the_end(page)
    number = page.locator("h1 .number").inner_text()
    expect(mark(page, number)).to_have_text("✓")
    tab.problems.clear()  # the theme's own script needs the storage
