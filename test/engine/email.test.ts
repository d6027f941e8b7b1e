import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { emailKey, emailKeysFromQuery, mailboxKey, mailboxKeys } from '../../server/src/engine/normalize.ts'

describe('the key of an address', () => {
  test.each([
    [' Nisa@Example.COM ', 'nisa@example.com'],
    ['mu\u0308ller@example.com', 'müller@example.com'],
    ['J\u030c@example.com', '\u01f0@example.com'],
    ['a@MÜNCHEN.de', 'a@xn--mnchen-3ya.de'],
    ['a@mu\u0308nchen.de', 'a@xn--mnchen-3ya.de'],
    ['a@XN--MNCHEN-3YA.de', 'a@xn--mnchen-3ya.de'],
    ['a@example.com.', 'a@example.com'],
    ['a@example。com。', 'a@example.com'],
    ['a@straße.de', 'a@xn--strae-oqa.de'],
    ['a@שלום.קום', 'a@xn--9dbne9b.xn--9dbq2a'],
    ['"a@b"@example.com', '"a@b"@example.com'],
    ['a.b+c@gmail.com', 'a.b+c@gmail.com'],
    ['not an address', 'not an address'],
    // A host name that URLs forbid or would truncate is unchanged.
    ['a@ä/b.de', 'a@ä/b.de'],
    ['a@ä%41.de', 'a@ä%41.de'],
    ['a@ä:80', 'a@ä:80'],
    ['a@ä\u200c.de', 'a@ä\u200c.de'],
    ['a@[::1]', 'a@[::1]'],
    ['a@⁰', 'a@⁰'],
    ['', ''],
    ['@', '@'],
  ])('%j has the key %j', (email, key) => {
    expect(emailKey(email)).toBe(key)
  })

  test('is its own key, in any letter case and Unicode form', () => {
    const text = fc.string({ unit: 'binary', maxLength: 20 })
    fc.assert(
      fc.property(text, text, (local, domain) => {
        const email = `${local}@${domain}`
        const key = emailKey(email)
        expect(emailKey(key)).toBe(key)
        expect(emailKey(email.normalize('NFD'))).toBe(key)
        expect(emailKey(email.toLowerCase())).toBe(key)
        expect(mailboxKey(key)).toBe(mailboxKey(email))
      }),
      { numRuns: 2000 },
    )
  })
})

describe('the mailbox of an address', () => {
  test.each([
    ['Nisa Karim <Nisa+x@example.com>', 'nisa@example.com'],
    ['<nisa@example.com>', 'nisa@example.com'],
    ['"<odd>" <nisa@example.com>', 'nisa@example.com'],
    ['N.i.s.a+x@GoogleMail.com.', 'nisa@gmail.com'],
    ['n.isa@example.com', 'n.isa@example.com'],
    ['ｎｉｓａ＠ｅｘａｍｐｌｅ．ｃｏｍ', 'nisa@example.com'],
    ['ni\u200bsa\u00ad@exa\ufeffmple.com', 'nisa@example.com'],
    ['\u202enisa@example.com\u202c', 'nisa@example.com'],
    ['"nisa"@example.com', 'nisa@example.com'],
    ['\u03f9@example.com', '\u03c2@example.com'],
    ['nisa@example.com (me)', 'nisa@example.com'],
    ['(x (y)) nisa(z)@example.com', 'nisa@example.com'],
    ['mailto:nisa@example.com', 'nisa@example.com'],
    ['nisa @example.com;', 'nisa@example.com'],
    ['nisa@example.com, other@example.com', 'nisa@example.com'],
    ['+tag@example.com', '+tag@example.com'],
    ['gmail.com', 'gmail.com'],
    ['', ''],
  ])('%j has the mailbox %j', (email, mailbox) => {
    expect(mailboxKey(email)).toBe(mailbox)
  })
})

test.each([
  ['x@y.example, nisa@example.com'],
  ['x@y.example;nisa+1@example.com'],
  ['x@y.example nisa@example.com'],
  ['nisa@example.com>'],
  ['<nisa@example.com'],
  ['<x@y.example> <nisa@example.com>'],
  ['"nisa@example.com" <x@y.example>'],
])('%j names the mailbox of its owner among others', (text) => {
  expect(mailboxKeys(text)).toContain('nisa@example.com')
})

test('a text without an address has no other mailbox', () => {
  expect(mailboxKeys('')).toEqual([])
  expect(mailboxKeys('nobody')).toEqual(['nobody'])
  expect(mailboxKeys('nisa@example.com')).toEqual(['nisa@example.com'])
})

test.each([
  ['a+b@x.de', ['a+b@x.de']],
  ['a b@x.de', ['a b@x.de', 'a+b@x.de']],
  [' a b c@x.de ', ['a b c@x.de', 'a+b+c@x.de']],
  ['no address', ['no address']],
])('%j in a query may be stored as %j', (text, keys) => {
  expect(emailKeysFromQuery(text)).toEqual(keys)
})
