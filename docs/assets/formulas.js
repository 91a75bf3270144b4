// Renders the formulas of a page, which arithmatex wrote as \(...\) and \[...\].
for (const formula of document.querySelectorAll(".arithmatex")) {
  const text = formula.textContent.trim()
  katex.render(text.slice(2, -2), formula, {
    displayMode: text.startsWith("\\["),
    throwOnError: false,
  })
}
