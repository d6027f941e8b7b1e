import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { eventNames as sdkEvents } from '../../sdk/src/generated/event-names.ts'
import { availableEvents, emittedEvents, extendedEvents } from '../../server/src/core/event-names.ts'
import { MAX_ACTIVE_KEYS } from '../../server/src/domains/accounts/keys.ts'
import { STORE_LIMIT_FACTOR } from '../../server/src/http/authorize-store.ts'
import { PLAN_LIMITS } from '../../server/src/http/rate-limit.ts'
import { eventNames as verifierEvents } from '../../webhook-verifier/src/event-types.ts'
import { deref, document } from '../support/document.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
// biome-ignore lint/suspicious/noExplicitAny: the document is walked as plain JSON
type Json = any

const lists = (function* listsOf(node: Json): Generator<string[]> {
  if (node === null || typeof node !== 'object') return
  if (Array.isArray(node.enum)) yield node.enum.filter((value: unknown) => typeof value === 'string')
  for (const one of Object.values(node)) yield* listsOf(one)
})(document)
const documented = [...lists, Object.keys(document.webhooks)].filter((list) => list.length > 2)

/** Lists and unions of texts in the source of a package that is published separately from the document. */
function written(): { file: string; texts: string[] }[] {
  const files = globSync('{cli,sdk,webhook-verifier}/src/**/*.ts', { cwd: ROOT })
  return files.flatMap((file) => {
    const source = readFileSync(ROOT + file, 'utf8')
    if (/^(\/\/ (Made|Generated) from|\/\*\*\n \* This file was auto-generated)/.test(source)) return []
    const found = source.matchAll(/\[([^[\]]*)\]|'[\w.:]+'(?:\s*\|\s*'[\w.:]+')+/g)
    return [...found].map(([text]) => ({ file, texts: [...text.matchAll(/'([\w.:]+)'/g)].map(([, one]) => one!) }))
  })
}

test('no package duplicates a list of the document', () => {
  expect(documented.length).toBeGreaterThan(20)
  const kept = written().filter(({ texts }) => documented.some((list) => list.every((one) => texts.includes(one))))
  expect(kept).toEqual([])
})

test('the names of events are those of the document', () => {
  const sent = Object.keys(document.webhooks)
  expect([...emittedEvents, ...extendedEvents, 'test']).toEqual(sent)
  expect([sdkEvents, verifierEvents]).toEqual([sent, sent])
  const { value } = deref({ $ref: '#/components/examples/webhookList' })
  expect([value.emitted_events, value.available_events]).toEqual([emittedEvents, availableEvents])
  expect(value.extended_events).toEqual(extendedEvents)
})

test('the limits of the plans are those of the document', () => {
  const { description } = document.components.securitySchemes.apiKey
  const said = /Professional plan \(([\d,]+) requests a minute\) or the legacy Enterprise plan \(([\d,]+)\)/.exec(
    description.replaceAll(/\s+/g, ' '),
  )
  const [PROFESSIONAL, ENTERPRISE] = said?.slice(1).map((one) => Number(one.replaceAll(',', ''))) ?? []
  expect(PLAN_LIMITS).toEqual({ PROFESSIONAL, ENTERPRISE })
})

test('pages and the document repeat the limits of the server', () => {
  const page = (path: string) => readFileSync(`${ROOT}${path}`, 'utf8')
  const [professional, enterprise] = [PLAN_LIMITS.PROFESSIONAL!, PLAN_LIMITS.ENTERPRISE!]
  const text = (limit: number) => limit.toLocaleString('en-US')
  const stores = [professional, enterprise].map((limit) => text(limit * STORE_LIMIT_FACTOR))
  expect(page('docs/concepts/index.md')).toContain(
    `\`PROFESSIONAL\` allows ${text(professional)} requests per minute and key, the legacy plan \`ENTERPRISE\` ${text(enterprise)}.`,
  )
  expect(page('docs/stores.md')).toContain(
    `At most ${stores[0]} notifications per minute (legacy Enterprise: ${stores[1]})`,
  )
  expect(document.components.securitySchemes.storeSignature.description).toContain(
    `with ${stores[0]} notifications a minute, or the legacy Enterprise plan (${stores[1]})`,
  )
  expect(document.components.schemas.ErrorCode['x-enumDescriptions'].key_limit_reached).toContain(
    `active keys: ${MAX_ACTIVE_KEYS} by default`,
  )
})
