import type { ReferralClient } from '@referral/sdk'
import { createClient, requireCredential } from '../../client.ts'
import { apiError, usageError } from '../../errors.ts'
import type { Run } from '../../run.ts'
import { version } from '../../version.ts'

/** An operation of openapi.yaml, as the generator describes it. */
export interface Operation {
  /** The operationId. */
  name: string
  /** The group name for `--allow`. */
  group: string
  /** Whether it requires an owner token. */
  isOwner: boolean
  method: string
  path: string
  description: string
  /** `x-retry`: a safe operation changes nothing, and a repeatable one has the same effect when applied twice. */
  retry: string
  pathParameters: readonly string[]
  /** Where it accepts `dryRun`. */
  dryRun: string | null
  /** The list that contains the row with the `id` of a write. */
  read: string
  /** JSON Schema of the parameters, and of the body as `body`. */
  input: { type: 'object'; properties: Record<string, object>; required: string[]; additionalProperties: false }
}

/** A tool's arguments: parameters by name, and the body as `body`. */
export type Input = Record<string, unknown> & { body?: Record<string, unknown> }

/** The SDK's raw methods, for a path that is only known at run time. */
type UntypedMethod = (
  path: string,
  init: object,
) => Promise<{ data?: unknown; error?: { error: string }; response: Response }>

/** Calls operations with the credentials of the profile. */
export class Caller {
  readonly #run: Run
  readonly #clients = new Map<string, Promise<ReferralClient>>()

  constructor(run: Run) {
    this.#run = run
  }

  call({ name, isOwner, method, path, input, pathParameters }: Operation, { body, ...given }: Input): Promise<unknown> {
    for (const parameter of Object.keys(given))
      if (!Object.hasOwn(input.properties, parameter) && parameter !== 'dryRun')
        throw usageError(`${name} has no argument ${parameter}.`)
    const parameters = Object.entries(given)
    const query = Object.fromEntries(parameters.filter(([parameter]) => !pathParameters.includes(parameter)))
    return this.#send(isOwner ? 'ownerToken' : 'apiKey', method, path, { params: { path: given, query }, body })
  }

  /** Reads what a write changes: the row with its ID, its order, or its affiliate. */
  async readCurrent({ read }: Operation, { id, externalOrderId, body }: Input): Promise<unknown> {
    if (id) return this.#rows(read, { id })
    if (externalOrderId) return this.#rows('/api/v1/orders', { externalOrderId })
    return body?.affiliateId ? this.#rows('/api/v1/affiliates', { id: body.affiliateId }) : null
  }

  async #rows(path: string, filter: { id?: unknown; externalOrderId?: unknown }): Promise<unknown> {
    const query = { ...filter, limit: MAX_ROWS }
    const { data } = (await this.#send('apiKey', 'GET', path, { params: { query } })) as { data: unknown }
    // Some lists have no filter by ID.
    return filter.id && Array.isArray(data) ? data.filter((row) => row.id === filter.id) : data
  }

  async #send(kind: 'apiKey' | 'ownerToken', method: string, path: string, init: object): Promise<unknown> {
    const { settings } = this.#run
    const client = this.#clients.get(kind) ?? createClient(requireCredential(settings, kind), settings, this.#run, APP)
    this.#clients.set(kind, client)
    const send = (await client)[method as 'GET'] as unknown as UntypedMethod
    const headers = method === 'POST' ? { 'idempotency-key': crypto.randomUUID() } : {}
    const { data, error, response } = await send(path, { ...init, headers })
    if (error) throw apiError(error.error, response)
    return data
  }
}

/** Rows in one result. */
export const MAX_ROWS = 100
const APP = { name: 'referral-mcp', version }
