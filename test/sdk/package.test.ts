// Full: it starts other processes.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const scripts = join(import.meta.dirname, '../../sdk/scripts')
const run = (name: string, ...args: string[]) =>
  spawnSync(process.execPath, [join(scripts, name), ...args], { encoding: 'utf8' })

test('the packed package works in an empty project, as ES module and CommonJS, with TypeScript 5 and 7', () => {
  const { status, stdout, stderr } = run('check-package.ts')
  // Packing needs pnpm, which may be missing on a machine without the registry.
  if (/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENOTCACHED/.test(stderr))
    return console.warn('skipped: the packed SDK, because the registry is unreachable')
  console.log(stdout)
  expect(stdout + stderr).not.toContain('FAILED')
  expect(status, stderr).toBe(0)
}, 300_000)
