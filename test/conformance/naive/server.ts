// A server as one might write it in an afternoon: it looks right, and breaks the contract in the usual ways. It has no
// idempotency and no locks, computes money in floats, shares codes among shops, sends webhooks before it stores anything,
// validates little, and forgets headers. The conformance suite must notice.
import { createHmac, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

// biome-ignore lint/suspicious/noExplicitAny: it has no types either
type Json = any

/** Further defects, each of which can be switched on. */
export type Defect = 'fails-with-the-receiver' | 'never-retries' | 'sends-to-deleted' | (string & {})

export interface NaiveServer {
  url: string
  /** Keys of two shops, and the token of the owner of the first. */
  keys: [string, string]
  ownerToken: string
  close: () => Promise<void>
}

class Problem extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export async function startNaiveServer(defects: readonly Defect[] = []): Promise<NaiveServer> {
  const has = (defect: Defect) => defects.includes(defect)
  const keys: Json = { rk_one: { shop: 'one' }, rk_two: { shop: 'two' } }
  const rows: Record<string, Json[]> = {
    affiliates: [],
    programs: [],
    commissions: [],
    payouts: [],
    webhooks: [],
    clicks: [],
    keys: [],
    connections: [],
    productRules: [],
    audit: [],
  }
  const settings: Json = {
    shopId: 'one',
    name: 'Shop',
    plan: 'PROFESSIONAL',
    currency: 'USD',
    minimumPayoutCents: null,
    taxWithholdingBps: 0,
    clickTouch: 'LAST',
    apiEnabled: true,
  }
  let count = 0
  const id = (kind: string) => `${kind}_${++count}`
  const now = () => new Date().toISOString()
  const find = (kind: string, one: Json) => rows[kind]!.find((row) => row.id === one)
  const need = (kind: string, one: Json) => {
    const row = find(kind, one)
    if (!row) throw new Problem(404, 'not found')
    return row
  }

  async function send(event: string, data: Json): Promise<void> {
    for (const { url, secret, events } of rows.webhooks!) {
      if (events.length && !events.includes(event)) continue
      const body = JSON.stringify({ event, timestamp: now(), shop_id: 'one', data })
      const signature = secret ? createHmac('sha1', secret).update(body).digest('hex') : 'none'
      const headers = { 'Content-Type': 'text/plain', 'X-Service-Event': 'event', 'X-Service-Signature': signature }
      // Nothing resolves below .example, and a resolver may take seconds to say so.
      if (new URL(url, 'http://localhost').hostname.endsWith('.example')) continue
      const attempt = () =>
        fetch(url, { method: 'POST', headers, body }).then(
          (response) => response.ok,
          () => false,
        )
      // Tries again at once.
      if (await attempt()) continue
      if (has('fails-with-the-receiver')) throw new Problem(500, 'the receiver failed')
      if (!has('never-retries')) void attempt()
    }
  }

  const programRow = (body: Json) => {
    const { commissionType = 'PERCENT_OF_SALE', commissionPercent = 16 } = body
    return {
      id: id('prg'),
      name: body.name,
      description: body.description ?? null,
      commissionType,
      commissionPercent,
      defaultCommissionBps: commissionPercent * 100,
      cookieDurationDays: body.cookieDurationDays ?? 30,
      autoApproveAffiliate: body.autoApproveAffiliate ?? false,
      autoApproveOrder: body.autoApproveOrder ?? false,
      status: body.status ?? 'PUBLISH',
      lifetimeCommission: false,
      discountEnabled: false,
      isDefault: true,
      createdAt: now(),
      updatedAt: now(),
    }
  }
  // A run requires a default program of the shop.
  rows.programs!.push(programRow({ name: 'Friends' }))
  const code = () => Math.random().toString(36).slice(2, 8).toUpperCase()

  function createAffiliate(body: Json): Json {
    if (!body.email) throw new Problem(400, 'email is required')
    const program = find('programs', body.campaignId)
    const affiliate = {
      id: id('aff'),
      name: body.name ?? body.firstName,
      firstName: body.firstName,
      lastName: body.lastName,
      email: body.email,
      status: program?.autoApproveAffiliate ? 'APPROVED' : 'PENDING',
      campaignId: body.campaignId,
      slug: String(body.name).toLowerCase().replace(/\W+/g, '-'),
      discountCode: code(),
      createdAt: now(),
      updatedAt: now(),
    }
    rows.affiliates!.push(affiliate)
    return affiliate
  }

  function winnerOf(body: Json): [Json, string, string, number] {
    const byCode = rows.affiliates!.find((one) =>
      [one.discountCode, one.slug].includes(body.couponCode ?? body.affiliateCode),
    )
    if (byCode) return [byCode, 'COUPON', 'COUPON_MATCH', 1]
    const click = rows.clicks!.find(
      (one) => one.id === body.clickId || (body.sessionId && one.sessionId === body.sessionId),
    )
    const byClick = click && rows.affiliates!.find((one) => one.slug === click.ref || one.id === click.affiliateId)
    if (byClick) return [byClick, 'DIRECT_LINK', 'CLICK_MATCH', 1]
    const byRef = rows.affiliates!.find((one) => one.slug === body.ref)
    if (byRef) return [byRef, 'DIRECT_LINK', 'REF_MATCH', 1]
    return [undefined, '', 'NO_MATCH', 0]
  }

  async function convert(body: Json, dryRun: boolean): Promise<Json> {
    if (!body.externalOrderId) throw new Problem(400, 'externalOrderId is required')
    const [affiliate, method, reasonCode, confidence] = winnerOf(body)
    const program = find('programs', affiliate?.campaignId)
    const subtotal =
      body.amountCents ?? (body.lineItems ?? []).reduce((sum: number, one: Json) => sum + one.priceCents, 0)
    // Money in floats.
    const amount =
      program?.commissionType === 'PERCENT_OF_SALE'
        ? (subtotal / 100) * program.commissionPercent
        : (program?.commissionPercent ?? 0) * 100
    const row = {
      id: id('com'),
      affiliateId: affiliate?.id,
      programId: program?.id,
      externalOrderId: body.externalOrderId,
      orderId: body.externalOrderId,
      currency: body.currency ?? 'USD',
      orderStatus: 'APPROVED',
      commissionAmountCents: amount,
      orderSubtotalCents: subtotal,
      attributionMethod: method,
      happenedAt: body.occurredAt ?? now(),
      createdAt: now(),
    }
    if (!dryRun) {
      await send('commission.created', row)
      // The order is stored once the webhooks were sent.
      await new Promise((done) => setTimeout(done, 5))
      rows.commissions!.push(row)
    }
    return {
      dryRun,
      attribution: { affiliateId: affiliate?.id ?? null, method, confidence, reasonCode },
      commission: {
        id: row.id,
        eligible: true,
        affiliateId: affiliate?.id ?? null,
        amountCents: amount,
        status: 'APPROVED',
        restrictionReasonCode: null,
      },
    }
  }

  function page(all: Json[], query: URLSearchParams): Json {
    const [limit, n] = [Number(query.get('limit') ?? 50), Number(query.get('page') ?? 1)]
    const data = all.slice((n - 1) * limit, n * limit)
    return { data, pagination: { page: n, limit, total: data.length, totalPages: 1 } }
  }

  const FILTERS = ['status', 'campaignId', 'affiliateId', 'externalOrderId', 'id', 'payoutBatchId']
  const list = (kind: string, query: URLSearchParams) =>
    page(
      rows[kind]!.filter((row) =>
        FILTERS.every(
          (name) =>
            !query.get(name) ||
            row[name] === query.get(name) ||
            (name === 'status' && row.orderStatus === query.get(name)),
        ),
      ).filter((row) => !query.get('q') || JSON.stringify(row).includes(query.get('q') ?? '')),
      query,
    )

  function payout(body: Json): Json {
    const own = rows.commissions!.filter(
      (one) => one.orderStatus === 'APPROVED' && one.happenedAt >= body.periodStart && one.happenedAt <= body.periodEnd,
    )
    if (own.length === 0) throw new Problem(404, 'nothing to pay')
    const batch = {
      id: id('bat'),
      status: 'OPEN',
      ...body,
      totals: {
        commissions: own.length,
        commissionCents: own.reduce((sum, one) => sum + one.commissionAmountCents, 0),
      },
    }
    rows.payouts!.push(batch)
    for (const one of own) Object.assign(one, { orderStatus: 'PAYABLE', payoutBatchId: batch.id })
    return batch
  }

  function refund(body: Json): Json {
    const row = rows.commissions!.find((one) => one.externalOrderId === body.externalOrderId)
    if (!row) throw new Problem(404, 'no such order')
    row.commissionAmountCents -= (body.amountCents ?? 0) * 0.16
    return {
      ok: true,
      outcome: 'applied',
      changed: true,
      refund: {},
      commission: { amountCents: row.commissionAmountCents },
    }
  }

  const update = (kind: string, one: Json, body: Json) => Object.assign(need(kind, one), body)

  async function api(method: string, path: string, query: URLSearchParams, body: Json): Promise<[number, Json]> {
    const key = query.get('id')
    switch (`${method} ${path}`) {
      case 'GET /affiliates':
      case 'GET /programs':
      case 'GET /commissions':
      case 'GET /payouts':
        return [200, list(path.slice(1), query)]
      case 'POST /affiliates':
        return [201, { data: createAffiliate(body) }]
      case 'PATCH /affiliates': {
        const affiliate = update('affiliates', key, body)
        if (body.status) await send('affiliate.status_changed', affiliate)
        return [200, { data: affiliate }]
      }
      case 'DELETE /affiliates':
        rows.affiliates = rows.affiliates!.filter((one) => one.id !== key)
        return [200, { ok: true, message: 'deleted' }]
      case 'POST /programs': {
        const program = programRow(body)
        rows.programs!.push(program)
        return [201, { data: program }]
      }
      case 'PATCH /programs':
        return [200, { data: update('programs', key, body) }]
      case 'GET /coupons':
        return [
          200,
          page(
            rows.affiliates!.map((one) => ({ affiliateId: one.id, code: one.discountCode })),
            query,
          ),
        ]
      case 'POST /coupons': {
        const affiliate = need('affiliates', body.affiliateId)
        affiliate.discountCode = body.code ?? code()
        return [200, { data: { affiliateId: affiliate.id, code: affiliate.discountCode } }]
      }
      case 'POST /payouts':
        return [200, { data: payout(body) }]
      case 'PATCH /payouts': {
        const batch = need('payouts', key)
        batch.status = 'PAID'
        for (const one of rows.commissions!) if (one.payoutBatchId === key) one.orderStatus = 'PAID'
        return [200, { ok: true, message: 'paid' }]
      }
      case 'POST /events':
        if (body.type === 'click' || body.type === 'page_view') {
          const click = { ...body, id: body.clickId ?? id('jrn') }
          rows.clicks!.push(click)
          return [202, { ok: true, message: 'stored', id: click.id }]
        }
        return [query.get('dryRun') ? 200 : 201, await convert(body, query.get('dryRun') !== null)]
      case 'POST /refunds':
      case 'POST /cancellations':
        return [200, refund(body)]
      case 'GET /journey':
        return [
          200,
          {
            journey: rows.clicks!.filter((one) => one.sessionId === query.get('sessionId')),
            total: rows.clicks!.length,
          },
        ]
      case 'GET /analytics':
        return [
          200,
          {
            totals: { orders: rows.commissions!.length, clicks: rows.clicks!.length },
            dailyBreakdown: [],
            topAffiliates: [],
          },
        ]
      case 'GET /orders':
        return [200, page(rows.commissions!, query)]
      case 'GET /orders/explanation':
        return [200, { data: { outcome: 'CREDITED' } }]
      case 'GET /webhooks':
        return [200, { data: rows.webhooks, available_events: ['commission.created', 'test'] }]
      case 'POST /webhooks': {
        const subscription = { id: id('whs'), events: [], ...body }
        rows.webhooks!.push(subscription)
        return [200, { data: subscription }]
      }
      case 'DELETE /webhooks':
        if (!has('sends-to-deleted')) rows.webhooks = rows.webhooks!.filter((one) => one.id !== key)
        return [200, { ok: true, message: 'deleted' }]
      case 'GET /webhooks/events':
        return [200, { data: [], next: null, hasMore: false }]
      default:
        throw new Problem(404, 'not found')
    }
  }

  const STATUS: Json = {
    approve: 'APPROVED',
    reject: 'REJECTED',
    cancel: 'CANCELED',
    reverse: 'REVERSED',
    reopen: 'PENDING',
  }

  function admin(method: string, path: string, body: Json): [number, Json] {
    const [, kind = '', one = '', action = ''] = path.split('/')
    if (kind === 'settings') return [200, { data: Object.assign(settings, body) }]
    if (kind === 'commissions' && action === 'refund') return [200, { data: need('commissions', one), refund: {} }]
    if (kind === 'commissions' && STATUS[action])
      return [200, { data: Object.assign(need('commissions', one), { orderStatus: STATUS[action] }) }]
    if (kind === 'payouts') return [200, { data: need('payouts', one) }]
    if (kind === 'keys' && method === 'POST' && !one) {
      const key = { id: id('key'), secret: `rk_${randomUUID()}`, ...body }
      rows.keys!.push(key)
      keys[key.secret] = { shop: 'one' }
      return [201, { data: key }]
    }
    if (kind === 'keys' && method === 'POST') return [200, { data: need('keys', one) }]
    if (kind === 'keys' && method === 'GET') return [200, { data: rows.keys }]
    if (method === 'POST') return [201, { data: { id: id('x'), ...body } }]
    if (method === 'GET') return [200, { data: [], pagination: {} }]
    return [200, { ok: true, message: 'done' }]
  }

  const server = createServer(async (request, response) => {
    const reply = (status: number, body: unknown, type = 'application/json') => {
      response.writeHead(status, { 'Content-Type': type })
      response.end(type === 'application/json' ? JSON.stringify(body) : String(body))
    }
    try {
      const url = new URL(request.url ?? '/', 'http://naive')
      const text = await read(request)
      const token = (request.headers.authorization ?? '').split(' ')[1] ?? ''
      if (url.pathname === '/api/v1/docs') return reply(200, '<h1>Docs</h1>', 'text/html')
      const body = text ? JSON.parse(text) : {}
      const isAdmin = url.pathname.startsWith('/admin/v1')
      if (isAdmin ? token !== 'ro_owner' && !keys[token] : !keys[token]) throw new Problem(401, 'unauthorized')
      const path = url.pathname.replace(/^\/(api|admin)\/v1/, '')
      const [status, answer] = isAdmin
        ? admin(request.method ?? '', path, body)
        : await api(request.method ?? '', path, url.searchParams, body)
      reply(status, answer)
    } catch (error) {
      reply(error instanceof Problem ? error.status : 500, { message: String(error) })
    }
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    keys: ['rk_one', 'rk_two'],
    ownerToken: 'ro_owner',
    close: () =>
      new Promise((done) => {
        server.closeAllConnections()
        server.close(() => done())
      }),
  }
}

async function read(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request) text += chunk
  return text
}
