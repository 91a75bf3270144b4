// Live cells: blocks of code that the reader can edit, run, stop and reset; and exercises, which
// a button checks. A cell that runs first runs those above it that have not run. What a reader wrote
// and solved is remembered by the browser.

import { element } from "../dom.js"
import { recall, remember } from "../memory.js"
import { python } from "./python.js"

// What was found: the parts of an assertion that failed, each beside its value.
function valuesOf(parts) {
  const row = ([code, value]) => {
    const cells = [code, value].map((text) => element("td", {}, element("code", {}, text)))
    return element("tr", {}, ...cells)
  }
  const head = element("tr", {}, element("th", {}, "In the check"), element("th", {}, "Found"))
  const rows = parts.map(row)
  return element("table", { class: "cell-values" }, head, ...rows)
}

const plural = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`

class Cell {
  constructor(box, number) {
    this.box = box
    this.number = number
    this.code = box.querySelector(".highlight")
    this.original = this.code.querySelector("code").textContent
    this.exercise = box.dataset.exercise
    this.name = box.dataset.name ?? `<exercise ${this.exercise}>`
    this.title = this.exercise ? `Exercise ${this.exercise}` : `Cell ${number}`
    const edited = recall("cell", this.name) // of code that has changed since, it is of no use
    this.written = edited?.original === this.original ? edited.text : this.original
    this.isSolved = Boolean(this.exercise && recall("exercise", this.exercise))
    this.hasRun = false
    this.editor = null
    this.output = element("div", { class: "cell-output" })
    const recorded = [...box.children].filter((child) => child !== this.code)
    this.output.append(...recorded)
    this.recorded = recorded
    this.addBar()
    this.code.addEventListener("click", () => getSelection().isCollapsed && this.edit())
    box.append(this.bar, this.output)
    if (this.written !== this.original) this.edit(false)
    if (this.isSolved) {
      box.classList.add("passed")
      this.say("Solved before.")
    }
  }

  addBar() {
    const button = (text, title, click) =>
      element("button", { type: "button", title, on: { click } }, text)
    this.buttons = {
      run: button("Run", "Run this cell (Shift+Enter)", () => run(this)),
      check: button("Check", "Run your solution, then its check", () => run(this, true)),
      stop: button("Stop", "Stop the cell that runs", () => python.stop()),
      edit: button("Edit", "Edit this cell (Escape, then Tab, leaves the editor)", () => this.edit()),
      reset: button("Reset", "Bring back the code and its output", () => this.reset()),
    }
    this.buttons.check.hidden = !this.exercise
    this.buttons[this.exercise ? "check" : "run"].classList.add("main")
    this.status = element("span", { class: "cell-status", role: "status" })
    const label = { role: "group", "aria-label": this.title }
    const buttons = Object.values(this.buttons)
    this.bar = element("div", { class: "cell-bar", ...label }, ...buttons, this.status)
    this.show("idle")
  }

  // What the reader can do: "idle"; "running", this cell or one above for its sake; "waiting"
  // for another cell.
  show(state) {
    const { run, check, stop, reset } = this.buttons
    run.disabled = check.disabled = state !== "idle"
    run.hidden = state === "running"
    stop.hidden = state !== "running"
    reset.disabled = state !== "idle" || !this.isTouched
    this.box.classList.toggle("running", state === "running")
  }

  get isTouched() {
    return this.hasRun || this.text !== this.original || this.wasShown || this.isSolved
  }

  get text() {
    return this.editor ? this.editor.text() : this.written
  }

  get checks() {
    const check = document.querySelector(`.check[data-exercise="${this.exercise}"] code`)
    return check.textContent
  }

  remember() {
    const { original, text } = this
    remember("cell", this.name, text === original ? undefined : { original, text })
    if (this.exercise) remember("exercise", this.exercise, this.isSolved || undefined)
  }

  async edit(isAsked = true) {
    if (this.editor || this.isOpening) return
    this.isOpening = true
    const { edit } = await import("./editor.js")
    const pre = this.code.querySelector("pre")
    const place = element("div", { class: "cell-editor" })
    pre.hidden = true
    pre.after(place)
    this.editor = edit(place, this.written, this.title, {
      change: () => {
        this.hasRun = false
        this.remember()
        this.buttons.reset.disabled = busy
      },
      run: () => run(this, Boolean(this.exercise)),
    })
    this.buttons.edit.hidden = true
    if (isAsked) this.editor.focus()
  }

  reset() {
    this.written = this.original
    this.editor?.setText(this.original)
    this.hasRun = this.wasShown = this.isSolved = false
    this.remember()
    this.output.replaceChildren(...this.recorded)
    this.box.classList.remove("passed", "failed")
    this.say("")
    this.show("idle")
  }

  say(text) {
    this.status.textContent = text
  }

  // A place for what a run prints.
  clear() {
    this.box.classList.remove("passed", "failed")
    this.wasShown = true
    this.printed = ""
    this.place = null
    this.output.replaceChildren()
  }

  print(text) {
    this.printed += text
    if (this.box.dataset.prints === "html") {
      const parsed = document.createRange().createContextualFragment(this.printed)
      this.output.replaceChildren(parsed) // runs the scripts that it has
      return
    }
    if (!this.place) {
      this.place = element("code")
      const pre = element("pre", {}, this.place)
      this.output.append(element("div", { class: "language-text highlight" }, pre))
    }
    this.place.append(text)
  }

  // `isCheck`: the failure is that of an exercise, where to fail is part of the way.
  fail({ kind, message, where, code, parts, traceback }, isCheck) {
    if (kind === "KeyboardInterrupt" || kind === "Stopped") {
      this.say(kind === "Stopped" ? "Stopped. The next run starts Python anew." : "Stopped.")
      return
    }
    this.box.classList.add("failed")
    if (kind === "Broken") {
      const again = "The next run starts it anew."
      this.output.append(element("p", { class: "cell-error" }, `Python failed: ${message} ${again}`))
      this.say("Python failed.")
      return
    }
    const told = element("p", { class: "cell-error" })
    if (kind === "AssertionError" && where.endsWith("of the check")) {
      told.append(element("strong", {}, "Not yet: "), message || "this must hold.")
    } else {
      told.append(element("strong", {}, kind), where ? ` in ${where}` : "")
      told.append(message ? `: ${message}` : "")
    }
    if (code) told.append(element("code", {}, code))
    this.output.append(told)
    if (parts?.length) this.output.append(valuesOf(parts))
    const pre = element("pre", {}, element("code", {}, traceback))
    const block = element("div", { class: "language-text highlight" }, pre)
    const summary = element("summary", {}, "Traceback")
    this.output.append(element("details", { class: "plain" }, summary, block))
    this.say(isCheck ? "Not yet." : `${kind}.`)
  }
}

const cells = [...document.querySelectorAll(".cell")].map((box, i) => new Cell(box, i + 1))
let busy = false
if (cells.length && python.wasStarted) python.start().catch(() => {})

// Runs a cell, or checks an exercise, after the cells above it that have not run.
async function run(cell, isCheck = false) {
  if (busy) return
  busy = true
  for (const each of cells) each.show(each === cell ? "running" : "waiting")
  const index = cells.indexOf(cell)
  const above = cells.slice(0, index).filter((each) => !each.exercise && !each.hasRun)
  if (python.isStarted) cell.say("Running …")
  else cell.say(python.wasStarted ? "Starting Python …" : "Fetching Python: 13 MB, once …")
  let failed = null
  for (const each of above) {
    if (await execute(each)) {
      failed = each
      break
    }
  }
  if (failed) cell.say(`${failed.title}, above, did not end well.`)
  else {
    const began = performance.now()
    const failure = await execute(cell, isCheck)
    if (!failure) {
      const seconds = ((performance.now() - began) / 1000).toFixed(2)
      const first = above.length ? `, after ${plural(above.length, "cell")} above` : ""
      cell.say(isCheck ? "Passed." : `Ran in ${seconds} s${first}.`)
    }
  }
  busy = false
  for (const each of cells) each.show("idle")
}

// Runs one cell, and shows what becomes of it. Returns its failure, or null.
async function execute(cell, isCheck = false) {
  cell.clear()
  const type = cell.exercise ? "check" : "run"
  const request = { type, code: cell.text, checks: isCheck ? cell.checks : "", name: cell.name }
  const failure = await python.run(request, (text) => cell.print(text))
  cell.hasRun = !failure && !cell.exercise
  if (failure) cell.fail(failure, isCheck)
  else if (isCheck) {
    cell.box.classList.add("passed")
    cell.isSolved = true
    cell.remember()
  }
  if (!python.isStarted) for (const each of cells) each.hasRun = false
  return failure
}
