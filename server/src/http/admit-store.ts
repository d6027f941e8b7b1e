import type { Context as HonoContext } from 'hono'
import type { Context } from '../context.ts'
import { ApiError } from '../errors.ts'
import { findStore } from '../services/stores.ts'
import type { Visit } from './admit.ts'
import type { Server } from './server.ts'

/**
 * Lets a store in that signed the raw bytes of its notification with the secret of the shop in the path.
 *
 * @throws ApiError 401 `store_signature_missing` or `store_signature_invalid`; a shop that is not there looks the same.
 */
export async function admitStore(
  { deps }: Server,
  bytes: Uint8Array,
  { c, visit }: { c: HonoContext; visit: Visit },
): Promise<Context> {
  const signature = c.req.header('X-Shopify-Hmac-Sha256')
  if (!signature) {
    throw new ApiError(401, 'store_signature_missing', 'The notification is not signed; send X-Shopify-Hmac-Sha256.')
  }
  const shop = await findStore(deps, c.req.param('shopId') ?? '', { bytes, signature })
  if (!shop) {
    throw new ApiError(
      401,
      'store_signature_invalid',
      'The signature does not fit this shop; compare the secret of store notifications in its settings.',
    )
  }
  return { ...deps, shop, actor: 'store', requestId: visit.requestId }
}
