import type { Core, Input } from './core.ts'
import type { ActionReply } from './models.ts'
import type { Route } from './route.ts'
import type { ApiError } from './status-errors.ts'
import type { OperationId } from './types.ts'

/** A thing that is gone after a lost answer to its removal: we removed it. */
export const removed =
  (id: string) =>
  async ({ status }: ApiError): Promise<ActionReply | undefined> =>
    status === 404 ? { ok: true, message: 'Done by an earlier attempt.', id } : undefined

const plain = (value: unknown) => (typeof value === 'string' ? value.trim() : value)

/** A change that was refused with 409 after a lost answer: ours, if every field has the value we sent. An empty change reads. */
export const changed =
  <Id extends OperationId, Data extends object>(core: Core, route: Route<Id>, input: Input<Id, Data>) =>
  async ({ status }: ApiError): Promise<Data | undefined> => {
    if (status !== 409) return undefined
    const { data } = await core.request(route, { ...input, body: {} as never })
    const state = data as Record<string, unknown>
    return Object.entries(input.body ?? {}).every(([name, value]) => plain(state[name]) === plain(value))
      ? data
      : undefined
  }
