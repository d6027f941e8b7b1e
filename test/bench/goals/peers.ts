import { compare, median, ratios } from '../harness/compare.ts'
import { copyOf } from '../harness/data.ts'
import type { Options } from '../harness/options.ts'
import { perSecond, say } from '../harness/report.ts'
import { launchOther, launchOurs, type Subject } from '../harness/subject.ts'
import { heavyPeers } from '../peers/heavy.ts'
import { orderOf } from './conversions.ts'
import { LIST } from './lists.ts'

/** Alternatives, in the same run: an authenticated list of 20 with total, an authenticated order recorded once. */
export async function peers(options: Options): Promise<void> {
  const { rounds, seconds } = options
  const copies = [await copyOf(10_000), await copyOf(10_000), await copyOf(10_000)] as const
  const [own, first, second] = copies
  const ours = await launchOurs({ DATABASE_URL: own.data.url })
  const hono = await launchOther('Hono + Kysely', 'peers/hono-kysely.ts', { DATABASE_URL: first.data.url })
  const fastify = await launchOther('Fastify + better-sqlite3', 'peers/fastify.ts', { DATABASE_URL: second.data.url })
  for (const [what, template] of [
    ['list of 20 with total', LIST],
    ['order', orderOf(own.data)],
  ] as const) {
    const jobOf = () => ({ template, keys: own.data.keys, connections: 32, seconds })
    const measured = await compare([ours, hono, fastify], { jobOf, rounds, warmUpSeconds: 3 })
    for (const peer of [hono, fastify]) {
      const { median: times, min, max } = ratios(measured, [ours, peer], (sample) => sample.perSecond)
      const rate = (subject: Subject) => perSecond(median(measured, subject, (sample) => sample.perSecond))
      say(
        `${what}: ours ${rate(ours)}, ${peer.name} ${rate(peer)}: ours ${times.toFixed(2)} × (${min.toFixed(2)} to ${max.toFixed(2)})`,
      )
    }
  }
  await Promise.all([ours.stop(), hono.stop(), fastify.stop()])
  for (const { remove } of copies) remove()
  await heavyPeers(options)
}
