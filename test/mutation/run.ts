import { spawn } from 'node:child_process'
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

/** Makes small changes to the code and checks that a test fails: pnpm test:mutation [engine|verifier] [--survivors]. */
const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const KEPT = join(ROOT, 'node_modules/.cache/mutation')
const GOAL = 90
/** A run that takes longer is stopped; its results are kept for the next. */
const MINUTES = 9
/** How many lines are mutated at a time. */
const LINES = 250
const TARGETS: Record<string, string> = { engine: 'server/src/engine/*.ts', verifier: 'webhook-verifier/src/*.ts' }
/** Generated from the contract, or only types. */
const LEFT_OUT = /\/(events|index)\.ts$/

interface Mutant {
  status: string
  mutatorName: string
  replacement?: string
  location: { start: { line: number } }
}

type Report = Record<string, Mutant[]>

/** Files in groups that each take a few minutes. */
function groupsOf(target: string): string[][] {
  const groups: string[][] = []
  let lines = LINES
  for (const file of globSync(TARGETS[target] ?? '', { cwd: ROOT }).filter((one) => !LEFT_OUT.test(one))) {
    const length = readFileSync(join(ROOT, file), 'utf8').split('\n').length
    if (lines + length > LINES) {
      groups.push([])
      lines = 0
    }
    groups.at(-1)?.push(file)
    lines += length
  }
  return groups
}

async function mutate(target: string, files: string[], concurrency: string): Promise<Report> {
  const name = join(KEPT, `${target}-${files[0]?.split('/').at(-1)}`)
  const config = {
    ...JSON.parse(readFileSync(new URL('stryker.json', import.meta.url), 'utf8')),
    vitest: { configFile: `test/mutation/${target}.vitest.ts` },
    jsonReporter: { fileName: `${name}.report.json` },
    incrementalFile: `${name}.known.json`,
    mutate: files,
    concurrency: Number(concurrency),
  }
  mkdirSync(KEPT, { recursive: true })
  forgetBroken(config.incrementalFile)
  writeFileSync(`${name}.config.json`, JSON.stringify(config))
  const child = spawn('stryker', ['run', `${name}.config.json`], { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk))
  const bound = setTimeout(() => child.kill('SIGINT'), MINUTES * 60_000)
  const code = await new Promise((done) => child.once('close', done))
  clearTimeout(bound)
  if (code !== 0) throw new Error(`Stryker ended with ${code} on ${files.join(', ')}:\n${said.slice(-3000)}`)
  const { files: found } = JSON.parse(readFileSync(`${name}.report.json`, 'utf8'))
  return Object.fromEntries(Object.entries<{ mutants: Mutant[] }>(found).map(([file, { mutants }]) => [file, mutants]))
}

/** Partly written files of a stopped run. */
function forgetBroken(file: string): void {
  try {
    JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    rmSync(file, { force: true })
  }
}

const count = (mutants: Mutant[], ...statuses: string[]) =>
  mutants.filter(({ status }) => statuses.includes(status)).length
const alive = (mutants: Mutant[]) => count(mutants, 'Survived', 'NoCoverage')
const dead = (mutants: Mutant[]) => count(mutants, 'Killed', 'Timeout')
const score = (mutants: Mutant[]) => (100 * dead(mutants)) / (dead(mutants) + alive(mutants))

function show(file: string, mutants: Mutant[]): void {
  for (const { status, mutatorName, replacement = '', location } of mutants) {
    if (status !== 'Survived' && status !== 'NoCoverage') continue
    console.log(`  ${file}:${location.start.line} ${mutatorName}: ${replacement.replace(/\s+/g, ' ').slice(0, 100)}`)
  }
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { survivors: { type: 'boolean', default: false }, concurrency: { type: 'string', default: '2' } },
})
let isBelow = false
for (const target of positionals.length > 0 ? positionals : Object.keys(TARGETS)) {
  const all: Mutant[] = []
  for (const files of groupsOf(target)) {
    for (const [file, mutants] of Object.entries(await mutate(target, files, values.concurrency))) {
      if (values.survivors) show(file, mutants)
      all.push(...mutants)
    }
  }
  console.log(
    `${target}: ${score(all).toFixed(1)}% of ${dead(all) + alive(all)} mutants noticed, ${alive(all)} were not (goal ${GOAL}%)`,
  )
  isBelow ||= !(score(all) >= GOAL)
}
process.exit(isBelow ? 1 : 0)
