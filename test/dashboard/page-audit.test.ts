// SQLite only: the pages call the use cases that are tested on both databases
import { afterAll, beforeAll, expect, test } from 'vitest'
import { insertRow, rowsOf, updateRows } from '../support/inspect.ts'
import { expectOk } from '../support/shop.ts'
import { openPageShop, type PageShop } from './fixture.ts'
import { wordsOf } from './visitor.ts'

let shop: PageShop
beforeAll(async () => {
  shop = await openPageShop()
})
afterAll(() => shop.server.close())

test('changes are shown without views, in sentences with names and links', async () => {
  const id = await shop.order({ orderName: '#2024' })
  await shop.done(`/commissions/${id}/approve`, [])
  await shop.done('/keys', [
    ['label', 'Checkout'],
    ['access-events', 'write'],
  ])
  await shop.owner.open('/admin/keys')
  const { text } = await shop.owner.open('/admin/audit')
  const words = wordsOf(text)
  expect(words).toMatch(/Approved the commission of #2024 , 16\.00 USD commission\.approved/)
  expect(words).toMatch(/Created the commission of #2024/)
  expect(words).toMatch(/API key [^:]/)
  expect(words).not.toContain('key:key_')
  expect(words).toContain('Created the API key Checkout')
  expect(words).toMatch(/Changed Mira .*: name/)
  expect(text).toMatch(/href="\/admin\/orders\?id=api%3Ap-1"/)
  expect(words).not.toMatch(/keys\.listed|\.shown/)
  const all = await shop.words('/audit?view=all')
  expect(all).toContain('Viewed the API keys keys.listed')
  const file = await shop.owner.open('/admin/audit.csv')
  expect(file.text).toContain('commission.approved')
  expect(file.text).not.toContain('keys.listed')
})

test('a page of changes continues on the next one', async () => {
  for (let n = 0; n < 30; n++)
    await expectOk(
      shop.server.request('PATCH', `/api/v1/affiliates?id=${shop.affiliateId}`, { body: { phone: `+1 ${n}` } }),
    )
  const first = await shop.owner.open('/admin/audit')
  const next = /href="(\/admin\/audit\?after=\d+)"/.exec(first.text)?.[1] ?? ''
  const second = await shop.owner.open(next)
  const numbers = (text: string) => [...text.matchAll(/data-label="Number">(\d+)/g)].map(([, seq]) => Number(seq))
  const [newer, older] = [numbers(first.text), numbers(second.text)]
  expect(newer).toHaveLength(25)
  expect(Math.max(...older)).toBeLessThan(Math.min(...newer))
  const changes = rowsOf(shop.server, 'audits').filter(({ action }) => !/(listed|shown|ran|exported)$/.test(action))
  const expected = changes.map(({ seq }) => seq).sort((a, b) => b - a)
  expect([...newer, ...older]).toEqual(expected.slice(0, newer.length + older.length))
})

test('changes before thousands of views are found', async () => {
  const [last] = rowsOf(shop.server, 'audits').sort((a, b) => b.seq - a.seq)
  for (let n = 1; n <= 2100; n++)
    insertRow(shop.server, 'audits', { ...last!, id: `aud_view${n}`, seq: last!.seq + n, action: 'keys.listed' })
  updateRows(shop.server, 'auditHeads', { seq: last!.seq + 2100 }, { shopId: last!.shopId })
  expect(await shop.words('/audit')).toMatch(/Changed Mira .*: phone/)
})
