import { type DocumentedOperation, deref, document, pointerTo, problems } from '../support/document.ts'

// biome-ignore lint/suspicious/noExplicitAny: the document is walked as plain JSON
type Json = any

/** What is wrong with a body that was accepted, by a second reading of the document. */
export function whyNotAcceptable(op: DocumentedOperation, body: string | Uint8Array | undefined): string[] {
  const method = op.method.toLowerCase()
  if (!content(op) || !body?.length) return []
  const text = typeof body === 'string' ? body : new TextDecoder('utf-8', { fatal: true }).decode(body)
  const value = JSON.parse(text.replace(/^\ufeff/, ''))
  const isStore = op.path.startsWith('/integrations/')
  // Of what a store sends only the documented properties are read.
  const read = isStore ? documented(content(op).schema, value) : value
  const broken = hasBrokenText(read) ? ['it holds text that cannot be stored'] : []
  if (isStore) return broken
  const schema = pointerTo('paths', op.path, method, 'requestBody', 'content', 'application/json', 'schema')
  return [...broken, ...problems(schema, withType(value))]
}

const content = (op: DocumentedOperation) =>
  document.paths[op.path][op.method.toLowerCase()].requestBody?.content['application/json']

/** A value without the properties that its schema does not name, and without the items that it ignores. */
function documented(schema: Json, value: Json): Json {
  const { properties, items, 'x-ignored-after': most } = deref(schema)
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return items ? value.slice(0, most).map((one) => documented(items, one)) : []
  const known = Object.entries<Json>(value).filter(([name]) => Object.hasOwn(properties ?? {}, name))
  return Object.fromEntries(known.map(([name, one]) => [name, documented(properties[name], one)]))
}

/** `type: null` means the default. */
const withType = (value: unknown) =>
  value !== null && typeof value === 'object' && 'type' in value && value.type === null
    ? { ...value, type: 'conversion' }
    : value

function hasBrokenText(value: unknown): boolean {
  if (typeof value === 'string') return !value.isWellFormed() || value.includes('\0')
  if (value === null || typeof value !== 'object') return false
  return Object.entries(value).some(([key, inner]) => hasBrokenText(key) || hasBrokenText(inner))
}
