import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CODE_ALPHABET, codeFromBytes, codeKey, codeProblem } from '../../server/src/engine/affiliate-codes.ts'

describe('a supplied code', () => {
  test.each(['A', 'SUMMER25', 'ABCDEFGHI', 'straße', 'ÉTÉ-26', '🎁🎁🎁🎁🎁🎁🎁🎁🎁', 'a+b/c?'])(
    '%s is fine',
    (code) => {
      expect(codeProblem(code)).toBeNull()
    },
  )

  test.each([
    ['', 'EMPTY'],
    ['ABCDEFGHIJ', 'TOO_LONG'],
    ['🎁🎁🎁🎁🎁🎁🎁🎁🎁🎁', 'TOO_LONG'],
    ['A B', 'NOT_VISIBLE'],
    [' AB', 'NOT_VISIBLE'],
    ['A\u00a0B', 'NOT_VISIBLE'],
    ['A\ufeffB', 'NOT_VISIBLE'],
    ['A\nB', 'NOT_VISIBLE'],
    ['A\u0000', 'NOT_VISIBLE'],
    ['A\u0085', 'NOT_VISIBLE'],
    ['A\ud800', 'NOT_VISIBLE'],
    ['A0', 'FORBIDDEN_CHARACTER'],
    ['PROMO', 'FORBIDDEN_CHARACTER'],
    ['promo', 'FORBIDDEN_CHARACTER'],
  ])('the code %j has the problem %s', (code, problem) => {
    expect(codeProblem(code)).toBe(problem)
  })
})

describe('comparing codes', () => {
  test.each([
    ['SUMMER', 'summer'],
    [' Summer ', 'sUMMER'],
    ['ÉTÉ', 'été'],
    ['E\u0301TE', 'éte'],
    ['STRASSE', 'straße'],
    ['STRAẞE', 'straße'],
    ['ΣΑΣ', 'σας'],
    ['ДЕНЬ', 'день'],
    ['α\u0345\u0301', 'α\u0301\u0345'],
    ['\u01f0', 'J\u030c'],
    ['ß\u0301', 'SŚ'],
  ])('the code %s equals the code %s', (a, b) => {
    expect(codeKey(a)).toBe(codeKey(b))
  })

  test('what is stored to compare by is in lower case', () => {
    expect([' Summer25 ', 'STRAẞE', 'ÉTÉ'].map(codeKey)).toEqual(['summer25', 'strasse', 'été'])
  })

  test.each([
    ['SUMMER', 'SUMMERS'],
    ['ETE', 'ÉTÉ'],
    ['A1', 'A2'],
  ])('the code %s differs from the code %s', (a, b) => {
    expect(codeKey(a)).not.toBe(codeKey(b))
  })

  test('a key is its own key, in any letter case', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 9 }), (code) => {
        const key = codeKey(code)
        expect(codeKey(key)).toBe(key)
        expect(codeKey(code.toLowerCase())).toBe(key)
        expect(codeKey(code.normalize('NFD'))).toBe(key)
      }),
      { numRuns: 500 },
    )
  })

  test('upper and lower case of plain letters meet', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[A-Za-zÀ-ÖØ-öø-þА-Яа-я1-9]{1,9}$/), (code) => {
        expect(codeKey(code.toUpperCase())).toBe(codeKey(code))
      }),
    )
  })
})

describe('a generated code', () => {
  test('takes every letter and digit but 0 and O', () => {
    expect([...CODE_ALPHABET].toSorted().join('')).toBe('123456789ABCDEFGHIJKLMNPQRSTUVWXYZ')
  })

  test('is read off the bytes', () => {
    expect(codeFromBytes(Uint8Array.of(0, 1, 2, 3, 33, 34, 35, 237))).toBe('ABCD9AB9')
  })

  test('skips the bytes that would favor some letters', () => {
    expect(codeFromBytes(Uint8Array.of(238, 0, 255, 1, 2, 3, 4, 5, 6, 7, 8))).toBe('ABCDEFGH')
  })

  test('is null when bytes run out', () => {
    expect(codeFromBytes(new Uint8Array(7))).toBeNull()
    expect(codeFromBytes(new Uint8Array(64).fill(255))).toBeNull()
  })

  test('gives every character the same number of byte values', () => {
    const counts = new Map<string, number>()
    for (let byte = 0; byte < 256; byte++) {
      const first = codeFromBytes(Uint8Array.of(byte, 0, 0, 0, 0, 0, 0, 0))?.[0]
      if (first) counts.set(first, (counts.get(first) ?? 0) + 1)
    }
    expect([...counts.values()]).toEqual(Array(34).fill(7))
  })

  test('is always a valid supplied code', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (bytes) => {
        const code = codeFromBytes(bytes)
        fc.pre(code !== null)
        expect(code).toMatch(/^[A-NP-Z1-9]{8}$/)
        expect(codeProblem(code)).toBeNull()
      }),
    )
  })
})
