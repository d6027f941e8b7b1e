import type { Core } from '../core.ts'
import { listCommissions } from '../generated/operations.ts'
import { list } from '../list.ts'
import type { Commission, CommissionQuery } from '../models.ts'
import type { CallOptions } from '../options.ts'
import type { PagedCall } from '../paged.ts'

/** What each order earned (section 4.3). Only the engine writes them. */
export const commissions = (core: Core) => ({
  /** Newest `happenedAt` first; `from` and `to` are inclusive. */
  list: (query?: CommissionQuery, options?: CallOptions): PagedCall<Commission> =>
    list(core, listCommissions, { query, options, pick: (reply) => reply, key: ({ id }) => id }),
})
