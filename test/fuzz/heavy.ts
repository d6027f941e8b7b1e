import { heavyNotifications } from './heavy-store.ts'
import type { FuzzWorld } from './world.ts'

/** Requests as large and as nested as allowed. */
export interface Heavy {
  name: string
  method: string
  path: string
  body?: string
  headers?: Record<string, string>
  /** Another body for each try. */
  fresh?: () => Pick<Heavy, 'body' | 'headers'>
}

const MIB = 1024 * 1024
const fill = (text: string, bytes: number) => text.repeat(Math.floor(bytes / text.length))
const many = (count: number, make: (i: number) => string) => Array.from({ length: count }, (_, i) => make(i)).join(',')

/** A list of 125 objects of 499 properties each, with as many different names as allowed, which take longest to build. */
export const manyNames = (prefix: string) =>
  `[${many(125, (i) => `{${many(499, (j) => `"${prefix}${(499 * i + j) % 4900}":0`)}}`)}]`

const bodies: Record<string, string> = {
  'half a million brackets': `${fill('[', MIB / 2)}${fill(']', MIB / 2)}`,
  '32 levels, many times': `[${many(12_000, () => '[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]')}]`,
  '90,000 properties': `{${many(90_000, (i) => `"p${i}":1`)}}`,
  'one property 100,000 times': `{${many(100_000, () => '"name":1')}}`,
  'a number of a million digits': `{"name":${fill('9', MIB - 100)}}`,
  'a name of a million characters': `{"name":"${fill('ﬃ', MIB - 100)}"}`,
  'a name of escapes': `{"name":"${fill('\\u0130', MIB - 100)}"}`,
  whitespace: `${fill(' \n\t\r', MIB - 100)}{}`,
  '60,000 properties of 4,900 names': `{"name":${manyNames('n')}}`,
  '60,000 unknown properties of 4,900 names': `{"x":${manyNames('u')}}`,
  'one object of 5,000 names': `{${many(4900, (i) => `"o${i}":0`)}}`,
  '20,000 objects of new names': `[${many(20_000, (i) => `{"${i}a":1,"${i}b":1,"${i}c":1}`)}]`,
  'half a list': `[${fill('"x",', MIB - 100)}`,
}

const lines = (make: (i: number) => string) => `{"externalOrderId":"heavy","lineItems":[${many(1000, make)}]}`
const fields = many(60, (i) => `"f${i}":${i}`)
const events: Record<string, string> = {
  '1,000 lines of 60 fields': lines(() => `{"priceCents":100,${fields}}`),
  '60,000 properties of 4,900 names': `{"externalOrderId":"heavy","amountCents":1,"x":${manyNames('e')}}`,
  '1,000 lines': lines((i) => `{"productId":"${i}","variantId":"${i}","quantity":1000000,"priceCents":1}`),
  '1,000 lines without prices': `{"amountCents":2147483647,${lines(() => '{"quantity":999983}').slice(1)}`,
  'an address of many dots': `{"externalOrderId":"heavy","amountCents":1,"customerEmail":"${'a.'.repeat(150)}@${'a.'.repeat(30)}"}`,
  'a time of many digits': `{"externalOrderId":"heavy","amountCents":1,"occurredAt":"2026-10-31T23:59:59.${'9'.repeat(MIB / 2)}Z"}`,
  'many notes': `{"externalOrderId":"heavy","amountCents":1,"noteAttributes":[${many(10_000, (i) => `{"name":"n${i}","value":"referral_click_id"}`)}]}`,
}

const texts: Record<string, string> = {
  'a nearly valid email address': `{"name":"x","email":"${'a@'.repeat(160)}"}`,
  'an email address of whitespace': `{"name":"x","email":"${' '.repeat(50_000)}x"}`,
  'a name of marks': `{"name":"${'a\u0301\u0300'.repeat(66)}","email":"a@b.co"}`,
}

export function heavyRequests(world: FuzzWorld): Heavy[] {
  const post = (path: string, named: Record<string, string>): Heavy[] =>
    Object.entries(named).map(([name, body]) => ({ name, method: 'POST', path, body }))
  return [
    ...post('/api/v1/programs', bodies),
    ...post('/api/v1/affiliates', texts),
    ...post('/api/v1/webhooks', { 'a URL of many labels': `{"url":"https://${'a.'.repeat(1000)}example"}` }),
    ...post('/api/v1/events', events).map((one) => ({ ...one, headers: { 'Idempotency-Key': 'heavy' } })),
    ...heavyNotifications(world),
    { name: '3,000 parameters', method: 'GET', path: `/api/v1/affiliates?${'a=1&'.repeat(3000)}limit=1` },
    { name: 'a search of wildcards', method: 'GET', path: `/api/v1/affiliates?q=${'%25_'.repeat(45)}` },
    {
      name: 'a search of marks',
      method: 'GET',
      path: `/api/v1/affiliates?q=${encodeURIComponent('ﬃ\u0301'.repeat(90))}`,
    },
    { name: 'all of time', method: 'GET', path: '/api/v1/analytics?from=0001-01-01&to=9999-12-31' },
    { name: 'a path of 16 kB', method: 'GET', path: `/api/v1/${'%61/'.repeat(4000)}` },
    { name: 'a cookie of 16 kB', method: 'GET', path: '/api/v1/docs', headers: { Cookie: 'a=b; '.repeat(3000) } },
  ]
}

/**
 * How long the event loop was blocked by a request: the best of several tries, because other work is not caused by the
 * request. The first within `enough` ends the tries.
 */
export async function stallOf(
  { server }: FuzzWorld,
  { method, path, fresh, ...plain }: Heavy,
  { tries, enough = 0 }: { tries: number; enough?: number },
) {
  let best = Number.POSITIVE_INFINITY
  let status = 0
  for (let i = 0; i < tries && best > enough; i++) {
    const { body, headers } = fresh?.() ?? plain
    const request = new Request(`http://test${path}`, {
      method,
      body,
      headers: { Authorization: `Bearer ${server.shop.key}`, ...headers },
    })
    const watch = watchLoop()
    const response = await server.app.fetch(request)
    await response.arrayBuffer()
    best = Math.min(best, await watch())
    status = response.status
  }
  return { ms: best, status }
}

/** The number of event loop iterations during some work. */
export async function turnsOf(work: () => Promise<unknown>): Promise<number> {
  let turns = 0
  let isCounting = true
  const turn = () => {
    turns++
    if (isCounting) setImmediate(turn)
  }
  setImmediate(turn)
  await work()
  isCounting = false
  return turns
}

/** Returns the longest time between two iterations of the event loop since the start. */
function watchLoop(): () => Promise<number> {
  let longest = 0
  let last = performance.now()
  let isWatching = true
  const turn = () => {
    const now = performance.now()
    longest = Math.max(longest, now - last)
    last = now
    if (isWatching) setImmediate(turn)
  }
  setImmediate(turn)
  return async () => {
    await new Promise((done) => setImmediate(done))
    isWatching = false
    turn()
    return longest
  }
}
