// The progress of a reader: marks in the menu, a mark at the end of each chapter, and a summary
// where a page has an element of the class `progress`. memory.js remembers it.

import { chapters } from "./chapters.js"
import { element } from "./dom.js"
import { everything, forgetEverything, onChange, pageAt, recall, remember } from "./memory.js"

const byPage = Object.fromEntries(chapters.map((chapter) => [chapter.page, chapter]))
const isRead = ({ page }) => Boolean(recall("chapter", "read", page))

// How many exercises and questions of a chapter were solved.
function solved({ page }, remembered) {
  const { exercise = {}, answer = {} } = remembered[page] ?? {}
  return Object.keys(exercise).length + Object.values(answer).filter(({ right }) => right).length
}

// The menu

const marks = new Map() // by link, its chapter and its mark
for (const link of document.querySelectorAll(".md-nav--primary a.md-nav__link")) {
  const chapter = byPage[pageAt(new URL(link.href))]
  if (!chapter) continue
  const mark = element("span", { class: "menu-mark" })
  link.append(mark)
  marks.set(mark, chapter)
}

const sign = (text, label) => element("span", { role: "img", "aria-label": label, title: label }, text)

function showMarks() {
  const remembered = everything()
  for (const [mark, chapter] of marks) {
    const count = solved(chapter, remembered)
    const tasks = count && chapter.tasks ? `${Math.min(count, chapter.tasks)}/${chapter.tasks}` : ""
    mark.replaceChildren(tasks)
    if (remembered[chapter.page]?.cell) mark.append(sign("✎", "with cells that you edited"))
    if (isRead(chapter)) mark.append(sign("✓", "read"))
  }
}

// The end of a chapter: who gets there has read it, and may say otherwise.

function addEnd(chapter) {
  const button = element("button", { type: "button" })
  button.addEventListener("click", () => {
    watch.disconnect()
    remember("chapter", "read", isRead(chapter) ? undefined : true)
  })
  const watch = new IntersectionObserver(([{ isIntersecting }]) => {
    if (!isIntersecting) return
    watch.disconnect()
    if (!isRead(chapter)) remember("chapter", "read", true)
  })
  document.querySelector(".md-content__inner").append(element("p", { class: "chapter-end" }, button))
  watch.observe(button)
  return () => {
    button.setAttribute("aria-pressed", isRead(chapter))
    button.textContent = isRead(chapter) ? "✓ Read" : "Mark as read"
  }
}

// The summary

const hours = (minutes) =>
  minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`

function addSummary(box) {
  return () => {
    const read = chapters.filter(isRead)
    const remembered = everything()
    const minutes = (list) => hours(list.reduce((sum, each) => sum + each.minutes, 0))
    const count = chapters.reduce((sum, each) => sum + solved(each, remembered), 0)
    const next = chapters.find((chapter) => !isRead(chapter))
    const told =
      `You have read ${read.length} of ${chapters.length} chapters, ${minutes(read)} of ` +
      `${minutes(chapters)}, and solved ${count} exercises and questions. `
    box.replaceChildren(told)
    if (next) {
      const start = read.length ? "Continue with" : "Begin with"
      const url = new URL(`../${next.page}`, import.meta.url)
      box.append(`${start} `, element("a", { href: url }, next.title), ". ")
    }
    if (Object.keys(remembered).length) {
      box.append(element("button", { type: "button", on: { click: forget } }, "Forget all"))
    }
  }
}

function forget() {
  if (confirm("Forget which chapters you have read, your answers, and what you wrote?")) {
    forgetEverything()
  }
}

const here = byPage[pageAt()]
const shown = [
  showMarks,
  ...(here ? [addEnd(here)] : []),
  ...[...document.querySelectorAll(".progress")].map(addSummary),
]
const show = () => shown.forEach((each) => each())
show()
onChange(show)
