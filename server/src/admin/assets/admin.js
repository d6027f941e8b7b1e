// The pages work without this script. It adds copy buttons, "select all", counts of a selection, keys for charts,
// the check of codes while they are typed, files that are dropped, passkeys, and figures that are added up.
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
  const others = () => [...document.querySelectorAll(`input[name="${box.dataset.all}"]`)]
  const counter = document.querySelector(`[data-selected="${box.dataset.all}"]`)
  const show = () => {
    const chosen = others().filter((other) => other.checked).length
    box.checked = chosen > 0 && chosen === others().length
    box.indeterminate = chosen > 0 && !box.checked
    if (counter) counter.textContent = chosen ? `${chosen} selected` : ''
  }
  box.addEventListener('change', () => {
    for (const other of others()) other.checked = box.checked
    show()
  })
  for (const other of others()) other.addEventListener('change', show)
}

// One day of a chart can be focused at a time; the arrow keys move.
for (const list of document.querySelectorAll('.marks')) {
  const marks = [...list.children]
  const focus = (index) => {
    const next = marks[Math.min(marks.length - 1, Math.max(0, index))]
    for (const mark of marks) mark.tabIndex = mark === next ? 0 : -1
    return next
  }
  focus(marks.length - 1)
  list.addEventListener('keydown', ({ key, target }) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[key]
    if (step) focus(marks.indexOf(target) + step).focus()
  })
}

// Codes: at most nine characters, without spaces and without 0, o and O. The server checks them again.
for (const field of document.querySelectorAll('input[data-code]')) {
  const hint = document.getElementById(field.dataset.code)
  field.addEventListener('input', () => {
    const bare = field.value.replace(/\s/gu, '')
    const allowed = [...bare.replace(/[0O]/g, 'Q').replace(/o/g, 'q')].slice(0, 9).join('')
    hint.textContent = !field.value || allowed === field.value ? '' : `Not allowed. The nearest allowed code is ${allowed}.`
  })
}

// Figures that were not ready when the page opened.
for (const { dataset } of document.querySelectorAll('[data-reload]')) setTimeout(() => location.reload(), dataset.reload)

for (const select of document.querySelectorAll('form.filters select[data-submit]'))
  select.addEventListener('change', () => select.form.requestSubmit())

// A file that is dropped on the report of payments is read into the field.
for (const field of document.querySelectorAll('textarea[name="report"]')) {
  field.addEventListener('drop', async (event) => {
    const [file] = event.dataTransfer.files
    if (!file) return
    event.preventDefault()
    field.value = await file.text()
  })
}

// Passkeys: the form is sent with the response of the browser, in the JSON format of the standard.
for (const form of document.querySelectorAll('form[data-passkey]')) {
  const { passkey, origin, options } = form.dataset
  if (!globalThis.PublicKeyCredential?.parseCreationOptionsFromJSON || location.origin !== origin) continue
  form.hidden = false
  document.querySelector('[data-no-passkey]')?.remove()
  form.addEventListener('submit', async (event) => {
    const { response } = form.elements
    if (response.value) return
    event.preventDefault()
    const problem = form.querySelector('[role=alert]')
    problem.textContent = ''
    try {
      const given = JSON.parse(options)
      const credential = await (passkey === 'create'
        ? navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(given) })
        : navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(given) }))
      response.value = JSON.stringify(credential)
      form.requestSubmit()
    } catch ({ name }) {
      problem.textContent =
        name === 'InvalidStateError' ? 'This device has a passkey of yours already.' : 'No passkey was used. Try again.'
    }
  })
}
