// Full: it calls every method of the SDK and every operation.
import { expect } from 'vitest'
import { samples } from '../../docs/scripts/samples.ts'
import { OPERATOR_TOKEN } from '../support/server.ts'
import { test } from '../support/test.ts'

const all = [...(await samples())]

/** Codes of a request that is itself wrong, rather than about data that the sample leaves open. */
const WRONG = /^(path_unknown|method_not_allowed|invalid_|unknown_property|.*_malformed|.*_missing|.*_required)/

test('operations of users and callers have a sample for curl and the CLI, most also for TypeScript', () => {
  expect(all.length).toBeGreaterThan(100)
  expect(all.filter(([, of]) => of.some(({ lang }) => lang === 'typescript')).length).toBeGreaterThan(80)
})

test.for(all)('the curl sample of %s is a valid request', async ([, of], { server }) => {
  const { source } = of.find(({ label }) => label === 'curl')!
  const filled = source.replaceAll('<digest>', 'a'.repeat(64)).replaceAll(/<\w+>/g, 'x1')
  const [, path = ''] = /"\$REFERRAL_BASE_URL([^"]+)"/.exec(filled) ?? []
  const [, raw] = / -d '(.*)'$/s.exec(filled) ?? []
  const method = / -X (\w+)/.exec(filled)?.[1] ?? (raw ? 'POST' : 'GET')
  const key = path.startsWith('/operator')
    ? OPERATOR_TOKEN
    : path.startsWith('/admin')
      ? server.shop.ownerToken
      : server.shop.key
  const headers = Object.fromEntries(
    [...filled.matchAll(/-H '([^:]+): (.*?)'/g)].map(([, name, value]) => [name, value]),
  )
  const response = await server.request(method, path, { key, raw: raw?.replaceAll("'\\''", "'"), headers })
  expect(response.headers.get('X-Error-Code') ?? '').not.toMatch(WRONG)
})
