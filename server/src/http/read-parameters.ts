import type { Context as HonoContext } from 'hono'
import { deref, type Parameter, type Schema } from '../contract/document.ts'
import { invalid } from '../contract/errors.ts'
import type { Input, Operation, OperationId } from '../contract/spec.ts'
import { isStorable } from '../database/database.ts'
import type { Env } from './server.ts'

/**
 * Converts query text to the types of the document: numeric text becomes a number, anything else is left to the validator.
 * Undocumented parameters are dropped.
 */
function readQuery(parameters: Parameter[], search: URLSearchParams): Record<string, unknown> {
  const query: Record<string, unknown> = {}
  for (const { name, schema } of parameters) {
    const values = search.getAll(name)
    const [first] = values
    if (first === undefined) continue
    if (values.length > 1) throw invalid('invalid_parameter', `${name} must be sent only once.`)
    if (!isStorable(first)) throw invalid('invalid_parameter', `${name} must not contain the character U+0000.`)
    query[name] = coerce(deref(schema), first)
  }
  return query
}

function coerce({ type, format }: Schema, text: string): unknown {
  // An unencoded plus sign arrives as a space.
  if (format === 'instant') return text.replace(/ (?=\d\d:\d\d$)/, '+')
  const isNumber = type === 'integer' || type === 'number'
  return isNumber && /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text
}

/** Parses the query alone, which is faster than parsing the whole URL. */
function searchParamsOf(url: string): URLSearchParams {
  const [address = ''] = url.split('#', 1)
  const start = address.indexOf('?')
  return new URLSearchParams(start < 0 ? '' : address.slice(start + 1))
}

/** Text to look up in the database. Text that cannot be stored becomes `?`, which matches no row. */
export const toLookupText = (text: string): string => (isStorable(text) ? text : '?')

/** @throws ApiError 400 for a parameter that does not match the document. */
export function readParameters<Id extends OperationId>(
  op: Operation<Id>,
  c: HonoContext<Env>,
): Omit<Input<Id>, 'body'> {
  const { queryParameters, pathParameters, headerParameters } = op
  return {
    query: op.readQuery(queryParameters.length > 0 ? readQuery(queryParameters, searchParamsOf(c.req.url)) : {}),
    path: op.readPath(pathParameters.length > 0 ? pathParametersOf(c) : {}),
    headers: op.readHeaders(headerParameters.length > 0 ? headersOf(op, c) : {}),
  }
}

const headersOf = ({ headerParameters }: Operation, c: HonoContext<Env>): Record<string, string | undefined> =>
  Object.fromEntries(headerParameters.map(({ name }) => [name, c.req.header(name)]))

export const pathParametersOf = (c: HonoContext<Env>): Record<string, string> =>
  Object.fromEntries(Object.entries<string>(c.req.param()).map(([name, text]) => [name, toLookupText(text)]))
