"""Every chapter asks two or three questions; their programs print the right answers."""

import sys
from pathlib import Path

import pytest
from tables import for_each

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS / "hooks"))

import questions  # noqa: E402
from blocks import blocks  # noqa: E402
from notebooks import CHAPTER  # noqa: E402

PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


def asked(page):
    return list(questions.questions((DOCS / page).read_text("utf-8")))


def is_chapter(page):
    return CHAPTER.fullmatch(page) and any(blocks((DOCS / page).read_text("utf-8")))


CHAPTERS = [page for page in PAGES if is_chapter(page)]


@for_each("page", CHAPTERS)
def test_chapter_asks_two_or_three_questions(page):
    assert 2 <= len(asked(page)) <= 3
    assert all(3 <= len(question.answers) <= 5 for question in asked(page))


@for_each("page", PAGES)
def test_questions_hold(page):
    """Each has one right answer, explains all, and its program does what the right answer says."""
    assert [(each.text, found) for each in asked(page) if (found := questions.problem(each))] == []


@for_each("page", CHAPTERS)
def test_questions_stand_before_the_exercises(page):
    text = (DOCS / page).read_text("utf-8")
    (section,) = questions.SECTION.finditer(text)
    later = text[section.end() :].partition("\n")[0]
    assert later in ("## Exercises", "## The same in JAX", "") or later.startswith(
        "## What changed"
    )
    assert "\n## Exercises\n" not in text[: section.start()]


def test_all_of_a_section_is_a_question():
    """No answer is lost to a mistake in the marks of another one."""
    for page in PAGES:
        text = (DOCS / page).read_text("utf-8")
        marks = sum(len(question.answers) for question in asked(page))
        assert marks == text.count("\n- [ ] ") + text.count("\n- [x] "), page


QUESTION = """## Questions

What does this print?

```python
print({program})
```

- [x] {answer}
  Since it does.
- [ ] `3`
  It does not.
"""


@pytest.mark.parametrize(
    ("program", "answer", "problem"),
    [
        ("1 + 1", "`2`", ""),
        ("1 + 1", "The sum.", ""),
        ("1 + 1", "`1`", "its right answer is `1`, but its program gives 2"),
        (r"'a\nb'", "`a`, then `b`", ""),
        ("1 / 0", "`ZeroDivisionError`", ""),
        ("1 / 0", "Nothing.", "its program raises ZeroDivisionError"),
    ],
)
def test_the_right_answer_is_what_the_program_prints(program, answer, problem):
    (question,) = questions.questions(QUESTION.format(program=program, answer=answer))
    found = questions.problem(question)
    assert found.startswith(problem)
    assert bool(found) == bool(problem)


def test_an_answer_without_an_explanation_is_found():
    text = QUESTION.format(program=1, answer="`1`")
    (question,) = questions.questions(text.replace("  It does not.\n", ""))
    assert questions.problem(question) == "no explanation of: `3`"
    (question,) = questions.questions(text.replace("- [ ]", "- [x]"))
    assert questions.problem(question) == "it must have one right answer"


def test_notebooks_fold_the_answers():
    text = questions.plain(QUESTION.format(program=2, answer="`2`") + "\n## Exercises\n")
    shown, folded = text.split("<details>")
    assert "- `2`\n- `3`\n" in shown
    assert "Since it does." not in shown
    assert "- `2` *Right:* Since it does.\n- `3` *Wrong:* It does not.\n" in folded
    assert text.endswith("## Exercises\n")
