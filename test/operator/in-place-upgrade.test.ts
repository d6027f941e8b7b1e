// Full: it starts other processes.
// SQLite only: what is loaded does not depend on the database.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { freePort } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

test('pages, documents and requests work after the files were removed, until the restart', async () => {
  const folder = temporaryFolder()
  const install = join(folder.path, 'install')
  mkdirSync(join(install, 'server'), { recursive: true })
  for (const path of [
    'openapi.yaml',
    'referral.arazzo.yaml',
    'package.json',
    'server/src',
    'server/package.json',
    'server/start.mjs',
  ])
    cpSync(join(ROOT, path), join(install, path), { recursive: true })
  for (const path of ['node_modules', 'server/node_modules']) symlinkSync(join(ROOT, path), join(install, path))
  const port = await freePort()
  const env = { ...process.env, REFERRAL_DATA_DIR: join(folder.path, 'data'), PORT: String(port), LOG_LEVEL: 'warn' }
  const server = spawn(process.execPath, ['server/start.mjs', 'serve'], { cwd: install, env })
  try {
    const lines = createInterface({ input: server.stdout })
    for await (const line of lines) if (line.startsWith('listening on ')) break
    await new Promise((done) => setTimeout(done, 3000))
    const url = `http://127.0.0.1:${port}`
    const demo = readFileSync(join(folder.path, 'data/demo.env'), 'utf8')
    const key = /^REFERRAL_API_KEY=['"]?(\w+)/m.exec(demo)?.[1]
    const read = async (path: string) => {
      const response = await fetch(url + path, { headers: { Authorization: `Bearer ${key}` } })
      return [path, response.status, response.headers.get('X-Error-Code')]
    }
    rmSync(install, { recursive: true })
    expect(await read('/api/v1/commissions')).toEqual(['/api/v1/commissions', 200, null])
    for (const path of [
      '/openapi.yaml',
      '/openapi.json',
      '/referral.arazzo.yaml',
      '/docs',
      '/docs/redoc.js',
      '/api/v1/docs',
      '/admin/sign-in',
      '/readyz',
    ])
      expect([path, (await fetch(url + path)).status]).toEqual([path, 200])
  } finally {
    server.kill('SIGKILL')
    await once(server, 'exit')
    folder.remove()
  }
}, 60_000)
