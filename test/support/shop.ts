import { randomUUID } from 'node:crypto'
import type { Reply, RequestOptions, TestServer } from './server.ts'

/** The setup of many tests: a program that approves orders and an approved affiliate with a known code. */
export async function withAffiliate(
  server: TestServer,
  options: { program?: object; code?: string; email?: string; key?: string } = {},
) {
  const { key } = options
  const program = await expectOk(
    server.request('POST', '/api/v1/programs', {
      key,
      body: { name: 'Friends', autoApproveOrder: true, status: 'PUBLISH', ...options.program },
    }),
  )
  const affiliate = await newAffiliate(server, {
    key,
    email: options.email,
    campaignId: program.id,
    code: options.code ?? 'NISA16',
  })
  return { program, affiliate }
}

/** An approved affiliate; `code` replaces the generated one. */
export async function newAffiliate(
  server: TestServer,
  options: { email?: string; campaignId?: string; code?: string; key?: string; name?: string } = {},
) {
  const { key, email = `${randomUUID()}@example.com`, campaignId, name = 'Nisa Karim' } = options
  const { id } = await expectOk(
    server.request('POST', '/api/v1/affiliates', { key, body: { email, name, ...(campaignId ? { campaignId } : {}) } }),
  )
  if (options.code)
    await expectOk(server.request('POST', '/api/v1/coupons', { key, body: { affiliateId: id, code: options.code } }))
  return expectOk(server.request('PATCH', `/api/v1/affiliates?id=${id}`, { key, body: { status: 'APPROVED' } }))
}

/** Reports a conversion under a fresh key unless one is given. */
export function convert(
  server: TestServer,
  body: object,
  options: RequestOptions & { idempotencyKey?: string } = {},
): Promise<Reply> {
  const { idempotencyKey = randomUUID(), headers, ...rest } = options
  return server.request('POST', '/api/v1/events', {
    ...rest,
    body,
    headers: { 'Idempotency-Key': idempotencyKey, ...headers },
  })
}

/** The `data` of a 2xx reply. */
export async function expectOk(pending: Promise<Reply>) {
  const reply = await pending
  if (reply.status >= 300) throw new Error(`expected 2xx, got ${reply.status}: ${JSON.stringify(reply.body)}`)
  return reply.body.data ?? reply.body
}
