import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { UNREACHABLE } from '../../packages/npm-user.ts'
import { type LongTest, Missing } from '../guarantee.ts'

const SCRIPT = fileURLToPath(new URL('../../../sdk/scripts/check-package.ts', import.meta.url))

/** What the packed SDK is not checked on without being on this machine or in the registry is named. */
export const guarantee: LongTest = {
  title: 'The packed SDK runs on Node.js 20 to 26, Deno, Bun, and workerd, in Chromium, and with msw',
  minutes: 20,
  run: async () => {
    const { stdout, stderr } = spawnSync(process.execPath, [SCRIPT, '--runtimes'], { encoding: 'utf8' })
    if (UNREACHABLE.test(stderr)) throw new Missing('the npm registry cannot be reached')
    const linesOf = (kind: string) =>
      [...stdout.matchAll(new RegExp(`^${kind}: (.*)$`, 'gm'))].map(([, line]) => line ?? '')
    assert.deepEqual(linesOf('FAILED'), [], stdout)
    const passed = linesOf('ok')
    assert.ok(
      passed.some((line) => line.startsWith('Node 20')),
      stdout + stderr,
    )
    const skipped = linesOf('skipped')
    return `${passed.join('; ')}${skipped.length > 0 ? `; skipped: ${skipped.join('; ')}` : ''}`
  },
}
