import { type Call, pickAction, pickData, recoverRemoval, startCall } from '../call.ts'
import type { Core } from '../core.ts'
import type { ActionReply, Alias, AliasCreate, AliasQuery } from '../models.ts'
import type { CallOptions, WriteOptions } from '../options.ts'
import { listCall, type PagedCall, pickPage } from '../pagination.ts'

const path = '/api/v1/affiliates/aliases'

/**
 * Additional codes and link names of affiliates.
 *
 * @param core What `createCore` returns.
 *
 * @example
 * const core = createCore({ apiKey: process.env.REFERRAL_API_KEY, baseUrl: process.env.REFERRAL_BASE_URL })
 * const { data } = await aliases(core).list()
 */
export const aliases = (core: Core) => ({
  /**
   * Lists aliases, newest first, including those of archived affiliates.
   *
   * @param query Filters and the page. `value` finds an alias in any letter case.
   * @param options Options of this call.
   * @throws {BadRequestError} `invalid_parameter`.
   *
   * @example
   * const { data } = await client.aliases.list({ affiliateId })
   */
  list: (query?: AliasQuery, options?: CallOptions): PagedCall<Alias> =>
    listCall(core, { query, options, send: (init) => core.api.GET(path, init), pick: pickPage<Alias> }),

  /**
   * Gives an affiliate an additional code or link name, such as one of another system. An alias that the affiliate already
   * has is returned unchanged.
   *
   * @param body The affiliate, the `kind` (`CODE` or `LINK`), and the `value`.
   * @param options Options of this call, such as `idempotencyKey`.
   * @throws {BadRequestError} `alias_invalid`.
   * @throws {NotFoundError} `affiliate_not_found`.
   * @throws {ConflictError} `alias_taken` when another affiliate has the name, or `alias_limit_reached`.
   *
   * @example
   * const alias = await client.aliases.create({ affiliateId, kind: 'CODE', value: 'NOOR10' })
   */
  create: (body: AliasCreate, options?: WriteOptions): Call<Alias> =>
    startCall(core, { options, pick: pickData<Alias>, body, send: (init) => core.api.POST(path, init) }),

  /**
   * Deletes an alias. Recorded orders do not change.
   *
   * @param id The alias's ID.
   * @param options Options of this call.
   * @throws {NotFoundError} `alias_not_found`.
   *
   * @example
   * const { id } = await client.aliases.create({ affiliateId, kind: 'LINK', value: 'noor_old' })
   * await client.aliases.delete(id)
   */
  delete: (id: string, options?: CallOptions): Call<ActionReply> =>
    startCall(core, {
      options,
      pick: pickAction,
      recover: recoverRemoval(id),
      query: { id },
      send: (init) => core.api.DELETE(path, init),
    }),
})
