import { type Call, pickAction, pickData, pickReply, recoverRemoval, startCall, startUpdate } from '../call.ts'
import type { Core } from '../core.ts'
import type { ActionReply } from '../models.ts'
import type { CallOptions } from '../options.ts'
import { listCall, type PagedCall, pickPage } from '../pagination.ts'
import type { components } from '../schema.ts'
import type { Query, RequestBody } from '../types.ts'

type Schemas = components['schemas']

/** The owner token's user. */
export const session = (core: Core) => ({
  /**
   * Returns the user and the token's shop.
   *
   * @param options Options of this call.
   * @throws {UnauthorizedError} when the token is unknown or has expired.
   *
   * @example
   * const { user, shop } = await admin.session.get()
   */
  get: (options?: CallOptions): Call<Schemas['SessionReply']['data']> =>
    startCall(core, { options, send: (init) => core.api.GET('/admin/v1/session', init), pick: pickData }),
})

/** API keys of the shop. A secret is returned once. */
export const keys = (core: Core) => ({
  /**
   * Lists the active keys, and the latest 200 that were revoked or have expired.
   *
   * @param options Options of this call.
   * @throws {ForbiddenError} for users who are not owners.
   *
   * @example
   * const { data } = await admin.keys.list()
   */
  list: (options?: CallOptions): Call<Schemas['ApiKeyList']> =>
    startCall(core, { options, send: (init) => core.api.GET('/admin/v1/keys', init), pick: pickReply }),

  /**
   * Creates a key and returns its secret. It is not sent again when its outcome is unknown.
   *
   * @param body Its label and at least one scope.
   * @param options Options of this call.
   * @throws {ConflictError} `key_limit_reached`.
   * @throws {UnknownOutcomeError} when the response was lost. List the keys, and revoke the new one.
   *
   * @example
   * const { secret } = await admin.keys.create({ label: 'Checkout', scopes: ['events:write'] })
   */
  create: (body: RequestBody<'createKey'>, options?: CallOptions): Call<Schemas['ApiKeySecretReply']['data']> =>
    startCall(core, { options, body, send: (init) => core.api.POST('/admin/v1/keys', init), pick: pickData }),

  /**
   * Replaces a key's secret. The old secret stops working immediately, or after `overlapSeconds`.
   *
   * @param id The key's ID.
   * @param body For how long both secrets are valid, at most a week.
   * @param options Options of this call.
   * @throws {NotFoundError} `key_not_found`.
   * @throws {ConflictError} `key_already_revoked`.
   *
   * @example
   * const { secret } = await admin.keys.rotate(key.id, { overlapSeconds: 3600 })
   */
  rotate: (
    id: string,
    body?: RequestBody<'rotateKey'>,
    options?: CallOptions,
  ): Call<Schemas['ApiKeySecretReply']['data']> =>
    startCall(core, {
      options,
      body,
      send: (init) => core.api.POST('/admin/v1/keys/{id}/rotate', { ...init, params: { path: { id } } }),
      pick: pickData,
    }),

  /**
   * Revokes a key. Its secrets stop working immediately.
   *
   * @param id The key's ID.
   * @param options Options of this call.
   * @throws {NotFoundError} `key_not_found`.
   * @throws {ConflictError} `key_already_revoked`.
   *
   * @example
   * await admin.keys.revoke(key.id)
   */
  revoke: (id: string, options?: CallOptions): Call<ActionReply> =>
    startCall(core, {
      options,
      send: (init) => core.api.DELETE('/admin/v1/keys/{id}', { ...init, params: { path: { id } } }),
      pick: pickAction,
      recover: recoverRemoval(id, 'key_already_revoked'),
    }),
})

/** The shop's settings. */
export const settings = (core: Core) => ({
  /**
   * Returns the settings.
   *
   * @param options Options of this call.
   * @throws {ForbiddenError} for users who are not owners.
   *
   * @example
   * const { currency } = await admin.settings.get()
   */
  get: (options?: CallOptions): Call<Schemas['SettingsReply']['data']> =>
    startCall(core, { options, send: (init) => core.api.GET('/admin/v1/settings', init), pick: pickData }),

  /**
   * Updates the given settings. They apply to later requests, not to recorded orders.
   *
   * @param body The settings to change.
   * @param options Options of this call.
   * @throws {BadRequestError} `invalid_body`.
   * @throws {ConflictError} `concurrent_change` when another request modified the settings.
   *
   * @example
   * await admin.settings.update({ minimumPayoutCents: 2_500 })
   */
  update: (body: RequestBody<'updateSettings'>, options?: CallOptions): Call<Schemas['SettingsReply']['data']> =>
    startUpdate(core, { options, body, send: (init) => core.api.PATCH('/admin/v1/settings', init), pick: pickData }),
})

/** The shop's audit log, a chain of hashes. */
export const audit = (core: Core) => ({
  /**
   * Lists the audit log, newest first.
   *
   * @param query Filters and the page.
   * @param options Options of this call.
   * @throws {BadRequestError} `period_invalid` when `to` is before `from`.
   *
   * @example
   * const { data } = await admin.audit.list({ action: 'key.rotated' })
   */
  list: (query?: Query<'listAudit'>, options?: CallOptions): PagedCall<Schemas['AuditRecord']> =>
    listCall(core, { options, query, send: (init) => core.api.GET('/admin/v1/audit', init), pick: pickPage }),

  /**
   * Exports the audit log as newline-delimited JSON, oldest first. An export without its last line, `end`, is
   * incomplete. Set a longer `timeoutMs` for a large log.
   *
   * @param query `after` is the number of the row to continue after.
   * @param options Options of this call.
   * @throws {BadRequestError} `invalid_parameter`.
   *
   * @example
   * const lines = (await admin.audit.export()).trim().split('\n')
   */
  export: (query?: Query<'exportAudit'>, options?: CallOptions): Call<string> =>
    startCall(core, {
      options,
      query,
      send: (init) => core.api.GET('/admin/v1/audit/export', init),
      pick: (text) => (text.startsWith('{') ? text : undefined),
    }),
})

/** Requests of people for their data. */
export const privacy = (core: Core) => ({
  /**
   * Exports everything that is stored about a person as newline-delimited JSON. An export without its last line, `end`,
   * is incomplete. Set a longer `timeoutMs` for a large shop.
   *
   * @param body An address of the person.
   * @param options Options of this call.
   * @throws {BadRequestError} `invalid_body` when the text is not an address.
   *
   * @example
   * const lines = (await admin.privacy.export({ email: 'jo@example.com' })).trim().split('\n')
   */
  export: (body: RequestBody<'exportPerson'>, options?: CallOptions): Call<string> =>
    startCall(core, {
      options,
      body,
      send: (init) => core.api.POST('/admin/v1/privacy/exports', init),
      pick: (text) => (text.startsWith('{') ? text : undefined),
    }),

  /**
   * Erases a person, which cannot be undone: addresses, IDs and texts are replaced by pseudonyms, amounts stay. Returns
   * within 20 seconds; while the status is `RUNNING`, ask for the erasure by its ID.
   *
   * @param body An address of the person.
   * @param options Options of this call.
   * @throws {ConflictError} `affiliate_has_open_commissions` or `person_is_user`.
   *
   * @example
   * const { status } = await admin.privacy.erase({ email: 'jo@example.com' }) // DONE
   */
  erase: (body: RequestBody<'erasePerson'>, options?: CallOptions): Call<Schemas['Erasure']> =>
    startCall(core, {
      options,
      body,
      send: (init) => core.api.POST('/admin/v1/privacy/erasures', init),
      pick: pickData,
    }),

  /**
   * Returns an erasure.
   *
   * @param id The ID of the erasure.
   * @param options Options of this call.
   * @throws {NotFoundError} `erasure_not_found`.
   *
   * @example
   * const { id } = await admin.privacy.erase({ email: 'jo@example.com' })
   * const { rows } = await admin.privacy.erasure(id)
   */
  erasure: (id: string, options?: CallOptions): Call<Schemas['Erasure']> =>
    startCall(core, {
      options,
      send: (init) => core.api.GET('/admin/v1/privacy/erasures/{id}', { ...init, params: { path: { id } } }),
      pick: pickData,
    }),
})
