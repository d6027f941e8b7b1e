import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { openDatabase } from '../../../server/src/database/open.ts'
import { until, withAffiliate } from '../../support/calls.ts'
import { Load } from '../load.ts'
import { createWorld } from '../world.ts'
import { Disk, FATES } from './disk.ts'
import { readTrace, recorder, type Step } from './trace.ts'

export interface Cuts {
  images: number
  acknowledged: number
  /** The number of images that lack acknowledged orders, and the maximum that one lacks. */
  losing: number
  most: number
  /** Other problems of an image. */
  corrupt: string[]
}

interface Size {
  orders: number
  /** The number of moments; each is tested with every fate. */
  moments: number
}

/** Records a server under load, then repeatedly simulates a power loss and opens the remaining files with the server's code. */
export async function cutPower({ orders, moments }: Size, env: Record<string, string> = {}): Promise<Cuts> {
  const world = await createWorld({ engine: 'sqlite' })
  const { keys } = await world.createShop(16)
  const first = await world.start()
  await withAffiliate(first, keys[0]!)
  await first.stop()
  const file = join(world.folder, 'referral.db')
  const disk = new Disk([file])
  const trace = join(world.folder, 'trace')
  const server = await world.start(env, recorder(trace))
  const load = new Load(keys)
  load.aim(server)
  load.start()
  await until(() => load.acknowledged.length >= orders, 240_000, 'the load')
  await load.stop()
  await server.stop('SIGKILL')
  const steps = await readTrace(trace)
  const cuts = await replay(steps, { disk, moments, folder: join(world.folder, 'image') })
  await world.remove()
  return cuts
}

async function replay(steps: Step[], { disk, moments, folder }: { disk: Disk; moments: number; folder: string }) {
  const cuts: Cuts = { images: 0, acknowledged: 0, losing: 0, most: 0, corrupt: [] }
  const chosen = choose(steps, moments)
  const promised: string[] = []
  for (const [index, step] of steps.entries()) {
    disk.apply(step)
    if (step.kind === 'acknowledge') promised.push(...step.ids)
    if (!chosen.has(index)) continue
    for (const fate of FATES) await judge(disk.cut(fate), { cuts, promised, folder, where: `${fate} at ${index}` })
  }
  cuts.acknowledged = promised.length
  return cuts
}

/** Half of them right after a response, when nothing acknowledged may be missing, the others at any time under load. */
function choose(steps: Step[], moments: number): Set<number> {
  const answers = [...steps.keys()].filter((index) => steps[index]?.kind === 'acknowledge')
  const [from = 0, to = 0] = [answers[0], answers.at(-1)]
  const chosen = new Set<number>()
  while (chosen.size < Math.min(moments, answers.length)) {
    const isAnswer = chosen.size % 2 === 0
    chosen.add(
      isAnswer ? answers[Math.floor(Math.random() * answers.length)]! : from + Math.floor(Math.random() * (to - from)),
    )
  }
  return chosen
}

interface Judging {
  cuts: Cuts
  promised: string[]
  folder: string
  where: string
}

async function judge(image: Map<string, Buffer>, { cuts, promised, folder, where }: Judging): Promise<void> {
  mkdirSync(folder)
  // The shared memory file holds nothing of its own.
  for (const [path, content] of image) {
    if (/referral\.db(-wal)?$/.test(path)) writeFileSync(join(folder, basename(path)), content)
  }
  cuts.images++
  try {
    const { stored, audits, damage } = await open(join(folder, 'referral.db'))
    const lost = promised.filter((id) => !stored.has(id)).length
    if (lost > 0) cuts.losing++
    cuts.most = Math.max(cuts.most, lost)
    if (damage.length > 0) cuts.corrupt.push(`${where}: ${damage[0]}`)
    if (audits !== stored.size) cuts.corrupt.push(`${where}: ${stored.size} commissions, ${audits} audits`)
  } catch (error) {
    cuts.corrupt.push(`${where}: ${(error as Error).message}`)
  }
  rmSync(folder, { recursive: true })
}

async function open(file: string) {
  const db = await openDatabase(`file:${file}`)
  try {
    const rows = await db.read.selectFrom('commissions').select('id').execute()
    const audits = db.read.selectFrom('audits').where('action', '=', 'commission.created')
    const counted = await audits.select(({ fn }) => fn.countAll<number>().as('n')).executeTakeFirst()
    return { stored: new Set(rows.map(({ id }) => id)), audits: counted?.n ?? 0, damage: await db.findDamage() }
  } finally {
    await db.close()
  }
}
