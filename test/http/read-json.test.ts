import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Selection } from '../../server/src/contract/selection.ts'
import { parseJson } from '../../server/src/http/parse-json.ts'
import { canonicalJson } from '../../server/src/http/parse-request.ts'

/** Keeps every property. */
const ALL: Selection = { maxItems: Number.POSITIVE_INFINITY }
ALL.items = ALL
ALL.others = ALL
const BOUNDS = { depth: 32, values: 65_000, properties: 500 }

const read = (text: string) => parseJson(text, ALL, BOUNDS)
const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

test('reads what JSON.parse reads', () =>
  fc.assert(
    fc.asyncProperty(fc.json(), fc.integer({ min: 0, max: 4 }), async (json, space) => {
      const value = JSON.parse(json)
      // Escapes of what cannot be stored are rejected on purpose.
      fc.pre(!/\\u(0000|d[89a-f])/i.test(json))
      for (const text of [json, JSON.stringify(value, null, space)]) {
        expect(await read(text)).toEqual({ value, canonical: canonicalJson(value), ignored: [] })
      }
    }),
    { numRuns: 500 },
  ))

test('rejects what JSON.parse rejects', () =>
  fc.assert(
    fc.asyncProperty(
      fc.json(),
      fc.nat(),
      fc.constantFrom(...'[]{}",:\\-+.eE01 \t\u0001'),
      async (json, place, extra) => {
        const at = place % (json.length + 1)
        for (const text of [
          json.slice(0, at),
          json.slice(0, at) + extra + json.slice(at),
          json.slice(0, at) + extra + json.slice(at + 1),
        ]) {
          const isRead = await read(text).then(
            () => true,
            ({ code }) => code !== 'invalid_json',
          )
          expect([text, isRead]).toEqual([text, isJson(text)])
        }
      },
    ),
    { numRuns: 1000 },
  ))

test.each([
  '{"__proto__":{"a":1},"b":[{}]}',
  '{"a":1,"b":2,"a":[3]}',
  '{"2":1,"10":2,"b":-0,"c":1e400,"d":1E2,"e":0.1e-7}',
  '"\\ud83d\\ude00\\/\\b\\u00e9\u2028"',
  ' [ ] ',
])('%s as JSON.parse reads it', async (text) => {
  const { value, canonical } = await read(text)
  expect(JSON.stringify(value)).toBe(JSON.stringify(JSON.parse(text)))
  expect(canonical).toBe(canonicalJson(JSON.parse(text)))
})

test('keeps the listed properties, and the first property that is not allowed', async () => {
  const selection: Selection = {
    byName: new Map([
      ['name', { maxItems: 0 }],
      ['items', { items: { maxItems: 0, byName: new Map([['id', { maxItems: 0 }]]) }, maxItems: 2 }],
    ]),
    isClosed: true,
    maxItems: 0,
  }
  const text = '{"x":[1],"items":[{"id":1,"y":2},{"id":[2]},{"id":3}],"y":2,"name":{"z":3}}'
  expect(await parseJson(text, selection, BOUNDS)).toEqual({
    value: { x: [], items: [{ id: 1 }, { id: [] }], name: {} },
    canonical: '{"items":[{"id":1,"y":2},{"id":[2]},{"id":3}],"name":{"z":3},"x":[1],"y":2}',
    ignored: ['items[].y'],
  })
})
