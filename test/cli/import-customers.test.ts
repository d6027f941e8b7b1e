// SQLite only: these tests cover the client. Customers are tested with both databases.
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { getRequestListener } from '@hono/node-server'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestServer, testServer } from '../support/server.ts'
import { newAffiliate, withAffiliate } from '../support/shop.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { cli, wrongWith } from './support.ts'

let server: TestServer
let http: Server
let env: Record<string, string>
let nisa: string
let mara: string
const folder = temporaryFolder()

beforeAll(async () => {
  server = await testServer()
  server.clock.ms = Date.now()
  const { program, affiliate } = await withAffiliate(server, { email: 'nisa@example.com' })
  nisa = affiliate.id
  const other = { name: 'Mara Weiß', email: 'mara@exämple.com', code: 'MARA', campaignId: program.id }
  mara = (await newAffiliate(server, other)).id
  await server.client.aliases.create({ affiliateId: nisa, kind: 'LINK', value: 'nisa_old' })
  http = createServer(getRequestListener((request) => server.app.fetch(request))).listen(0, '127.0.0.1')
  await once(http, 'listening')
  const { port } = http.address() as { port: number }
  env = { REFERRAL_BASE_URL: `http://127.0.0.1:${port}`, REFERRAL_API_KEY: server.shop.key }
})
afterAll(async () => {
  http.closeAllConnections()
  http.close()
  await server.close()
  folder.remove()
})

let files = 0

/** Imports a file that no run has seen. */
async function importRows(service: string, rows: readonly string[], ...args: string[]) {
  const path = join(folder.path, `customers-${++files}.csv`)
  writeFileSync(path, rows.map((row) => `${row}\n`).join(''))
  const run = async (...more: string[]) => {
    const command = ['import', service, 'customers', path, ...args, ...more, '--json']
    const { code, stdout, stderr } = await cli(command, { env })
    const report = JSON.parse(stdout || 'null')
    if (report) expect(wrongWith('CustomerImportReport', report)).toEqual([])
    const reasons = report?.failedFile ? readFileSync(report.failedFile, 'utf8').trim().split('\n').slice(1) : []
    if (report?.failedFile) rmSync(report.failedFile)
    return { code, stderr, report, reasons }
  }
  return { ...(await run()), run }
}

const customersOf = async (filter: { customerId?: string; customerEmail?: string }) =>
  (await server.client.customers.list(filter)).data.map(({ affiliateId, boundBy, boundAt, firstOrderAt, orders }) => [
    affiliateId,
    boundBy,
    boundAt,
    firstOrderAt,
    orders,
  ])

test.for<[string, string, string, number]>([
  [
    'rewardful',
    'Stripe customer ID,Customer email,Affiliate email,Link token,Conversion state,Became lead at,Became conversion at',
    'ID,jo-ID@example.com,nisa@example.com,nisa_old,conversion,2026-01-02T10:00:00Z,2026-02-03T10:00:00Z',
    1,
  ],
  [
    'firstpromoter',
    'id,email,uid,state,ref_id,promoter_email,created_at,customer_since',
    '77,jo-ID@example.com,ID,active,nisa_old,nisa@example.com,2026-01-02T10:00:00.000Z,2026-02-03T10:00:00.000Z',
    1,
  ],
  [
    'tolt',
    'id,customer_id,email,status,partner_id,partner_email,lead_at,active_at,created_at',
    'cust_1,ID,jo-ID@example.com,active,part_1,nisa@example.com,2026-01-02T10:00:00.000Z,2026-02-03T10:00:00.000Z,2026-01-01T00:00:00Z',
    1,
  ],
  [
    'dub',
    'id,name,email,externalId,sales,createdAt,firstSaleAt,link,partnerEmail',
    'cus_1,Jo,jo-ID@example.com,ID,4,2026-01-02T10:00:00.000Z,2026-02-03T10:00:00.000Z,https://refer.example/nisa,nisa@example.com',
    4,
  ],
  [
    'csv',
    'customerId;customerEmail;link;signedUpAt;firstOrderAt;orders',
    'ID;jo-ID@example.com;https://shop.example/?ref=nisa_old;02.01.2026 11:00;03.02.2026 11:00;2',
    2,
  ],
])('a customer of %s keeps affiliate, sign-up and first order', async ([service, header, row, orders]) => {
  const id = `c-${service}`
  const zone = service === 'csv' ? ['--time-zone', 'Europe/Berlin', '--date-format', 'day-first'] : []
  const { code, report, run } = await importRows(service, [`\uFEFF${header}`, row.replaceAll('ID', id)], ...zone)
  expect([code, report.bound, report.failed]).toEqual([0, 1, 0])
  const customer = [nisa, 'IMPORT', '2026-01-02T10:00:00.000Z', '2026-02-03T10:00:00.000Z', orders]
  expect(await customersOf({ customerId: id })).toEqual([customer])
  const again = await run()
  expect([again.code, again.report.bound, again.report.knownBefore]).toEqual([0, 0, 1])
  expect(await customersOf({ customerEmail: `jo-${id}@example.com` })).toEqual([customer])
})

test('a dry run reports every customer of a rejected affiliate and every deactivated one, beyond its sample', async () => {
  const rejected = await newAffiliate(server, { email: 'ron@example.com' })
  await server.client.affiliates.update(rejected.id, { status: 'REJECTED' })
  const { code, report, reasons } = await importRows(
    'rewardful',
    [
      'Stripe customer ID,Affiliate email,Conversion state,Became conversion at,Deactivated at',
      'd-1,nisa@example.com,conversion,2026-02-03 10:00:00 UTC,',
      'd-2,nisa@example.com,conversion,2026-02-03 10:00:00 UTC,2026-03-01 10:00:00 UTC',
      'd-3,ron@example.com,conversion,2026-02-03 10:00:00 UTC,',
    ],
    '--dry-run',
    '--forecast',
    '1',
  )
  expect([code, report.forecast, report.failed]).toEqual([8, { customers: 1, bound: 1 }, 2])
  expect(reasons).toEqual([
    expect.stringMatching(/^d-2,.*deactivated 2026-03-01/),
    expect.stringMatching(/^d-3,.*ron@example\.com is rejected/),
  ])
})

const HEADER = 'Customer ID,Email,Coupon,Affiliate email,State,First order,Orders,Note'

test('rows that cannot be imported fail with a reason, and the others are bound', async () => {
  await server.client.customers.create({ customerId: 'early', couponCode: 'NISA16' })
  await server.client.customers.create({ customerId: 'other', couponCode: 'MARA' })
  const { code, report, reasons, stderr } = await importRows('csv', [
    HEADER,
    'ok,,nisa16,,active,2026-02-03,3,Zoë',
    'accent,,,Mara@EXÄMPLE.com,lead,,,',
    'visit,,nisa16,,visitor,,,',
    'word,,nisa16,,denied,,,',
    'nobody,,WRONG,,active,,,',
    'none,,,,active,,,',
    'both,,NISA16,mara@exämple.com,active,,,',
    ',,NISA16,,active,,,',
    'ok,,NISA16,,active,,,',
    'date,,NISA16,,active,03/02/2026,,',
    'orders,,NISA16,,active,,4,',
    'number,,NISA16,,active,2026-02-03,many,',
    'future,,NISA16,,active,2100-01-01,1,',
    'self,nisa@example.com,NISA16,,active,,,',
    'early,,NISA16,,active,2026-02-03,3,',
    'other,,NISA16,,active,,,',
  ])
  expect([code, report.bound, report.visitors, report.failed]).toEqual([8, 2, 1, 13])
  expect(stderr).toContain('Note')
  const failed = reasons.map((row) => [row.split(',')[0], row])
  const reasonOf = (id: string) => failed.find(([name]) => name === id)?.[1]
  for (const [id, reason] of Object.entries({
    word: 'denied',
    nobody: 'WRONG',
    none: 'no affiliate',
    both: 'different affiliates',
    '': 'no customer id',
    ok: 'line 2',
    date: '--date-format',
    orders: 'no date',
    number: 'many',
    future: 'firstOrderAt',
    self: 'own',
    early: 'customers remove cus_',
    other: mara,
  }))
    expect([id, reasonOf(id)]).toEqual([id, expect.stringContaining(reason)])
  expect(await customersOf({ customerId: 'ok' })).toMatchObject([
    [nisa, 'IMPORT', expect.any(String), expect.any(String), 3],
  ])
  expect(await customersOf({ customerId: 'accent' })).toMatchObject([[mara, 'IMPORT', expect.any(String), null, 0]])
  expect(await customersOf({ customerId: 'other' })).toMatchObject([[mara, 'SIGNUP', expect.any(String), null, 0]])
  expect(await customersOf({ customerId: 'word' })).toEqual([])
})

test('a dry run binds nobody and reports what would be bound', async () => {
  const rows = [HEADER, 'dry-1,,NISA16,,active,2026-02-03,3,', 'dry-2,,WRONG,,active,,,']
  const { code, report } = await importRows('csv', rows, '--dry-run')
  expect([code, report.forecast, report.failed]).toEqual([8, { customers: 1, bound: 1 }, 1])
  expect(await customersOf({ customerId: 'dry-1' })).toEqual([])
})

test('the months of the terms continue from the first order in the other service', async () => {
  const { data: programs } = await server.client.programs.list()
  const rules = [{ when: { customerMonth: { from: 12 } }, commissionPercent: null }]
  await server.client.programs.setTerms(programs[0]?.id ?? '', { rules })
  const day = (daysAgo: number) => new Date(server.clock.ms - daysAgo * 86_400_000).toISOString()
  await importRows('csv', [HEADER, `y-1,,NISA16,,active,${day(300)},9,`, `y-2,,NISA16,,active,${day(400)},12,`])
  const earned = ['y-1', 'y-2'].map(async (customerId) => {
    const order = { externalOrderId: `order-${customerId}`, amountCents: 10_000, customerId }
    return (await server.client.events.conversion(order)).commission.amountCents
  })
  expect(await Promise.all(earned)).toEqual([1600, 0])
})

test('every command of MIGRATING.md runs, in this order', async () => {
  const shop = await server.createShop()
  const own = { ...env, REFERRAL_API_KEY: shop.key, REFERRAL_OWNER_TOKEN: shop.ownerToken }
  const samples = {
    'affiliates.csv': 'First name,Last name,Email,Token,State\nAdam,Jones,adam@example.com,adam,active\n',
    'referrals.csv':
      'Customer email,Stripe customer ID,Affiliate email,Conversion state,Became conversion at\njo@example.com,cus_1,adam@example.com,conversion,2026-02-03T10:00:00Z\n',
    'orders.csv': 'Order ID,Amount,Customer ID,Date\n1,10.00,cus_1,2026-09-01\n',
    'bestellungen.csv':
      'Bestellnummer;Zwischensumme;Bestelldatum;E-Mail;Gutscheincode;Währung;Bestellstatus;Erstatteter Betrag\n7;12,50;2026-09-01 10:00;jo@example.com;ADAM;EUR;Abgeschlossen;\n',
  }
  for (const [name, text] of Object.entries(samples)) writeFileSync(join(folder.path, name), text)
  const guide = readFileSync(new URL('../../cli/MIGRATING.md', import.meta.url), 'utf8')
  const blocks = [...guide.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, code = '']) => code.replaceAll('\\\n', ' '))
  const commands = blocks.flatMap((code) => code.trim().split('\n'))
  expect(commands.length).toBeGreaterThan(8)
  let programId = ''
  for (const command of commands) {
    const words = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain = '']) => quoted ?? plain)
    const args = words.slice(1).map((word) => {
      if (word === 'prg_…') return programId
      return Object.hasOwn(samples, word) ? join(folder.path, word) : word
    })
    const { code, stdout, stderr } = await cli([...args, '--json'], { env: own })
    expect([command, code], stderr).toEqual([command, 0])
    programId ||= JSON.parse(stdout).id
  }
})

test('a file without a column for customer or affiliate is rejected', async () => {
  for (const header of ['Name,Affiliate email', 'Customer ID,Name'])
    expect((await importRows('csv', [header, 'a,b'])).code).toBe(2)
  expect((await importRows('csv', [HEADER])).code).toBe(3)
})
