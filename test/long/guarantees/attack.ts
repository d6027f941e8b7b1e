import { holdUploads } from '../../attack/held-uploads.ts'
import { isTooLong, MAX_STALL_MS, measureStalls } from '../../attack/measure.ts'
import { isSlowed, measureNeighbors, neighborTable } from '../../attack/neighbors.ts'
import { figure, type LongTest, type RunOptions, sized } from '../guarantee.ts'
import { guarantee as revokedKeys } from './revoked-keys.ts'

const UPLOADS = [200, 400]
/** Both pools of unauthenticated bodies have 32 MiB; socket buffers and garbage are added to that. */
const MAX_GROWTH_MIB = 256

interface Row {
  title: string
  figures: string
  isKept: boolean
}

/** No request of any operation blocks the others. PostgreSQL runs in its own process. */
async function stalls(options: RunOptions): Promise<Row> {
  const size = { commissions: sized(1_000_000, options), affiliates: sized(100_000, options) }
  const all = await measureStalls(size, { tries: 5 })
  const worst = all.reduce((a, b) => (b.cpuMs > a.cpuMs ? b : a))
  const figures = `${worst.cpuMs.toFixed(1)} ms of work (${worst.wallMs.toFixed(1)} ms by the clock) at ${figure(size.commissions)} commissions: ${worst.operation} ${worst.name}`
  return { title: `worst stall, at most ${MAX_STALL_MS} ms`, figures, isKept: !all.some(isTooLong) }
}

/** The limit: the factor by which an order of another shop may slow down. */
const MAX_TIMES = 2

/** Orders of one shop alongside the heaviest requests of another, compared with orders alone. */
async function neighbors(options: RunOptions): Promise<Row> {
  const size = { commissions: sized(20_000, options), affiliates: sized(2000, options) }
  const delays = await measureNeighbors(size, { seconds: Math.max(2, sized(6, options)), rounds: 5 })
  return {
    title: `another shop's p99, at most ${MAX_TIMES} × that without a load`,
    figures: `\n    ${neighborTable(delays).replaceAll('\n', '\n    ')}`,
    isKept: !delays.some((delay) => isSlowed(delay, MAX_TIMES)),
  }
}

async function memory(): Promise<Row> {
  const all = []
  for (const uploads of UPLOADS) all.push(await holdUploads(uploads))
  const lines = all.map(
    ({ uploads, refused, beforeMiB, heldMiB }) =>
      `${uploads} uploads of 4 MiB, ${refused} of them refused: ${beforeMiB.toFixed(0)} → ${heldMiB.toFixed(0)} MiB`,
  )
  const isKept = all.every(
    ({ uploads, refused, beforeMiB, heldMiB, status }) =>
      refused >= 0.9 * uploads && heldMiB - beforeMiB <= MAX_GROWTH_MIB && status === 200,
  )
  return { title: `memory without credentials, at most ${MAX_GROWTH_MIB} MiB more`, figures: lines.join('; '), isKept }
}

async function revocation(options: RunOptions): Promise<Row> {
  return { title: 'requests that a revoked key grants', figures: `0; ${await revokedKeys.run(options)}`, isKept: true }
}

/** One table of what an attacker reaches. */
async function run(options: RunOptions): Promise<string> {
  const rows: Row[] = []
  if (options.engine === 'sqlite') rows.push(await stalls(options), await memory())
  rows.push(await neighbors(options), await revocation(options))
  const table = rows.map(({ title, figures, isKept }) => `  ${isKept ? '' : 'BROKEN '}${title}: ${figures}`).join('\n')
  if (rows.some(({ isKept }) => !isKept)) throw new Error(`\n${table}`)
  return `\n${table}`
}

export const guarantee: LongTest = {
  title: 'Limits hold under attack',
  engines: ['sqlite', 'postgres'],
  minutes: 25,
  run,
}
