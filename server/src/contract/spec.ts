import { deref, document, type OperationObject, type Parameter } from './document.ts'
import type { operations as Documented } from './schema.d.ts'
import type { SecuritySchemes } from './security.d.ts'
import { type Selection, selectionOf } from './selection.ts'
import { type BodyValidator, type Validator, validator } from './validator.ts'

/** The operations of openapi.yaml as types: a missing handler, an unknown one or a wrong reply does not compile. */
export type OperationId = Exclude<keyof Documented, WebhookId>

/** Webhooks are operations of the receiver: `onAffiliateApproved`. */
type WebhookId = `on${Capitalize<string>}`

type Defined<T> = Exclude<T, undefined>
type Parameters<Id extends OperationId> = Documented[Id]['parameters']
/** `page` and `limit` always have values, because the document defines defaults. */
type WithPageDefaults<Q> = Q &
  (Q extends { page?: number } ? { page: number } : unknown) &
  (Q extends { limit?: number } ? { limit: number } : unknown)
/** Text with several possible types, such as a file in the caller's format, is sent unchanged. */
type Content<R> = R extends { content: { 'text/csv': unknown } | { 'text/javascript': unknown } }
  ? string | ReadableStream
  : R extends { content: { 'application/json': infer B } }
    ? B
    : R extends { content: { 'text/html': infer B } }
      ? B
      : R extends { content: { 'application/x-ndjson': unknown } }
        ? ReadableStream
        : undefined

export type Query<Id extends OperationId> = WithPageDefaults<Defined<Parameters<Id>['query']>>
export type Path<Id extends OperationId> = Defined<Parameters<Id>['path']>
/** The documented headers, without `Idempotency-Key`, which the app handles. */
export type Headers<Id extends OperationId> = Defined<Parameters<Id>['header']>
export type Body<Id extends OperationId> = Documented[Id] extends { requestBody: infer R }
  ? Content<R>
  : Documented[Id] extends { requestBody?: infer R }
    ? Content<Defined<R>> | undefined
    : undefined

export interface Input<Id extends OperationId> {
  query: Query<Id>
  path: Path<Id>
  headers: Headers<Id>
  body: Body<Id>
}

/** `2XX` means 200 when an operation documents its other successes by status. */
type StatusOf<Key> = Key extends '2XX' ? 200 : Key

/** A body that a report already rendered as JSON, because serializing it here would delay other requests. */
export type JsonText<Body> = string & { readonly body?: Body }

/** One of the operation's success statuses, with its body. */
export type Reply<Id extends OperationId> = {
  [S in keyof Documented[Id]['responses'] as `${S & (string | number)}` extends `${2 | 3}${string}` ? S : never]: {
    status: StatusOf<S>
    body: Content<Documented[Id]['responses'][S]> | JsonText<Content<Documented[Id]['responses'][S]>>
    headers?: Record<string, string>
  }
} extends infer Replies
  ? Replies[keyof Replies]
  : never

/** The first security scheme of an operation; `none` for a public one. */
export type Scheme = SecuritySchemes[keyof SecuritySchemes]

/** An operation's context, determined by its security scheme. */
export type ContextOf<Id extends OperationId, Contexts extends Record<Scheme, unknown>> = Contexts[SecuritySchemes[Id]]

/** The parts that all replies have in common. */
export interface AnyReply {
  status: number
  body: unknown
  headers?: Record<string, string>
}

/** One handler per operation of openapi.yaml. */
export type Handlers<Contexts extends Record<Scheme, unknown>> = {
  [Id in OperationId]: (ctx: ContextOf<Id, Contexts>, input: Input<Id>) => Promise<Reply<Id> & AnyReply>
}

/** A user's role in a shop. */
export type Role = 'OWNER' | 'STAFF'

/** Everything the app needs to serve one operation. */
export interface Operation<Id extends OperationId = OperationId> {
  id: Id
  method: string
  /** In Hono's syntax, `/things/:id`. */
  path: string
  /** Who may call it: an API key with the scope, a user in one of the roles, a store, or anyone. */
  scheme: SecuritySchemes[Id]
  scope: string | undefined
  roles: Role[]
  /** The query parameter that names the affiliate, if an affiliate's token may call it. */
  affiliateParameter: string | undefined
  /** The audit record that a read writes. */
  audit: string | undefined
  throttle: 'sign-in' | undefined
  site: OperationObject['x-site']
  /** Whether the response is newline-delimited JSON. */
  isNdjson: boolean
  /** The operation's own body limit, if it has one. */
  maxBodyBytes: number | undefined
  queryParameters: Parameter[]
  pathParameters: Parameter[]
  acceptsIdempotencyKey: boolean
  readQuery: Validator<Query<Id>>
  readPath: Validator<Path<Id>>
  headerParameters: Parameter[]
  readHeaders: Validator<Headers<Id>>
  readKey: Validator
  readBody: BodyValidator<Body<Id>> | undefined
  /** The properties of the body that its schema names. */
  selection: Selection
  /** The headers that announce the removal of a deprecated operation. */
  deprecation: Record<string, string>
}

/** The parameter's names: in lists of other resources, and in the list of affiliates. */
const AFFILIATE_PARAMETERS = ['affiliateId', 'id']
const METHODS = ['get', 'post', 'put', 'patch', 'delete']

function loadOperations(): Operation[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => (item[method] ? [toOperation(path, method, item[method])] : [])),
  )
}

function toOperation(path: string, method: string, object: OperationObject): Operation {
  const parameters = (object.parameters ?? []).map(deref)
  const security = object.security ?? document.security
  const body = object.requestBody?.content['application/json']?.schema
  const key = parameters.find((parameter) => parameter.name === 'Idempotency-Key')
  const inPlace = (place: Parameter['in']) =>
    parameters.filter((parameter) => parameter.in === place && parameter !== key)
  return {
    id: object.operationId as OperationId,
    method: method.toUpperCase(),
    // A parameter ends where a file extension starts.
    path: path.replace(/\{(\w+)\}(\.\w+)?/g, (_all, name, extension) =>
      extension ? `:${name}{.+\\${extension}}` : `:${name}`,
    ),
    scheme: schemeOf(object, security),
    scope: security[0]?.apiKey?.[0],
    roles: (security[0]?.ownerToken ?? []) as Role[],
    affiliateParameter: security.some((scheme) => 'affiliateToken' in scheme)
      ? AFFILIATE_PARAMETERS.find((name) => parameters.some((parameter) => parameter.name === name))
      : undefined,
    audit: object['x-audit'],
    throttle: object['x-throttle'],
    site: object['x-site'],
    isNdjson: Object.hasOwn(object.responses['200']?.content ?? {}, 'application/x-ndjson'),
    maxBodyBytes: object['x-max-body-bytes'],
    queryParameters: inPlace('query').filter((parameter) => !parameter['x-ignored']),
    pathParameters: inPlace('path'),
    acceptsIdempotencyKey: key !== undefined,
    headerParameters: inPlace('header'),
    readHeaders: parametersValidator(inPlace('header')),
    readQuery: parametersValidator(inPlace('query')),
    readPath: parametersValidator(inPlace('path')),
    readKey: key
      ? validator({ type: 'object', properties: { [key.name]: key.schema } }, { code: 'idempotency_key_invalid' })
      : (value) => value,
    readBody: body && validator(body, { code: 'invalid_body' }),
    selection: selectionOf(body ?? {}),
    deprecation: deprecationHeaders(object),
  }
}

/** The first scheme; the others are alternatives of the same kind. */
const schemeOf = (object: OperationObject, [first = {}]: Record<string, string[]>[]): Scheme =>
  (Object.keys(first)[0] as Scheme) ?? (object['x-site'] ? 'site' : 'none')

function parametersValidator<T>(parameters: Parameter[]): Validator<T> {
  if (parameters.length === 0) return () => ({}) as T
  return validator<T>(
    {
      type: 'object',
      required: parameters.filter(({ required }) => required).map(({ name }) => name),
      properties: Object.fromEntries(parameters.map(({ name, schema }) => [name, schema])),
    },
    { code: 'invalid_parameter' },
  )
}

/** Every operation in document order. */
export const operations: Operation[] = loadOperations()

const MIN_SUNSET_NOTICE_MS = 180 * 86_400_000

type Dates = Pick<OperationObject, 'operationId' | 'deprecated' | 'x-deprecated-since' | 'x-sunset'>

/**
 * Returns `Deprecation` (RFC 9745) with the date of the deprecation, `Sunset` (RFC 8594) with the date of removal, and a
 * `Link`; nothing for an operation that is not deprecated.
 *
 * @throws Error for a deprecated operation without both dates, or with less than 180 days between them.
 */
export function deprecationHeaders(operation: Dates): Record<string, string> {
  if (!operation.deprecated) return {}
  const since = Date.parse(operation['x-deprecated-since'] ?? '')
  const sunset = Date.parse(operation['x-sunset'] ?? '')
  if (!(sunset - since >= MIN_SUNSET_NOTICE_MS)) {
    throw new Error(`${operation.operationId} needs x-deprecated-since and an x-sunset at least 180 days later.`)
  }
  return {
    Deprecation: `@${Math.floor(since / 1000)}`,
    Sunset: new Date(sunset).toUTCString(),
    Link: '</docs>; rel="deprecation"',
  }
}
