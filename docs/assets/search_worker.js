// The beginning of the worker that searches; docs/hooks/search.py puts the theme's after it. The
// theme's gets all texts of the site with its first message. Here that message has none, and they
// are fetched for the first search.

{
  const SETUP = 0, READY = 1, QUERY = 2, RESULT = 3 // the types of messages

  const texts = new URL("../../../search/texts.json", self.location)
  let theme = null // how the theme's worker handles a message
  let settings = null
  let loaded = null

  self.addEventListener = (type, handler) => (theme = handler)

  async function load() {
    const docs = await (await fetch(texts)).json()
    await theme({ data: { type: SETUP, data: { ...settings, docs } } })
  }

  self.onmessage = async ({ data: message }) => {
    if (message.type === SETUP) {
      settings = message.data
      self.postMessage({ type: READY })
    } else if (message.type === QUERY && !message.data && !loaded) {
      self.postMessage({ type: RESULT, data: { items: [] } })
    } else {
      await (loaded ??= load())
      theme({ data: message })
    }
  }
}
