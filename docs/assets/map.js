// The map on the home page, as a grid: one tab stop, arrow keys from cell to cell, and a panel with
// the rule of the cell that the reader points at, touches or is on.

const table = document.querySelector(".map")
const panel = document.querySelector(".map-panel")
const parts = document.querySelector(".map-rules").children
const rows = [...table.tBodies[0].rows].map(row => [...row.cells].slice(1).map(cell => cell.firstElementChild))
const cells = rows.flat()

table.setAttribute("role", "grid")
table.setAttribute("aria-label", "Rules: a row for each primitive, a column for each interpreter")

function show(cell) {
  if (cell.classList.contains("shown")) return
  table.querySelector(".shown")?.classList.remove("shown")
  cell.classList.add("shown")
  const title = document.createElement("p")
  title.append(Object.assign(document.createElement("strong"), { textContent: cell.dataset.title }))
  if (cell.href) {
    const link = Object.assign(document.createElement("a"), { href: cell.href, textContent: "explained here" })
    title.append(" · ", link)
  }
  const code = document.createElement("code")
  code.append(...cell.dataset.parts.split(" ").map(number => parts[number].cloneNode(true)))
  const pre = document.createElement("pre")
  pre.className = "highlight"
  pre.append(code)
  panel.replaceChildren(title, pre)
  panel.scrollTop = 0
}

// The one cell that Tab reaches.
function stopAt(cell) {
  for (const each of cells) each.tabIndex = each === cell ? 0 : -1
}

const steps = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }

table.addEventListener("keydown", event => {
  const y = rows.findIndex(row => row.includes(event.target))
  if (y < 0) return
  const x = rows[y].indexOf(event.target)
  let to
  if (event.key in steps) to = rows[y + steps[event.key][0]]?.[x + steps[event.key][1]]
  else if (event.key === "Home") to = (event.ctrlKey ? rows[0] : rows[y])[0]
  else if (event.key === "End") to = (event.ctrlKey ? rows.at(-1) : rows[y]).at(-1)
  else return
  event.preventDefault()
  to?.focus()
})
table.addEventListener("focusin", event => {
  if (!cells.includes(event.target)) return
  stopAt(event.target)
  show(event.target)
})
table.addEventListener("pointerover", event => {
  if (event.pointerType === "mouse" && cells.includes(event.target)) show(event.target)
})
// A touch shows the rule; the panel has the link.
table.addEventListener("click", event => {
  if (event.pointerType === "touch" && cells.includes(event.target)) {
    event.preventDefault()
    event.target.focus()
  }
})

const first = cells.find(cell => cell.textContent === "t * cos(x)")
stopAt(first)
show(first)
