import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { Job, Load } from './load.ts'

/** The same load where there is no wrk. It needs more processor, so ratios come out a little closer to 1. */
export async function runAutocannon(job: Job): Promise<Load> {
  const child = fork(new URL('./autocannon-process.ts', import.meta.url), { stdio: 'inherit' })
  child.send(job)
  const [result] = await once(child, 'message')
  child.kill()
  return result as Load
}
