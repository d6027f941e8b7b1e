// The pages work without this script. It adds copy buttons and "select all" checkboxes.
for (const button of document.querySelectorAll('button[data-copy]')) {
  const source = document.getElementById(button.dataset.copy)
  button.hidden = false
  button.addEventListener('click', async () => {
    // Browsers provide no clipboard without https. In that case only select the text.
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
