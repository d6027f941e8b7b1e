import { describe, expect } from 'vitest'
import { snapshot } from '../contract/fixture.ts'
import { ownerOperations } from '../support/document.ts'
import { callOwner, ID } from '../support/owner.ts'
import type { TestShop } from '../support/server.ts'
import { test } from '../support/test.ts'

let stranger: TestShop
test.beforeAll(async ({ ownerServer: server }) => {
  stranger = await server.createShop()
})

const leaks = /nisa|\b1440\b|Friends|By hand|hooks\.example|known@example|Checkout|\b7999\b/i
const ops = ownerOperations.filter(({ path }) => path.startsWith('/admin/'))
const foreign = [...Object.values(ID), '1000', 'api:1000', 'm-1']

describe('another shop finds nothing and changes nothing', () => {
  for (const op of ops) {
    for (const { name } of op.parameters.filter(({ in: place }) => place === 'path')) {
      test(`${op.id}: no ${name} of the first shop`, async ({ ownerServer: server }) => {
        const before = snapshot(server, ['audits'])
        for (const id of foreign) {
          const { status, body } = await callOwner(server, op, { key: stranger.ownerToken, id })
          expect([status, id]).toEqual([404, id])
          expect(JSON.stringify(body)).not.toMatch(leaks)
        }
        expect(snapshot(server, ['audits'])).toBe(before)
      })
    }
    if (op.method === 'GET') {
      test(`${op.id}: nothing of the first shop`, async ({ ownerServer: server }) => {
        for (const query of [
          '',
          ...foreign.map((id) => `affiliateId=${id}&programId=${id}&subscriptionId=${id}&actor=${id}`),
        ]) {
          const { body } = await callOwner(server, op, { key: stranger.ownerToken, query, id: 'none' })
          expect(JSON.stringify(body)).not.toMatch(leaks)
        }
      })
    }
  }

  test.for([
    ['createConnection', { kind: 'product', value: '1', affiliateId: ID.affiliate }, 404],
    ['createProductRule', { programId: ID.program, kind: 'product', value: '1', commissionPercent: 5 }, 404],
    ['runBacktest', { programId: ID.program, commissionPercent: 5 }, 404],
  ])('%s with a foreign id in the body: 404', async ([id, body, status], { ownerServer: server }) => {
    const before = snapshot(server)
    const op = ops.find((one) => one.id === id)!
    expect((await callOwner(server, op, { key: stranger.ownerToken, body })).status).toBe(status)
    expect(snapshot(server)).toBe(before)
  })

  test('moderation by id or by filter changes nothing of the first shop', async ({ ownerServer: server }) => {
    const op = ops.find((one) => one.id === 'moderateCommissions')!
    const before = snapshot(server, ['audits'])
    for (const body of [
      { action: 'approve', ids: [ID.pending] },
      { action: 'approve', filter: {} },
      { action: 'approve', filter: { programId: ID.manual } },
    ]) {
      const { data } = (await callOwner(server, op, { key: stranger.ownerToken, body })).body
      expect([data.changed, data.remaining]).toEqual([0, 0])
    }
    expect(snapshot(server, ['audits'])).toBe(before)
  })

  test('backtest and settings contain only the own shop', async ({ ownerServer: server }) => {
    const op = ops.find((one) => one.id === 'runBacktest')!
    const { data } = (await callOwner(server, op, { key: stranger.ownerToken, body: { clickTouch: 'FIRST' } })).body
    expect(data).toMatchObject({ orders: 0, affiliates: [], examples: [] })
  })
})
