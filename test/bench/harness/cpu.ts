import { readdirSync, readFileSync } from 'node:fs'
import pg from 'pg'

/** The process id of the PostgreSQL server. */
export async function postmasterOf(url: string): Promise<number> {
  const client = new pg.Client(url)
  await client.connect()
  const { rows } = await client.query('select pg_backend_pid() as pid')
  const parent = statOf(rows[0].pid)?.parent ?? 0
  await client.end()
  return parent
}

const TICKS_PER_SECOND = 100

/** The CPU time of a process's children with this title. Linux only; 0 elsewhere. */
export function cpuSecondsOf(parent: number, title = /^/): number {
  const pids = readdirSync('/proc').map(Number).filter(Boolean)
  const children = pids.map((pid) => ({ pid, stat: statOf(pid) })).filter(({ stat }) => stat?.parent === parent)
  const counted = children.filter(({ pid }) => title.test(titleOf(pid)))
  return counted.reduce((sum, { stat }) => sum + stat!.ticks, 0) / TICKS_PER_SECOND
}

/** PostgreSQL shows there what a process does. */
function titleOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}

function statOf(pid: number): { parent: number; ticks: number } | undefined {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
    return { parent: Number(fields[1]), ticks: Number(fields[11]) + Number(fields[12]) }
  } catch {
    // The process has ended.
    return undefined
  }
}
