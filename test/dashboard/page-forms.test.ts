// SQLite only: the pages call the use cases that are tested on both databases
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { document } from '../support/document.ts'
import { admin } from '../support/owner.ts'
import { codeOf, FOREIGN, HOSTILE, openPageShop, type PageShop } from './fixture.ts'
import { type Fields, noticeOf, visitorOf, wordsOf } from './visitor.ts'

let server: PageShop['server']
let owner: PageShop['owner']
let audits: PageShop['audits']
let lastAudit: PageShop['lastAudit']
let order: PageShop['order']
beforeAll(async () => {
  ;({ server, owner, audits, lastAudit, order } = await openPageShop())
})
afterAll(() => server.close())

describe('forms', () => {
  const key: [string, string][] = [
    ['label', 'Forged'],
    ['access-programs', 'read'],
  ]

  test('403 without the CSRF token of this session or from another site, 400 for another content type; nothing changes', async () => {
    const before = audits().length
    const other = visitorOf(server)
    await other.signIn()
    const csrf =
      /name="csrf" value="(\w+)"/.exec(
        (await other.open('/admin/sign-in')).text + (await other.open('/admin')).text,
      )?.[1] ?? ''
    expect(codeOf(await owner.send('/admin/keys', key))).toEqual([403, 'csrf_token_invalid'])
    expect(codeOf(await owner.send('/admin/keys', [['csrf', csrf], ...key]))).toEqual([403, 'csrf_token_invalid'])
    for (const forged of FOREIGN)
      expect(codeOf(await owner.submit('/admin/keys', key, forged))).toEqual([403, 'csrf_token_invalid'])
    const json = await owner.submit('/admin/keys', key, { 'Content-Type': 'text/plain' })
    expect(codeOf(json)).toEqual([400, 'invalid_body'])
    const changes = audits()
      .slice(before)
      .filter(({ action }) => !/shown|session/.test(action))
    expect(changes).toEqual([])
  })

  test('400 for twenty thousand fields, before they are read', async () => {
    const fields = (count: number): [string, string][] => Array.from({ length: count }, () => ['a', ''])
    const refused = await owner.submit('/admin/keys', fields(20_000))
    expect(codeOf(refused)).toEqual([400, 'invalid_body'])
    expect(noticeOf(refused)).toContain('1000 fields')
    expect(noticeOf(await owner.submit('/admin/keys', fields(999)))).not.toContain('fields')
  })

  test('400 on the page of the form, with the input preserved', async () => {
    const refused = await owner.submit('/admin/keys', [['label', `"><i>${HOSTILE}`]])
    expect(codeOf(refused)).toEqual([400, 'invalid_body'])
    expect(noticeOf(refused)).toContain('at least one resource')
    expect(refused.text).toContain('value="&quot;&gt;&lt;i&gt;Mira')
    expect(refused.text).not.toContain('<i>')
    const late = await owner.submit('/admin/keys', [...key, ['expiresAt', '2020-01-01']])
    expect(noticeOf(late)).toMatch(/^Expires must/)
    expect(late.text).toMatch(/name="access-programs" value="read"[^>]* checked/)
    const url = await owner.submit('/admin/webhooks', [['url', 'http://shop.example/x']])
    expect(codeOf(url)).toEqual([400, 'webhook_url_refused'])
    expect(noticeOf(url)).toMatch(/^URL must .*https:/)
  })
})

test.each([
  [
    '/programs/new',
    '/programs/new',
    '/programs',
    {
      commissionPercent: '10',
      name: 'Twice',
      cookieDurationDays: '30',
      commissionType: 'PERCENT_OF_SALE',
      status: 'DRAFT',
    },
  ],
  ['/keys', '/keys', '/keys', { label: 'Twice', 'access-events': 'write' }],
])('409 for the form of %s sent twice: one is created', async (page, path, list, given) => {
  const newIds = async () => /name="newId" value="(\w+)"/.exec((await owner.open(`/admin${page}`)).text)?.[1] ?? ''
  const fields: Fields = [...Object.entries(given), ['newId', await newIds()]]
  const sent = await Promise.all([owner.submit(`/admin${path}`, fields), owner.submit(`/admin${path}`, fields)])
  expect(sent.map(({ status }) => status).toSorted()).toEqual([303, 409])
  expect(noticeOf(sent.find(({ status }) => status === 409)!)).toMatch(
    /was already created when you first sent the form/,
  )
  const shown = async () => (await owner.open(`/admin${list}`)).text.match(/>Twice</g)?.length
  expect(await shown()).toBe(1)
  // The next form, and one of a program without the field, create another.
  for (const id of [await newIds(), 'other_01ARZ3NDEKTSV4RRFFQ69G5FAV', ''])
    expect((await owner.submit(`/admin${path}`, [...Object.entries(given), ['newId', id]])).status).toBe(303)
  expect(await shown()).toBe(4)
})

test('forms write audit records with their user', async () => {
  const id = await order()
  const approved = await owner.submit(`/admin/commissions/${id}/approve`, [['status', 'PENDING']])
  expect([approved.status, approved.headers.get('Location')]).toEqual([303, '/admin/commissions?status=PENDING'])
  const record = audits().at(-1)
  expect([record?.action, record?.subjectId, record?.actor.startsWith('user:usr_')]).toEqual([
    'commission.approved',
    id,
    true,
  ])
  const approvals = () => audits().filter(({ action }) => action === 'commission.approved').length
  const written = approvals()
  expect((await owner.submit(`/admin/commissions/${id}/approve`)).status).toBe(303)
  expect(approvals()).toBe(written)
  const reopened = await owner.submit(`/admin/commissions/${id}/reopen`)
  expect(codeOf(reopened)).toEqual([409, 'commission_move_not_allowed'])
  expect(noticeOf(reopened)).toContain('APPROVED')
  expect(codeOf(await owner.submit('/admin/commissions/com_x/approve'))).toEqual([404, 'commission_not_found'])
  expect(codeOf(await owner.submit(`/admin/commissions/${id}/steal`))).toEqual([404, 'path_unknown'])
})

test('several commissions are moderated at once; a batch is paid only with its typed total', async () => {
  const ids = [await order(), await order()]
  const fields = ids.map((id): [string, string] => ['ids', id])
  const moved = await owner.submit('/admin/commissions/moderate', [...fields, ['move', 'approve']])
  expect(moved.status).toBe(303)
  expect(noticeOf(await owner.open('/admin/commissions'))).toBe('2 commissions approved.')
  expect(noticeOf(await owner.submit('/admin/commissions/moderate', [['move', 'approve']]))).toContain('at least one')
  const november: [string, string][] = [
    ['from', '2026-11-01'],
    ['until', '2026-11-30'],
  ]
  const preview = await owner.open(`/admin/payouts/new?${new URLSearchParams(november)}`)
  const total = /Create batch of ([\d.,]+ USD)/.exec(preview.text)?.[1] ?? ''
  const batch = (await owner.submit('/admin/payouts', november)).headers.get('Location') ?? ''
  expect(batch).toMatch(/^\/admin\/payouts\/bat_/)
  expect(wordsOf((await owner.open(batch)).text)).toContain(`Total ${total}`)
  const wrong = await owner.submit(`${batch}/pay`, [['total', '1.00']])
  expect(codeOf(wrong)).toEqual([409, 'payout_total_mismatch'])
  expect(codeOf(await owner.submit(`${batch}/pay`, [['total', 'all of it']]))).toEqual([400, 'invalid_body'])
  const unsent = await owner.submit(`${batch}/pay`, [['total', total]])
  expect([codeOf(unsent), noticeOf(unsent)]).toEqual([
    [400, 'invalid_body'],
    expect.stringMatching(/\d+ payments? (is|are) not in a payment file \([\d.,]+ USD\).* confirm/),
  ])
  const confirmed = await owner.submit(`${batch}/pay`, [
    ['total', total],
    ['outside', 'on'],
  ])
  expect(confirmed.status).toBe(303)
  expect(lastAudit()).toBe('payout.paid')
  expect(codeOf(await owner.submit(`${batch}/cancel`))).toEqual([409, 'payout_not_cancelable'])
  const none = await owner.open(`/admin/payouts/new?${new URLSearchParams(november)}`)
  expect(noticeOf(none)).toContain('No approved commission')
})

test('a key may access what was chosen per resource, every scope can be chosen, and nothing is chosen unasked', async () => {
  const { enum: scopes } = document.components.schemas.Scope as { enum: string[] }
  const checked = (text: string) =>
    [...text.matchAll(/name="access-(\w+)" value="(\w+)"[^>]* checked>/g)]
      .map(([, resource, level]) => `${resource}:${level}`)
      .filter((one) => !one.endsWith(':none'))
  expect(checked((await owner.open('/admin/keys')).text)).toEqual([])
  expect(checked((await owner.open('/admin/keys?preset=checkout')).text)).toEqual(['coupons:read', 'events:write'])
  const { text } = await owner.open('/admin/keys?preset=everything')
  const everything = checked(text).map((one): [string, string] => {
    const [resource = '', level = ''] = one.split(':')
    return [`access-${resource}`, level]
  })
  await owner.submit('/admin/keys', [['label', 'All'], ...everything])
  await owner.submit('/admin/keys', [
    ['label', 'Narrow'],
    ['access-affiliates', 'write'],
    ['access-payouts', 'read'],
    ['access-events', 'none'],
  ])
  const { body } = await admin(server, 'GET', '/keys')
  const scopesOf = (label: string) => body.data.find((one: { label: string }) => one.label === label).scopes
  expect(scopesOf('All')).toEqual(scopes)
  expect(scopesOf('Narrow')).toEqual(['affiliates:read', 'affiliates:write', 'payouts:read'])
  const none = await owner.submit('/admin/keys', [['label', 'None']])
  expect(noticeOf(none)).toContain('at least one resource')
  expect(wordsOf((await owner.open('/admin/keys')).text)).toContain('Affiliates: write, Payouts: read')
})

test('the confirmation to revoke a key says when it was last used', async () => {
  const { id, secret } = (await admin(server, 'POST', '/keys', { label: 'Used', scopes: ['programs:read'] })).body.data
  const confirmation = async () => wordsOf((await owner.open(`/admin/keys/${id}/revoke`)).text)
  expect(await confirmation()).toContain('never used')
  await server.request('GET', '/api/v1/programs', { key: secret })
  await vi.waitFor(async () => expect(await confirmation()).toMatch(/last used on /))
})
