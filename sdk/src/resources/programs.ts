import { type Call, pickData, pickOne, startCall, startUpdate } from '../call.ts'
import type { Core } from '../core.ts'
import type { Program, ProgramCreate, ProgramQuery, ProgramTerms, ProgramTermsSet, ProgramUpdate } from '../models.ts'
import type { CallOptions, WriteOptions } from '../options.ts'
import { listCall, type PagedCall, pickPage } from '../pagination.ts'

const path = '/api/v1/programs'

/**
 * What affiliates earn.
 *
 * @param core What `createCore` returns.
 *
 * @example
 * const core = createCore({ apiKey: process.env.REFERRAL_API_KEY, baseUrl: process.env.REFERRAL_BASE_URL })
 * const { data } = await programs(core).list()
 */
export const programs = (core: Core) => ({
  /**
   * Lists programs, newest first, each with its `affiliateCount`.
   *
   * @param query Filters and the page. `after` continues after an ID.
   * @param options Options of this call.
   * @throws {BadRequestError} `invalid_parameter`.
   *
   * @example
   * const { data } = await client.programs.list({ status: 'PUBLISH' })
   */
  list: (query?: ProgramQuery, options?: CallOptions): PagedCall<Program> =>
    listCall(core, {
      query,
      options,
      send: (init) => core.api.GET(path, init),
      pick: pickPage<Program>,
    }),

  /**
   * Returns a program.
   *
   * @param id The program's ID.
   * @param options Options of this call.
   * @throws {NotFoundError} `program_not_found`.
   *
   * @example
   * const program = await client.programs.get(programId)
   */
  get: (id: string, options?: CallOptions): Call<Program> =>
    startCall(core, {
      options,
      query: { id },
      send: (init) => core.api.GET(path, init),
      pick: pickOne('program_not_found'),
    }),

  /**
   * Creates a program. The first program of a shop becomes its default.
   *
   * @param body `commissionPercent` is a percentage, or an amount in currency units for the flat types.
   * @param options Options of this call, such as `idempotencyKey`.
   * @throws {BadRequestError} `commission_percent_invalid` when it is out of range for the commission type.
   *
   * @example
   * const program = await client.programs.create({ name: 'Friends', commissionPercent: 16 })
   */
  create: (body: ProgramCreate, options?: WriteOptions): Call<Program> =>
    startCall(core, { options, pick: pickData<Program>, body, send: (init) => core.api.POST(path, init) }),

  /**
   * Updates the given fields. Commissions that are already recorded keep their rate.
   *
   * @param id The program's ID.
   * @param body The fields to change.
   * @param options Options of this call.
   * @throws {BadRequestError} `commission_percent_required` when the new type needs another `commissionPercent`.
   * @throws {NotFoundError} `program_not_found`.
   * @throws {ConflictError} `concurrent_change` when another request modified the program.
   *
   * @example
   * await client.programs.update(program.id, { commissionPercent: 12 })
   */
  update: (id: string, body: ProgramUpdate, options?: CallOptions): Call<Program> =>
    startUpdate(core, {
      options,
      query: { id },
      body,
      pick: pickData<Program>,
      send: (init) => core.api.PATCH(path, init),
    }),

  /**
   * Returns a program's terms: its rules, how long commissions are held, and both in one sentence.
   *
   * @param id The program's ID.
   * @param query An earlier `version`.
   * @param options Options of this call.
   * @throws {NotFoundError} `program_not_found`, or `program_terms_not_found` for a version that does not exist.
   *
   * @example
   * const { summary } = await client.programs.terms(programId)
   */
  terms: (id: string, query?: { version?: number }, options?: CallOptions): Call<ProgramTerms> =>
    startCall(core, {
      options,
      query: { ...query, id },
      send: (init) => core.api.GET(`${path}/terms`, init),
      pick: pickData<ProgramTerms>,
    }),

  /**
   * Makes the next version of the terms of a program, for later orders. The same terms again change nothing.
   *
   * @param id The program's ID.
   * @param body The rules, the days of the hold, and the `version` that is replaced.
   * @param options Options of this call.
   * @throws {BadRequestError} `commission_percent_invalid` when a rate is out of range for the program's type.
   * @throws {NotFoundError} `program_not_found`, or `affiliate_not_found` for an affiliate of a rule.
   * @throws {ConflictError} `concurrent_change` when `version` is no longer the current one.
   *
   * @example
   * await client.programs.setTerms(programId, {
   *   holdDays: 30,
   *   rules: [{ when: { customerMonth: { from: 12 } }, commissionPercent: null }],
   * })
   */
  setTerms: (id: string, body: ProgramTermsSet, options?: CallOptions): Call<ProgramTerms> =>
    startCall(core, {
      options,
      query: { id },
      body,
      send: (init) => core.api.PUT(`${path}/terms`, init),
      pick: pickData<ProgramTerms>,
    }),
})
