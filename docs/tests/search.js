// node search.js SITE QUERY ...: as JSON, by query, where the site's own search finds the first results.
const fs = require("fs"), path = require("path"), vm = require("vm")

const [site, ...queries] = process.argv.slice(2)
const workers = path.join(site, "assets/javascripts/workers")
const worker = fs.readdirSync(workers).find(name => /^search.*\.js$/.test(name))

const read = name => JSON.parse(fs.readFileSync(path.join(site, "search", name), "utf8"))
const context = {
  console, URL,
  location: "http://site/assets/javascripts/workers/search.js",
  fetch: async url => ({ json: () => read(path.basename(url.pathname)) }),
}
context.self = context
vm.runInNewContext(fs.readFileSync(path.join(workers, worker), "utf8"), context)
const ask = message => new Promise(answered => {
  context.postMessage = answer => answer.type === message.type + 1 && answered(answer)
  context.onmessage({ data: message })
})

async function main() {
  await ask({ type: 0, data: { ...read("search_index.json"), options: {} } })
  const found = {}
  for (const query of queries) {
    const { data } = await ask({ type: 2, data: query })
    found[query] = data.items.slice(0, 3).map(([best]) => best.location)
  }
  console.log(JSON.stringify(found))
}

main()
