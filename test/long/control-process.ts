import { setTimeout as sleep } from 'node:timers/promises'
import { openControl } from './control-work.ts'

/** Runs the same small transaction again and again and measures it: node control-process.ts <database URL>. */
const [, , url = ''] = process.argv
const PAUSE_MS = 50

const run = await openControl(url)
let times: number[] = []
process.on('message', () => {
  process.send?.(times)
  times = []
})
process.once('disconnect', () => process.exit(0))
for (;;) {
  const startedAt = performance.now()
  // A database that restarts is part of what is measured.
  await run().catch(() => {})
  times.push(performance.now() - startedAt)
  await sleep(PAUSE_MS)
}
