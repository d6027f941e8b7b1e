import { spawnSync } from 'node:child_process'
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'

/** The disk operations and the responses of a process, in order. */
export type Step =
  | { kind: 'create'; path: string }
  | { kind: 'unlink'; path: string }
  | { kind: 'sync'; path: string }
  | { kind: 'write'; path: string; at: number; data: Buffer }
  | { kind: 'truncate'; path: string; size: number }
  | { kind: 'acknowledge'; ids: string[] }

const CALLS = 'pwrite64,write,writev,fsync,fdatasync,ftruncate,openat,unlink'

/** Runs a command so that its main thread, where the database works, is recorded; the command keeps its process id. */
export const recorder = (file: string): string[] => [
  ...['strace', '-D', '-y', '-xx', '-s', '1000000', '-e', 'signal=none', '-e', `trace=${CALLS}`, '-o', file],
]

/** Why nothing can be recorded here, or undefined. */
export function whyNoRecorder(): string | undefined {
  const { status, error, stderr } = spawnSync('strace', ['-o', '/dev/null', 'true'], { encoding: 'utf8' })
  if (error) return 'there is no strace on this machine'
  return status === 0 ? undefined : `strace may not trace here (${stderr.trim().split('\n')[0]})`
}

const bytes = (hex = '') => Buffer.from(hex.replaceAll('\\x', ''), 'hex')
const text = (hex?: string) => bytes(hex).toString()
const ON_FILE =
  /^(fsync|fdatasync|ftruncate|pwrite64|write)\(\d+<([^>]*)>(?:, "([^"]*)")?(?:, (\d+))?(?:, (\d+))?\)\s+= (\d+)/
const NAMED = /^(openat|unlink)\((?:[^"]*, )?"([^"]*)"(?:, (\S+))?.*\)\s+= \d/
const ANSWER = /HTTP\/1\.1 201 /
const COMMISSION = /"commission":\{"id":"(com_\w{26})"/g

function parse(line: string): Step | undefined {
  const [, name, path] = NAMED.exec(line) ?? []
  if (name === 'unlink') return { kind: 'unlink', path: text(path) }
  if (name === 'openat') return line.includes('O_CREAT') ? { kind: 'create', path: text(path) } : undefined
  const [, call, file, data, first, second] = ON_FILE.exec(line) ?? []
  if (call === 'fsync' || call === 'fdatasync') return { kind: 'sync', path: text(file) }
  if (call === 'ftruncate') return { kind: 'truncate', path: text(file), size: Number(first) }
  if (call === 'pwrite64') return { kind: 'write', path: text(file), at: Number(second), data: bytes(data) }
  if (!line.startsWith('write')) return undefined
  const said = [...line.matchAll(/"([^"]*)"/g)].map(([, part]) => text(part)).join('')
  const ids = ANSWER.test(said) ? [...said.matchAll(COMMISSION)].map(([, id = '']) => id) : []
  return ids.length > 0 ? { kind: 'acknowledge', ids } : undefined
}

export async function readTrace(file: string): Promise<Step[]> {
  const steps: Step[] = []
  for await (const line of createInterface({ input: createReadStream(file, 'latin1') })) {
    const step = parse(line)
    if (step) steps.push(step)
  }
  return steps
}
