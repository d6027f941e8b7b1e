import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { validateXML } from 'xmllint-wasm'
import { paymentText } from '../../server/src/domains/payments/payment-file.ts'
import { toSepaText } from '../../server/src/domains/payments/sepa-text.ts'
import { statement, statusReport } from '../payouts/bank-messages.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { cli, json, noTerminal, onTerminal, openShop, type Shop } from './support.ts'

const folder = temporaryFolder()
let shop: Shop
beforeAll(async () => {
  shop = await openShop()
}, 60_000)
afterAll(async () => {
  await shop.close()
  folder.remove()
})

interface Line {
  affiliateId: string
  name: string
  state: string
  amountCents: number
  reason: string | null
  paymentReference: string | null
}

// Valid IBANs of five countries, and names that a bank cannot process as they are.
const PAYEES = [
  ['Zoë Müller', 'DE89 3704 0044 0532 0130 00', 'COBADEFFXXX', 'Berlin', 'DE'],
  ['Łukasz Żółć', 'PL61 1090 1014 0000 0712 1981 2874', 'WBKPPLPP', 'Łódź', 'PL'],
  ['Γιώργος Παπαδόπουλος', 'GR16 0110 1250 0000 0001 2300 695', 'ETHNGRAA', 'Αθήνα', 'GR'],
  ["Renée D'Arc & <Fils>", 'FR14 2004 1010 0505 0001 3M02 606', 'PSSTFRPP', 'Besançon', 'FR'],
  ['Ægir Þórsson', 'IS14 0159 2600 7654 5510 7303 39', 'GLITISRE', 'Reykjavík', 'IS'],
] as const

/** Creates five affiliates with an order of 10.00 euros each in a month, and a batch. */
async function euroBatch(month: string): Promise<string> {
  const program = await shop.client.programs.create({ name: month, commissionPercent: 10, autoApproveOrder: true })
  for (const [i, [name, iban, bic, town, country]] of PAYEES.entries()) {
    const email = `p${i}-${month}@example.com`
    const { id } = await shop.client.affiliates.create({ email, name, campaignId: program.id })
    await shop.client.affiliates.update(id, { status: 'APPROVED' })
    const order = { externalOrderId: `${month}-${i}`, ref: id, amountCents: 10_000 + i * 10, currency: 'EUR' }
    await shop.client.events.conversion({ ...order, occurredAt: `${month}-10` })
    const details = ['--name', name, '--iban', iban, '--bic', bic, '--town', town, '--country', country]
    await json(['affiliates', 'payee', 'set', id, '--method', 'SEPA', ...details], { env: shop.env })
  }
  return (await json<{ id: string }>(['payouts', 'create', '--month', month], { env: shop.env })).id
}

const FROM = ['--from-name', 'Hüte GmbH', '--from-iban', 'DE02120300000000202051', '--from-bic', 'BYLADEM1001']
const exportTo = (batch: string, fileId: string, ...more: string[]) =>
  cli(['payouts', 'export', batch, '--file-id', fileId, '--dir', folder.path, ...more], { env: shop.env })
const linesOf = (batch: string) => json<Line[]>(['payouts', 'lines', batch, '--all'], { env: shop.env })
const write = (name: string, text: string) => {
  const file = join(folder.path, name)
  writeFileSync(file, text)
  return file
}
const setTimeZone = (timeZone: string) =>
  json(['api', 'PATCH', '/admin/v1/settings', '--input', '-'], { env: shop.env, input: JSON.stringify({ timeZone }) })
const reconcile = (file: string) => cli(['payouts', 'reconcile', file, '--json'], { env: shop.env })
const resultsOf = ({ stdout }: { stdout: string }) => JSON.parse(stdout).map(({ result }: { result: string }) => result)

const SCHEMA = readFileSync(new URL('../payouts/pain.001.001.09.xsd', import.meta.url), 'utf8')

/** The problems of a message according to its schema. */
const problemsOf = async (contents: string) =>
  (
    await validateXML({
      xml: [{ fileName: 'message.xml', contents }],
      schema: [{ fileName: 'pain.xsd', contents: SCHEMA }],
    })
  ).errors.map(({ message }) => message)

test('a bank returns two of five payments, and the next batch pays them', async () => {
  const batch = await euroBatch('2026-09')
  const exported = await exportTo(batch, 'september', '--format', 'sepa', '--execution-date', '2027-10-05', ...FROM)
  expect(exported.code, exported.stderr).toBe(0)
  const file = join(folder.path, 'payouts-sepa-EUR-september.xml')
  const message = readFileSync(file, 'utf8')
  expect(await problemsOf(message)).toEqual([])
  expect(message).toContain('<CtrlSum>50.10</CtrlSum>')
  expect(message).toContain('<Ustrd>Referrals 2026-09</Ustrd>')
  for (const name of ['Zoe Muller', 'Lukasz Zolc', 'Giorgos Papadopoylos', "Renee D'Arc + .Fils.", 'AEgir THorsson'])
    expect(message).toContain(`<Nm>${name.replace("'", '&apos;')}</Nm>`)
  // Exporting again writes the same file, also in another time zone.
  await setTimeZone('America/New_York')
  const again = await exportTo(batch, 'september', '--format', 'sepa')
  await setTimeZone('UTC')
  expect(again.code, again.stderr).toBe(0)
  expect(readFileSync(file, 'utf8')).toBe(message)
  const lines = await linesOf(batch)
  expect(lines.map(({ state }) => state)).toEqual(Array(5).fill('SENT'))

  const [one, two, ...settled] = lines as [Line, Line, ...Line[]]
  const booked = write('november.xml', statement(lines.map((line) => ({ line }))))
  const first = await reconcile(booked)
  expect([first.code, resultsOf(first)]).toEqual([0, Array(5).fill('settled')])
  const returns = write('returns.xml', statement([one, two].map((line) => ({ line, isReturned: true }))))
  expect(resultsOf(await reconcile(returns))).toEqual(['returned', 'returned'])
  const repeated = [await reconcile(booked), await reconcile(returns)]
  expect(repeated.map(({ code }) => code)).toEqual([0, 0])
  expect(resultsOf(repeated[0]!).sort()).toEqual([
    ...Array(2).fill('already_returned'),
    ...Array(3).fill('already_settled'),
  ])
  expect((await linesOf(batch)).map(({ state }) => state)).toEqual([
    'RETURNED',
    'RETURNED',
    ...settled.map(() => 'SETTLED'),
  ])
  expect((await shop.client.payouts.list({ id: batch })).data[0]).toMatchObject({ status: 'PAID' })

  const thisMonth = new Date().toISOString().slice(0, 7)
  const next = (await json<{ id: string }>(['payouts', 'create', '--month', thisMonth], { env: shop.env })).id
  expect((await linesOf(next)).map(({ affiliateId, amountCents }) => [affiliateId, amountCents])).toEqual(
    [one, two].map(({ affiliateId, amountCents }) => [affiliateId, amountCents]),
  )
  const retried = await exportTo(next, 'retry', '--format', 'sepa', ...FROM)
  expect([retried.code, retried.stderr]).toEqual([0, expect.not.stringContaining('blocked')])
  const retriedLines = await linesOf(next)
  const last = write('last.xml', statement(retriedLines.map((line) => ({ line }))))
  expect(resultsOf(await reconcile(last))).toEqual(['settled', 'settled'])
  expect((await shop.client.payouts.list({ id: next })).data[0]).toMatchObject({ status: 'PAID' })
}, 120_000)

describe('other reports', () => {
  let lines: Line[]
  let batch: string
  beforeAll(async () => {
    batch = await euroBatch('2026-08')
    expect((await exportTo(batch, 'august', '--format', 'csv')).code).toBe(0)
    lines = await linesOf(batch)
  }, 60_000)

  const decimal = (line: Line) => (line.amountCents / 100).toFixed(2)

  test('PayPal as JSON: what is not final is named and changes nothing', async () => {
    const items = [
      { transaction_status: 'UNCLAIMED', payout_item: { sender_item_id: lines[0]?.paymentReference } },
      {
        transaction_id: 'T1',
        transaction_status: 'SUCCESS',
        payout_item: {
          sender_item_id: lines[0]?.paymentReference,
          amount: { value: decimal(lines[0]!), currency: 'EUR' },
        },
      },
      { transaction_status: 'SUCCESS', payout_item: { sender_item_id: 'PLN01KAH0000000000000000000ZZ' } },
      { transaction_status: 'SUCCESS', payout_item: { sender_item_id: 'another system' } },
    ]
    const done = await reconcile(write('paypal.json', JSON.stringify({ items })))
    expect([done.code, resultsOf(done)]).toEqual([8, ['settled', 'unknown']])
    expect(done.stderr).toContain('UNCLAIMED is not final')
    expect(done.stderr).toContain('PLN01KAH0000000000000000000ZZ: unknown')
  })

  test('PayPal as CSV, with a payment that failed', async () => {
    const rows = [
      'Recipient,Amount,Currency,Unique ID,Transaction ID,Status,Error',
      `p@x.example,-${decimal(lines[1]!)},EUR,${lines[1]?.paymentReference},T2,FAILED,RECEIVER_UNREGISTERED`,
    ]
    expect(resultsOf(await reconcile(write('paypal.csv', rows.join('\n'))))).toEqual(['returned'])
    expect((await linesOf(batch))[1]).toMatchObject({ state: 'RETURNED', reason: 'RECEIVER_UNREGISTERED' })
  })

  test('Wise: other transfers are skipped, and another amount changes nothing, as a dry run shows', async () => {
    const head =
      'ID,Status,Direction,"Created on","Finished on","Target amount (after fees)","Target currency",Reference'
    const row = (id: string, status: string, direction: string, amount: string, line: Line | undefined) =>
      `${id},${status},${direction},2026-11-03 08:00:00,2026-11-03 09:00:00,${amount},EUR,${line?.paymentReference}`
    const rows = [
      row('W1', 'COMPLETED', 'OUT', '1', lines[2]),
      row('W2', 'COMPLETED', 'IN', decimal(lines[2]!), lines[2]),
      row('W3', 'COMPLETED', 'OUT', decimal(lines[2]!), lines[2]),
    ]
    const file = write('wise.csv', [head, ...rows].join('\n'))
    // A dry run shows the same and records nothing.
    const dry = await cli(['payouts', 'reconcile', file, '--dry-run', '--json'], { env: shop.env })
    const done = await reconcile(file)
    for (const one of [dry, done]) {
      expect([one.code, resultsOf(one)]).toEqual([8, ['amount_mismatch', 'settled']])
      expect(one.stderr).toContain(`reported with 1.00 EUR, but ${decimal(lines[2]!)} EUR was sent`)
    }
    expect(dry.stderr).toContain('nothing was recorded')
    expect(dry.stderr).toContain('1 settled, 0 returned, 0 already recorded, 1 to review, 0 unreadable')
  })

  test('CSV: usual words of outcomes are accepted, and unknown ones named, with 8 and the accepted ones', async () => {
    const rows = (outcome: string) => `paymentReference,outcome\n${lines[2]?.paymentReference},${outcome}`
    for (const outcome of ['paid', 'COMPLETED', 'Success', 'succeeded', 'settled']) {
      const done = await reconcile(write('words.csv', rows(outcome)))
      expect([done.code, resultsOf(done)]).toEqual([0, ['already_settled']])
    }
    const pending = await reconcile(write('words.csv', rows('processing')))
    expect([pending.code, pending.stderr]).toEqual([0, expect.stringContaining('PROCESSING is not final')])
    for (const more of [[], ['--dry-run']]) {
      const file = write('words.csv', rows('payd'))
      const done = await cli(['payouts', 'reconcile', file, ...more], { env: shop.env })
      expect(done.code, done.stderr).toBe(8)
      expect(done.stderr).toContain('line 2: the outcome PAYD is unknown; use SETTLED, PAID, COMPLETED')
    }
  })

  test('a reference with a missing character is named, with 8, and other payments are not', async () => {
    const reference = (lines[2]?.paymentReference ?? '').slice(0, -1)
    const item = (id: string) => ({ transaction_status: 'SUCCESS', payout_item: { sender_item_id: id } })
    const bank = statement([{ line: { ...lines[2]!, paymentReference: reference } }])
    for (const [name, text] of [
      ['typo.csv', `paymentReference,outcome\n${reference},SETTLED`],
      ['typo.json', JSON.stringify({ items: [item(reference), item('PLN 120 Hats')] })],
      ['typo.xml', bank],
    ] as const) {
      const done = await reconcile(write(name, text))
      expect([done.code, resultsOf(done)], name).toEqual([8, []])
      expect(done.stderr).toContain(`${reference} is not a payment reference`)
      expect(done.stderr).not.toContain('Hats:')
    }
  })

  /** Two payments, the second with an amount that was not quoted. */
  const SHIFTED = `paymentReference,outcome,amount,currency\nPLN${'0'.repeat(26)},SETTLED,1.00,EUR
PLN${'0'.repeat(25)}1,SETTLED,1,234.00,EUR\n`

  test('a status report rejects one payment, and then the file as a whole', async () => {
    const rejected = `<TxInfAndSts><OrgnlEndToEndId>${lines[3]?.paymentReference}</OrgnlEndToEndId><TxSts>RJCT</TxSts>
      <StsRsnInf><Rsn><Cd>AC01</Cd></Rsn></StsRsnInf></TxInfAndSts>`
    expect(resultsOf(await reconcile(write('one.xml', statusReport('august', '', rejected))))).toEqual(['returned'])
    const whole = await reconcile(write('whole.xml', statusReport('august', '<GrpSts>RJCT</GrpSts>')))
    expect(resultsOf(whole).sort()).toEqual([...Array(2).fill('already_returned'), ...Array(3).fill('returned')])
    expect((await shop.client.payouts.list({ id: batch })).data[0]).toMatchObject({ status: 'PAID' })
  })

  test('a status report whose parts differ changes nothing, with 8', async () => {
    const parts = '<PmtInfSts>ACSC</PmtInfSts></OrgnlPmtInfAndSts><OrgnlPmtInfAndSts><PmtInfSts>RJCT</PmtInfSts>'
    const done = await reconcile(write('parts.xml', statusReport('august', '<GrpSts>PART</GrpSts>', parts)))
    expect([done.code, resultsOf(done)]).toEqual([8, []])
    expect(done.stderr).toContain('august has parts with different statuses')
  })

  test('a statement with 20,000 entries of other payments is read', async () => {
    const other =
      '\n      <Ntry><NtryDtls><TxDtls><Refs><EndToEndId>NOTPROVIDED</EndToEndId></Refs></TxDtls></NtryDtls></Ntry>'
    const text = `<Document><BkToCstmrStmt><Stmt>${other.repeat(20_000)}</Stmt></BkToCstmrStmt></Document>`
    const done = await reconcile(write('long.xml', text))
    expect([done.code, done.stderr]).toEqual([0, expect.stringContaining('20000 of other payments')])
  })

  test.for([
    [
      'a document type',
      '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><Document>&x;</Document>',
      'document type',
    ],
    ['broken XML', '<Document><CstmrPmtStsRpt></Document>', 'not well-formed'],
    ['another message', '<Document><Other/></Document>', 'neither pain.002'],
    ['another table', 'a,b\n1,2', 'no known report layout'],
    ['another object', '{"rows":[]}', 'no items'],
    ['an item that is not an object', '{"items":[{},null]}', 'Item 2 of'],
    ['an amount whose separator splits it', SHIFTED, 'Line 3 of'],
    ['a row without the last cells', 'paymentReference,outcome,amount,currency\nPLN1,SETTLED', 'Line 2 of'],
    ['a quote without an end', `paymentReference,outcome\n"${'a""'.repeat(1_000_000)}`, 'Unclosed quote on line 2'],
    ['100,000 columns', Array.from({ length: 100_000 }, (_, i) => `c${i}`).join(','), 'more than 1000 columns'],
    ['a long text', `<Document><Cd>${'&#x41;'.repeat(200_000)}</Cd></Document>`, 'more than 10000 characters'],
    ['a long attribute', `<Document a="${'x'.repeat(1_000_000)}"/>`, 'not well-formed'],
    ['deep elements', `${'<Cd>'.repeat(1_000_000)}`, 'more than 100 nested elements'],
  ] as const)('exit code 2 for %s', async ([, text, message]) => {
    const { code, stderr } = await reconcile(write('wrong', text))
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)])
    expect(stderr).not.toContain('TypeError')
  })
})

test('who cannot be paid is named, and paid by a later file', async () => {
  const program = await shop.client.programs.create({ name: 'July', commissionPercent: 10, autoApproveOrder: true })
  const affiliate = async (name: string) => {
    const { id } = await shop.client.affiliates.create({ email: `${name}@july.example`, name, campaignId: program.id })
    await shop.client.affiliates.update(id, { status: 'APPROVED' })
    const order = { externalOrderId: `july-${name}`, ref: id, amountCents: 12_345, currency: 'USD' }
    await shop.client.events.conversion({ ...order, occurredAt: '2026-07-10' })
    return id
  }
  const [paid, blocked] = [await affiliate('paid'), await affiliate('=cmd')]
  const setPaypal = (id: string) =>
    json(['affiliates', 'payee', 'set', id, '--stdin'], {
      env: shop.env,
      input: JSON.stringify({ method: 'PAYPAL', email: 'p@pay.example' }),
    })
  expect(await setPaypal(paid)).toMatchObject({ account: 'p…@pay.example' })
  const { id } = await json<{ id: string }>(['payouts', 'create', '--month', '2026-07'], { env: shop.env })
  const first = await exportTo(id, 'july', '--format', 'paypal')
  expect(first.code).toBe(8)
  expect(first.stderr).toContain('blocked: =cmd <=cmd@july.example> 12.35 USD: No payee details')
  const reference = (await linesOf(id)).find(({ state }) => state === 'SENT')?.paymentReference
  const text = readFileSync(join(folder.path, 'payouts-paypal-USD-july.csv'), 'utf8')
  expect(text).toMatch(new RegExp(`^p@pay\\.example,12\\.35,USD,${reference},Referrals 2026-07,PAYPAL\r\n$`))
  await setPaypal(blocked)
  expect((await exportTo(id, 'july-2', '--format', 'csv')).code).toBe(0)
  const csv = readFileSync(join(folder.path, 'payouts-csv-USD-july-2.csv'), 'utf8')
  expect(csv).toContain(`,${blocked},'=cmd,'=cmd@july.example,USD,1235,12.35,PAYPAL,'=cmd,p@pay.example,`)
  expect(csv).toContain(',Referrals 2026-07\r\n')
}, 60_000)

test('the total to confirm excludes a returned payment, which is in the next batch', async () => {
  const id = await euroBatch('2026-03')
  expect((await exportTo(id, 'march', '--format', 'csv')).code).toBe(0)
  const [line] = (await linesOf(id)) as [Line]
  const report = `paymentReference,outcome\n${line.paymentReference},RETURNED`
  expect((await reconcile(write('march.csv', report))).code).toBe(0)
  const pay = (cents: number) =>
    cli(['payouts', 'pay', id, '--yes', '--expect-total', String(cents), '--json'], { env: shop.env })
  const full = await pay(5010)
  expect([full.code, JSON.parse(full.stderr)]).toEqual([
    5,
    expect.objectContaining({
      code: 'payout_total_mismatch',
      message: expect.stringContaining(`${(line.amountCents / 100).toFixed(2)} EUR was returned`),
    }),
  ])
  if (!noTerminal) {
    const wrong = await onTerminal(['payouts', 'pay', id], { env: shop.env, answers: [[/Type the total/, '50.10\n']] })
    expect(wrong.code).toBe(9)
    const due = ((5010 - line.amountCents) / 100).toFixed(2)
    expect(wrong.output).toContain(`Type the total to confirm (${due})`)
  }
  const untracked = await cli(['payouts', 'export', id, '--dir', folder.path, '--dry-run'], { env: shop.env })
  expect(untracked.stderr).toContain('Add --file-id')
  for (const format of ['paypal', 'wise']) {
    const twice = await cli(['payouts', 'export', id, '--format', format, '--dir', folder.path, '--json'], shop)
    expect([format, twice.code, JSON.parse(twice.stderr).code]).toEqual([format, 5, 'payout_has_sent_lines'])
  }
  expect(untracked.stderr).toContain(`--expect-total ${5010 - line.amountCents}`)
  for (const _ of ['first', 'again']) expect((await pay(5010 - line.amountCents)).code).toBe(0)
  expect(await linesOf(id)).toContainEqual(
    expect.objectContaining({ affiliateId: line.affiliateId, state: 'RETURNED' }),
  )
}, 60_000)

test('a file that was never uploaded is discarded, and its payments are sent in another one', async () => {
  const id = await euroBatch('2026-02')
  const file = 'february'
  expect((await exportTo(id, file, '--format', 'csv')).code).toBe(0)
  const discard = ['payouts', 'discard-file', file, '--json']
  const asked = await cli(discard, { env: shop.env })
  expect([asked.code, asked.stdout]).toEqual([9, ''])
  expect(await json([...discard, '--dry-run'], { env: shop.env })).toMatchObject({ method: 'POST' })
  for (const _ of ['first', 'again'])
    expect(await json([...discard, '--yes'], { env: shop.env })).toMatchObject({ status: 'DISCARDED', lines: 0 })
  const same = await exportTo(id, file, '--format', 'csv', '--json')
  expect([same.code, JSON.parse(same.stderr).code]).toEqual([5, 'payout_file_exists'])
  expect((await exportTo(id, `${file}-2`, '--format', 'csv')).code).toBe(0)
  const results = (await linesOf(id)).map((line) => `${line.paymentReference},settled`)
  const report = write('february.csv', ['paymentReference,outcome', ...results].join('\n'))
  expect((await reconcile(report)).code).toBe(0)
  const late = await cli([...discard.with(2, `${file}-2`), '--yes'], { env: shop.env })
  expect([late.code, JSON.parse(late.stderr).code]).toEqual([5, 'payout_file_not_discardable'])
})

test('the payment text names the months of the batch in the time zone of the shop', () => {
  const textOf = (periodStart: string, periodEnd: string, timeZone: string) =>
    paymentText({ periodStart, periodEnd }, timeZone)
  expect(textOf('2026-10-01T04:00:00.000Z', '2026-11-01T03:59:59.999Z', 'America/New_York')).toBe('Referrals 2026-10')
  expect(textOf('2026-09-30T22:00:00.000Z', '2026-10-31T22:59:59.999Z', 'Europe/Berlin')).toBe('Referrals 2026-10')
  expect(textOf('2026-08-01T00:00:00.000Z', '2026-10-31T23:59:59.999Z', 'UTC')).toBe('Referrals 2026-08 to 2026-10')
})

test('messages of the service name the options of the command, not the fields of the API', async () => {
  const { id } = await shop.client.affiliates.create({ email: 'no-town@example.com', name: 'No Town' })
  const details = ['--method', 'SEPA', '--name', 'No Town', '--iban', 'DE89370400440532013000', '--country', 'DE']
  const payee = await cli(['affiliates', 'payee', 'set', id, ...details], { env: shop.env })
  expect([payee.code, payee.stderr]).toEqual([2, expect.stringContaining('--town ')])
  expect(payee.stderr).not.toContain('townName')
  const batch = await euroBatch('2026-01')
  const exported = await exportTo(batch, 'january', '--format', 'sepa')
  expect([exported.code, exported.stderr]).toEqual([2, expect.stringContaining('--from-name and --from-iban')])
  const refund = ['events', 'refund', '1', '--refund-id', '1', '--amount-cents', '9000000000']
  const refunded = await cli(refund, { env: shop.env })
  expect([refunded.code, refunded.stderr]).toEqual([2, expect.stringContaining('--amount-cents')])
  expect(refunded.stderr).not.toContain('amountCents')
})

test('sepa requires a file id, and a file id one batch', async () => {
  const sepa = await cli(['payouts', 'export', 'bat_1', '--format', 'sepa'], { env: shop.env })
  const several = await cli(['payouts', 'export', 'bat_1', 'bat_2', '--file-id', 'x'], { env: shop.env })
  expect([sepa.code, several.code]).toEqual([2, 2])
})

test.for([
  ['Zoë Ångström-Müller', 'Zoe Angstrom-Muller'],
  ['ﬁne\u200bprint ½ ǅ', 'fine.print 1.2 Dz'],
  ['Владимир Щукин', 'Vladimir Shtukin'],
  ['日本', '..'],
  ['a\n\tb', 'a b'],
] as const)('the text %s is written as %s in the character set of SEPA', ([text, expected]) => {
  expect(toSepaText(text, 70)).toBe(expected)
  expect(toSepaText(text.repeat(50), 70)).toMatch(/^[A-Za-z0-9/\-?:().,'+ ]{1,70}$/)
})
