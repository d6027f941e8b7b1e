import { expect, test } from 'vitest'
import type { Delivery } from '../../server/src/webhooks/exchange.ts'
import { type Lane, Lanes } from '../../server/src/webhooks/lanes.ts'

type Taken = { lane: Lane; delivery: Delivery }

let made = 0
const to = (id: string) => ({
  id,
  shopId: 's',
  url: 'https://x.example',
  secret: null,
  previousSecret: null,
  previousSecretUntil: null,
})
const some = (subscriptionId: string, count: number) =>
  Array.from({ length: count }, (): Delivery => {
    const id = `dlv_${String(made++).padStart(6, '0')}`
    return { id, subscriptionId, eventId: 'e', webhookId: id, follows: null, event: 'test', body: '{}' }
  })
const add = (lanes: Lanes, deliveries: Delivery[]) => {
  for (const one of deliveries) lanes.add(to(one.subscriptionId), one)
}
const takeAll = (lanes: Lanes) => {
  const taken: Taken[] = []
  for (let one = lanes.next(); one; one = lanes.next()) taken.push(one)
  return taken
}
const ids = (list: (Taken | Delivery)[]) => list.map((one) => ('lane' in one ? one.delivery.id : one.id))
const end = (lanes: Lanes, { lane, delivery }: Taken, wasAnswered = true) => lanes.end(lane, delivery, wasAnswered)

test('subscriptions take turns, each in its own order', () => {
  const lanes = new Lanes()
  const [a, b] = [some('a', 3), some('b', 3)]
  add(lanes, [...a, ...b])
  const taken = takeAll(lanes)
  expect(ids(taken)).toEqual(ids([a[0]!, b[0]!, a[1]!, b[1]!]))
  end(lanes, taken[0]!)
  expect(ids(takeAll(lanes))).toEqual(ids([a[2]!]))
})

test('the events of one change go one after the other, and hold up nothing else', () => {
  const lanes = new Lanes()
  const [first, second, third, other] = some('a', 4) as [Delivery, Delivery, Delivery, Delivery]
  second.follows = first.id
  third.follows = second.id
  add(lanes, [first, second, third, other])
  const taken = takeAll(lanes)
  expect(ids(taken)).toEqual([first.id, other.id])
  end(lanes, taken[1]!)
  expect(takeAll(lanes)).toEqual([])
  end(lanes, taken[0]!)
  const [next] = takeAll(lanes)
  expect(next!.delivery).toBe(second)
  end(lanes, next!)
  expect(ids(takeAll(lanes))).toEqual([third.id])
})

test('a subscription that answers gets more at a time, up to 16', () => {
  const lanes = new Lanes()
  expect(lanes.plan(['a']).get('a')).toBe(4)
  add(lanes, some('a', 100))
  const widths = []
  for (let i = 0; i < 6; i++) {
    const taken = takeAll(lanes)
    widths.push(taken.length)
    for (const one of taken) end(lanes, one)
  }
  expect(widths).toEqual([2, 8, 16, 16, 16, 16])
})

test('one that does not answer drops what waits, and gets one at a time until it answers', () => {
  const lanes = new Lanes()
  const mine = some('a', 4)
  add(lanes, mine)
  const [first, second] = takeAll(lanes)
  expect(end(lanes, first!, false)).toEqual(ids(mine.slice(2)))
  expect(lanes.plan(['a']).size).toBe(0)
  expect(end(lanes, second!, false)).toEqual([])
  expect(lanes.plan(['a']).get('a')).toBe(1)
  add(lanes, some('a', 1))
  end(lanes, takeAll(lanes)[0]!)
  expect(lanes.plan(['a']).get('a')).toBe(4)
})

test('many that answer quickly get equal shares', () => {
  const lanes = new Lanes()
  const names = Array.from({ length: 64 }, (_, i) => `s${i}`)
  for (let round = 0; round < 10; round++) {
    for (const [id, count] of lanes.plan(names)) add(lanes, some(id, count))
    for (const one of takeAll(lanes)) end(lanes, one)
  }
  for (let taken = takeAll(lanes); taken.length > 0; taken = takeAll(lanes)) for (const one of taken) end(lanes, one)
  expect(lanes.plan(names).size).toBe(64)
})

test('those that do not answer share a bound of their own and leave the others theirs', () => {
  const lanes = new Lanes()
  const silent = Array.from({ length: 500 }, (_, i) => `silent${i}`)
  for (const id of silent) {
    add(lanes, some(id, 1))
    for (const one of takeAll(lanes)) end(lanes, one, false)
  }
  const plan = lanes.plan([...silent, 'fine'])
  expect(plan.size).toBe(65)
  expect(plan.get('fine')).toBe(2)
  for (const [id, count] of plan) add(lanes, some(id, count))
  const taken = takeAll(lanes)
  expect(taken.filter(({ delivery }) => delivery.subscriptionId === 'fine')).toHaveLength(2)
  expect(taken).toHaveLength(66)
})

test('those that did not answer once do not narrow the shares of the others', () => {
  const lanes = new Lanes()
  for (let i = 0; i < 5000; i++) {
    add(lanes, some(`silent${i}`, 1))
    for (const one of takeAll(lanes)) end(lanes, one, false)
  }
  expect(lanes.plan(['fine']).get('fine')).toBe(4)
})

test('no more is in flight, or taken in one go, than the bounds say', () => {
  const lanes = new Lanes()
  const names = Array.from({ length: 2000 }, (_, i) => `s${i}`)
  const plan = lanes.plan(names)
  expect([...plan.values()].reduce((sum, count) => sum + count, 0)).toBe(1024)
  for (const [id, count] of plan) add(lanes, some(id, count))
  expect(lanes.plan(names).size).toBe(0)
  expect(takeAll(lanes)).toHaveLength(192)
})

test('what waits for a destination that is lost is dropped; another address holds for what waits', () => {
  const lanes = new Lanes()
  const [a, b] = [some('a', 4), some('b', 4)]
  add(lanes, [...a, ...b])
  const [flying] = takeAll(lanes)
  expect(lanes.keep(new Map([['b', { ...to('b'), url: 'https://y.example' }]]))).toEqual(ids(a.slice(2)))
  end(lanes, flying!)
  const rest = takeAll(lanes)
  expect(rest).toEqual([])
  expect(lanes.keep(new Map())).toEqual(ids(b.slice(2)))
})

test('whatever ends how, in the end nothing is counted', () => {
  const lanes = new Lanes()
  let seed = 7
  const random = () => {
    seed = (seed * 48271) % 2147483647
    return seed / 2147483647
  }
  let inFlight: Taken[] = []
  let held = 0
  for (let round = 0; round < 3000; round++) {
    for (const [id, count] of lanes.plan(['a', 'b', 'c', 'd'])) {
      const more = Math.ceil(random() * count)
      add(lanes, some(id, more))
      held += more
    }
    inFlight.push(...takeAll(lanes))
    const ending = inFlight.filter(() => random() < 0.3)
    inFlight = inFlight.filter((one) => !ending.includes(one))
    for (const one of ending) held -= 1 + end(lanes, one, random() < 0.7).length
  }
  while (inFlight.length > 0) {
    for (const one of inFlight.splice(0)) held -= 1 + end(lanes, one).length
    inFlight.push(...takeAll(lanes))
  }
  expect(held).toBe(0)
  // Nothing waits any more, so no destination is ours.
  lanes.keep(new Map())
  expect(lanes.plan(['a', 'new'])).toEqual(
    new Map([
      ['a', 4],
      ['new', 4],
    ]),
  )
})

test('a lane that runs dry goes on as wide as it was, until nothing waits for it any more', () => {
  const lanes = new Lanes()
  const plan = () => lanes.plan(['a']).get('a')
  expect(plan()).toBe(4)
  for (let round = 0; round < 4; round++) {
    add(lanes, some('a', 2))
    for (const one of takeAll(lanes)) end(lanes, one)
  }
  expect(plan()).toBe(256)
  lanes.keep(new Map([['a', to('a')]]))
  expect(plan()).toBe(256)
  lanes.keep(new Map())
  expect(plan()).toBe(4)
})
