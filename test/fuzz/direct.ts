import { type DocumentedOperation, deref, document, wholesOf } from '../support/document.ts'
import type { Call } from './call.ts'

// biome-ignore lint/suspicious/noExplicitAny: the document is walked as plain JSON
type Json = any

/** The parameters that reference a resource of a shop. */
const NAMES = /(^|[a-z])ids?$|code$|^(ref|value|q|email|actor|customerEmail|url)$/i

/** A valid call of an operation for each parameter that may reference something, with each of the ids. */
export function directCalls(op: DocumentedOperation, names: string[]): Call[] {
  const content = document.paths[op.path][op.method.toLowerCase()].requestBody?.content['application/json']
  const body = content && deref(Object.values<Json>(content.examples ?? {})[0] ?? {}).value
  const placed = placesOf(op, content?.schema)
  return placed.flatMap((place) =>
    names.filter((name) => fits(place, name)).map((name) => callWith(op, body, { place, name })),
  )
}

/** A parameter that names its resource gets ids of that kind; any other gets all of them. */
function fits({ name: place }: Place, name: string): boolean {
  if (/affiliateId/i.test(place)) return name.startsWith('aff_')
  if (/program|campaign/i.test(place)) return name.startsWith('prg_')
  return true
}

type Place = { in: 'path' | 'query'; name: string } | { in: 'body'; name: string; isList: boolean }

function placesOf(op: DocumentedOperation, schema: Json): Place[] {
  const parameters = op.parameters.filter(
    ({ in: place, name }) => place === 'path' || (place === 'query' && NAMES.test(name)),
  )
  const alternatives: Json[] = schema ? wholesOf(schema) : []
  const properties = new Map<string, Json>(alternatives.flatMap((one) => Object.entries(one.properties ?? {})))
  const inBody = [...properties].filter(([name]) => NAMES.test(name))
  return [
    ...parameters.map(({ in: place, name }) => ({ in: place as 'path' | 'query', name })),
    ...inBody.map(([name, one]) => ({ in: 'body' as const, name, isList: [deref(one).type].flat().includes('array') })),
  ]
}

function callWith(op: DocumentedOperation, example: Json, { place, name }: { place: Place; name: string }): Call {
  // Any other value is used unchanged: another shop has none of them.
  const path = op.path.replace(/\{(\w+)\}/g, (_, one) =>
    encodeURIComponent(place.in === 'path' && place.name === one ? name : 'none'),
  )
  const given = place.in === 'body' ? { ...example, [place.name]: place.isList ? [name] : name } : example
  const needed = op.parameters.filter((one) => one.in === 'query' && one.required && one.name !== place.name)
  const query = needed.map((one): [string, string] => [one.name, one.name === 'action' ? 'pay' : 'none'])
  return {
    path,
    query: place.in === 'query' ? [...query, [place.name, name]] : query,
    headers: op.id === 'recordEvent' ? { 'Idempotency-Key': crypto.randomUUID() } : {},
    credential: 'foreign',
    body: given === undefined ? undefined : JSON.stringify(given),
  }
}
