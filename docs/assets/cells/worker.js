// A Python in a thread of its own: the page stays alive while a cell runs.
//
// It receives {type: "start", interrupts}, then {type: "run" or "check", id, code, checks, name},
// and sends {type: "ready"}, {type: "output", id, text}, {type: "done", id, failure}, and
// {type: "broken", message} if Python itself fails.

import { loadPyodide } from "../vendor/pyodide/pyodide.mjs"

const LIMIT = 100_000 // characters that a run may print
const PAUSE = 40 // milliseconds between messages of what it prints

let runner

async function start(interrupts) {
  const files = fetch(new URL("python.json", import.meta.url)).then((answer) => answer.json())
  const python = await loadPyodide()
  for (const [path, text] of Object.entries(await files)) {
    const file = `/cells/${path}`
    python.FS.mkdirTree(file.slice(0, file.lastIndexOf("/")))
    python.FS.writeFile(file, text)
  }
  python.runPython("import sys; sys.path.insert(0, '/cells'); sys.dont_write_bytecode = True")
  if (interrupts) python.setInterruptBuffer(interrupts)
  runner = python.pyimport("cell_runner")
  postMessage({ type: "ready" })
}

// Collects what a run prints, and passes it on now and then.
function collector(id) {
  let waiting = ""
  let room = LIMIT
  let last = 0
  const flush = () => {
    if (waiting) postMessage({ type: "output", id, text: waiting })
    waiting = ""
    last = performance.now()
  }
  const write = (text) => {
    if (room <= 0) return
    waiting += text.slice(0, room)
    room -= text.length
    if (room <= 0) waiting += "\n… and more, which is not shown\n"
    if (performance.now() - last > PAUSE) flush()
  }
  return { write, flush }
}

function run({ type, id, code, checks, name }) {
  const { write, flush } = collector(id)
  const failure =
    type === "run" ? runner.run(code, name, write) : runner.check(code, checks, name, write)
  flush()
  postMessage({ type: "done", id, failure: failure ? JSON.parse(failure) : null })
}

onmessage = async ({ data }) => {
  try {
    if (data.type === "start") await start(data.interrupts)
    else run(data)
  } catch (error) {
    postMessage({ type: "broken", message: String(error?.message ?? error) })
  }
}
