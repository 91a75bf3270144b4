"""mkdocs hook: the questions of a chapter, which tell why an answer is right or wrong.

They are the section `## Questions`, before the exercises. A question is text and a list of answers,
each with its explanation on the lines below it:

    What does this print?

    ```python
    print(1 + 1)
    ```

    - [x] `2`.
      The sum.
    - [ ] `11`.
      That would be text.

A program in a question runs when the site is built. It prints the code in the right answer, if the
answer begins with code, and raises only errors that the question or the right answer names.
docs/assets/questions.js checks the answers. Without JavaScript their explanations can be unfolded.
"""

import contextlib
import hashlib
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from heads import loading
from mkdocs.exceptions import PluginError
from mkdocs.structure.pages import Page

SECTION = re.compile(r"^## Questions\n(.*?)(?=^## |\Z)", re.M | re.S)
ANSWER = re.compile(r"^- \[([ x])\] ([^\n]*)\n((?:  [^\n]*\n)*)", re.M)
QUESTION = re.compile(rf"\s*(.*?)\n\n((?:{ANSWER.pattern})+)", re.M | re.S)
PROGRAM = re.compile(r"^```python\n(.*?)^```", re.M | re.S)
CODE = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class Answer:
    text: str
    why: str
    is_right: bool


@dataclass(frozen=True)
class Question:
    text: str  # Markdown; its first paragraph asks
    answers: tuple[Answer, ...]

    @property
    def id(self) -> str:
        """What the browser remembers an answer by; another text is another question."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:8]

    @property
    def right(self) -> Answer:
        (right,) = (answer for answer in self.answers if answer.is_right)
        return right


def questions(markdown: str) -> Iterator[Question]:
    """The questions of a page, in order."""
    for section in SECTION.finditer(markdown):
        yield from questions_of(section[1])


def questions_of(section: str) -> Iterator[Question]:
    for text, answers, *_ in QUESTION.findall(section):
        found = [
            Answer(text, " ".join(why.split()), mark == "x")
            for mark, text, why in ANSWER.findall(answers)
        ]
        yield Question(text, tuple(found))


def problem(question: Question) -> str:
    """What is wrong with a question, or nothing."""
    if [answer.is_right for answer in question.answers].count(True) != 1:
        return "it must have one right answer"
    if unexplained := [answer.text for answer in question.answers if not answer.why]:
        return f"no explanation of: {', '.join(unexplained)}"
    for program in PROGRAM.findall(question.text):
        printed, error = outcome(program)
        told = question.right.text
        if error and error not in question.text + told:
            return f"its program raises {error}, which neither it nor its right answer names"
        result = "\n".join(filter(None, (printed, error)))
        if told.startswith("`") and "\n".join(CODE.findall(told)) != result:
            return f"its right answer is {told}, but its program gives {result}"
    return ""


def outcome(program: str) -> tuple[str, str]:
    """What a program prints, and the name of the error with which it ends, if it does."""
    printed, error = io.StringIO(), ""
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(program, "<question>", "exec"), {"__name__": "question"})
        except Exception as raised:
            error = type(raised).__name__
    return printed.getvalue().strip(), error


def on_page_markdown(markdown: str, page: Page, **kwargs: Any) -> str:
    def rendered_section(section: re.Match[str]) -> str:
        asked = list(questions_of(section[1]))
        for question in asked:
            if wrong := problem(question):
                raise PluginError(f"{page.file.src_uri}: {question.text}\n{wrong}")
        fieldsets = (rendered(number, question) for number, question in enumerate(asked, 1))
        return "\n\n".join(["## Questions", *fieldsets, ""])

    return SECTION.sub(rendered_section, markdown)


def rendered(number: int, question: Question) -> str:
    """A question as a fieldset."""
    asks, _, rest = question.text.partition("\n\n")
    answers = "\n\n".join(rendered_answer(question, answer) for answer in question.answers)
    return (
        f'<fieldset class="question" data-id="{question.id}" markdown="1">\n\n'
        f'<legend markdown="span">{number}. {asks}</legend>\n\n{rest}\n\n{answers}\n\n</fieldset>'
    )


def rendered_answer(question: Question, answer: Answer) -> str:
    right, verdict = (" data-right", "Right.") if answer.is_right else ("", "Wrong.")
    return (
        f'<div class="answer"{right} markdown="1">\n'
        f'<label><input type="radio" name="{question.id}"> <span>{answer.text}</span></label>\n\n'
        '<details class="why" markdown="1"><summary>Right or wrong?</summary>\n\n'
        f"**{verdict}** {answer.why}\n\n</details>\n\n</div>"
    )


def plain(markdown: str) -> str:
    """A page with the answers of its questions folded, in the Markdown of GitHub and Jupyter."""

    def folded(section: re.Match[str]) -> str:
        return "## Questions\n\n" + "".join(map(text, questions_of(section[1])))

    def text(question: Question) -> str:
        choices = "\n".join(f"- {answer.text}" for answer in question.answers)
        whys = "\n".join(
            f"- {answer.text} *{'Right' if answer.is_right else 'Wrong'}:* {answer.why}"
            for answer in question.answers
        )
        why = f"<details><summary>Answers</summary>\n\n{whys}\n\n</details>"
        return f"{question.text}\n\n{choices}\n\n{why}\n\n"

    return SECTION.sub(folded, markdown)


def on_post_page(output: str, page: Page, **kwargs: Any) -> str:
    """Let the pages with questions load what checks the answers, and no others."""
    has_questions = 'class="question"' in output
    return loading(output, page, "questions.css", "questions.js") if has_questions else output
