import { test as baseTest } from 'vitest'
import { exampleServer as createExampleServer } from '../contract/fixture.ts'
import { ownerServer as createOwnerServer } from './owner.ts'
import { type TestServer, type TestServerOptions, testServer } from './server.ts'

export type Client = TestServer['client']
export type Owner = TestServer['owner']

type ForEachCase = <Case extends unknown[] | [unknown]>(cases: readonly Case[]) => ReturnType<typeof fixtures.for<Case>>
type ForEachCaseWithNewShop = <Case extends unknown[] | [unknown]>(
  cases: readonly Case[],
) => ReturnType<typeof perShop.for<Case>>

const closedAfterwards =
  <Server extends TestServer>(create: () => Promise<Server>) =>
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the fixtures that this one needs from the pattern
  async ({}, { onCleanup }: { onCleanup: (close: () => Promise<void>) => void }) => {
    const server = await create()
    onCleanup(server.close)
    return server
  }

const fixtures = baseTest
  .extend('options', { scope: 'file' }, {} as TestServerOptions)
  .extend('server', { scope: 'file' }, async ({ options }, { onCleanup }) => {
    const server = await testServer(options)
    onCleanup(server.close)
    return server
  })
  .extend('client', { scope: 'file' }, ({ server }) => server.client)
  .extend('owner', { scope: 'file' }, ({ server }) => server.owner)
  .extend('exampleServer', { scope: 'file' }, closedAfterwards(createExampleServer))
  .extend('ownerServer', { scope: 'file' }, closedAfterwards(createOwnerServer))

/**
 * `test` with a server per file, created when the first test or hook asks for it:
 * - `server`: a running server with one shop.
 * - `client`: the SDK with the shop's API key.
 * - `owner`: requests to the admin API with the owner's token.
 * - `exampleServer`, `ownerServer`: servers that hold the data of the document's examples.
 *
 * A file that needs other options extends it. `test.override` would also apply to the files that run later in the same
 * process.
 *
 * @example
 * const test = baseTest.extend('options', { scope: 'file' }, { limited: true })
 * test('429 when the rate limit is exceeded', async ({ client }) => {})
 */
// Infers tuples for the cases of `test.for`, as vitest does for `test.each`.
export const test: { for: ForEachCase } & typeof fixtures = fixtures

const perShop = baseTest
  .extend('options', { scope: 'file' }, {} as TestServerOptions)
  .extend('installation', { scope: 'file' }, async ({ options }, { onCleanup }) => {
    const server = await testServer(options)
    onCleanup(server.close)
    return server
  })
  .extend('server', async ({ installation }): Promise<TestServer> => {
    const shop = await installation.createShop()
    return { ...installation, ...installation.asShop(shop) }
  })
  .extend('client', ({ server }) => server.client)
  .extend('owner', ({ server }) => server.owner)

/** Like `test`, with a new shop of the same server for each test. */
export const testWithNewShop: { for: ForEachCaseWithNewShop } & typeof perShop = perShop
