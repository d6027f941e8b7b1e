// SQLite only: the pages call the use cases that are tested on both databases
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectOk } from '../support/shop.ts'
import { codeOf, openPageShop, type PageShop, selectable } from './fixture.ts'
import { type Fields, noticeOf, wordsOf } from './visitor.ts'

let shop: PageShop
let owner: PageShop['owner']
let order: PageShop['order']
let done: PageShop['done']
let words: PageShop['words']
let api: PageShop['api']
beforeAll(async () => {
  shop = await openPageShop()
  ;({ owner, order, done, words, api } = shop)
})
afterAll(() => shop.server.close())

describe('affiliates', () => {
  test('are created, found by name, email and code, approved together, edited and archived', async () => {
    const ids: string[] = []
    for (const name of ['Ada Lind', 'Bo Lind']) {
      const { to, notice } = await done('/affiliates/new', [
        ['name', name],
        ['email', `${name[0]}@lind.example`],
      ])
      expect(notice).toBe(`Affiliate ${name} created; awaiting approval.`)
      ids.push(to.split('/').at(-1) ?? '')
    }
    const [{ discountCode }] = await api(`/affiliates?id=${ids[0]}`)
    for (const q of ['ada lind', 'A@lind', discountCode.toLowerCase(), discountCode.slice(1)])
      expect(await words(`/affiliates?q=${encodeURIComponent(q)}`), q).toContain('Ada Lind')
    const { text } = await owner.open('/admin/affiliates?q=lind&status=PENDING')
    expect(selectable(text).toSorted()).toEqual(ids.toSorted())
    const fields = selectable(text).map((id): [string, string] => ['ids', id])
    const moved = await done('/affiliates/status', [...fields, ['q', 'lind'], ['move', 'APPROVED']])
    expect(moved).toEqual({ to: '/admin/affiliates?q=lind', notice: '2 affiliates approved.' })
    const edit: Fields = [
      ['name', 'Ada Lindqvist'],
      ['email', 'A@lind.example'],
      ['phone', '+1 555'],
      ['website', ''],
    ]
    await done(`/affiliates/${ids[0]}/edit`, edit)
    expect((await api(`/affiliates?id=${ids[0]}`))[0]).toMatchObject({
      name: 'Ada Lindqvist',
      phone: '+1 555',
      website: null,
    })
    await done(`/affiliates/${ids[0]}/archive`, [])
    expect(await words('/affiliates?q=lind')).not.toContain('Ada Lindqvist')
  })

  test('are listed when they are archived, and have a page that only restores them', async () => {
    const path = '/affiliates?status=ARCHIVED'
    for (const address of [path, `${path}&q=lind&sort=-commission`]) {
      const { text } = await owner.open(`/admin${address}`)
      expect(wordsOf(text)).toMatch(/Ada Lindqvist A@lind\.example Archived/)
      expect([wordsOf(text).includes('Bo Lind'), selectable(text)]).toEqual([false, []])
    }
    expect(await words(`${path}&q=bo`)).toContain('No affiliates match')
    for (const sort of ['', '&sort=name'])
      expect((await owner.open(`/admin/affiliates.csv?status=ARCHIVED${sort}`)).text).toMatch(
        /\nAda Lindqvist,A@lind\.example,ARCHIVED,[^\n]*\r\n$/,
      )
    const [, id = ''] = /href="\/admin\/affiliates\/(aff_\w+)"/.exec((await owner.open(`/admin${path}`)).text) ?? []
    const { text } = await owner.open(`/admin/affiliates/${id}`)
    expect(wordsOf(text)).toMatch(/Archived on .* New orders earn no commission/)
    const actions = [...text.matchAll(/action="(\/admin\/affiliates\/[^"]+)"/g)].map(([, action]) => action)
    expect(actions).toEqual([`/admin/affiliates/${id}/unarchive`])
    expect(codeOf(await owner.open(`/admin/affiliates/${id}/edit`))).toEqual([404, 'affiliate_not_found'])
  })

  test('have a page with balance, link, code and connections', async () => {
    const id = await order()
    await owner.submit(`/admin/commissions/${id}/approve`)
    await order({ amountCents: 25_000 })
    const path = `/affiliates/${shop.affiliateId}`
    expect(await words(path)).toMatch(/Awaiting approval 40\.00 USD .*Approved, not in a payout 16\.00 USD/)
    for (const [kind, value] of [
      ['customerId', 'customer-of-ada'],
      ['product', '7007'],
    ] as const)
      await done(`${path}/connections`, [
        ['kind', kind],
        ['value', value],
      ])
    const { text } = await owner.open(`/admin${path}`)
    expect(wordsOf(text)).toMatch(/Customers .*customer-of-ada .*Connected by an owner .*Connections .*Product 7007/)
    const remove = /action="\/admin(\S+connections\/\w+\/delete)"/.exec(text)?.[1] ?? ''
    expect((await done(remove, [])).notice).toBe('Connection removed.')
  })

  test('are listed with their figures, and sorted by the headings, with the filter kept', async () => {
    const second = await done('/affiliates/new', [
      ['name', 'Zora Lind'],
      ['email', 'zora@lind.example'],
    ])
    const zora = second.to.split('/').at(-1) ?? ''
    const moved = await done('/affiliates/status', [
      ['ids', zora],
      ['move', 'APPROVED'],
      ['q', 'a'],
      ['sort', '-commission'],
    ])
    expect(moved.to).toBe('/admin/affiliates?q=a&sort=-commission')
    await order({ couponCode: undefined, ref: zora, amountCents: 5_000_000 })
    await order({ couponCode: undefined, ref: zora, amountCents: 12_300, currency: 'EUR' })
    const path = '/admin/affiliates?q=a'
    const open = async (address: string) => {
      const { text } = await owner.open(address)
      const sorted = [...text.matchAll(/aria-sort="(\w+)"><a href="[^"]*">(\w+)/g)].map(([, way, name]) => [name, way])
      const links = [...text.matchAll(/<th [^>]*><a href="([^"]+)">(\w+)</g)].map(
        ([, to = '', name = '']): [string, string] => [name, to.replaceAll('&amp;', '&')],
      )
      return { words: wordsOf(text), ids: selectable(text), sorted, to: Object.fromEntries(links), text }
    }
    const newest = await open(path)
    expect(newest.sorted).toEqual([['Joined', 'descending']])
    expect(newest.words).toContain('0 2 50,000.00 USD 123.00 EUR 8,000.00 USD 19.68 EUR')
    expect(newest.to).toEqual({
      Affiliate: `${path}&sort=name`,
      Clicks: `${path}&sort=-clicks`,
      Orders: `${path}&sort=-orders`,
      Revenue: `${path}&sort=-revenue`,
      Commission: `${path}&sort=-commission`,
      Joined: `${path}&sort=joined`,
    })
    const highest = await open(newest.to.Commission ?? '')
    expect([highest.ids[0], highest.sorted]).toEqual([zora, [['Commission', 'descending']]])
    const lowest = await open(highest.to.Commission ?? '')
    expect([lowest.ids, lowest.sorted]).toEqual([highest.ids.toReversed(), [['Commission', 'ascending']]])
    expect(lowest.text).toContain('<option value="commission" selected>Lowest commission</option>')
    const { text: file } = await owner.open('/admin/affiliates.csv?q=a&sort=-commission')
    const [heading = '', first = '', ...others] = file.trim().split('\r\n')
    expect(heading).toMatch(/,Clicks,Orders,Revenue \(USD\),Commission \(USD\),Other currencies$/)
    expect(first).toMatch(/^Zora Lind,.*,0,2,50000\.00,8000\.00,"EUR: revenue 123\.00, commission 19\.68"$/)
    expect(others).toHaveLength(highest.ids.length - 1)
  })

  test('have a page with their figures of all time, and charts of a period in one currency', async () => {
    const [{ id }] = await api('/affiliates?q=zora')
    const body = { type: 'click', affiliateId: id, url: 'https://shop.example/' }
    for (let n = 0; n < 2; n++) await expectOk(shop.server.request('POST', '/api/v1/events', { body }))
    const path = `/affiliates/${id}`
    const shown = await words(path)
    expect(shown).toContain(
      'All time Clicks 2 Orders 2 Revenue 50,000.00 USD 123.00 EUR Commission 8,000.00 USD 19.68 EUR Paid 0.00 USD',
    )
    expect(shown).toMatch(/7 days 30 days 90 days USD EUR Commission 8,000\.00 USD ▲ new .* Clicks 2 ▲ new/)
    const { text } = await owner.open(`/admin${path}?days=7&currency=EUR`)
    expect(wordsOf(text)).toMatch(/Commission 19\.68 EUR .*These 7 days \w+ \d+, \d+ – /)
    expect(text).toContain(`<a href="/admin/affiliates/${id}?days=7&amp;currency=EUR" aria-current="true">EUR</a>`)
    const [none] = await api('/affiliates?q=B@lind')
    expect(await words(`/affiliates/${none.id}`)).toMatch(
      /Clicks 0 Orders 0 Revenue 0\.00 USD Commission 0\.00 USD Paid 0\.00 USD/,
    )
    expect(await words(`/affiliates/${none.id}`)).not.toContain('30 days')
  })

  test('get a message with link, code, and own page, to be copied or opened in mail', async () => {
    const inviteIn = (text: string) => /<pre id="invite"[^>]*>([^<]*)/.exec(text)?.[1]
    const sent = await done('/affiliates/new', [
      ['name', 'Cleo & Sons'],
      ['email', 'c?bcc=x@lind.example'],
    ])
    const id = sent.to.split('/').at(-1) ?? ''
    const approve = () => owner.submit(`${sent.to}/status`, [['status', 'APPROVED']])
    await approve()
    // Another page shows the notice, and no message to another affiliate.
    expect(inviteIn((await owner.open(`/admin/affiliates/${shop.affiliateId}`)).text)).toBeUndefined()
    await approve()
    const { text } = await owner.open(sent.to)
    const invite = inviteIn(text)?.replaceAll('&amp;', '&') ?? ''
    const [{ discountCode, slug }] = await api(`/affiliates?id=${id}`)
    expect(invite).toContain(`Hello Cleo & Sons,\n`)
    expect(invite).toContain(`?ref=${slug}`)
    expect(invite).toContain(`Your code: ${discountCode}\n`)
    const [, ownPage = ''] = /http:\/\/test(\/affiliate\?token=\S+)$/.exec(invite) ?? []
    expect(wordsOf((await owner.open(ownPage)).text)).toContain(discountCode)
    const [, mail = ''] = /href="(mailto:[^"]+body=[^"]+)"/.exec(text.replaceAll('&amp;', '&')) ?? []
    const [address, query] = mail.split('?') as [string, string]
    expect(decodeURIComponent(address.slice('mailto:'.length))).toBe('c?bcc=x@lind.example')
    expect(query.split('&').map((part) => part.split('=')[0])).toEqual(['subject', 'body'])
    expect(new URLSearchParams(query).get('body')).toBe(invite.replaceAll('\n', '\r\n'))
    expect(inviteIn((await owner.open(sent.to)).text)).toBeUndefined()
    await owner.submit(`${sent.to}/status`, [['status', 'REJECTED']])
    await owner.submit(`${sent.to}/link`, [['hours', '1']])
    expect(inviteIn((await owner.open(sent.to)).text)).toBeUndefined()
  })

  test('keep codes and links of another system, which find them too', async () => {
    const path = `/affiliates/${shop.affiliateId}`
    const add = (kind: string, alias: string) =>
      done(`${path}/aliases`, [
        ['aliasKind', kind],
        ['alias', alias],
      ])
    expect((await add('CODE', ' SARAH10 ')).notice).toContain('SARAH10')
    await add('LINK', 'sarah_old')
    expect(await words(path)).toMatch(/Link \?ref=sarah_old .*Code SARAH10/)
    expect(await words('/affiliates?q=sarah10')).toContain('NISA16')
    const wrong = await owner.submit(`/admin${path}/aliases`, [
      ['aliasKind', 'CODE'],
      ['alias', 'SARAH 10'],
    ])
    expect(codeOf(wrong)).toEqual([400, 'alias_invalid'])
    expect(noticeOf(wrong)).toMatch(/^Value must/)
    for (let left = 2; left > 0; left--) {
      const { text } = await owner.open(`/admin${path}`)
      const remove = /action="\/admin(\S+aliases\/\w+\/delete)"/.exec(text)?.[1] ?? ''
      expect((await done(remove, [])).notice).toBe('Alias removed.')
    }
    expect(await words(path)).not.toContain('sarah_old')
  })
})

describe('codes', () => {
  test.each([
    ['SARAH10', 'SARAH1Q'],
    ['COFFEE-CODE', 'CQFFEE-CQ'],
    ['a b', 'ab'],
  ])('400 for the code %s, with the nearest free code %s', async (code, nearest) => {
    const sent = await owner.submit('/admin/coupons/new', [
      ['affiliate', 'NISA16'],
      ['code', code],
    ])
    expect(codeOf(sent)).toEqual([400, 'discount_code_invalid'])
    expect(noticeOf(sent)).toContain(nearest)
    expect(sent.text).toContain(`name="code" value="${nearest}"`)
  })

  test('the proposed code is assigned with its button, and a taken one leads to the next', async () => {
    const fields: Fields = [
      ['affiliate', 'NISA16'],
      ['code', 'SARAH10'],
      ['code', 'SARAH1Q'],
    ]
    expect((await done('/coupons/new', fields)).to).toBe('/admin/coupons?code=SARAH1Q')
    const other = await done('/affiliates/new', [
      ['name', 'Sarah'],
      ['email', 'sarah@example.com'],
    ])
    const taken = await owner.submit(`${other.to}/code`, [['code', 'sarah1q']])
    expect(codeOf(taken)).toEqual([409, 'discount_code_taken'])
    expect(noticeOf(taken)).toContain('sarah1q2')
    await done('/coupons/new', [
      ['affiliate', 'SARAH1Q'],
      ['code', 'NISA16'],
    ])
  })
})
