import type { components } from '@referral/sdk'
import { confirm } from './ask.ts'
import { enums } from './contract.ts'
import type { Column } from './output/render.ts'
import type { Run } from './run.ts'
import { unwrap } from './unwrap.ts'

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
  { field: 'scopes', format: ({ scopes }) => (scopes.length === enums.Scope.length ? 'all' : scopes.join(' ')) },
  'lastUsedAt',
  'expiresAt',
]

export async function listKeys(run: Run): Promise<undefined> {
  const { data } = unwrap(await (await run.ownerClient()).GET('/admin/v1/keys'))
  run.printRows(data, COLUMNS)
}

export async function createKey(run: Run, { label, expires }: CreateKeyOptions, scopes: string[]): Promise<undefined> {
  const body = { label, scopes: [...new Set(scopes)] as Scope[], ...(expires ? { expiresAt: expires } : {}) }
  if (run.dryRun) return run.printDryRun('POST', '/admin/v1/keys', body)
  const { data } = unwrap(await (await run.ownerClient()).POST('/admin/v1/keys', { body }))
  run.reporter.info('The secret is shown this once.')
  run.printRecord(data)
}

export async function rotateKey(run: Run, id: string, { yes }: { yes?: boolean }): Promise<undefined> {
  if (run.dryRun) return run.printDryRun('POST', `/admin/v1/keys/${encodeURIComponent(id)}/rotate`)
  await confirm(run.context, `Replace the secret of ${id}? Everything that uses it stops.`, yes)
  const { data } = unwrap(
    await (await run.ownerClient()).POST('/admin/v1/keys/{id}/rotate', { params: { path: { id } } }),
  )
  run.reporter.info('The secret is shown this once.')
  run.printRecord(data)
}

/** A key that is dead already is as it should be. */
export async function revokeKey(run: Run, id: string, { yes }: { yes?: boolean }): Promise<undefined> {
  if (run.dryRun) return run.printDryRun('DELETE', `/admin/v1/keys/${encodeURIComponent(id)}`)
  await confirm(run.context, `Revoke ${id}? Everything that uses it stops, for good.`, yes)
  const result = await (await run.ownerClient()).DELETE('/admin/v1/keys/{id}', { params: { path: { id } } })
  const isRevoked = result.response.headers.get('X-Error-Code') === 'key_already_revoked'
  if (isRevoked) run.reporter.info('This key was revoked before; nothing was changed.')
  else unwrap(result)
  run.printRecord({ id, changed: !isRevoked })
}
