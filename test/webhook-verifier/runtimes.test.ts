// Full: it starts other processes.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createContext, runInContext } from 'node:vm'
import { EdgeVM } from '@edge-runtime/vm'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '../../webhook-verifier')
/** The smoke test as one script. It leaves a promise of 'ok' in `outcome`. */
const { sizes, selfCheck }: { sizes: Record<string, number>; selfCheck: string } = JSON.parse(
  execFileSync(process.execPath, [join(root, 'scripts/size.ts'), '--json'], { encoding: 'utf8' }),
)
const page = `<script>${selfCheck.replaceAll('</', '<\\/')}</script>
<script>outcome.then((body) => fetch('/outcome', { method: 'POST', body }))</script>`

describe('the browser bundle runs', () => {
  it('with Web APIs only', async () => {
    const { crypto, TextEncoder, TextDecoder, Blob, Request, Response, Headers, atob, btoa } = globalThis
    const globals = { crypto, TextEncoder, TextDecoder, Blob, Request, Response, Headers, atob, btoa }
    const context = createContext(globals)
    runInContext(selfCheck, context)
    expect(await runInContext('outcome', context)).toBe('ok')
    expect(runInContext('typeof process + typeof Buffer + typeof require', context)).toBe('undefined'.repeat(3))
  })

  it('in an edge runtime', async () => {
    const edge = new EdgeVM()
    edge.evaluate(selfCheck)
    expect(await edge.evaluate('outcome')).toBe('ok')
  })

  const chromium = spawnSync('which', ['chromium'], { encoding: 'utf8' }).stdout.trim()
  if (!chromium) console.warn('skipped: the webhook verifier in a browser, because chromium is not installed')
  it.skipIf(!chromium)(
    'in Chromium',
    async () => {
      const outcome = Promise.withResolvers<string>()
      const server = createServer((request, response) => {
        if (request.url === '/outcome') request.on('data', (chunk) => outcome.resolve(`${chunk}`))
        response.setHeader('content-type', 'text/html; charset=utf-8').end(request.url === '/' ? page : '')
      })
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const folder = mkdtempSync(join(tmpdir(), 'chromium-'))
      const { port } = server.address() as AddressInfo
      const args = [
        '--headless',
        '--no-sandbox',
        '--disable-gpu',
        `--user-data-dir=${folder}`,
        `http://127.0.0.1:${port}/`,
      ]
      const browser = spawn(chromium, args, { stdio: 'ignore' })
      try {
        expect(await outcome.promise).toBe('ok')
      } finally {
        browser.kill()
        await once(browser, 'exit')
        server.close()
        rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
      }
    },
    60_000,
  )
})

describe('the size', () => {
  it('is at most 1.5 kB for the core, and less than half of comparable packages for the main entry point', () => {
    console.log(
      Object.entries(sizes)
        .map(([name, size]) => `${String(size).padStart(6)} bytes gzip  ${name}`)
        .join('\n'),
    )
    expect(sizes['core: sign, verify, unwrap, WebhookError']).toBeLessThanOrEqual(1500)
    expect(sizes['the whole entry']).toBeLessThan(sizes['standardwebhooks { Webhook }']! / 2)
    expect(sizes['the whole entry']).toBeLessThan(sizes['svix { Webhook }']! / 2)
  })

  it('has no dependencies and imports no Node modules', () => {
    const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    expect(manifest.dependencies ?? manifest.peerDependencies ?? manifest.optionalDependencies).toBeUndefined()
    const sources = execFileSync('grep', ['-rhE', "from '", join(root, 'src')], { encoding: 'utf8' })
    expect(sources.split('\n').filter((line) => line && !/from '\.\/[a-z-]+\.ts'/.test(line))).toEqual([])
  })
})
