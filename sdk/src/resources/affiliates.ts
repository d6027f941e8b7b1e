import { type Call, pickAction, pickData, pickOne, recoverRemoval, startCall, startUpdate } from '../call.ts'
import type { Core } from '../core.ts'
import type {
  ActionReply,
  Affiliate,
  AffiliateBalance,
  AffiliateCreate,
  AffiliateQuery,
  AffiliateToken,
  AffiliateTokenCreate,
  AffiliateUpdate,
} from '../models.ts'
import type { CallOptions, WriteOptions } from '../options.ts'
import { listCall, type PagedCall, pickPage } from '../pagination.ts'

const path = '/api/v1/affiliates'

/**
 * People and companies that refer customers.
 *
 * @param core What `createCore` returns.
 *
 * @example
 * const core = createCore({ apiKey: process.env.REFERRAL_API_KEY, baseUrl: process.env.REFERRAL_BASE_URL })
 * const { data } = await affiliates(core).list()
 */
export const affiliates = (core: Core) => ({
  /**
   * Lists affiliates, newest first, without archived ones. `q` searches names and email addresses.
   *
   * @param query Filters and the page. `after` continues after an ID.
   * @param options Options of this call.
   * @throws {BadRequestError} `invalid_parameter`.
   *
   * @example
   * for await (const affiliate of client.affiliates.list({ status: 'PENDING' })) console.log(affiliate.name)
   */
  list: (query?: AffiliateQuery, options?: CallOptions): PagedCall<Affiliate> =>
    listCall(core, {
      query,
      options,
      send: (init) => core.api.GET(path, init),
      pick: pickPage<Affiliate>,
    }),

  /**
   * Returns an affiliate. Archived affiliates are not found.
   *
   * @param id The affiliate's ID.
   * @param options Options of this call.
   * @throws {NotFoundError} `affiliate_not_found`.
   *
   * @example
   * const affiliate = await client.affiliates.get(affiliateId)
   */
  get: (id: string, options?: CallOptions): Call<Affiliate> =>
    startCall(core, {
      options,
      query: { id },
      send: (init) => core.api.GET(path, init),
      pick: pickOne('affiliate_not_found'),
    }),

  /**
   * Creates an affiliate with a slug and a discount code. Its status is `PENDING`, or `APPROVED` when its program approves
   * affiliates automatically.
   *
   * @param body `email`, and `name` or `firstName`. `campaignId` is the ID of its program.
   * @param options Options of this call, such as `idempotencyKey`.
   * @throws {NotFoundError} `program_not_found` when `campaignId` is not a program of your shop.
   * @throws {ConflictError} `email_taken` when another affiliate uses the email address.
   *
   * @example
   * const affiliate = await client.affiliates.create({ email: 'noor@example.com', name: 'Noor Haddad' })
   */
  create: (body: AffiliateCreate, options?: WriteOptions): Call<Affiliate> =>
    startCall(core, { options, pick: pickData<Affiliate>, body, send: (init) => core.api.POST(path, init) }),

  /**
   * Updates the given fields; `null` clears an optional one. A change of `status` sends webhooks.
   *
   * @param id The affiliate's ID.
   * @param body The fields to change.
   * @param options Options of this call.
   * @throws {NotFoundError} `affiliate_not_found` or `program_not_found`.
   * @throws {ConflictError} `email_taken`, or `concurrent_change` when another request modified the affiliate.
   *
   * @example
   * await client.affiliates.update(affiliate.id, { status: 'APPROVED' })
   */
  update: (id: string, body: AffiliateUpdate, options?: CallOptions): Call<Affiliate> =>
    startUpdate(core, {
      options,
      query: { id },
      body,
      pick: pickData<Affiliate>,
      send: (init) => core.api.PATCH(path, init),
    }),

  /**
   * Returns what an affiliate has earned and was not paid yet, by currency.
   *
   * @param id The affiliate's ID. A client with an `affiliateToken` can omit it.
   * @param options Options of this call.
   * @throws {NotFoundError} `affiliate_not_found`.
   *
   * @example
   * const { balances } = await client.affiliates.balance(affiliateId)
   */
  balance: (id?: string, options?: CallOptions): Call<AffiliateBalance> =>
    startCall(core, {
      options,
      query: { affiliateId: id! },
      send: (init) => core.api.GET('/api/v1/affiliates/balance', init),
      pick: pickData<AffiliateBalance>,
    }),

  /**
   * Creates a token with which a page of your own reads the affiliate, its aliases, balance, commissions, coupon and
   * analytics, and nothing of others. Pass it as `affiliateToken` to a client in the browser.
   *
   * @param body The affiliate, and `expiresInSeconds`: 3600 by default, at most 86400.
   * @param options Options of this call, such as `idempotencyKey`.
   * @throws {NotFoundError} `affiliate_not_found`.
   *
   * @example
   * const { token } = await client.affiliates.createToken({ affiliateId })
   */
  createToken: (body: AffiliateTokenCreate, options?: WriteOptions): Call<AffiliateToken> =>
    startCall(core, {
      options,
      pick: pickData<AffiliateToken>,
      body,
      send: (init) => core.api.POST('/api/v1/affiliates/tokens', init),
    }),

  /**
   * Archives an affiliate: it disappears from lists and stops earning commissions. Its data is kept.
   *
   * @param id The affiliate's ID.
   * @param options Options of this call.
   * @throws {NotFoundError} `affiliate_not_found`.
   *
   * @example
   * await client.affiliates.archive(affiliate.id)
   */
  archive: (id: string, options?: CallOptions): Call<ActionReply> =>
    startCall(core, {
      options,
      pick: pickAction,
      recover: recoverRemoval(id),
      query: { id },
      send: (init) => core.api.DELETE(path, init),
    }),
})
