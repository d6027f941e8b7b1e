import fc from 'fast-check'
import { expect, test } from 'vitest'
import { slugAttempt, slugFrom } from '../../server/src/engine/affiliate-codes.ts'

test.each([
  ['Ada Lovelace', 'ada-lovelace'],
  ['  Zoë   Ångström ', 'zoe-angstrom'],
  ["Sinéad O'Connor", 'sinead-oconnor'],
  ['Sinéad O’Connor', 'sinead-oconnor'],
  ['Łukasz Żółć', 'lukasz-zolc'],
  ['Jürgen Groß', 'jurgen-gross'],
  ['Søren Kjær', 'soren-kjaer'],
  ['İpek Işık', 'ipek-isik'],
  ['Đorđe Ðuro Ħal', 'dorde-duro-hal'],
  ['Þór Œuvre Ŧim', 'thor-oeuvre-tim'],
  ['ﬁne & dandy!', 'fine-dandy'],
  ['Ⅷ Studio', 'viii-studio'],
  ['a--b__c', 'a-b-c'],
  ['-x-', 'x'],
  ['王小明', 'affiliate'],
  ['🎁', 'affiliate'],
  ['', 'affiliate'],
  [`${'a'.repeat(59)} b`, 'a'.repeat(59)],
])('the name %j gives the slug %s', (name, slug) => {
  expect(slugFrom(name)).toBe(slug)
})

test('a slug is ASCII and its own slug', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (name) => {
      const slug = slugFrom(name)
      expect(slug).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/)
      expect(slug.length).toBeLessThanOrEqual(60)
      expect(slugFrom(slug)).toBe(slug)
    }),
    { numRuns: 300 },
  )
})

test('the forms of a slug to try are numbered', () => {
  expect([1, 2, 3].map((attempt) => slugAttempt('zoe', attempt))).toEqual(['zoe', 'zoe-2', 'zoe-3'])
})
