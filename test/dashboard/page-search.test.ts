// SQLite only: the pages call the use cases that are tested on both databases
import { describe, expect } from 'vitest'
import { admin, ID } from '../support/owner.ts'
import { convert, expectOk } from '../support/shop.ts'
import { test } from '../support/test.ts'
import { visitorOf, wordsOf } from './visitor.ts'

let owner: ReturnType<typeof visitorOf>
let staff: ReturnType<typeof visitorOf>

test.beforeAll(async ({ ownerServer: server }) => {
  ;[owner, staff] = [visitorOf(server), visitorOf(server)]
  await owner.signIn()
  await staff.signIn(server.staff)
  await expectOk(
    convert(server, { externalOrderId: 'x-77', orderName: '#7001', amountCents: 5000, couponCode: 'NISA16' }),
  )
  await expectOk(convert(server, { externalOrderId: 'X-78', amountCents: 5000 }))
})

const textOf = async (text: string, by = owner): Promise<string> =>
  (await by.open(`/admin/search?${new URLSearchParams({ q: text })}`)).text
/** The kinds that a text finds, each with the addresses of its results. */
async function search(text: string, by = owner): Promise<Record<string, string[]>> {
  const page = await textOf(text, by)
  const sections = [...page.matchAll(/<section aria-label="([^"]+)"><h2>.*?<\/section>/gs)]
  return Object.fromEntries(
    sections.map(([all, kind = '']) => [kind, [...all.matchAll(/href="([^"]+)"/g)].map(([, to = '']) => to)]),
  )
}

const NISA = { Affiliates: [`/admin/affiliates/${ID.affiliate}`] }

describe('the search', () => {
  test.each([
    ['#7001', '/admin/orders?id=api%3Ax-77'],
    ['7001', '/admin/orders?id=api%3Ax-77'],
    ['x-77', '/admin/orders?id=api%3Ax-77'],
    ['api:X-78', '/admin/orders?id=api%3AX-78'],
    ['x-78', '/admin/orders?id=api%3AX-78'],
  ])('finds the order %s by its name or id, with a commission or without', async (text, to) => {
    expect(await search(text)).toEqual({ Orders: [to] })
  })

  test.each(['NISA KAR', 'nisa@', ID.affiliate, ID.affiliate.toLowerCase(), 'https://shop.example/?ref=nisa-karim'])(
    'finds an affiliate by %s',
    async (text) => {
      expect((await search(text)).Affiliates).toContain(`/admin/affiliates/${ID.affiliate}`)
    },
  )

  test('finds codes in any letter case, in part, and aliases', async () => {
    const Coupons = ['/admin/coupons?code=NISA16']
    expect(await search('isa1')).toEqual({ Coupons })
    expect(await search('nisa16')).toEqual({ ...NISA, Coupons })
    expect(await search('nisa20')).toEqual(NISA)
  })

  test('finds a commission by its id as the order it belongs to', async () => {
    expect((await search(ID.commission)).Orders).toHaveLength(1)
  })

  test('finds programs by part of their name, in any letter case', async () => {
    expect((await search('fRIEND')).Programs).toContain(`/admin/programs/${ID.program}`)
  })

  test('finds batches by id and by a month of their period, payments by reference, for owners only', async ({
    ownerServer: server,
  }) => {
    const batch = await expectOk(server.request('GET', `/api/v1/payouts?id=${ID.batch}`))
    const month = batch[0].periodStart.slice(0, 7)
    const name = new Date(`${month}-15`).toLocaleString('en-US', { month: 'long' })
    const payment = ID.line.replace('pln_', 'PLN')
    for (const text of [ID.batch, month, name, name.slice(0, 3), `${name} ${month.slice(0, 4)}`]) {
      expect((await search(text)).Payouts, text).toContain(`/admin/payouts/${ID.batch}`)
      expect((await search(text, staff)).Payouts, text).toBeUndefined()
    }
    expect((await search(`${name} 1999`)).Payouts).toBeUndefined()
    expect((await search(payment)).Payments).toHaveLength(1)
    expect((await search(payment.toLowerCase())).Payments).toHaveLength(1)
    expect((await search(payment, staff)).Payments).toBeUndefined()
  })

  test('finds deliveries by their id and by that of their event', async ({ ownerServer: server }) => {
    const [one] = await expectOk(admin(server, 'GET', '/deliveries'))
    for (const id of [one.id, one.eventId]) expect((await search(id)).Deliveries, id).toHaveLength(1)
  })

  test('finds pages, those of the role only, and the journey of a customer', async () => {
    expect(await search('pay')).toMatchObject({ 'Go to': ['/admin/payouts', '/admin/payouts/reconcile'] })
    expect((await search('settings'))['Go to']).toEqual(['/admin/settings'])
    expect(await search('payouts', staff)).toEqual({})
    expect((await search(''))['Go to']).toContain('/admin/payouts')
    expect((await search('', staff))['Go to']).not.toContain('/admin/payouts')
    expect((await search('ada@shop.example'))['Go to']).toEqual(['/admin/journey?customerEmail=ada%40shop.example'])
  })

  test('shows five of a kind and a link to the list with the same filter; archived affiliates are left out', async ({
    ownerServer: server,
  }) => {
    const made = []
    for (let n = 0; n < 7; n++) {
      const body = { name: `Quentin ${n}`, email: `quentin${n}@example.com` }
      made.push(await expectOk(server.request('POST', '/api/v1/affiliates', { body })))
    }
    const { Affiliates = [] } = await search('quentin')
    expect(Affiliates).toHaveLength(6)
    expect(Affiliates.at(-1)).toBe('/admin/affiliates?q=quentin')
    await expectOk(server.request('DELETE', `/api/v1/affiliates?id=${made[3].id}`))
    expect(await search('quentin 3')).toEqual({})
    expect(await search(made[3].id)).toEqual({})
  })

  test('says that nothing matches, as text, and repeats what was typed', async () => {
    const page = await textOf('<b>nobody "at" all')
    expect(wordsOf(page)).toContain('Nothing matches &lt;b&gt;nobody')
    expect(page).not.toContain('<b>')
    expect(page).toContain('value="&lt;b&gt;nobody &quot;at&quot; all"')
  })
})
