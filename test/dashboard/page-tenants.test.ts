// SQLite only: the pages call the use cases that are tested on both databases
import { describe, expect } from 'vitest'
import { rowsOf } from '../support/inspect.ts'
import { ID, type OwnerServer } from '../support/owner.ts'
import { test } from '../support/test.ts'
import { visitorOf } from './visitor.ts'

/** Values of the first shop that none of its pages may show to another one. */
const LEAKS = /nisa|NISA16|Friends|By hand|hooks\.example|known@example/i
let stranger: ReturnType<typeof visitorOf>

test.beforeAll(async ({ ownerServer: server }) => {
  stranger = visitorOf(server)
  await stranger.signIn((await server.createShop()).ownerToken)
})

describe('an owner of another shop', () => {
  const routes = (server: { routes: { method: string; path: string }[] }, method: string) => [
    ...new Set(
      server.routes
        .filter((route) => route.method === method && /^\/admin(\/(?!v1|sign-|assets)|$)/.test(route.path))
        .map(({ path }) => path),
    ),
  ]
  const withId = (path: string, id: string) => path.replace(/:move/, 'approve').replace(/:\w+/g, id)

  test('sees nothing of the first shop on any page, whatever id is in the path or the query', async ({
    ownerServer: server,
  }) => {
    const query = `id=${ID.commission}&affiliate=${ID.affiliate}&affiliateId=${ID.affiliate}&programId=${ID.program}&campaignId=${ID.program}&status=ALL&order=1000&q=nisa&code=NISA`
    const pages = routes(server, 'GET')
    expect(pages.length).toBeGreaterThan(20)
    for (const path of pages) {
      for (const id of path.includes(':') ? Object.values(ID) : ['']) {
        const { text, status } = await stranger.open(`${withId(path, id)}?${query}`)
        expect([path, status < 500]).toEqual([path, true])
        // What was typed is shown again.
        const shown = text
          .replace(/ (value|href|action)="[^"]*"/g, '')
          .replace(/(?:matches|Search|Order) <bdi>(?:nisa|NISA|1000|aff_\w+)(?=<)/g, '')
        expect([path, LEAKS.exec(shown)?.[0]]).toEqual([path, undefined])
      }
    }
  })

  test('changes nothing of the first shop with any form', async ({ ownerServer: server }) => {
    const forms = routes(server, 'POST').filter((path) => !path.includes('sign-'))
    expect(forms.length).toBeGreaterThan(25)
    for (const path of forms) {
      for (const id of path.includes(':') ? [ID.affiliate, ID.program, ID.pending, ID.batch] : ['']) {
        const before = ownRows(server)
        await stranger.submit(withId(path, id), [
          ['id', ID.commission],
          ['ids', ID.pending],
          ['ids', ID.affiliate],
          ['affiliate', ID.affiliate],
          ['affiliateId', ID.affiliate],
          ['subscriptionId', ID.webhook],
          ['code', 'STEAL1'],
          ['status', 'REJECTED'],
          ['move', 'reject'],
          ['action', 'reject'],
          ['aliasKind', 'CODE'],
          ['alias', 'STEAL2'],
          ['kind', 'product'],
          ['value', '77'],
          ['commissionPercent', '5'],
          ['countries', 'US'],
          ['externalRefundId', 'r-1'],
          ['name', 'Stolen'],
          ['email', 'stolen@example.com'],
        ])
        expect([path, ownRows(server) === before]).toEqual([path, true])
      }
    }
  })

  const TABLES = [
    'shops',
    'users',
    'sessions',
    'passkeys',
    'apiKeys',
    'affiliates',
    'affiliateAliases',
    'connections',
    'customers',
    'programs',
    'productRules',
    'geoRules',
    'commissions',
    'refunds',
    'payoutBatches',
    'subscriptions',
    'deliveries',
  ] as const

  /** The rows of the first shop. */
  const ownRows = (server: OwnerServer): string =>
    JSON.stringify(
      TABLES.map((table) =>
        rowsOf(server, table).filter((row) => ('shopId' in row ? row.shopId : row.id) === server.shop.shopId),
      ),
    )
})
