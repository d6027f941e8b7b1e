import { group } from '../check.ts'
import type { Context, Json } from '../context.ts'

const ERRORS = 'reference/errors.md'
const RATE = 'concepts/commissions.md#rate'

const create = async (t: Context, body: Json): Promise<Json> =>
  t.expect(await t.post('/programs', { name: t.id('P'), ...body }), 201).data
const update = async (t: Context, id: string, body: Json): Promise<Json> =>
  t.expect(await t.patch(`/programs?id=${id}`, body), 200).data
const found = async (t: Context, id: string): Promise<Json> =>
  t.expect(await t.get('/programs', { limit: 100 }), 200).data.find((json: Json) => json.id === id)

export const programs = group('programs', { title: 'Programs', page: 'reference/conformance.md#programs' }, (rule) => {
  rule('created', 'POST returns 201 and the defaults: 16%, 30 days, DRAFT, no auto-approval', async (t) => {
    const name = t.id('P')
    t.fields(
      t.expect(await t.post('/programs', { name }), 201).data,
      {
        name,
        description: null,
        commissionType: 'PERCENT_OF_SALE',
        commissionPercent: 16,
        defaultCommissionBps: 1600,
        cookieDurationDays: 30,
        autoApproveAffiliate: false,
        autoApproveOrder: false,
        status: 'DRAFT',
        lifetimeCommission: false,
        discountEnabled: false,
        affiliateCount: 0,
      },
      'data',
    )
  })
  rule(
    'name-required',
    'POST without a name returns 400',
    async (t) => {
      for (const body of [{}, { name: '' }, { name: '  ' }, { name: null }])
        t.expect(await t.post('/programs', body), 400, 'invalid_body')
    },
    { page: `${ERRORS}#invalid_body` },
  )
  rule('as-sent', 'POST keeps every field', async (t) => {
    const body = {
      description: 'd',
      commissionPercent: 7.5,
      cookieDurationDays: 0,
      autoApproveAffiliate: true,
      autoApproveOrder: true,
      status: 'PRIVATE',
    }
    t.fields(await create(t, body), { ...body, defaultCommissionBps: 750 }, 'data')
  })
  for (const [name, commissionPercent] of [
    ['0', 0],
    ['negative', -1],
    ['over-100', 100.01],
    ['too-precise', 12.345],
    ['text', '16'],
  ] as const)
    rule(
      `percent-${name}`,
      `commissionPercent ${JSON.stringify(commissionPercent)} of a percentage returns 400`,
      async (t) => {
        t.expect(await t.post('/programs', { name: t.id('P'), commissionPercent }), 400)
      },
      { page: `${ERRORS}#commission_percent_invalid` },
    )
  rule(
    'percent-100',
    '100% is accepted',
    async (t) => {
      t.equal((await create(t, { commissionPercent: 100 })).defaultCommissionBps, 10_000, 'defaultCommissionBps')
    },
    { page: RATE },
  )
  rule('percent-is-exact', 'A percentage with two decimals is stored exactly', async (t) => {
    for (const [commissionPercent, bps] of [
      [1.15, 115],
      [0.01, 1],
      [33.33, 3333],
    ] as const)
      t.equal(
        (await create(t, { commissionPercent })).defaultCommissionBps,
        bps,
        `defaultCommissionBps of ${commissionPercent}`,
      )
  })
  for (const commissionType of ['FLAT_PER_ORDER', 'FLAT_PER_ITEM'])
    rule(
      `stores-${commissionType.toLowerCase().replaceAll('_', '-')}`,
      `${commissionType} stores commissionPercent as cents in defaultCommissionBps, and commissionPercent as 0`,
      async (t) => {
        t.fields(
          await create(t, { commissionType, commissionPercent: 250.01 }),
          { commissionType, commissionPercent: 0, defaultCommissionBps: 25_001 },
          'data',
        )
      },
      { page: RATE },
    )
  rule(
    'flat-maximum',
    'A flat amount must fit 2147483647 cents',
    async (t) => {
      const commissionType = 'FLAT_PER_ORDER'
      t.equal(
        (await create(t, { commissionType, commissionPercent: 21_474_836.47 })).defaultCommissionBps,
        2_147_483_647,
        'defaultCommissionBps',
      )
      t.expect(
        await t.post('/programs', { name: t.id('P'), commissionType, commissionPercent: 21_474_836.48 }),
        400,
        'commission_percent_invalid',
      )
    },
    { page: `${ERRORS}#commission_percent_invalid` },
  )
  rule(
    'patch-percent',
    'PATCH of commissionPercent updates defaultCommissionBps',
    async (t) => {
      const { id } = await t.program()
      t.fields(
        await update(t, id, { commissionPercent: 20 }),
        { commissionPercent: 20, defaultCommissionBps: 2000 },
        'data',
      )
    },
    { page: RATE },
  )
  rule(
    'patch-checks-stored-type',
    'PATCH is validated against the stored program: 250 is an amount for a flat type and too much for a percentage',
    async (t) => {
      const [flat, percent] = [
        await t.program({ commissionType: 'FLAT_PER_ORDER', commissionPercent: 5 }),
        await t.program(),
      ]
      t.equal(
        (await update(t, flat.id, { commissionPercent: 250 })).defaultCommissionBps,
        25_000,
        'defaultCommissionBps',
      )
      t.expect(
        await t.patch(`/programs?id=${percent.id}`, { commissionPercent: 250 }),
        400,
        'commission_percent_invalid',
      )
    },
    { page: `${ERRORS}#commission_percent_invalid` },
  )
  rule(
    'percent-to-flat',
    'From a percentage to a flat type, 16 becomes 16.00',
    async (t) => {
      const { id } = await t.program()
      t.fields(
        await update(t, id, { commissionType: 'FLAT_PER_ITEM' }),
        { commissionPercent: 0, defaultCommissionBps: 1600 },
        'data',
      )
    },
    { page: `${ERRORS}#commission_percent_required` },
  )
  rule(
    'flat-to-percent',
    'From a flat type to a percentage, commissionPercent is required',
    async (t) => {
      const { id } = await t.program({ commissionType: 'FLAT_PER_ORDER', commissionPercent: 5 })
      t.expect(
        await t.patch(`/programs?id=${id}`, { commissionType: 'PERCENT_OF_SALE' }),
        400,
        'commission_percent_required',
      )
      t.fields(
        await update(t, id, { commissionType: 'PERCENT_OF_SALE', commissionPercent: 5 }),
        { commissionPercent: 5, defaultCommissionBps: 500 },
        'data',
      )
    },
    { page: `${ERRORS}#commission_percent_required` },
  )
  rule(
    'flat-to-flat',
    'Between flat types the amount is kept',
    async (t) => {
      const { id } = await t.program({ commissionType: 'FLAT_PER_ORDER', commissionPercent: 5 })
      t.fields(
        await update(t, id, { commissionType: 'FLAT_PER_ITEM' }),
        { commissionType: 'FLAT_PER_ITEM', defaultCommissionBps: 500 },
        'data',
      )
    },
    { page: `${ERRORS}#commission_percent_required` },
  )
  rule('patch-one-field', 'PATCH changes the sent fields only', async (t) => {
    const before = await t.program({ description: 'd', cookieDurationDays: 5 })
    const { updatedAt: _, ...rest } = before
    t.fields(await update(t, before.id, { status: 'PUBLISH' }), { ...rest, status: 'PUBLISH' }, 'data')
  })
  rule('discount', 'PATCH sets discountEnabled, discountType, discountValue and lifetimeCommission', async (t) => {
    const { id } = await t.program()
    const body = { discountEnabled: true, discountType: 'PERCENT', discountValue: 10, lifetimeCommission: true }
    t.fields(await update(t, id, body), body, 'data')
  })
  rule(
    'discount-over-100',
    'A discount of more than 100% returns 400 discount_value_invalid',
    async (t) => {
      const { id } = await t.program()
      t.expect(
        await t.patch(`/programs?id=${id}`, { discountEnabled: true, discountType: 'PERCENT', discountValue: 101 }),
        400,
        'discount_value_invalid',
      )
    },
    { page: `${ERRORS}#discount_value_invalid` },
  )
  rule(
    'click-window-bounds',
    'cookieDurationDays must be an integer of at least 0',
    async (t) => {
      for (const cookieDurationDays of [-1, 1.5, '30'])
        t.expect(await t.post('/programs', { name: t.id('P'), cookieDurationDays }), 400, 'invalid_body')
    },
    { page: `${ERRORS}#invalid_body` },
  )
  rule(
    'unknown-type',
    'An unknown commissionType or status returns 400',
    async (t) => {
      for (const body of [{ commissionType: 'DOUBLE' }, { status: 'OPEN' }])
        t.expect(await t.post('/programs', { name: t.id('P'), ...body }), 400)
    },
    { page: `${ERRORS}#invalid_body` },
  )
  rule(
    'unknown-id',
    'PATCH of an unknown id returns 404 program_not_found',
    async (t) => {
      t.expect(await t.patch('/programs?id=prg_unknown', { name: 'x' }), 404, 'program_not_found')
    },
    { page: `${ERRORS}#program_not_found` },
  )
  rule(
    'missing-id',
    'PATCH without an id returns 400 invalid_parameter',
    async (t) => {
      t.expect(await t.patch('/programs', { name: 'x' }), 400, 'invalid_parameter')
    },
    { page: `${ERRORS}#invalid_parameter` },
  )
  rule('affiliate-count', 'Each row of the list has affiliateCount', async (t) => {
    const program = await t.program()
    await t.affiliate({ campaignId: program.id })
    await t.affiliate({ campaignId: program.id })
    t.equal((await found(t, program.id))?.affiliateCount, 2, 'affiliateCount')
  })
  rule('status-filter', '`status` selects programs', async (t) => {
    const { id } = await t.program({ status: 'PRIVATE' })
    const has = async (status: string) =>
      t.expect(await t.get('/programs', { status, limit: 100 }), 200).data.some((json: Json) => json.id === id)
    t.equal([await has('PRIVATE'), await has('PUBLISH')], [true, false], 'in the lists of PRIVATE and PUBLISH')
  })
  rule(
    'one-default',
    'The first program of a shop is its default, and there is one default',
    async (t) => {
      await t.sharedProgram()
      const programs = await t.oldestPrograms()
      const last = programs.length - 1
      t.equal(
        programs.map((program: Json) => program.isDefault),
        programs.map((_: Json, n: number) => n === last),
        'isDefault, newest program first',
      )
    },
    { isExclusive: true },
  )
})
