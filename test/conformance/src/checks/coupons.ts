import { group } from '../check.ts'
import type { Context, Json } from '../context.ts'

const ERRORS = 'reference/errors.md'

const list = async (t: Context, query: Record<string, string>): Promise<Json[]> =>
  t.expect(await t.get('/coupons', { limit: 100, ...query }), 200).data

export const coupons = group('coupons', { title: 'Coupons', page: 'reference/conformance.md#coupons' }, (rule) => {
  rule('assigned', 'POST returns the coupon, and the affiliate has the code', async (t) => {
    const [{ id, email, name, status }, code] = [await t.affiliate(), t.code()]
    t.fields(
      t.expect(await t.post('/coupons', { affiliateId: id, code }), 200).data,
      { affiliateId: id, affiliateName: name, affiliateStatus: status, code, warnings: [] },
      'data',
    )
    const [affiliate] = t.expect(await t.get('/affiliates', { q: email }), 200).data
    t.equal(affiliate?.discountCode, code, 'discountCode of the affiliate')
  })
  rule('without-program', 'Without a program, a coupon has no discount', async (t) => {
    const { id } = await t.affiliate({ campaignId: null })
    t.fields(
      t.expect(await t.post('/coupons', { affiliateId: id }), 200).data,
      { programId: null, discountEnabled: false, discountType: null, discountValue: null },
      'data',
    )
  })
  rule('generated', 'Without `code`, a code of 8 characters A-Z and 1-9 without O is generated', async (t) => {
    const { id, discountCode } = await t.affiliate()
    const codes = [discountCode]
    for (const body of [{}, { code: null }]) {
      const { code } = t.expect(await t.post('/coupons', { affiliateId: id, ...body }), 200).data
      t.ok(/^[A-NP-Z1-9]{8}$/.test(code) && !codes.includes(code), `the code is ${code}`)
      codes.push(code)
    }
  })
  for (const [name, code] of [
    ['10-characters', 'ABCDEFGHI1'],
    ['zero', 'ABC0'],
    ['lower-o', 'ABCo'],
    ['upper-o', 'ABCO'],
    ['space', 'AB C'],
    ['leading-space', ' AB'],
    ['trailing-space', 'AB '],
    ['no-break-space', 'A\u00a0B'],
    ['line-separator', 'A\u2028'],
    ['blank-braille', 'A\u2800'],
    ['10-emoji', '🎩'.repeat(10)],
    ['empty', ''],
    ['control-character', 'AB\u0007'],
  ] as const)
    rule(
      `invalid-${name}`,
      `The code ${JSON.stringify(code)} returns 400`,
      async (t) => {
        t.expect(
          await t.post('/coupons', { affiliateId: (await t.sharedAffiliate()).id, code }),
          400,
          'discount_code_invalid',
        )
      },
      { page: `${ERRORS}#discount_code_invalid` },
    )
  rule('9-characters', 'A code of 9 characters of any script is accepted and returned as sent', async (t) => {
    const [{ id }, short] = [await t.affiliate(), t.code().slice(0, 4)]
    for (const code of [
      `${t.code()}a`,
      `${short}-16`,
      `${short}ÄÖÜ`,
      `${short}%_\\`,
      `${short}٠Ø`,
      `${short}🎩🎩🎩🎩🎩`,
    ])
      t.equal(t.expect(await t.post('/coupons', { affiliateId: id, code }), 200).data.code, code, 'code')
  })
  rule(
    'invalid-body',
    'affiliateId null and a code that is no text return 400 invalid_body',
    async (t) => {
      const affiliateId = (await t.sharedAffiliate()).id
      for (const body of [
        { affiliateId: null, code: t.code() },
        { affiliateId, code: 16 },
      ])
        t.expect(await t.post('/coupons', body), 400, 'invalid_body')
    },
    { page: `${ERRORS}#invalid_body` },
  )
  rule(
    'unique',
    'The code of another affiliate returns 409 discount_code_taken, in any case',
    async (t) => {
      const [a, b, short] = [await t.affiliate(), await t.affiliate(), t.code().slice(0, 4)]
      for (const [code, same] of [
        [`${short}abc`, `${short}ABC`],
        [`${short}maß`, `${short}MASS`],
        [`${short}Ünal`, `${short}U\u0308NAL`],
      ]) {
        t.expect(await t.post('/coupons', { affiliateId: a.id, code }), 200)
        t.expect(await t.post('/coupons', { affiliateId: b.id, code: same }), 409, 'discount_code_taken')
      }
      t.expect(await t.post('/coupons', { affiliateId: b.id, code: `${short}abc` }), 200)
    },
    { page: `${ERRORS}#discount_code_taken` },
  )
  rule(
    'unique-among-archived',
    'The code of an archived affiliate remains taken',
    async (t) => {
      const [a, b] = [await t.affiliate(), await t.affiliate()]
      t.expect(await t.delete(`/affiliates?id=${a.id}`), 200)
      t.expect(await t.post('/coupons', { affiliateId: b.id, code: a.discountCode }), 409, 'discount_code_taken')
    },
    { page: `${ERRORS}#discount_code_taken` },
  )
  rule('same-again', 'Assigning the current code again changes nothing', async (t) => {
    const [{ id }, code] = [await t.affiliate(), t.code()]
    const first = t.expect(await t.post('/coupons', { affiliateId: id, code }), 200).data
    const second = t.expect(await t.post('/coupons', { affiliateId: id, code }), 200).data
    t.equal(second, first, 'the second response')
    const other = code.toLowerCase()
    t.equal(t.expect(await t.post('/coupons', { affiliateId: id, code: other }), 200).data.code, other, 'another case')
  })
  rule(
    'unknown-affiliate',
    'An unknown affiliate returns 404 affiliate_not_found',
    async (t) => {
      t.expect(await t.post('/coupons', { affiliateId: 'aff_unknown', code: t.code() }), 404, 'affiliate_not_found')
    },
    { page: `${ERRORS}#affiliate_not_found` },
  )
  rule(
    'affiliate-required',
    'POST without affiliateId returns 400',
    async (t) => {
      t.expect(await t.post('/coupons', { code: t.code() }), 400, 'invalid_body')
    },
    { page: `${ERRORS}#invalid_body` },
  )
  rule('program-discount', 'A coupon has the discount of the program', async (t) => {
    const program = await t.program()
    t.expect(
      await t.patch(`/programs?id=${program.id}`, {
        discountEnabled: true,
        discountType: 'FIXED',
        discountValue: 12.5,
      }),
      200,
    )
    const { id } = await t.affiliate({ campaignId: program.id })
    t.fields(
      (await list(t, { affiliateId: id }))[0],
      { programId: program.id, discountEnabled: true, discountType: 'FIXED', discountValue: 12.5 },
      'coupon',
    )
  })
  rule('filters', '`affiliateId`, `status` and `code` (a part, in any case) select coupons', async (t) => {
    const { id, discountCode } = await t.affiliate({ status: 'REJECTED' })
    const ids = async (query: Record<string, string>) => (await list(t, query)).map((coupon) => coupon.affiliateId)
    t.equal(await ids({ affiliateId: id }), [id], 'coupons of the affiliate')
    t.ok((await ids({ code: discountCode.slice(1, 7).toLowerCase() })).includes(id), 'a part of the code must find it')
    t.equal(await ids({ affiliateId: id, status: 'APPROVED' }), [], 'coupons of approved affiliates')
    const short = t.code().slice(0, 4)
    for (const [code, part] of [
      [`${short}_%1`, `${short}_%`],
      [`${short}\\1`, `${short}\\`],
      [`${short}ß`, `${short}SS`],
    ] as const) {
      t.expect(await t.post('/coupons', { affiliateId: id, code }), 200)
      t.equal(await ids({ code: part }), [id], `coupons with ${part}`)
      t.equal(await ids({ code: part, status: 'REJECTED', affiliateId: id }), [id], `rejected ones with ${part}`)
    }
    t.equal(await ids({ code: `${short}%1` }), [], 'coupons with a wildcard')
  })
  rule('archived-is-hidden', 'The coupon of an archived affiliate is not listed', async (t) => {
    const { id } = await t.affiliate()
    t.expect(await t.delete(`/affiliates?id=${id}`), 200)
    t.equal(await list(t, { affiliateId: id }), [], 'the list')
  })
})
