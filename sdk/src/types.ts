import type { operations } from './schema.ts'

/** Webhooks (`onAffiliateApproved`) are operations of the receiver. */
export type OperationId = Exclude<keyof operations, `on${Capitalize<string>}`>

type Content<T> = T extends { content: { 'application/json': infer Body } } ? Body : never
type Responses<Id extends OperationId> = operations[Id]['responses']

/** The query parameters of an operation. */
export type Query<Id extends OperationId> = NonNullable<operations[Id]['parameters']['query']>

/** The JSON body of an operation. */
export type Body<Id extends OperationId> = operations[Id] extends { requestBody: infer Request }
  ? Content<Request>
  : undefined

/** The JSON of an operation's successful answers. */
export type Reply<Id extends OperationId> = Content<
  Responses<Id>[Extract<keyof Responses<Id>, 200 | 201 | 202 | '2XX'>]
>

/**
 * What the service may send: the values known today, and any that a later version adds, so that a grown service does
 * not break an old client and a `switch` needs a `default`.
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

/** `Omit`, of each member of a union. */
export type OmitEach<T, Keys extends PropertyKey> = T extends unknown ? Omit<T, Keys> : never

/** T, with at least one of the keys given and not null. */
export type RequireOne<T, Keys extends keyof T> = T & { [Key in Keys]: { [K in Key]-?: NonNullable<T[K]> } }[Keys]
