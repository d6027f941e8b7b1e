import { expect } from 'vitest'
import { allTables, rowOf, updateRows } from '../support/inspect.ts'
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

test('the details of one affiliate cannot be read as those of another', async ({ server, owner }) => {
  const [one, two] = [await newAffiliate(server), await newAffiliate(server)]
  await owner('PUT', `/affiliates/${one.id}/payee`, SEPA)
  const { details } = rowOf(server, 'payees', { affiliateId: one.id })
  await owner('PUT', `/affiliates/${two.id}/payee`, { method: 'PAYPAL', email: 'z@pay.example' })
  updateRows(server, 'payees', { details }, { affiliateId: two.id })
  expect((await owner('GET', `/affiliates/${two.id}/payee`)).body.data.account).toBeNull()
})
