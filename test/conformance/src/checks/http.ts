import { randomUUID } from 'node:crypto'
import { type Define, group } from '../check.ts'
import type { Context, Json } from '../context.ts'
import { after } from '../context.ts'

const ERRORS = 'reference/errors.md'

const CLOSED: Record<string, (t: Context) => Promise<[string, Json]>> = {
  affiliates: async (t) => ['/affiliates', { email: t.email(), name: 'A', nickname: 'x' }],
  programs: async (t) => ['/programs', { name: t.id('Program'), nickname: 'x' }],
  payouts: async () => [
    '/payouts',
    { periodStart: '1990-01-01', periodEnd: '1990-01-02', nickname: 'x', dryRun: true },
  ],
  coupons: async (t) => ['/coupons', { affiliateId: (await t.sharedAffiliate()).id, nickname: 'x' }],
}

export const http = group(
  'http',
  { title: 'Requests and responses', page: 'concepts/index.md#conventions' },
  (rule) => {
    rule('request-id-is-echoed', 'A sane X-Request-Id of the request is returned', async (t) => {
      const id = t.id('request')
      const { headers } = await t.get('/affiliates', { limit: 1 }, { headers: { 'X-Request-Id': id } })
      t.equal(headers.get('X-Request-Id'), id, 'X-Request-Id')
    })
    rule('request-id-is-new', 'Two requests without X-Request-Id get different ones', async (t) => {
      const ids = await t.together(2, () => t.get('/programs', { limit: 1 }))
      const [a, b] = ids.map(({ headers }) => headers.get('X-Request-Id'))
      t.ok(a && b && a !== b, `both are ${a}`)
    })
    rule(
      'unknown-path',
      'An unknown path returns 404 path_unknown',
      async (t) => void t.expect(await t.get('/nothing-here'), 404, 'path_unknown'),
      { page: `${ERRORS}#path_unknown` },
    )
    rule(
      'id-is-no-path',
      'An id in the path of /api/v1 is an unknown path; ids are query parameters',
      async (t) => {
        const { id } = await t.sharedAffiliate()
        t.expect(await t.delete(`/affiliates/${id}`), 404, 'path_unknown')
      },
      { page: `${ERRORS}#path_unknown` },
    )
    methods(rule)
    bodies(rule)
    rule('unknown-query', 'Unknown query parameters are ignored', async (t) => {
      t.expect(await t.get('/affiliates', { limit: 1, colour: 'red' }), 200)
    })
    rule('shop', 'GET /api/v1/shop has the currency and the time zone of the shop', async (t) => {
      const { currency, timeZone } = t.expect(await t.get('/shop'), 200).data
      t.ok(/^[A-Z]{3}$/.test(currency) && timeZone, `the currency is ${currency}, the time zone ${timeZone}`)
    })
    rule('docs-without-key', 'GET /api/v1/docs returns an HTML page without a credential', async (t) => {
      const reply = await t.get('/docs', {}, { key: null })
      t.expect(reply, 200)
      t.ok(/^text\/html/.test(reply.headers.get('Content-Type') ?? ''), 'Content-Type must be text/html')
    })
    rule('docs-with-wrong-key', 'GET /api/v1/docs returns 200 whatever the credential is', async (t) => {
      t.expect(await t.get('/docs', {}, { key: 'wrong' }), 200)
      t.expect(await t.get('/docs', {}, { key: null, headers: { Authorization: 'Basic x' } }), 200)
    })
    rule('docs-names-every-path', 'The docs page describes every resource, including events and journey', async (t) => {
      const { text } = await t.get('/docs', {}, { key: null })
      for (const name of [
        'affiliates',
        'programs',
        'commissions',
        'payouts',
        'coupons',
        'analytics',
        'journey',
        'webhooks',
        'events',
      ])
        t.ok(text.includes(`/api/v1/${name}`), `the page does not contain /api/v1/${name}`)
    })
    dates(rule)
  },
)

function methods(rule: Define): void {
  const page = `${ERRORS}#method_not_allowed`
  rule(
    'events-accept-post-only',
    'GET /api/v1/events returns 405 with Allow: POST',
    async (t) => {
      const reply = await t.get('/events')
      t.expect(reply, 405, 'method_not_allowed')
      t.equal(allowed(reply.headers), ['POST'], 'Allow')
    },
    { page },
  )
  rule(
    'commissions-are-read-only',
    'No method writes commissions: POST, PATCH and DELETE return 405',
    async (t) => {
      for (const method of ['POST', 'PATCH', 'DELETE']) {
        const reply = await t.call(method, '/api/v1/commissions', { body: {} })
        t.expect(reply, 405, 'method_not_allowed')
        t.ok(allowed(reply.headers).includes('GET'), 'Allow must contain GET')
      }
    },
    { page },
  )
  rule(
    'allow-lists-every-method',
    'Allow of a 405 lists the methods of the path',
    async (t) => {
      const reply = await t.call('PUT', '/api/v1/affiliates', { body: {} })
      t.expect(reply, 405, 'method_not_allowed')
      for (const method of ['GET', 'POST', 'PATCH', 'DELETE'])
        t.ok(allowed(reply.headers).includes(method), `Allow must contain ${method}`)
    },
    { page },
  )
}

const allowed = (headers: Headers) =>
  (headers.get('Allow') ?? '')
    .split(',')
    .map((method) => method.trim())
    .filter((method) => method && !/^(HEAD|OPTIONS)$/.test(method))

function bodies(rule: Define): void {
  rule(
    'invalid-json',
    'A body that is not JSON returns 400 invalid_json',
    async (t) => {
      t.expect(await t.post('/affiliates', undefined, { raw: '{"email": ' }), 400, 'invalid_json')
    },
    { page: `${ERRORS}#invalid_json` },
  )
  rule(
    'body-must-be-object',
    'A body that is not an object returns 400',
    async (t) => {
      for (const raw of ['[]', '"text"', '1', 'null']) t.expect(await t.post('/programs', undefined, { raw }), 400)
    },
    { page: `${ERRORS}#invalid_body` },
  )
  rule(
    'empty-body',
    'An empty body where one is required returns 400',
    async (t) => {
      t.expect(await t.post('/affiliates', undefined, { raw: '' }), 400)
    },
    { page: `${ERRORS}#invalid_body` },
  )
  rule(
    'content-type-is-ignored',
    'The bytes decide whether a body is JSON, whatever the content type',
    async (t) => {
      const raw = JSON.stringify({ name: t.id('Program') })
      t.expect(await t.post('/programs', undefined, { raw, headers: { 'Content-Type': 'text/plain' } }), 201)
    },
    { page: `${ERRORS}#invalid_json` },
  )
  rule(
    'body-limit',
    'A body of more than 1 MiB returns 400 body_too_large',
    async (t) => {
      const raw = JSON.stringify({ name: 'x', description: 'y'.repeat(1_048_577) })
      t.expect(await t.post('/programs', undefined, { raw }), 400, 'body_too_large')
    },
    { page: `${ERRORS}#body_too_large` },
  )
  rule(
    'body-below-limit',
    'A body of just below 1 MiB is read',
    async (t) => {
      const raw = JSON.stringify({
        type: 'page_view',
        url: 'https://shop.example/',
        sessionId: t.id('s'),
        extra: 'y'.repeat(1_040_000),
      })
      t.expect(await t.post('/events', undefined, { raw }), 202)
    },
    { page: `${ERRORS}#body_too_large` },
  )
  for (const [name, bodyOf] of Object.entries(CLOSED))
    rule(
      `unknown-property-of-${name}`,
      `An unknown property of ${name} returns 400 that names it`,
      async (t) => {
        const [path, body] = await bodyOf(t)
        const reply = await t.post(path, body)
        t.expect(reply, 400, 'unknown_property')
        t.ok(String(reply.body.error).includes('nickname'), `the error does not name the property: ${reply.body.error}`)
      },
      { page: `${ERRORS}#unknown_property` },
    )
  rule(
    'unknown-property-on-patch',
    'An unknown property of a PATCH returns 400 and changes nothing',
    async (t) => {
      const program = await t.program()
      t.expect(await t.patch(`/programs?id=${program.id}`, { name: 'Changed', nickname: 'x' }), 400, 'unknown_property')
      const { data } = t.expect(await t.get('/programs', { limit: 100 }), 200)
      const found = data.find(({ id }: Json) => id === program.id)
      t.equal(found?.name, program.name, 'name')
    },
    { page: `${ERRORS}#unknown_property` },
  )
  rule('events-tolerate-unknown-properties', 'Unknown properties of events are ignored, and listed', async (t) => {
    const view = { type: 'page_view', url: 'https://shop.example/', storePayload: { a: 1 }, couponCode: 'x' }
    const order = {
      externalOrderId: t.id('o'),
      amountCents: 1,
      source_name: 'web',
      'größe, ⚖': 1,
      lineItems: [{ color: 'red', options: { size: 1 } }, { color: 'blue' }],
      shipping: { country: 'US', discountCents: 1 },
    }
    const names = ['source_name', 'gr%C3%B6%C3%9Fe%2C%20%E2%9A%96', 'lineItems[].color', 'lineItems[].options']
    const options = { headers: { 'Idempotency-Key': randomUUID() } }
    for (const [body, status, ignored] of [
      [view, 202, 'storePayload, couponCode'],
      [order, 201, [...names, 'shipping.discountCents'].join(', ')],
      [order, 201, [...names, 'shipping.discountCents'].join(', ')],
    ] as const) {
      const reply = await t.post('/events', body, body === order ? options : {})
      t.expect(reply, status)
      t.equal(reply.headers.get('X-Ignored-Properties'), ignored, 'X-Ignored-Properties')
    }
  })
  rule(
    'misspelled-properties',
    'A misspelled property of an event or a webhook returns 400',
    async (t) => {
      for (const body of [{ Url: 'x' }, { landing_page: 'x' }, { sessionID: 'x' }, { referrer_url: 'x' }, { rf: 'x' }])
        t.expect(await t.post('/events', { type: 'click', ref: 'x', ...body }), 400, 'unknown_property')
      const event = { url: 'https://nobody.conformance.example/', event: ['commission.created'] }
      t.expect(await t.post('/webhooks', event), 400, 'unknown_property')
    },
    { page: `${ERRORS}#unknown_property` },
  )
  rule(
    'no-nul',
    'Text with U+0000 returns 400',
    async (t) => {
      t.expect(await t.post('/programs', { name: 'a\u0000b' }), 400)
    },
    { page: `${ERRORS}#invalid_body` },
  )
  rule(
    'no-lone-surrogate',
    'Text with a lone surrogate returns 400',
    async (t) => {
      t.expect(await t.post('/programs', undefined, { raw: '{"name":"a\\ud800b"}' }), 400)
    },
    { page: `${ERRORS}#invalid_body` },
  )
  rule('text-is-kept', 'Names in every script are returned as sent', async (t) => {
    const name = 'Zoë 李 👩‍🚀 ‮abc'
    const { data } = t.expect(await t.post('/programs', { name }), 201)
    t.equal(data.name, name, 'name')
  })
}

function dates(rule: Define): void {
  rule(
    'timestamp-needs-offset',
    'A timestamp without an offset returns 400',
    async (t) => {
      t.expect(await t.get('/commissions', { from: '2026-10-01T00:00:00' }), 400, 'invalid_parameter')
    },
    { page: `${ERRORS}#invalid_parameter` },
  )
  rule(
    'impossible-date',
    'A date that does not exist returns 400',
    async (t) => {
      t.expect(await t.get('/commissions', { from: '2026-02-30' }), 400, 'invalid_parameter')
    },
    { page: `${ERRORS}#invalid_parameter` },
  )
  rule('date-is-midnight', 'A date alone is midnight UTC: `to` ends at the first instant of that day', async (t) => {
    const affiliate = await t.affiliate()
    const day = t.day()
    const order = { amountCents: 1000, couponCode: affiliate.discountCode }
    const [first, second] = [t.id('first'), t.id('second')]
    await t.order({ ...order, externalOrderId: first, occurredAt: day })
    await t.order({ ...order, externalOrderId: second, occurredAt: after(day, 1) })
    const date = day.slice(0, 10)
    const { data } = t.expect(await t.get('/commissions', { affiliateId: affiliate.id, from: date, to: date }), 200)
    t.equal(
      data.map((json: Json) => json.externalOrderId),
      [first],
      'orders from and to that date',
    )
  })
  rule('offsets-are-converted', 'Times are returned in UTC', async (t) => {
    const { discountCode } = await t.sharedAffiliate()
    const externalOrderId = t.id('o')
    await t.order({
      externalOrderId,
      amountCents: 100,
      couponCode: discountCode,
      occurredAt: '2001-05-06T09:08:07+02:00',
    })
    t.equal((await t.commissionOf(externalOrderId)).happenedAt, '2001-05-06T07:08:07.000Z', 'happenedAt')
  })
}

const ALWAYS: [name: string, rule: string, problem: string, page?: string][] = [
  ['request-id', 'Every response has X-Request-Id', 'request-id'],
  [
    'rate-limit-headers',
    'Every response of /api/v1 has X-RateLimit-Limit, -Remaining and -Reset as integers',
    'rate-limit-headers',
    'concepts/index.md#access',
  ],
  ['error-body', 'The body of every error is exactly { "error": "<message>" }', 'error-body', ERRORS],
  ['error-code', 'Every error has a snake_case X-Error-Code', 'error-code', ERRORS],
  ['timestamps', 'Every timestamp is ISO 8601 in UTC with milliseconds', 'timestamps'],
  [
    'no-server-error',
    'No request of this run returned a 5xx other than 503',
    'server-error',
    `${ERRORS}#internal_error`,
  ],
]

/** Rules about every response. They run last. */
export const always = group(
  'always',
  { title: 'Every response', page: 'concepts/index.md#conventions', isExclusive: true },
  (rule) => {
    for (const [name, sentence, problem, page] of ALWAYS)
      rule(
        name,
        sentence,
        async (t) => {
          if (!t.seen.responses || (problem.startsWith('error') && !t.seen.errors))
            t.skip('no such response was received')
          const found = t.seen.problems.get(problem)
          t.ok(found === undefined, String(found))
        },
        page ? { page } : {},
      )
  },
)
