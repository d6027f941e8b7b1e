// Full: it waits for time to pass.
import { type ChildProcess, spawn } from 'node:child_process'
import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { bare, ended, MAIN, openShop, type Shop, start, withAffiliate } from './support.ts'

const example = (name: string) => fileURLToPath(new URL(`../../examples/cli/${name}`, import.meta.url))
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

const sh = (name: string, ...args: string[]) =>
  ended(
    spawn('sh', [example(name), ...args], {
      env: bare({ ...shop.env, REFERRAL: `${process.execPath} ${MAIN}` }),
      cwd: folder.path,
    }),
  )

test('import-orders.sh can be run twice', async () => {
  const file = join(folder.path, 'orders.csv')
  copyFileSync(example('orders.csv'), file)
  const first = await sh('import-orders.sh', file)
  expect({ code: first.code, stdout: first.stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^sent\t3$/m) })
  const mixed = join(folder.path, 'mixed.csv')
  writeFileSync(mixed, 'Order ID,Amount,Coupon,Date\nM-1,ten,NISA16,2026-09-01\nM-2,10.00,NISA16,2026-09-01\n')
  const some = await sh('import-orders.sh', mixed)
  expect({ code: some.code, stdout: some.stdout }).toEqual({ code: 8, stdout: expect.stringMatching(/^sent\t1$/m) })
  expect(some.stderr).toContain(`Correct ${join(folder.path, 'failed.csv')} and import it.\n`)
  const second = await sh('import-orders.sh', file)
  expect({ code: second.code, stdout: second.stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^sent\t0$/m) })
}, 30_000)

test('import-orders.sh passes on options, and reports that all rows failed', async () => {
  const file = join(folder.path, 'local.csv')
  writeFileSync(file, 'Order ID,Amount,Coupon,Date\nL-1,10.00,NISA16,2026-09-01 12:00\n')
  const local = await sh('import-orders.sh', file, '--time-zone', 'Europe/Berlin')
  expect({ code: local.code, stdout: local.stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^sent\t1$/m) })
  const { data } = await shop.client.commissions.list({ externalOrderId: 'L-1' })
  expect(data[0]?.happenedAt).toBe('2026-09-01T10:00:00.000Z')

  const bad = join(folder.path, 'bad.csv')
  const rows = Array.from({ length: 30 }, (_, i) => `B-${i},-10.00,NISA16,2026-09-01\n`)
  writeFileSync(bad, `Order ID,Amount,Coupon,Date\n${rows.join('')}`)
  const none = await sh('import-orders.sh', bad)
  expect(none.code).toBe(8)
  expect(none.stderr).toContain('all 30 rows failed')
  expect(none.stderr).not.toContain('Nothing new')
}, 30_000)

test('receiver.ts receives the events that `listen` forwards', async () => {
  const port = String(await freePort())
  const listener = start(['webhooks', 'listen', '--forward-to', `http://127.0.0.1:${port}`, '--count', '1', '--json'], {
    env: shop.env,
  })
  const listened = ended(listener)
  const { secret } = JSON.parse(
    await new Promise<string>((done) => listener.stdout?.once('data', (chunk) => done(String(chunk)))),
  )
  const receiver: ChildProcess = spawn(process.execPath, [example('receiver.ts')], {
    env: bare({ PORT: port, REFERRAL_WEBHOOK_SECRET: secret }),
  })
  let said = ''
  receiver.stdout?.on('data', (chunk) => {
    said += chunk
  })
  for (let i = 0; i < 200 && !said.includes('listening'); i++) await new Promise((done) => setTimeout(done, 50))
  await shop.order('A-2001')
  expect((await listened).code).toBe(0)
  expect(said).toMatch(/^commission\.created 20/m)
  receiver.kill()
}, 30_000)

test('the examples use the demo shop of REFERRAL_DATA_DIR, and fail with one sentence without it', async () => {
  const script = fileURLToPath(new URL('../../examples/headless-checkout.ts', import.meta.url))
  const run = (env: Record<string, string>) => ended(spawn(process.execPath, [script, 'demo-1'], { env: bare(env) }))
  const { REFERRAL_BASE_URL, REFERRAL_API_KEY } = shop.env
  writeFileSync(
    join(folder.path, 'demo.env'),
    `REFERRAL_BASE_URL=${REFERRAL_BASE_URL}\nREFERRAL_API_KEY=${REFERRAL_API_KEY}\n`,
  )
  expect(await run({ REFERRAL_DATA_DIR: folder.path })).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^order demo-1: aff_/),
  })
  // A key is never sent to a URL from another source.
  for (const env of [bare(), { REFERRAL_DATA_DIR: folder.path, REFERRAL_BASE_URL: 'http://127.0.0.1:1' }])
    expect(await run(env)).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^Set REFERRAL_BASE_URL and .*\n$/),
    })
  const receiver = await ended(spawn(process.execPath, [example('receiver.ts')], { env: bare() }))
  expect(receiver).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(/^Set REFERRAL_WEBHOOK_SECRET.*\n$/) })
}, 20_000)
