import { type Call, pickAction, pickData, recoverRemoval, startCall } from '../call.ts'
import type { Core } from '../core.ts'
import type { ActionReply } from '../models.ts'
import type { CallOptions } from '../options.ts'
import { listCall, type PagedCall, pickPage } from '../pagination.ts'
import type { components } from '../schema.ts'
import type { Query, RequestBody } from '../types.ts'

type Schemas = components['schemas']

/** Additional codes and link names of affiliates. */
export const aliases = (core: Core) => ({
  /**
   * Lists the aliases of all affiliates, newest first.
   *
   * @param query Filters and the page.
   * @param options Options of this call.
   * @throws {BadRequestError} `invalid_parameter`.
   *
   * @example
   * const { data } = await admin.aliases.list({ affiliateId: affiliate.id })
   */
  list: (query?: Query<'listAdminAliases'>, options?: CallOptions): PagedCall<Schemas['Alias']> =>
    listCall(core, { options, query, send: (init) => core.api.GET('/admin/v1/aliases', init), pick: pickPage }),

  /**
   * Gives an affiliate an additional code or link name. One that it already has is returned unchanged.
   *
   * @param body The affiliate, the kind and the value.
   * @param options Options of this call.
   * @throws {BadRequestError} `alias_invalid`.
   * @throws {NotFoundError} `affiliate_not_found`.
   * @throws {ConflictError} `alias_taken` or `alias_limit_reached`.
   *
   * @example
   * await admin.aliases.create({ affiliateId: affiliate.id, kind: 'CODE', value: 'SARAH10' })
   */
  create: (body: RequestBody<'createAdminAlias'>, options?: CallOptions): Call<Schemas['Alias']> =>
    startCall(core, { options, body, send: (init) => core.api.POST('/admin/v1/aliases', init), pick: pickData }),

  /**
   * Deletes an alias. Recorded orders do not change.
   *
   * @param id The alias's ID.
   * @param options Options of this call.
   * @throws {NotFoundError} `alias_not_found`.
   *
   * @example
   * const { id } = await admin.aliases.create({ affiliateId: affiliate.id, kind: 'CODE', value: 'SARAH10' })
   * await admin.aliases.delete(id)
   */
  delete: (id: string, options?: CallOptions): Call<ActionReply> =>
    startCall(core, {
      options,
      send: (init) => core.api.DELETE('/admin/v1/aliases/{id}', { ...init, params: { path: { id } } }),
      pick: pickAction,
      recover: recoverRemoval(id),
    }),
})

/** What only owners do with affiliates. */
export const affiliates = (core: Core) => ({
  /**
   * Restores an archived affiliate, with the status from before.
   *
   * @param id The affiliate's ID.
   * @param options Options of this call.
   * @throws {NotFoundError} `affiliate_not_found`.
   * @throws {ConflictError} Another affiliate has the email by now.
   *
   * @example
   * const { status } = await admin.affiliates.unarchive(affiliate.id)
   */
  unarchive: (id: string, options?: CallOptions): Call<Schemas['Affiliate']> =>
    startCall(core, {
      options,
      send: (init) => core.api.POST('/admin/v1/affiliates/{id}/unarchive', { ...init, params: { path: { id } } }),
      pick: pickData,
    }),
})

/** Tokens with which a page of yours reads the API for one affiliate. */
export const affiliateTokens = (core: Core) => ({
  /**
   * Creates a token. It is returned once.
   *
   * @param affiliateId The affiliate's ID.
   * @param body How long the token is valid.
   * @param options Options of this call.
   * @throws {NotFoundError} `affiliate_not_found`.
   *
   * @example
   * const { token, expiresAt } = await admin.affiliateTokens.create(affiliate.id, { expiresInSeconds: 3600 })
   */
  create: (
    affiliateId: string,
    body: RequestBody<'createAdminAffiliateToken'> = {},
    options?: CallOptions,
  ): Call<Schemas['AffiliateToken']> =>
    startCall(core, {
      options,
      body,
      send: (init) =>
        core.api.POST('/admin/v1/affiliates/{id}/tokens', { ...init, params: { path: { id: affiliateId } } }),
      pick: pickData,
    }),

  /**
   * Ends all tokens of an affiliate, and the links to its own page.
   *
   * @param affiliateId The affiliate's ID.
   * @param options Options of this call.
   * @throws {NotFoundError} `affiliate_not_found`.
   *
   * @example
   * await admin.affiliateTokens.revoke(affiliate.id)
   */
  revoke: (affiliateId: string, options?: CallOptions): Call<ActionReply> =>
    startCall(core, {
      options,
      send: (init) =>
        core.api.DELETE('/admin/v1/affiliates/{id}/tokens', { ...init, params: { path: { id: affiliateId } } }),
      pick: pickAction,
    }),
})
