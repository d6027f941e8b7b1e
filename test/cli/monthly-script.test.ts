// Full: it runs shell scripts.
// The cron script over several months, with two currencies, kills, concurrent runs and manual payments.
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, type FSWatcher, mkdirSync, readdirSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { monthPeriod } from '../../cli/src/period.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { bare, cli, ended, MAIN, openShop, type Shop, withAffiliate } from './support.ts'

const script = fileURLToPath(new URL('../../examples/cli/pay-last-month.sh', import.meta.url))
const folder = temporaryFolder()
const wrapper = join(folder.path, 'referral')
const calls = join(folder.path, 'calls')
let shop: Shop
let watcher: FSWatcher | undefined
/** Whether every command is its own process, which takes several times as long as a call in this one. */
let asProcess = false

/** Runs a command that the script has called, and passes its output and code back. */
async function answer(ready: string): Promise<void> {
  // One file causes several events.
  if (!existsSync(ready)) return
  rmSync(ready)
  const call = ready.replace(/\.ready$/, '')
  const args = readFileSync(join(call, 'args'), 'utf8').trimEnd().split('\n')
  const { code, stdout, stderr } = await cli(args, { env: shop.env })
  writeFileSync(join(call, 'stdout'), stdout)
  writeFileSync(join(call, 'stderr'), stderr)
  await writeFile(join(call, 'code'), `${code}\n`)
}

beforeAll(async () => {
  shop = await openShop()
  await withAffiliate(shop)
  // Runs the CLI. Before or after its n-th command, kills the whole run or runs another command.
  writeFileSync(
    wrapper,
    `#!/bin/sh
n=$(($(cat "$COUNT") + 1)); echo $n >"$COUNT"
referral() {
  if [ -n "$AS_PROCESS" ]; then "${process.execPath}" "${MAIN}" "$@"; return; fi
  call=$(mktemp -d "$CALLS/XXXXXX"); mkfifo "$call/code"
  for arg; do case $arg in out/*) arg=$PWD/$arg ;; esac; printf '%s\\n' "$arg"; done >"$call/args"
  : >"$call.ready"
  read -r code <"$call/code"
  cat "$call/stdout"; cat "$call/stderr" >&2
  return "$code"
}
if [ "$n.before" = "$KILL" ]; then kill -9 0; fi
if [ "$n.before" = "$CONCURRENT_AT" ]; then referral $CONCURRENT >/dev/null || exit; fi
code=0; referral "$@" || code=$?
if [ "$n.after" = "$CONCURRENT_AT" ]; then referral $CONCURRENT >/dev/null || exit; fi
if [ "$n.after" = "$KILL" ]; then kill -9 0; fi
exit $code
`,
    { mode: 0o755 },
  )
  mkdirSync(calls)
  watcher = watch(calls, (_, name) => name?.endsWith('.ready') && answer(join(calls, name)))
}, 60_000)
afterAll(async () => {
  watcher?.close()
  await shop.close()
  folder.remove()
})

const out = join(folder.path, 'out')
beforeEach(() => rmSync(out, { recursive: true, force: true }))

let runs = 0
function run(args: string[], kill = '', concurrent = { at: '', command: '' }) {
  const count = join(folder.path, `count-${++runs}`)
  writeFileSync(count, '0')
  const other = { CONCURRENT_AT: concurrent.at, CONCURRENT: concurrent.command }
  const own = { REFERRAL: wrapper, CALLS: calls, AS_PROCESS: asProcess ? '1' : '', COUNT: count, KILL: kill }
  const env = bare({ ...shop.env, ...own, ...other })
  // A separate process group, so that a kill ends only this run.
  return ended(spawn('sh', [script, ...args], { env, cwd: folder.path, detached: true })).then((result) => ({
    ...result,
    commands: Number(readFileSync(count, 'utf8')),
  }))
}
const exportMonth = (month: string, kill = '', maximum = '100000') => run(['export', maximum, 'out', month], kill)
const paid = (names: string[], kill = '') => run(['paid', ...names.map((name) => join('out', name))], kill)

const order = (currency: string, externalOrderId: string, occurredAt: string) =>
  shop.client.events.conversion({ externalOrderId, amountCents: 10_000, couponCode: 'NISA16', currency, occurredAt })
const monthOf = async (month: string) =>
  (await shop.client.payouts.list().toArray()).filter(({ periodStart }) => periodStart.startsWith(month))
const stateOf = async (month: string) =>
  (await monthOf(month)).map(({ currency, status, totals }) => `${currency} ${status} ${totals.netPayableCents}`).sort()
const exported = () => (existsSync(out) ? readdirSync(out).filter((name) => name.startsWith('bat_')) : [])
const rowsIn = (name: string) =>
  readdirSync(join(out, name))
    .filter((file) => file.endsWith('.csv'))
    .map(
      (file) =>
        readFileSync(join(out, name, file), 'utf8')
          .trim()
          .split('\n').length,
    )

test('export writes files without marking batches as paid; paid marks what was sent', async () => {
  asProcess = true
  onTestFinished(() => {
    asProcess = false
  })
  await order('USD', 'a-1', '2026-04-10T12:00:00Z')
  await order('EUR', 'a-2', '2026-04-11T12:00:00Z')
  const first = await exportMonth('2026-04')
  expect(first.code).toBe(0)
  expect(await stateOf('2026-04')).toEqual(['EUR OPEN 1600', 'USD OPEN 1600'])
  const names = exported()
  expect(first.stdout.trim().split('\n').sort()).toEqual(names.map((name) => `out/${name}`).sort())
  expect(names.map(rowsIn)).toEqual([[1], [1]])
  for (const name of names) execFileSync('sha256sum', ['-c', 'SHA256SUMS'], { cwd: join(out, name) })

  const again = await exportMonth('2026-04')
  expect({ code: again.code, stdout: again.stdout }).toEqual({ code: 0, stdout: first.stdout })

  expect((await paid(names)).code).toBe(0)
  expect(await stateOf('2026-04')).toEqual(['EUR PAID 1600', 'USD PAID 1600'])
  expect(exported()).toEqual([])
  expect((await paid(names)).code).toBe(0)
}, 60_000)

test('a batch paid manually is skipped, and later months continue', async () => {
  await order('USD', 'b-1', '2026-05-10T12:00:00Z')
  expect((await exportMonth('2026-05')).code).toBe(0)
  const [may] = await monthOf('2026-05')
  await shop.client.payouts.pay(may?.id ?? '')
  await order('USD', 'b-2', '2026-06-10T12:00:00Z')
  await order('USD', 'b-3', '2026-07-10T12:00:00Z')
  for (const month of ['2026-06', '2026-07']) {
    const { code, stderr } = await exportMonth(month)
    expect({ month, code }).toEqual({ month, code: 0 })
    if (month === '2026-06') expect(stderr).toContain(`${may?.id}-1600 is no longer open with this total`)
    expect(exported()).toHaveLength(1)
    expect((await paid(exported())).code).toBe(0)
    expect(await stateOf(month)).toEqual(['USD PAID 1600'])
  }
  expect(await stateOf('2026-05')).toEqual(['USD PAID 1600'])
}, 60_000)

const refundCommand = async (externalOrderId: string) => {
  const { data } = await shop.client.commissions.list({ externalOrderId })
  return `api POST /admin/v1/commissions/${data[0]?.id}/refund -f externalRefundId=r1 -F amountCents=5000`
}
const refundHalf = async (externalOrderId: string) =>
  expect((await cli((await refundCommand(externalOrderId)).split(' '), { env: shop.env })).code).toBe(0)
const outdated = () => readdirSync(join(out, 'outdated')).map((name) => `outdated/${name}`)

test('after a refund of an exported batch, the next export writes no second file until the first is deleted', async () => {
  await order('USD', 'c-1', '2026-03-10T12:00:00Z')
  await order('USD', 'c-2', '2026-03-11T12:00:00Z')
  await exportMonth('2026-03')
  const [before = ''] = exported()
  const after = before.replace(/3200$/, '2400')
  await refundHalf('c-1')

  const refused = await paid([before])
  expect(refused.code).toBe(5)
  expect(refused.stderr).toContain('pays 24.00 USD')
  expect(refused.stderr).toContain(`upload nothing else for this batch. Run: ${script} paid out/${after}\n`)
  expect(await stateOf('2026-03')).toEqual(['USD OPEN 2400'])
  for (let again = 0; again < 2; again++) {
    const changed = await exportMonth('2026-03')
    expect({ code: changed.code, stdout: changed.stdout }).toEqual({ code: 10, stdout: '' })
    expect(changed.stderr).toContain('changed after it was exported; it is now 2400 cents.')
    expect(changed.stderr).toContain(`Old export: out/${outdated()[0]}\n`)
    expect(exported()).toEqual([])
  }
  const old = await paid(outdated())
  expect({ code: old.code, stderr: old.stderr }).toEqual({
    code: 5,
    stderr: expect.stringMatching(/^This export is outdated: .*\nThe total of batch .* is now 2400 cents\.\n/),
  })

  rmSync(join(out, outdated()[0] ?? ''), { recursive: true })
  expect((await exportMonth('2026-03')).code).toBe(0)
  expect(exported()).toEqual([after])
  expect((await paid([after])).code).toBe(0)
  expect(await stateOf('2026-03')).toEqual(['USD PAID 2400'])
}, 60_000)

test('a batch refunded after the upload is marked as paid with its new total, and no later batch deducts the difference', async () => {
  await order('USD', 'f-1', '2025-03-10T12:00:00Z')
  await exportMonth('2025-03')
  const [before = ''] = exported()
  await refundHalf('f-1')
  expect((await exportMonth('2025-03')).code).toBe(10)
  expect((await paid([before.replace(/1600$/, '800')])).code).toBe(0)
  expect(await stateOf('2025-03')).toEqual(['USD PAID 800'])
  await order('USD', 'f-2', '2025-04-10T12:00:00Z')
  expect((await exportMonth('2025-04')).code).toBe(0)
  expect(exported()).toEqual([expect.stringMatching(/-1600$/)])
  expect((await paid(exported())).code).toBe(0)
}, 60_000)

// The commands of an export with one open batch: create, list, export, list.
test.each([2, 3])(
  'a refund after command %i of an export leaves no files with the old total',
  async (n) => {
    const month = `2025-0${n + 3}`
    await order('USD', `g-${n}`, `${month}-10T12:00:00Z`)
    const raced = await run(['export', '100000', 'out', month], '', {
      at: `${n}.after`,
      command: await refundCommand(`g-${n}`),
    })
    expect({ code: raced.code, stdout: raced.stdout }).toEqual({ code: 5, stdout: '' })
    expect(readdirSync(out)).toEqual([])
    const next = await exportMonth(month)
    expect({ code: next.code, stdout: next.stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/-800\n$/) })
    expect(readFileSync(join(out, exported()[0] ?? '', 'SHA256SUMS'), 'utf8')).toMatch(/payouts-paypal-USD/)
    expect((await paid(exported())).code).toBe(0)
    expect(await stateOf(month)).toEqual(['USD PAID 800'])
  },
  60_000,
)

test.each([
  ['new', 3],
  ['existing', 2],
])(
  '%s files of a batch that is paid during the export are not offered',
  async (files, n) => {
    const month = `2025-0${n + 5}`
    await order('USD', `h-${n}`, `${month}-10T12:00:00Z`)
    const { from: periodStart, to: periodEnd } = monthPeriod(month, 0)
    const { id } = await shop.client.payouts.create({ periodStart, periodEnd })
    if (files === 'existing') expect((await exportMonth(month)).code).toBe(0)
    const raced = await run(['export', '100000', 'out', month], '', {
      at: `${n}.after`,
      command: `payouts pay ${id} --yes --expect-total 1600`,
    })
    expect(await stateOf(month)).toEqual(['USD PAID 1600'])
    expect({ code: raced.code, stdout: raced.stdout }).toEqual({ code: 5, stdout: '' })
    expect(raced.stderr).toContain(`Batch ${id} changed during the export. Run export again.\n`)
    expect((await exportMonth(month)).stdout).toBe('')
    expect(exported()).toEqual([])
  },
  60_000,
)

test('two concurrent runs create one batch and one set of files', async () => {
  await order('USD', 'd-1', '2026-02-10T12:00:00Z')
  await order('EUR', 'd-2', '2026-02-11T12:00:00Z')
  const both = await Promise.all([exportMonth('2026-02'), exportMonth('2026-02')])
  expect(both.map(({ code }) => code)).toEqual([0, 0])
  expect(await stateOf('2026-02')).toEqual(['EUR OPEN 1600', 'USD OPEN 1600'])
  const names = exported()
  expect(names.map(rowsIn)).toEqual([[1], [1]])
  expect(readdirSync(out).sort()).toEqual([...names].sort())
  const settled = await Promise.all([paid(names), paid(names)])
  expect(settled.map(({ code }) => code)).toEqual([0, 0])
  expect(await stateOf('2026-02')).toEqual(['EUR PAID 1600', 'USD PAID 1600'])
}, 60_000)

test('a batch above the maximum is not exported; a batch with excluded payees is not marked as paid', async () => {
  await withAffiliate(shop, { code: 'PLUSTAG', name: 'Plus', email: '+plus@example.com' })
  await order('USD', 'e-1', '2026-01-10T12:00:00Z')
  await shop.order('e-2', '2026-01-11T12:00:00Z', 'PLUSTAG')
  const tooMuch = await exportMonth('2026-01', '', '3199')
  expect({ code: tooMuch.code, stderr: tooMuch.stderr }).toEqual({
    code: 9,
    stderr: expect.stringContaining('pays 3200 cents USD, more than the maximum of 3199'),
  })
  expect(exported()).toEqual([])
  expect((await exportMonth('2026-01')).code).toBe(8)
  const [name = ''] = exported()
  expect(readFileSync(join(out, name, 'left-out.txt'), 'utf8')).toContain('+plus@example.com')
  expect((await paid([name])).code).toBe(8)
  expect(await stateOf('2026-01')).toEqual(['USD OPEN 3200'])
  rmSync(join(out, name, 'left-out.txt'))
  expect((await paid([name])).code).toBe(0)
}, 60_000)

test('after a kill before or after any command, the next run completes the work', async () => {
  for (const [i, moment] of ['before', 'after'].entries()) {
    let isPaidKilled = true
    for (let n = 1; ; n++) {
      // Each kill uses a separate month.
      const month = `20${20 + i}-${String(n).padStart(2, '0')}`
      await order('USD', `${month}-usd`, `${month}-10T12:00:00Z`)
      const killed = await exportMonth(month, `${n}.${moment}`)
      expect((await exportMonth(month)).code).toBe(0)
      const names = exported()
      expect({ month, names: names.map(rowsIn) }).toEqual({ month, names: [[1]] })
      // `paid` has fewer commands than `export`; once it survives, there is none left to kill.
      if (isPaidKilled) isPaidKilled = (await paid(names, `${n}.${moment}`)).code === null
      expect((await paid(names)).code).toBe(0)
      expect(await stateOf(month)).toEqual(['USD PAID 1600'])
      if (killed.code === null) {
        expect(exported()).toEqual([])
        continue
      }
      await exportMonth(month)
      expect(exported()).toEqual([])
      expect({ moment, n, isPaidKilled }).toEqual({ moment, n: 5, isPaidKilled: false })
      break
    }
  }
}, 240_000)

test('2 without a maximum or a valid command', async () => {
  mkdirSync(out, { recursive: true })
  for (const args of [[], ['export'], ['export', '12.50'], ['pay', '100'], ['paid', 'out/bat_1']]) {
    const { code, stderr } = await run(args)
    expect({ args, code, stderr }).toEqual({ args, code: 2, stderr: expect.stringContaining('export <maximum cents>') })
  }
}, 30_000)
