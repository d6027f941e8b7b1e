import { randomInt } from 'node:crypto'
import { type Define, group } from '../check.ts'
import { type Context, type Json, randomCode } from '../context.ts'

const DOMAIN = 'conformance.example'

/** An address of an affiliate, and another spelling of it. `x` makes them unique. */
const SAME_PERSON: ((x: string) => [string, string])[] = [
  (x) => [`mü${x}@${DOMAIN}`, `mu\u0308${x}@${DOMAIN}`],
  (x) => [`n.is.a${x}@gmail.com`, `nisa${x}@gmail.com`],
  (x) => [`n.isa${x}@gmail.com`, `N.I.S.A${x}+shop@GoogleMail.com`],
  (x) => [`dot${x}@${DOMAIN}`, `dot${x}@${DOMAIN}.`],
  (x) => [`named${x}@${DOMAIN}`, `Named Buyer <named${x}@${DOMAIN}>`],
  (x) => [`quoted${x}@${DOMAIN}`, `"Buyer, Q." <Quoted${x}+1@${DOMAIN}> `],
  (x) => [`idn${x}@münchen.example`, `idn${x}@xn--mnchen-3ya.example`],
  (x) => [`puny${x}@xn--mnchen-3ya.example`, `puny${x}@MU\u0308NCHEN.EXAMPLE`],
  (x) => [`full${x}@abc.example`, `full${x}@ａｂｃ。example`],
  (x) => [`hidden${x}@${DOMAIN}`, `hid\u200bden${x}@${DOMAIN}`],
]
const OTHER_PERSON: typeof SAME_PERSON = [
  (x) => [`a.b${x}@${DOMAIN}`, `ab${x}@${DOMAIN}`],
  (x) => [`ab${x}@${DOMAIN}`, `ab${x}@other.example`],
  (x) => [`muller${x}@${DOMAIN}`, `müller${x}@${DOMAIN}`],
]
const SAME_ADDRESS: typeof SAME_PERSON = [
  (x) => [`taken${x}@münchen.example`, `Taken${x}@XN--MNCHEN-3YA.example`],
  (x) => [`tü${x}@${DOMAIN}`, `tu\u0308${x}@${DOMAIN.toUpperCase()}`],
  (x) => [`j\u030c${x}@${DOMAIN}`, `J\u030c${x}@${DOMAIN}`],
]
const SAME_ORDER: typeof SAME_PERSON = [
  (x) => [`caf\u00e9-${x}`, `cafe\u0301-${x}`],
  (x) => [`ze-${x}`, `z\u200be-${x}`],
  (x) => [`bidi-${x}`, `\u202ebidi-${x}\u202c`],
  (x) => [`soft-${x}`, `so\u00adft-${x}\ufeff`],
  (x) => [`e\u0301-${x}`, `e\u034f\u0301-${x}`],
  (x) => [`space-${x}`, `\u2060 space-${x} \u2060`],
]
const OTHER_ORDER: typeof SAME_PERSON = [
  (x) => [`①-${x}`, `1-${x}`],
  (x) => [`Ａ-${x}`, `A-${x}`],
  (x) => [`x-a${x}`, `x-A${x}`],
]
const SAME_CODE: typeof SAME_PERSON = [
  (x) => [`ＳＭ１${x}`, `sm1${x.toLowerCase()}`],
  (x) => [`ﬁ${x}`, `FI${x}`],
  (x) => [`S\u3164${x}`, `s${x}`],
  (x) => [`❤\ufe0f${x}`, `❤${x}`],
  (x) => [`e\u0301${x}`, `É${x}`],
  (x) => [`Ⅷ${x}`, `viii${x}`],
]
const ALPHABETS = [
  'АБВГДЕЖЗИ',
  'אבגדהוזחט',
  'कखगघचछजझट',
  'ابتثجحخدذ',
  '一二三四五六七八九',
  'กขคงจฉชซญ',
  '🎁🎂🎃🎄🎅🎆🎇🎈🎉',
  'ÄÖÜÅÆÇÉÈÊ',
  '٠١٢٣٤٥٦٧٨',
]
// Zeros and the letter O in other scripts, and characters that are invisible or change the direction of text.
const NO_CODES =
  'A０ ｏA Ｏ Aº №1 A⁰ A\u200bB A\u200dB A\u202eB A\u2066B A\u200fB A\u00adB A\u061cB \u3164 \ufe0f A\u{e0041}'

/** Names, and searches that find them. */
const SEARCHES: Record<string, string[]> = {
  'Zoë Müller-Łukaszewicz': ['muller', 'MÜLLER\u2011lukas', 'Mu\u0308ller'],
  'Šárka Dvořáková': ['dvorakova'],
  'Wojciech Żółć': ['zolc'],
  'Séamus O’Brien': ["o'brien", 'o’brien', 'seamus'],
  'Ñandú Ærø': ['nandu aero'],
  Νίκος: ['νικοσ'],
  'ИЛЬЯ Королёв': ['королев'],
}

const unique = (): string => randomCode(5)

export const identity = group(
  'identity',
  { title: 'Spellings', page: 'decisions/05-identifiers-are-normalized.md#decision' },
  (rule) => {
    addresses(rule)
    orderIds(rule)
    codes(rule)
    searches(rule)
  },
)

function addresses(rule: Define): void {
  rule(
    'self-referral',
    'A buyer is the affiliate in any spelling of the address, and not with another one',
    async (t) => {
      for (const [spellings, code] of [
        [SAME_PERSON, 'SELF_REFERRAL'],
        [OTHER_PERSON, null],
      ] as const)
        for (const spelling of spellings) {
          const [email, customerEmail] = spelling(unique())
          const { discountCode: couponCode } = await t.affiliate({ email })
          const { commission } = await t.decide({ amountCents: 1000, couponCode, customerEmail })
          t.equal(commission.restrictionReasonCode, code, `restrictionReasonCode of ${email} and ${customerEmail}`)
        }
    },
  )
  rule('one-address', 'An address in another spelling is taken, and is returned as sent', async (t) => {
    for (const spelling of SAME_ADDRESS) {
      const [email, again] = spelling(unique())
      t.equal(t.expect(await t.post('/affiliates', { email, name: 'First' }), 201).data.email, email, 'email')
      t.expect(await t.post('/affiliates', { email: again, name: 'Second' }), 409, 'email_taken')
    }
  })
  rule('own-address', 'Dots and tags are part of an address that is registered', async (t) => {
    const x = unique()
    for (const email of [
      `de.ep${x}@gmail.com`,
      `deep${x}@gmail.com`,
      `deep${x}+2@gmail.com`,
      `deep${x}@googlemail.com`,
    ])
      t.expect(await t.post('/affiliates', { email, name: 'Deep' }), 201)
  })
  rule('customer', 'A customer is found by any spelling of the address', async (t) => {
    const [{ id, discountCode: couponCode }, x] = [await t.affiliateOf({ lifetimeCommission: true }), unique()]
    await t.order({ amountCents: 1000, couponCode, customerEmail: `Käufer${x}@bücher.example` })
    for (const customerEmail of [`ka\u0308ufer${x}@bu\u0308cher.example.`, `käufer${x}@xn--bcher-kva.example`]) {
      const { attribution } = await t.decide({ amountCents: 1000, customerEmail })
      t.equal(attribution.affiliateId, id, 'affiliateId')
      t.equal(t.expect(await t.get('/journey', { customerEmail }), 200).total, 1, 'total of the journey')
    }
  })
  rule('plus', 'An unencoded + in the query is a plus or a space, whichever is found', async (t) => {
    const x = unique()
    const email = `anna+${x}@${DOMAIN}`
    await t.affiliate({ email, name: `Anna @ ${x}` })
    t.expect(await t.post('/events', { type: 'click', ref: 'x', customerEmail: email }), 202)
    for (const text of [email, `%20Anna%20${x}@${DOMAIN}`, `Anna%2B${x}@${DOMAIN}`, `+anna+${x}@${DOMAIN}+`]) {
      const reply = await t.get(`/journey?customerEmail=${text}`)
      t.equal(t.expect(reply, 200).total, 1, `total of the journey of ${text}`)
    }
    for (const q of [email, `na+${x}@conf`, `Anna%20@%20${x}`, `anna+@+${x}`]) {
      const { data } = t.expect(await t.get(`/affiliates?q=${q}`), 200)
      t.equal(
        data.map((one: Json) => one.email),
        [email],
        `affiliates of ${q}`,
      )
    }
  })
}

function orderIds(rule: Define): void {
  const pairs = async (t: Context, spellings: typeof SAME_PERSON, isSame: boolean) => {
    const { discountCode: couponCode } = await t.sharedAffiliate()
    for (const spelling of spellings) {
      const [first, second] = spelling(t.id('o'))
      const [one, two] = [first, second].map((externalOrderId) => ({ externalOrderId, amountCents: 1000, couponCode }))
      const { commission } = await t.order(one)
      const reply = await t.report(two)
      const isKnown = reply.headers.get('X-Order-Already-Recorded') === 'true'
      t.equal([isKnown, reply.body.commission?.id === commission.id], [isSame, isSame], `whether ${second} is known`)
      if (!isSame) continue
      for (const id of [first, second, `api:${second}`]) {
        t.fields(await t.commissionOf(id), { id: commission.id, externalOrderId: first }, 'commission')
        const { data } = t.expect(await t.get('/orders/explanation', { externalOrderId: id }), 200)
        t.equal(data.externalOrderId, first, 'externalOrderId of the explanation')
      }
    }
  }
  rule('one-order', 'Order ids that differ in normalization or invisible characters are one order', (t) =>
    pairs(t, SAME_ORDER, true),
  )
  rule('two-orders', 'Order ids that differ in letter case or width are two orders', (t) =>
    pairs(t, OTHER_ORDER, false),
  )
  rule('no-order-id', 'An order id without visible characters returns 400', async (t) => {
    t.expect(await t.report({ externalOrderId: '\u200b \u2060', amountCents: 1 }), 400, 'invalid_body')
  })
}

function codes(rule: Define): void {
  const assign = async (t: Context, code: string) => t.post('/coupons', { affiliateId: (await t.affiliate()).id, code })
  const warnings = async (t: Context, code: string): Promise<Json[]> =>
    t.expect(await assign(t, code), 200).data.warnings

  rule(
    'one-code',
    'Codes that differ in case, width or invisible characters are one code, returned as sent',
    async (t) => {
      for (const spelling of SAME_CODE) {
        const [first, second] = spelling(unique())
        const { affiliateId, code } = t.expect(await assign(t, first), 200).data
        t.equal(code, first, 'code')
        t.expect(await assign(t, second), 409, 'discount_code_taken')
        for (const couponCode of [first, second, `${second}\u200b`]) {
          const { attribution } = await t.decide({ amountCents: 1000, couponCode })
          t.equal(attribution.affiliateId, affiliateId, `affiliateId of ${JSON.stringify(couponCode)}`)
        }
        const { data } = t.expect(await t.get('/coupons', { code: second }), 200)
        t.equal(
          data.map((one: Json) => one.code),
          [first],
          'codes',
        )
      }
    },
  )
  rule('no-code', 'Zeros and Os of any script, and invisible characters, are in no code', async (t) => {
    for (const code of NO_CODES.split(' ')) t.expect(await assign(t, code), 400, 'discount_code_invalid')
  })
  rule('code-length', 'A code has at most 9 characters as sent', async (t) => {
    t.expect(await assign(t, `ﷺﷺﷺﷺ${unique()}`), 200)
    t.expect(await assign(t, 'e\u0301'.repeat(5)), 400, 'discount_code_invalid')
  })
  rule('code-of-any-script', 'A code may have any script, and mixed ones return a warning', async (t) => {
    for (const alphabet of ALPHABETS) {
      const letters = [...alphabet]
      const code = Array.from({ length: 7 }, () => letters[randomInt(letters.length)]).join('')
      t.equal(await warnings(t, code), [], `warnings of ${code}`)
    }
    for (const letter of ['\u0415', '\u0391']) {
      const [warning, ...others] = await warnings(t, `${unique()}${letter}`)
      t.fields(warning, { code: 'mixed_scripts', affiliateId: null }, 'warning')
      t.equal(others, [], 'other warnings')
    }
  })
}

function searches(rule: Define): void {
  rule('search', 'A search ignores accents, letter case and typographic variants', async (t) => {
    const x = unique().toLowerCase()
    const found = async (q: string): Promise<string[]> =>
      t
        .expect(await t.get('/affiliates', { q, limit: 100 }), 200)
        .data.flatMap(({ name, email }: Json) => (email.startsWith(`fold-${x}`) ? [name] : []))
    // A vowel of the last script is a mark.
    for (const [n, name] of [...Object.keys(SEARCHES), 'कि'].entries())
      await t.affiliate({ email: `fold-${x}-${n}@${DOMAIN}`, name })
    for (const [name, queries] of Object.entries(SEARCHES))
      for (const q of queries) t.equal(await found(q), [name], `affiliates of ${q}`)
    for (const q of ['कु', 'mueller', '\u0301']) t.equal(await found(q), [], `affiliates of ${q}`)
  })
}
