// The questions of a page. An answer is checked when the reader asks for it, and its explanation is
// told; after the right one, so are those of all others. What a reader answered stays in the browser,
// from where a button saves it as a file.

import { element } from "./dom.js"
import { everything, recall, remember } from "./memory.js"

class Question {
  constructor(box) {
    this.box = box
    this.id = box.dataset.id
    this.answers = [...box.querySelectorAll(".answer")]
    this.told = element("div", { class: "told", role: "status" })
    const on = { click: () => this.check() }
    box.append(element("button", { type: "button", on }, "Check"), this.told)
    box.addEventListener("keydown", ({ key, target }) => {
      if (key === "Enter" && target.type === "radio") this.check()
    })
    for (const why of box.querySelectorAll(".why")) {
      why.replaceWith(element("div", { class: "why" }, why.querySelector("p")))
    }
    this.tries = recall("answer", this.id)?.tries ?? []
    this.show()
  }

  textOf(answer) {
    return answer.querySelector("label").textContent.trim()
  }

  check() {
    const answer = this.answers.find((each) => each.querySelector("input").checked)
    if (!answer) return this.told.replaceChildren("Choose an answer.")
    this.tries.push(this.textOf(answer))
    const question = this.box.querySelector("legend").textContent.trim()
    remember("answer", this.id, { question, tries: this.tries, right: isRight(answer) })
    this.show()
    const why = answer.querySelector(".why p").cloneNode(true)
    this.told.classList.toggle("is-right", isRight(answer))
    this.told.replaceChildren(why)
  }

  // Marks what was tried. Why other answers are wrong is shown once the right one is found.
  show() {
    const tried = this.answers.filter((answer) => this.tries.includes(this.textOf(answer)))
    const found = tried.find(isRight)
    for (const answer of this.answers) {
      answer.classList.toggle("is-right", answer === found)
      answer.classList.toggle("is-wrong", tried.includes(answer) && answer !== found)
      answer.querySelector(".why").hidden = !found
    }
    if (found) found.querySelector("input").checked = true
  }
}

const isRight = (answer) => "right" in answer.dataset

// Saves the answers to the questions of all pages.
function save() {
  const pages = Object.entries(everything()).filter(([, { answer }]) => answer)
  const answers = Object.fromEntries(pages.map(([page, { answer }]) => [page, Object.values(answer)]))
  const content = JSON.stringify(answers, null, 2) + "\n"
  const url = URL.createObjectURL(new Blob([content], { type: "application/json" }))
  element("a", { href: url, download: "answers.json" }).click()
  URL.revokeObjectURL(url)
}

const boxes = [...document.querySelectorAll("fieldset.question")]
for (const box of boxes) new Question(box)
const text = "The browser keeps your answers; nothing is sent. "
const button = element("button", { type: "button", on: { click: save } }, "Save as a file")
boxes.at(-1).after(element("p", { class: "answers-file" }, text, button))
