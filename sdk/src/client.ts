import { type Core, createCore, type FetchResult, type WithResponse } from './core.ts'
import { ApiError } from './errors.ts'
import type { CallOptions, ClientOptions } from './options.ts'
import { affiliates } from './resources/affiliates.ts'
import { aliases } from './resources/aliases.ts'
import { analytics } from './resources/analytics.ts'
import { cancellations } from './resources/cancellations.ts'
import { commissions } from './resources/commissions.ts'
import { coupons } from './resources/coupons.ts'
import { customers } from './resources/customers.ts'
import { events } from './resources/events.ts'
import { journey } from './resources/journey.ts'
import { orders } from './resources/orders.ts'
import { payouts } from './resources/payouts.ts'
import { programs } from './resources/programs.ts'
import { refunds } from './resources/refunds.ts'
import { shop } from './resources/shop.ts'
import { webhooks } from './resources/webhooks.ts'
import type { RateLimit } from './retry.ts'
import type { components, paths } from './schema.ts'
import type { Input } from './types.ts'

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'
type PathOperation = { parameters: { query?: unknown; header?: unknown; path?: unknown }; responses: object }

/** The paths that support a method. */
type PathsWith<M extends Method> = { [P in keyof paths]: paths[P][M] extends PathOperation ? P : never }[keyof paths]

/** The operation of a path and a method. */
type OperationAt<P extends keyof paths, M extends Method> = Extract<paths[P][M], PathOperation>

/** An operation with a required parameter. */
type RequiresParams = { parameters: { query: object } | { path: object } | { header: object } }

/** Parameters and body of an operation, named as in openapi.yaml. */
export type RawInit<O extends PathOperation> = CallOptions &
  (O extends RequiresParams
    ? { params: Input<Omit<O['parameters'], 'cookie'>> }
    : { params?: Input<Omit<O['parameters'], 'cookie'>> | undefined }) &
  (O extends { requestBody: { content: { 'application/json': infer Body } } }
    ? { body: Input<Body> }
    : O extends { requestBody?: { content: { 'application/json': infer Body } } }
      ? { body?: Input<Body> | undefined }
      : { body?: undefined })

type Content<R> = R extends { content: infer MediaTypes } ? MediaTypes[keyof MediaTypes] : never

/** The `data` of a successful response, or the `error` body of any other one. */
export type RawResult<O extends PathOperation> =
  | {
      data: Content<O['responses'][Extract<keyof O['responses'], 200 | 201 | 202 | '2XX'>]>
      error?: never
      response: Response
    }
  | { data?: never; error: components['schemas']['ErrorBody']; response: Response }

/** A method of the raw client. */
export type RawMethod<M extends Method> = <P extends PathsWith<M>>(
  path: P,
  ...init: OperationAt<P, M> extends RequiresParams | { requestBody: object }
    ? [RawInit<OperationAt<P, M>>]
    : [RawInit<OperationAt<P, M>>?]
) => Promise<RawResult<OperationAt<P, M>>>

/**
 * The methods of openapi-fetch: call any operation of openapi.yaml by method and path, with the same retries and timeouts
 * as the resources. They accept the options of a call, and return error responses of the API instead of throwing them.
 *
 * @throws {ReferralError} when no usable response of the API was received.
 *
 * @example
 * const { data, error } = await client.GET('/api/v1/programs', { params: { query: { limit: 1 } } })
 */
export interface RawClient {
  GET: RawMethod<'get'>
  POST: RawMethod<'post'>
  PUT: RawMethod<'put'>
  PATCH: RawMethod<'patch'>
  DELETE: RawMethod<'delete'>
}

/** The API of one shop, by resource. */
export interface ReferralClient extends RawClient {
  readonly affiliates: ReturnType<typeof affiliates>
  readonly aliases: ReturnType<typeof aliases>
  readonly programs: ReturnType<typeof programs>
  readonly commissions: ReturnType<typeof commissions>
  readonly payouts: ReturnType<typeof payouts>
  readonly coupons: ReturnType<typeof coupons>
  readonly customers: ReturnType<typeof customers>
  readonly analytics: ReturnType<typeof analytics>
  readonly journey: ReturnType<typeof journey>
  readonly events: ReturnType<typeof events>
  readonly orders: ReturnType<typeof orders>
  readonly refunds: ReturnType<typeof refunds>
  readonly cancellations: ReturnType<typeof cancellations>
  readonly webhooks: ReturnType<typeof webhooks>
  readonly shop: ReturnType<typeof shop>
  /** The rate limit window of the last response, undefined before the first. */
  readonly rateLimit: RateLimit | undefined
  /**
   * Returns a client with some options changed, as in `client.withOptions({ timeoutMs: 120_000 })`. It has a rate limit window
   * and `maxRequestsPerMinute` of its own.
   *
   * @throws {TypeError} when an option is malformed.
   */
  withOptions(options: ClientOptions): ReferralClient
}

/**
 * Creates a client for one shop.
 *
 * @param options `apiKey` and `baseUrl` default to `REFERRAL_API_KEY` and `REFERRAL_BASE_URL` of the environment.
 * @throws {TypeError} when an option is missing or malformed, or in a browser.
 *
 * @example
 * const client = createReferralClient({ apiKey: process.env.REFERRAL_API_KEY, baseUrl: 'https://referrals.example.com' })
 * const affiliate = await client.affiliates.create({ email: 'noor@example.com', name: 'Noor Haddad' })
 */
export const createReferralClient = (options?: ClientOptions): ReferralClient => {
  const core = createCore(options)
  return {
    ...rawMethods(core),
    affiliates: affiliates(core),
    aliases: aliases(core),
    programs: programs(core),
    commissions: commissions(core),
    payouts: payouts(core),
    coupons: coupons(core),
    customers: customers(core),
    analytics: analytics(core),
    journey: journey(core),
    events: events(core),
    orders: orders(core),
    refunds: refunds(core),
    cancellations: cancellations(core),
    webhooks: webhooks(core),
    shop: shop(core),
    get rateLimit() {
      return core.rateLimit
    },
    withOptions: (changed) => createReferralClient({ ...options, ...changed }),
  }
}

type UntypedInit = CallOptions & { params?: object; body?: unknown }

/** Calls the methods of openapi-fetch with a call's options. */
export const rawMethods = ({ api, run }: Core): RawClient => {
  // The types of openapi-fetch depend on a literal path, which is known to the caller only.
  const request = api.request as (method: string, path: string, init: object) => Promise<FetchResult<unknown>>
  const methodOf =
    (method: string) =>
    (path: string, { params, body, ...options }: UntypedInit = {}) => {
      const send = (init: object) => request(method, path, { ...init, params, body })
      return toResult(run({ options, send, pick: (data) => data, reconciled: toResult }))
    }
  return Object.fromEntries(
    ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].map((method) => [method, methodOf(method)]),
  ) as unknown as RawClient
}

/** Returns the result of openapi-fetch, in which an error of the API is not thrown. */
const toResult = (call: Promise<WithResponse<unknown>>): Promise<unknown> =>
  call.then(
    ({ data, response }) => ({ data, response }),
    (error: unknown) => {
      if (!(error instanceof ApiError)) throw error
      return { error: { error: error.message }, response: error.response }
    },
  )
