import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** How long the transactions of a control took, in whole milliseconds. */
export interface ControlTimes {
  median: number
  worst: number
  /** How much longer one took than usual: the share of the machine in the longest time of anything else. */
  excess: number
}

/**
 * A process that runs one small transaction of constant work after another, alongside what is measured: in another database of
 * the same PostgreSQL, or in another file on the same disk.
 */
export function startControl(url: string): { take: () => Promise<ControlTimes>; stop: () => void } {
  const child = fork(fileURLToPath(new URL('control-process.ts', import.meta.url)), [url])
  return {
    take: async () => {
      child.send('take')
      const [times] = (await once(child, 'message')) as [number[]]
      const sorted = times.sort((a, b) => a - b)
      const at = (share: number) => Math.ceil(sorted[Math.floor((sorted.length - 1) * share)] ?? 0)
      return { median: at(0.5), worst: at(1), excess: at(1) - at(0.5) }
    },
    stop: () => void child.kill('SIGKILL'),
  }
}
