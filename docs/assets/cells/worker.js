// The Python of a visit, in a thread of its own: pages stay alive while a cell runs.
//
// It is a SharedWorker where there are any, which one page after another connects to. From a page
// it receives {type: "start"}, then {type: "run" or "check", id, code, checks, name, ticket}, and it
// sends {type: "ready"}, {type: "output", id, text}, {type: "done", id, failure}, and
// {type: "broken", message} if Python itself fails.

import { loadPyodide } from "../vendor/pyodide/pyodide.mjs"

const LIMIT = 100_000 // characters that a run may print
const PAUSE = 40 // milliseconds between messages of what it prints
const PATIENCE = 100 // milliseconds between looks at the ticket of a run

let started = null // a promise of the module that runs cells

async function start() {
  const files = fetch(new URL("python.json", import.meta.url)).then((answer) => answer.json())
  const python = await loadPyodide()
  for (const [path, text] of Object.entries(await files)) {
    const file = `/cells/${path}`
    python.FS.mkdirTree(file.slice(0, file.lastIndexOf("/")))
    python.FS.writeFile(file, text)
  }
  python.runPython("import sys; sys.path.insert(0, '/cells'); sys.dont_write_bytecode = True")
  python.setInterruptBuffer(interrupts)
  return python.pyimport("cell_runner")
}

// Python reads element 0 now and then: 2 is SIGINT. While it runs, no message arrives, but whether
// a URL is still valid can be seen: a run has a ticket, the URL of a blob, and the page revokes it.
const interrupts = {
  ticket: null,
  seen: 0,
  get 0() {
    const now = performance.now()
    if (!this.ticket || now - this.seen < PATIENCE) return 0
    this.seen = now
    if (isValid(this.ticket)) return 0
    this.ticket = null
    return 2
  },
  set 0(handled) {},
}

function isValid(url) {
  const request = new XMLHttpRequest()
  request.open("GET", url, false)
  try {
    request.send()
    return true
  } catch {
    return false
  }
}

// Collects what a run prints, and passes it on now and then.
function collector(port, id) {
  let waiting = ""
  let room = LIMIT
  let last = 0
  const flush = () => {
    if (waiting) port.postMessage({ type: "output", id, text: waiting })
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

// Serves a page, whose cells have names of their own.
function serve(port) {
  let program = null

  function run({ type, id, code, checks, name, ticket }) {
    const { write, flush } = collector(port, id)
    interrupts.ticket = ticket
    const failure =
      type === "run" ? program.run(code, name, write) : program.check(code, checks, name, write)
    interrupts.ticket = null
    flush()
    port.postMessage({ type: "done", id, failure: failure ? JSON.parse(failure) : null })
  }

  port.onmessage = async ({ data }) => {
    try {
      const runner = await (started ??= start())
      program ??= runner.Program()
      if (data.type === "start") port.postMessage({ type: "ready" })
      else run(data)
    } catch (error) {
      port.postMessage({ type: "broken", message: String(error?.message ?? error) })
    }
  }
}

if ("onconnect" in self) self.onconnect = ({ ports: [port] }) => serve(port)
else serve(self)
