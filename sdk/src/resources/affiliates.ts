import type { Call } from '../call.ts'
import type { Core } from '../core.ts'
import { changed, removed } from '../echo.ts'
import { archiveAffiliate, createAffiliate, listAffiliates, updateAffiliate } from '../generated/operations.ts'
import { list } from '../list.ts'
import type { ActionReply, Affiliate, AffiliateCreate, AffiliateQuery, AffiliateUpdate } from '../models.ts'
import type { CallOptions, WriteOptions } from '../options.ts'
import type { PagedCall } from '../paged.ts'

/** The people who refer customers (section 4.1). */
export const affiliates = (core: Core) => ({
  /** Newest first; archived ones are hidden. `q` searches names and e-mail. */
  list: (query?: AffiliateQuery, options?: CallOptions): PagedCall<Affiliate> =>
    list(core, listAffiliates, { query, options, pick: (reply) => reply, key: ({ id }) => id }),

  /** Starts `PENDING`, with a slug and a discount code of its own. Throws 404 for an unknown program, 409 for a taken e-mail. */
  create: (body: AffiliateCreate, options?: WriteOptions): Call<Affiliate> =>
    core.call(createAffiliate, { body, options, pick: (reply) => reply.data }),

  /** Send only what changes; `null` clears an optional field. A new `status` is announced to webhooks. */
  update: (id: string, body: AffiliateUpdate, options?: CallOptions): Call<Affiliate> => {
    const input = { query: { id }, body, options, pick: (reply: { data: Affiliate }) => reply.data }
    return core.call(updateAffiliate, { ...input, echo: changed(core, updateAffiliate, input) })
  },

  /** Hides the affiliate; its data is kept. */
  archive: (id: string, options?: CallOptions): Call<ActionReply> =>
    core.call(archiveAffiliate, { query: { id }, options, pick: (reply) => reply, echo: removed(id) }),
})
