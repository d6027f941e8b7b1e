import { group } from '../check.ts'
import { keyWith } from './auth.ts'

const page = 'concepts/index.md#access'

const numbers = (headers: Headers) =>
  ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'].map((name) =>
    Number(headers.get(name) ?? Number.NaN),
  )

export const limits = group('limits', { title: 'Rate limits', page }, (rule) => {
  rule(
    'plan-limit',
    'X-RateLimit-Limit is a positive number of requests, and X-RateLimit-Reset is at most 60 seconds',
    async (t) => {
      const look = async () => numbers((await t.get('/programs', { limit: 1 })).headers)
      let [limit = Number.NaN, remaining = Number.NaN, reset = Number.NaN] = await look()
      // A busy server may allow requests without counting them for a second or two.
      for (let more = 5; remaining === limit && more > 0; more--) {
        await t.sleep(600)
        ;[limit = Number.NaN, remaining = Number.NaN, reset = Number.NaN] = await look()
      }
      t.ok(limit >= 1, `X-RateLimit-Limit is ${limit}`)
      t.ok(remaining >= 0 && remaining < limit, `X-RateLimit-Remaining is ${remaining} of ${limit}`)
      t.ok(reset >= 0 && reset <= 60, `X-RateLimit-Reset is ${reset}; it is a number of seconds, not a time`)
    },
  )
  rule(
    'remaining-decreases',
    'X-RateLimit-Remaining decreases with each request of a key',
    async (t) => {
      // Another request of this run can take one, and a window can end, but not twice.
      for (let attempt = 1; ; attempt++) {
        const [, first = Number.NaN] = numbers((await t.get('/programs', { limit: 1 }, { key: t.shop.key })).headers)
        const [, second = Number.NaN] = numbers((await t.get('/programs', { limit: 1 }, { key: t.shop.key })).headers)
        if (second < first || first === 0) return
        t.ok(attempt < 2, `it was ${first}, then ${second}`)
      }
    },
    { isExclusive: true },
  )
  rule('unauthorized-has-headers', 'A response of 401 has the rate limit headers', async (t) => {
    const [limit, remaining, reset] = numbers((await t.get('/programs', {}, { key: null })).headers)
    t.ok(
      [limit, remaining, reset].every((value) => Number.isInteger(value)),
      `they are ${[limit, remaining, reset].join(', ')}`,
    )
  })
  rule('docs-has-headers', 'The docs page has the rate limit headers', async (t) => {
    const values = numbers((await t.get('/docs', {}, { key: null })).headers)
    t.ok(
      values.every((value) => Number.isInteger(value)),
      `they are ${values.join(', ')}`,
    )
  })
})

export const ownerLimits = group(
  'key-limits',
  { title: 'Rate limits of a key', page, suite: 'owner', needs: ['owner'], isExclusive: true },
  (rule) => {
    rule(
      '429-after-the-limit',
      'A key gets exactly X-RateLimit-Limit requests per window, then 429 rate_limited with Retry-After',
      async (t) => {
        const { id, secret } = await keyWith(t, ['programs:read'])
        const probe = await t.get('/programs', { limit: 1 }, { key: secret })
        const [limit = 0, , reset = 0] = numbers(probe.headers)
        if (limit > 300) t.skip(`the key may send ${limit} requests`)
        // Enough of the window must be left.
        if (reset < 15) {
          await t.sleep((reset + 0.5) * 1000)
          await t.get('/programs', { limit: 1 }, { key: secret })
        }
        let sent = 1
        let denied = await t.get('/programs', { limit: 1 }, { key: secret })
        while (denied.status === 200 && sent <= limit + 1) {
          sent++
          denied = await t.get('/programs', { limit: 1 }, { key: secret })
        }
        t.expect(denied, 429, 'rate_limited')
        t.equal(sent + 1, limit + 1, 'the request that is rejected')
        const retryAfter = Number(denied.headers.get('Retry-After') ?? Number.NaN)
        t.ok(retryAfter >= 1 && retryAfter <= 60, `Retry-After is ${denied.headers.get('Retry-After')}`)
        t.equal(denied.headers.get('X-RateLimit-Remaining'), '0', 'X-RateLimit-Remaining')
        const other = await keyWith(t, ['programs:read'])
        t.expect(await t.get('/programs', { limit: 1 }, { key: other.secret }), 200)
        for (const key of [id, other.id]) await t.owner('DELETE', `/keys/${key}`)
      },
      { page: 'reference/errors.md#rate_limited' },
    )
  },
)
