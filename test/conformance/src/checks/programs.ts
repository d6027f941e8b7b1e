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
        discountType: null,
        discountValue: null,
        affiliateCount: 0,
      },
      'data',
    )
  })
  rule(
    'name-required',
    'POST without a name returns 400',
    async (t) => {
      for (const body of [{}, { name: '' }, { name: '  ' }, { name: null }, { name: 'x'.repeat(201) }])
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
    const program = await create(t, body)
    t.fields(program, { ...body, defaultCommissionBps: 750, isDefault: false }, 'data')
    t.equal(await found(t, program.id), program, 'the program in the list')
  })
  for (const [name, commissionPercent] of [
    ['0', 0],
    ['negative', -1],
    ['over-100', 100.01],
    ['too-precise', 12.345],
    ['text', '16'],
    ['null', null],
  ] as const)
    rule(
      `percent-${name}`,
      `commissionPercent ${JSON.stringify(commissionPercent)} of a percentage returns 400, on POST and PATCH`,
      async (t) => {
        const code = typeof commissionPercent === 'number' ? 'commission_percent_invalid' : 'invalid_body'
        const { id } = await t.sharedProgram()
        t.expect(await t.post('/programs', { name: t.id('P'), commissionPercent }), 400, code)
        t.expect(await t.patch(`/programs?id=${id}`, { commissionPercent }), 400, code)
      },
      { page: `${ERRORS}#commission_percent_invalid` },
    )
  rule(
    'percent-imprecise',
    'A percentage is not rounded to two decimals, or to 100',
    async (t) => {
      for (const commissionPercent of [1e-7, 0.0049999, 0.005, 100.004, 1e300])
        t.expect(await t.post('/programs', { name: t.id('P'), commissionPercent }), 400, 'commission_percent_invalid')
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
        for (const [amount, cents] of [
          [250.01, 25_001],
          [1.15, 115],
          [19.99, 1999],
          [undefined, 1600],
        ])
          t.fields(
            await create(t, { commissionType, commissionPercent: amount }),
            { commissionType, commissionPercent: 0, defaultCommissionBps: cents },
            'data',
          )
      },
      { page: RATE },
    )
  rule(
    'flat-maximum',
    'A flat amount is above 0, has two decimals, and fits 2147483647 cents',
    async (t) => {
      const commissionType = 'FLAT_PER_ORDER'
      t.equal(
        (await create(t, { commissionType, commissionPercent: 21_474_836.47 })).defaultCommissionBps,
        2_147_483_647,
        'defaultCommissionBps',
      )
      for (const commissionPercent of [0, -0.01, 0.004, 12.345, 21_474_836.48, 1e21])
        t.expect(
          await t.post('/programs', { name: t.id('P'), commissionType, commissionPercent }),
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
    'From a percentage to a flat type, 16.5 becomes 16.50',
    async (t) => {
      for (const commissionType of ['FLAT_PER_ITEM', 'FLAT_PER_ORDER'])
        t.fields(
          await update(t, (await t.program({ commissionPercent: 16.5 })).id, { commissionType }),
          { commissionPercent: 0, defaultCommissionBps: 1650 },
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
        await t.patch(`/programs?id=${id}`, { commissionType: 'PERCENT_OF_SALE', description: 'x' }),
        400,
        'commission_percent_required',
      )
      t.fields(await update(t, id, {}), { description: null, defaultCommissionBps: 500 }, 'data')
      t.fields(
        await update(t, id, { commissionType: 'PERCENT_OF_SALE', commissionPercent: 5 }),
        { commissionPercent: 5, defaultCommissionBps: 500 },
        'data',
      )
      // A type and a value that are sent together.
      const flat = { commissionType: 'FLAT_PER_ORDER', commissionPercent: 750 }
      t.fields(await update(t, id, flat), { commissionPercent: 0, defaultCommissionBps: 75_000 }, 'data')
      const tooMuch = { commissionType: 'PERCENT_OF_SALE', commissionPercent: 101 }
      t.expect(await t.patch(`/programs?id=${id}`, tooMuch), 400, 'commission_percent_invalid')
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
  rule('patch-same-type', 'PATCH with the stored type or without a change returns the program unchanged', async (t) => {
    for (const commissionType of ['FLAT_PER_ORDER', 'PERCENT_OF_SALE']) {
      const program = await t.program({ commissionType, commissionPercent: 5 })
      for (const body of [{ commissionType }, {}]) t.equal(await update(t, program.id, body), program, 'data')
    }
  })
  rule('patch-one-field', 'PATCH changes the sent fields only', async (t) => {
    const before = await t.program({ description: 'd', cookieDurationDays: 5, commissionPercent: 16.13 })
    const { updatedAt: _, ...rest } = before
    for (const status of ['PRIVATE', 'PUBLISH', 'DRAFT', 'PUBLISH'])
      t.fields(await update(t, before.id, { status }), { ...rest, status }, 'data')
  })
  rule('patch-every-field', 'PATCH accepts every documented field, and `null` clears an optional one', async (t) => {
    const { id } = await t.program()
    const body = {
      name: t.id('Q'),
      description: 'Text',
      cookieDurationDays: 3650,
      autoApproveAffiliate: true,
      autoApproveOrder: true,
      lifetimeCommission: true,
      discountEnabled: true,
      discountType: 'PERCENT',
      discountValue: 10,
    }
    t.fields(await update(t, id, body), body, 'data')
    const none = { description: null, discountValue: null, discountType: null }
    t.fields(await update(t, id, none), { ...body, ...none }, 'data')
  })
  rule(
    'discount',
    'A discount has two decimals, and is at most 100% or 2147483647 cents, by the stored type or the new one',
    async (t) => {
      const { id } = await t.program()
      const invalid = async (body: Json) =>
        t.expect(await t.patch(`/programs?id=${id}`, body), 400, 'discount_value_invalid')
      for (const [discountType, accepted, rejected] of [
        ['PERCENT', [0, 12.5, 100], [-0.01, 12.345, 100.004, 101]],
        ['FIXED', [0, 150.5, 21_474_836.47], [-1, 9.999, 21_474_836.48, 1e300]],
      ] as const) {
        for (const discountValue of accepted)
          t.equal((await update(t, id, { discountType, discountValue })).discountValue, discountValue, 'discountValue')
        for (const discountValue of rejected) await invalid({ discountType, discountValue })
      }
      await invalid({ discountType: 'PERCENT' })
      await update(t, id, { discountType: 'PERCENT', discountValue: 50 })
      await invalid({ discountValue: 150 })
    },
    { page: `${ERRORS}#discount_value_invalid` },
  )
  rule(
    'set-by-server',
    'A field that only the server sets returns 400 unknown_property',
    async (t) => {
      const { id } = await t.sharedProgram()
      for (const field of ['id', 'defaultCommissionBps', 'isDefault', 'affiliateCount', 'createdAt'])
        for (const reply of [
          await t.post('/programs', { name: 'P', [field]: 1 }),
          await t.patch(`/programs?id=${id}`, { [field]: 1 }),
        ])
          t.expect(reply, 400, 'unknown_property')
      for (const field of ['lifetimeCommission', 'discountEnabled', 'discountType', 'discountValue'])
        t.expect(await t.post('/programs', { name: 'P', [field]: true }), 400, 'unknown_property')
    },
    { page: `${ERRORS}#unknown_property` },
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
    'invalid-value',
    'An unknown commissionType or status, and a value of another type, return 400 and change nothing',
    async (t) => {
      const program = await t.program()
      for (const body of [{ commissionType: 'DOUBLE' }, { status: 'OPEN' }, { autoApproveOrder: 1 }])
        t.expect(await t.post('/programs', { name: t.id('P'), ...body }), 400, 'invalid_body')
      for (const body of [
        ...['name', 'commissionType', 'cookieDurationDays', 'status', 'lifetimeCommission'].map((one) => ({
          [one]: null,
        })),
        { name: '\t' },
        { discountEnabled: 'yes' },
        { discountType: 'FREE' },
        { discountValue: '10' },
      ])
        t.expect(await t.patch(`/programs?id=${program.id}`, body), 400, 'invalid_body')
      t.equal(await found(t, program.id), program, 'the program')
    },
    { page: `${ERRORS}#invalid_body` },
  )
  rule(
    'unknown-id',
    'PATCH of an unknown id returns 404 program_not_found, and an invalid body 400 before',
    async (t) => {
      t.expect(await t.patch('/programs?id=prg_unknown', { name: ' ' }), 400, 'invalid_body')
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
  rule('affiliate-count', 'affiliateCount counts the affiliates that are not archived, of any status', async (t) => {
    const [{ id: campaignId }, other] = [await t.program(), await t.program()]
    const [a, b, c] = [
      await t.affiliate({ campaignId, status: 'REJECTED' }),
      await t.affiliate({ campaignId }),
      await t.affiliate({ campaignId }),
    ]
    const counts = async () => [
      (await found(t, campaignId))?.affiliateCount,
      (await update(t, campaignId, {})).affiliateCount,
      (await found(t, other.id))?.affiliateCount,
    ]
    t.equal(await counts(), [3, 3, 0], 'affiliateCount')
    t.expect(await t.delete(`/affiliates?id=${b.id}`), 200)
    t.expect(await t.patch(`/affiliates?id=${c.id}`, { campaignId: other.id }), 200)
    t.equal(await counts(), [1, 1, 1], `affiliateCount after ${a.id} alone is left`)
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
