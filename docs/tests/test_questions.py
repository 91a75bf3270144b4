"""Questions, answered as a reader answers them."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

CHAPTER = "learn/stage1/dead_code/"


@pytest.fixture
def page(visit):
    return visit().open(CHAPTER)


def first(page):
    """A question, its wrong and its right answers, and what is told."""
    box = page.locator("fieldset.question").first
    answers = box.locator(".answer")
    right = box.locator(".answer[data-right]")
    wrong = box.locator(".answer:not([data-right])")
    assert answers.count() == right.count() + wrong.count()
    return box, wrong, right, box.get_by_role("status")


def choose(answer):
    answer.get_by_role("radio").check()


def check(box):
    box.get_by_role("button", name="Check").click()


def test_every_answer_is_explained(page):
    box, wrong, right, told = first(page)
    expect(box).to_have_accessible_name(
        "1. Why does dead code elimination walk the list from its end?"
    )
    check(box)
    expect(told).to_have_text("Choose an answer.")
    for answer in wrong.all():
        choose(answer)
        check(box)
        expect(told).to_contain_text("Wrong. ")
        expect(told).to_contain_text(explanation(answer))
        expect(answer.locator(".why")).to_be_hidden()
    choose(right)
    check(box)
    expect(told).to_contain_text("Right. ")
    expect(told).to_contain_text(explanation(right))
    expect(wrong.first.locator(".why p")).to_be_visible()


def explanation(answer):
    return answer.locator(".why p").text_content().partition(". ")[2].strip()


def test_answers_are_given_by_keyboard_alone(page):
    box, *_, told = first(page)
    box.get_by_role("radio").first.focus()
    page.keyboard.press("Space")
    for _ in box.get_by_role("radio").all()[1:]:
        page.keyboard.press("Enter")
        if "Right." in told.inner_text():
            break
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(told).to_contain_text("Right. ")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('.question') !== null")


def test_answers_are_remembered_and_saved(visit):
    tab = visit()
    page = tab.open(CHAPTER)
    box, wrong, right, _ = first(page)
    for answer in (wrong.first, right):
        choose(answer)
        check(box)
    texts = [answer.locator("label").inner_text() for answer in (wrong.first, right)]
    page = tab.open(CHAPTER)
    box, wrong, right, _ = first(page)
    expect(right.get_by_role("radio")).to_be_checked()
    expect(box.locator(".is-wrong")).to_have_count(1)
    expect(box.locator(".is-right")).to_have_count(1)
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as a file").click()
    saved = json.loads(Path(download.value.path()).read_text("utf-8"))
    question = box.locator("legend").inner_text()
    assert saved == {CHAPTER: [{"question": question, "tries": texts, "right": True}]}


def test_without_javascript_explanations_are_folded(browser, address):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/{CHAPTER}")
    right = page.locator(".answer[data-right]").first
    expect(right.locator(".why p")).to_be_hidden()
    right.locator("summary").click()
    expect(right.locator(".why p")).to_be_visible()
    context.close()
