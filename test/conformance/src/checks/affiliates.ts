import { group } from '../check.ts'
import type { Context, Json } from '../context.ts'
import type { AffiliateField } from '../generated/contract.ts'

const ERRORS = 'reference/errors.md'
const GENERATED = /^[A-NP-Z1-9]{8}$/

const listed = async (t: Context, query: Record<string, string>): Promise<Json[]> =>
  t.expect(await t.get('/affiliates', { limit: 100, ...query }), 200).data

export const affiliates = group(
  'affiliates',
  { title: 'Affiliates', page: 'reference/conformance.md#affiliates' },
  (rule) => {
    rule('created', 'POST returns 201 and an affiliate that is PENDING', async (t) => {
      const email = t.email()
      // The default program may approve its affiliates.
      const { id: campaignId } = await t.program()
      const { data } = t.expect(await t.post('/affiliates', { email, name: 'Ada King', campaignId }), 201)
      t.fields(data, { email, name: 'Ada King', status: 'PENDING', deletedAt: null }, 'data')
    })
    rule('generated-code', 'A new affiliate has a code of 8 characters A-Z and 1-9 without O', async (t) => {
      const { data } = t.expect(await t.post('/affiliates', { email: t.email(), name: 'Ada' }), 201)
      t.ok(GENERATED.test(data.discountCode), `discountCode is ${data.discountCode}`)
    })
    rule('generated-slug', 'A new affiliate has a slug of its own, even when the name is taken', async (t) => {
      const name = t.id('Slug')
      const slugs = []
      for (const _ of [1, 2])
        slugs.push(t.expect(await t.post('/affiliates', { email: t.email(), name }), 201).data.slug)
      t.ok(slugs.every(Boolean) && slugs[0] !== slugs[1], `the slugs are ${slugs.join(' and ')}`)
    })
    rule('name-of-parts', 'Without `name` it is firstName and lastName', async (t) => {
      const { data } = t.expect(
        await t.post('/affiliates', { email: t.email(), firstName: 'Ada', lastName: 'King' }),
        201,
      )
      t.fields(data, { name: 'Ada King', firstName: 'Ada', lastName: 'King' }, 'data')
    })
    rule(
      'name-required',
      'POST without name and firstName returns 400',
      async (t) => {
        t.expect(await t.post('/affiliates', { email: t.email(), lastName: 'King' }), 400, 'invalid_body')
      },
      { page: `${ERRORS}#invalid_body` },
    )
    rule(
      'email-required',
      'POST without email returns 400',
      async (t) => {
        t.expect(await t.post('/affiliates', { name: 'Ada' }), 400, 'invalid_body')
      },
      { page: `${ERRORS}#invalid_body` },
    )
    rule(
      'email-valid',
      'POST with an invalid email address returns 400',
      async (t) => {
        for (const email of ['ada', 'ada@', '@example.com', 'a b@example.com', 'ada@example', 1])
          t.expect(await t.post('/affiliates', { email, name: 'Ada' }), 400, 'invalid_body')
      },
      { page: `${ERRORS}#invalid_body` },
    )
    rule(
      'email-as-sent',
      'The email address is returned as sent, without leading and trailing whitespace',
      async (t) => {
        const email = t.email('Mixed.Case')
        const { data } = t.expect(await t.post('/affiliates', { email: `  ${email} `, name: 'Ada' }), 201)
        t.equal(data.email, email, 'email')
      },
    )
    rule(
      'email-unique',
      'A second affiliate with the email address returns 409 email_taken, in any case',
      async (t) => {
        const { email } = await t.affiliate()
        t.expect(await t.post('/affiliates', { email: email.toUpperCase(), name: 'Ada' }), 409, 'email_taken')
      },
      { page: `${ERRORS}#email_taken` },
    )
    rule('email-of-archived', 'The email address of an archived affiliate can be used again', async (t) => {
      const { id, email } = await t.affiliate()
      t.expect(await t.delete(`/affiliates?id=${id}`), 200)
      t.expect(await t.post('/affiliates', { email, name: 'Ada' }), 201)
    })
    rule(
      'email-unique-on-patch',
      'PATCH with the email address of another affiliate returns 409',
      async (t) => {
        const [a, b] = [await t.affiliate(), await t.affiliate()]
        t.expect(await t.patch(`/affiliates?id=${a.id}`, { email: b.email }), 409, 'email_taken')
      },
      { page: `${ERRORS}#email_taken` },
    )
    rule('campaign', '`campaignId` names the program that the affiliate joins', async (t) => {
      const program = await t.program()
      const { data } = t.expect(
        await t.post('/affiliates', { email: t.email(), name: 'Ada', campaignId: program.id }),
        201,
      )
      t.equal(data.campaignId, program.id, 'campaignId')
    })
    rule(
      'unknown-campaign',
      'A program that does not exist returns 404 program_not_found, on POST and PATCH',
      async (t) => {
        t.expect(
          await t.post('/affiliates', { email: t.email(), name: 'Ada', campaignId: 'prg_unknown' }),
          404,
          'program_not_found',
        )
        const { id } = await t.affiliate()
        t.expect(await t.patch(`/affiliates?id=${id}`, { campaignId: 'prg_unknown' }), 404, 'program_not_found')
      },
      { page: `${ERRORS}#program_not_found` },
    )
    rule('default-program', 'Without `campaignId` the affiliate joins the default program', async (t) => {
      await t.sharedProgram()
      const standard = (await t.oldestPrograms()).find(({ isDefault }: Json) => isDefault)
      if (!standard) t.skip('the default program is not among the oldest')
      const { data } = t.expect(await t.post('/affiliates', { email: t.email(), name: 'Ada' }), 201)
      t.equal(data.campaignId, standard.id, 'campaignId')
    })
    rule('auto-approve', 'A program with autoApproveAffiliate returns the affiliate APPROVED', async (t) => {
      const { id } = await t.program({ autoApproveAffiliate: true })
      t.equal(
        t.expect(await t.post('/affiliates', { email: t.email(), name: 'Ada', campaignId: id }), 201).data.status,
        'APPROVED',
        'status',
      )
    })
    rule('patch-one-field', 'PATCH changes the sent fields only', async (t) => {
      const before = await t.affiliate()
      const { data } = t.expect(await t.patch(`/affiliates?id=${before.id}`, { phone: '+1 555 0100' }), 200)
      const { updatedAt: _, ...rest } = before
      t.fields(data, { ...rest, phone: '+1 555 0100' }, 'data')
    })
    rule('patch-every-field', 'PATCH accepts every documented field', async (t) => {
      const { id } = await t.affiliate()
      const { id: campaignId } = await t.program()
      const body: Record<AffiliateField, string> = {
        email: t.email('b'),
        status: 'ACTIVE',
        campaignId,
        name: 'Grace',
        firstName: 'Grace',
        lastName: 'Hopper',
        phone: '1',
        website: 'https://a.example',
        instagramHandle: 'a',
        tiktokHandle: 'b',
        youtubeHandle: 'c',
        homeCountry: 'US',
        homeState: 'NY',
        homeCity: 'New York',
        homePostalCode: '10001',
        homeAddress: '1 Main St',
      }
      t.fields(t.expect(await t.patch(`/affiliates?id=${id}`, body), 200).data, body, 'data')
    })
    rule('patch-null', '`null` clears an optional field, and returns 400 for a required one', async (t) => {
      const { id } = await t.affiliate()
      t.expect(await t.patch(`/affiliates?id=${id}`, { phone: '1' }), 200)
      t.equal(t.expect(await t.patch(`/affiliates?id=${id}`, { phone: null }), 200).data.phone, null, 'phone')
      t.expect(await t.patch(`/affiliates?id=${id}`, { email: null }), 400)
    })
    rule('slug-is-stable', 'The slug does not change with the name', async (t) => {
      const { id, slug } = await t.affiliate()
      t.equal(
        t.expect(await t.patch(`/affiliates?id=${id}`, { name: 'Someone Different' }), 200).data.slug,
        slug,
        'slug',
      )
    })
    rule('every-status', 'Every status can follow every other one', async (t) => {
      const { id } = await t.affiliate()
      for (const status of ['REJECTED', 'ACTIVE', 'PENDING', 'APPROVED', 'APPROVED'])
        t.equal(t.expect(await t.patch(`/affiliates?id=${id}`, { status }), 200).data.status, status, 'status')
    })
    rule(
      'unknown-status',
      'PATCH with an unknown status returns 400',
      async (t) => {
        const { id } = await t.affiliate()
        t.expect(await t.patch(`/affiliates?id=${id}`, { status: 'BANNED' }), 400)
      },
      { page: `${ERRORS}#invalid_body` },
    )
    rule(
      'unknown-id',
      'PATCH and DELETE of an unknown id return 404 affiliate_not_found',
      async (t) => {
        t.expect(await t.patch('/affiliates?id=aff_unknown', { phone: '1' }), 404, 'affiliate_not_found')
        t.expect(await t.delete('/affiliates?id=aff_unknown'), 404, 'affiliate_not_found')
      },
      { page: `${ERRORS}#affiliate_not_found` },
    )
    rule(
      'missing-id',
      'PATCH and DELETE without an id return 400 invalid_parameter',
      async (t) => {
        t.expect(await t.patch('/affiliates', { phone: '1' }), 400, 'invalid_parameter')
        t.expect(await t.delete('/affiliates'), 400, 'invalid_parameter')
      },
      { page: `${ERRORS}#invalid_parameter` },
    )
    rule('archived', 'DELETE returns ok and a message, and hides the affiliate', async (t) => {
      const { id, email } = await t.affiliate()
      const reply = t.expect(await t.delete(`/affiliates?id=${id}`), 200)
      t.equal([reply.ok, typeof reply.message], [true, 'string'], 'ok and the type of message')
      t.equal(await listed(t, { q: email }), [], 'the list')
    })
    rule(
      'archived-once',
      'PATCH and DELETE of an archived affiliate return 404 or 409',
      async (t) => {
        const { id } = await t.affiliate()
        t.expect(await t.delete(`/affiliates?id=${id}`), 200)
        for (const reply of [
          await t.delete(`/affiliates?id=${id}`),
          await t.patch(`/affiliates?id=${id}`, { phone: '1' }),
        ])
          t.ok([404, 409].includes(reply.status), `${reply.method} returned ${reply.status}`)
      },
      { page: `${ERRORS}#affiliate_not_found` },
    )
    rule('archived-keeps-commissions', 'The commissions of an archived affiliate remain', async (t) => {
      const affiliate = await t.affiliate()
      await t.order({ amountCents: 1000, couponCode: affiliate.discountCode })
      t.expect(await t.delete(`/affiliates?id=${affiliate.id}`), 200)
      t.equal((await t.rowsOf(affiliate.id)).length, 1, 'the number of commissions')
    })
    rule('search', '`q` searches name, email, firstName and lastName, case-insensitively', async (t) => {
      const word = `Q${t.code()}`
      const ids = [
        await t.affiliate({ name: `x ${word} y` }),
        await t.affiliate({ email: `${word}@conformance.example` }),
        await t.affiliate({ name: undefined, firstName: `a${word}` }),
        await t.affiliate({ name: 'A', firstName: 'B', lastName: `${word}b` }),
      ].map(({ id }) => id)
      const found = await listed(t, { q: word.toLowerCase() })
      t.equal(found.map(({ id }) => id).sort(), ids.sort(), 'ids')
    })
    rule('search-literal', '`%` and `_` in a search are literal characters', async (t) => {
      const word = t.code()
      await t.affiliate({ name: `${word}aa` })
      const { id } = await t.affiliate({ name: `${word}%_` })
      t.equal(
        (await listed(t, { q: `${word}%_` })).map((row) => row.id),
        [id],
        'ids',
      )
    })
    rule('search-beyond-ascii', 'A search ignores case beyond ASCII', async (t) => {
      const word = t.code()
      const { id } = await t.affiliate({ name: `ÄÖÜ ${word}` })
      t.equal(
        (await listed(t, { q: `äöü ${word}` })).map((row) => row.id),
        [id],
        'ids',
      )
    })
    rule('filters', '`status` and `campaignId` select affiliates', async (t) => {
      const program = await t.program()
      const { id } = await t.affiliate({ campaignId: program.id, status: 'REJECTED' })
      await t.affiliate({ campaignId: program.id })
      t.equal((await listed(t, { campaignId: program.id })).length, 2, 'the number of affiliates of the program')
      t.equal(
        (await listed(t, { campaignId: program.id, status: 'REJECTED' })).map((row) => row.id),
        [id],
        'ids',
      )
    })
  },
)
