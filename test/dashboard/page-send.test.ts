// SQLite only: the pages call the use cases that are tested on both databases
import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import { validateXML } from 'xmllint-wasm'
import { codeOf, linesOf, openBatch, send, setPayee } from '../payouts/payments.ts'
import { addAffiliate, addCommission, OCTOBER } from '../payouts/rows.ts'
import { insertRows, rowsOf, updateRows } from '../support/inspect.ts'
import { rejectionOf } from '../support/rejection.ts'
import { expectOk } from '../support/shop.ts'
import { testWithNewShop as test } from '../support/test.ts'
import { type Fields, noticeOf, visitorOf, wordsOf } from './visitor.ts'

type Server = Parameters<typeof addAffiliate>[0]

async function ownerOf(server: Server) {
  const owner = visitorOf(server)
  await owner.signIn(server.shop.ownerToken)
  return owner
}

/** The fields that a page has filled in. */
const hiddenIn = (text: string): Fields =>
  [...text.matchAll(/type="hidden" name="(format|fileId)" value="([^"]*)"/g)].map(([, name = '', value = '']) => [
    name,
    value,
  ])

test('payments are sent once, after confirmation; the file can be downloaded repeatedly', async ({ server }) => {
  const batch = await openBatch(server, 2)
  const blocked = addAffiliate(server)
  addCommission(server, { affiliateId: blocked })
  const page = await ownerOf(server)
  const path = `/admin/payouts/${batch.id}`
  const shown = (await page.open(path)).text
  expect(shown).toContain(`${path}/send?format=paypal`)
  // SEPA pays euros.
  expect(shown).not.toContain('format=sepa')

  const asked = await page.open(`${path}/send?format=paypal`)
  expect(wordsOf(asked.text)).toContain('2 payments 20.00 USD')
  expect((await linesOf(server, batch.id)).totals).toMatchObject({ READY: { lines: 2 }, SENT: { lines: 0 } })
  const fields = hiddenIn(asked.text)
  expect(codeOf(await page.send(`${path}/send`, fields))).toEqual([403, 'csrf_token_invalid'])
  for (let n = 0; n < 2; n++) expect((await page.submit(`${path}/send`, fields)).status).toBe(303)
  const [file, ...more] = (await expectOk(server.owner('GET', `/payouts/${batch.id}/files`))) as { id: string }[]
  expect(more).toEqual([])
  expect(noticeOf(await page.open(path))).toContain('2 payments marked as sent: 20.00 USD')

  const download = `/admin/payout-files/${file?.id}/download`
  expect((await page.open(`${path}?view=files`)).text).toContain(download)
  const first = await page.open(download)
  expect(first.status).toBe(200)
  expect(first.headers.get('Content-Disposition')).toBe(`attachment; filename="payouts-paypal-USD-${file?.id}.csv"`)
  const references = (await linesOf(server, batch.id)).data.map(({ paymentReference }) => paymentReference)
  expect(first.text.split('\r\n')).toEqual([
    ...references.toSorted().map((one) => `p@pay.example,10.00,USD,${one},Referrals 2026-10,PAYPAL`),
    '',
  ])
  // What is changed afterwards is not part of the file.
  const other = { method: 'PAYPAL', email: 'new@pay.example' }
  await expectOk(server.owner('PUT', `/affiliates/${batch.affiliateIds[0]}/payee`, other))
  server.clock.advance(60_000)
  expect((await page.open(download)).text).toBe(first.text)

  expect((await page.open(`${download}?part=2`)).status).toBe(400)
  expect(wordsOf((await page.open(`${path}/send?format=wise`)).text)).toContain('None of this batch’s payments')
  await page.submit(`/admin/payout-files/${file?.id}/discard`)
  expect(codeOf(await page.open(download))).toEqual([409, 'payout_file_exists'])
  const stranger = visitorOf(server)
  await stranger.signIn((await server.createShop()).ownerToken)
  expect(codeOf(await stranger.open(download))).toEqual([404, 'payout_file_not_found'])
})

test('a SEPA file asks for the account, and a file of a service is split where the service requires it', async ({
  server,
}) => {
  const affiliateId = addAffiliate(server, { name: 'Zoë Müller' })
  const payee = {
    method: 'SEPA',
    name: 'Zoë <Müller> & Co',
    iban: 'DE89370400440532013000',
    townName: 'Köln',
    country: 'DE',
  }
  await expectOk(server.owner('PUT', `/affiliates/${affiliateId}/payee`, payee))
  addCommission(server, { affiliateId, currency: 'EUR' })
  const page = await ownerOf(server)
  const euros = await server.client.payouts.create({ ...OCTOBER, currency: 'EUR' })
  const path = `/admin/payouts/${euros.id}/send`
  const fields = hiddenIn((await page.open(`${path}?format=sepa`)).text)
  const account = (iban: string, executionDate = '2026-11-05'): Fields => [
    ...fields,
    ['debtorName', 'Hüte GmbH'],
    ['debtorIban', iban],
    ['executionDate', executionDate],
  ]
  for (const [day, message] of [
    ['2026-11-01', 'past'],
    ['2026-11-31', 'date'],
  ] as const) {
    const past = await page.submit(path, account('DE02120300000000202051', day))
    expect([past.status, noticeOf(past)]).toEqual([
      400,
      expect.stringMatching(new RegExp(`^Execution date must .*${message}`)),
    ])
    expect(past.text).toMatch(/<input id="executionDate"[^>]* aria-invalid="true"/)
    const debtor = { name: 'Shop', iban: 'DE02120300000000202051' }
    const body = { batchId: euros.id, format: 'sepa', executionDate: day, debtor }
    const sent = await server.owner('PUT', '/payout-files/past', body)
    expect(rejectionOf(sent)).toEqual({ status: 400, code: 'invalid_body', field: 'executionDate' })
  }
  const wrong = await page.submit(path, account('DE00'))
  expect([wrong.status, noticeOf(wrong)]).toEqual([400, expect.stringContaining('IBAN')])
  expect(wrong.text).toContain('aria-describedby="debtorIban-problem"')
  expect((await page.submit(path, account('DE02120300000000202051'))).status).toBe(303)
  const fileId = fields.find(([name]) => name === 'fileId')?.[1]
  const { text, headers } = await page.open(`/admin/payout-files/${fileId}/download`)
  expect(headers.get('Content-Type')).toBe('application/xml; charset=utf-8')
  expect(text).toContain('<Nm>Zoe .Muller. + Co</Nm>')
  const schema = readFileSync(new URL('../payouts/pain.001.001.09.xsd', import.meta.url), 'utf8')
  const { errors } = await validateXML({
    xml: [{ fileName: 'message.xml', contents: text }],
    schema: [{ fileName: 'pain.xsd', contents: schema }],
  })
  expect(errors).toEqual([])

  const paid = addAffiliate(server)
  await setPayee(server, paid)
  const wise = { method: 'WISE', email: 'w@pay.example', name: 'Wanda' }
  await expectOk(server.owner('PUT', `/affiliates/${paid}/payee`, wise))
  addCommission(server, { affiliateId: paid })
  const { id } = await server.client.payouts.create(OCTOBER)
  await send(server, 'many', id, 'wise')
  // The other lines of a file that is too long to be created in a test.
  const { vault } = server.deps
  const [line] = rowsOf(server, 'payoutLines', { fileId: 'many' })
  const details = vault.open(line!.details, line!.id) ?? ''
  const copies = Array.from({ length: 1000 }, () => {
    const copy = server.deps.newId('pln')
    return { ...line!, id: copy, affiliateId: server.deps.newId('aff'), details: vault.seal(details, copy) }
  })
  insertRows(server, 'payoutLines', copies)
  updateRows(server, 'payoutFiles', { lines: 1001 }, { id: 'many' })
  const parts = await Promise.all([1, 2].map((part) => page.open(`/admin/payout-files/many/download?part=${part}`)))
  const rows = parts.map((part) => part.text.trimEnd().split('\r\n'))
  expect(rows.map(({ length }) => length)).toEqual([1001, 2])
  expect(rows[0]?.[0]).toBe(rows[1]?.[0])
  const written = rows.flatMap((all) => all.slice(1).map((row) => row.split(',')[2]))
  expect(new Set(written).size).toBe(1001)
  expect((await page.open(`/admin/payouts/${id}?view=files`)).text).toContain(
    '/admin/payout-files/many/download?part=2',
  )
})
