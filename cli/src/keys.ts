import type { components } from '@referral/sdk'
import { confirm } from './ask.ts'
import { values } from './contract.ts'
import type { Column } from './output/render.ts'
import type { Run } from './run.ts'
import { dataOf } from './unwrap.ts'

type Key = components['schemas']['ApiKey']
type Scope = components['schemas']['Scope']

export interface CreateKeyOptions {
  label: string
  scope: string[]
  expires?: string
}

const COLUMNS: Column<Key>[] = [
  'id',
  'label',
  'prefix',
  'status',
  { field: 'scopes', show: ({ scopes }) => (scopes.length === values.Scope.length ? 'all' : scopes.join(' ')) },
  'lastUsedAt',
  'expiresAt',
]

export async function listKeys(run: Run): Promise<undefined> {
  const { data } = dataOf(await (await run.owner()).GET('/admin/v1/keys'))
  run.rows(data, COLUMNS)
}

export async function createKey(run: Run, { label, expires }: CreateKeyOptions, scopes: string[]): Promise<undefined> {
  const body = { label, scopes: [...new Set(scopes)] as Scope[], ...(expires ? { expiresAt: expires } : {}) }
  if (run.dryRun) return run.wouldSend('POST', '/admin/v1/keys', body)
  const { data } = dataOf(await (await run.owner()).POST('/admin/v1/keys', { body }))
  run.talk.note('The secret is shown this once.')
  run.record(data)
}

export async function rotate(run: Run, id: string, { yes }: { yes?: boolean }): Promise<undefined> {
  if (run.dryRun) return run.wouldSend('POST', `/admin/v1/keys/${encodeURIComponent(id)}/rotate`)
  await confirm(run.world, `Replace the secret of ${id}? Everything that uses it stops.`, yes)
  const { data } = dataOf(await (await run.owner()).POST('/admin/v1/keys/{id}/rotate', { params: { path: { id } } }))
  run.talk.note('The secret is shown this once.')
  run.record(data)
}

/** A key that is dead already is as it should be. */
export async function revoke(run: Run, id: string, { yes }: { yes?: boolean }): Promise<undefined> {
  if (run.dryRun) return run.wouldSend('DELETE', `/admin/v1/keys/${encodeURIComponent(id)}`)
  await confirm(run.world, `Revoke ${id}? Everything that uses it stops, for good.`, yes)
  const result = await (await run.owner()).DELETE('/admin/v1/keys/{id}', { params: { path: { id } } })
  const isDead = result.response.headers.get('X-Error-Code') === 'key_already_revoked'
  if (isDead) run.talk.note('This key was revoked before; nothing was changed.')
  else dataOf(result)
  run.record({ id, changed: !isDead })
}
