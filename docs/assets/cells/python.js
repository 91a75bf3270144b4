// The Python of a visit, which the first run of a cell starts. The pages of a tab share it: a page
// connects to it when it opens, so that it is kept where the browser has shared workers. Elsewhere
// each page has its own, which is started with the page once the reader has run a cell.

import { storage } from "../memory.js"

const visit = storage("sessionStorage")
const VISIT = "glassjax python" // in there: the name of this tab's Python
const IMPATIENCE = 3000 // milliseconds that a stopped run may take to end

class Python {
  #port = null
  #worker = null
  #ready = null
  #run = null // the run that is under way: {id, ticket, write, settle}
  #runs = 0
  isStarted = false

  constructor() {
    if (this.wasStarted && globalThis.SharedWorker) this.#connect()
    addEventListener("pagehide", () => this.#revoke())
  }

  get wasStarted() {
    return VISIT in visit
  }

  start() {
    this.#connect()
    return (this.#ready ??= new Promise((resolve, reject) => {
      this.#port.onmessage = ({ data }) => {
        if (data.type === "ready") resolve((this.isStarted = true))
        else if (data.type === "output") this.#run?.id === data.id && this.#run.write(data.text)
        else if (data.type === "done") this.#run?.id === data.id && this.#end(data.failure)
        else this.#quit({ kind: "Broken", message: data.message })
      }
      this.#worker.onerror = (event) => {
        event.preventDefault()
        reject(new Error(event.message || "Python could not be loaded."))
        this.#quit({ kind: "Broken", message: event.message || "Python could not be loaded." })
      }
      this.#port.postMessage({ type: "start" })
    }))
  }

  // Resolves to null, or to what went wrong: {kind, message, where, code, parts, traceback}.
  async run(request, write) {
    const ready = this.start()
    const id = ++this.#runs
    const ticket = URL.createObjectURL(new Blob())
    return new Promise((settle) => {
      this.#run = { id, ticket, write, settle }
      ready.then(
        () => this.#port?.postMessage({ ...request, id, ticket }),
        (error) => this.#end({ kind: "Broken", message: error.message }),
      )
    })
  }

  // Interrupts the run under way; Python keeps its variables. If it does not heed that, since it is
  // in a function that is not written in Python, the next run has another one. Returns nothing; the
  // run tells which: KeyboardInterrupt or Stopped.
  stop() {
    const run = this.#run
    this.#revoke()
    setTimeout(() => run && this.#run === run && this.#quit({ kind: "Stopped" }), IMPATIENCE)
  }

  #connect() {
    if (this.#port) return
    const name = (visit[VISIT] ??= `python ${Math.random()}`)
    const options = { type: "module", name, extendedLifetime: true } // from one page to the next
    const Kind = globalThis.SharedWorker ?? Worker
    this.#worker = new Kind(new URL("worker.js", import.meta.url), options)
    this.#port = this.#worker.port ?? this.#worker
  }

  #revoke() {
    if (this.#run) URL.revokeObjectURL(this.#run.ticket)
  }

  #end(failure) {
    const run = this.#run
    this.#revoke()
    this.#run = null
    run?.settle(failure)
  }

  #quit(failure) {
    this.#worker.terminate?.()
    delete visit[VISIT]
    this.#worker = this.#port = this.#ready = null
    this.isStarted = false
    this.#end(failure)
  }
}

export const python = new Python()
