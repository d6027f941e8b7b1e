import { globSync, readFileSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const FAKE_TIME = 'vi.useFakeTimers'

const textOf = (file: string) => readFileSync(resolve(ROOT, file), 'utf8')
const codeOf = (file: string) => textOf(file).replace(/^\s*(\/\/|\*|\/\*).*$/gm, '')

/** The modules that a file loads, through whatever it imports within the tests. */
function loadedBy(file: string, seen = new Map<string, string[]>()): Map<string, string[]> {
  if (seen.has(file)) return seen
  const specifiers = [...textOf(file).matchAll(/^(?:import|export) (?!type )[^'"]*?from '([^']+)'/gms)]
  const imports = specifiers.map(([, specifier = '']) => specifier)
  seen.set(file, imports)
  for (const path of imports.filter((path) => path.startsWith('.'))) {
    const target = relative(ROOT, resolve(ROOT, dirname(file), path))
    if (target.startsWith('test/') && target.endsWith('.ts')) loadedBy(target, seen)
  }
  return seen
}

/** What the CLI's tests start: the CLI, a server for it, and a terminal. */
const CLI_PROCESSES = ['test/cli/support.ts', 'test/support/process.ts']

const files = globSync('test/**/*.test.ts', { cwd: ROOT, exclude: ['**/node_modules/**'] })
  .filter((file) => file !== 'test/suite.test.ts')
  .filter((file) => !textOf(file).startsWith('// Full: '))

test('files that `test` runs compare no clock with a bound', () => {
  const bound =
    /performance\.now|hrtime|expect\([^\n]*Date\.now\(\)|[<>-]\s*Date\.now\(\)|Date\.now\(\)\s*(>|<|- *started)/
  const faked = (file: string) => codeOf(file).includes(FAKE_TIME)
  expect(files.filter((file) => bound.test(codeOf(file)) && !faked(file))).toEqual([])
})

test('files that `test` runs wait for no fixed time', () => {
  const wait = /timers\/promises|(?<![\w.])setTimeout\(|\bsleep\(/
  expect(files.filter((file) => wait.test(codeOf(file)))).toEqual([])
})

test("files that `test` runs start no process, except the CLI's", () => {
  const starting = files.filter((file) => {
    const isCli = file.startsWith('test/cli/')
    return [...loadedBy(file)].some(
      ([module, imports]) =>
        imports.includes('node:child_process') && !(isCli && (module === file || CLI_PROCESSES.includes(module))),
    )
  })
  expect(starting).toEqual([])
})

test('each file of `test:full` alone gives its reason', () => {
  const full = globSync('test/**/*.test.ts', { cwd: ROOT, exclude: ['**/node_modules/**'] }).filter((file) =>
    /^\/\/ Full\b/.test(textOf(file)),
  )
  expect(full.filter((file) => !/^\/\/ Full: .{10,}\.\n/.test(textOf(file)))).toEqual([])
})
