import { invalid } from '../errors.ts'
import { deref, type Parameter } from './document.ts'

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
    query[name] = coerce(deref(schema).type, first)
  }
  return query
}

function coerce(type: string | string[] | undefined, text: string): unknown {
  const isNumber = type === 'integer' || type === 'number'
  return isNumber && /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text
}
