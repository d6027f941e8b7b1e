import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { install, runJob } from '../../packages/installation.ts'
import { type NpmUser, npmUser, Unreachable } from '../../packages/npm-user.ts'
import { pack, publish } from '../../packages/publish.ts'
import { startRegistry } from '../../packages/registry.ts'
import { freePort } from '../../support/process.ts'
import { type LongTest, Missing } from '../guarantee.ts'

/** The first and a recent release of each supported line. */
const SUPPORTED = ['22.19.0', '22.23.3', '24.0.0', '24.21.0', '26.0.0', '26.10.0']
/** Run the SDK and the verifier, but neither the server nor the CLI. */
const SDK_ONLY = ['20.0.0', '20.20.2']
/** The last release of each kind that must be rejected by the server and the CLI with a message. */
const REJECTED = ['8.17.0', '20.20.2', '22.18.0']

const VITEST = 'vitest@5.1.1'

async function run(): Promise<string> {
  const registry = await startRegistry()
  const user = npmUser({ registry: registry.url, coldCache: true })
  try {
    return await check(user)
  } catch (error) {
    if (error instanceof Unreachable) throw new Missing('the npm registry cannot be reached')
    throw error
  } finally {
    registry.close()
    user.remove()
  }
}

async function check(user: NpmUser): Promise<string> {
  const nodes = new Map<string, string>()
  for (const version of new Set([...SUPPORTED, ...SDK_ONLY, ...REJECTED])) {
    const folder = await user.installNode(version)
    if (folder) nodes.set(version, folder)
  }
  const tarballs = await pack(user.path)
  await publish(user, tarballs)
  const [firstInstallMs, installed] = await timed(() => install(user, nodes.get(SUPPORTED[0] ?? '')))

  const folder = join(installed.project, 'node_modules')
  const size = `${packagesIn(folder)} packages, ${kilobytes(sizeOf(folder))}`

  const jobs: string[] = []
  const durations: number[] = []
  for (const [i, version] of SUPPORTED.entries()) {
    const node = nodes.get(version)
    if (!node) continue
    // Each old release of the SDK and the verifier is used with one of the server.
    const sdkVersion = SDK_ONLY[i] ?? version
    const [ms, { order, paid }] = await timed(() =>
      runJob(user, installed, { node, sdkNode: nodes.get(sdkVersion) ?? node }),
    )
    assert.equal(order.commission.amountCents, 1_440, version)
    assert.equal((paid as { status: string }).status, 'PAID', version)
    const { code, stderr } = await user.finish(['node', '--test'], { folder: installed.project, node })
    assert.equal(code, 0, `node --test on ${version}: ${stderr}`)
    durations.push(ms)
    jobs.push(sdkVersion === version ? version : `${version} (SDK on ${sdkVersion})`)
  }
  for (const version of REJECTED) await checkRejection(user, version, nodes.get(version))
  await checkVitest(user, installed.project)
  await checkDev(user)

  const ratio = startRatio(join(installed.globalBin, 'referral'), nodes.get(SUPPORTED.at(-1) ?? ''))
  assert.ok(ratio <= 2.5, `referral --version takes ${ratio} times as long as node -e 0`)
  const sizes = tarballs.map((path) => `${basename(path).replace(/-\d.*/, '')} ${kilobytes(statSync(path).size)}`)
  return [
    `main job on Node.js ${jobs.join(', ')}; rejected with a message: ${REJECTED.join(', ')}`,
    `tarballs: ${sizes.join(', ')}`,
    `all four installed from a cold cache in ${seconds(firstInstallMs)}: ${size}`,
    `first npx @referral/server to a paid order ${seconds(durations[0] ?? 0)}, later ${seconds(durations[1] ?? 0)}`,
    `referral --version takes ${ratio} times as long as node -e 0`,
  ].join('; ')
}

/** npx on an old release installs the package, whose bin then reports what it needs. */
async function checkRejection(user: NpmUser, version: string, node: string | undefined): Promise<void> {
  if (!node) return
  const folder = user.project(`old-${version}`)
  for (const name of ['server', 'cli']) {
    // The release of npm on this machine does not run on Node.js 8.
    const bin = join(user.path, 'project/node_modules/@referral', name, 'dist/bin.cjs')
    const command = version.startsWith('8.') ? [bin] : ['npx', '-y', `@referral/${name}`, '--help']
    const { code, stdout, stderr } = await user.finish(command, { folder, node })
    assert.deepEqual([code, stdout], [1, ''], stderr)
    assert.equal(
      stderr.trim().split('\n').at(-1),
      `@referral/${name} requires Node.js 22.19 or later; this is Node.js ${version}.`,
    )
  }
}

async function checkVitest(user: NpmUser, project: string): Promise<void> {
  // Not on the system's release, which may be too old for the server.
  const node = join(user.path, `node-26.10.0/node_modules/node-${process.platform}-${process.arch}/bin`)
  await user.run(['npm', 'install', '--save-dev', VITEST], { folder: project, node })
  await user.run(['npx', 'vitest', 'run', 'shop.spec.mjs'], { folder: project, node })
}

async function checkDev(user: NpmUser): Promise<void> {
  const node = join(user.path, `node-26.10.0/node_modules/node-${process.platform}-${process.arch}/bin`)
  const packages = ['-p', '@referral/cli', '-p', '@referral/server']
  const port = String(await freePort())
  const command = ['npx', '-y', ...packages, 'referral', 'dev', '--once', '--port', port, '--json']
  const output = JSON.parse(await user.run(command, { folder: user.project('dev'), node }))
  assert.equal(output.webhook.verified, true)
}

/** The median duration of the CLI as a ratio to the start of Node.js. */
function startRatio(referral: string, node = ''): number {
  const env = { ...process.env, PATH: `${node}:${process.env.PATH}` }
  const timesOf = (command: string, args: string[]) => {
    const startedAt = performance.now()
    assert.equal(spawnSync(command, args, { env }).status, 0)
    return performance.now() - startedAt
  }
  const runs = Array.from({ length: 25 }, () => [timesOf(referral, ['--version']), timesOf('node', ['-e', '0'])])
  const medianOf = (i: number) => runs.map((one) => one[i] ?? 0).sort((a, b) => a - b)[runs.length >> 1] ?? 0
  return Number((medianOf(0) / medianOf(1)).toFixed(2))
}

async function timed<T>(work: () => Promise<T>): Promise<[ms: number, result: T]> {
  const startedAt = performance.now()
  const result = await work()
  return [performance.now() - startedAt, result]
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`
const kilobytes = (bytes: number) => (bytes < 1e6 ? `${Math.round(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`)
const sizeOf = (folder: string) =>
  globSync('**/*', { cwd: folder, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0)
const packagesIn = (folder: string) =>
  Object.keys(JSON.parse(readFileSync(join(folder, '.package-lock.json'), 'utf8')).packages).length

export const guarantee: LongTest = {
  title: 'The published packages install with npm alone and run on every supported Node.js',
  minutes: 15,
  run,
}
