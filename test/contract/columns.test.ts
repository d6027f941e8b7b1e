import { afterAll, beforeAll, expect, test } from 'vitest'
import { allOperations, type DocumentedOperation } from '../support/document.ts'
import { addColumns } from '../support/inspect.ts'
import { callOperator } from '../support/operator.ts'
import { callOwner, type OwnerServer, ownerServer } from '../support/owner.ts'
import { callOperation } from './fixture.ts'

let server: OwnerServer
beforeAll(async () => {
  server = await ownerServer()
  addColumns(server, 'internal', 'INTERNAL')
})
afterAll(() => server.close())

const reads = allOperations.filter(
  ({ method, path, isPublic, id }) =>
    method === 'GET' && !isPublic && /^\/(api|admin|operator)\/v1\//.test(path) && id !== 'exportShop',
)

const call = (op: DocumentedOperation) => {
  if (op.path.startsWith('/operator/')) return callOperator(server, op)
  return op.path.startsWith('/admin/') ? callOwner(server, op) : callOperation(server, op)
}

test.each(reads.map((op) => [op.id, op] as const))('%s returns no internal column', async (_, op) => {
  const reply = await call(op)
  expect(reply.status).toBe(200)
  expect(JSON.stringify(reply.body)).not.toMatch(/internal/i)
})
