import fc from 'fast-check'
import { composed, deref } from '../support/document.ts'
import { hostileValue } from './hostile.ts'

// biome-ignore lint/suspicious/noExplicitAny: the document is walked as plain JSON
type Schema = any

export interface Known {
  /** Ids and names that exist in the shop, in another shop, or nowhere. */
  ids: string[]
}

const INSTANTS = [
  '2026-10-01',
  '2026-10-31T23:59:59.999Z',
  '2026-10-20T15:04:05+02:00',
  '2026-11-02T12:00:00.000Z',
  '1999-12-31',
]

/** Values of a schema, most of them valid; one in eight must be rejected. */
export function fromSchema(schema: Schema, known: Known, name = ''): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 7, arbitrary: right(deref(schema), known, name) }, { weight: 1, arbitrary: hostileValue })
}

function right(schema: Schema, known: Known, name: string): fc.Arbitrary<unknown> {
  const { whole, choices } = composed(schema)
  if (choices.length > 0) return chosen(objects(whole, known), choices, known)
  if ('const' in schema) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...schema.enum)
  const alternatives: Schema[] = schema.anyOf ?? schema.allOf
  if (alternatives) return fc.oneof(...alternatives.map((one) => right(deref(one), known, name)))
  return fc.oneof(...[schema.type ?? 'object'].flat().map((type: string) => ofType(type, schema, known, name)))
}

function ofType(type: string, schema: Schema, known: Known, name: string): fc.Arbitrary<unknown> {
  switch (type) {
    case 'null':
      return fc.constant(null)
    case 'boolean':
      return fc.boolean()
    case 'integer':
    case 'number':
      return numbers(type, schema)
    case 'array': {
      const { minItems = 0, maxItems = 5 } = schema
      return fc.array(fromSchema(schema.items ?? {}, known, name), {
        minLength: minItems,
        maxLength: Math.min(maxItems, 4),
      })
    }
    case 'string':
      return texts(schema, known, name)
    default:
      return objects(schema, known)
  }
}

function numbers(type: string, { minimum = 0, maximum = 2_147_483_647 }: Schema): fc.Arbitrary<number> {
  const edges = [minimum, maximum, minimum - 1, maximum + 1]
  const inside =
    type === 'integer'
      ? fc.integer({ min: minimum, max: Math.min(maximum, 1_000_000) })
      : fc.double({ min: minimum, max: Math.min(maximum, 200), noNaN: true })
  return fc.oneof({ weight: 5, arbitrary: inside }, { weight: 1, arbitrary: fc.constantFrom(...edges) })
}

function texts({ pattern = '', format, minLength = 0, maxLength = 100 }: Schema, { ids }: Known, name: string) {
  if (format === 'instant' || format === 'date-time' || format === 'date') return fc.constantFrom(...INSTANTS)
  if (pattern.includes('A-Z')) return fc.constantFrom('USD', 'EUR', 'JPY')
  if (pattern.includes('@')) return fc.constantFrom('a@b.co', ' Nisa@Example.com ', 'x+y@example.com', 'ü@ü.example')
  if (pattern.includes('.][0-9]')) return fc.constantFrom('0', '12.50', '999999999.9999')
  if (/url$/i.test(name)) return fc.constantFrom('https://hooks.example.com/x', 'https://8.8.8.8/', 'http://127.0.0.1/')
  const free = fc.string({ unit: 'grapheme', minLength: Math.min(minLength, 3), maxLength: Math.min(maxLength, 30) })
  const long = fc.constantFrom('x'.repeat(maxLength), 'é'.repeat(maxLength), 'x'.repeat(maxLength + 1))
  const named = fc.constantFrom(...ids)
  const isName = /id|ids|code|ref|value|email/i.test(name)
  return fc.oneof(
    { weight: isName ? 6 : 1, arbitrary: named },
    { weight: 4, arbitrary: free },
    { weight: 1, arbitrary: long },
  )
}

function objects(schema: Schema, known: Known): fc.Arbitrary<unknown> {
  const shape = Object.fromEntries(
    Object.entries<Schema>(schema.properties ?? {}).map(([key, one]) => [key, fromSchema(one, known, key)]),
  )
  const whole = fc.record(shape, { requiredKeys: (schema.required ?? []).filter((key: string) => key in shape) })
  const maimed = fc.record(shape, { requiredKeys: [] })
  const grown = fc
    .tuple(whole, fc.string({ maxLength: 8 }), hostileValue)
    .map(([one, key, value]) => ({ ...one, [key]: value }))
  return fc.oneof({ weight: 6, arbitrary: whole }, { weight: 1, arbitrary: maimed }, { weight: 1, arbitrary: grown })
}

/** An object with one of the fields of each choice: what `whole` lacks of it is added. */
function chosen(whole: fc.Arbitrary<unknown>, choices: Schema[], known: Known): fc.Arbitrary<unknown> {
  const picks = choices.map(({ anyOf }) => fc.oneof(...anyOf.map((one: Schema) => objects(one, known))))
  return fc
    .tuple(whole, ...picks)
    .map(([given, ...added]) => (given && typeof given === 'object' ? Object.assign({ ...given }, ...added) : given))
}
