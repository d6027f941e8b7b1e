import { type Body, type OperationId, operations } from '../contract/spec.ts'
import type { OwnerContext } from '../core/context.ts'
import type { UserRow } from '../database/tables.ts'
import type { Html } from './html.ts'
import type { Problem } from './problem.ts'

/** A page request or form submission of a signed-in user. */
export interface PageRequest {
  ctx: OwnerContext
  /** Whether the user has the role `OWNER`; `STAFF` has read access. */
  isOwner: boolean
  /** CSRF token, sent with every form of the session. */
  csrf: string
  /** The time zone in which times are shown. */
  zone: string
  /** Where this server is reached, for links to send. */
  origin: string
  /** Path parameters. */
  params: Record<string, string>
  query: URLSearchParams
  /** Why the filter of the page was rejected: the page shows its form again, without what it would find. */
  problem?: Problem
  /** Why the form was rejected that the page shows again. */
  formProblem?: Problem
  /** Submitted form fields, to show a rejected form with its input; empty for page requests. */
  form: URLSearchParams
  /** The message of the form that led here. */
  flash?: Flash
  /** The file that was chosen in a form. */
  file?: Uint8Array | undefined
}

export interface View {
  title: string
  /** The page above this one. */
  crumb?: { to: string; text: string }
  /** Statuses after the title. */
  badges?: Html | Html[]
  /** One sentence below the title. */
  lead?: Html | string
  /** Links and buttons next to the title. */
  actions?: Html | Html[] | undefined
  body: Html | Html[]
  /** Subject of the audit record. */
  subjectId?: string
  /** A file to save instead of a page. */
  download?: FileDownload
  /** No data is shown yet, so no audit record is written. */
  skipAudit?: boolean
}

/** A file that browsers save. */
export interface FileDownload {
  name: string
  /** CSV unless given. */
  type?: string
  content: string | ReadableStream<Uint8Array>
}

interface Secret {
  name: string
  value: string
  /** The same secret in another format, or one that belongs to it. */
  also?: { name: string; value: string }
}

/** What a message to an affiliate contains that their data does not. */
export interface InviteMessage {
  affiliateId: string
  /** Of their own page. */
  address: string
  expiresAt: string
}

/** A message shown once, on the next page. Secrets appear nowhere else. */
export interface Flash {
  text: string
  secret?: Secret
  /** The page of an affiliate offers a message to them. */
  invite?: InviteMessage
}

/** Redirect after a successful form. */
export interface FormRedirect {
  to: string
  flash?: Flash
  /** An additional `Set-Cookie` header. */
  cookie?: string
}

interface RouteBase {
  /** Relative to `/admin`. */
  path: string
  roles: readonly UserRow['role'][]
}

export type Show = (request: PageRequest) => Promise<View>

/** A page. */
export interface Page extends RouteBase {
  /** Action of the audit record, if the use case writes none. */
  audit?: string | undefined
  show: Show
  /** Its query is a filter. When a field is rejected, the page is shown again with the reason. */
  hasFilter?: boolean
}

/** A form. */
export interface Action extends RouteBase {
  /** The largest body of a form that can contain a file; other forms contain text only. */
  maxUploadBytes?: number
  /** Leads to a page, or shows one, such as a preview that changes nothing. */
  act: (request: PageRequest) => Promise<FormRedirect | View>
  /** The page of the form, shown again with the error message when the form is rejected. */
  page?: Show
}

export type Route = Page | Action

/** The path of the form that signs out, which users of a suspended shop can still send. */
export const SIGN_OUT = '/sign-out'

export const ALL_ROLES: readonly UserRow['role'][] = ['OWNER', 'STAFF']
export const OWNER_ONLY: readonly UserRow['role'][] = ['OWNER']

const byId = new Map(operations.map((operation) => [operation.id, operation]))

/** The roles and audit action that openapi.yaml declares for an operation. */
export function rolesAndAuditOf(id: OperationId): { roles: readonly UserRow['role'][]; audit: string | undefined } {
  const { roles, audit } = byId.get(id)!
  return { roles, audit }
}

/** The maximum body size of an operation, if openapi.yaml declares one. */
export const maxBytesOf = (id: OperationId): number | undefined => byId.get(id)!.maxBodyBytes

/**
 * Validates form fields with the request schema of an operation.
 *
 * @throws ApiError 400 for the first invalid field.
 */
export const validateBody = <Id extends OperationId>(id: Id, body: Record<string, unknown>): Body<Id> =>
  byId.get(id)!.readBody!(body) as Body<Id>

/** The URL of a webhook as shown to the user. Only owners see the path, because it may contain a secret. */
export const visibleUrl = (url: string, isOwner: boolean): string => {
  if (isOwner || !URL.canParse(url)) return isOwner ? url : '–'
  return new URL(url).host
}
