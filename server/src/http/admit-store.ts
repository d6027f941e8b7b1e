import type { Context as HonoContext } from 'hono'
import type { Context } from '../context.ts'
import type { Trx } from '../db/database.ts'
import { ApiError } from '../errors.ts'
import { findStore, isSigned, type Store } from '../services/stores.ts'
import type { Visit } from './admit.ts'
import { nameable } from './body.ts'
import type { Server } from './server.ts'

/** A request that may be a notification of this store: its body has not been read, so its signature is not verified. */
export interface ExpectedStore extends Store {
  signature: Uint8Array
}

/** An HMAC-SHA256 in base64. */
const SIGNATURE = /^[A-Za-z0-9+/]{43}=$/

/**
 * Everything that can be checked before the body is read, so that nobody can make the server hold bodies for a shop that
 * takes none.
 *
 * @throws ApiError 401 `store_signature_missing` or `store_signature_invalid`; a shop that does not exist looks the same.
 */
export async function expectStore({ deps }: Server, c: HonoContext): Promise<ExpectedStore> {
  const signature = c.req.header('X-Shopify-Hmac-Sha256')
  if (!signature) {
    throw new ApiError(401, 'store_signature_missing', 'The notification is not signed; send X-Shopify-Hmac-Sha256.')
  }
  const store =
    SIGNATURE.test(signature) && (await findStore(deps, deps.db.read, nameable(c.req.param('shopId') ?? '')))
  if (!store) throw signatureInvalid()
  return { ...store, signature: Buffer.from(signature, 'base64') }
}

/**
 * Accepts a notification whose raw bytes were signed with the secret of the shop in the path.
 *
 * @throws ApiError 401 `store_signature_invalid`.
 */
export function admitStore({ deps }: Server, store: ExpectedStore, bytes: Uint8Array, visit: Visit): Context {
  if (!isSigned(bytes, store)) throw signatureInvalid()
  const recheck = async (db: Trx) => {
    const now = await findStore(deps, db, store.shop.id)
    if (now?.secret !== store.secret) throw signatureInvalid()
    return now.shop
  }
  return { ...deps, shop: store.shop, actor: 'store', requestId: visit.requestId, recheck }
}

const signatureInvalid = () =>
  new ApiError(
    401,
    'store_signature_invalid',
    'The signature does not fit this shop; compare the secret of store notifications in its settings.',
  )
