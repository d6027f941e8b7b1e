import { describe, expect } from 'vitest'
import { auditLog, rowOf } from '../support/inspect.ts'
import { rejection, rejectionOf } from '../support/rejection.ts'
import { expectOk, withAffiliate } from '../support/shop.ts'
import { type Client, type Owner, test } from '../support/test.ts'

let people = 0
async function archived(client: Client, campaignId?: string) {
  const email = `person-${++people}@example.com`
  const affiliate = await client.affiliates.create({ email, name: 'Gone', ...(campaignId ? { campaignId } : {}) })
  await client.affiliates.archive(affiliate.id)
  return affiliate
}

test('200 with a message; the data is kept', async ({ server, client }) => {
  const affiliate = await client.affiliates.create({ email: 'kept@example.com', name: 'Kept' })
  server.clock.advance(1000)
  const { data, response } = await client.affiliates.archive(affiliate.id).withResponse()
  expect([response.status, data]).toEqual([200, { ok: true, message: 'Affiliate archived.', id: affiliate.id }])
  const row = rowOf(server, 'affiliates', { id: affiliate.id })
  const now = new Date(server.clock.ms).toISOString()
  expect(row).toMatchObject({ ...affiliate, deletedAt: now, updatedAt: now })
})

test('hidden from lists, searches and coupons, under every filter', async ({ client }) => {
  const program = await client.programs.create({ name: 'P' })
  const { id, email, discountCode } = await archived(client, program.id)
  const { data } = await client.affiliates.list({ q: email, status: 'PENDING', campaignId: program.id })
  expect(data).toEqual([])
  expect((await client.affiliates.list({ limit: 100 })).data.map((one) => one.id)).not.toContain(id)
  expect((await client.coupons.list({ affiliateId: id })).pagination.total).toBe(0)
  expect((await client.coupons.list({ code: discountCode })).data).toEqual([])
  const [listed] = (await client.programs.list({ limit: 1 })).data
  expect([listed?.id, listed?.affiliateCount]).toEqual([program.id, 0])
})

test('404 to change, archive again, or assign a code', async ({ client }) => {
  const { id } = await archived(client)
  expect(await rejection(client.affiliates.update(id, { phone: '1' }))).toEqual([404, 'affiliate_not_found'])
  expect(await rejection(client.affiliates.update(id, {}))).toEqual([404, 'affiliate_not_found'])
  expect(await rejection(client.affiliates.archive(id))).toEqual([404, 'affiliate_not_found'])
  expect(await rejection(client.coupons.assign({ affiliateId: id, code: 'NEW' }))).toEqual([404, 'affiliate_not_found'])
})

test('404 for an id that does not exist or belongs to another shop', async ({ server, client }) => {
  const other = await server.createShop()
  const theirs = await server.clientOf(other.key).affiliates.create({ email: 'f@example.com', name: 'F' })
  for (const id of ['aff_none', theirs.id])
    expect(await rejection(client.affiliates.archive(id))).toEqual([404, 'affiliate_not_found'])
  expect((await server.clientOf(other.key).affiliates.list()).data).toEqual([theirs])
})

test('the code and the slug stay reserved', async ({ client }) => {
  const { discountCode, slug } = await archived(client)
  const next = await client.affiliates.create({ email: 'next@example.com', name: 'Gone' })
  expect(next.slug).not.toBe(slug)
  const code = discountCode.toLowerCase()
  expect(await rejection(client.coupons.assign({ affiliateId: next.id, code }))).toEqual([409, 'discount_code_taken'])
})

test('one audit record, even when several requests archive at once', async ({ server, client }) => {
  const affiliate = await client.affiliates.create({ email: 'race@example.com', name: 'Race' })
  const audits = auditLog(server)
  const replies = await Promise.all(
    Array.from({ length: 8 }, () => server.request('DELETE', `/api/v1/affiliates?id=${affiliate.id}`)),
  )
  expect(replies.map((reply) => reply.status).sort()).toEqual([200, ...Array(7).fill(409)])
  expect(audits().map((one) => [one.action, one.subjectId])).toEqual([['affiliate.archived', affiliate.id]])
})

describe('unarchiving', () => {
  const unarchive = (owner: Owner, id: string) => owner('POST', `/affiliates/${id}/unarchive`)

  test('200: listed, found, changed, and archived again, with one audit record', async ({ server, client, owner }) => {
    const audits = auditLog(server)
    const affiliate = await archived(client)
    server.clock.advance(1000)
    const updatedAt = new Date(server.clock.ms).toISOString()
    const { status, body } = await unarchive(owner, affiliate.id)
    expect([status, body.data]).toEqual([200, { ...affiliate, updatedAt }])
    expect((await unarchive(owner, affiliate.id)).body.data).toEqual(body.data)
    expect((await client.affiliates.list({ id: affiliate.id })).data).toEqual([body.data])
    expect((await client.affiliates.update(affiliate.id, { status: 'ACTIVE' })).status).toBe('ACTIVE')
    const names = ['affiliate.created', 'affiliate.archived', 'affiliate.unarchived', 'affiliate.updated']
    expect(audits().map(({ action }) => action)).toEqual(names)
    await client.affiliates.archive(affiliate.id)
    expect(await rejection(client.affiliates.update(affiliate.id, { status: 'ACTIVE' }))).toEqual([
      404,
      'affiliate_not_found',
    ])
  })

  test('a batch pays what was held back', async ({ server, client, owner }) => {
    const { affiliate } = await withAffiliate(server, { code: 'BACK', email: 'paid@example.com' })
    await client.events.conversion({ externalOrderId: 'held', amountCents: 1000, couponCode: 'BACK' })
    await client.affiliates.archive(affiliate.id)
    const period = { periodStart: '2026-01-01', periodEnd: '2027-01-01' }
    expect(await rejection(client.payouts.create(period))).toEqual([404, 'no_eligible_commissions'])
    await unarchive(owner, affiliate.id)
    expect((await client.payouts.create(period)).totals.commissions).toBe(1)
  })

  test('409 when the email address was taken meanwhile', async ({ client, owner }) => {
    const { id, email } = await archived(client)
    await client.affiliates.create({ email: email.toUpperCase(), name: 'Next' })
    expect(rejectionOf(await unarchive(owner, id))).toMatchObject({ status: 409, code: 'email_taken' })
  })

  test('404 for an erased affiliate, another shop, and an unknown id', async ({ server, client, owner }) => {
    const erased = await archived(client)
    await expectOk(owner('POST', '/privacy/erasures', { email: erased.email }))
    const other = await server.createShop()
    const theirs = await archived(server.clientOf(other.key))
    for (const id of [erased.id, theirs.id, 'aff_none'])
      expect(rejectionOf(await unarchive(owner, id))).toMatchObject({ status: 404, code: 'affiliate_not_found' })
  })
})
