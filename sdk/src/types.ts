import type { RetryPolicy } from './retry.ts'
import type { operations } from './schema.ts'

/** The operations that the server implements. Webhooks (`onAffiliateApproved`) are implemented by the receiver. */
export type OperationId = Exclude<keyof operations, `on${Capitalize<string>}`>

/** Method, path, retry policy, and `text` when a successful response is not JSON. The id exists at compile time only. */
export type Operation<Id extends OperationId = OperationId> = readonly [
  method: string,
  path: string,
  retryPolicy: RetryPolicy,
  responseType?: 'text',
] & { readonly id?: Id }

type JsonContent<T> = T extends { content: { 'application/json': infer Json } } ? Json : never
type Responses<Id extends OperationId> = operations[Id]['responses']

/** The query parameters of an operation. */
export type Query<Id extends OperationId> = NonNullable<operations[Id]['parameters']['query']>

/** The JSON request body of an operation. */
export type RequestBody<Id extends OperationId> = operations[Id] extends { requestBody: infer Request }
  ? JsonContent<Request>
  : undefined

/** The JSON body of an operation's successful responses. */
export type ResponseBody<Id extends OperationId> = JsonContent<
  Responses<Id>[Extract<keyof Responses<Id>, 200 | 201 | 202 | '2XX'>]
>

/**
 * Widens every string union with `string`, because a later API version may add values. A `switch` over one needs a
 * `default`.
 */
export type Open<T> = T extends string
  ? string extends T
    ? T
    : T | (string & {})
  : T extends readonly (infer Item)[]
    ? Open<Item>[]
    : T extends object
      ? { [Key in keyof T]: Open<T[Key]> }
      : T

/** `Omit` for each member of a union. */
export type OmitEach<T, Keys extends PropertyKey> = T extends unknown ? Omit<T, Keys> : never

/** T with at least one of the keys present and not null. */
export type RequireOne<T, Keys extends keyof T> = T & { [Key in Keys]: { [K in Key]-?: NonNullable<T[K]> } }[Keys]
