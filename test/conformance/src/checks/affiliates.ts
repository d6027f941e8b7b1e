import { group } from '../check.ts'
import type { Context, Json } from '../context.ts'
import type { AffiliateField } from '../generated/contract.ts'

const ERRORS = 'reference/errors.md'
const GENERATED = /^[A-NP-Z1-9]{8}$/

const listed = async (t: Context, query: Json): Promise<Json[]> =>
  t.expect(await t.get('/affiliates', { limit: 100, ...query }), 200).data

export const affiliates = group(
  'affiliates',
  { title: 'Affiliates', page: 'reference/conformance.md#affiliates' },
  (rule) => {
    rule('created', 'POST returns 201 and an affiliate that is PENDING, with null for what was not sent', async (t) => {
      const email = t.email()
      // The default program may approve its affiliates.
      const { id: campaignId } = await t.program()
      const { data } = t.expect(await t.post('/affiliates', { email, name: 'Ada King', campaignId }), 201)
      const none = { firstName: null, lastName: null, phone: null, website: null, homeCountry: null, deletedAt: null }
      t.fields(data, { ...none, email, name: 'Ada King', status: 'PENDING' }, 'data')
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
      for (const [sent, name] of [
        [{ firstName: 'Ada', lastName: 'King' }, 'Ada King'],
        [{ firstName: 'Cher' }, 'Cher'],
        [{ firstName: 'Ada', lastName: 'King', name: 'Countess' }, 'Countess'],
      ] as const)
        t.fields(
          t.expect(await t.post('/affiliates', { email: t.email(), ...sent }), 201).data,
          { ...sent, name },
          'data',
        )
    })
    rule(
      'name-follows-parts',
      'A name of parts follows them until a name is sent, and stays without them',
      async (t) => {
        const { id } = t.expect(
          await t.post('/affiliates', { email: t.email(), firstName: 'Ada', lastName: 'B' }),
          201,
        ).data
        for (const [change, name] of [
          [{ lastName: 'Lovelace' }, 'Ada Lovelace'],
          [{ lastName: null }, 'Ada'],
          [{ lastName: 'King' }, 'Ada King'],
          [{ firstName: null }, 'King'],
          [{ firstName: 'Grace', lastName: 'Hopper' }, 'Grace Hopper'],
          [{ firstName: null, lastName: null }, 'Grace Hopper'],
          [{ name: '  Lady A ', firstName: 'Augusta' }, 'Lady A'],
          [{ firstName: 'Ada' }, 'Lady A'],
        ] as const)
          t.equal(t.expect(await t.patch(`/affiliates?id=${id}`, change), 200).data.name, name, 'name')
      },
    )
    rule(
      'name-required',
      'POST without name and firstName returns 400',
      async (t) => {
        for (const body of [{}, { lastName: 'King' }, { name: '   ' }, { name: ' ', firstName: '\t' }, { name: 7 }])
          t.expect(await t.post('/affiliates', { email: t.email(), ...body }), 400, 'invalid_body')
      },
      { page: `${ERRORS}#invalid_body` },
    )
    rule(
      'email-required',
      'POST without email returns 400',
      async (t) => {
        for (const body of [{}, { email: null }])
          t.expect(await t.post('/affiliates', { name: 'Ada', ...body }), 400, 'invalid_body')
      },
      { page: `${ERRORS}#invalid_body` },
    )
    rule(
      'email-valid',
      'POST with an invalid email address returns 400',
      async (t) => {
        const long = `${'a'.repeat(250)}@example.com`
        for (const email of ['ada', 'ada@', '@example.com', 'a b@example.com', 'ada@example', long, 1])
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
        const { email } = await t.affiliate({ email: t.email('Ünal') })
        for (const same of [email, email.toLowerCase(), ` ${email.toUpperCase()} `, email.normalize('NFD')])
          t.expect(await t.post('/affiliates', { email: same, name: 'Ada' }), 409, 'email_taken')
      },
      { page: `${ERRORS}#email_taken` },
    )
    rule(
      'email-of-archived',
      'The email address of an archived affiliate can be used again, its slug cannot',
      async (t) => {
        const { id, email, name, slug } = await t.affiliate()
        t.expect(await t.delete(`/affiliates?id=${id}`), 200)
        const next = t.expect(await t.post('/affiliates', { email: email.toUpperCase(), name }), 201).data
        t.ok(next.slug !== slug && next.id !== id, `the slug is ${next.slug}, the id ${next.id}`)
        t.expect(await t.post('/affiliates', { email, name }), 409, 'email_taken')
      },
    )
    rule(
      'email-changed',
      'PATCH may change the case of an email address, and an address no longer used is free',
      async (t) => {
        const { id, email } = await t.affiliate()
        const patch = (value: string) => t.patch(`/affiliates?id=${id}`, { email: value })
        t.equal(t.expect(await patch(` ${email.toUpperCase()} `), 200).data.email, email.toUpperCase(), 'email')
        t.expect(await t.post('/affiliates', { email, name: 'Ada' }), 409, 'email_taken')
        t.expect(await patch(t.email('new')), 200)
        t.expect(await t.post('/affiliates', { email, name: 'Ada' }), 201)
      },
    )
    rule(
      'email-unique-on-patch',
      'PATCH with the email address of another affiliate returns 409',
      async (t) => {
        const [a, b] = [await t.affiliate(), await t.affiliate()]
        t.expect(await t.patch(`/affiliates?id=${a.id}`, { email: b.email }), 409, 'email_taken')
      },
      { page: `${ERRORS}#email_taken` },
    )
    rule('campaign', '`campaignId` names the program that the affiliate joins, and `null` leaves it', async (t) => {
      const [program, auto] = [await t.program(), await t.program({ autoApproveAffiliate: true })]
      const { data } = t.expect(
        await t.post('/affiliates', { email: t.email(), name: 'Ada', campaignId: program.id }),
        201,
      )
      t.equal(data.campaignId, program.id, 'campaignId')
      // Only a new affiliate is approved.
      for (const campaignId of [auto.id, null])
        t.fields(
          t.expect(await t.patch(`/affiliates?id=${data.id}`, { campaignId }), 200).data,
          { campaignId, status: 'PENDING' },
          'data',
        )
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
      const { email, status, name, ...optional } = body
      const none = Object.fromEntries(Object.keys(optional).map((field) => [field, null]))
      const cleared = t.expect(await t.patch(`/affiliates?id=${id}`, none), 200).data
      t.fields(cleared, { email, status, name, ...none }, 'data after null')
    })
    rule(
      'patch-invalid',
      'PATCH with an invalid value returns 400 and changes nothing',
      async (t) => {
        const before = await t.affiliate()
        for (const body of [
          ...[null, 'nobody'].map((email) => ({ email })),
          ...[null, '', ' \n '].map((name) => ({ name })),
          ...[null, 'approved', 'BANNED'].map((status) => ({ status })),
          { phone: 7 },
          { firstName: '' },
          [],
        ])
          t.expect(await t.patch(`/affiliates?id=${before.id}`, body), 400, 'invalid_body')
        t.equal(await listed(t, { q: before.email }), [before], 'the list')
      },
      { page: `${ERRORS}#invalid_body` },
    )
    rule(
      'set-by-server',
      'A field that only the server sets returns 400 unknown_property',
      async (t) => {
        const { id } = await t.sharedAffiliate()
        const create = { email: t.email(), name: 'Ada' }
        for (const field of ['id', 'slug', 'discountCode', 'createdAt', 'deletedAt']) {
          t.expect(await t.post('/affiliates', { ...create, [field]: 'x' }), 400, 'unknown_property')
          t.expect(await t.patch(`/affiliates?id=${id}`, { [field]: 'x' }), 400, 'unknown_property')
        }
        for (const field of ['status', 'phone'])
          t.expect(await t.post('/affiliates', { ...create, [field]: 'x' }), 400, 'unknown_property')
      },
      { page: `${ERRORS}#unknown_property` },
    )
    rule('patch-nothing', 'PATCH with the values of an affiliate returns it unchanged', async (t) => {
      const affiliate = await t.affiliate()
      const { id, name, email, status } = affiliate
      for (const body of [{}, { status }, { name, email, phone: null }])
        t.equal(t.expect(await t.patch(`/affiliates?id=${id}`, body), 200).data, affiliate, 'data')
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
      'unknown-id',
      'PATCH and DELETE of an unknown id return 404 affiliate_not_found, and an invalid body 400 before',
      async (t) => {
        t.expect(await t.patch('/affiliates?id=aff_unknown', { name: ' ' }), 400, 'invalid_body')
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
      const { id, email, status, campaignId } = await t.affiliateOf({})
      const reply = t.expect(await t.delete(`/affiliates?id=${id}`), 200)
      t.equal([reply.ok, typeof reply.message, reply.id], [true, 'string', id], 'ok, the type of message and id')
      for (const query of [{ q: email }, { id }, { campaignId }, { campaignId, status }])
        t.equal(await listed(t, query), [], 'the list')
    })
    rule(
      'archived-once',
      'PATCH, DELETE, and a new code of an archived affiliate return 404 affiliate_not_found',
      async (t) => {
        const { id } = await t.affiliate()
        t.expect(await t.delete(`/affiliates?id=${id}`), 200)
        for (const reply of [
          await t.delete(`/affiliates?id=${id}`),
          await t.patch(`/affiliates?id=${id}`, { phone: '1' }),
          await t.patch(`/affiliates?id=${id}`, {}),
          await t.post('/coupons', { affiliateId: id }),
        ])
          t.expect(reply, 404, 'affiliate_not_found')
      },
      { page: `${ERRORS}#affiliate_not_found` },
    )
    rule('archived-keeps-commissions', 'The commissions of an affiliate who moves or is archived remain', async (t) => {
      const affiliate = await t.affiliate()
      await t.order({ amountCents: 1000, couponCode: affiliate.discountCode })
      const before = await t.rowsOf(affiliate.id)
      t.expect(await t.patch(`/affiliates?id=${affiliate.id}`, { campaignId: null }), 200)
      t.expect(await t.delete(`/affiliates?id=${affiliate.id}`), 200)
      t.equal([before.length, await t.rowsOf(affiliate.id)], [1, before], 'the commissions')
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
      for (const q of [`B ${word}b`, `b\n${word}`]) t.equal(await listed(t, { q }), [], 'a search across fields')
      t.expect(await t.get('/affiliates', { q: 'x'.repeat(201) }), 400, 'invalid_parameter')
    })
    rule('search-after-change', 'A search finds an affiliate by its new values, not by the old ones', async (t) => {
      const { id, name, email } = await t.affiliate({ name: `Before ${t.code()}` })
      const change = { name: `After ${t.code()}`, email: t.email('after'), lastName: `Surname ${t.code()}` }
      t.expect(await t.patch(`/affiliates?id=${id}`, change), 200)
      for (const q of [name, email]) t.equal(await listed(t, { q }), [], `a search for ${q}`)
      for (const q of Object.values(change)) t.equal((await listed(t, { q }))[0]?.id, id, `a search for ${q}`)
    })
    rule('search-literal', '`%`, `_` and `\\` in a search are literal characters', async (t) => {
      const word = t.code()
      await t.affiliate({ name: `${word}aaa` })
      const { id } = await t.affiliate({ name: `${word}%_\\` })
      for (const [q, ids] of [
        [`${word}%_\\`, [id]],
        [`${word}\\%`, []],
      ] as const)
        t.equal(
          (await listed(t, { q })).map((row) => row.id),
          ids,
          `ids for ${q}`,
        )
    })
    rule('search-beyond-ascii', 'A search ignores case and forms of a letter beyond ASCII', async (t) => {
      const word = t.code()
      for (const [name, ...searches] of [
        ['Ärzte ÖÜ', 'ÄRZTE öü', 'A\u0308rzte ÖÜ'],
        ['Straße', 'STRASSE', 'straẞe'],
        ['İlker Işık', 'ilker ışık', 'İLKER IŞIK'],
        ['ΟΔΥΣΣΕΥΣ', 'οδυσσευς', 'οδυσσευσ'],
      ] as const) {
        const { id } = await t.affiliate({ name: `${word}${name}` })
        for (const q of searches)
          t.equal(
            (await listed(t, { q: `${word}${q}` })).map((row) => row.id),
            [id],
            `ids for ${q}`,
          )
      }
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
