import { describe, expect } from 'vitest'
import { rejection } from '../support/rejection.ts'
import type { TestServer } from '../support/server.ts'
import { testWithNewShop as test } from '../support/test.ts'
import { addAffiliate, addCommission, OCTOBER } from './rows.ts'

let nisa: string

test.beforeEach(({ server }) => {
  nisa = addAffiliate(server)
})

describe('the period', () => {
  const made = async (server: TestServer, happenedAt: string, body: { periodStart: string; periodEnd: string }) => {
    addCommission(server, { affiliateId: nisa, happenedAt })
    const { data } = await server.client.payouts.create(body).safe()
    return data ? [data.periodStart, data.periodEnd] : null
  }

  test.for([
    ['the first instant', '2026-10-01T00:00:00.000Z', true],
    ['the last millisecond', '2026-10-31T23:59:59.999Z', true],
    ['a millisecond before', '2026-09-30T23:59:59.999Z', false],
    ['a millisecond after', '2026-11-01T00:00:00.000Z', false],
  ])('a whole month: %s', async ([_, happenedAt, expected], { server }) => {
    expect((await made(server, happenedAt, OCTOBER)) !== null).toBe(expected)
  })

  test('a date alone is midnight UTC, at the end too', async ({ server }) => {
    const dates = { periodStart: '2026-10-01', periodEnd: '2026-10-31' }
    expect(await made(server, '2026-10-31T00:00:00.001Z', dates)).toBeNull()
    expect(await made(server, '2026-10-31T00:00:00.000Z', dates)).toEqual([
      '2026-10-01T00:00:00.000Z',
      '2026-10-31T00:00:00.000Z',
    ])
  })

  test('UTC offsets are applied', async ({ server }) => {
    const berlin = { periodStart: '2026-10-01T00:00:00+02:00', periodEnd: '2026-10-31T23:59:59.999+01:00' }
    expect(await made(server, '2026-09-30T21:59:59.999Z', berlin)).toBeNull()
    expect(await made(server, '2026-10-31T23:00:00.000Z', berlin)).toBeNull()
    expect(await made(server, '2026-09-30T22:00:00.000Z', berlin)).toEqual([
      '2026-09-30T22:00:00.000Z',
      '2026-10-31T22:59:59.999Z',
    ])
  })

  test('a leap day', async ({ server }) => {
    const february = { periodStart: '2028-02-01', periodEnd: '2028-02-29T23:59:59.999Z' }
    expect(await made(server, '2028-02-29T12:00:00.000Z', february)).not.toBeNull()
  })

  test.for([
    ['equal bounds', '2026-10-01', '2026-10-01T00:00:00Z'],
    ['equal but for digits below a millisecond', '2026-10-01T00:00:00.0001Z', '2026-10-01T00:00:00.0009Z'],
    ['reversed bounds', '2026-10-31', '2026-10-01'],
    ['bounds that an offset reverses', '2026-10-01T00:00:00Z', '2026-10-01T01:00:00+02:00'],
  ])('400 for %s', async ([_, periodStart, periodEnd], { client }) => {
    expect(await rejection(client.payouts.create({ periodStart, periodEnd }))).toEqual([400, 'period_invalid'])
  })

  test.for([
    ['2026-02-30', 'a day that does not exist'],
    ['2026-10-31T25:00:00Z', 'an hour that does not exist'],
    ['2026-10-31T12:00:00', 'no offset'],
    ['yesterday', 'not a date'],
  ])('400 for the end %s, %s', async ([text], { client }) => {
    const { error } = await client.payouts.create({ periodStart: '2026-01-01', periodEnd: text }).safe()
    expect(error).toMatchObject({
      status: 400,
      code: 'invalid_body',
      message: expect.stringMatching(/^periodEnd must/),
    })
  })
})
