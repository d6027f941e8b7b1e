// Full: it starts other processes.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const check = join(import.meta.dirname, '../../webhook-verifier/scripts/check-package.ts')

it('the packed package works in an empty project, as ES module and as CommonJS', () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [check], { encoding: 'utf8' })
  // Packing needs pnpm, which may be missing on a machine without the registry.
  if (/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENOTCACHED/.test(stderr))
    return console.warn('skipped: the packed webhook verifier, because the registry is unreachable')
  expect(stdout + stderr).not.toContain('FAILED')
  expect(status, stderr).toBe(0)
}, 120_000)
