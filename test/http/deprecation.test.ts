import { expect } from 'vitest'
import { deprecationHeaders, operations } from '../../server/src/contract/spec.ts'
import { test } from '../support/test.ts'

const retiring = {
  operationId: 'listCoupons',
  deprecated: true,
  'x-deprecated-since': '2026-11-01T00:00:00Z',
  'x-sunset': '2027-06-01T00:00:00Z',
}

test('Deprecation contains its date and Sunset the end date', () => {
  expect(deprecationHeaders(retiring)).toEqual({
    Deprecation: `@${Date.parse('2026-11-01T00:00:00Z') / 1000}`,
    Sunset: 'Tue, 01 Jun 2027 00:00:00 GMT',
    Link: '</docs>; rel="deprecation"',
  })
  expect(deprecationHeaders({ operationId: 'listCoupons' })).toEqual({})
})

test.each([
  ['no dates', { operationId: 'listCoupons', deprecated: true }],
  ['no sunset', { ...retiring, 'x-sunset': undefined }],
  ['179 days', { ...retiring, 'x-sunset': '2027-04-29T00:00:00Z' }],
  ['a sunset before the deprecation', { ...retiring, 'x-sunset': '2026-10-01T00:00:00Z' }],
])('a deprecated operation with %s prevents the start', (_, operation) => {
  expect(() => deprecationHeaders(operation as never)).toThrow('listCoupons needs x-deprecated-since and an x-sunset')
})

test('every response of a deprecated operation contains the end date, including errors', async ({ server }) => {
  const op = operations.find(({ id }) => id === 'listCoupons')
  if (!op) throw new Error('no such operation')
  op.deprecation = deprecationHeaders(retiring)
  try {
    for (const [query, status] of [
      ['', 200],
      ['?limit=0', 400],
    ] as const) {
      const { headers, ...reply } = await server.request('GET', `/api/v1/coupons${query}`)
      expect([reply.status, headers.get('Deprecation'), headers.get('Sunset'), headers.get('Link')]).toEqual([
        status,
        '@1793491200',
        'Tue, 01 Jun 2027 00:00:00 GMT',
        '</docs>; rel="deprecation"',
      ])
    }
    expect((await server.request('GET', '/api/v1/programs')).headers.get('Deprecation')).toBeNull()
  } finally {
    op.deprecation = {}
  }
})
