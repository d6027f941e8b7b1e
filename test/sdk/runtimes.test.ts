// Full: it starts other processes.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createContext, runInContext } from 'node:vm'
import { EdgeVM } from '@edge-runtime/vm'
import { describe, expect, test } from 'vitest'

const root = join(import.meta.dirname, '../../sdk')
/** The smoke test as one script. It leaves a promise of 'ok' in `outcome`. */
const { sizes, selfCheck }: { sizes: Record<string, [size: number, limit: number]>; selfCheck: string } = JSON.parse(
  execFileSync(process.execPath, [join(root, 'scripts/size.ts'), '--json'], { encoding: 'utf8' }),
)

describe('the browser bundle runs', () => {
  test('with Web APIs only', async () => {
    const { crypto, TextEncoder, URL, URLSearchParams, Request, Response, Headers, FormData } = globalThis
    const { AbortController, AbortSignal, setTimeout, clearTimeout } = globalThis
    const web = { crypto, TextEncoder, URL, URLSearchParams, Request, Response, Headers, FormData }
    const context = createContext({ ...web, AbortController, AbortSignal, setTimeout, clearTimeout, queueMicrotask })
    runInContext(selfCheck, context)
    expect(await runInContext('outcome', context)).toBe('ok')
    expect(runInContext('typeof process + typeof Buffer + typeof require', context)).toBe('undefined'.repeat(3))
  })

  test('in an edge runtime', async () => {
    const edge = new EdgeVM()
    edge.evaluate(selfCheck)
    expect(await edge.evaluate('outcome')).toBe('ok')
  })
})

describe('the size', () => {
  console.log(
    Object.entries(sizes)
      .map(([name, [size, limit]]) => `${String(size).padStart(6)} of ${limit} bytes gzip  ${name}`)
      .join('\n'),
  )

  test.each(Object.entries(sizes))('of %s', (_, [size, limit]) => {
    expect(size).toBeLessThanOrEqual(limit)
  })

  test('has one dependency, imported by one file, and imports no Node modules', () => {
    const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    expect(manifest.dependencies).toEqual({ 'openapi-fetch': '0.17.0' })
    expect(manifest.optionalDependencies).toBeUndefined()
    expect(manifest.peerDependenciesMeta).toEqual({ '@opentelemetry/api': { optional: true } })
    const sources = execFileSync('grep', ['-rhE', "from '", join(root, 'src')], { encoding: 'utf8' })
    const foreign = sources.split('\n').filter((line) => line && !/from '\.\.?\/[a-z./-]+\.ts'|^ \*/.test(line))
    expect(foreign.sort()).toEqual([
      "import createClient, { type Client } from 'openapi-fetch'",
      // Only in the entry point `otel`.
      expect.stringContaining("} from '@opentelemetry/api'"),
    ])
  })
})
