import { deref, type Parameter, type Schema } from '../contract/document.ts'
import { invalid } from '../contract/errors.ts'
import { isStorable } from './storable.ts'

/**
 * Query text as what the document says it is: numbers become numbers, anything else stays for the validator to refuse.
 * Parameters the document does not know are left out.
 */
export function readQuery(parameters: Parameter[], search: URLSearchParams): Record<string, unknown> {
  const query: Record<string, unknown> = {}
  for (const { name, schema } of parameters) {
    const values = search.getAll(name)
    const [first] = values
    if (first === undefined) continue
    if (values.length > 1) throw invalid('invalid_parameter', `${name} must be given once.`)
    if (!isStorable(first)) throw invalid('invalid_parameter', `${name} must not hold the character U+0000.`)
    query[name] = coerce(deref(schema), first)
  }
  return query
}

function coerce({ type, format }: Schema, text: string): unknown {
  // A plus sign that was not encoded arrives as a space.
  if (format === 'instant') return text.replace(/ (?=\d\d:\d\d$)/, '+')
  const isNumber = type === 'integer' || type === 'number'
  return isNumber && /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text
}

/** The query of an address, of which nothing else is read. */
export function searchOf(url: string): URLSearchParams {
  const [address = ''] = url.split('#', 1)
  const start = address.indexOf('?')
  return new URLSearchParams(start < 0 ? '' : address.slice(start + 1))
}
