import { execFileSync } from 'node:child_process'
import { cpus, loadavg } from 'node:os'
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
import { p13 } from './goals/stalls.ts'
import { p15 } from './goals/tests.ts'
import { p14 } from './goals/wire.ts'
import { generator } from './harness/load.ts'
import { type Options, readOptions } from './harness/options.ts'
import { lines } from './harness/report.ts'
import { type Run, whyNotWritten, write } from './harness/table.ts'

type Goal = (options: Options) => Promise<void>

const GOALS: Record<string, Goal> = { p1, p2, p3, p4, p5, p7, p8, p9, p10, p11, p12, p13, p14, p15 }
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
const wanted = options.names.length > 0 ? options.names : [...Object.keys(GOALS), ...(options.write ? ['peers'] : [])]
const started = performance.now()
const run: Run = {
  startedAt: new Date().toISOString(),
  commit: execFileSync('git', ['describe', '--always', '--dirty', '--exclude=*'], { encoding: 'utf8' }).trim(),
  conditions: `${cpus().length} × ${cpus()[0]?.model}, Node.js ${process.version}, ${generator}, ${options.rounds} rounds of ${options.seconds} s`,
  load: loadavg()[0] ?? 0,
}
console.log(`${run.startedAt} · ${run.commit} · ${run.conditions}`)
const problem = options.write && whyNotWritten(run, options.names)
if (problem) {
  console.error(`Nothing is written: ${problem}.`)
  process.exit(1)
}
for (const name of wanted) {
  const goal = GOALS[name] ?? LONG[name]
  if (!goal) throw new Error(`There is no ${name}; there are ${Object.keys({ ...GOALS, ...LONG }).join(', ')}.`)
  await goal(options).catch((error) => {
    console.error(`${name.toUpperCase()} cannot run: ${error.message}`)
    // At once: the processes that were started end with this one.
    process.exit(1)
  })
}
if (options.write) write(run, lines)
console.log(`${Math.round((performance.now() - started) / 1000)} s`)
