import { describe, expect, test } from 'vitest'
import { operations, statusOf } from '../support/document.ts'
import { call, callOperation, exampleServer, ID } from './fixture.ts'

/** Keys and types of an example, to compare a response with the document. */
function shape(value: unknown): unknown {
  if (Array.isArray(value)) return value.length ? [shape(value[0])] : []
  if (value === null || typeof value !== 'object') return 'value'
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shape(inner)]))
}

const seen = new Set<string>()

describe('every example of the document works unchanged', () => {
  for (const op of operations) {
    for (const [name, { value }] of Object.entries(op.requestExamples)) {
      test(`${op.id}: ${name}`, async () => {
        const server = await exampleServer()
        const reply = await callOperation(server, op, { body: value })
        expect(reply.status, JSON.stringify(reply.body)).toBeLessThan(300)
        seen.add(`${op.id} ${reply.status}`)
        await server.close()
      })
    }
    if (Object.keys(op.requestExamples).length === 0) {
      test(op.id, async () => {
        const server = await exampleServer()
        expect((await callOperation(server, op)).status).toBe(200)
        seen.add(`${op.id} 200`)
        await server.close()
      })
    }
  }

  test('recordEvent: a dry run', async () => {
    const server = await exampleServer()
    const reply = await call(server, 'recordEvent', { query: 'dryRun=1' })
    expect([reply.status, reply.body.dryRun]).toEqual([200, true])
    seen.add('recordEvent 200')
    await server.close()
  })

  test('cancelRefund: before its refund', async () => {
    const server = await exampleServer()
    const reply = await call(server, 'cancelRefund', { query: 'externalOrderId=1003&externalRefundId=re-3' })
    expect([reply.status, reply.body.outcome]).toEqual([202, 'stored'])
    seen.add('cancelRefund 202')
    await server.close()
  })

  test('createCustomer: of a bound customer', async () => {
    const server = await exampleServer()
    const reply = await call(server, 'createCustomer', { body: { customerId: 'customer-0' } })
    expect([reply.status, reply.headers.get('X-Customer-Already-Bound')]).toEqual([200, 'true'])
    seen.add('createCustomer 200')
    await server.close()
  })

  test('every documented success is tested', () => {
    const documented = operations.flatMap((op) =>
      Object.keys(op.responses)
        .map(statusOf)
        .filter((status) => status < 300)
        .map((status) => `${op.id} ${status}`),
    )
    const holes = documented.filter((one) => !seen.has(one))
    console.log(`${documented.length} documented successes, holes: ${holes.join(', ') || 'none'}`)
    expect(holes).toEqual([])
  })

  test('the affiliate of the examples looks as documented', async () => {
    const server = await exampleServer()
    const { body } = await server.request('GET', '/api/v1/affiliates')
    expect(body.data[0]).toMatchObject({
      id: ID.affiliate,
      name: 'Nisa Karim',
      slug: 'nisa-karim',
      discountCode: 'NISA16',
    })
    expect(shape(body.pagination)).toEqual({ page: 'value', limit: 'value', total: 'value', totalPages: 'value' })
    await server.close()
  })
})
