// Packs the package, installs it into an empty project and uses it from there, as ES module and as CommonJS.
// With --runtimes, also uses it on every Node, Deno and Bun that the registry provides; the missing ones are reported as skipped.
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { pack } from './pack.ts'
import { runtimes } from './runtimes.ts'

const scratch = mkdtempSync(join(tmpdir(), 'packed-'))
const project = join(scratch, 'project')
let failures = 0

const report = (what: string, problem = '') => {
  console.log(`${problem ? 'FAILED' : 'ok'}: ${what}${problem && `\n${problem}`}`)
  if (problem) failures++
}

const attempt = (what: string, command: string, args: string[]) => {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd: project,
    encoding: 'utf8',
    timeout: 120_000,
  })
  report(what, status === 0 ? '' : `${error ?? ''}${stdout}${stderr}`)
}

const install = (tarball: string) => {
  mkdirSync(project)
  cpSync(join(import.meta.dirname, 'smoke'), project, { recursive: true })
  writeFileSync(join(project, 'package.json'), '{ "private": true }')
  execFileSync('npm', ['install', '--offline', '--no-audit', '--no-fund', tarball], { cwd: project, stdio: 'pipe' })
}

const lint = async () => {
  const { messages, pkg } = await publint({
    pkgDir: join(project, 'node_modules/@referral/webhook-verifier'),
    strict: true,
  })
  report('publint, strict', messages.map((message) => formatMessage(message, pkg)).join('\n'))
}

const typeCheck = (name: string, tsc: string) => {
  cpSync(join(project, 'types.ts'), join(project, 'types.mts'))
  cpSync(join(project, 'types.ts'), join(project, 'types.cts'))
  const options = ['--noEmit', '--strict', '--target', 'es2022', '--lib', 'es2022,dom,dom.iterable']
  attempt(`types, ${name}`, tsc, [...options, '--module', 'nodenext', 'types.mts', 'types.cts'])
}

const runOn = (name: string, command: string, args: string[] = []) => {
  attempt(`${name}, ES module`, command, [...args, 'smoke-esm.mjs'])
  attempt(`${name}, CommonJS`, command, [...args, 'smoke-cjs.cjs'])
}

const runEverywhere = (tarball: string) => {
  const { commands, compiler, missing } = runtimes(join(scratch, 'runtimes'))
  for (const { name, command, args } of commands) runOn(name, command, args)
  if (compiler) typeCheck('TypeScript 5.7', compiler)
  const attw = [
    '-y',
    '@arethetypeswrong/cli@0.18.5',
    tarball,
    '--profile',
    'node16',
    '--exclude-entrypoints',
    'vectors.json',
  ]
  attempt('arethetypeswrong', 'npx', attw)
  for (const name of missing) console.log(`skipped: ${name}, not in the registry for this machine`)
}

try {
  const tarball = pack(scratch)
  install(tarball)
  await lint()
  typeCheck('TypeScript of the workspace', join(import.meta.dirname, '../../node_modules/.bin/tsc'))
  runOn('this Node', process.execPath)
  if (process.argv.includes('--runtimes')) runEverywhere(tarball)
} finally {
  rmSync(scratch, { recursive: true, force: true })
}
process.exitCode = failures ? 1 : 0
