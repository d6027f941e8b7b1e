import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const root = join(import.meta.dirname, '../../webhook-verifier')

it('the core is at most 1.5 kB, the whole entry a third of the alternatives that do as much', () => {
  const output = execFileSync(process.execPath, [join(root, 'scripts/size.ts'), '--json'], { encoding: 'utf8' })
  const sizes: Record<string, number> = JSON.parse(output)
  console.log(
    Object.entries(sizes)
      .map(([name, size]) => `${String(size).padStart(6)} bytes gzip  ${name}`)
      .join('\n'),
  )
  expect(sizes['core: sign, verify, unwrap, WebhookError']).toBeLessThanOrEqual(1500)
  expect(sizes['the whole entry']).toBeLessThan(sizes['standardwebhooks { Webhook }']! / 3)
  expect(sizes['the whole entry']).toBeLessThan(sizes['svix { Webhook }']! / 3)
}, 60_000)

it('nothing is needed at run time, and nothing of Node in the sources', () => {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  expect(manifest.dependencies ?? manifest.peerDependencies ?? manifest.optionalDependencies).toBeUndefined()
  const sources = execFileSync('grep', ['-rhE', "from '", join(root, 'src')], { encoding: 'utf8' })
  expect(sources.split('\n').filter((line) => line && !/from '\.\/[a-z-]+\.ts'/.test(line))).toEqual([])
})
