import { afterAll, beforeAll, expect, test } from 'vitest'
import { operations, ownerOperations } from '../support/document.ts'
import { addColumns } from '../support/inspect.ts'
import { callOwner, type OwnerServer, ownerServer } from '../support/owner.ts'
import { callOperation } from './fixture.ts'

let server: OwnerServer
beforeAll(async () => {
  server = await ownerServer()
  addColumns(server, 'internal', 'INTERNAL')
})
afterAll(() => server.close())

const reads = [...operations, ...ownerOperations].filter(
  ({ method, path, isPublic, id }) =>
    method === 'GET' && !isPublic && /^\/(api|admin)\/v1\//.test(path) && id !== 'streamDeliveries',
)

test.each(reads.map((op) => [op.id, op] as const))('%s returns no internal column', async (_, op) => {
  const reply = await (op.path.startsWith('/admin/') ? callOwner(server, op) : callOperation(server, op))
  expect(reply.status).toBe(200)
  expect(JSON.stringify(reply.body)).not.toMatch(/internal/i)
})
