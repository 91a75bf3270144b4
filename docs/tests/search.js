// node search.js SITE QUERY ...: as JSON, by query, where the site's own search finds the first results.
const fs = require("fs"), path = require("path"), vm = require("vm")

const [site, ...queries] = process.argv.slice(2)
const workers = path.join(site, "assets/javascripts/workers")
const worker = fs.readdirSync(workers).find(name => /^search.*\.js$/.test(name))

let handle
const context = { console, addEventListener: (_, handler) => { handle = handler } }
context.self = context
vm.runInNewContext(fs.readFileSync(path.join(workers, worker), "utf8"), context)
const ask = message => new Promise(answered => {
  context.postMessage = answered
  handle({ data: message })
})

async function main() {
  const index = JSON.parse(fs.readFileSync(path.join(site, "search/search_index.json"), "utf8"))
  await ask({ type: 0, data: { ...index, options: {} } })
  const found = {}
  for (const query of queries) {
    const { data } = await ask({ type: 2, data: query })
    found[query] = data.items.slice(0, 3).map(([best]) => best.location)
  }
  console.log(JSON.stringify(found))
}

main()
