import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import * as sdk from '@referral/sdk'
import { type TestServer, testServer } from '@referral/server/testing'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { listen, startProxy } from './support/network.ts'

const networkFetch = fetch
const folder = join(import.meta.dirname, 'recipes')
const readme = readFileSync(join(import.meta.dirname, '../../sdk/README.md'), 'utf8')

describe('the README', () => {
  const shown = [...readme.matchAll(/<!-- recipe: (\S+) -->\n\n```ts\n(.*?)\n```\n/gs)]

  test.each(shown.map(([, name, code]) => [name!, code!]))('contains %s verbatim', (name, code) => {
    expect(`${code}\n`).toBe(readFileSync(join(folder, name), 'utf8'))
  })

  test('contains every recipe and no other code', () => {
    expect(shown.map(([, name]) => name).sort()).toEqual(readdirSync(folder).sort())
    expect(readme.match(/^```ts$/gm)).toHaveLength(shown.length)
  })

  test('has its sections in order', () => {
    expect([...readme.matchAll(/^## (.*)$/gm)].map(([, title]) => title)).toEqual([
      'Install',
      'First call',
      'Clicks',
      'Errors',
      'Retries',
      'Timeouts',
      'Pagination',
      'Idempotency',
      'Testing',
      'Runtimes',
      'Versioning',
    ])
  })
})

test('every error class that the documentation names is exported', () => {
  const root = join(import.meta.dirname, '../..')
  const own = readdirSync(join(root, 'sdk/src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && file !== 'schema.ts')
    .map((file) => `sdk/src/${file}`)
  for (const file of ['sdk/README.md', 'sdk/api.md', ...own]) {
    const text = readFileSync(join(root, file), 'utf8')
    const named = [...text.matchAll(/(?:@throws \{|`)([A-Z]\w*Error)\b/g)].map(([, name]) => name!)
    expect(named.filter((name) => !(name in sdk || name in globalThis))).toEqual([])
  }
})

describe('the output of a recipe', () => {
  let server: TestServer
  let printed: string[]

  beforeEach(async () => {
    server = await testServer()
    vi.stubEnv('REFERRAL_API_KEY', server.apiKey)
    vi.stubEnv('REFERRAL_OWNER_TOKEN', server.ownerToken)
    vi.stubEnv('REFERRAL_BASE_URL', server.baseUrl)
    vi.stubGlobal('fetch', server.fetch)
    printed = []
    vi.spyOn(console, 'log').mockImplementation((...parts) => printed.push(parts.join(' ')))
  })
  afterEach(async () => {
    vi.unstubAllEnvs()
    vi.unstubAllGlobals()
    vi.restoreAllMocks()
    await server.close()
  })

  const seed = async () => {
    const { createReferralClient } = await import('@referral/sdk')
    const client = createReferralClient({ apiKey: server.apiKey, baseUrl: server.baseUrl })
    for (const name of ['Ada', 'Ben', 'Cem']) {
      await client.affiliates.create({ email: `${name}@example.com`, name })
    }
  }

  test('first-call.ts', async () => {
    await import('./recipes/first-call.ts')
    expect(printed).toEqual(['true APPROVED 1440'])
  })

  test('with-response.ts', async () => {
    await import('./recipes/with-response.ts')
    expect(printed).toEqual([expect.stringMatching(/^Friends 201 string \d+$/), '1'])
  })

  test('errors.ts', async () => {
    await import('./recipes/errors.ts')
    expect(printed).toEqual(['PENDING', 'already invited', 'affiliate_not_found'])
  })

  test('admin.ts', async () => {
    await import('./recipes/admin.ts')
    expect(printed).toEqual(['Test true'])
  })

  test('telemetry.ts', async () => {
    await import('./recipes/telemetry.ts')
    expect(printed).toEqual(['/api/v1/programs 200 1 true'])
  })

  test('proxy.ts', async () => {
    vi.unstubAllGlobals()
    const listening = await listen(server)
    const proxy = await startProxy()
    vi.stubEnv('REFERRAL_BASE_URL', listening.url)
    vi.stubEnv('HTTPS_PROXY', proxy.url)
    await import('./recipes/proxy.ts')
    expect(printed).toEqual(['0'])
    expect(proxy.hosts).toEqual([new URL(listening.url).host])
    proxy.close()
    listening.close()
  })

  test('unknown-outcome.ts', async () => {
    server.fail('unavailable', { times: 1 })
    await import('./recipes/unknown-outcome.ts')
    expect(printed).toEqual(['POST 503 true'])
  })

  test('timeouts.ts', async () => {
    server.fail('hang')
    await import('./recipes/timeouts.ts')
    expect(printed).toEqual(['aborted: the page was closed'])
  })

  test('pagination.ts', async () => {
    await seed()
    await import('./recipes/pagination.ts')
    expect(printed).toEqual(['2 1 3', 'APPROVED APPROVED APPROVED', '3'])
  })

  test('export.ts', async () => {
    const { path, remove } = temporaryFolder()
    vi.stubEnv('AUDIT_FILE', join(path, 'audit.ndjson'))
    await import('./recipes/export.ts')
    expect(printed).toEqual(['application/x-ndjson'])
    expect(readFileSync(join(path, 'audit.ndjson'), 'utf8')).toMatch(/^\{.*\n\{"end":.*\}\n$/s)
    remove()
  })

  test('idempotency.ts', async () => {
    await import('./recipes/idempotency.ts')
    expect(printed).toEqual(['2001 new, 2002 new', '2001 replayed, 2002 replayed', 'no_eligible_commissions'])
  })

  test('one-resource.ts', async () => {
    await import('./recipes/one-resource.ts')
    expect(printed).toEqual([expect.stringMatching(/\.$/)])
  })

  test('testing.ts', async () => {
    await import('./recipes/testing.ts')
    expect(printed).toEqual(['1600 2 1', 'commission.created https://shop.example/hooks 64', '0'])
  })

  test('msw.ts', async () => {
    vi.unstubAllGlobals()
    await import('./recipes/msw.ts')
    expect(printed).toEqual(['Nisa Karim', 'email_taken'])
  })

  test('msw-fetch.ts', async () => {
    vi.unstubAllGlobals()
    await import('./recipes/msw-fetch.ts')
    expect(printed).toEqual(['Nisa Karim'])
  })

  describe('a visitor’s click is the evidence for the order of', () => {
    type Serve = (path: string, init?: RequestInit) => Promise<Response>
    /** The servers of the recipes, which listen on the network or not. */
    const shops: Record<string, (use: (serve: Serve) => Promise<void>) => Promise<void>> = {
      'express.ts': async (use) => {
        const { app } = await import('./recipes/express.ts')
        const listening = app.listen(0, '127.0.0.1')
        await once(listening, 'listening')
        const { port } = listening.address() as AddressInfo
        await use((path, init) => networkFetch(`http://127.0.0.1:${port}${path}`, init))
        listening.close()
      },
      'fastify.ts': async (use) => {
        const { app } = await import('./recipes/fastify.ts')
        const url = await app.listen({ port: 0, host: '127.0.0.1' })
        await use((path, init) => networkFetch(url + path, init))
        await app.close()
      },
      'hono.ts': async (use) => {
        const { app } = await import('./recipes/hono.ts')
        await use(async (path, init) => app.request(path, init))
      },
    }

    test.each(Object.keys(shops))('%s', async (name) => {
      const program = { name: 'Friends', commissionPercent: 16, autoApproveOrder: true, status: 'PUBLISH' } as const
      const { createReferralClient } = await import('@referral/sdk')
      const client = createReferralClient({ apiKey: server.apiKey, baseUrl: server.baseUrl })
      await client.programs.create(program)
      const { id, slug } = await client.affiliates.create({ email: 'noor@example.com', name: 'Noor' })
      await client.affiliates.update(id, { status: 'APPROVED' })
      const reports: Promise<Response>[] = []
      vi.stubGlobal('fetch', (request: Request) => {
        const reply = server.fetch(request)
        reports.push(reply)
        return reply
      })
      await shops[name]!(async (serve) => {
        const page = await serve(`/?ref=${slug}`)
        await Promise.all(reports)
        const cookie = page.headers
          .getSetCookie()
          .map((text) => text.split(';')[0])
          .join('; ')
        const thanks = await serve('/checkout', { method: 'POST', headers: { cookie } })
        expect(await thanks.text()).toBe('Thank you.')
      })
      expect((await client.commissions.list()).data).toMatchObject([{ affiliateId: id, commissionAmountCents: 1600 }])
    })
  })

  test('webhook.ts', async () => {
    const { handle } = await import('./recipes/webhook.ts')
    const event = { timestamp: '2026-11-02T12:00:00.000Z', shop_id: 'shp_1' }
    expect(handle({ ...event, event: 'test', data: { test: true, message: 'It works.' } })).toBe('test')
    expect(handle({ ...event, event: 'payout.archived', data: {} })).toMatch(/^unknown event/)
  })
})
