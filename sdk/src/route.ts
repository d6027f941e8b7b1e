import type { Retry } from './retry.ts'
import type { OperationId } from './types.ts'

/** Method, path, what may be sent again, and whether a success is a text; the id is known to the compiler alone. */
export type Route<Id extends OperationId = OperationId> = readonly [
  method: string,
  path: string,
  retry: Retry,
  text?: 'text',
] & { readonly id?: Id }
