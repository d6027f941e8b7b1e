import { alternativesOf, document } from '../../contract/document.ts'
import { ApiError, conflict, invalid, invalidBody } from '../../contract/errors.ts'
import type { OperationId } from '../../contract/spec.ts'
import { nonNull } from '../../contract/validator.ts'
import type { OwnerContext } from '../../core/context.ts'
import type { IdPrefix } from '../../core/ids.ts'
import { isStorable } from '../../database/database.ts'
import { readBody } from '../../http/read-body.ts'
import { type Html, html } from './html.ts'
import type { PageRequest, View } from './route.ts'

export const MAX_FORM_BYTES = 64 * 1024
/** A page of commissions has a few hundred fields. Parsing tens of thousands would block the process. */
const MAX_FIELDS = 1000
const AMPERSAND = 0x26

/**
 * Reads the fields of a form. Forms contain text only.
 *
 * @throws ApiError 400 for a body of another type, too many fields, or text that cannot be stored; 400 and 503 as in {@link readBody}.
 */
export async function readForm(...[server, c, expected]: Parameters<typeof readBody>): Promise<URLSearchParams> {
  if (typeOf(c) !== 'application/x-www-form-urlencoded')
    throw invalidBody('Content-Type must be application/x-www-form-urlencoded.')
  const { bytes } = await readBody(server, c, expected)
  if (bytes.reduce((count, byte) => (byte === AMPERSAND ? count + 1 : count), 1) > MAX_FIELDS) {
    throw invalidBody(`A form must not have more than ${MAX_FIELDS} fields.`)
  }
  return storable(new URLSearchParams(new TextDecoder().decode(bytes)))
}

type FormContext = Parameters<typeof readBody>[1]
const typeOf = (c: FormContext) => c.req.header('Content-Type')?.split(';')[0]?.trim().toLowerCase()

function storable(form: URLSearchParams): URLSearchParams {
  if (![...form].flat().every(isStorable)) throw invalidBody('Text must not contain the character U+0000.')
  return form
}

/** A form's fields and its uploaded file. */
interface Upload {
  fields: URLSearchParams
  file: Uint8Array | undefined
}

const UPLOAD = 'multipart/form-data'
const MIB = 1024 * 1024
const fileTooLarge = (bytes: number) =>
  `The file is larger than ${bytes / MIB} MiB. Export a shorter period, or use the CLI.`

/**
 * Reads a form's fields and its file, if it has one.
 *
 * @throws ApiError as {@link readForm}.
 */
export async function readUpload(...[server, c, expected]: Parameters<typeof readBody>): Promise<Upload> {
  // A form without a file can have the ordinary type.
  if (typeOf(c) !== UPLOAD)
    return { fields: await readForm(server, c, { ...expected, limit: MAX_FORM_BYTES }), file: undefined }
  const { bytes } = await readBody(server, c, expected).catch((error) => {
    const isTooLarge = error instanceof ApiError && error.code === 'body_too_large'
    throw isTooLarge ? invalid('body_too_large', fileTooLarge(expected.limit)) : error
  })
  // RFC 2046 allows 70 characters. Searching for thousands of them takes minutes.
  const [, boundary] = /boundary="?([^";]{1,70})(?:[";]|$)/i.exec(c.req.header('Content-Type') ?? '') ?? []
  const fields = new URLSearchParams()
  let file: Uint8Array | undefined
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  for (const { name, isFile, content } of partsOf(body, boundary)) {
    if (!isFile) fields.append(name, content.toString())
    // Browsers send an empty file when none was chosen.
    else if (content.length > 0) file = content
  }
  return { fields: storable(fields), file }
}

interface Part {
  name: string
  isFile: boolean
  content: Buffer
}

/** Splits a form into its parts. `Response.formData` blocks the event loop for 100 ms at 8 MiB. */
function partsOf(body: Buffer, boundary: string | undefined): Part[] {
  const mark = `\r\n--${boundary}`
  const parts: Part[] = []
  // The first boundary has no line before it.
  let at = mark.length - 2
  while (!body.subarray(at, at + 2).equals(END)) {
    const [start, end] = [body.indexOf('\r\n\r\n', at), body.indexOf(mark, at)]
    const head = body.toString('utf8', at, Math.min(start, at + MAX_PART_HEADER))
    const [, name] = / name="([^"]*)"/.exec(head) ?? []
    if (boundary === undefined || start === -1 || end < start || name === undefined)
      throw invalidBody('The form could not be read. Send it again.')
    parts.push({ name, isFile: head.includes('; filename='), content: body.subarray(start + 4, end) })
    if (parts.length > MAX_FIELDS) throw invalidBody(`A form must not have more than ${MAX_FIELDS} fields.`)
    at = end + mark.length
  }
  return parts
}

const END = Buffer.from('--')
const MAX_PART_HEADER = 2000

/** Returns a field without leading and trailing whitespace, or undefined when it is empty. */
export const field = (form: URLSearchParams, name: string): string | undefined => form.get(name)?.trim() || undefined

/** Renders a form with the session's CSRF token. */
export const form = ({ csrf }: PageRequest, action: string, inner: Html | Html[], className = ''): Html =>
  html`<form method="post" action="${action}" class="${className}"><input type="hidden" name="csrf" value="${csrf}">${inner}</form>`

/** Renders a form that can contain a file. */
export const uploadForm = ({ csrf }: PageRequest, action: string, inner: Html | Html[]): Html =>
  html`<form method="post" action="${action}" enctype="${UPLOAD}"><input type="hidden" name="csrf" value="${csrf}">${inner}</form>`

/** A form for buttons elsewhere on the page, which refer to it with their `form` attribute. */
export const formOfButtons = ({ csrf }: PageRequest, id: string, inner: Html | Html[]): Html =>
  html`<form method="post" id="${id}"><input type="hidden" name="csrf" value="${csrf}">${inner}</form>`

export interface Input {
  name: string
  label: string
  /** Text after the label, such as ` (optional)`. */
  suffix?: string
  /** The API's field if its name differs: `debtor.iban`. */
  field?: string
  type?: string
  /** Defaults to the submitted value, except for passwords. */
  value?: string | undefined
  hint?: Html | string
  required?: boolean
  placeholder?: string
  autocomplete?: string
  maxlength?: number | undefined
  min?: number | undefined
  max?: number | undefined
  pattern?: string | undefined
  /** Suggestions while typing. */
  choices?: readonly string[]
  /** Differs from the name if the page has several fields with this name. */
  id?: string
}

const bodySchemas = new Map(
  Object.values(document.paths)
    .flatMap((item) => Object.values(item))
    .map(({ operationId, requestBody }) => [operationId, requestBody?.content['application/json']?.schema]),
)

/**
 * The limits that openapi.yaml sets for a request property.
 *
 * @param path A property, or one within another: `debtor.name`.
 * @param method The payment method, for a body with one alternative for each.
 */
export function limitsOf(id: OperationId, path: string, method?: string) {
  let schema = bodySchemas.get(id) ?? {}
  for (const name of path.split('.')) {
    const all = alternativesOf(schema).map(({ object }) => object.properties ?? {})
    const properties = all.find((candidate) => name in candidate && (!method || candidate.method?.const === method))
    schema = nonNull(properties![name]!)
  }
  const { minimum: min, maximum: max, maxLength: maxlength, pattern } = schema
  // HTML matches a pattern against the whole value, and typed text may start or end with a space.
  return {
    field: path,
    min,
    max,
    maxlength,
    pattern: pattern?.startsWith('^') ? `\\s*${pattern.slice(1, -1)}\\s*` : undefined,
  }
}

const hintOf = (id: string, hint: Html | string | undefined): Html =>
  hint ? html`<p class="hint" id="${id}-hint">${hint}</p>` : html``

/** The input that a rejected form shows again. */
type Sent = Pick<PageRequest, 'form' | 'problem' | 'formProblem'>

/** The attributes that connect an input with its hints and its problem, and the problem itself. */
function problemOf(submitted: Sent, { name, label, field = name, id = name }: Input, hints: string[]) {
  // Another form on the page may have a field with this name.
  const problem = submitted.form.has(name) ? submitted.formProblem : submitted.problem
  const text = problem?.under(field, label)
  const about = [...(text ? [`${id}-problem`] : []), ...hints].join(' ')
  return {
    attributes: html`${about ? html` aria-describedby="${about}"` : ''}${text ? html` aria-invalid="true" autofocus` : ''}`,
    reason: text ? html`<p class="hint bad-text" id="${id}-problem">${text}</p>` : '',
  }
}

/** Renders a labeled input with an optional hint and its field's problem. */
export const input = (submitted: Sent, field: Input): Html => {
  const { name, label, suffix = '', hint, id = name, type = 'text', required = false, placeholder = '' } = field
  const {
    value = (type !== 'password' && submitted.form.get(name)) || '',
    autocomplete = 'off',
    maxlength = 500,
  } = field
  const { attributes, reason } = problemOf(submitted, field, hint ? [`${id}-hint`] : [])
  return html`<div class="field"><label for="${id}">${label}${suffix}</label>
<input id="${id}" name="${name}" type="${type}" value="${value}" placeholder="${placeholder}" autocomplete="${autocomplete}" maxlength="${maxlength}"${limitAttributes(field)}${required ? html` required` : ''}${attributes}${field.choices ? html` list="${`${id}-choices`}"` : ''}>
${field.choices ? html`<datalist id="${`${id}-choices`}">${field.choices.map((choice) => html`<option value="${choice}"></option>`)}</datalist>` : ''}${reason}${hintOf(id, hint)}</div>`
}

const limitAttributes = ({ type, min, max, pattern }: Input): Html =>
  type === 'number'
    ? html` min="${String(min)}" max="${String(max)}"`
    : html`${pattern && type !== 'email' ? html` pattern="${pattern}"` : ''}`

/** Renders a labeled multi-line input. */
export const textarea = (submitted: Sent, field: Input): Html => {
  const { name, label, hint, id = name, value = submitted.form.get(name) ?? '', maxlength = 5000 } = field
  const { attributes, reason } = problemOf(submitted, field, hint ? [`${id}-hint`] : [])
  return html`<div class="field"><label for="${id}">${label}</label>
<textarea id="${id}" name="${name}" maxlength="${maxlength}"${attributes}>${value}</textarea>
${reason}${hintOf(id, hint)}</div>`
}

/** Renders the code field. The script validates it while typing, and the server validates it again. */
export const codeInput = (
  submitted: Sent,
  { id, value, label = 'Code' }: { id: string; value: string; label?: string },
): Html => {
  const { attributes, reason } = problemOf(submitted, { name: 'code', label, id }, [`${id}-hint`, `${id}-check`])
  return html`<div class="field"><label for="${id}">${label}</label>
<input id="${id}" name="code" value="${value}" maxlength="60" autocomplete="off" spellcheck="false" data-code="${`${id}-check`}"${attributes}>
${reason}<p class="hint" id="${id}-hint">${CODE_RULE}</p><p class="hint bad-text" id="${id}-check" aria-live="polite"></p></div>`
}

const CODE_RULE =
  'Up to 9 characters, with no spaces and no 0, o, or O, which are easy to confuse. Leave empty to generate an 8-character code.'

/** Renders a checkbox with an explanation. */
export const checkbox = (name: string, label: string, isChecked: boolean, hint?: string): Html =>
  html`<label class="box"><input type="checkbox" name="${name}" value="1"${isChecked ? html` checked` : ''}> <span>${label}${hint ? html` <small>${hint}</small>` : ''}</span></label>`

/** Renders a hidden field. */
export const hidden = (name: string, value: string): Html => html`<input type="hidden" name="${name}" value="${value}">`

/** A hidden field with the new resource's ID, so that a form sent twice creates it once. */
export const newIdField = ({ ctx }: PageRequest, prefix: IdPrefix): Html => hidden('newId', ctx.newId(prefix))

const RANDOM_PART = /^[0-9A-HJKMNP-TV-Z]{26}$/

/**
 * Creates a resource with the ID from {@link newIdField}. Without that field, the server chooses the ID.
 *
 * @param made the message when the form was sent before
 * @throws ApiError 409 `concurrent_change` when it was created before, and whatever `create` throws.
 */
export async function createOnce<T>(
  { ctx, form: submitted }: PageRequest,
  { prefix, made }: { prefix: IdPrefix; made: string },
  create: (ctx: OwnerContext) => Promise<T>,
): Promise<T> {
  const [sentPrefix, random = '', ...more] = (submitted.get('newId') ?? '').split('_')
  if (sentPrefix !== prefix || more.length > 0 || !RANDOM_PART.test(random)) return create(ctx)
  const newId: typeof ctx.newId = (idPrefix) => (idPrefix === prefix ? `${prefix}_${random}` : ctx.newId(idPrefix))
  return create({ ...ctx, newId }).catch((error) => {
    // Only this form, sent before, can have created the same ID.
    throw error instanceof ApiError && error.code === 'concurrent_change' ? conflict(error.code, made) : error
  })
}

type Options = readonly (readonly [value: string, text: string])[]

/** Renders a labeled select. */
export const select = (
  name: string,
  label: string,
  options: Options,
  chosen: string,
  { id = name, hint }: { id?: string; hint?: string } = {},
): Html => html`<div class="field"><label for="${id}">${label}</label>
<select id="${id}" name="${name}"${hint ? html` aria-describedby="${`${id}-hint`}"` : ''}>${options.map(([value, text]) => html`<option value="${value}"${value === chosen ? html` selected` : ''}>${text}</option>`)}</select>${hintOf(id, hint)}</div>`

/** Renders checkboxes that share one name. */
export const checkboxes = (name: string, legend: string, values: readonly string[], chosen: readonly string[]): Html =>
  html`<fieldset><legend>${legend}</legend><div class="boxes">
${values.map((value) => html`<label class="box"><input type="checkbox" name="${name}" value="${value}"${chosen.includes(value) ? html` checked` : ''}> <code>${value || '""'}</code></label>`)}
</div></fieldset>`

/**
 * Renders a form that the script sends with a passkey's response. Only the script shows it, and only on the origin that
 * passkeys are bound to.
 */
export const passkeyForm = (
  { origin }: { origin: string },
  { kind, action, options, inner }: { kind: 'create' | 'get'; action: string; options: object; inner: Html },
): Html =>
  html`<form method="post" action="${action}" data-passkey="${kind}" data-origin="${origin}" data-options="${JSON.stringify(options)}" hidden>
<input type="hidden" name="response">${inner}<p class="hint bad-text" role="alert"></p></form>`

interface Confirmation extends Pick<View, 'title' | 'crumb' | 'subjectId'> {
  crumb: NonNullable<View['crumb']>
  text: Html
  fields?: Html
  action: string
  button: string
  /** Where the page leads back to, if that is not the page above it. */
  back?: string
}

/** A page that asks for confirmation of an irreversible action, without script. */
export const confirmation = (
  request: PageRequest,
  { text, fields = html``, action, button, back, ...view }: Confirmation,
): View => ({
  ...view,
  body: html`<div class="card narrow">${text}
${form(request, action, html`${fields}<button class="danger">${button}</button> <a class="button" href="${back ?? view.crumb.to}">Back</a>`, 'row')}</div>`,
})

/** A form with one small button. @param about what follows the text for screen readers */
export const buttonForm = (request: PageRequest, action: string, text: string, about: string): Html =>
  form(request, action, html`<button class="small">${text}<span class="visually-hidden"> ${about}</span></button>`)
