// SQLite only: reads the routes.
import { expect, test } from 'vitest'
import { requestsOf } from '../bench/goals/page-requests.ts'
import { testServer } from '../support/server.ts'

test('the benchmark of pages measures every page', async () => {
  const server = await testServer()
  const routes = server.routes.filter(
    ({ method, path }) => method === 'GET' && /^\/admin(\/(?!v1|sign-|assets|oidc)|$)/.test(path),
  )
  await server.close()
  const shop = { url: '', shopId: '', tokens: [], keys: [], ownPage: '/affiliate/x' }
  const measured = requestsOf(shop, { commissions: 1_000_000, affiliates: 100_000 }).map(
    ({ path }) => path.split('?')[0],
  )
  const partsOf = (path: string) => path.split('/')
  const isMeasured = (route: string) =>
    measured.some((path = '') => {
      const [own, asked] = [partsOf(route), partsOf(path)]
      return own.length === asked.length && own.every((part, index) => part.startsWith(':') || part === asked[index])
    })
  // Files are written as they are read.
  const isPage = (path: string) => !/^\/admin\/\w+\.csv$/.test(path)
  const missing = [...new Set(routes.map(({ path }) => path))].filter((path) => isPage(path) && !isMeasured(path))
  expect(missing).toEqual([])
})
