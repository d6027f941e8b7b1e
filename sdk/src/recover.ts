import type { CallInput, Core } from './core.ts'
import type { ApiError } from './errors.ts'
import type { ActionReply } from './models.ts'
import type { Operation, OperationId } from './types.ts'

/** Recovers a removal: a 404 after a lost response means that the lost attempt removed the resource. */
export const recoverRemoval =
  (id: string) =>
  async ({ status }: ApiError): Promise<ActionReply | undefined> =>
    status === 404 ? { ok: true, message: 'Done by an earlier attempt.', id } : undefined

const normalize = (value: unknown) => (typeof value === 'string' ? value.trim() : value)

/**
 * Recovers an update: after a 409 and a lost response, the lost attempt applied it when every field has the value that
 * was sent. An update without fields reads the current state.
 */
export const recoverUpdate =
  <Id extends OperationId, Data extends object>(core: Core, operation: Operation<Id>, input: CallInput<Id, Data>) =>
  async ({ status }: ApiError): Promise<Data | undefined> => {
    if (status !== 409) return undefined
    const { data } = await core.request(operation, { ...input, body: {} as never })
    const state = data as Record<string, unknown>
    const isApplied = Object.entries(input.body ?? {}).every(
      ([name, value]) => normalize(state[name]) === normalize(value),
    )
    return isApplied ? data : undefined
  }
