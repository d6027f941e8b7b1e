import type { Call } from '../call.ts'
import type { Core } from '../core.ts'
import { changed } from '../echo.ts'
import { createProgram, listPrograms, updateProgram } from '../generated/operations.ts'
import { list } from '../list.ts'
import type { Program, ProgramCreate, ProgramQuery, ProgramUpdate } from '../models.ts'
import type { CallOptions, WriteOptions } from '../options.ts'
import type { PagedCall } from '../paged.ts'

/** What affiliates earn (section 4.2). */
export const programs = (core: Core) => ({
  /** Newest first, each with its `affiliateCount`. */
  list: (query?: ProgramQuery, options?: CallOptions): PagedCall<Program> =>
    list(core, listPrograms, { query, options, pick: (reply) => reply, key: ({ id }) => id }),

  /** `commissionPercent` is a percentage, or currency units for the flat types. The first program becomes the default. */
  create: (body: ProgramCreate, options?: WriteOptions): Call<Program> =>
    core.call(createProgram, { body, options, pick: (reply) => reply.data }),

  /** Send only what changes. Orders that are recorded keep their commission. */
  update: (id: string, body: ProgramUpdate, options?: CallOptions): Call<Program> => {
    const input = { query: { id }, body, options, pick: (reply: { data: Program }) => reply.data }
    return core.call(updateProgram, { ...input, echo: changed(core, updateProgram, input) })
  },
})
