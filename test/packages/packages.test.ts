// Full: it packs and installs packages.
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Installation, install, runJob } from './installation.ts'
import { type NpmUser, npmUser, Unreachable } from './npm-user.ts'
import { folderOf, PACKAGES, pack, publish } from './publish.ts'
import { type Registry, startRegistry } from './registry.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const manifestOf = (name: string) => JSON.parse(readFileSync(join(ROOT, folderOf(name), 'package.json'), 'utf8'))
/** The oldest release that `engines` of the server and the CLI allow. */
const [, OLDEST = ''] = /^\^([\d.]+)/.exec(manifestOf('server').engines.node) ?? []
/** Cannot parse the syntax of the packages. */
const OUTDATED = '8.17.0'
const COMMANDS: Partial<Record<(typeof PACKAGES)[number], string[]>> = {
  cli: ['referral'],
  conformance: ['referral-conformance'],
  server: ['referral-server'],
}

let registry: Registry
let user: NpmUser
let tarballs: string[] = []
let installed: Installation
let nodes: Record<string, string | undefined> = {}
let unreachable: string | undefined

beforeAll(async () => {
  registry = await startRegistry()
  user = npmUser({ registry: registry.url })
  try {
    const [packed, oldest, outdated] = await Promise.all([
      pack(user.path),
      user.installNode(OLDEST),
      user.installNode(OUTDATED),
    ])
    nodes = { [OLDEST]: oldest, [OUTDATED]: outdated }
    tarballs = packed
    await publish(user, tarballs)
    installed = await install(user, oldest)
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error
    unreachable = 'the npm registry is unreachable'
  }
}, 240_000)
afterAll(() => {
  registry?.close()
  user?.remove()
})

test('nothing is skipped unless the registry is unreachable', () => {
  if (unreachable) return console.warn(`skipped: the installed packages, because ${unreachable}`)
  expect(tarballs.map((path) => basename(path))).toEqual(
    PACKAGES.map((name) => `referral-${name}-${manifestOf(name).version}.tgz`),
  )
})

describe.each(PACKAGES)('@referral/%s', (name) => {
  const tarball = () => tarballs[PACKAGES.indexOf(name)] ?? ''

  test('is accepted by publint and attw', async ({ skip }) => {
    if (unreachable) skip(unreachable)
    const content = readFileSync(tarball())
    const { messages, pkg } = await publint({ pack: { tarball: content.buffer as ArrayBuffer }, strict: true })
    expect(messages.map((message) => formatMessage(message, pkg, { color: false }))).toEqual([])
    const excludeEntrypoints = ['./vectors.json', './schemas.json', './openapi.yaml', './main', './package.json']
    const analysis = await checkPackage(createPackageFromTarballData(content), { excludeEntrypoints })
    const problems = 'problems' in analysis ? analysis.problems : []
    // All releases that run these two load ES modules with require.
    const ignored = ['server', 'conformance'].includes(name) ? ['node10', 'node16-cjs'] : []
    const isRelevant = (problem: object) =>
      !('resolutionKind' in problem && ignored.includes(`${problem.resolutionKind}`))
    expect(problems.filter(isRelevant)).toEqual([])
  })

  test('contains its license and documents, and has its documented command', ({ skip }) => {
    if (unreachable) skip(unreachable)
    const packed = createPackageFromTarballData(readFileSync(tarball()))
    const root = `/node_modules/@referral/${name}/`
    const files = packed.listFiles().map((path) => path.slice(root.length))
    const documents =
      { sdk: ['api.md', 'CHANGELOG.md', 'SKILL.md'], 'webhook-verifier': ['SKILL.md'] }[name as string] ?? []
    expect(files).toEqual(expect.arrayContaining(['LICENSE', 'README.md', ...documents]))
    const { bin = {} } = JSON.parse(packed.readFile(`${root}package.json`))
    expect(Object.keys(bin)).toEqual(COMMANDS[name] ?? [])
  })
})

test('the types of the packages compile without skipping libraries', async ({ skip }) => {
  if (unreachable) skip(unreachable)
  const options = ['--noEmit', '--strict', '--target', 'es2024', '--lib', 'es2024,dom', '--module', 'nodenext']
  const tsc = join(ROOT, 'node_modules/.bin/tsc')
  await promisify(execFile)(tsc, [...options, 'types.mts'], { cwd: installed.project })
})

test('the main job runs on the oldest supported Node.js: server, order, webhook, payout', async ({ skip }) => {
  if (unreachable || !nodes[OLDEST]) return skip(unreachable ?? `there is no Node.js ${OLDEST} for this machine`)
  expect(await runJob(user, installed, { node: nodes[OLDEST] })).toMatchObject({
    order: {
      commission: { amountCents: 1_440, status: 'APPROVED' },
      event: { event: 'commission.created', data: { commissionAmountCents: 1_440 } },
      analytics: { totals: { orders: expect.any(Number) } },
    },
    batch: { totals: { netPayableCents: 1_440 } },
    paid: { status: 'PAID' },
    pages: {
      style: '200 text/css',
      font: '200 font/woff2',
      document: '200 application/yaml',
      docs: '200 text/html',
      reference: '200 text/javascript',
    },
  })
}, 60_000)

test("the example of the server's README runs a real server in a test", async ({ skip }) => {
  if (unreachable || !nodes[OLDEST]) return skip(unreachable ?? `there is no Node.js ${OLDEST} for this machine`)
  const output = await user.run(['node', '--test'], { folder: installed.project, node: nodes[OLDEST] })
  expect(output).toMatch(/^. pass 1$/m)
}, 60_000)

test.each(['server', 'cli'])('@referral/%s names the required Node.js where it cannot run', async (name) => {
  const node = nodes[OUTDATED]
  if (unreachable || !node)
    return console.warn(`skipped: Node.js ${OUTDATED}, ${unreachable ?? 'not for this machine'}`)
  const bin = join(installed.project, 'node_modules/@referral', name, 'dist/bin.cjs')
  expect(await user.finish([bin], { folder: installed.project, node })).toEqual({
    code: 1,
    stdout: '',
    stderr: `@referral/${name} requires Node.js 22.19 or later; this is Node.js ${OUTDATED}.\n`,
  })
})

test('an upgrade continues with the data of the previous version', async ({ skip }) => {
  if (unreachable || !nodes[OLDEST]) return skip(unreachable ?? `there is no Node.js ${OLDEST} for this machine`)
  const folder = user.project('upgrade')
  const prefix = join(folder, 'global')
  const place = { folder, node: nodes[OLDEST], env: { REFERRAL_DATA_DIR: join(folder, 'data'), REFERRAL_DEMO: '0' } }
  const install = (version: string) =>
    user.run(
      ['npm', 'install', '--prefer-offline', '--global', '--prefix', prefix, `@referral/server@${version}`],
      place,
    )
  const server = (...args: string[]) => user.run([join(prefix, 'bin/referral-server'), ...args], place)

  const { version } = manifestOf('server')
  await install(version)
  await server('migrate')
  const { shopId } = JSON.parse(await server('shop', 'create', '--name', 'Hats', '--json'))
  const next = await publishAs('99.0.0', folder)
  await install('latest')
  expect((await server('--version')).trim()).toBe(next)
  await server('migrate')
  expect(await server('check')).toMatch(/^No problems found/)
  expect(await server('shop', 'list')).toContain(shopId)
}, 60_000)

/** Publishes the server under another version. */
async function publishAs(version: string, folder: string): Promise<string> {
  const tarball = tarballs[PACKAGES.indexOf('server')] ?? ''
  await user.run(['tar', '-xzf', tarball], { folder })
  const manifest = join(folder, 'package/package.json')
  writeFileSync(manifest, JSON.stringify({ ...JSON.parse(readFileSync(manifest, 'utf8')), version }))
  await user.run(['npm', 'publish', '--ignore-scripts', join(folder, 'package')], { folder })
  return version
}
