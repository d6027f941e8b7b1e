// SQLite only: the pages call the use cases that are tested on both databases
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { addAffiliate, commissionRow } from '../payouts/rows.ts'
import { insertRows } from '../support/inspect.ts'
import { ID } from '../support/owner.ts'
import { test } from '../support/test.ts'
import { type Fields, noticeOf, visitorOf, wordsOf } from './visitor.ts'

let owner: ReturnType<typeof visitorOf>
test.beforeAll(async ({ server }) => {
  owner = visitorOf(server)
  await owner.signIn()
})

const period = (from: string, until: string, currency = ''): Fields => [
  ['from', from],
  ['until', until],
  ['currency', currency],
]
const key = (label: string, expiresAt: string): Fields => [
  ['label', label],
  ['expiresAt', expiresAt],
  ['access-programs', 'read'],
]

test.each<[string, Fields, string]>([
  ['payouts', period('2026-10-01', 'soon'), 'Last day'],
  ['payouts', period('2026-02-30', '2026-10-31'), 'First day'],
  ['payouts', period('2026-10-31', '2026-10-01'), 'Last day'],
  ['keys', key('Cron', 'tomorrow'), 'Expires'],
  ['keys', key('x'.repeat(101), ''), 'Label'],
])('400 on the page of %s uses the label of the form', async (path, fields, label) => {
  const refused = await owner.submit(`/admin/${path}`, fields)
  expect([refused.status, noticeOf(refused)]).toEqual([400, expect.stringMatching(new RegExp(`^${label} must`))])
})

test('an invalid preview period is reported with the label of the form', async () => {
  const preview = await owner.open('/admin/payouts/new?from=2026-10-01&until=soon')
  expect([preview.status, noticeOf(preview)]).toEqual([200, expect.stringMatching(/^Last day must/)])
})

test('a page says what to do in its own words, not in those of the API', async ({ server, client }) => {
  const affiliateId = addAffiliate(server)
  const of = (currency: string) => commissionRow(server, { affiliateId, currency, orderCurrency: currency })
  insertRows(server, 'commissions', [of('USD'), of('EUR')])
  const created = await owner.submit('/admin/payouts', period('2026-10-01', '2026-10-31'))
  expect(noticeOf(created)).toMatch(/EUR and USD.* “Currency”/)
  const { id } = await client.payouts.create({ periodStart: '2026-10-01', periodEnd: '2026-10-31', currency: 'EUR' })
  const paid = await owner.submit(`/admin/payouts/${id}/pay`, [['total', '1.00']])
  expect(noticeOf(paid)).toMatch(/[\d.]+ EUR.* 1\.00 EUR\. .*type/)
  const program = await client.programs.create({ name: 'P' })
  const rate = await owner.open(
    `/admin/programs/${program.id}/backtest?commissionType=PERCENT_OF_SALE&commissionPercent=2&cookieDurationDays=1.5`,
  )
  expect(rate.text).toMatch(/<input id="cookieDurationDays"[^>]* value="1\.5"[^>]* aria-invalid="true"/)
  expect([rate.status, wordsOf(rate.text)]).toEqual([400, expect.stringContaining('Click window must be')])
  expect(wordsOf(rate.text)).not.toContain('cookieDurationDays')
})

test('the reason is under the field that was rejected, in the words of the page', async ({ server }) => {
  await owner.submit('/admin/team', [['email', 'two@example.com']])
  const affiliate = addAffiliate(server)
  const reasonOf = async (path: string, fields: Fields, name: string, words: string) => {
    const refused = await owner.submit(path, fields)
    expect([refused.status, noticeOf(refused)], path).toEqual([expect.any(Number), expect.stringContaining(words)])
    const control = new RegExp(
      `<(input|select) id="[\\w-]+" name="${name}"[^>]* aria-describedby="${name}-problem[^"]*" aria-invalid="true" autofocus>`,
    )
    expect(refused.text).toMatch(control)
    expect(
      wordsOf(new RegExp(`<p class="[^"]*" id="${name}-problem">.*?</p>`).exec(refused.text)?.[0] ?? '').trim(),
    ).toBe(noticeOf(refused))
  }
  const payee = `/admin/affiliates/${affiliate}/payee`
  const iban = 'country code'
  const account = [
    ['method', 'SEPA'],
    ['name', 'A'],
    ['townName', 'B'],
    ['country', 'DE'],
  ] as Fields
  await reasonOf(payee, [...account, ['iban', 'DE']], 'iban', iban)
  await reasonOf(payee, [...account, ['iban', 'DE89370400440532013001']], 'iban', iban)
  await reasonOf('/admin/team', [['email', 'x']], 'email', 'Email must be')
  await reasonOf('/admin/team', [['email', 'two@example.com']], 'email', 'already has a user')
  const settings: Fields = [
    ['currency', 'USD'],
    ['tax', '101'],
  ]
  await reasonOf('/admin/settings', settings, 'tax', 'from 0 to 100')
})

test.each([
  ['/admin/', '/admin'],
  ['/admin/commissions/?status=ALL', '/admin/commissions?status=ALL'],
])('308 from %s to the path without the slash', async (from, to) => {
  const { status, headers } = await owner.open(from)
  expect([status, headers.get('Location')]).toEqual([308, to])
})

test('404 for API paths with a trailing slash', async () => {
  for (const path of ['/admin/v1/', '/admin/v1/keys/']) expect((await owner.open(path)).status).toBe(404)
})

const PAGES = join(import.meta.dirname, '../../server/src/dashboard')
/** The fields of all forms. */
const names = new Set(
  globSync('**/*.ts', { cwd: PAGES })
    .map((file) => readFileSync(join(PAGES, file), 'utf8'))
    .flatMap((text) => [...text.matchAll(/\b(?:name: '|name="|(?:select|checkbox|checkboxes)\(\s*')(\w+)['"]/g)])
    .map(([, name = '']) => name),
)

/** Names of fields, such as at the beginning of a sentence, and what only a caller of the API can do. */
const OF_THE_API =
  /^[a-z]|\bdebtor\.|\b[a-z]+[A-Z]\w+|\b[Ss]end (either|\w+ to)\b|\b[Ff]etch\b|property of this request/

/** Ids of the example shop by the first part of a path. */
const IDS: Record<string, string> = {
  affiliates: ID.affiliate,
  commissions: ID.pending,
  deliveries: ID.delivery,
  keys: ID.key,
  'payout-files': ID.file,
  payouts: ID.batch,
  programs: ID.program,
  'test-shops': ID.testShop,
  webhooks: ID.webhook,
}

test('form errors contain no API field names or API instructions', async ({ ownerServer: server }) => {
  const visitor = visitorOf(server)
  await visitor.signIn()
  const forms = server.routes.filter(({ method, path }) => method === 'POST' && /^\/admin\/(?!v1|sign-)/.test(path))
  const paths = [...new Set(forms.map(({ path }) => path))].map((path) =>
    path.replace(':move', 'approve').replace(/:\w+/g, IDS[path.split('/')[2] ?? ''] ?? 'none'),
  )
  expect(paths.length).toBeGreaterThan(30)
  const { text } = await visitor.open('/admin')
  const csrf = /name="csrf" value="(\w+)"/.exec(text)?.[1] ?? ''
  const wrong: string[] = []
  for (const path of paths) {
    for (const value of ['', '-']) {
      const fields = [...names].map((name): [string, string] => [name, value])
      const reply = await visitor.send(path, [['csrf', csrf], ...fields])
      const notice = reply.status < 400 ? '' : noticeOf(reply)
      if (OF_THE_API.test(notice)) wrong.push(`${path}: ${notice}`)
    }
  }
  expect(wrong).toEqual([])
})
