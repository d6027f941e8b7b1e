import * as shops from '../../server/src/domains/accounts/shops.ts'
import { type DocumentedOperation, operation } from './document.ts'
import { rowOf } from './inspect.ts'
import { OPERATOR_TOKEN, type Reply, type RequestOptions, type TestServer } from './server.ts'
import { expectOk } from './shop.ts'

/** The ids in the paths of the operator API. */
export interface Tenant {
  shopId: string
  userId: string
  keyId: string
}

export interface OperatorCall extends RequestOptions, Partial<Tenant> {
  query?: string
  method?: string
}

/** The shop of the server, its owner and its key. */
const ownTenant = ({ sql, shop }: TestServer): Tenant => ({
  shopId: shop.shopId,
  userId: rowOf({ sql }, 'users', { shopId: shop.shopId, email: 'owner@shop.example' }).id,
  keyId: shop.keyId,
})

/** A new shop with an owner and a key. */
export async function newTenant(server: TestServer): Promise<Tenant> {
  const { shopId, keyId } = await server.createShop()
  return { shopId, keyId, userId: rowOf(server, 'users', { shopId }).id }
}

export const operate = (server: TestServer, method: string, path: string, body?: unknown): Promise<Reply> =>
  server.request(method, `/operator/v1${path}`, { key: OPERATOR_TOKEN, body })

/** The query that deletes a shop which is suspended and exported now. */
export async function deletionOf(server: TestServer, shopId: string): Promise<string> {
  await expectOk(operate(server, 'POST', `/shops/${shopId}/suspend`))
  const { sha256 } = endOf(await operate(server, 'GET', `/shops/${shopId}/export`))
  return new URLSearchParams({ name: 'Test shop', digest: sha256 }).toString()
}

/** The last line of an export. */
export const endOf = ({ body }: Reply): { rows: number; sha256: string } =>
  JSON.parse(String(body).trimEnd().split('\n').at(-1)!).end

/** Prepares a new shop for the operations that consume something. */
export const TENANT: Record<string, (server: TestServer) => Promise<OperatorCall>> = {
  resumeShop: async (server) => {
    const tenant = await newTenant(server)
    await shops.suspend(server.deps, tenant.shopId)
    return tenant
  },
  deleteShop: async (server) => {
    const tenant = await newTenant(server)
    return { ...tenant, query: await deletionOf(server, tenant.shopId) }
  },
}

/** A valid call of an operation with the first example of its request, changed by `given`. */
export async function callOperator(
  server: TestServer,
  op: DocumentedOperation,
  given: OperatorCall = {},
): Promise<Reply> {
  const { query = '', method = op.method, shopId, userId, keyId, ...rest } = given
  const ids: Record<string, string> = { ...ownTenant(server), ...definedOf({ shopId, userId, keyId }) }
  const path = op.path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(ids[name] ?? ''))
  const body = Object.values(op.requestExamples)[0]?.value
  const sent = 'body' in rest || 'raw' in rest ? rest : { ...rest, body }
  return server.request(method, `${path}${query && `?${query}`}`, { key: OPERATOR_TOKEN, ...sent })
}

const definedOf = (ids: object) => Object.fromEntries(Object.entries(ids).filter(([, id]) => id !== undefined))

/** A call of an operation on a shop that it may change or delete. */
export async function freshCall(server: TestServer, op: DocumentedOperation): Promise<OperatorCall> {
  if (op.method === 'GET') return {}
  return TENANT[op.id] ? TENANT[op.id]!(server) : newTenant(server)
}

export const callOperatorOperation = (server: TestServer, id: string, given: OperatorCall = {}) =>
  callOperator(server, operation(id), given)
