// What the browser remembers of a reader: chapters read, exercises passed, cells edited, questions
// answered. None of it leaves the browser, unless the reader saves it.
//
// A value has a page, a kind and a name: the answer to question "order" of the page
// "learn/stage1/staging/". localStorage has an entry for each page, its values by kind and name:
//
//     glassjax learn/stage1/staging/  {"answer": {"order": 2}, "exercise": {"unroll": true}}
//
// Where the browser stores nothing, values last as long as the page.

const ROOT = new URL("..", import.meta.url)
const PREFIX = "glassjax "
const store = storage("localStorage")

// The page at a URL of this site, named by its path below the site's root.
export function pageAt(url = location) {
  return url.pathname.slice(ROOT.pathname.length).replace(/index\.html$/, "")
}

export function recall(kind, name, page = pageAt()) {
  return read(page)[kind]?.[name]
}

// Remembers a value that JSON can write; undefined forgets it.
export function remember(kind, name, value, page = pageAt()) {
  const { [kind]: named, ...others } = read(page)
  const changed = { ...others, [kind]: { ...named, [name]: value } }
  if (value === undefined && Object.keys(changed[kind]).length === 1) delete changed[kind]
  write(page, changed)
}

// All that is remembered: {page: {kind: {name: value}}}.
export function everything() {
  const keys = Object.keys(store).filter((key) => key.startsWith(PREFIX))
  return Object.fromEntries(keys.sort().map((key) => [key.slice(PREFIX.length), parsed(key)]))
}

export function forgetEverything() {
  for (const page of Object.keys(everything())) write(page, {})
}

// Calls `heed` after each change, in this tab or in another one of the site.
export function onChange(heed) {
  document.addEventListener("remembered", () => heed())
  addEventListener("storage", ({ key }) => (key === null || key.startsWith(PREFIX)) && heed())
}

function read(page) {
  return parsed(PREFIX + page)
}

function parsed(key) {
  try {
    return JSON.parse(store[key] ?? "{}")
  } catch {
    return {} // another program wrote it
  }
}

function write(page, values) {
  try {
    if (Object.keys(values).length) store[PREFIX + page] = JSON.stringify(values)
    else delete store[PREFIX + page]
  } catch {} // the storage is full
  document.dispatchEvent(new Event("remembered"))
}

// A storage of the browser, or an object where the browser does not allow any.
export function storage(name) {
  try {
    return globalThis[name]
  } catch {
    return {}
  }
}
