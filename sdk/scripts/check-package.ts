// Packs the package, installs it into an empty project and uses it from there, as ES module and as CommonJS.
// With --runtimes, also checks it without DOM types, with arethetypeswrong, and on every Node, Deno and Bun that the registry
// provides; the missing ones are reported as skipped.
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { runtimes } from '../../webhook-verifier/scripts/runtimes.ts'
import { pack, sizeInBytes } from './pack.ts'

const root = join(import.meta.dirname, '..')
const scratch = mkdtempSync(join(tmpdir(), 'packed-'))
const project = join(scratch, 'project')
const installed = join(project, 'node_modules/@referral/sdk')
const isFull = process.argv.includes('--runtimes')
let failures = 0

const report = (what: string, problem = '') => {
  console.log(`${problem ? 'FAILED' : 'ok'}: ${what}${problem && `\n${problem}`}`)
  if (problem) failures++
}

const attempt = (what: string, command: string, args: string[]) => {
  const options = { cwd: project, encoding: 'utf8', timeout: 120_000 } as const
  const { status, stdout, stderr, error } = spawnSync(command, args, options)
  report(what, status === 0 ? '' : `${error ?? ''}${stdout}${stderr}`)
}

const install = (tarball: string) => {
  mkdirSync(project)
  cpSync(join(root, 'scripts/smoke'), project, { recursive: true })
  for (const kind of ['mts', 'cts']) cpSync(join(project, 'types.ts'), join(project, `types.${kind}`))
  writeFileSync(join(project, 'package.json'), '{ "private": true }')
  execFileSync('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', tarball], {
    cwd: project,
    stdio: 'pipe',
  })
}

const lint = async () => {
  const { messages, pkg } = await publint({ pkgDir: installed, strict: true })
  report('publint, strict', messages.map((message) => formatMessage(message, pkg)).join('\n'))
  const size = sizeInBytes(installed)
  report(`unpacked: ${size} of 400000 bytes`, size > 400_000 ? 'too large' : '')
}

/** Checks both module resolutions, declarations included. */
const typeCheck = (name: string, tsc: string) => {
  const strict = ['--noEmit', '--strict', '--target', 'es2022']
  const nodenext = ['--module', 'nodenext', 'types.mts', 'types.cts']
  const bundler = ['--module', 'esnext', '--moduleResolution', 'bundler', 'types.ts']
  const nodeTypes = ['--types', 'node', '--typeRoots', join(root, '../node_modules/@types')]
  attempt(`types, ${name}, nodenext`, tsc, [...strict, '--lib', 'es2022,dom', ...nodenext])
  attempt(`types, ${name}, bundler`, tsc, [...strict, '--lib', 'es2022,dom', ...bundler])
  const node10 = ['--module', 'commonjs', '--moduleResolution', 'node10', 'types.ts']
  // TypeScript 7 has no node10.
  if (name === 'TypeScript 5.9') attempt(`types, ${name}, node10`, tsc, [...strict, '--lib', 'es2022,dom', ...node10])
  if (isFull) attempt(`types, ${name}, without DOM`, tsc, [...strict, '--lib', 'es2022', ...nodeTypes, ...nodenext])
}

const runOn = (name: string, command: string, args: string[] = []) => {
  attempt(`${name}, ES module`, command, [...args, 'smoke-esm.mjs'])
  attempt(`${name}, CommonJS`, command, [...args, 'smoke-cjs.cjs'])
}

const runEverywhere = (tarball: string) => {
  const { commands, missing } = runtimes(join(scratch, 'runtimes'))
  for (const { name, command, args } of commands) runOn(name, command, args)
  attempt('arethetypeswrong', 'npx', ['-y', '@arethetypeswrong/cli@0.18.5', tarball, '--profile', 'node16'])
  for (const name of missing) console.log(`skipped: ${name}, not in the registry for this machine`)
}

try {
  const tarball = pack(scratch)
  install(tarball)
  await lint()
  typeCheck('TypeScript 5.9', join(root, 'node_modules/.bin/tsc'))
  typeCheck('TypeScript 7', join(root, '../node_modules/.bin/tsc'))
  runOn('this Node', process.execPath)
  if (isFull) runEverywhere(tarball)
} finally {
  rmSync(scratch, { recursive: true, force: true })
}
process.exitCode = failures ? 1 : 0
