// Fetches the texts that are searched when the reader goes to the search; its worker asks for them
// with the first letter, and finds them in the browser's cache.

const texts = new URL("../search/texts.json", import.meta.url)
const input = document.querySelector(".md-search__input")
input?.addEventListener("focus", () => fetch(texts), { once: true })
