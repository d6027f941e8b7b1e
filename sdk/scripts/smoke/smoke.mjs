// Uses the package with Web APIs only. The module is a parameter, so that it can be imported or required.
const assert = (condition, what) => {
  if (!condition) throw new Error(`failed: ${what}`)
}

/** A fake server: rate limits the first request, then lists and records. */
const fakeServer = () => {
  const seen = []
  const fetch = async (request) => {
    const body = request.method === 'POST' ? await request.json() : undefined
    seen.push({ method: request.method, url: request.url, key: request.headers.get('idempotency-key'), body })
    if (seen.length === 1)
      return Response.json(
        { error: 'Wait.' },
        { status: 429, headers: { 'X-RateLimit-Reset': '0', 'X-Error-Code': 'rate_limited' } },
      )
    if (request.url.includes('/coupons'))
      return Response.json({ error: 'Gone.' }, { status: 404, headers: { 'X-Error-Code': 'affiliate_not_found' } })
    if (request.method === 'POST')
      return Response.json({ attribution: {}, commission: { id: 'com_1' } }, { status: 201 })
    const page = Number(new URL(request.url).searchParams.get('page') ?? 1)
    return Response.json({ data: [{ id: `aff_${page}` }], pagination: { page, limit: 1, total: 2, totalPages: 2 } })
  }
  return { seen, fetch }
}

export const smoke = async ({ createReferralClient, createCore, affiliates, NotFoundError, isKnownEvent }) => {
  const { seen, fetch } = fakeServer()
  const options = { apiKey: 'rk_test', baseUrl: 'https://api.example', fetch, dangerouslyAllowBrowser: true }
  const client = createReferralClient(options)

  const rows = []
  for await (const { id } of client.affiliates.list({ limit: 1 })) rows.push(id)
  assert(rows.join() === 'aff_1,aff_2' && seen.length === 3, 'a list, after a retry')

  const order = { externalOrderId: '1001', amountCents: 100 }
  const { commission } = await client.events.conversion(order)
  await client.events.conversion(order)
  assert(
    commission.id === 'com_1' && /^order-[0-9a-f]{64}$/.test(seen[3].key) && seen[3].key === seen[4].key,
    'an order',
  )

  const { error } = await client.coupons.assign({ affiliateId: 'aff_9' }).safe()
  assert(
    error instanceof NotFoundError && error.code === 'affiliate_not_found' && error.message === 'Gone.',
    'an error',
  )

  const slow = createReferralClient({ ...options, timeoutMs: 5, maxRetries: 0, fetch: () => new Promise(() => {}) })
  assert((await slow.analytics.get().safe()).error.name === 'TimeoutError', 'a timeout')
  const aborted = AbortSignal.abort(new Error('enough'))
  assert((await client.analytics.get({}, { signal: aborted }).safe()).error.name === 'AbortedError', 'an abort')

  assert((await client.GET('/api/v1/affiliates')).data.data.length === 1, 'a raw call')
  assert((await affiliates(createCore(options)).list().page(2)).data[0].id === 'aff_2', 'one resource')
  assert(isKnownEvent({ event: 'test' }) && !isKnownEvent({ event: 'later' }), 'an event')
}
