import type { DocumentedOperation } from './document.ts'
import { allOperations } from './document.ts'
import { admin } from './owner.ts'
import type { Reply, RequestOptions, TestServer } from './server.ts'
import { expectOk } from './shop.ts'

export const ORIGIN = 'https://shop.example'

/** Whether an operation serves the pages of a shop, without a credential. */
export const isOfSite = (op: DocumentedOperation): boolean => op.tags.includes('Tracking')
export const siteOperations = allOperations.filter(isOfSite)

/** Turns tracking on for the pages of {@link ORIGIN}. */
export const openSite = (server: TestServer) =>
  expectOk(admin(server, 'PATCH', '/settings', { siteDomains: ['shop.example'] }))

/** The path of an operation for the affiliate of the examples. */
export const sitePath = (op: DocumentedOperation, shopId: string): string =>
  op.path.replace('{shopId}', shopId).replace('{ref}', 'nisa-karim')

/** A request of a page of the shop, with the document's example as its body. */
export function callSite(
  server: Pick<TestServer, 'request' | 'shop'>,
  op: DocumentedOperation,
  { method = op.method, query = '', headers, ...given }: RequestOptions & { method?: string; query?: string } = {},
): Promise<Reply> {
  const body = op.method === 'GET' ? undefined : Object.values(op.requestExamples)[0]?.value
  return server.request(method, sitePath(op, server.shop.shopId) + query, {
    ...(method !== 'GET' && { body, ...given }),
    key: null,
    headers: { Origin: ORIGIN, ...headers },
  })
}
