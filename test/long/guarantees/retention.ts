import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { readConfig } from '../../../server/src/config.ts'
import { createDeps } from '../../../server/src/core/context.ts'
import { operatorContext } from '../../../server/src/domains/accounts/shops.ts'
import { withAffiliate } from '../../support/calls.ts'
import { insertKeys } from '../../support/keys.ts'
import { run } from '../../support/process.ts'
import { createShop } from '../../support/tenants.ts'
import { figure, type LongTest, type RunOptions, sized } from '../guarantee.ts'
import { checkAcknowledged } from '../ledger.ts'
import { Load } from '../load.ts'
import { createWorld, type World } from '../world.ts'

const KINDS = ['journey', 'orders']
const DAY_MS = 86_400_000
/** The seeded orders are spread over this time. */
const DAYS = 400
const KEPT_DAYS = 100

/** A shop that was created before its seeded orders, with this many keys. */
const createOldShop = (world: World, keys: number) =>
  world.look(async (db) => {
    const now = () => Date.now() - (DAYS + 1) * DAY_MS
    const deps = { ...createDeps({ ...readConfig(world.env), logLevel: 'silent' }, db), now }
    const { shopId } = await createShop(deps, { name: 'S', plan: 'ENTERPRISE', currency: 'USD', ownerEmail: 'o@a.com' })
    return { shopId, keys: await insertKeys(await operatorContext(deps, shopId), keys) }
  })

/** A shop whose orders are reported, and how long each request took. */
async function openShop(world: World) {
  const { shopId, keys } = await createOldShop(world, 32)
  const waits: number[] = []
  const load = new Load(keys, { workers: 4, pauseMs: 40, onAttempt: (ms) => waits.push(ms) })
  return { shopId, keys, waits, load }
}

const p99 = (waits: number[]) => Math.round(waits.toSorted((a, b) => a - b)[Math.floor(waits.length * 0.99)] ?? 0)

async function command(world: World, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(args, world.env)
  assert.equal(code, 0, `${args.join(' ')}: ${stderr}`)
  return stdout
}

/** Deletes the older rows of a shop while it and another one report orders. */
async function deleteOld(options: RunOptions): Promise<string> {
  const world = await createWorld(options)
  const shops = [await openShop(world), await openShop(world)]
  const [own, other] = shops as [(typeof shops)[0], (typeof shops)[0]]
  const commissions = sized(50_000, options)
  const size = ['--commissions', String(commissions), '--clicks', String(commissions)]
  await command(world, 'seed', '--shop', own.shopId, '--affiliates', '200', '--days', String(DAYS), ...size)
  const server = await world.start()
  for (const { keys, load } of shops) {
    await withAffiliate(server, keys[0]!)
    load.aim(server)
    load.start()
  }
  await sleep(sized(15_000, options))
  const alone = shops.map(({ waits }) => waits.splice(0))
  const before = new Date(Date.now() - KEPT_DAYS * DAY_MS).toISOString().slice(0, 10)
  const startedAt = performance.now()
  const ran = JSON.parse(await command(world, 'retention', '--before', before, '--kind', ...KINDS, '--json'))
  const seconds = Math.round((performance.now() - startedAt) / 1000)
  const during = shops.map(({ waits }) => waits.splice(0))
  await Promise.all(shops.map(({ load }) => load.stop()))
  await server.stop()
  for (const { load } of shops) assert.deepEqual([...load.refused], [], 'no request is refused')
  await world.look(async (db) => {
    for (const { shopId, load } of shops) await checkAcknowledged(db, shopId, load)
  })
  assert.deepEqual(await world.problems(), [])
  await world.remove()
  const rows = ran.data.flatMap(({ rows: counts }: { rows: Record<string, number> }) =>
    Object.entries(counts).map(([table, count]) => `${table} ${figure(count)}`),
  )
  const of = (name: string, n: number) =>
    `${name}: p99 ${p99(alone[n]!)} ms alone, ${p99(during[n]!)} ms during the run, longest ${Math.round(Math.max(...during[n]!))} ms`
  return `${rows.join(', ')} in ${seconds} s; ${figure(own.load.acknowledged.length + other.load.acknowledged.length)} orders, none lost, doubled or refused; ${of('same shop', 0)}; ${of('another shop', 1)}`
}

export const guarantee: LongTest = {
  title: 'Deleting old rows loses, duplicates, and rejects no order',
  engines: ['sqlite', 'postgres'],
  minutes: 20,
  run: deleteOld,
}
