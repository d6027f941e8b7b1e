// The pages work without this file; it copies, and it ticks many boxes at once.
for (const button of document.querySelectorAll('button[data-copy]')) {
  const source = document.getElementById(button.dataset.copy)
  button.hidden = false
  button.addEventListener('click', async () => {
    // Where the connection is not encrypted browsers have no clipboard: then the text is at least marked.
    getSelection().selectAllChildren(source)
    if (!navigator.clipboard) return
    await navigator.clipboard.writeText(source.textContent)
    button.textContent = 'Copied'
  })
}

for (const box of document.querySelectorAll('input[data-all]')) {
  box.hidden = false
  const others = () => document.querySelectorAll(`input[name="${box.dataset.all}"]`)
  box.addEventListener('change', () => {
    for (const other of others()) other.checked = box.checked
  })
}
