import { compare, median, type Rounds, ratios } from '../harness/compare.ts'
import { copyOf } from '../harness/data.ts'
import type { Options } from '../harness/options.ts'
import { perSecond, print, say } from '../harness/report.ts'
import { launchOther, launchOurs, type Subject } from '../harness/subject.ts'
import { directus, type Heavy, parse, withHeavy } from '../peers/heavy.ts'
import { orderOf } from './conversions.ts'
import { LIST } from './lists.ts'

/** Alternatives, each in turn with this server: an authenticated list of 20 with total, an authenticated order recorded once. */
export async function peers({ rounds, seconds }: Options): Promise<void> {
  const copies = [await copyOf(10_000), await copyOf(10_000), await copyOf(10_000)] as const
  const [own, first, second] = copies
  const ours = await launchOurs({ DATABASE_URL: own.data.url })
  const hono = await launchOther('Hono + Kysely', 'peers/hono-kysely.ts', { DATABASE_URL: first.data.url })
  const fastify = await launchOther('Fastify + better-sqlite3', 'peers/fastify.ts', { DATABASE_URL: second.data.url })
  const plan = { rounds, warmUpSeconds: 3 }
  for (const [what, template] of [
    ['list of 20 with total', LIST],
    ['order', orderOf(own.data)],
  ] as const) {
    const jobOf = () => ({ template, keys: own.data.keys, connections: 32, seconds })
    const measured = await compare([ours, hono, fastify], { ...plan, jobOf })
    for (const peer of [hono, fastify]) printPeer(what, measured, [ours, peer])
  }
  await Promise.all([hono.stop(), fastify.stop()])
  const measure = async (heavy: Heavy) =>
    withHeavy(heavy, async ({ subject, keys, list, create }) => {
      const pairs = { 'list of 20 with total': [LIST, list], order: [orderOf(own.data), create] } as const
      for (const [what, [template, theirs]] of Object.entries(pairs)) {
        const jobOf = (one: Subject) => ({
          ...(one === ours ? { template, keys: own.data.keys } : { template: theirs, keys }),
          connections: 32,
          seconds,
        })
        printPeer(what, await compare([ours, subject], { ...plan, jobOf }), [ours, subject])
      }
    })
  for (const heavy of [parse, directus])
    await measure(heavy).catch((error) => say(`${heavy.name}: not measured, ${error.message}`))
  await ours.stop()
  for (const { remove } of copies) remove()
}

function printPeer(what: string, measured: Rounds, [ours, peer]: [Subject, Subject]): void {
  const rate = (subject: Subject) => perSecond(median(measured, subject, (sample) => sample.perSecond))
  print({
    goal: 'peer',
    what: `${what} ÷ ${peer.name}`,
    result: ratios(measured, [ours, peer], (sample) => sample.perSecond),
    ours: rate(ours),
    floor: rate(peer),
  })
}
