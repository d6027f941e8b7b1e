import type { Call } from '../call.ts'
import type { Core } from '../core.ts'
import { createProgram, listPrograms, updateProgram } from '../generated/operations.ts'
import type { Program, ProgramCreate, ProgramQuery, ProgramUpdate } from '../models.ts'
import type { CallOptions, WriteOptions } from '../options.ts'
import { listCall, type PagedCall } from '../pagination.ts'
import { recoverUpdate } from '../recover.ts'

/** The terms under which affiliates earn commissions. */
export const programs = (core: Core) => ({
  /**
   * Lists programs, newest first, each with its `affiliateCount`.
   *
   * @example
   * const { data } = await client.programs.list({ status: 'PUBLISH' })
   */
  list: (query?: ProgramQuery, options?: CallOptions): PagedCall<Program> =>
    listCall(core, listPrograms, { query, options, pick: (body) => body, rowId: ({ id }) => id }),

  /**
   * Creates a program. The first program of a shop becomes its default.
   *
   * @param body `commissionPercent` is a percentage, or an amount in currency units for the flat types.
   * @throws {BadRequestError} `commission_percent_invalid` when it is out of range for the commission type.
   *
   * @example
   * const program = await client.programs.create({ name: 'Friends', commissionPercent: 16 })
   */
  create: (body: ProgramCreate, options?: WriteOptions): Call<Program> =>
    core.call(createProgram, { body, options, pick: ({ data }) => data }),

  /**
   * Updates the given fields. Commissions that are already recorded keep their rate.
   *
   * @throws {BadRequestError} `commission_percent_required` when the new type needs another `commissionPercent`.
   * @throws {NotFoundError} `program_not_found`.
   * @throws {ConflictError} `concurrent_change` when another request modified the program.
   *
   * @example
   * await client.programs.update(program.id, { commissionPercent: 12 })
   */
  update: (id: string, body: ProgramUpdate, options?: CallOptions): Call<Program> => {
    const input = { query: { id }, body, options, pick: ({ data }: { data: Program }) => data }
    return core.call(updateProgram, { ...input, recoverLostResponse: recoverUpdate(core, updateProgram, input) })
  },
})
