import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PRECEDENCE_PRESETS } from '../../server/src/engine/attribution.ts'
import { goodsOf } from '../../server/src/engine/commission.ts'
import { decide } from '../../server/src/engine/decide.ts'
import type { EvidenceKind } from '../../server/src/engine/facts.ts'
import { parseFacts, serializeFacts } from '../../server/src/engine/stored-facts.ts'
import { anyFacts, cents, lines } from './arbitraries.ts'

const RUNS = { numRuns: 1000 }
const total = (values: number[]) => values.reduce((sum, value) => sum + value, 0)
const isAmount = (value: number) => Number.isSafeInteger(value) && value >= 0 && !Object.is(value, -0)

test('the same facts give the same bytes, even after a JSON round trip, and are not changed', () => {
  fc.assert(
    fc.property(anyFacts, (facts) => {
      const before = JSON.stringify(facts)
      const first = JSON.stringify(decide(facts))
      expect(JSON.stringify(decide(facts))).toBe(first)
      expect(JSON.stringify(decide(JSON.parse(before)))).toBe(first)
      expect(JSON.parse(first)).toEqual(decide(facts))
      expect(JSON.stringify(facts)).toBe(before)
    }),
    RUNS,
  )
})

test('stored facts are read as they were, with what was left out', () => {
  fc.assert(
    fc.property(anyFacts, (facts) => {
      const stored = serializeFacts(facts)
      const complete = JSON.stringify(facts)
      expect(parseFacts(stored)).toStrictEqual(JSON.parse(complete))
      expect(parseFacts(complete)).toStrictEqual(JSON.parse(complete))
      expect(stored).not.toMatch(/null|\[\]/)
      expect(JSON.stringify(decide(parseFacts(stored)))).toBe(JSON.stringify(decide(facts)))
    }),
    RUNS,
  )
})

test('every amount is a whole number and never negative', () => {
  fc.assert(
    fc.property(anyFacts, (facts) => {
      const decision = decide(facts)
      const own = [decision.subtotalCents, decision.baseCents, decision.amountCents, decision.taxWithheldCents]
      const groups = decision.groups.flatMap((group) => [group.baseCents, group.quantity, group.amountCents])
      expect([...own, ...groups, decision.rateBps].filter((value) => !isAmount(value))).toEqual([])
      expect(decision.baseCents).toBeLessThanOrEqual(decision.subtotalCents)
      expect(decision.taxWithheldCents).toBeLessThanOrEqual(decision.amountCents)
    }),
    RUNS,
  )
})

test('the groups of an earning order add up to its base and, unless it is capped, its amount, and hold each line once', () => {
  fc.assert(
    fc.property(anyFacts, (facts) => {
      const { eligible, groups, baseCents, amountCents, attribution, programId, terms } = decide(facts)
      if (!eligible) {
        expect(groups).toEqual([])
        return
      }
      expect(total(groups.map((group) => group.baseCents))).toBe(baseCents)
      const rule = facts.programs[programId!]!.terms?.[0]?.rules[terms?.rule ?? -1]
      const cap = rule?.maxCommissionCents ?? Number.POSITIVE_INFINITY
      const full = total(groups.map((group) => group.amountCents))
      expect([full, Math.min(full, cap)]).toContain(amountCents)
      const held = groups.flatMap((group) => group.lines)
      expect(new Set(held).size).toBe(held.length)
      if (attribution.method !== 'CONNECTED_PRODUCT') expect(held).toHaveLength(facts.order.lines.length)
    }),
    RUNS,
  )
})

test('status, eligibility and restriction agree', () => {
  fc.assert(
    fc.property(anyFacts, (facts) => {
      const { attribution, status, eligible, restrictionReasonCode, amountCents, candidates } = decide(facts)
      expect(status === null).toBe(attribution.affiliateId === null)
      expect(status === 'REJECTED').toBe(restrictionReasonCode !== null)
      expect(eligible).toBe(status === 'PENDING' || status === 'APPROVED')
      if (!eligible) expect(amountCents).toBe(0)
      const won = candidates.filter((candidate) => candidate.won)
      expect(won.map(({ affiliateId, reasonCode }) => ({ affiliateId, reasonCode }))).toEqual(
        status === null ? [] : [{ affiliateId: attribution.affiliateId, reasonCode: attribution.reasonCode }],
      )
    }),
    RUNS,
  )
})

test('evidence is gathered in one order and the winner is the first that counts by precedence', () => {
  const kinds: readonly EvidenceKind[] = PRECEDENCE_PRESETS.default
  fc.assert(
    fc.property(anyFacts, (facts) => {
      const { candidates, attribution } = decide(facts)
      const places = candidates.map((candidate) => kinds.indexOf(candidate.kind))
      expect(places).toEqual(places.toSorted((a, b) => a - b))
      const counting = facts.settings.precedence.find((kind) =>
        candidates.some((candidate) => candidate.kind === kind && candidate.confidence > 0),
      )
      expect(attribution.method).toBe(counting ?? null)
    }),
    RUNS,
  )
})

test('more evidence of a lower kind never changes the winner', () => {
  fc.assert(
    fc.property(anyFacts, (facts) => {
      const { attribution } = decide(facts)
      fc.pre(attribution.method === 'COUPON' && facts.settings.precedence[0] === 'COUPON')
      const silent = {
        ...facts,
        order: { ...facts.order, ref: null, clickId: null, sessionId: null, customerId: null },
      }
      expect(decide(silent).attribution).toEqual(attribution)
    }),
    { numRuns: 300 },
  )
})

test('line shares of the discount add up to it, and goods to the base', () => {
  fc.assert(
    fc.property(fc.oneof(fc.constant(null), cents), cents, lines, (amountCents, discountCents, orderLines) => {
      const { subtotal, base, gross, net, restNet } = goodsOf({ amountCents, discountCents, lines: orderLines })
      const rest = subtotal - total(gross)
      const shares = net.map((value, index) => gross[index]! - value)
      expect(rest).toBeGreaterThanOrEqual(0)
      const own = total(orderLines.map((line, at) => Math.min(line.discountCents ?? 0, gross[at]!)))
      const spent = Math.max(own, Math.min(discountCents, subtotal))
      expect(total(shares) + rest - restNet).toBe(spent)
      expect(total(net) + restNet).toBe(base)
      expect(base).toBe(subtotal - spent)
      expect([...gross, ...net, ...shares, restNet].every(isAmount)).toBe(true)
    }),
    RUNS,
  )
})
