// Full: it packs and installs packages.
import { execFile, spawn } from 'node:child_process'
import { cpSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { UNREACHABLE } from './npm-user.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const GUIDE = readFileSync(join(ROOT, 'docs/self-hosting/index.md'), 'utf8')
const run = promisify(execFile)

const folder = temporaryFolder()
const checkout = join(folder.path, 'checkout')
let server: { url: string; stop: () => Promise<unknown> } | undefined
let unreachable: string | undefined

beforeAll(async () => {
  const { stdout } = await run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: ROOT })
  // The production installation needs no test except the package of the test database, which the lockfile names.
  const files = stdout
    .split('\0')
    .filter(
      (file) => file && !/^(test|docs)\/(?!postgres-binaries|package\.json|conformance\/package\.json)/.test(file),
    )
  for (const file of files) if (existsSync(join(ROOT, file))) cpSync(join(ROOT, file), join(checkout, file))
  try {
    // The installation of this checkout downloaded everything that this one needs, unless the store was emptied.
    await install('--offline').catch(() => install())
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    if (!UNREACHABLE.test(stdout + stderr)) throw new Error(stdout + stderr)
    unreachable = 'the npm registry is unreachable'
    return
  }
  server = await start()
}, 240_000)
afterAll(async () => {
  await server?.stop()
  folder.remove()
})

/** Runs the command of the guide. */
function install(...options: string[]) {
  const [, command = ''] = /^npx (-y pnpm@12 install .*--prod.*)$/m.exec(GUIDE) ?? []
  return run('npx', [...command.split(' '), ...options], { cwd: checkout })
}

/** Starts the server with the command of the systemd unit. */
async function start() {
  const unit = readFileSync(join(checkout, 'deploy/referral-server.service'), 'utf8')
  const [, command = ''] = /^ExecStart=\/opt\/referral-program\/(.+)$/m.exec(unit) ?? []
  const [node = '', ...args] = command.split(' ')
  const port = await freePort()
  const env = {
    PATH: process.env.PATH,
    PORT: String(port),
    REFERRAL_DATA_DIR: join(folder.path, 'data'),
    REFERRAL_DEMO: '0',
  }
  const child = spawn(join(checkout, node), args, { cwd: checkout, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise((done) => child.once('close', done))
  let output = ''
  child.stderr.on('data', (chunk) => {
    output += chunk
  })
  await new Promise<void>((up, fail) => {
    child.stdout.on('data', (chunk) => /^listening on /m.test(String(chunk)) && up())
    child.once('close', (code) => fail(new Error(`the server exited with ${code}: ${output}`)))
  })
  const stop = () => {
    child.kill('SIGTERM')
    return ended
  }
  return { url: `http://127.0.0.1:${port}`, stop }
}

test('a production installation of a checkout serves requests, without development dependencies', async ({ skip }) => {
  if (!server) return skip(unreachable)
  expect(existsSync(join(checkout, 'node_modules/vitest'))).toBe(false)
  expect((await fetch(`${server.url}/readyz`)).status).toBe(200)
  expect((await fetch(`${server.url}/openapi.yaml`)).status).toBe(200)
})

test('/docs redirects to the quick start, because the API reference needs a development dependency', async ({
  skip,
}) => {
  if (!server) return skip(unreachable)
  const response = await fetch(`${server.url}/docs`, { redirect: 'manual' })
  expect([response.status, response.headers.get('Location')]).toEqual([302, '/api/v1/docs'])
  expect((await fetch(`${server.url}/docs`)).status).toBe(200)
  const script = await fetch(`${server.url}/docs/redoc.js`)
  expect([script.status, script.headers.get('X-Error-Code')]).toEqual([404, 'path_unknown'])
})
