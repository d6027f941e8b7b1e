import { cpus } from 'node:os'
import { p3, p4 } from './goals/conversions.ts'
import { p7 } from './goals/deliveries.ts'
import { fairness } from './goals/fairness.ts'
import { growth } from './goals/growth.ts'
import { p5, p9 } from './goals/large.ts'
import { p1, p2 } from './goals/lists.ts'
import { p11, p12 } from './goals/network.ts'
import { pages } from './goals/pages.ts'
import { peers } from './goals/peers.ts'
import { p8 } from './goals/postgres.ts'
import { memory, p10 } from './goals/process.ts'
import { profile } from './goals/profile.ts'
import { snapshot } from './goals/snapshot.ts'
import { p6 } from './goals/statements.ts'
import { generator } from './harness/load.ts'
import { type Options, readOptions } from './harness/options.ts'

type Goal = (options: Options) => Promise<void>

const GOALS: Record<string, Goal> = { p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12 }
/** Run only when selected by name. */
const LONG: Record<string, Goal> = {
  fairness,
  growth,
  memory,
  pages,
  peers,
  snapshot,
  profile: async ({ seconds }) => {
    await profile('lists', seconds)
    await profile('orders', seconds)
  },
}

const options = readOptions()
const wanted = options.names.length > 0 ? options.names : Object.keys(GOALS)
const started = performance.now()
console.log(
  `${new Date().toISOString()} · ${cpus().length} × ${cpus()[0]?.model} · node ${process.version} · ${generator} · ${options.rounds} rounds of ${options.seconds} s`,
)
for (const name of wanted) {
  const goal = GOALS[name] ?? LONG[name]
  if (!goal) throw new Error(`There is no ${name}; there are ${Object.keys({ ...GOALS, ...LONG }).join(', ')}.`)
  await goal(options).catch((error) => {
    console.error(`${name.toUpperCase()} cannot run: ${error.message}`)
    // At once: the processes that were started end with this one.
    process.exit(1)
  })
}
console.log(`${Math.round((performance.now() - started) / 1000)} s`)
