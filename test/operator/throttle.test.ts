import { expect } from 'vitest'
import { operate } from '../support/operator.ts'
import { OPERATOR_TOKEN, type Reply, type TestServer } from '../support/server.ts'
import { testWithNewShop } from '../support/test.ts'

const test = testWithNewShop.extend('options', { scope: 'file' }, { limited: true, config: { trustProxy: 1 } })

const LIMIT = 10
const codeOf = ({ status, headers }: Reply) => [status, headers.get('X-Error-Code')]
const guess = (server: TestServer, from: string, key = 'a-token-that-is-not-that-of-the-operator') =>
  server.request('GET', '/operator/v1/shops', { key, headers: { 'X-Forwarded-For': from } })

test('an address may send 10 unknown tokens per minute; the right token and other addresses are not affected', async ({
  server,
}) => {
  for (let i = 0; i < LIMIT; i++)
    expect(codeOf(await guess(server, '192.0.2.1', `${i}`.padEnd(40, 'x')))).toEqual([403, 'operator_token_unknown'])
  const refused = await guess(server, '192.0.2.1')
  expect(codeOf(refused)).toEqual([429, 'operator_throttled'])
  const seconds = Number(refused.headers.get('Retry-After'))
  expect([seconds > 0, seconds <= 60]).toEqual([true, true])
  expect((await guess(server, '192.0.2.1', OPERATOR_TOKEN)).status).toBe(200)
  expect(codeOf(await guess(server, '192.0.2.2'))).toEqual([403, 'operator_token_unknown'])
  // One network of IPv6 is one caller.
  for (let i = 0; i < LIMIT; i++) await guess(server, `2001:db8::${i + 1}`)
  expect(codeOf(await guess(server, '2001:db8::ffff'))).toEqual([429, 'operator_throttled'])
})

test('requests with the right token are not limited', async ({ server }) => {
  const statuses = await Promise.all(Array.from({ length: 150 }, () => operate(server, 'GET', '/shops?limit=1')))
  expect(new Set(statuses.map(({ status }) => status))).toEqual(new Set([200]))
})

test('guesses that arrive together are counted, too', async ({ server }) => {
  const replies = await Promise.all(Array.from({ length: 40 }, () => guess(server, '192.0.2.9')))
  expect(replies.filter(({ status }) => status === 403)).toHaveLength(LIMIT)
})
