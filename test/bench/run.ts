import { cpus } from 'node:os'
import { p3, p4 } from './goals/conversions.ts'
import { p1, p2 } from './goals/lists.ts'
import { profile } from './goals/profile.ts'
import { generator } from './harness/load.ts'
import { type Options, readOptions } from './harness/options.ts'

const GOALS: Record<string, (options: Options) => Promise<void>> = {
  p1,
  p2,
  p3,
  p4,
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
  const goal = GOALS[name]
  if (!goal) throw new Error(`There is no ${name}; there are ${Object.keys(GOALS).join(', ')}.`)
  await goal(options)
}
console.log(`${Math.round((performance.now() - started) / 1000)} s`)
