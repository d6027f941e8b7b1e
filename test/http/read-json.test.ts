import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Selection } from '../../server/src/contract/selection.ts'
import { canonicalJson, parseBody } from '../../server/src/http/parse-request.ts'

/** Keeps every property. */
const ALL: Selection = { maxItems: Number.POSITIVE_INFINITY }
ALL.items = ALL
ALL.others = ALL

const read = (text: string, selection = ALL) => parseBody(Buffer.from(text), selection)

test('reads what JSON.parse reads', () =>
  fc.assert(
    fc.asyncProperty(fc.json(), async (json) => {
      // Escapes of what cannot be stored are rejected on purpose.
      fc.pre(!/\\u(0000|d[89a-f])/i.test(json))
      const value = JSON.parse(json)
      expect(await read(json)).toEqual({ all: value, value, ignored: [] })
    }),
  ))

test.each([
  ['{"__proto__":{"a":1},"b":[{}]}', '{"__proto__":{"a":1},"b":[{}]}'],
  ['{ "b": -0, "a": 1E2, "10": 1, "2": "\\u00e9\u2028" }', '{"10":1,"2":"é\u2028","a":100,"b":0}'],
])('the canonical text of %s', async (text, canonical) => {
  const { all, value } = await read(text)
  expect([canonicalJson(all), canonicalJson(value)]).toEqual([canonical, canonical])
})

test.each([
  ['5,001 names', `{${Array.from({ length: 5001 }, (_, i) => `"${i}":1`)}}`],
  ['33 levels', `${'['.repeat(33)}${']'.repeat(33)}`],
  ['65,001 values', `[${'1,'.repeat(64_999)}1]`],
])('rejects %s, and reads one less', async (_, text) => {
  await expect(read(text)).rejects.toMatchObject({ code: 'invalid_body' })
  const less = text.startsWith('[[') ? text.slice(1, -1) : text.replace(/^(.)[^,]*,/, '$1')
  expect((await read(less)).all).toEqual(JSON.parse(less))
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
  expect(await read(text, selection)).toEqual({
    all: JSON.parse(text),
    value: { x: [], items: [{ id: 1 }, { id: [] }], name: {} },
    ignored: ['items[].y'],
  })
})
