import type { operations } from './schema.ts'

/** The operations that the server implements. Webhooks (`onAffiliateApproved`) are implemented by the receiver. */
export type OperationId = Exclude<keyof operations, `on${Capitalize<string>}`>

type JsonContent<T> = T extends { content: { 'application/json': infer Json } } ? Json : never
/** T whose optional properties may be undefined, also with `exactOptionalPropertyTypes`. */
export type Input<T> = T extends readonly unknown[]
  ? Input<T[number]>[]
  : T extends object
    ? { [Key in keyof T]: Input<T[Key]> | UndefinedIfOptional<T, Key> }
    : T

type UndefinedIfOptional<T, Key extends keyof T> = string extends Key
  ? never
  : T extends Required<Pick<T, Key>>
    ? never
    : undefined

/** An operation's query parameters. */
export type Query<Id extends OperationId> = Input<NonNullable<operations[Id]['parameters']['query']>>

/** The JSON request body of an operation. */
export type RequestBody<Id extends OperationId> = operations[Id] extends { requestBody?: infer Request }
  ? Input<JsonContent<NonNullable<Request>>>
  : undefined

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
