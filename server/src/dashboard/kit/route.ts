import { type Body, type OperationId, operations } from '../../contract/spec.ts'
import type { OwnerContext } from '../../core/context.ts'
import type { UserRow } from '../../database/tables.ts'
import type { Html } from './html.ts'
import type { Problem } from './problem.ts'

/** A page request or form submission of a signed-in user. */
export interface PageRequest {
  ctx: OwnerContext
  /** Whether the user has the role `OWNER`; `STAFF` has read access. */
  isOwner: boolean
  /** CSRF token, sent with every form of the session. */
  csrf: string
  /** The time zone for displayed times. */
  zone: string
  /** This server's public origin, for links to send. */
  origin: string
  /** Path parameters. */
  params: Record<string, string>
  query: URLSearchParams
  /** Why the page's filter was rejected. The page shows the form again, without results. */
  problem?: Problem
  /** Why the form that the page shows again was rejected. */
  formProblem?: Problem
  /** Submitted form fields, to show a rejected form with its input; empty for page requests. */
  form: URLSearchParams
  /** The message of the form that led here. */
  flash?: Flash
  /** The file uploaded with the form. */
  file?: Uint8Array | undefined
}

export interface View {
  title: string
  /** The parent page. */
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
  /** Set while no data is shown yet, so that no audit record is written. */
  skipAudit?: boolean
}

/** A file that browsers save. */
export interface FileDownload {
  name: string
  /** Defaults to CSV. */
  type?: string
  content: string | ReadableStream<Uint8Array>
}

interface Secret {
  name: string
  value: string
  /** The same secret in another format, or a related one. */
  also?: { name: string; value: string }
}

/** The part of a message to an affiliate that is not stored. */
export interface InviteMessage {
  affiliateId: string
  /** The address of their own page. */
  address: string
  expiresAt: string
}

/** A message shown once, on the next page. Secrets appear nowhere else. */
export interface Flash {
  text: string
  secret?: Secret
  /** The affiliate's page offers this message. */
  invite?: InviteMessage
}

/** The redirect after a successful form. */
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
  /** The audit record's action, if the use case writes no record. */
  audit?: string | undefined
  show: Show
  /** Whether the query is a filter. If a field is rejected, the page is shown again with the reason. */
  hasFilter?: boolean
}

/** A form. */
export interface Action extends RouteBase {
  /** The largest body of a form that can contain a file; other forms contain text only. */
  maxUploadBytes?: number
  /** Redirects, or shows a page, such as a preview that changes nothing. */
  act: (request: PageRequest) => Promise<FormRedirect | View>
  /** The form's page, shown again with the error if the form is rejected. */
  page?: Show
}

export type Route = Page | Action

/** The sign-out form's path. Users of a suspended shop can still sign out. */
export const SIGN_OUT = '/sign-out'

export const ALL_ROLES: readonly UserRow['role'][] = ['OWNER', 'STAFF']
export const OWNER_ONLY: readonly UserRow['role'][] = ['OWNER']

const byId = new Map(operations.map((operation) => [operation.id, operation]))

/** The roles and audit action that openapi.yaml declares for an operation. */
export function rolesAndAuditOf(id: OperationId): { roles: readonly UserRow['role'][]; audit: string | undefined } {
  const { roles, audit } = byId.get(id)!
  return { roles, audit }
}

/** An operation's maximum body size, if openapi.yaml declares one. */
export const maxBytesOf = (id: OperationId): number | undefined => byId.get(id)!.maxBodyBytes

/**
 * Validates form fields against an operation's request schema.
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
