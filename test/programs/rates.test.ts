import { describe, expect } from 'vitest'
import { rejection } from '../support/rejection.ts'
import { expectOk } from '../support/shop.ts'
import { type Client, test } from '../support/test.ts'

type Type = 'PERCENT_OF_SALE' | 'FLAT_PER_ORDER' | 'FLAT_PER_ITEM'

const create = (client: Client, commissionType: Type, commissionPercent: number) =>
  client.programs.create({ name: 'P', commissionType, commissionPercent })

describe('on create', () => {
  test.for([
    [16, 1600, 16],
    [16.5, 1650, 16.5],
    [1.15, 115, 1.15],
    [0.01, 1, 0.01],
    [100, 10000, 100],
  ])('%d percent is stored as %d basis points', async ([sent, bps, shown], { client }) => {
    const { defaultCommissionBps, commissionPercent } = await create(client, 'PERCENT_OF_SALE', sent)
    expect([defaultCommissionBps, commissionPercent]).toEqual([bps, shown])
  })

  test.for(['FLAT_PER_ORDER', 'FLAT_PER_ITEM'] as const)(
    '%s keeps currency units as cents',
    async (type, { client }) => {
      for (const [sent, cents] of [
        [5.5, 550],
        [1.15, 115],
        [19.99, 1999],
        [101, 10_100],
        [21474836.47, 2_147_483_647],
      ] as const) {
        const program = await create(client, type, sent)
        expect([program.defaultCommissionBps, program.commissionPercent], String(sent)).toEqual([cents, 0])
      }
    },
  )

  test('flat amounts of a shop without cents are not multiplied', async ({ server }) => {
    const flat = { commissionType: 'FLAT_PER_ORDER' as const }
    for (const [currency, stored] of [
      ['JPY', [500, 16]],
      ['KWD', [500_000, 16_000]],
    ] as const) {
      const { client, owner } = server.asShop(await server.createShop())
      await expectOk(owner('PATCH', '/settings', { currency }))
      const typed = await create(client, 'FLAT_PER_ORDER', 500)
      const changed = await client.programs.update((await create(client, 'PERCENT_OF_SALE', 16)).id, flat)
      expect([typed, changed].map((one) => one.defaultCommissionBps)).toEqual(stored)
      const tooPrecise = create(client, 'FLAT_PER_ORDER', currency === 'JPY' ? 0.5 : 0.0005)
      expect(await rejection(tooPrecise)).toEqual([400, 'commission_percent_invalid'])
    }
  })

  test('16.00 currency units for a flat program without an amount', async ({ client }) => {
    const program = await client.programs.create({ name: 'P', commissionType: 'FLAT_PER_ORDER' })
    expect([program.defaultCommissionBps, program.commissionPercent]).toEqual([1600, 0])
  })

  test.for<[Type, number]>([
    ['PERCENT_OF_SALE', 0],
    ['PERCENT_OF_SALE', -1],
    ['PERCENT_OF_SALE', 1e-7],
    ['PERCENT_OF_SALE', 0.0049999],
    ['PERCENT_OF_SALE', 0.005],
    ['PERCENT_OF_SALE', 12.345],
    ['PERCENT_OF_SALE', 100.004],
    ['PERCENT_OF_SALE', 101],
    ['PERCENT_OF_SALE', 1e300],
    ['FLAT_PER_ORDER', 0],
    ['FLAT_PER_ORDER', -0.01],
    ['FLAT_PER_ORDER', 0.004],
    ['FLAT_PER_ORDER', 12.345],
    ['FLAT_PER_ITEM', 21474836.48],
    ['FLAT_PER_ITEM', 1e21],
  ])('400 for a rate of type %s with the value %d', async ([type, sent], { client }) => {
    expect(await rejection(create(client, type, sent))).toEqual([400, 'commission_percent_invalid'])
  })
})

describe('on change', () => {
  const rate = ({ commissionType, commissionPercent, defaultCommissionBps }: Awaited<ReturnType<typeof create>>) => [
    commissionType,
    commissionPercent,
    defaultCommissionBps,
  ]

  test('a value alone is interpreted by the stored type', async ({ client }) => {
    const percent = await create(client, 'PERCENT_OF_SALE', 16)
    expect(rate(await client.programs.update(percent.id, { commissionPercent: 12.34 }))).toEqual([
      'PERCENT_OF_SALE',
      12.34,
      1234,
    ])
    const flat = await create(client, 'FLAT_PER_ORDER', 5)
    expect(rate(await client.programs.update(flat.id, { commissionPercent: 250 }))).toEqual([
      'FLAT_PER_ORDER',
      0,
      25000,
    ])
  })

  test.for(['FLAT_PER_ORDER', 'FLAT_PER_ITEM'] as const)(
    'percent to %s alone interprets the number as currency units',
    async (type, { client }) => {
      const { id } = await create(client, 'PERCENT_OF_SALE', 16.5)
      expect(rate(await client.programs.update(id, { commissionType: type }))).toEqual([type, 0, 1650])
    },
  )

  test('flat to flat alone keeps the cents', async ({ client }) => {
    const { id } = await create(client, 'FLAT_PER_ORDER', 21474836.47)
    expect(rate(await client.programs.update(id, { commissionType: 'FLAT_PER_ITEM' }))).toEqual([
      'FLAT_PER_ITEM',
      0,
      2_147_483_647,
    ])
  })

  test('400 from flat to percent alone, which asks for commissionPercent', async ({ server, client }) => {
    const { id, ...before } = await create(client, 'FLAT_PER_ITEM', 5)
    const reply = await server.request('PATCH', `/api/v1/programs?id=${id}`, {
      body: { commissionType: 'PERCENT_OF_SALE', name: 'Q' },
    })
    expect([reply.status, reply.headers.get('X-Error-Code')]).toEqual([400, 'commission_percent_required'])
    expect((await client.programs.list({ limit: 1 })).data[0]).toEqual({ id, ...before })
  })

  test('type and value together are interpreted by the new type', async ({ client }) => {
    const { id } = await create(client, 'FLAT_PER_ITEM', 5)
    const percent = await client.programs.update(id, { commissionType: 'PERCENT_OF_SALE', commissionPercent: 7.5 })
    expect(rate(percent)).toEqual(['PERCENT_OF_SALE', 7.5, 750])
    const flat = await client.programs.update(id, { commissionType: 'FLAT_PER_ORDER', commissionPercent: 7.5 })
    expect(rate(flat)).toEqual(['FLAT_PER_ORDER', 0, 750])
    const capped = client.programs.update(id, { commissionType: 'PERCENT_OF_SALE', commissionPercent: 101 })
    expect(await rejection(capped)).toEqual([400, 'commission_percent_invalid'])
  })

  test('the stored type again, alone, changes nothing', async ({ server, client }) => {
    const program = await create(client, 'FLAT_PER_ORDER', 5)
    server.clock.advance(1000)
    expect(await client.programs.update(program.id, { commissionType: 'FLAT_PER_ORDER' })).toEqual(program)
    const percent = await create(client, 'PERCENT_OF_SALE', 5)
    expect(await client.programs.update(percent.id, { commissionType: 'PERCENT_OF_SALE' })).toEqual(percent)
  })

  test.for([0, -5, 12.345, 100.004, 101])(
    '400 for %d %%, judged by the stored type',
    async (commissionPercent, { client }) => {
      const { id } = await create(client, 'PERCENT_OF_SALE', 16)
      expect(await rejection(client.programs.update(id, { commissionPercent }))).toEqual([
        400,
        'commission_percent_invalid',
      ])
    },
  )

  test('other changes do not affect the rate', async ({ client }) => {
    const { id } = await create(client, 'PERCENT_OF_SALE', 16.13)
    const after = await client.programs.update(id, { name: 'Q', cookieDurationDays: 7, autoApproveOrder: true })
    expect([after.name, after.cookieDurationDays, after.autoApproveOrder]).toEqual(['Q', 7, true])
    expect(rate(after)).toEqual(['PERCENT_OF_SALE', 16.13, 1613])
  })
})
