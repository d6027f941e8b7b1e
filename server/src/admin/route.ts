import { type Body, type OperationId, operations } from '../contract/spec.ts'
import type { OwnerContext } from '../core/context.ts'
import type { UserRow } from '../database/tables.ts'
import type { Html } from './html.ts'

/** One signed-in user who asks for a page or sent one of its forms. */
export interface Visitor {
  ctx: OwnerContext
  /** What their role lets them change. */
  isOwner: boolean
  /** Every form of this session carries it. */
  csrf: string
  /** The ids of the path. */
  params: Record<string, string>
  query: URLSearchParams
  /** What was sent; empty where nothing was, so that a refused form can be shown filled in. */
  form: URLSearchParams
}

export interface View {
  title: string
  body: Html | Html[]
  /** Whom or what the look was at, for its audit record. */
  subjectId?: string
  /** Nothing was asked for yet, so there is no look to record. */
  showsNothing?: boolean
}

interface Secret {
  name: string
  value: string
  /** Another spelling of it. */
  also?: { name: string; value: string }
}

/** Told once, on the next page. A secret is told nowhere else. */
export interface Flash {
  text: string
  secret?: Secret
}

/** Where a form leads once it is done. */
export interface Done {
  to: string
  flash?: Flash
  /** A header `Set-Cookie` beside that of the message. */
  cookie?: string
}

interface Common {
  /** Below `/admin`. */
  path: string
  roles: readonly UserRow['role'][]
}

export type Show = (visitor: Visitor) => Promise<View>

/** A page that is looked at. */
export interface Page extends Common {
  /** The audit record of the look, where the use case writes none of its own. */
  audit?: string | undefined
  show: Show
}

/** A form that is sent. */
export interface Action extends Common {
  act: (visitor: Visitor) => Promise<Done>
  /** The page of the form, shown again with the reason when it is refused. */
  again?: Show
}

export type Route = Page | Action

export const EVERYONE: readonly UserRow['role'][] = ['OWNER', 'STAFF']
export const OWNERS: readonly UserRow['role'][] = ['OWNER']

const byId = new Map(operations.map((operation) => [operation.id, operation]))

/** Who may do on a page what openapi.yaml lets them do by this operation, and what their looks leave in the audit. */
export function like(id: OperationId): { roles: readonly UserRow['role'][]; audit: string | undefined } {
  const { roles, audit } = byId.get(id)!
  return { roles, audit }
}

/** How many bytes a form of this operation may have, where the document says so. */
export const maxBytesOf = (id: OperationId): number | undefined => byId.get(id)!.maxBodyBytes

/**
 * What a form sent, held to the same document as a body of JSON.
 *
 * @throws ApiError 400 with a sentence about the first field that is wrong.
 */
export const bodyOf = <Id extends OperationId>(id: Id, sent: Record<string, unknown>): Body<Id> =>
  byId.get(id)!.readBody!(sent) as Body<Id>

/** Where a webhook goes. Its path may hold a secret of the receiver, so only owners see more than the host. */
export const endpoint = (url: string, isOwner: boolean): string => {
  if (isOwner || !URL.canParse(url)) return isOwner ? url : '–'
  return new URL(url).host
}
