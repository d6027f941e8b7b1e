import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isValidCode, planImport, slugOf } from '../../cli/src/commands/import/plan.ts'
import { providers } from '../../cli/src/commands/import/providers.ts'
import { parseCsv } from '../../cli/src/csv/parse.ts'
import { slugFrom } from '../../server/src/engine/affiliate-codes.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
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

test('all export formats are parsed to the same affiliate', () => {
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

test('a status means the same in every export, and a row with an unknown one fails', () => {
  const words = { Active: 'APPROVED', 'not set': 'PENDING', '': 'PENDING', disabled: 'REJECTED', mystery: 'failed' }
  const lines = Object.keys(words).map((word, i) => `a${i}@example.com,${word}\n`)
  for (const [name, provider] of Object.entries(providers)) {
    const text = `email,${name === 'rewardful' ? 'state' : 'status'}\n${lines.join('')}`
    const { affiliates, failed } = planImport(parseCsv(text, name), provider, undefined)
    expect([...affiliates.map(({ status }) => status), ...failed.map(() => 'failed')], name).toEqual(
      Object.values(words),
    )
  }
})

test('columns of which nothing is imported are named', async () => {
  const file = join(folder.path, 'rewardful.csv')
  writeFileSync(file, 'Email,Token,State,Visitors,Leads,error\nv@example.com,v,active,12,3,\n')
  const { stderr } = await cli(['import', 'rewardful', 'affiliates', file, '--dry-run', '--program', 'prg_1'], {
    env: shop.env,
  })
  expect(stderr).toContain('Visitors, Leads')
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
    const refused = await cli(['import', 'refersion', 'affiliates', path, ...args, '--json'], { env })
    expect({ code: refused.code, message: messageOf(refused) }).toEqual({
      code: 5,
      message: expect.stringContaining('--program'),
    })
  }
  expect(await json(['affiliates', 'list'], { env })).toEqual([])

  writeFileSync(path, 'Name,Email,Financial Status,Lineitem name,Discount Code\n#1,ada@example.com,paid,Hat,NISA16\n')
  const orders = await cli(['import', 'refersion', 'affiliates', path, '--json'], { env })
  expect({ code: orders.code, message: messageOf(orders) }).toEqual({
    code: 2,
    message: expect.stringContaining('referral events import'),
  })
  writeFileSync(path, 'Name,Email\n')
  const empty = await cli(['import', 'refersion', 'affiliates', path, '--json'], { env })
  expect({ code: empty.code, message: messageOf(empty) }).toEqual({
    code: 3,
    message: expect.stringContaining('no affiliates'),
  })
}, 30_000)

test('old links and codes keep working, existing affiliates keep their details, and what cannot be imported is reported', async () => {
  const { env } = shop
  const { affiliate } = await withAffiliate(shop)
  const path = join(folder.path, 'old.csv')
  writeFileSync(
    path,
    `${exports.rewardful}Eve,,eve@example.com,8153713.0e3f1c,,active\nFay,,fay@example.com,fay~n,,active\nZed,,zed@example.com,zed!1.2.3.4.5,TOOLONGCODE,active\nGus,,gus@example.com,8153713_0e3f1c,,active\nNisa,,NISA@example.com,nisa-k,NEWCDE,disabled\nHal,,hal@example.com,Fay~N,ADAM15,active\n,,no-mail,,,active\n`,
  )
  const dry = await cli(['import', 'rewardful', 'affiliates', path, '--dry-run', '--json'], { env })
  const { code, stdout } = await cli(['import', 'rewardful', 'affiliates', path, '--json'], { env })
  const shown = (text: string) =>
    JSON.parse(text).map(({ email, action, ref, aliases, leftOut }: Record<string, unknown>) => ({
      email,
      action,
      ref,
      aliases,
      leftOut,
    }))
  expect([dry.code, code]).toEqual([8, 8])
  expect(shown(dry.stdout)).toEqual(shown(stdout))
  expect(JSON.parse(stdout)).toMatchObject([
    { email: 'adam@example.com', action: 'created', slug: 'adam', ref: 'kept', code: 'ADAM15', aliases: [] },
    { email: 'eve@example.com', ref: 'as alias', slug: '8153713-0e3f1c', aliases: ['8153713.0e3f1c'] },
    { email: 'fay@example.com', ref: 'as alias', aliases: ['fay~n'] },
    { email: 'zed@example.com', ref: 'as alias', aliases: ['TOOLONGCODE', 'zed!1.2.3.4.5'] },
    // Another affiliate already has this slug.
    { email: 'gus@example.com', ref: 'as alias', aliases: ['8153713_0e3f1c'] },
    { email: 'NISA@example.com', action: 'existed', id: affiliate.id, code: 'NISA16', aliases: ['NEWCDE', 'nisa-k'] },
    {
      email: 'hal@example.com',
      ref: 'lost',
      aliases: [],
      leftOut: ['code ADAM15: taken by another affiliate', 'link Fay~N: taken by another affiliate'],
    },
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

  const idOf = (mail: string) => people.find(({ email }) => email === mail)?.id
  const credited = async (evidence: object) => {
    const { attribution } = await shop.client.events.dryRun({ externalOrderId: 'x', amountCents: 1000, ...evidence })
    return [attribution.affiliateId, attribution.reasonCode]
  }
  expect(await credited({ ref: 'ADAM' })).toEqual([idOf('adam@example.com'), 'REF_MATCH'])
  expect(await credited({ ref: '8153713.0E3f1c' })).toEqual([idOf('eve@example.com'), 'REF_MATCH'])
  expect(await credited({ ref: '8153713_0e3f1c' })).toEqual([idOf('gus@example.com'), 'REF_MATCH'])
  expect(await credited({ ref: 'fay~n' })).toEqual([idOf('fay@example.com'), 'REF_MATCH'])
  expect(await credited({ couponCode: 'toolongcode' })).toEqual([idOf('zed@example.com'), 'COUPON_MATCH'])
  expect(await credited({ couponCode: 'ADAM15' })).toEqual([idOf('adam@example.com'), 'COUPON_MATCH'])

  const again = await cli(['import', 'rewardful', 'affiliates', path, '--json'], { env })
  expect(JSON.parse(again.stdout).map(({ action }: { action: string }) => action)).toEqual(Array(7).fill('existed'))
  expect(shown(again.stdout).map(({ aliases }: { aliases: string[] }) => aliases)).toEqual(
    shown(stdout).map(({ aliases }: { aliases: string[] }) => aliases),
  )
}, 60_000)

test('payment details are imported with an owner token, and a row with wrong ones says what is wrong', async () => {
  const path = join(folder.path, 'payees.csv')
  writeFileSync(
    path,
    [
      'Name,Email,Codes,Links,PayPal Email,Wise Email,IBAN,Account Holder,Town,Country',
      'Pay Pal,pp@example.com,"PP22;PP2020",,pp@paypal.example,,,,,',
      'Wi Se,wise@example.com,,,,wise@wise.example,,Wise GmbH,,',
      'Ban K,bank@example.com,,,,,DE89 3704 0044 0532 0130 00,,Berlin,de',
      'Wrong Iban,wrong@example.com,,,,,DE88 3704 0044 0532 0130 00,,Berlin,DE',
      'No Town,town@example.com,,,,,DE89370400440532013000,,,DE',
      'No Mail,mail@example.com,,,not an address,,,,,',
      '',
    ].join('\n'),
  )
  const { REFERRAL_OWNER_TOKEN: ownerToken = '', ...env } = shop.env
  const run = (...args: string[]) =>
    cli(
      [
        'import',
        'csv',
        'affiliates',
        path,
        '--map',
        'accountTown=Town',
        '--map',
        'accountCountry=Country',
        ...args,
        '--json',
      ],
      {
        env: { ...env, REFERRAL_OWNER_TOKEN: ownerToken },
      },
    )
  const rows = (stdout: string) =>
    JSON.parse(stdout).map(({ email, payee, leftOut }: Record<string, unknown>) => [email, payee, leftOut])
  const without = await cli(['import', 'csv', 'affiliates', path, '--dry-run', '--json'], { env })
  expect(rows(without.stdout)[0]).toEqual([
    'pp@example.com',
    null,
    ['payment details: they require an owner token; log in with one and import the file again'],
  ])
  const [dry, real] = [await run('--dry-run'), await run()]
  expect([dry.code, real.code]).toEqual([8, 8])
  expect(rows(dry.stdout)).toEqual(rows(real.stdout))
  expect(rows(real.stdout)).toEqual([
    ['pp@example.com', 'PAYPAL', []],
    ['wise@example.com', 'WISE', []],
    ['bank@example.com', 'SEPA', []],
    ['wrong@example.com', null, ['payment details: the IBAN is not valid; compare it with a bank statement']],
    [
      'town@example.com',
      null,
      ['payment details: a bank account needs the town of its holder; add --map accountTown=Column'],
    ],
    ['mail@example.com', null, ['payment details: no email address of a PAYPAL account']],
  ])
  for (const { stdout, stderr } of [dry, real]) expect(stdout + stderr).not.toMatch(/3704|paypal\.example/)
  const [bank] = (await shop.client.affiliates.list({ q: 'bank@' })).data
  const account = await json(['affiliates', 'payee', 'get', bank?.id ?? ''], { env: shop.env })
  expect(account).toMatchObject({ method: 'SEPA', account: 'DE89…3000' })
  expect(rows((await run()).stdout).slice(0, 3)).toEqual([
    ['pp@example.com', 'kept', []],
    ['wise@example.com', 'kept', []],
    ['bank@example.com', 'kept', []],
  ])
}, 60_000)

test('an import that was interrupted before renaming an affiliate is completed', async () => {
  const { env } = shop
  await shop.client.affiliates.create({ email: 'half@example.com', name: 'halfway' })
  const path = join(folder.path, 'half.csv')
  writeFileSync(path, 'email,name,token,state\nhalf@example.com,Half Way,halfway,active\n')
  expect(await json(['import', 'rewardful', 'affiliates', path], { env })).toMatchObject([
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
  const dry = await cli(['import', 'refersion', 'affiliates', path, '--dry-run', '--json'], { env })
  const real = await cli(['import', 'refersion', 'affiliates', path, '--json'], { env })
  expect([dry.code, real.code]).toEqual([8, 8])
  expect(leftOut(dry.stdout)).toEqual(leftOut(real.stdout))
  expect(leftOut(real.stdout)).toEqual({
    'ona@example.com': [],
    'pia@example.com': ['balance 12.50: pay it in the old service'],
    'rob@example.com': ['code TAKEN1: taken by another affiliate'],
    'tess@example.com': [],
  })
  expect(real.stderr).toContain('pia@example.com: left out: balance 12.50: pay it in the old service')
  const [ona] = (await shop.client.affiliates.list({ q: 'ona@' })).data
  expect(ona?.slug).toBe('901-abc')
  const { data } = await shop.client.aliases.list({ limit: 100 })
  for (const value of ['SARAH10', '901.abc', 'bob', 'OTHER9', '904'])
    expect(
      data.map((one) => one.value),
      value,
    ).toContain(value)

  const clean = join(folder.path, 'clean.csv')
  writeFileSync(clean, 'Name,Email,Ref code,Coupon,Status\nUli Urs,uli@example.com,uli,ULI22,approved\n')
  for (const args of [['--dry-run'], []])
    expect((await cli(['import', 'goaffpro', 'affiliates', clean, ...args, '--json'], { env })).code).toBe(0)
}, 60_000)
