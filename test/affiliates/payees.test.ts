import { describe, expect } from 'vitest'
import { allTables, rowOf } from '../support/inspect.ts'
import { rejectionOf } from '../support/rejection.ts'
import { newAffiliate } from '../support/shop.ts'
import { testWithNewShop as test } from '../support/test.ts'

const SEPA = {
  method: 'SEPA',
  name: ' Zoë Müller ',
  iban: 'de89 3704 0044 0532 0130 00',
  bic: 'cobadeff',
  streetName: 'Hauptstraße',
  buildingNumber: '12',
  postalCode: '10827',
  townName: 'Berlin',
  country: 'DE',
}

test.for([
  [SEPA, 'DE89…3000'],
  [{ method: 'PAYPAL', email: 'zoe@pay.example' }, 'z…@pay.example'],
  [{ method: 'WISE', email: 'zoe@wise.example', name: 'Zoë Müller' }, 'z…@wise.example'],
] as const)('%j is stored sealed and shown masked', async ([details, account], { server, owner }) => {
  const { id } = await newAffiliate(server)
  const before = server.logs.length
  const { status, body } = await owner('PUT', `/affiliates/${id}/payee`, details)
  expect([status, body.data]).toMatchObject([200, { affiliateId: id, method: details.method, account }])
  expect((await owner('GET', `/affiliates/${id}/payee`)).body).toEqual(body)
  const stored = JSON.stringify([allTables(server), server.logs.slice(before)])
  for (const secret of ['370400440532013000', 'zoe@pay', 'zoe@wise', 'Müller', 'Hauptstra', 'COBADEFF'])
    expect(stored, secret).not.toContain(secret)
  const audits = (await owner('GET', '/audit?action=payee.set')).body.data
  expect(audits).toMatchObject([{ subjectId: id, data: { method: details.method } }])
})

test('details are replaced and deleted', async ({ server, owner }) => {
  const { id } = await newAffiliate(server)
  const path = `/affiliates/${id}/payee`
  await owner('PUT', path, SEPA)
  server.clock.advance(1000)
  const { data } = (await owner('PUT', path, { method: 'PAYPAL', email: 'z@pay.example' })).body
  expect(data).toMatchObject({ method: 'PAYPAL', account: 'z…@pay.example' })
  expect(data.updatedAt > data.createdAt).toBe(true)
  expect((await owner('DELETE', path)).body).toMatchObject({ ok: true, id })
  const gone = await owner('GET', path)
  expect([gone.status, gone.headers.get('X-Error-Code')]).toEqual([404, 'payee_not_found'])
})

test('the details of one affiliate cannot be read as those of another', async ({ server, owner }) => {
  const [one, two] = [await newAffiliate(server), await newAffiliate(server)]
  await owner('PUT', `/affiliates/${one.id}/payee`, SEPA)
  const { details } = rowOf(server, 'payees', { affiliateId: one.id })
  await owner('PUT', `/affiliates/${two.id}/payee`, { method: 'PAYPAL', email: 'z@pay.example' })
  const { updateRows } = await import('../support/inspect.ts')
  updateRows(server, 'payees', { details }, { affiliateId: two.id })
  expect((await owner('GET', `/affiliates/${two.id}/payee`)).body.data.account).toBeNull()
})

describe('400 payee_invalid', () => {
  test.for([
    ['wrong check digits', { iban: 'DE88370400440532013000' }, 'iban'],
    ['the length of another country', { iban: 'DE8937040044053201300' }, 'iban'],
    ['a country outside SEPA', { iban: 'TR330006100519786457841326' }, 'iban'],
    ['a malformed BIC', { bic: 'COBADEF' }, 'bic'],
    ['a BIC of another country', { bic: 'BNPAFRPP' }, 'bic'],
  ] as const)('%s', async ([, change, field], { server, owner }) => {
    const { id } = await newAffiliate(server)
    const reply = await owner('PUT', `/affiliates/${id}/payee`, { ...SEPA, ...change })
    expect(rejectionOf(reply)).toEqual({ status: 400, code: 'payee_invalid', field })
  })
})

test('400 for an email address that a spreadsheet would evaluate', async ({ server, owner }) => {
  const { id } = await newAffiliate(server)
  const reply = await owner('PUT', `/affiliates/${id}/payee`, { method: 'PAYPAL', email: '=1+1@x.example' })
  expect(rejectionOf(reply)).toEqual({ status: 400, code: 'invalid_body', field: 'email' })
})
