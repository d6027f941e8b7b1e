import { type DocumentedOperation, document, pointerTo, problems } from '../support/document.ts'

/** What is wrong with a body that was accepted, by a second reading of the document. */
export function whyNotAcceptable(op: DocumentedOperation, body: string | Uint8Array | undefined): string[] {
  const method = op.method.toLowerCase()
  if (!document.paths[op.path][method].requestBody || !body?.length) return []
  const text = typeof body === 'string' ? body : new TextDecoder('utf-8', { fatal: true }).decode(body)
  const value = JSON.parse(text.replace(/^\ufeff/, ''))
  const broken = hasBrokenText(value) ? ['it holds text that cannot be stored'] : []
  // What a store sends is known in part; the rest is tolerated.
  if (op.path.startsWith('/integrations/')) return broken
  const schema = pointerTo('paths', op.path, method, 'requestBody', 'content', 'application/json', 'schema')
  return [...broken, ...problems(schema, withType(value))]
}

/** `type: null` stands for the default. */
const withType = (value: unknown) =>
  value !== null && typeof value === 'object' && 'type' in value && value.type === null
    ? { ...value, type: 'conversion' }
    : value

function hasBrokenText(value: unknown): boolean {
  if (typeof value === 'string') return !value.isWellFormed() || value.includes('\0')
  if (value === null || typeof value !== 'object') return false
  return Object.entries(value).some(([key, inner]) => hasBrokenText(key) || hasBrokenText(inner))
}
