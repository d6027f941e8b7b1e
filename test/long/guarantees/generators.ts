import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Use, Used } from '../generators/use.ts'
import { figure, type LongTest, type RunOptions } from '../guarantee.ts'
import { type NpmFolder, npmFolder } from '../npm-folder.ts'
import { createWorld } from '../world.ts'

/** Each is called with its default settings. Consumers of the same names are in `test/long/generators`. */
const GENERATORS: Record<string, (folder: NpmFolder, env: Record<string, string>) => Promise<string>> = {
  'openapi-typescript': (folder) =>
    folder.run('openapi-typescript', ['openapi.yaml', '-o', 'client/openapi-typescript.ts']),
  'hey-api': (folder) => folder.run('openapi-ts', []),
  orval: (folder, env) => folder.run('orval', [], env),
  'swagger-typescript-api': (folder) => {
    const output = ['-o', 'client/swagger-typescript-api', '-n', 'client.ts']
    return folder.run('swagger-typescript-api', ['generate', '-p', 'openapi.yaml', ...output])
  },
}

interface Consumer {
  use: Use
  /** What generated zod schemas accept, where there are some. */
  accepted?: boolean[]
}

async function load(folder: NpmFolder, name: string): Promise<Consumer> {
  const bundle = join(folder.path, 'bundles', `${name}.mjs`)
  await folder.run('esbuild', [`${name}.ts`, '--bundle', '--format=esm', '--platform=node', `--outfile=${bundle}`])
  return import(pathToFileURL(bundle).href)
}

async function run(options: RunOptions): Promise<string> {
  const folder = await npmFolder('generators')
  const world = await createWorld(options)
  const server = await world.start()
  try {
    const { keys } = await world.createShop(1)
    const apiKey = keys[0] ?? ''
    const send = async (path: string, body: object) => {
      const headers = { Authorization: `Bearer ${apiKey}` }
      const reply = await fetch(`${server.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
      assert.equal(reply.status, 201)
      return (await reply.json()).data
    }
    await send('/api/v1/programs', { name: 'P', autoApproveAffiliate: true })
    const affiliate = await send('/api/v1/affiliates', { email: 'nisa@example.com', name: 'Nisa' })

    for (const generate of Object.values(GENERATORS)) await generate(folder, { BASE_URL: server.url })
    await folder.run('tsc', [])
    for (const name of Object.keys(GENERATORS)) {
      const { use, accepted } = await load(folder, name)
      const used = await use({ baseUrl: server.url, apiKey, code: affiliate.discountCode })
      const expected: Omit<Used, 'clickId'> = {
        commissionCents: 1600,
        dryRunBaseCents: 10_000,
        error: 'Conversions require an Idempotency-Key header, so that a retry does not count the order twice.',
        emails: ['nisa@example.com'],
      }
      assert.deepEqual(used, { ...expected, clickId: used.clickId }, name)
      assert.match(used.clickId, /^jrn_/, name)
      if (accepted) assert.deepEqual(accepted, [true, true, false, false, false], `${name}: zod`)
    }
    const files = globSync('client/**/*.ts', { cwd: folder.path })
    const lines = files.reduce((sum, file) => sum + readFileSync(join(folder.path, file), 'utf8').split('\n').length, 0)
    const names = Object.keys(GENERATORS)
    return `${names.join(', ')}: ${figure(lines)} lines pass tsc --strict, and each client was used on a server`
  } finally {
    await server.stop()
    await world.remove()
    folder.remove()
  }
}

export const guarantee: LongTest = {
  title: 'Clients of third-party generators compile and work',
  minutes: 5,
  run,
}
