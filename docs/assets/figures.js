// Figures that the reader changes: docs/figures/moving.py draws their states.

const still = matchMedia("(prefers-reduced-motion: reduce)")

customElements.define("glassjax-figure", class extends HTMLElement {
  connectedCallback() {
    Object.assign(this, JSON.parse(this.querySelector("script").textContent))
    this.svg = this.querySelector("svg")
    this.elements = this.svg.querySelectorAll(":scope > :not(title)")
    this.range = this.querySelector("input[type=range]")
    this.button = this.querySelector("button")
    this.text = this.querySelector("p")
    // A slider says its value itself; what else is chosen is announced.
    if (this.range) this.text.ariaHidden = true
    else this.text.role = "status"
    this.addEventListener("input", () => { this.pause(); this.show() })
    this.button?.addEventListener("click", () => this.timer ? this.pause() : this.play())
    if (this.handles.length) this.letDrag()
    if (this.button && !still.matches) this.playWhenSeen()
    this.show()
  }

  // The index of the value that each control has.
  get chosen() {
    return this.shape.map((_, number) =>
      Number(this.querySelector(`[data-control="${number}"]:is([type=range], :checked)`).value))
  }

  show() {
    const chosen = this.chosen
    const at = axes => axes.reduce((sum, axis) => sum * this.shape[axis] + chosen[axis], 0)
    for (const [number, name, axes, values] of this.changes) {
      if (name) this.elements[number].setAttribute(name, values[at(axes)])
      else this.elements[number].innerHTML = values[at(axes)]
    }
    const says = this.says[at([...this.shape.keys()])]
    this.text.textContent = says
    this.range?.setAttribute("aria-valuetext", says)
  }

  // The state whose handle is nearest to the pointer, across.
  letDrag() {
    this.svg.classList.add("draggable")
    const follow = event => {
      const matrix = this.svg.getScreenCTM().inverse()
      const { x } = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix)
      const far = this.handles.map(handle => Math.abs(handle[0] - x))
      this.range.value = far.indexOf(Math.min(...far))
      this.pause()
      this.show()
    }
    this.svg.addEventListener("pointerdown", event => {
      this.svg.setPointerCapture(event.pointerId)
      this.range.focus({ preventScroll: true })
      follow(event)
      event.preventDefault()
    })
    this.svg.addEventListener("pointermove", event => {
      if (this.svg.hasPointerCapture(event.pointerId)) follow(event)
    })
  }

  playWhenSeen() {
    const observer = new IntersectionObserver(([entry]) => {
      if (!entry.isIntersecting) return
      observer.disconnect()
      this.range.value = 0
      this.play()
    }, { threshold: 0.7 })
    observer.observe(this.svg)
  }

  play() {
    const { range, button } = this
    if (range.value === range.max) range.value = 0
    button.textContent = "Pause"
    this.timer = setInterval(() => {
      range.stepUp()
      this.show()
      if (range.value === range.max) this.pause()
    }, 1000 / button.dataset.plays)
  }

  pause() {
    clearInterval(this.timer)
    this.timer = null
    if (this.button) this.button.textContent = "Play"
  }
})
