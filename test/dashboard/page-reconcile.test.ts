// Full: it compares a clock with a bound.
// SQLite only: the pages call the use cases that are tested on both databases
import { describe, expect } from 'vitest'
import { statement, statusReport } from '../payouts/bank-messages.ts'
import { linesOf, sentBatch } from '../payouts/payments.ts'
import { rowsOf } from '../support/inspect.ts'
import { staffOf } from '../support/owner.ts'
import type { TestServer } from '../support/server.ts'
import { testWithNewShop as test } from '../support/test.ts'
import { codeOf } from './fixture.ts'
import { noticeOf, type Opened, visitorOf, wordsOf } from './visitor.ts'

const PATH = '/admin/payouts/reconcile'

async function setUp(server: TestServer, payees = 2) {
  const visitor = visitorOf(server)
  await visitor.signIn(server.shop.ownerToken)
  const batch = await sentBatch(server, payees)
  const states = async () => (await linesOf(server, batch.id)).data.map(({ state }) => state)
  return { visitor, states, ...batch }
}

/** The results that the preview would record. */
const changesIn = ({ text }: Opened): string =>
  (/name="results" value="([^"]*)"/.exec(text)?.[1] ?? '').replaceAll('&quot;', '"')
const euros = (text: string) => text.replaceAll('"EUR"', '"USD"')
const table = (rows: string[]) => ['paymentReference,outcome,amount,currency', ...rows].join('\n')

test('a statement of a bank is previewed, and recorded only then', async ({ server }) => {
  const { visitor, states, lines, id } = await setUp(server)
  const [one, two] = lines.map(({ amountCents, paymentReference }) => ({
    amountCents,
    paymentReference: paymentReference ?? '',
  }))
  const file = euros(statement([{ line: one! }, { line: two!, isReturned: true }]))
  const preview = await visitor.upload(PATH, file)
  expect([preview.status, noticeOf(preview)]).toEqual([200, ''])
  const words = wordsOf(preview.text)
  for (const shown of [
    'Read as camt.053',
    'Will be settled 1 10.00 USD',
    'Will be returned 1 10.00 USD',
    'Other payments 1',
    'Becomes Returned AC04',
    'Record 2 results',
  ])
    expect(words).toContain(shown)
  expect(await states()).toEqual(['SENT', 'SENT'])
  expect(rowsOf(server, 'audits').filter(({ action }) => action === 'payout.reconciled')).toEqual([])
  const recorded = await visitor.submit(`${PATH}/record`, [['results', changesIn(preview)]])
  expect([recorded.status, recorded.headers.get('Location')]).toEqual([303, `/admin/payouts/${id}`])
  expect(noticeOf(await visitor.open(`/admin/payouts/${id}`))).toBe('1 settled, 1 returned.')
  expect(await states()).toEqual(['SETTLED', 'RETURNED'])
  const again = wordsOf((await visitor.upload(PATH, file)).text)
  expect(again).toContain('Already recorded 2')
  expect(again).not.toContain('Record 2 results')
})

test('a status report that rejects a payment file returns each of its payments', async ({ server }) => {
  const { visitor, states } = await setUp(server)
  const preview = await visitor.upload(PATH, statusReport('october', '<GrpSts>RJCT</GrpSts>'))
  expect(wordsOf(preview.text)).toContain('Will be returned 2 20.00 USD')
  await visitor.submit(`${PATH}/record`, [['results', changesIn(preview)]])
  expect(await states()).toEqual(['RETURNED', 'RETURNED'])
})

test('what needs a review is shown with its reason, and left unchanged', async ({ server }) => {
  const { visitor, lines } = await setUp(server)
  const [one, two] = lines.map(({ paymentReference }) => paymentReference)
  const unknown = `PLN${'0'.repeat(26)}`
  const preview = await visitor.upload(
    PATH,
    table([`${one},SETTLED,9.99,USD`, `${two},PENDING,,`, `${unknown},SETTLED,,`, 'PLN1,SETTLED,,']),
  )
  const words = wordsOf(preview.text)
  for (const shown of [
    'Needs review 2',
    'Unreadable rows 1',
    'Not final yet 1',
    'Amount or currency differs from what was sent reported: 9.99 USD',
    'No payment with this reference was sent',
    'PLN1 is not a payment reference',
  ])
    expect(words).toContain(shown)
  expect(changesIn(preview)).toBe('')
})

test('typed payments may leave out their last cells', async ({ server }) => {
  const { visitor, states, lines } = await setUp(server)
  const [one, two] = lines.map(({ paymentReference }) => paymentReference)
  const typed = `paymentReference,outcome,reason\r\n${one},settled\r\n\r\n${two},returned,Account closed\r\n`
  const preview = await visitor.submit(PATH, [['report', typed]])
  expect(wordsOf(preview.text)).toContain('Becomes Returned Account closed')
  await visitor.submit(`${PATH}/record`, [['results', changesIn(preview)]])
  expect(await states()).toEqual(['SETTLED', 'RETURNED'])
})

test('400 with the reference for a report that says both that a payment was made and that it was returned', async ({
  server,
}) => {
  const { visitor, states, lines } = await setUp(server)
  const [one, two] = lines.map(({ paymentReference }) => paymentReference)
  const report = (...rows: string[]) =>
    visitor.submit(PATH, [['report', ['paymentReference,outcome,date', ...rows].join('\n')]])
  for (const rows of [
    [`${one},settled`, `${two},settled`, `${one},returned`],
    [`${one},returned,2026-11-03`, `${one?.toLowerCase()},settled,2026-11-04`],
  ]) {
    const refused = await report(...rows)
    expect([refused.status, noticeOf(refused)]).toEqual([
      400,
      expect.stringMatching(new RegExp(`payment ${one} as settled and as returned\\..*Nothing was recorded`)),
    ])
  }
  // The same line twice, and a return on a later day, do not contradict each other.
  const preview = await report(
    `${one},settled`,
    `${one},settled`,
    `${two},returned,2026-11-05`,
    `${two},settled,2026-11-03`,
  )
  expect(wordsOf(preview.text)).toContain('Record 2 results')
  await visitor.submit(`${PATH}/record`, [['results', changesIn(preview)]])
  expect(await states()).toEqual(['SETTLED', 'RETURNED'])
})

test('an amount with a decimal comma is read where it cannot be thousands', async ({ server }) => {
  const { visitor, lines } = await setUp(server)
  const [one, two] = lines.map(({ paymentReference }) => paymentReference)
  const file = `paymentReference;outcome;amount;currency\n${one};SETTLED;10,00;USD\n${two};SETTLED;10,000;USD`
  const words = wordsOf((await visitor.upload(PATH, file)).text)
  expect(words).toContain('Will be settled 1 10.00 USD')
  expect(words).toContain('line 3: 10,000 USD is not an amount')
})

test('a huge reference is cut, and of many rows that cannot be read, the first are shown', async ({ server }) => {
  const visitor = visitorOf(server)
  await visitor.signIn(server.shop.ownerToken)
  const huge = await visitor.upload(PATH, `paymentReference,outcome\n"${'""'.repeat(1_000_000)}",SETTLED`)
  expect(huge.text.length).toBeLessThan(50_000)
  const many = await visitor.upload(PATH, table(Array.from({ length: 100_000 }, () => 'x,SETTLED,,')))
  expect(many.text.length).toBeLessThan(50_000)
  expect(wordsOf(many.text)).toContain('Unreadable rows 100,000')
})

test('rows with too few cells for their columns take no more memory than the file', async ({ server }) => {
  const visitor = visitorOf(server)
  await visitor.signIn(server.shop.ownerToken)
  const columns = Array.from({ length: 990 }, (_, i) => `c${i}`)
  const startedAt = performance.now()
  const refused = await visitor.upload(PATH, `paymentreference,outcome,${columns}\n${'x\n'.repeat(500_000)}`)
  expect(noticeOf(refused)).toContain('Line 2 of the file has 1 cell')
  expect(performance.now() - startedAt).toBeLessThan(8000)
})

describe('400 for a file that cannot be read, with the reason', () => {
  test.for([
    [
      'a document type',
      '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><Document>&x;</Document>',
      'document type',
    ],
    ['another message', '<Document><Other/></Document>', 'neither pain.002, camt.053 nor camt.054'],
    ['broken XML', '<Document>', 'line 1'],
    ['another table', 'a,b\n1,2', 'paymentReference, outcome, amount'],
    ['a binary file', new Uint8Array([0x50, 0x4b, 0xff, 0xfe]), 'UTF-8'],
    ['deep elements', '<Cd>'.repeat(200_000), '100 nested elements'],
    ['more than 8 MiB', 'x'.repeat(8 * 1024 * 1024), '8 MiB'],
    [
      '20,001 payments',
      table(Array.from({ length: 20_001 }, (_, i) => `PLN${String(i).padStart(26, '0')},SETTLED,,`)),
      '20000 payments',
    ],
  ] as const)('%s', async ([, text, reason], { server }) => {
    const visitor = visitorOf(server)
    await visitor.signIn(server.shop.ownerToken)
    const refused = await visitor.upload(PATH, text)
    expect([refused.status, noticeOf(refused)]).toEqual([400, expect.stringContaining(reason)])
  })
})

test('400 for a body that is not a form', async ({ server }) => {
  const owner = visitorOf(server)
  await owner.signIn(server.shop.ownerToken)
  const Cookie = [...owner.jar].map(([name, value]) => `${name}=${value}`).join('; ')
  const part = '--b\r\nContent-Disposition: form-data; name="csrf"\r\n\r\nx'
  for (const [boundary, body] of [
    ['; boundary=b', ''],
    ['; boundary=b', '--b'],
    ['; boundary=b', part],
    ['; boundary=b', '--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n--b--'],
    ['; boundary=other', `${part}\r\n--b--`],
    ['', `${part}\r\n--b--`],
    ['; boundary=b', `${part}\r\n`.repeat(1001)],
  ] as const) {
    const headers = { Cookie, 'Content-Type': `multipart/form-data${boundary}` }
    const { status } = await server.fetch(`http://test${PATH}`, { method: 'POST', body, headers })
    expect([boundary, body.slice(0, 80), status]).toEqual([boundary, body.slice(0, 80), 400])
  }
})

test('a boundary longer than the standard allows is rejected before the body is searched for it', async ({
  server,
}) => {
  const visitor = visitorOf(server)
  await visitor.signIn(server.shop.ownerToken)
  const boundary = 'a'.repeat(14_000)
  const cookie = [...visitor.jar].map(([name, value]) => `${name}=${value}`).join('; ')
  const headers = { Cookie: cookie, 'Content-Type': `multipart/form-data; boundary=${boundary}` }
  const body = `--${boundary}\r\n${`\r\n--${boundary.slice(1)}b`.repeat(110)}`
  const startedAt = performance.now()
  expect((await server.fetch(`http://test${PATH}`, { method: 'POST', body, headers })).status).toBe(400)
  expect(performance.now() - startedAt).toBeLessThan(8000)
})

test('typed payments have few columns, so that filling their lines takes no time', async ({ server }) => {
  const visitor = visitorOf(server)
  await visitor.signIn(server.shop.ownerToken)
  const refused = await visitor.submit(PATH, [['report', `${','.repeat(10_000)}\n${'x\n'.repeat(5000)}`]])
  expect([refused.status, noticeOf(refused)]).toEqual([400, expect.stringContaining('too many columns')])
})

test('results that no preview wrote are rejected before they are parsed', async ({ server }) => {
  const visitor = visitorOf(server)
  await visitor.signIn(server.shop.ownerToken)
  const results = '['.repeat(2_000_000) + ']'.repeat(2_000_000)
  const refused = await visitor.upload(`${PATH}/record`, '', [['results', results]])
  expect(noticeOf(refused)).toContain('do not come from a preview')
})

test('staff, other sites and other shops can neither preview nor record', async ({ server, installation }) => {
  const { states, lines } = await setUp(server)
  const reference = lines[0]?.paymentReference
  const file = table([`${reference},SETTLED,,`])
  const results = JSON.stringify({ paymentReference: reference, outcome: 'SETTLED' })
  const staff = visitorOf(server)
  await staff.signIn(await staffOf(server))
  expect(codeOf(await staff.upload(PATH, file))).toEqual([403, 'role_missing'])
  const stranger = visitorOf(server)
  await stranger.signIn((await installation.createShop()).ownerToken)
  const seen = await stranger.upload(PATH, file)
  expect([wordsOf(seen.text).includes('No payment with this reference was sent'), seen.text.includes('Nisa')]).toEqual([
    true,
    false,
  ])
  await stranger.submit(`${PATH}/record`, [['results', results]])
  const foreign = new FormData()
  foreign.append('file', new Blob([file]), 'a.csv')
  const owner = visitorOf(server)
  await owner.signIn(server.shop.ownerToken)
  const cookie = [...owner.jar].map(([name, value]) => `${name}=${value}`).join('; ')
  const sent = await server.fetch(`http://test${PATH}`, { method: 'POST', body: foreign, headers: { Cookie: cookie } })
  expect([sent.status, sent.headers.get('X-Error-Code')]).toEqual([403, 'csrf_token_invalid'])
  expect(await states()).toEqual(['SENT', 'SENT'])
  for (const wrong of ['', '{}', '[]', '{"outcome":"SETTLED"}', `${results}\n{`, `${results}\n`.repeat(20_001)])
    expect((await owner.submit(`${PATH}/record`, [['results', wrong]])).status, wrong).toBe(400)
})
