// The Python of a page, which is started by its first run and again after it was stopped.

export class Python {
  #worker = null
  #ready = null
  #run = null // the run that is under way: {id, write, settle}
  #runs = 0
  #interrupts = null
  wasStarted = false

  // Resolves to null, or to what went wrong: {kind, message, where, code, traceback}.
  async run(request, write) {
    this.#ready ??= this.#start()
    const id = ++this.#runs
    return new Promise((settle) => {
      this.#run = { id, write, settle }
      this.#ready.then(
        () => this.#worker?.postMessage({ ...request, id }),
        (error) => this.#end({ kind: "Broken", message: error.message }),
      )
    })
  }

  get isStarted() {
    return this.#worker !== null
  }

  // Ends the run under way. Where the page may share memory with a worker, Python is interrupted
  // and keeps its variables; elsewhere, or if it does not answer, it is ended. Returns nothing;
  // the run tells which: KeyboardInterrupt or Stopped.
  stop() {
    const run = this.#run
    if (!run) return
    if (!this.#interrupts) return this.#quit({ kind: "Stopped" })
    this.#interrupts[0] = 2 // SIGINT
    setTimeout(() => this.#run === run && this.#quit({ kind: "Stopped" }), 1500)
  }

  #start() {
    const shared = globalThis.crossOriginIsolated
    this.#interrupts = shared ? new Uint8Array(new SharedArrayBuffer(1)) : null
    this.#worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" })
    return new Promise((resolve, reject) => {
      this.#worker.onmessage = ({ data }) => {
        if (data.type === "ready") resolve((this.wasStarted = true))
        else if (data.type === "output") this.#run?.id === data.id && this.#run.write(data.text)
        else if (data.type === "done") this.#run?.id === data.id && this.#end(data.failure)
        else this.#quit({ kind: "Broken", message: data.message })
      }
      this.#worker.onerror = (event) => {
        event.preventDefault()
        reject(new Error(event.message || "Python could not be loaded."))
        this.#quit({ kind: "Broken", message: event.message || "Python could not be loaded." })
      }
      this.#worker.postMessage({ type: "start", interrupts: this.#interrupts })
    })
  }

  #end(failure) {
    const run = this.#run
    this.#run = null
    run?.settle(failure)
  }

  #quit(failure) {
    this.#worker?.terminate()
    this.#worker = this.#ready = null
    this.#end(failure)
  }
}
