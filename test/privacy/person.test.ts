import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { mailboxesIn, Person } from '../../server/src/domains/privacy/person.ts'
import { emailKey, mailboxKey } from '../../server/src/engine/normalize.ts'

const EMAIL = 'Cänary.Person@exämple.com'
/** Spellings of one mailbox. */
const SPELLINGS = [
  EMAIL,
  EMAIL.toUpperCase(),
  EMAIL.normalize('NFD'),
  ' cänary.person@exämple.com ',
  'cänary.person+shop@exämple.com',
  'cänary.person@xn--exmple-cua.com',
  'cänary.person＠exämple.com',
  'cänary.\u200bperson@exämple.com',
  'Canary Person <cänary.person@exämple.com>',
  'mailto:cänary.person@exämple.com',
  'cänary.person@exämple.com.',
]
const OTHERS = [
  'person@exämple.com',
  'xcänary.person@exämple.com',
  'cänary.person@exämple.org',
  'canary.person@example.com',
]

const person = new Person(EMAIL, { key: 'a key' })

describe('the addresses of a person', () => {
  test.each(SPELLINGS)('%s is recognized', (text) => {
    expect(person.hasAddress(text)).toBe(true)
    const replaced = person.replaceAddresses(text)
    expect(replaced).toMatch(/^erased-[0-9a-f]{24}(\+[0-9a-f]{24})?@erased\.invalid$/)
    expect(mailboxKey(replaced)).toBe(mailboxKey(person.replaceAddresses(EMAIL)))
  })

  test.each(OTHERS)('%s belongs to another person', (text) => {
    expect(person.hasAddress(text)).toBe(false)
    expect(person.replaceAddresses(text)).toBe(text)
  })

  const texts = (email: string) => [
    email,
    `Returned by ${email}, damaged`,
    `order-${email}-7`,
    `https://shop.example/?email=${encodeURIComponent(email)}&a=1`,
    `https://shop.example/?email=${encodeURIComponent(encodeURIComponent(email))}`,
    `{"email":"${email}"}`,
    `(${email})`,
    `${email}.pdf`,
    `a_${email}_b`,
  ]
  test.each(SPELLINGS.slice(0, 8).flatMap((one) => texts(one.trim())))('%s mentions the person', (text) => {
    expect(person.isMentionedIn(text)).toBe(true)
    expect(person.isMentionedIn(person.replaceText(text))).toBe(false)
  })

  test.each([...OTHERS.map((one) => `Returned by ${one}`), 'no address', '@', '100% @ 5%40'])(
    '%s does not mention the person',
    (text) => {
      expect(person.replaceText(text)).toBe(text)
    },
  )

  test.each(SPELLINGS.slice(0, 8).flatMap((one) => texts(one.trim())))(
    'the mailboxes in %s include that of the person',
    (text) => expect(mailboxesIn(text)).toContain(mailboxKey(EMAIL)),
  )

  test('every person who is mentioned in a text is among its mailboxes', () => {
    const part = fc.stringMatching(/^[a-zä0-9._%+＠@<>"'(),;:&=?/ \\-]{0,6}$/)
    const address = fc.constantFrom(...SPELLINGS, 'jo.doe+x@googlemail.com', 'jo@sub.example.co.uk', '"jo"@example.com')
    fc.assert(
      fc.property(fc.array(fc.oneof(part, address), { maxLength: 5 }), address, (parts, email) => {
        const text = parts.join('')
        fc.pre(new Person(email).isMentionedIn(text))
        expect(mailboxesIn(text)).toContain(mailboxKey(email))
      }),
      { numRuns: 500 },
    )
  })

  test('a Gmail address has dots and an alias domain', () => {
    const gmail = new Person('jo.doe@gmail.com', { key: 'a key' })
    expect(gmail.isMentionedIn('id-j.odoe+x@googlemail.com-1')).toBe(true)
    expect(gmail.hasAddress('jodoe@googlemail.com')).toBe(true)
    expect(gmail.hasAddress('jodo@gmail.com')).toBe(false)
  })
})

describe('pseudonyms', () => {
  test('addresses that connections tell apart stay apart, and share a mailbox', () => {
    const [a, b] = ['jo+1@example.com', 'jo+2@example.com'].map((one) =>
      new Person('jo@example.com', { key: 'k' }).replaceAddresses(one),
    )
    expect(emailKey(a!)).not.toBe(emailKey(b!))
    expect(mailboxKey(a!)).toBe(mailboxKey(b!))
  })

  test('are replaced no further, so that an interrupted erasure can continue', () => {
    for (const text of [...SPELLINGS, `api:${EMAIL}`, `adj:com_1:${EMAIL}`]) {
      const once = person.replaceAddresses(person.replaceText(text))
      expect(person.replaceText(person.replaceAddresses(once))).toBe(once)
    }
    expect(person.hasAddress(person.replaceAddresses(EMAIL))).toBe(true)
    expect(person.pseudonym(person.pseudonym('c-1'))).toBe(person.pseudonym('c-1'))
  })

  test('differ by key, so that nobody can compute them without it', () => {
    expect(new Person(EMAIL, { key: 'another key' }).replaceAddresses(EMAIL)).not.toBe(person.replaceAddresses(EMAIL))
  })

  test('a stored order id keeps its source, and equals the pseudonym of the reported id', () => {
    expect(person.replaceText(`api:${EMAIL}-1`)).toBe(`api:${person.replaceText(`${EMAIL}-1`)}`)
    expect(person.replaceText(`adj:com_1:${EMAIL}`)).toBe(`adj:com_1:${person.replaceText(EMAIL)}`)
  })

  test('addresses of other people in the same text are kept', () => {
    const replaced = person.replaceAddresses(`own@example.com, ${EMAIL}`)
    expect(replaced).toMatch(/^own@example\.com, erased-\w+@erased\.invalid$/)
  })

  test('no text that is replaced mentions the person', () => {
    const part = fc.oneof(
      fc.constantFrom(...SPELLINGS, ...OTHERS, 'api:', 'adj:x:', '@', '%40', '<', '>', '"', '(', ')', ','),
      fc.string(),
    )
    fc.assert(
      fc.property(fc.array(part, { maxLength: 6 }), (parts) => {
        const text = parts.join('')
        expect(person.isMentionedIn(person.replaceText(text))).toBe(false)
        const address = person.replaceAddresses(text)
        expect(person.isMentionedIn(address) && person.hasAddress(text)).toBe(false)
      }),
    )
  })
})
