// The editor of a cell: CodeMirror, in the looks of the site's code blocks.

import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands"
import { python } from "@codemirror/lang-python"
import { bracketMatching, indentOnInput, indentUnit } from "@codemirror/language"
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language"
import { EditorState } from "@codemirror/state"
import { EditorView, drawSelection, keymap } from "@codemirror/view"
import { tags } from "@lezer/highlight"

const color = (name) => `var(--md-code-hl-${name}-color)`

const highlighting = HighlightStyle.define([
  { tag: tags.comment, color: color("comment") },
  { tag: tags.string, color: color("string") },
  { tag: [tags.number, tags.bool, tags.null], color: color("number") },
  { tag: [tags.keyword, tags.operatorKeyword, tags.self], color: color("keyword") },
  { tag: tags.definition(tags.variableName), color: color("name") },
  { tag: tags.function(tags.definition(tags.variableName)), color: color("function") },
  { tag: tags.definition(tags.className), color: color("function") },
  { tag: tags.operator, color: color("operator") },
  { tag: tags.punctuation, color: color("punctuation") },
])

const looks = EditorView.theme({
  "&": { fontSize: "inherit", backgroundColor: "transparent", color: "var(--md-code-fg-color)" },
  "&.cm-focused": { outline: "2px solid var(--md-accent-fg-color)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--md-code-font-family)", lineHeight: "inherit" },
  ".cm-content": { padding: "0.75em 0", caretColor: "var(--md-code-fg-color)" },
  ".cm-line": { padding: "0 1em" },
  ".cm-cursor": { borderLeftColor: "var(--md-code-fg-color)" },
  ".cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground":
    { backgroundColor: "var(--md-accent-fg-color--transparent)" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--md-accent-fg-color--transparent)" },
})

// Returns {text(), setText(text), focus()}.
export function edit(parent, text, label, { change, run }) {
  const runs = { key: "Shift-Enter", run: () => (run(), true) }
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        history(),
        drawSelection(),
        indentOnInput(),
        bracketMatching(),
        indentUnit.of("    "),
        python(),
        syntaxHighlighting(highlighting),
        looks,
        keymap.of([runs, { ...runs, key: "Mod-Enter" }, ...defaultKeymap, ...historyKeymap]),
        keymap.of([indentWithTab]), // after Escape, Tab leaves the editor
        EditorView.contentAttributes.of({ "aria-label": label }),
        EditorView.updateListener.of((update) => update.docChanged && change()),
      ],
    }),
  })
  return {
    text: () => view.state.doc.toString(),
    setText: (to) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: to } }),
    focus: () => view.focus(),
  }
}
