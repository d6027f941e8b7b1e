// Packs the package, installs it into an empty project and uses it from there, as ES module and as CommonJS.
// With --runtimes, also checks it without DOM types, with arethetypeswrong, with msw, on every Node, Deno, Bun and workerd that
// the registry provides, and in Chromium; the missing ones are reported as skipped.
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { runtimes } from '../../webhook-verifier/scripts/runtimes.ts'
import { bundle } from './bundle.ts'
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
  execFileSync(
    'npm',
    ['install', '--prefer-offline', '--no-audit', '--no-fund', tarball, '@opentelemetry/api@1.10.0'],
    {
      cwd: project,
      stdio: 'pipe',
    },
  )
}

const lint = async () => {
  const { messages, pkg } = await publint({ pkgDir: installed, strict: true })
  report('publint, strict', messages.map((message) => formatMessage(message, pkg)).join('\n'))
  const size = sizeInBytes(installed)
  report(`unpacked: ${size} of 565000 bytes`, size > 565_000 ? 'too large' : '')
}

/** Checks both module resolutions, declarations included. */
const typeCheck = (name: string, tsc: string) => {
  const strict = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--target', 'es2022']
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

/** Runs the recipes of the README with msw. `setupServer` of msw 3 requires Node 22.12; npm installs it on Node 20 as well. */
const checkMsw = (spec: string, { name, command }: { name: string; command: string }, hasServer: boolean) => {
  const { status, stderr } = npmInstall(project, spec)
  if (status !== 0) return report(`${spec} on ${name}`, stderr)
  const what = `msw ${versionOf('msw')} on ${name}`
  attempt(`${what}, as fetch`, command, ['smoke-msw.mjs'])
  if (hasServer) attempt(`${what}, as server`, command, ['smoke-msw-server.mjs'])
}

const npmInstall = (folder: string, ...specs: string[]) =>
  spawnSync('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts', ...specs], {
    cwd: folder,
    encoding: 'utf8',
  })

const versionOf = (name: string): string =>
  JSON.parse(readFileSync(join(project, 'node_modules', name, 'package.json'), 'utf8')).version

/** The smoke test with the installed package, as one script for runtimes that have Web APIs only. */
const bundled = (source: string, format: 'esm' | 'iife') => bundle(source, { format, folder: project })

const runInWorkerd = async () => {
  const name = `@cloudflare/workerd-${process.platform}-${process.arch === 'x64' ? '64' : 'arm64'}`
  npmInstall(project, name)
  const command = join(project, 'node_modules', name, 'bin/workerd')
  if (!existsSync(command)) return console.log('skipped: workerd, not in the registry for this machine')
  const test = `import * as sdk from '@referral/sdk'
    import { smoke } from './smoke.mjs'
    export default { test: () => smoke(sdk) }`
  writeFileSync(join(project, 'worker.mjs'), await bundled(test, 'esm'))
  writeFileSync(
    join(project, 'workerd.capnp'),
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (services = [(name = "main", worker = (
  modules = [(name = "worker", esModule = embed "worker.mjs")], compatibilityDate = "2025-01-01"))]);\n`,
  )
  attempt(`workerd ${versionOf(name)}`, command, ['test', 'workerd.capnp'])
}

const runInChromium = async () => {
  const command = process.env.CHROMIUM ?? '/usr/bin/chromium'
  if (!existsSync(command)) return console.log(`skipped: Chromium, there is no ${command}`)
  const test = `import * as sdk from '@referral/sdk'
    import { smoke } from './smoke.mjs'
    let refused = ''
    try { sdk.createReferralClient({ apiKey: 'rk', baseUrl: 'https://api.example' }) } catch (error) { refused = error.name }
    smoke(sdk).then(() => 'ok', String).then((outcome) => { document.title = outcome + ' ' + refused })`
  writeFileSync(join(project, 'page.html'), `<!doctype html><script>${await bundled(test, 'iife')}</script>`)
  const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--virtual-time-budget=10000', '--dump-dom']
  const options = { cwd: project, encoding: 'utf8', timeout: 120_000 } as const
  const { stdout, stderr } = spawnSync(command, [...flags, `file://${project}/page.html`], options)
  const version = spawnSync(command, ['--version'], { encoding: 'utf8' }).stdout.trim()
  report(version, /<title>ok TypeError</.test(stdout) ? '' : stdout + stderr)
}

const runEverywhere = async (tarball: string) => {
  const { commands, missing } = runtimes(join(scratch, 'runtimes'))
  for (const { name, command, args } of commands) runOn(name, command, args)
  for (const runtime of commands.filter(({ name }) => ['Node 20', 'Node 22'].includes(name))) {
    checkMsw('msw@latest', runtime, runtime.name !== 'Node 20')
    checkMsw('msw@2', runtime, true)
  }
  await runInWorkerd()
  await runInChromium()
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
  if (isFull) await runEverywhere(tarball)
} finally {
  rmSync(scratch, { recursive: true, force: true })
}
process.exitCode = failures ? 1 : 0
