import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { Job, Load } from './load.ts'

/** The same load without wrk. It uses more CPU time, so ratios are slightly closer to 1. */
export async function runAutocannon(job: Job): Promise<Load> {
  const child = fork(new URL('./autocannon-process.ts', import.meta.url), { stdio: 'inherit' })
  child.send(job)
  const [result] = await once(child, 'message')
  child.kill()
  return result as Load
}
