import { type Call, pickAction, pickData, recoverRemoval, startCall } from '../call.ts'
import type { Core } from '../core.ts'
import type { ActionReply } from '../models.ts'
import type { CallOptions } from '../options.ts'
import { listCall, type PagedCall, pickPage } from '../pagination.ts'
import type { components } from '../schema.ts'
import type { Query, RequestBody } from '../types.ts'

type Schemas = components['schemas']

/** Customers and products that are evidence for an affiliate. */
export const connections = (core: Core) => ({
  /**
   * Lists connections, newest first.
   *
   * @param query Filters and the page.
   * @param options Options of this call.
   * @throws {BadRequestError} `invalid_parameter`.
   *
   * @example
   * const { data } = await admin.connections.list({ kind: 'customerEmail' })
   */
  list: (query?: Query<'listConnections'>, options?: CallOptions): PagedCall<Schemas['Connection']> =>
    listCall(core, { options, query, send: (init) => core.api.GET('/admin/v1/connections', init), pick: pickPage }),

  /**
   * Connects a customer, a product or a variant to an affiliate.
   *
   * @param body The kind and the value, and the affiliate.
   * @param options Options of this call.
   * @throws {NotFoundError} `affiliate_not_found`.
   * @throws {ConflictError} `connection_exists`.
   *
   * @example
   * await admin.connections.create({ kind: 'customerEmail', value: 'buyer@example.com', affiliateId: affiliate.id })
   */
  create: (body: RequestBody<'createConnection'>, options?: CallOptions): Call<Schemas['Connection']> =>
    startCall(core, { options, body, send: (init) => core.api.POST('/admin/v1/connections', init), pick: pickData }),

  /**
   * Deletes a connection. Recorded orders do not change.
   *
   * @param id The connection's ID.
   * @param options Options of this call.
   * @throws {NotFoundError} `connection_not_found`.
   *
   * @example
   * await admin.connections.delete(connection.id)
   */
  delete: (id: string, options?: CallOptions): Call<ActionReply> =>
    startCall(core, {
      options,
      send: (init) => core.api.DELETE('/admin/v1/connections/{id}', { ...init, params: { path: { id } } }),
      pick: pickAction,
      recover: recoverRemoval(id),
    }),
})

/** Rates of products and variants, instead of those of their program. */
export const productRules = (core: Core) => ({
  /**
   * Lists product rules, newest first.
   *
   * @param query Filters and the page.
   * @param options Options of this call.
   * @throws {BadRequestError} `invalid_parameter`.
   *
   * @example
   * const { data } = await admin.productRules.list({ programId: program.id })
   */
  list: (query?: Query<'listProductRules'>, options?: CallOptions): PagedCall<Schemas['ProductRule']> =>
    listCall(core, { options, query, send: (init) => core.api.GET('/admin/v1/product-rules', init), pick: pickPage }),

  /**
   * Creates a product rule. Recorded orders keep their rate.
   *
   * @param body The program, the product or variant, and the rate.
   * @param options Options of this call.
   * @throws {BadRequestError} `commission_percent_invalid` when it is out of range for the commission type.
   * @throws {NotFoundError} `program_not_found`.
   * @throws {ConflictError} `product_rule_exists`, or `product_rule_limit_reached`.
   *
   * @example
   * await admin.productRules.create({ programId: program.id, kind: 'product', value: '7001', commissionPercent: 5 })
   */
  create: (body: RequestBody<'createProductRule'>, options?: CallOptions): Call<Schemas['ProductRule']> =>
    startCall(core, { options, body, send: (init) => core.api.POST('/admin/v1/product-rules', init), pick: pickData }),

  /**
   * Deletes a product rule. Later orders use the program's rate.
   *
   * @param id The rule's ID.
   * @param options Options of this call.
   * @throws {NotFoundError} `product_rule_not_found`.
   *
   * @example
   * await admin.productRules.delete(productRule.id)
   */
  delete: (id: string, options?: CallOptions): Call<ActionReply> =>
    startCall(core, {
      options,
      send: (init) => core.api.DELETE('/admin/v1/product-rules/{id}', { ...init, params: { path: { id } } }),
      pick: pickAction,
      recover: recoverRemoval(id),
    }),
})

/** Places to which a program limits its orders. */
export const geoRules = (core: Core) => ({
  /**
   * Lists geo rules, one per program.
   *
   * @param query The page.
   * @param options Options of this call.
   * @throws {BadRequestError} `invalid_parameter`.
   *
   * @example
   * const { data } = await admin.geoRules.list()
   */
  list: (query?: Query<'listGeoRules'>, options?: CallOptions): PagedCall<Schemas['GeoRule']> =>
    listCall(core, { options, query, send: (init) => core.api.GET('/admin/v1/geo-rules', init), pick: pickPage }),

  /**
   * Sets a program's geo rule, and replaces its current one.
   *
   * @param programId The program's ID.
   * @param body The places. An omitted list does not restrict.
   * @param options Options of this call.
   * @throws {NotFoundError} `program_not_found`.
   * @throws {ConflictError} `geo_rule_limit_reached`.
   *
   * @example
   * await admin.geoRules.set(program.id, { countries: ['US', 'CA'] })
   */
  set: (programId: string, body: RequestBody<'setGeoRule'>, options?: CallOptions): Call<Schemas['GeoRule']> =>
    startCall(core, {
      options,
      body,
      send: (init) => core.api.PUT('/admin/v1/geo-rules/{programId}', { ...init, params: { path: { programId } } }),
      pick: pickData,
    }),

  /**
   * Deletes a program's geo rule. Later orders earn regardless of their shipping address.
   *
   * @param programId The program's ID.
   * @param options Options of this call.
   * @throws {NotFoundError} `geo_rule_not_found`.
   *
   * @example
   * await admin.geoRules.delete(geoRule.programId)
   */
  delete: (programId: string, options?: CallOptions): Call<ActionReply> =>
    startCall(core, {
      options,
      send: (init) => core.api.DELETE('/admin/v1/geo-rules/{programId}', { ...init, params: { path: { programId } } }),
      pick: pickAction,
      recover: recoverRemoval(programId),
    }),
})
