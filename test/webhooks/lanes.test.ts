import { expect, test } from 'vitest'
import type { ClaimedDelivery } from '../../server/src/repositories/deliveries.ts'
import { Lanes } from '../../server/src/webhooks/lanes.ts'

let made = 0
const some = (subscriptionId: string, count: number) =>
  Array.from({ length: count }, (): ClaimedDelivery => {
    const id = `dlv_${String(made++).padStart(6, '0')}`
    return {
      id,
      subscriptionId,
      shopId: 's',
      webhookId: id,
      event: 'test',
      body: '{}',
      url: 'https://x.example',
      secret: null,
    }
  })
const takeAll = (lanes: Lanes) => {
  const taken: ClaimedDelivery[] = []
  for (let one = lanes.next(); one; one = lanes.next()) taken.push(one)
  return taken
}
/** Claims as planned and sends everything, as long as the subscription answers. */
function answer(lanes: Lanes, subscriptionId: string, rounds: number) {
  for (let i = 0; i < rounds; i++) {
    lanes.add(some(subscriptionId, lanes.plan([subscriptionId]).get(subscriptionId) ?? 0))
    for (const one of takeAll(lanes)) lanes.end(one, true)
  }
}

test('subscriptions take turns, each in its own order', () => {
  const lanes = new Lanes()
  const [a, b] = [some('a', 3), some('b', 3)]
  lanes.add([...a, ...b])
  expect(takeAll(lanes)).toEqual([a[0], b[0], a[1], b[1]])
  lanes.end(a[0]!, true)
  expect(takeAll(lanes)).toEqual([a[2]])
})

test('a subscription that answers gets more at a time, up to 16', () => {
  const lanes = new Lanes()
  expect(lanes.plan(['a']).get('a')).toBe(8)
  answer(lanes, 'a', 1)
  lanes.add(some('a', 100))
  const widths = []
  for (let i = 0; i < 6; i++) {
    const taken = takeAll(lanes)
    widths.push(taken.length)
    for (const one of taken) lanes.end(one, true)
  }
  expect(Math.max(...widths)).toBe(16)
})

test('one that does not answer gives back what waits, and gets one at a time until it answers', () => {
  const lanes = new Lanes()
  const mine = some('a', 8)
  lanes.add(mine)
  const [first, second] = takeAll(lanes)
  lanes.end(first!, false)
  expect(lanes.unwanted()).toEqual(mine.slice(2).map(({ id }) => id))
  expect(lanes.unwanted()).toEqual([])
  expect(lanes.plan(['a']).size).toBe(0)
  lanes.end(second!, false)
  expect(lanes.isEmpty).toBe(true)
  expect(lanes.plan(['a']).get('a')).toBe(1)
  lanes.add(some('a', 1))
  lanes.end(takeAll(lanes)[0]!, true)
  expect(lanes.plan(['a']).get('a')).toBe(8)
})

test('those that do not answer share a bound of their own and leave the others theirs', () => {
  const lanes = new Lanes()
  const silent = Array.from({ length: 500 }, (_, i) => `silent${i}`)
  for (const id of silent) {
    lanes.add(some(id, 1))
    for (const one of takeAll(lanes)) lanes.end(one, false)
  }
  const plan = lanes.plan([...silent, 'fine'])
  expect(plan.size).toBe(65)
  for (const [id, count] of plan) lanes.add(some(id, count))
  const taken = takeAll(lanes)
  expect(taken.filter(({ subscriptionId }) => subscriptionId === 'fine')).toHaveLength(2)
  expect(taken).toHaveLength(66)
})

test('no more is in flight, or claimed in one go, than the bounds say', () => {
  const lanes = new Lanes()
  const ids = Array.from({ length: 1000 }, (_, i) => `s${i}`)
  const plan = lanes.plan(ids)
  expect([...plan.values()].reduce((sum, count) => sum + count, 0)).toBe(1536)
  for (const [id, count] of plan) lanes.add(some(id, count))
  expect(lanes.plan(ids).size).toBe(0)
  expect(takeAll(lanes)).toHaveLength(192)
})

test('whatever ends how, in the end nothing is counted', () => {
  const lanes = new Lanes()
  let seed = 7
  const random = () => {
    seed = (seed * 48271) % 2147483647
    return seed / 2147483647
  }
  let inFlight: ClaimedDelivery[] = []
  for (let round = 0; round < 3000; round++) {
    for (const [id, count] of lanes.plan(['a', 'b', 'c', 'd'])) lanes.add(some(id, Math.ceil(random() * count)))
    inFlight.push(...takeAll(lanes))
    lanes.unwanted()
    const ending = inFlight.filter(() => random() < 0.3)
    inFlight = inFlight.filter((one) => !ending.includes(one))
    for (const one of ending) lanes.end(one, random() < 0.7)
  }
  while (!lanes.isEmpty) {
    inFlight.push(...takeAll(lanes))
    for (const one of inFlight.splice(0)) lanes.end(one, true)
  }
  expect(lanes.next()).toBeUndefined()
  expect(lanes.plan(['a', 'new'])).toEqual(
    new Map([
      ['a', 8],
      ['new', 8],
    ]),
  )
})
