import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, stripVTControlCharacters } from 'node:util'

/**
 * Repeats `test` beside busy processes and prints a row per run: pnpm test:repeat [--runs 20] [--busy 2] [--node 22.19]
 * [part of a test file's path…]. Another Node.js, which npx fetches, runs the tests alone, without lint and types.
 */
export interface TestRun {
  isPassed: boolean
  seconds: number
  /** Of all processes. Linux only; 0 elsewhere. */
  cpuSeconds: number
  failed: string[]
}

const ROOT = join(import.meta.dirname, '..')
const TICKS_PER_SECOND = 100

/** The CPU time of children that have ended, and of theirs. */
function childSeconds(): number {
  if (process.platform !== 'linux') return 0
  const fields = readFileSync('/proc/self/stat', 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
  return (Number(fields[13]) + Number(fields[14])) / TICKS_PER_SECOND
}

const ended = (child: ChildProcess) => new Promise<number | null>((done) => child.once('close', done))

export async function runTest(filters: string[], node?: string): Promise<TestRun> {
  const folder = mkdtempSync(join(tmpdir(), 'referral-repeat-'))
  const report = join(folder, 'report.json')
  const [command = '', ...args] = node
    ? ['npx', '-y', `node@${node}`, 'node_modules/vitest/vitest.mjs', 'run']
    : ['npx', '-y', 'pnpm@12', 'test']
  const [started, cpuBefore] = [performance.now(), childSeconds()]
  const reporter = ['--reporter=dot', '--reporter=json', `--outputFile.json=${report}`]
  const child = spawn(command, [...args, ...filters, ...reporter], { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      output = (output + stripVTControlCharacters(String(chunk))).slice(-500)
    })
  const code = await ended(child)
  const figures = { seconds: (performance.now() - started) / 1000, cpuSeconds: childSeconds() - cpuBefore }
  const failed = code === 0 ? [] : failuresOf(report, output)
  rmSync(folder, { recursive: true, force: true })
  return { isPassed: code === 0, ...figures, failed }
}

interface Report {
  testResults: {
    name: string
    message: string
    status: string
    assertionResults: { fullName: string; status: string }[]
  }[]
}

/** Names of failed tests; of files that could not run; or, when nothing ran, the end of the output. */
function failuresOf(report: string, output: string): string[] {
  let results: Report['testResults']
  try {
    results = (JSON.parse(readFileSync(report, 'utf8')) as Report).testResults
  } catch {
    return [output]
  }
  const failed = results
    .filter(({ status }) => status === 'failed')
    .flatMap(({ name, message, assertionResults }) => {
      const file = name.replace(`${ROOT}/`, '')
      const tests = assertionResults.filter(({ status }) => status === 'failed')
      return tests.length > 0 ? tests.map(({ fullName }) => `${file}: ${fullName}`) : [`${file}: ${message}`]
    })
  return failed.length > 0 ? failed : [output]
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      runs: { type: 'string', default: '20' },
      busy: { type: 'string', default: '2' },
      node: { type: 'string' },
    },
  })
  const busy = Array.from({ length: Number(values.busy) }, () => spawn(process.execPath, ['-e', 'for (;;);']))
  process.once('exit', () => {
    for (const child of busy) child.kill('SIGKILL')
  })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
  console.log(`Node.js ${values.node ?? 'as pinned'}, ${availableParallelism()} cores, ${busy.length} busy processes\n`)
  console.log('| run | result | seconds | CPU seconds | failed tests |\n|---|---|---|---|---|')
  let failures = 0
  for (let run = 1; run <= Number(values.runs); run++) {
    const { isPassed, seconds, cpuSeconds, failed } = await runTest(positionals, values.node)
    if (!isPassed) failures++
    const text = failed.map((one) => one.replaceAll(/\s*\n\s*/g, ' ').replaceAll('|', '\\|')).join('; ')
    const figures = [isPassed ? 'passed' : 'failed', Math.round(seconds), Math.round(cpuSeconds), text]
    console.log(`| ${[run, ...figures].join(' | ')} |`)
  }
  console.log(`\n${failures} of ${values.runs} runs failed`)
  process.exit(failures > 0 ? 1 : 0)
}

if (import.meta.main) await main()
