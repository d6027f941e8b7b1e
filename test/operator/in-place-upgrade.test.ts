// SQLite only: what is loaded does not depend on the database.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { freePort, temporaryFolder } from '../support/process.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

test('a running server needs no file of its installation for pages, documents and requests', async () => {
  const folder = temporaryFolder()
  const install = join(folder.path, 'install')
  mkdirSync(join(install, 'server'), { recursive: true })
  for (const path of ['openapi.yaml', 'package.json', 'server/src', 'server/package.json', 'server/start.mjs'])
    cpSync(join(ROOT, path), join(install, path), { recursive: true })
  for (const path of ['node_modules', 'server/node_modules']) symlinkSync(join(ROOT, path), join(install, path))
  const port = await freePort()
  const env = { ...process.env, REFERRAL_DATA_DIR: join(folder.path, 'data'), PORT: String(port), LOG_LEVEL: 'warn' }
  const server = spawn(process.execPath, ['server/start.mjs', 'serve'], { cwd: install, env })
  try {
    const lines = createInterface({ input: server.stdout })
    for await (const line of lines) if (line.startsWith('listening on ')) break
    await new Promise((done) => setTimeout(done, 3000))
    rmSync(install, { recursive: true })
    const url = `http://127.0.0.1:${port}`
    for (const path of [
      '/openapi.yaml',
      '/openapi.json',
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
