// SQLite only: the pages call the use cases that are tested on both databases
import { afterAll, beforeAll, expect, test } from 'vitest'
import { updateRows } from '../support/inspect.ts'
import { HOSTILE_NAMES, REAL_NAMES } from '../support/names.ts'
import { convert, expectOk, newAffiliate } from '../support/shop.ts'
import { openPageShop, type PageShop } from './fixture.ts'

let shop: PageShop
beforeAll(async () => {
  shop = await openPageShop()
})
afterAll(() => shop.server.close())

const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll("'", '&#39;').replaceAll('<', '&lt;')

let orders = 0
/** Opens every page that shows an affiliate of this name, who earned on one order. */
async function pagesOf(name: string): Promise<[string, string][]> {
  const externalOrderId = `${name}-${++orders}`
  const { server, owner } = shop
  const program = await expectOk(server.request('POST', '/api/v1/programs', { body: { name, autoApproveOrder: true } }))
  const code = `B${server.deps.newId('aff').slice(-6).replaceAll('0', 'A')}`
  const { id } = await newAffiliate(server, { name, code, campaignId: program.id })
  const sessionId = `s-${code}`
  const order = { externalOrderId, amountCents: 10_000, couponCode: code, sessionId, customerEmail: `${name}@x.de` }
  await expectOk(convert(server, { ...order, orderName: name }))
  const period = { periodStart: '2026-11-01', periodEnd: '2026-11-30', affiliateIds: [id] }
  const batch = await expectOk(server.request('POST', '/api/v1/payouts', { body: period }))
  const paths = [
    '',
    '/commissions?status=ALL',
    `/payouts/${batch.id}`,
    `/orders?id=${encodeURIComponent(externalOrderId)}`,
    `/journey?sessionId=${sessionId}`,
    `/commissions?status=ALL&order=${encodeURIComponent(externalOrderId)}`,
    `/affiliates?q=${code}`,
    `/affiliates/${id}`,
    `/coupons?code=${code}`,
  ]
  const shown: [string, string][] = []
  for (const path of paths) {
    const { status, text } = await owner.open(`/admin${path}`)
    expect([path, status]).toEqual([path, 200])
    shown.push([path, text])
  }
  // The overview shows ten affiliates: remove this one from the period.
  updateRows(server, 'commissions', { happenedAt: '2026-01-01T00:00:00.000Z' })
  return shown
}

const STEERS = /(?![\t\n\r])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u

test.each(REAL_NAMES)('%s is shown unchanged and isolated from the surrounding text', async (name) => {
  for (const [path, text] of await pagesOf(name)) {
    expect([path, text.includes(`<bdi>${escaped(name)}</bdi>`)]).toEqual([path, true])
    // Never next to text whose direction it could change.
    const apart = text.replaceAll(
      /<bdi>[^<]*<\/bdi>|<option[^>]*>[^<]*|<title>[^<]*<\/title>|<h1>[^<]*<\/h1>|="[^"]*"/g,
      '',
    )
    expect([path, apart.includes(escaped(name))]).toEqual([path, false])
  }
})

test.each(HOSTILE_NAMES)('the name %j is shown as %j', async (name, shown) => {
  for (const [path, text] of await pagesOf(name)) {
    // Input fields keep their value unchanged.
    expect([path, STEERS.exec(text.replaceAll(/ value="[^"]*"/g, ''))?.[0]]).toEqual([path, undefined])
    expect([path, text.includes(`<bdi>${escaped(shown)}</bdi>`)]).toEqual([path, true])
  }
})
