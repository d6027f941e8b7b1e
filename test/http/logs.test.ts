// Full: it starts other processes.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createRateLimiter, LIMITER_OPTIONS } from '../../server/src/http/rate-limit.ts'
import { type RunningServer, startServer } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const folder = temporaryFolder()
const TRACE = '0af7651916cd43dd8448eb211c80319c'
let server: RunningServer
const demo = (name: string) =>
  new RegExp(`^${name}=(.*)$`, 'm').exec(readFileSync(join(folder.path, 'demo.env'), 'utf8'))?.[1] ?? ''
beforeAll(async () => {
  server = await startServer({ REFERRAL_DATA_DIR: folder.path, LOG_LEVEL: 'debug' })
})
afterAll(async () => {
  await server.stop('SIGKILL')
  folder.remove()
})

async function lineOf(path: string, credential: string, headers: Record<string, string> = {}) {
  const requestId = `log-${Math.random()}`
  const sent = { Authorization: `Bearer ${credential}`, 'X-Request-Id': requestId, ...headers }
  await fetch(`${server.url}${path}`, { headers: sent })
  const find = () =>
    server
      .log()
      .split('\n')
      .find((line) => line.includes(requestId))
  await expect.poll(find).toBeDefined()
  return JSON.parse(find()!)
}

test('a line names the shop, the key, the operation and the trace of the caller', async () => {
  const traceparent = `00-${TRACE}-b7ad6b7169203331-01`
  expect(await lineOf('/api/v1/affiliates?q=x', demo('REFERRAL_API_KEY'), { traceparent })).toMatchObject({
    level: 30,
    operation: 'listAffiliates',
    shopId: demo('REFERRAL_SHOP_ID'),
    keyId: expect.stringMatching(/^key_/),
    traceId: TRACE,
    path: '/api/v1/affiliates',
  })
  expect(await lineOf('/admin/v1/settings', demo('REFERRAL_OWNER_TOKEN'))).toMatchObject({
    operation: 'getSettings',
    shopId: demo('REFERRAL_SHOP_ID'),
    userId: expect.stringMatching(/^usr_/),
  })
})

test('a malformed traceparent and an unknown key are omitted', async () => {
  const line = await lineOf('/api/v1/affiliates', 'rk_unknown', {
    traceparent: `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
  })
  expect(Object.keys(line)).not.toEqual(expect.arrayContaining(['traceId']))
  expect(Object.keys(line)).not.toEqual(expect.arrayContaining(['keyId']))
})

test('probes are logged at debug', async () => {
  for (const path of ['/healthz', '/readyz', '/metrics'])
    expect(await lineOf(path, 'none')).toMatchObject({ level: 20 })
})

test('the start names the version', () => {
  const { version } = JSON.parse(readFileSync(new URL('../../server/package.json', import.meta.url), 'utf8'))
  expect(server.log()).toContain(`"version":"${version}"`)
})

test('an outage of the rate limit store is reported once, and its end once', async () => {
  const reports: boolean[] = []
  let isOut = false
  const store = {
    ...LIMITER_OPTIONS,
    consume: async () => {
      if (isOut) throw new Error('connection lost')
      return { consumedPoints: 1, msBeforeNext: 1000 }
    },
  } as never
  const limiter = createRateLimiter({ store, onOutage: (out) => reports.push(out) })
  const ask = async (times: number) => {
    for (let i = 0; i < times; i++) expect((await limiter.consume('key:k', 10)).exceeded).toBe(false)
  }
  await ask(5)
  expect(reports).toEqual([])
  isOut = true
  await ask(20)
  expect(reports).toEqual([true])
  isOut = false
  await expect.poll(() => ask(1).then(() => reports), { timeout: 5000 }).toEqual([true, false])
  await ask(5)
  expect(reports).toEqual([true, false])
})
