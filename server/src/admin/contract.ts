import type { UserRow } from '../db/tables.ts'
import { type Body, type OperationId, operations } from '../http/spec.ts'

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
