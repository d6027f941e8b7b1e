// Full: compares CPU times of processes.
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { MAIN } from './support.ts'

test('--version takes at most 1.5 times the CPU time of an empty Node.js process plus 100 ms, and does not wait', () => {
  const folder = temporaryFolder()
  const printTimes = join(folder.path, 'print-times.cjs')
  const times = '{ ...process.cpuUsage(), idleMs: performance.nodeTiming.idleTime }'
  writeFileSync(printTimes, `process.on('exit', () => console.error(JSON.stringify(${times})))`)
  const run = (args: string[]) => {
    const env = { PATH: process.env.PATH ?? '' }
    const { stderr } = spawnSync(process.execPath, ['--require', printTimes, ...args], { env, encoding: 'utf8' })
    const { user, system, idleMs } = JSON.parse(stderr)
    return { cpuMs: (user + system) / 1000, idleMs }
  }
  type Run = ReturnType<typeof run>
  const [cli, bare]: [Run[], Run[]] = [[], []]
  // Interleaved in both orders, so that load affects both.
  for (let round = 0; round < 9; round++)
    for (const kind of round % 2 ? ['cli', 'bare'] : ['bare', 'cli'])
      if (kind === 'cli') cli.push(run([MAIN, '--version']))
      else bare.push(run(['-e', '0']))
  folder.remove()
  // The minimum of nine runs excludes the effect of load.
  const least = (runs: Run[], time: 'cpuMs' | 'idleMs') => Math.min(...runs.map((result) => result[time]))
  const [cpuMs, bareMs, idleMs] = [least(cli, 'cpuMs'), least(bare, 'cpuMs'), least(cli, 'idleMs')]
  console.log(`--version ${cpuMs.toFixed(0)} ms, node -e 0 ${bareMs.toFixed(0)} ms, idle ${idleMs.toFixed(1)} ms`)
  expect(cpuMs).toBeLessThan(1.5 * bareMs + 100)
  // Waiting for a request or a timer uses no CPU time.
  expect(idleMs).toBeLessThan(30)
}, 60_000)
