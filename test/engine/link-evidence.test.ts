import { describe, expect, test } from 'vitest'
import { decide } from '../../server/src/engine/decide.ts'
import { affiliate, at, click, facts, outcome, program } from './facts.ts'

const DAY = 86_400_000

describe('the window of a click', () => {
  const clicked = (offset: number, days = 30) =>
    outcome(
      facts({
        order: { clickId: 'jrn_1' },
        matches: { click: click('A', at(offset)) },
        programs: [program({ cookieDurationDays: days })],
      }),
    )
  const MATCH = 'A DIRECT_LINK 0.95 CLICK_MATCH'

  test.each([
    [-30 * DAY, 30, MATCH],
    [-30 * DAY - 1, 30, 'null null 0 CLICK_EXPIRED'],
    [-7 * DAY, 7, MATCH],
    [-7 * DAY - 1, 7, 'null null 0 CLICK_EXPIRED'],
    [300_000, 30, MATCH],
    [300_001, 30, 'null null 0 CLICK_AFTER_ORDER'],
    [0, 1, MATCH],
    [0, 0, 'null null 0 CLICK_EXPIRED'],
    [1, 0, 'null null 0 CLICK_EXPIRED'],
  ])('a click %i ms from the order with a window of %i days: %s', (offset, days, expected) => {
    expect(clicked(offset, days)).toBe(expected)
  })

  test('the program of the clicked affiliate sets the window', () => {
    const input = facts({
      order: { clickId: 'jrn_1' },
      matches: { click: click('B', at(-8 * DAY)) },
      affiliates: [affiliate('A'), affiliate('B', { programId: 'prg_2' })],
      programs: [program({ cookieDurationDays: 365 }), program({ id: 'prg_2', cookieDurationDays: 7 })],
    })
    expect(outcome(input)).toBe('null null 0 CLICK_EXPIRED')
  })

  test('without a program it is 30 days', () => {
    for (const [offset, expected] of [
      [-30 * DAY, MATCH],
      [-30 * DAY - 1, 'null null 0 CLICK_EXPIRED'],
    ] as const) {
      const input = facts({
        order: { clickId: 'jrn_1' },
        matches: { click: click('A', at(offset)) },
        affiliates: [affiliate('A', { programId: null })],
      })
      expect(outcome(input)).toBe(expected)
    }
  })

  test('0 days reject a ref without a click as well', () => {
    const input = facts({ order: { ref: 'a' }, matches: { ref: 'A' }, programs: [program({ cookieDurationDays: 0 })] })
    expect(outcome(input)).toBe('null null 0 NO_MATCH')
    expect(decide(input).candidates).toMatchObject([{ source: 'ref', affiliateId: 'A', confidence: 0, won: false }])
  })

  test('with an expired click the customer connection wins', () => {
    const input = facts({
      order: { clickId: 'jrn_1', customerId: 'c' },
      matches: { click: click('A', at(-31 * DAY)), customerId: 'B' },
    })
    expect(outcome(input)).toBe('B CONNECTED_CUSTOMER 0.9 CONNECTED_CUSTOMER_ID_MATCH')
    expect(decide(input).candidates[0]).toMatchObject({ affiliateId: 'A', reasonCode: 'CLICK_EXPIRED', won: false })
  })
})

test('an unknown ref is reported as matching nobody', () => {
  const { attribution, candidates } = decide(facts({ order: { ref: 'ghost' } }))
  expect(candidates).toMatchObject([{ source: 'ref', value: 'ghost', affiliateId: null, reasonCode: 'NO_MATCH' }])
  expect(attribution).toMatchObject({ affiliateId: null, reasonCode: 'NO_MATCH' })
})

describe('clicks of a session', () => {
  const session = (clickTouch: 'LAST' | 'FIRST', sessionClicks: ReturnType<typeof click>[]) =>
    facts({ order: { sessionId: 's' }, matches: { sessionClicks }, settings: { clickTouch } })
  const two = [click('B', at(-1), 'jrn_2'), click('A', at(-2), 'jrn_1')]

  test('LAST takes the last, FIRST the first', () => {
    expect(decide(session('LAST', two)).attribution.affiliateId).toBe('B')
    expect(decide(session('FIRST', two)).attribution.affiliateId).toBe('A')
  })

  test('ties go by click id', () => {
    const tied = [click('B', at(-1), 'jrn_2'), click('A', at(-1), 'jrn_1')]
    for (const clicks of [tied, tied.toReversed()]) {
      expect(decide(session('LAST', clicks)).attribution.affiliateId).toBe('B')
      expect(decide(session('FIRST', clicks)).attribution.affiliateId).toBe('A')
    }
  })

  test('a click that does not count is skipped in favor of the next one', () => {
    const late = [...two, click('A', at(300_001), 'jrn_9')]
    expect(decide(session('LAST', late)).attribution.affiliateId).toBe('B')
    const old = [...two, click('B', at(-31 * DAY), 'jrn_0')]
    expect(decide(session('FIRST', old)).attribution.affiliateId).toBe('A')
  })

  test('a session without clicks is reported as matching nobody', () => {
    const { attribution, candidates } = decide(session('LAST', []))
    expect(candidates).toMatchObject([{ source: 'sessionId', value: 's', reasonCode: 'NO_MATCH', won: false }])
    expect(attribution.reasonCode).toBe('NO_MATCH')
  })

  test('a click that does not count is shown with the session as its source', () => {
    const { candidates } = decide(session('LAST', [click('A', at(-31 * DAY), 'jrn_1')]))
    expect(candidates).toMatchObject([{ source: 'sessionId', value: 'jrn_1', reasonCode: 'CLICK_EXPIRED' }])
  })

  test('every click is shown, the preferred one first', () => {
    const shown = decide(session('LAST', two)).candidates.map(({ source, value, won }) => `${source} ${value} ${won}`)
    expect(shown).toEqual(['sessionId jrn_2 true', 'sessionId jrn_1 false'])
  })
})
