import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ExportFormat, exportFormats, type PayoutRow } from '../../cli/src/commands/payouts/batch-formats.ts'
import { monthPeriod } from '../../cli/src/period.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { cli, json, noTerminal, onTerminal, openShop, type Shop, withAffiliate, wrongWith } from './support.ts'

const folder = temporaryFolder()
let shop: Shop
beforeAll(async () => {
  shop = await openShop()
  await withAffiliate(shop)
}, 60_000)
afterAll(async () => {
  await shop.close()
  folder.remove()
})

interface Batch {
  id: string
  status: string
  periodStart: string
  periodEnd: string
  totals: { netPayableCents: number; commissions: number }
}

const order = (id: string, at: string, coupon?: string) => shop.order(id, at, coupon)
const batches = async () => (await shop.client.payouts.list()).data
const newBatch = (month: string) => {
  const { from: periodStart, to: periodEnd } = monthPeriod(month, 0)
  return shop.client.payouts.create({ periodStart, periodEnd })
}

/** An independent CSV reader. */
const python = (() => {
  try {
    execFileSync('python3', ['--version'])
    return true
  } catch {
    return false
  }
})()
if (!python) console.warn('skipped: reading exported files with python3, which is not installed')
const readWithPython = (file: string): string[][] =>
  JSON.parse(
    execFileSync(
      'python3',
      ['-c', 'import csv,json,sys; print(json.dumps(list(csv.reader(open(sys.argv[1], newline="")))))', file],
      {
        encoding: 'utf8',
      },
    ),
  )

test('a month includes its last millisecond, with --month and with --from and --to', async () => {
  await order('july-1', '2026-07-01T00:00:00.000Z')
  await order('july-31', '2026-07-31T23:59:59.999Z')
  await order('august-1', '2026-08-01T00:00:00.000Z')
  for (const period of [
    ['--month', '2026-07'],
    ['--from', '2026-07-01', '--to', '2026-07-31'],
  ]) {
    const preview = await json<Batch>(['payouts', 'preview', ...period], { env: shop.env })
    expect(wrongWith('PayoutBatch', preview)).toEqual([])
    expect(preview).toMatchObject({
      periodStart: '2026-07-01T00:00:00.000Z',
      periodEnd: '2026-07-31T23:59:59.999Z',
      totals: { commissions: 2, netPayableCents: 3200 },
    })
  }
  expect(await batches()).toEqual([])
})

test('preview, create and pay use the same total, which payment requires', async () => {
  await order('june-1', '2026-06-10')
  await order('june-2', '2026-06-30T23:59:59.000Z')
  const dry = await json<Batch>(['payouts', 'create', '--month', '2026-06', '--dry-run'], { env: shop.env })
  expect(dry).toMatchObject({
    totals: { netPayableCents: 3200 },
    lines: [{ name: 'Nisa Karim', commissions: 2, commissionCents: 3200, netPayableCents: 3200 }],
  })
  const table = await cli(['payouts', 'preview', '--month', '2026-06', '-o', 'table'], { env: shop.env })
  expect(table.stdout).toMatch(/Nisa Karim +nisa@example.com +2 +32\.00 USD/)
  expect(await batches()).toEqual([])
  const { id, totals } = await json<Batch>(['payouts', 'create', '--month', '2026-06'], { env: shop.env })
  expect(totals.netPayableCents).toBe(3200)

  const pay = (...args: string[]) => cli(['payouts', 'pay', id, ...args, '--json'], { env: shop.env })
  for (const [args, code] of [
    [[], 9],
    [['--yes'], 9],
    [['--expect-total', '3200'], 9],
    [['--yes', '--expect-total', '3199'], 5],
    [['--yes', '--expect-total', '32.00'], 2],
  ] as const) {
    const refused = await pay(...args)
    expect({ args, code: refused.code, stdout: refused.stdout }).toEqual({ args, code, stdout: '' })
  }
  expect(JSON.parse((await pay('--dry-run')).stdout)).toMatchObject({ changed: false, dryRun: true, status: 'OPEN' })
  expect((await batches())[0]?.status).toBe('OPEN')

  const paid = await pay('--yes', '--expect-total', '3200')
  expect(paid.code).toBe(0)
  expect(JSON.parse(paid.stdout)).toMatchObject({ id, changed: true, status: 'PAID', netPayableCents: 3200 })
  const again = await pay('--yes', '--expect-total', '3200')
  expect(again.code).toBe(0)
  expect(JSON.parse(again.stdout)).toMatchObject({ changed: false, status: 'PAID' })
  expect((await pay('--yes', '--expect-total', '1')).code).toBe(5)
})

test.skipIf(noTerminal)(
  'on a terminal, the total is shown and must be typed',
  async () => {
    await order('may-1', '2026-05-10')
    const { id } = await newBatch('2026-05')
    const type = (text: string) =>
      onTerminal(['payouts', 'pay', id], { env: shop.env, answers: [[/Type the total/, `${text}\n`]] })
    const wrong = await type('yes')
    expect(wrong.code).toBe(9)
    for (const shown of [id, '2026-05-01 to 2026-05-31', '1 of 1', '16.00 USD']) expect(wrong.output).toContain(shown)
    expect((await batches()).find((batch) => batch.id === id)?.status).toBe('OPEN')
    expect((await type('16.00')).code).toBe(0)
    expect((await batches()).find((batch) => batch.id === id)?.status).toBe('PAID')
  },
  30_000,
)

test.skipIf(!python)(
  'exported files have the right totals, no formulas and valid checksums',
  async () => {
    await withAffiliate(shop, {
      code: 'EVIL1',
      name: '=HYPERLINK("http://evil.example","x")',
      email: 'evil@example.com',
    })
    await order('april-1', '2026-04-10')
    await order('april-2', '2026-04-11', 'EVIL1')
    const { id } = await newBatch('2026-04')
    const sums: Record<string, (rows: string[][]) => number> = {
      csv: (rows) => rows.slice(1).reduce((sum, row) => sum + Number(row[8]), 0),
      paypal: (rows) => rows.reduce((sum, row) => sum + Math.round(Number(row[1]) * 100), 0),
      wise: (rows) => rows.slice(1).reduce((sum, row) => sum + Math.round(Number(row[5]) * 100), 0),
    }
    for (const [format, sum] of Object.entries(sums)) {
      const [exported] = await json<{ file: string; sha256: string; totalCents: number; rows: number }[]>(
        ['payouts', 'export', id, '--format', format, '--dir', folder.path],
        { env: shop.env },
      )
      expect(exported).toMatchObject({ totalCents: 3200, rows: 2, currency: 'USD' })
      const rows = readWithPython(exported?.file ?? '')
      expect(sum(rows), format).toBe(3200)
      for (const cell of rows.flat()) expect(cell).not.toMatch(/^[=+\-@]/)
      if (format !== 'csv') expect(rows.at(-1)).toContain('Referrals 2026-04')
      expect(
        createHash('sha256')
          .update(readFileSync(exported?.file ?? ''))
          .digest('hex'),
      ).toBe(exported?.sha256)
      expect(statSync(exported?.file ?? '').mode & 0o777).toBe(0o600)
    }
    expect(readFileSync(join(folder.path, 'SHA256SUMS'), 'utf8').trim().split('\n')).toHaveLength(3)
    expect(execFileSync('sha256sum', ['-c', 'SHA256SUMS'], { cwd: folder.path, encoding: 'utf8' })).not.toContain(
      'FAILED',
    )
    expect(
      (await cli(['payouts', 'export', id, '--format', 'csv', '--dir', folder.path], { env: shop.env })).code,
    ).toBe(0)
  },
  30_000,
)

test('5 when the total of an export is too large to represent exactly', async () => {
  const vast = await openShop()
  const { id: campaignId } = await vast.client.programs.create({
    name: 'Vast',
    commissionType: 'FLAT_PER_ITEM',
    commissionPercent: 21_474_836.47,
    autoApproveOrder: true,
  })
  const { id } = await vast.client.affiliates.create({ name: 'Vast', email: 'vast@example.com', campaignId })
  await vast.client.affiliates.update(id, { status: 'APPROVED' })
  await vast.client.coupons.assign({ affiliateId: id, code: 'VAST16' })
  const ids: string[] = []
  for (const month of ['2026-05', '2026-06']) {
    for (const name of 'abc')
      await vast.client.events.conversion(
        {
          externalOrderId: `${month}-${name}`,
          amountCents: 1,
          lineItems: [{ quantity: 1_000_000 }],
          couponCode: 'VAST16',
          occurredAt: `${month}-10`,
        },
        { idempotencyKey: `${month}-${name}` },
      )
    const { from: periodStart, to: periodEnd } = monthPeriod(month, 0)
    ids.push((await vast.client.payouts.create({ periodStart, periodEnd })).id)
  }
  const dir = join(folder.path, 'vast')
  const { code, stderr } = await cli(['payouts', 'export', ...ids, '--dir', dir], { env: vast.env })
  await vast.close()
  expect([code, stderr]).toEqual([
    5,
    expect.stringContaining('128,849,018,820,000.00 USD, is too large to represent exactly'),
  ])
  expect(stderr).toContain('Export fewer batches at a time.')
})

test('an export is readable only by its owner, even when it replaces a file that others could read', async () => {
  const [batch] = await batches()
  const command = ['payouts', 'export', batch?.id ?? '', '--format', 'csv', '--dir', folder.path, '--force']
  const [first] = await json<{ file: string }[]>(command, { env: shop.env })
  for (const name of [first?.file ?? '', `${first?.file}.new`, join(folder.path, 'SHA256SUMS')]) {
    writeFileSync(name, '')
    chmodSync(name, 0o644)
  }
  const [again] = await json<{ file: string }[]>(command, { env: shop.env })
  expect(again?.file).toBe(first?.file)
  const modes = readdirSync(folder.path).map((name) => (statSync(join(folder.path, name)).mode & 0o777).toString(8))
  expect([...new Set(modes)]).toEqual(['600'])
})

test('--expect-total of an export: 5 with another total, 2 with several batches', async () => {
  const [batch] = await batches()
  const dir = join(folder.path, 'expected')
  const exportWith = (...args: string[]) => cli(['payouts', 'export', '--dir', dir, ...args], { env: shop.env })
  const [id = '', total = 0] = [batch?.id, batch?.totals.netPayableCents]
  const other = await exportWith(id, '--expect-total', String(total + 1))
  expect({ code: other.code, stderr: other.stderr }).toEqual({
    code: 5,
    stderr: expect.stringContaining('Nothing was exported.'),
  })
  expect((await exportWith(id, 'bat_other', '--expect-total', String(total))).code).toBe(2)
  expect(existsSync(dir)).toBe(false)
  expect((await exportWith(id, '--expect-total', String(total))).code).toBe(0)
}, 30_000)

test('a dry run of an export writes nothing', async () => {
  const [batch] = await batches()
  const before = readdirSync(folder.path)
  const files = await json<{ written: boolean }[]>(
    ['payouts', 'export', batch?.id ?? '', '--dir', folder.path, '--dry-run'],
    { env: shop.env },
  )
  expect(files.every(({ written }) => !written)).toBe(true)
  expect(readdirSync(folder.path)).toEqual(before)
})

const payee = (change: Partial<PayoutRow> = {}): PayoutRow => ({
  batchId: 'bat_1',
  note: 'Referrals 2026-10',
  affiliateId: 'aff_1',
  name: 'Nisa',
  email: 'nisa@example.com',
  commissions: 1,
  commissionCents: 1440,
  taxWithheldCents: 0,
  netPayableCents: 1440,
  ...change,
})

test('payees that a payment file cannot contain are excluded, not changed', () => {
  const rejection = (format: ExportFormat, change: Partial<PayoutRow>, currency = 'USD') =>
    format.exclusionReason(payee(change), currency)
  for (const format of [exportFormats.paypal, exportFormats.wise]) {
    expect(rejection(format, {})).toBeUndefined()
    expect(rejection(format, { netPayableCents: 0 })).toBe('nothing to pay')
    expect(rejection(format, { netPayableCents: -1 })).toBe('nothing to pay')
    expect(rejection(format, { email: '=cmd@example.com' })).toMatch('email')
    expect(rejection(format, { email: '+tag@example.com' })).toMatch('email')
  }
  expect(rejection(exportFormats.paypal, { netPayableCents: 1050 }, 'HUF')).toMatch('decimals')
  expect(exportFormats.paypal.cells(payee({ netPayableCents: 1100 }), 'HUF')[1]).toBe(11)
  expect(exportFormats.paypal.maxRows).toBe(5000)
  expect(exportFormats.wise.maxRows).toBe(1000)
})
