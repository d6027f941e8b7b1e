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
import { cli } from './support.ts'

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
