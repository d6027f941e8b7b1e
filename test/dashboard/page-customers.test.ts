// SQLite only: the pages call the use cases that are tested on both databases
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { codeOf, HOSTILE, openPageShop, type PageShop } from './fixture.ts'
import { wordsOf } from './visitor.ts'

let shop: PageShop
let programId: string
const ids: Record<string, string> = {}
beforeAll(async () => {
  shop = await openPageShop()
  const { client, clock } = shop.server
  const ago = (days: number) => new Date(clock.ms - days * 86_400_000).toISOString()
  programId = (await client.programs.list()).data[0]?.id ?? ''
  await client.programs.setTerms(programId, {
    rules: [{ when: { customerMonth: { from: 12 } }, commissionPercent: null }],
  })
  const sent = {
    'c-1': { couponCode: 'NISA16', customerEmail: 'c1@example.com', occurredAt: ago(40) },
    'c-2': { couponCode: 'NISA16', orders: 3, firstOrderAt: ago(8 * 31), occurredAt: ago(250) },
    [`c-${HOSTILE}`]: {},
  }
  for (const [customerId, more] of Object.entries(sent))
    ids[customerId] = (await client.customers.create({ customerId, ...more })).data.id ?? ''
  await shop.order({ couponCode: undefined, customerId: 'c-1', externalOrderId: 'of-c-1' })
  await shop.order({ couponCode: undefined, customerId: 'nobody', externalOrderId: 'of-nobody' })
})
afterAll(() => shop.server.close())

describe('customers', () => {
  test('are listed with who referred them, are filtered, and the file follows', async () => {
    const found = async (query: string) => {
      const { text } = await shop.owner.open(`/admin/customers?${query}`)
      const shown = [...text.matchAll(/<th [^>]*><a href="\/admin\/customers\/(cus_\w+)"/g)].map(([, id]) => id)
      const file = (await shop.owner.open(`/admin/customers.csv?${query}`)).text
      expect(file.trimEnd().split('\r\n').length - 1).toBe(shown.length)
      return shown
    }
    const all = Object.values(ids)
    expect(await found('')).toEqual(all.toReversed())
    expect(await found('customerId=c-2')).toEqual([ids['c-2']])
    expect(await found('customerEmail=C1%40example.com')).toEqual([ids['c-1']])
    expect(await found('affiliate=NISA16')).toEqual([ids['c-2'], ids['c-1']])
    expect(await found(`programId=${programId}`)).toEqual([ids['c-2'], ids['c-1']])
    expect(await found('customerId=none')).toEqual([])
  })

  test('have a page with their binding, and their orders with commission and evidence', async () => {
    const words = await shop.words(`/customers/${ids['c-1']}`)
    expect(words).toMatch(/of-c-1 .*100\.00 USD .*16\.00 USD .*Connected customer id match/)
    expect(words).toMatch(/Bound .* By Sign-up Evidence Audit log Program Friends/)
    const record = /href="(\/admin\/audit\?[^"]*)"/.exec(
      (await shop.owner.open(`/admin/customers/${ids['c-1']}`)).text,
    )?.[1]
    const { text } = await shop.owner.open((record ?? '').replaceAll('&amp;', '&'))
    expect(wordsOf(text)).toMatch(/Bound a customer to .*: coupon match/)
    expect(await shop.words(`/customers/${ids['c-2']}`)).toMatch(/Orders 3 .*4 of 12 months left .*By Import/)
    const firstOnly = { when: { customerOrder: { from: 2 } }, commissionPercent: null }
    await shop.server.client.programs.setTerms(programId, { rules: [firstOnly] })
    expect(await shop.words(`/customers/${ids['c-2']}`)).toMatch(/Orders 3 .*No months left /)
  })

  test('are linked from their orders', async () => {
    expect((await shop.owner.open('/admin/orders?id=of-c-1')).text).toContain(
      `<a href="/admin/customers/${ids['c-1']}"><bdi>c-1</bdi></a>`,
    )
    expect((await shop.owner.open('/admin/orders?id=of-nobody')).text).not.toContain('/admin/customers/')
  })

  test('are unbound by an owner after a confirmation', async () => {
    const path = `/admin/customers/${ids['c-2']}`
    expect((await shop.staff.open(path)).text).not.toContain('/unbind')
    expect((await shop.staff.open(`${path}/unbind`)).status).toBe(403)
    expect((await shop.owner.open(`${path}/unbind`)).text).toContain(`action="${path}/unbind"`)
    expect((await shop.done(`/customers/${ids['c-2']}/unbind`, [])).notice).toBe('Customer unbound.')
    expect(await shop.words(`/customers/${ids['c-2']}`)).toMatch(/Affiliate none .*Bound no/)
    expect(shop.audits().map(({ action, subjectId }) => [action, subjectId])).toContainEqual([
      'customer.unbound',
      ids['c-2'],
    ])
  })

  test('404 for an unknown id', async () => {
    expect(codeOf(await shop.owner.open('/admin/customers/cus_x'))).toEqual([404, 'customer_not_found'])
  })
})
