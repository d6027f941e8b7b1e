// The pages work without this script. It adds search as you type, copy buttons, "select all", selection counts, keys
// for charts, lists, and pages, code validation while typing, file drop, passkeys, and reloading when figures are ready.
for (const button of document.querySelectorAll('button[data-copy]')) {
  const source = document.getElementById(button.dataset.copy)
  button.hidden = false
  button.addEventListener('click', async () => {
    // Browsers provide no clipboard without https. Then only select the text.
    getSelection().selectAllChildren(source)
    if (!navigator.clipboard) return
    await navigator.clipboard.writeText(source.textContent)
    button.textContent = 'Copied'
  })
}

/** The selected rows' total in each currency, if they have amounts. */
const sumsOf = (boxes) => {
  const sums = new Map()
  for (const { dataset } of boxes) {
    if (!dataset.cents) continue
    const sum = sums.get(dataset.currency) ?? { cents: 0, digits: Number(dataset.digits) }
    sums.set(dataset.currency, { ...sum, cents: sum.cents + Number(dataset.cents) })
  }
  const texts = [...sums].map(([currency, { cents, digits }]) => {
    const shown = new Intl.NumberFormat('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })
    return `${shown.format(cents / 10 ** digits)} ${currency}`
  })
  return texts.length ? `: ${texts.join(' + ')}` : ''
}

for (const box of document.querySelectorAll('input[data-all]')) {
  box.hidden = false
  const others = () => [...document.querySelectorAll(`input[name="${box.dataset.all}"]`)]
  const counter = document.querySelector(`[data-selected="${box.dataset.all}"]`)
  const show = () => {
    const chosen = others().filter((other) => other.checked)
    box.checked = chosen.length > 0 && chosen.length === others().length
    box.indeterminate = chosen.length > 0 && !box.checked
    if (counter) counter.textContent = chosen.length ? `${chosen.length} selected${sumsOf(chosen)}` : ''
  }
  box.addEventListener('change', () => {
    for (const other of others()) other.checked = box.checked
    show()
  })
  for (const other of others()) {
    other.addEventListener('change', show)
    // In a form, Enter would submit the selection.
    other.addEventListener('keydown', (event) => event.key === 'Enter' && event.preventDefault())
  }
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

// Codes have at most nine characters, no spaces, and no 0, o, or O. The server validates them again.
for (const field of document.querySelectorAll('input[data-code]')) {
  const hint = document.getElementById(field.dataset.code)
  field.addEventListener('input', () => {
    const bare = field.value.replace(/\s/gu, '')
    const allowed = [...bare.replace(/[0O]/g, 'Q').replace(/o/g, 'q')].slice(0, 9).join('')
    hint.textContent = !field.value || allowed === field.value ? '' : `Not allowed. The nearest allowed code is ${allowed}.`
  })
}

// The rejected field may be inside a closed disclosure.
for (const field of document.querySelectorAll('main form[method=post] [aria-invalid=true]')) {
  const closed = field.closest('details')
  if (closed) closed.open = true
  field.focus()
}

// On a narrow screen, the current tab may be outside the view.
for (const tab of document.querySelectorAll('.tabs [aria-current]'))
  tab.closest('ul').scrollLeft = tab.offsetLeft - tab.closest('ul').offsetLeft - 40

// A click elsewhere or Escape closes the filters that open above the list.
for (const more of document.querySelectorAll('.filters details')) {
  const close = () => more.removeAttribute('open')
  document.addEventListener('click', ({ target }) => !more.contains(target) && close())
  more.addEventListener('keydown', ({ key }) => {
    if (key !== 'Escape' || !more.open) return
    close()
    more.querySelector('summary').focus()
  })
}

// The search dialog shows the search page's results as you type.
const search = document.getElementById('finder')
let openSearch
if (search) {
  const field = search.querySelector('input')
  const found = search.querySelector('.found')
  const links = () => [...found.querySelectorAll('li a')]
  let timer
  let latest
  const show = async () => {
    clearTimeout(timer)
    latest?.abort()
    latest = new AbortController()
    const { signal } = latest
    try {
      const response = await fetch(`/admin/search?${new URLSearchParams({ q: field.value })}`, { signal })
      // The session has ended, so open the sign-in page.
      if (response.redirected) location.reload()
      const page = new DOMParser().parseFromString(await response.text(), 'text/html')
      found.replaceChildren(...(page.querySelector('main .found') ?? page.querySelector('main')).childNodes)
      const isSearching = found.querySelector('[data-reload]')
      isSearching?.querySelector('a').remove()
      const count = links().length
      search.querySelector('[role=status]').textContent = isSearching ? '' : `${count} ${count === 1 ? 'result' : 'results'}`
      if (isSearching) timer = setTimeout(show, 400)
    } catch {
      // Another search has started, or the server is unreachable. Enter opens the search page.
    }
  }
  openSearch = (text = '') => {
    if (search.open) return
    document.getElementById('menu')?.hidePopover?.()
    field.value = text
    search.showModal()
    field.select()
    show()
  }
  field.addEventListener('input', () => {
    clearTimeout(timer)
    timer = setTimeout(show, 180)
  })
  search.querySelector('form').addEventListener('submit', async (event) => {
    event.preventDefault()
    await show()
    const [first] = links()
    if (first) first.click()
    else if (!found.hasChildNodes()) location.assign(`/admin/search?${new URLSearchParams({ q: field.value })}`)
  })
  search.addEventListener('keydown', (event) => {
    const { key, target, ctrlKey, metaKey, altKey } = event
    const all = links()
    const at = all.indexOf(target)
    const step = { ArrowDown: 1, ArrowUp: -1 }[key]
    if (step) {
      event.preventDefault()
      // While the field has focus, the first result is selected.
      const next = target === field ? (step > 0 ? 1 : all.length - 1) : at + step
      ;(next === 0 || next < 0 ? field : (all[next] ?? field)).focus()
    } else if (at >= 0 && key.length === 1 && !ctrlKey && !metaKey && !altKey) field.focus()
  })
  search.addEventListener('click', ({ target }) => target === search && search.close())
  for (const input of document.querySelectorAll('.side .find input'))
    for (const kind of ['click', 'input'])
      input.addEventListener(kind, () => {
        openSearch(input.value)
        input.value = ''
      })
  for (const link of document.querySelectorAll('[data-search]'))
    link.addEventListener('click', (event) => {
      event.preventDefault()
      openSearch()
    })
  document.addEventListener('keydown', (event) => {
    if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return
    event.preventDefault()
    openSearch()
  })
}

// Single-character keys can be turned off, because speech input triggers them by accident.
const keys = document.getElementById('keys')
if (keys) {
  const OFF = 'referral-keys-off'
  const stored = (value) => {
    try {
      if (value === undefined) return localStorage.getItem(OFF)
      if (value) localStorage.setItem(OFF, '1')
      else localStorage.removeItem(OFF)
    } catch {
      // Without storage the keys are on.
    }
  }
  const box = keys.querySelector('input')
  box.checked = !stored()
  box.addEventListener('change', () => stored(!box.checked))
  for (const button of document.querySelectorAll('[data-keys]')) {
    button.hidden = false
    button.addEventListener('click', () => keys.showModal())
  }
  const rows = [...document.querySelectorAll('main tbody tr')]
  /** The index of the focused row, or -1. */
  const current = () => rows.findIndex((row) => row.contains(document.activeElement))
  const step = (by) => {
    const row = rows[Math.min(rows.length - 1, Math.max(0, current() + by))]
    const target = row?.querySelector('th a, input[type=checkbox], a, button')
    target?.focus()
    row?.scrollIntoView({ block: 'nearest' })
  }
  const actions = {
    '/': () => openSearch(),
    f: () => document.querySelector('main .filters input:not([type=hidden])')?.focus(),
    '?': () => keys.showModal(),
    j: () => step(1),
    k: () => step(-1),
    x: () => rows[current()]?.querySelector('input[type=checkbox]')?.click(),
    n: () => document.querySelector('main .actions a.main')?.click(),
  }
  let isGoing = false
  document.addEventListener('keydown', (event) => {
    const { key, target, ctrlKey, metaKey, altKey } = event
    const isTyping = target.matches('textarea, select, input:not([type=checkbox], [type=radio])')
    if (isTyping || ctrlKey || metaKey || altKey || document.querySelector('dialog[open]') || (!box.checked && key !== '?')) return
    const page = isGoing && document.querySelector(`nav a[data-key="${CSS.escape(key)}"]`)
    isGoing = key === 'g' && !isGoing
    if (page) page.click()
    else if (Object.hasOwn(actions, key)) {
      event.preventDefault()
      actions[key]()
    }
  })
}

// Reload when figures were not ready. Not after a rejected form: reloading would send it again.
if (!document.getElementById('problem'))
  for (const { dataset } of document.querySelectorAll('[data-reload]')) setTimeout(() => location.reload(), dataset.reload)

// A double click submits a form once.
let sent = new WeakSet()
document.addEventListener('submit', (event) => {
  if (event.defaultPrevented || event.target.method !== 'post') return
  if (sent.has(event.target)) event.preventDefault()
  sent.add(event.target)
})
// The browser may restore the page from its cache.
addEventListener('pageshow', () => {
  sent = new WeakSet()
})

// A file dropped next to the field is selected.
for (const zone of document.querySelectorAll('[data-drop]')) {
  const input = zone.querySelector('input[type=file]')
  for (const kind of ['dragover', 'dragleave', 'drop'])
    zone.addEventListener(kind, (event) => {
      event.preventDefault()
      zone.classList.toggle('over', kind === 'dragover')
      const file = kind === 'drop' && event.dataTransfer.files[0]
      if (!file) return
      const chosen = new DataTransfer()
      chosen.items.add(file)
      input.files = chosen.files
    })
}

// Passkeys: submit the form with the browser's response, in the standard's JSON format.
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
