import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Job, Load, Template } from './load.ts'

const run = promisify(execFile)

/** One thread of wrk; a small script defines what it sends. */
export async function runWrk(job: Job): Promise<Load> {
  const folder = mkdtempSync(join(tmpdir(), 'referral-wrk-'))
  try {
    const script = join(folder, 'job.lua')
    writeFileSync(script, scriptOf(job))
    const args = ['-t1', `-c${job.connections}`, `-d${job.seconds}s`, '--timeout', '10s', '-s', script, job.url]
    const { stdout } = await run('wrk', args)
    const [, ...numbers] = /RESULT (\d+) (\d+) (\d+) (\d+) (\d+)/.exec(stdout) ?? []
    const [requests = 0, micros = 0, p50Micros = 0, p99Micros = 0, wrong = 0] = numbers.map(Number)
    if (requests === 0) throw new Error(`wrk was not answered: ${stdout}`)
    return { requests, perSecond: (requests / micros) * 1e6, p50Micros, p99Micros, wrong }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const scriptOf = ({ url, template, keys, from, record }: Job) => `
local keys, k, n = {${keys.map((key) => JSON.stringify(key)).join(',')}}, 0, ${from}
request = function()
  k, n = k % #keys + 1, n + 1
  return ${expressionOf(rawOf(new URL(url).host, template))}
end
${record ? recording(record) : ''}
done = function(summary, latency)
  local e = summary.errors
  io.write(string.format("RESULT %d %d %d %d %d", summary.requests, summary.duration, latency:percentile(50),
    latency:percentile(99), e.status + e.connect + e.read + e.write + e.timeout))
end`

const recording = (file: string) => `
local answers = io.open(${JSON.stringify(file)}, "a")
answers:setvbuf("line")
response = function(status, headers, body) answers:write(status, " ", body, "\\n") end`

/** The request as it goes over the wire. */
function rawOf(host: string, { method, path, headers, body }: Template): string {
  // A placeholder is as long as its number.
  const length = body === undefined ? 0 : Buffer.byteLength(body.replaceAll('<n>', '0'.repeat(10)))
  const all = { Host: host, ...headers, ...(body !== undefined && { 'Content-Length': String(length) }) }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  return [`${method} ${path} HTTP/1.1`, ...lines, '', body ?? ''].join('\r\n')
}

/** The same as a Lua expression that inserts key and number. */
const expressionOf = (raw: string): string =>
  raw
    .split(/(<key>|<n>|<page>)/)
    .map((part) =>
      part === '<key>' ? 'keys[k]' : part === '<n>' ? 'n' : part === '<page>' ? '(n % 19 + 1)' : JSON.stringify(part),
    )
    .join(' .. ')
