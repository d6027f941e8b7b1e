import type { OwnerServer } from '../support/owner.ts'
import { OPERATOR_TOKEN } from '../support/server.ts'

/** One request, as heavy as a valid one may be. */
export interface HeavyRequest {
  operation: string
  name: string
  /** It is rejected with that status, after it was read. */
  rejected?: number
  /** Created for each attempt, because some requests consume what they name. */
  make: () => Promise<Call> | Call
}

export interface Call {
  method: string
  path: string
  body?: unknown
  headers?: Record<string, string>
}

export interface Stall {
  operation: string
  name: string
  status: number
  /** The longest time between two iterations of the event loop. */
  wallMs: number
  /** The CPU time of this thread within it; the rest is other processes on a busy machine, and the disk. */
  cpuMs: number
}

/** How long the event loop was blocked by a request: the best of several tries, or the first within `enough`. */
export async function stallOf(
  server: OwnerServer,
  request: HeavyRequest,
  { tries, enough }: { tries: number; enough: number },
): Promise<Stall> {
  const { operation, name } = request
  const best: Stall = { operation, name, status: 0, wallMs: Infinity, cpuMs: Infinity }
  for (let i = 0; i < tries && (i < 2 || Math.min(best.wallMs, best.cpuMs) > enough); i++) {
    const { method, path, body, headers } = await request.make()
    const token = tokenFor(server, path)
    const sent = new Request(`http://test${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, ...headers },
      body: body === undefined || typeof body === 'string' ? body : JSON.stringify(body),
    })
    // Excludes garbage left by the preparation.
    await new Promise((done) => setTimeout(done, 5))
    const watch = watchLoop()
    const response = await server.app.fetch(sent)
    const text = await textOf(response)
    const { wallMs, cpuMs } = await watch()
    if (request.rejected ? response.status !== request.rejected : response.status >= 400)
      throw new Error(`${operation} ${name}: ${response.status} ${text}`)
    best.wallMs = Math.min(best.wallMs, wallMs)
    best.cpuMs = Math.min(best.cpuMs, cpuMs)
    best.status = response.status
  }
  return best
}

function tokenFor({ shop }: OwnerServer, path: string): string {
  if (path.startsWith('/operator/')) return OPERATOR_TOKEN
  return path.startsWith('/admin/') ? shop.ownerToken : shop.key
}

/** Streams of events never end; reads only the first message. An export may be longer than the longest string. */
async function textOf(response: Response): Promise<string> {
  if (response.headers.get('Content-Type')?.startsWith('application/x-ndjson')) {
    for await (const _ of response.body ?? []);
    return ''
  }
  if (!response.headers.get('Content-Type')?.startsWith('text/event-stream')) return response.text()
  const reader = response.body?.getReader()
  await reader?.read()
  await reader?.cancel()
  return ''
}

const cpuNow = () => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/** Returns the longest turn of the event loop since the start, in wall time and in CPU time of this thread. */
export function watchLoop(): () => Promise<{ wallMs: number; cpuMs: number }> {
  const longest = { wallMs: 0, cpuMs: 0 }
  let wall = performance.now()
  let cpu = cpuNow()
  let isWatching = true
  const turn = () => {
    const [wallAt, cpuAt] = [performance.now(), cpuNow()]
    longest.wallMs = Math.max(longest.wallMs, wallAt - wall)
    longest.cpuMs = Math.max(longest.cpuMs, cpuAt - cpu)
    wall = wallAt
    cpu = cpuAt
    if (isWatching) setImmediate(turn)
  }
  setImmediate(turn)
  return async () => {
    await new Promise((done) => setImmediate(done))
    isWatching = false
    turn()
    return longest
  }
}

/** One line per request, slowest first. */
export const stallTable = (stalls: Stall[]): string =>
  [...stalls]
    .sort((a, b) => b.cpuMs - a.cpuMs)
    .map(
      ({ operation, name, status, wallMs, cpuMs }) =>
        `${cpuMs.toFixed(1).padStart(8)} ms ${wallMs.toFixed(1).padStart(8)} ms  ${status}  ${operation}${name && `: ${name}`}`,
    )
    .join('\n')
