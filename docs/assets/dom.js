// Elements, made by one call: their attributes, handlers of their events, and what they hold.

export function element(tag, { on = {}, ...attributes } = {}, ...children) {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
  for (const [event, handler] of Object.entries(on)) made.addEventListener(event, handler)
  made.append(...children)
  return made
}
