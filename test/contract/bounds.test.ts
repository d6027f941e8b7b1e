import { expect, test } from 'vitest'
import { allOperations, deref, document } from '../support/document.ts'

// biome-ignore lint/suspicious/noExplicitAny: the document is walked as plain JSON
type Json = any

/** Values whose bound a schema cannot express, with the place that documents it. */
const SAID_IN_WORDS = new Map([
  ['commissionPercent', 'its bound depends on the type: 400 commission_percent_invalid'],
  ['discountValue', 'its bound depends on the type: 400 discount_value_invalid'],
  ['events', 'event names are not validated, whatever they are'],
  ['events[]', 'event names are not validated, whatever they are'],
  ['noteAttributes[].value', 'a note may hold anything; only the click reference is kept'],
])

/** A pattern that text of any length could match. */
const isOpen = (pattern: string) =>
  !/^\^.*\$$/.test(pattern) || /[*+]|\{\d+,\}/.test(pattern.replaceAll(/\[[^\]]*\]/g, 'x'))

/** The values of a schema that may be of any size, by their paths. */
function unbounded(schema: Json, path = ''): string[] {
  const node = deref(schema)
  if (node.enum || node.const !== undefined) return []
  const types = [node.type].flat()
  const found: string[] = []
  if (types.includes('string') && node.maxLength === undefined && isOpen(node.pattern ?? '')) found.push(path)
  if (types.includes('array') && node.maxItems === undefined) found.push(path)
  const isNumber = types.includes('number') || types.includes('integer')
  if (isNumber && (node.minimum === undefined || node.maximum === undefined)) found.push(path)
  for (const one of node.anyOf ?? []) found.push(...unbounded(one, path))
  if (node.items) found.push(...unbounded(node.items, `${path}[]`))
  for (const [name, one] of Object.entries(node.properties ?? {}))
    found.push(...unbounded(one, path ? `${path}.${name}` : name))
  return [...new Set(found)]
}

// A store sends what it wants; the size of its notification bounds it.
const withBody = allOperations.filter(
  (op) => !op.tags.includes('Store notifications') && document.paths[op.path][op.method.toLowerCase()].requestBody,
)

test.each(withBody.map((op) => [op.id, op] as const))('every value of the body of %s has a bound', (_id, op) => {
  const { schema } = document.paths[op.path][op.method.toLowerCase()].requestBody.content['application/json']
  expect(unbounded(schema).filter((path) => !SAID_IN_WORDS.has(path))).toEqual([])
})

// The size of the request line and the headers bounds their values.
test('every parameter of a query has a bound', () => {
  const wide = allOperations.flatMap((op) =>
    op.parameters
      .filter(({ in: place, schema }) => place === 'query' && unbounded(schema).length > 0)
      .map(({ name }) => `${op.id} ${name}`),
  )
  expect(wide).toEqual([])
})

test('limits that a schema cannot express are in the description', () => {
  const descriptionOf = (id: string) => {
    const op = allOperations.find((one) => one.id === id)!
    return document.paths[op.path][op.method.toLowerCase()].description as string
  }
  expect(document.info.description).toMatch(/1 MiB.*65,000 values.*5,000 different property names.*32 levels.*16 KiB/s)
  expect(descriptionOf('createSession')).toMatch(/10 attempts a minute.*4 KiB/s)
  expect(descriptionOf('createKey')).toContain('20 active keys')
  expect(descriptionOf('createProductRule')).toContain('10,000 product rules')
  expect(descriptionOf('setGeoRule')).toContain('1,000 geo rules')
  expect(descriptionOf('createConnection')).toContain('600 requests per minute')
})
