import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isValidCode, planImport, slugOf } from '../../cli/src/commands/import/plan.ts'
import { providers } from '../../cli/src/commands/import/providers.ts'
import { parseCsv } from '../../cli/src/csv/parse.ts'
import { slugFrom } from '../../server/src/engine/affiliate-codes.ts'
import { temporaryFolder } from '../support/process.ts'
import { cli, json, openShop, type Shop, withAffiliate } from './support.ts'

const folder = temporaryFolder()
let shop: Shop
beforeAll(async () => {
  shop = await openShop()
}, 60_000)
afterAll(async () => {
  await shop.close()
  folder.remove()
})

const exports: Record<string, string> = {
  rewardful: 'First name,Last name,Email,Token,Coupon,State\nAdam,Jones,adam@example.com,adam,ADAM15,active\n',
  tapfiliate:
    'Firstname,Lastname,Email,Referral code,Coupons,Approved\nAdam,Jones,adam@example.com,adam,"ADAM15, OTHER",true\n',
  refersion:
    'ID,First Name,Last Name,Email,Link,Coupon,Status\n77,Adam,Jones,adam@example.com,https://shop.example/?rfsn=adam,ADAM15,ACTIVE\n',
  firstpromoter: 'email,first_name,last_name,ref_id,promo_code,state\nadam@example.com,Adam,Jones,adam,ADAM15,active\n',
  uppromote:
    'First name,Last name,Email,Status,Program,Affiliate link,Coupon\nAdam,Jones,adam@example.com,Active,Default,https://shop.example/?sca_ref=adam,ADAM15\n',
  goaffpro:
    'Name,Email,Ref code,Referral link,Coupon,Status\nAdam Jones,adam@example.com,adam,https://shop.example/?ref=adam,ADAM15,approved\n',
}

test('all six export formats are parsed to the same affiliate', () => {
  for (const [name, text] of Object.entries(exports)) {
    const provider = providers[name]
    if (!provider) throw new Error(name)
    const { affiliates, failed } = planImport(parseCsv(text, name), provider, undefined)
    expect(failed).toEqual([])
    expect(affiliates).toHaveLength(1)
    expect(affiliates[0], name).toMatchObject({
      email: 'adam@example.com',
      name: 'Adam Jones',
      status: 'APPROVED',
      ref: 'adam',
      coupon: 'ADAM15',
    })
  }
})

test('slugOf predicts the slug that the engine derives', () => {
  for (const ref of ['adam', 'Adam-9', 'x', '8153713', 'a-b-c', 'A'.repeat(60)])
    expect({ ref, slug: slugOf(ref) }).toEqual({ ref, slug: ref.toLowerCase() })
  for (const ref of ['adam', 'Adam-9', 'jane_doe', '8153713.0e3f1c', 'a.b_c-d']) expect(slugOf(ref)).toBe(slugFrom(ref))
  for (const ref of ['a--b', 'a._b', '-a', 'a.', 'é', 'a b', 'A'.repeat(61), ''])
    expect(slugOf(ref), ref).toBe(undefined)
  expect(['NISA16', 'nisa_1'].every(isValidCode)).toBe(true)
  expect(['NISA10', 'TOO', 'LONGERTHAN9', 'A B', ''].some(isValidCode)).toBe(false)
})

test('a shop without a program, an order export and an empty file are rejected before anything is created', async () => {
  const { shopId } = await shop.newShop('ENTERPRISE')
  const env = { ...shop.env, REFERRAL_API_KEY: await shop.newKey(['all'], shopId), REFERRAL_SHOP_ID: shopId }
  const path = join(folder.path, 'early.csv')
  writeFileSync(path, exports.refersion ?? '')
  const messageOf = ({ stderr }: { stderr: string }) => JSON.parse(stderr.trim().split('\n').at(-1) ?? '').message
  for (const args of [['--dry-run'], []]) {
    const refused = await cli(['import', 'refersion', path, ...args, '--json'], { env })
    expect({ code: refused.code, message: messageOf(refused) }).toEqual({
      code: 5,
      message: 'This shop has no program. Create one first: referral programs create …, or pass --program.',
    })
  }
  expect(await json(['affiliates', 'list'], { env })).toEqual([])

  writeFileSync(path, 'Name,Email,Financial Status,Lineitem name,Discount Code\n#1,ada@example.com,paid,Hat,NISA16\n')
  const orders = await cli(['import', 'refersion', path, '--json'], { env })
  expect({ code: orders.code, message: messageOf(orders) }).toEqual({
    code: 2,
    message: 'This looks like an order export. Use referral events import.',
  })
  writeFileSync(path, 'Name,Email\n')
  const empty = await cli(['import', 'refersion', path, '--json'], { env })
  expect({ code: empty.code, message: messageOf(empty) }).toEqual({ code: 3, message: 'The file has no affiliates.' })
}, 30_000)

test('old links keep working, existing affiliates are unchanged, and what cannot be imported is reported', async () => {
  const { env } = shop
  const { affiliate } = await withAffiliate(shop)
  const path = join(folder.path, 'old.csv')
  writeFileSync(
    path,
    `${exports.rewardful}Eve,,eve@example.com,8153713.0e3f1c,,active\nFay,,fay@example.com,fay~n,,active\nZed,,zed@example.com,zed!1.2.3.4.5,TOOLONGCODE,active\nGus,,gus@example.com,8153713_0e3f1c,,active\nNisa,,NISA@example.com,nisa-k,NEWCDE,disabled\n,,no-mail,,,active\n`,
  )
  const dry = await cli(['import', 'rewardful', path, '--dry-run', '--json'], { env })
  expect(JSON.parse(dry.stdout).map(({ ref }: { ref: string }) => ref)).toEqual([
    'kept',
    'as slug',
    'as code',
    'lost',
    // An earlier row takes this slug; the last affiliate already exists.
    'lost',
    'lost',
  ])
  expect((await shop.client.affiliates.list()).data).toHaveLength(1)

  const { code, stdout } = await cli(['import', 'rewardful', path, '--json'], { env })
  expect(code).toBe(8)
  expect(JSON.parse(stdout)).toMatchObject([
    { email: 'adam@example.com', action: 'created', slug: 'adam', ref: 'kept', code: 'ADAM15' },
    { email: 'eve@example.com', action: 'created', ref: 'as slug', slug: '8153713-0e3f1c' },
    { email: 'fay@example.com', action: 'created', ref: 'as code', code: 'fay~n' },
    { email: 'zed@example.com', action: 'created', ref: 'lost' },
    // Another affiliate already has this slug.
    { email: 'gus@example.com', action: 'created', ref: 'lost' },
    { email: 'NISA@example.com', action: 'existed', id: affiliate.id, code: 'NISA16' },
  ])
  const people = (await shop.client.affiliates.list()).data
  expect(people.find(({ email }) => email === 'adam@example.com')).toMatchObject({
    name: 'Adam Jones',
    status: 'APPROVED',
  })
  expect(people.find(({ email }) => email === 'nisa@example.com')).toMatchObject({
    name: 'Nisa Karim',
    status: 'APPROVED',
  })

  const reasonOf = async (evidence: object) =>
    (await shop.client.events.dryRun({ externalOrderId: 'x', amountCents: 1000, ...evidence })).attribution.reasonCode
  expect(await reasonOf({ ref: 'ADAM' })).toBe('REF_MATCH')
  expect(await reasonOf({ ref: '8153713.0e3f1c'.replace(/[._]/g, '-') })).toBe('REF_MATCH')
  expect(await reasonOf({ affiliateCode: 'fay~n' })).toBe('AFFILIATE_CODE_MATCH')
  expect(await reasonOf({ couponCode: 'ADAM15' })).toBe('COUPON_MATCH')

  const again = await cli(['import', 'rewardful', path, '--json'], { env })
  expect(JSON.parse(again.stdout).map(({ action }: { action: string }) => action)).toEqual(Array(6).fill('existed'))
}, 60_000)

test('an import that was interrupted before renaming an affiliate is completed', async () => {
  const { env } = shop
  await shop.client.affiliates.create({ email: 'half@example.com', name: 'halfway' })
  const path = join(folder.path, 'half.csv')
  writeFileSync(path, 'email,name,token,state\nhalf@example.com,Half Way,halfway,active\n')
  expect(await json(['import', 'rewardful', path], { env })).toMatchObject([
    { action: 'completed', slug: 'halfway', ref: 'kept' },
  ])
  const [half] = (await shop.client.affiliates.list({ q: 'half@' })).data
  expect(half).toMatchObject({ name: 'Half Way', status: 'APPROVED' })
})

test('nothing is lost silently, and a dry run reports the same as an import', async () => {
  const { env } = shop
  await withAffiliate(shop, { code: 'TAKEN1', name: 'Tess', email: 'tess@example.com' })
  const path = join(folder.path, 'loss.csv')
  writeFileSync(
    path,
    [
      'ID,First Name,Last Name,Email,Link,Coupon,PayPal Email,Unpaid Commissions,Status',
      // The id is not used, because the link contains a code.
      '901,Ona,Ott,ona@example.com,https://shop.example/?rfsn=901.abc,UNA15,,0.00,ACTIVE',
      '902,Pia,Pax,pia@example.com,https://shop.example/?rfsn=902.abc,"SARAH10, PIA22",pia@paypal.example,12.50,ACTIVE',
      '903,Rob,Ray,rob@example.com,"https://shop.example/?rfsn=rob https://shop.example/?rfsn=bob",TAKEN1,,,ACTIVE',
      '904,Tess,T,tess@example.com,,OTHER9,,,ACTIVE',
      '',
    ].join('\n'),
  )
  const leftOut = (stdout: string) =>
    Object.fromEntries(JSON.parse(stdout).map((row: { email: string; leftOut: string[] }) => [row.email, row.leftOut]))
  const dry = await cli(['import', 'refersion', path, '--dry-run', '--json'], { env })
  const real = await cli(['import', 'refersion', path, '--json'], { env })
  expect([dry.code, real.code]).toEqual([8, 8])
  expect(leftOut(dry.stdout)).toEqual(leftOut(real.stdout))
  expect(leftOut(real.stdout)).toEqual({
    'ona@example.com': [],
    'pia@example.com': [
      'code PIA22: an affiliate has one code',
      'PayPal address pia@paypal.example: set it with `referral affiliates payee set`',
      'balance 12.50: pay it in the old service',
      'code SARAH10: a code has at most 9 characters and no 0, o or O',
    ],
    'rob@example.com': ['link bob: an affiliate has one link', 'code TAKEN1: taken by another affiliate'],
    'tess@example.com': [
      'code OTHER9: the affiliate already exists and keeps TAKEN1',
      'link 904: the affiliate already exists with tess',
    ],
  })
  expect(real.stderr).toContain('pia@example.com: left out: balance 12.50: pay it in the old service')
  const [ona] = (await shop.client.affiliates.list({ q: 'ona@' })).data
  expect(ona?.slug).toBe('901-abc')

  const clean = join(folder.path, 'clean.csv')
  writeFileSync(clean, 'Name,Email,Ref code,Coupon,Status\nUli Urs,uli@example.com,uli,ULI22,approved\n')
  for (const args of [['--dry-run'], []])
    expect((await cli(['import', 'goaffpro', clean, ...args, '--json'], { env })).code).toBe(0)
}, 60_000)
