import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { describeCommands } from '../../cli/src/command-tree.ts'
import { ORDER_FIELDS } from '../../cli/src/commands/events/order-fields.ts'
import { completionFor } from '../../cli/src/completion.ts'
import { createProgram } from '../../cli/src/program.ts'
import { reference } from '../../cli/src/reference.ts'
import { document } from '../support/document.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { cli, MAIN } from './support.ts'

const home = (path: string) => fileURLToPath(new URL(`../../cli/${path}`, import.meta.url))
const program = await createProgram()
const tree = describeCommands(program)

test('generated files are up to date', () => {
  const check = spawnSync(process.execPath, [home('scripts/generate.ts'), '--check'], { encoding: 'utf8' })
  expect({ code: check.status, stderr: check.stderr }).toEqual({ code: 0, stderr: '' })
  expect(readFileSync(home('REFERENCE.md'), 'utf8')).toBe(reference(program))
})

test('every command and option is in the reference', () => {
  const text = readFileSync(home('REFERENCE.md'), 'utf8')
  for (const { usage, options } of tree) {
    expect(text).toContain(`### referral ${usage}\n`)
    for (const { flags } of options) expect(text).toContain(flags)
  }
})

test('every command declares an existing output schema', () => {
  const own = Object.keys(JSON.parse(readFileSync(home('schemas.json'), 'utf8')).$defs)
  const known = [...own, ...Object.keys(document.components.schemas), 'Text']
  for (const { command, output } of tree)
    expect([command, known.includes(output?.replace('[]', '') ?? '')]).toEqual([command, true])
})

test('a command loaded alone is the same as in the whole tree', async () => {
  for (const [name] of Map.groupBy(tree, ({ command }) => command.split(' ')[0] ?? '')) {
    const alone = describeCommands(await createProgram(undefined, name))
    expect(alone.length).toBeLessThan(tree.length)
    expect(alone.filter(({ command }) => command.split(' ')[0] === name)).toEqual(
      tree.filter(({ command }) => command.split(' ')[0] === name),
    )
  }
})

test('every example uses only options of its command', () => {
  const flagsOf = (words: string) =>
    tree
      .find(({ command }) => command === words)
      ?.options.flatMap(({ flags }) => flags.match(/--?[a-z][\w-]*/g) ?? []) ?? []
  const globals = program.options.flatMap(({ flags }) => flags.match(/--?[a-z][\w-]*/g) ?? [])
  for (const { command, examples } of tree)
    for (const example of examples) {
      const own = example.split(/[|<>]/).find((part) => part.trim().startsWith('referral')) ?? ''
      for (const flag of own.match(/(?<=\s)--?[a-z][\w-]*/g) ?? [])
        expect([...flagsOf(command), ...globals], example).toContain(flag)
    }
})

test('help groups the commands by what people do, explains topics, and lists the global options once', async () => {
  const help = program.helpInformation()
  for (const heading of ['Set up:', 'Pay affiliates:', 'Report and import:', 'Get help:'])
    expect(help).toContain(heading)
  expect(help).not.toContain('\nCommands:')
  for (const [topic, text] of [
    ['environment', 'REFERRAL_API_KEY'],
    ['exit-codes', 'rate limited'],
    ['formatting', 'ndjson'],
  ] as const)
    expect(await cli(['help', topic])).toMatchObject({ code: 0, stdout: expect.stringContaining(text) })
  const { stdout } = await cli(['payouts', 'pay', '--help'])
  expect(stdout).toContain('referral --help')
  expect(stdout).not.toContain('--profile <name>')
})

test('the fields of an import of orders are in its help and in its guide', async () => {
  const { stdout } = await cli(['events', 'import', '--help'])
  const guide = readFileSync(home('MIGRATING.md'), 'utf8')
  for (const field of [...Object.keys(ORDER_FIELDS), 'refundedCents', 'status']) {
    expect(stdout).toMatch(new RegExp(`\\b${field}\\b`))
    expect(guide).toContain(`\`${field}\``)
  }
})

test('every example id begins like an id of the API', () => {
  const shown = tree.flatMap(({ examples }) => examples.flatMap((example) => example.match(/\b[a-z]{3}(?=_…)/g) ?? []))
  const known = JSON.stringify(document).match(/\b[a-z]{3}(?=_[0-9A-Z]{26}\b)/g)
  for (const prefix of shown) expect(known).toContain(prefix)
})

test('completion scripts contain every command', () => {
  for (const shell of ['bash', 'zsh', 'fish', 'powershell']) {
    const script = completionFor(program, shell)
    for (const { command, options } of tree) {
      expect(script, shell).toContain(command)
      for (const { flags } of options) expect(script).toContain(flags.match(/--([a-z-]+)/)?.[1] ?? '')
    }
  }
})

test('bash completes commands, options and values', () => {
  const folder = temporaryFolder()
  const file = join(folder.path, 'completion.bash')
  writeFileSync(file, completionFor(program, 'bash'))
  const complete = (...words: string[]) => {
    const list = words.map((word) => `'${word}'`).join(' ')
    const script = `source ${file}; COMP_WORDS=(referral ${list}); COMP_CWORD=${words.length}; _referral; echo "\${COMPREPLY[*]}"`
    return execFileSync('bash', ['-c', script], { encoding: 'utf8' }).trim()
  }
  expect(complete('pay')).toBe('payouts')
  expect(complete('payouts', '')).toBe(
    'list get preview create unpaid pay export lines reconcile discard-file cancel ledger',
  )
  expect(complete('--json', 'payouts', 'pay', '--e')).toBe('--expect-total')
  expect(complete('affiliates', 'list', '--status', 'A')).toBe('ACTIVE APPROVED')
  expect(complete('payouts', 'export', 'bat_1', '--format', 'w')).toBe('wise')
  expect(complete('completion', '')).toBe('bash zsh fish powershell')
  folder.remove()
})

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
