import type { Core } from './core.ts'
import type { CallOptions } from './options.ts'
import { type Page, Paged, type PagedCall, type PageQuery } from './paged.ts'
import type { Route } from './route.ts'
import type { Open, OperationId, Query, Reply } from './types.ts'

/** A list operation; `key` tells its rows apart. */
export const list = <Id extends OperationId, Row extends object>(
  core: Core,
  route: Route<Id>,
  {
    query,
    options,
    pick,
    key,
  }: {
    query: Query<Id> | undefined
    options: CallOptions | undefined
    pick: (reply: Open<Reply<Id>>) => Page<Row>
    key: (row: Row) => unknown
  },
): PagedCall<Row> =>
  new Paged((query ?? {}) as PageQuery, (page) => core.request(route, { query: page as Query<Id>, options, pick }), key)
