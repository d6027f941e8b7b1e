import { expect, test } from 'vitest'
import type { Delivery } from '../../server/src/domains/webhooks/delivery/outbox-sync.ts'
import type { Queue } from '../../server/src/domains/webhooks/delivery/scheduler.ts'
import { DeliveryScheduler } from '../../server/src/domains/webhooks/delivery/scheduler.ts'

type Taken = { queue: Queue; delivery: Delivery }

let made = 0
/** The subscription `a` of the shop `s`, or `a` of `other` for `other/a`; hosts are as the shops unless given. */
const to = (name: string, host?: string) => {
  const shopId = name.includes('/') ? name.split('/')[0]! : 's'
  const previous = {
    previousSecret: null,
    previousSecretUntil: null,
    retryPolicy: 'none',
    failingSince: null,
    clockOffsetMs: 0,
  } as const
  return { id: name, shopId, url: `https://${host ?? `${shopId}.example`}/`, secret: null, ...previous }
}
const some = (subscriptionId: string, count: number) =>
  Array.from({ length: count }, (): Delivery => {
    const id = `dlv_${String(made++).padStart(6, '0')}`
    const event = { eventId: 'e', event: 'test', body: '{}', traceparent: null }
    return { ...event, shopId: 's', id, subscriptionId, webhookId: id, follows: null, attempts: 0 }
  })
const add = (scheduler: DeliveryScheduler, deliveries: Delivery[], host?: string) => {
  for (const one of deliveries) scheduler.add(to(one.subscriptionId, host), one)
}
const takeAll = (scheduler: DeliveryScheduler) => {
  const taken: Taken[] = []
  for (let one = scheduler.next(); one; one = scheduler.next()) taken.push(one)
  return taken
}
const ids = (list: (Taken | Delivery)[]) => list.map((one) => ('queue' in one ? one.delivery.id : one.id))
const namesOf = (list: Taken[]) => list.map(({ delivery }) => delivery.subscriptionId)
const end = (scheduler: DeliveryScheduler, { queue, delivery }: Taken, isComplete = true) =>
  scheduler.end(queue, delivery, isComplete)
/** Subscriptions of one shop. */
const planOf = (scheduler: DeliveryScheduler, names: string[], shopId = 's') =>
  scheduler.plan(new Map([[shopId, names]]))
const subscriptionsOf = (shopId: string, count: number) => Array.from({ length: count }, (_, i) => `${shopId}/${i}`)

test('subscriptions alternate, each in its own order', () => {
  const scheduler = new DeliveryScheduler()
  const [a, b] = [some('a', 3), some('b', 3)]
  add(scheduler, [...a, ...b])
  const taken = takeAll(scheduler)
  expect(ids(taken)).toEqual(ids([a[0]!, b[0]!, a[1]!, b[1]!]))
  end(scheduler, taken[0]!)
  expect(ids(takeAll(scheduler))).toEqual(ids([a[2]!]))
})

test('shops alternate, regardless of their number of subscriptions', () => {
  const scheduler = new DeliveryScheduler()
  for (const name of ['big/1', 'big/2', 'big/3', 'small/1']) add(scheduler, some(name, 2))
  expect(namesOf(takeAll(scheduler))).toEqual([
    ...['big/1', 'small/1', 'big/2', 'small/1'],
    ...['big/3', 'big/1', 'big/2', 'big/3'],
  ])
})

test('the events of one change are sent in order, without blocking other deliveries', () => {
  const scheduler = new DeliveryScheduler()
  const [first, second, third, other] = some('a', 4) as [Delivery, Delivery, Delivery, Delivery]
  second.follows = first.id
  third.follows = second.id
  add(scheduler, [first, second, third, other])
  const taken = takeAll(scheduler)
  expect(ids(taken)).toEqual([first.id, other.id])
  end(scheduler, taken[1]!)
  expect(takeAll(scheduler)).toEqual([])
  end(scheduler, taken[0]!)
  const [next] = takeAll(scheduler)
  expect(next!.delivery).toBe(second)
  end(scheduler, next!)
  expect(ids(takeAll(scheduler))).toEqual([third.id])
})

test('a subscription that responds gets more at a time, up to 16', () => {
  const scheduler = new DeliveryScheduler()
  expect(planOf(scheduler, ['a']).get('a')).toBe(4)
  add(scheduler, some('a', 100))
  const widths = []
  for (let i = 0; i < 6; i++) {
    const taken = takeAll(scheduler)
    widths.push(taken.length)
    for (const one of taken) end(scheduler, one)
  }
  expect(widths).toEqual([2, 8, 16, 16, 16, 16])
})

test('a subscription without a complete response loses its queued deliveries, and gets one at a time until it responds', () => {
  const scheduler = new DeliveryScheduler()
  const mine = some('a', 4)
  add(scheduler, mine)
  const [first, second] = takeAll(scheduler)
  expect(end(scheduler, first!, false)).toEqual(ids(mine.slice(2)))
  expect(planOf(scheduler, ['a']).size).toBe(0)
  expect(end(scheduler, second!, false)).toEqual([])
  expect(planOf(scheduler, ['a']).get('a')).toBe(1)
  add(scheduler, some('a', 1))
  end(scheduler, takeAll(scheduler)[0]!)
  expect(planOf(scheduler, ['a']).get('a')).toBe(4)
})

test('many that respond quickly get equal shares', () => {
  const scheduler = new DeliveryScheduler()
  const names = Array.from({ length: 64 }, (_, i) => `s${i}`)
  for (let round = 0; round < 10; round++) {
    for (const [id, count] of planOf(scheduler, names)) add(scheduler, some(id, count))
    for (const one of takeAll(scheduler)) end(scheduler, one)
  }
  for (let taken = takeAll(scheduler); taken.length > 0; taken = takeAll(scheduler))
    for (const one of taken) end(scheduler, one)
  expect(planOf(scheduler, names).size).toBe(64)
})

test('one shop has at most 128 deliveries in flight, and 64 to one host', () => {
  const scheduler = new DeliveryScheduler()
  for (const name of subscriptionsOf('big', 100)) add(scheduler, some(name, 2), 'one.example')
  expect(takeAll(scheduler)).toHaveLength(64)
  for (const name of subscriptionsOf('big', 100)) add(scheduler, some(`${name}-b`, 2), `${name.slice(4)}.example`)
  expect(takeAll(scheduler)).toHaveLength(64)
})

test('all shops together have at most 256 in flight; the last 64 are reserved for shops that have none', () => {
  const scheduler = new DeliveryScheduler()
  const fill = (shopId: string) => {
    for (const name of subscriptionsOf(shopId, 100)) add(scheduler, some(name, 2), `${name.replace('/', '-')}.example`)
    return takeAll(scheduler)
  }
  expect(fill('one')).toHaveLength(128)
  const second = fill('two')
  expect(second).toHaveLength(64)
  const small = Array.from({ length: 70 }, (_, i) => `small${i}`)
  for (const shop of small) add(scheduler, some(`${shop}/1`, 2))
  const taken = takeAll(scheduler)
  expect(namesOf(taken)).toEqual(small.slice(0, 64).map((shop) => `${shop}/1`))
  // Shops with none in flight come before those with some.
  end(scheduler, second[0]!)
  expect(namesOf(takeAll(scheduler))).toEqual(['small64/1'])
})

test('shops that share a host share its limit; a shop blocked there still gets its turn elsewhere', () => {
  const scheduler = new DeliveryScheduler()
  const HOST = 'hooks.example'
  for (const name of subscriptionsOf('one', 40)) add(scheduler, some(name, 2), HOST)
  for (const name of subscriptionsOf('two', 40)) add(scheduler, some(name, 2), HOST)
  // 128 to the host, the last 32 of them for those that have none there.
  const taken = takeAll(scheduler)
  expect([taken.length, taken.filter(({ queue }) => queue.destination.shopId === 'one').length]).toEqual([96, 48])
  add(scheduler, some('one/elsewhere', 1), 'elsewhere.example')
  for (let i = 0; i < 40; i++) add(scheduler, some(`late${i}/1`, 2), HOST)
  const late = namesOf(takeAll(scheduler))
  expect(late).toContain('one/elsewhere')
  expect(late.filter((name) => name.startsWith('late'))).toHaveLength(32)
  expect(new Set(late).size).toBe(33)
})

test('port, case and a trailing dot do not make another host', () => {
  const scheduler = new DeliveryScheduler()
  const spellings = ['hooks.example', 'hooks.example:8443', 'HOOKS.example', 'hooks.example.']
  for (const [n, host] of spellings.entries())
    for (const name of subscriptionsOf(`s${n}`, 20)) add(scheduler, some(name, 2), host)
  expect(takeAll(scheduler)).toHaveLength(96)
})

test('unresponsive subscriptions of a shop share 8 slots, and leave the others to the rest of the shop', () => {
  const scheduler = new DeliveryScheduler()
  const silent = subscriptionsOf('s', 100)
  for (const name of silent) {
    add(scheduler, some(name, 1))
    for (const one of takeAll(scheduler)) end(scheduler, one, false)
  }
  const plan = planOf(scheduler, [...silent, 's/fine'])
  expect(plan.size).toBe(9)
  expect(plan.get('s/fine')).toBeGreaterThan(1)
  for (const [id, count] of plan) add(scheduler, some(id, count))
  expect(takeAll(scheduler)).toHaveLength(8 + 2)
  expect([...planOf(scheduler, silent).keys()]).toEqual([])
})

test('unresponsive subscriptions of many shops share 64 slots; the last 16 are reserved for shops that have none', () => {
  const scheduler = new DeliveryScheduler()
  const shops = Array.from({ length: 10 }, (_, i) => `shop${i}`)
  for (const shop of shops)
    for (const name of subscriptionsOf(shop, 20)) {
      add(scheduler, some(name, 1))
      for (const one of takeAll(scheduler)) end(scheduler, one, false)
    }
  const plan = scheduler.plan(new Map(shops.map((shop) => [shop, subscriptionsOf(shop, 20)])))
  expect(plan.size).toBe(80)
  for (const id of plan.keys()) add(scheduler, some(id, 1))
  expect(takeAll(scheduler)).toHaveLength(48)
  add(scheduler, some('new/silent', 1))
  end(scheduler, takeAll(scheduler)[0]!, false)
  add(scheduler, some('new/silent', 1))
  expect(namesOf(takeAll(scheduler))).toEqual(['new/silent'])
})

test('unresponsive subscriptions do not reduce the shares of the others', () => {
  const scheduler = new DeliveryScheduler()
  for (let i = 0; i < 5000; i++) {
    add(scheduler, some(`silent${i}`, 1))
    for (const one of takeAll(scheduler)) end(scheduler, one, false)
  }
  expect(planOf(scheduler, ['fine']).get('fine')).toBe(4)
})

test('only the latest unresponsive subscriptions are remembered', () => {
  const scheduler = new DeliveryScheduler()
  for (let i = 0; i < 10_001; i++) {
    add(scheduler, some(`silent${i}`, 1))
    for (const one of takeAll(scheduler)) end(scheduler, one, false)
  }
  expect(planOf(scheduler, ['silent10000']).get('silent10000')).toBe(1)
  expect(planOf(scheduler, ['silent1']).get('silent1')).toBe(1)
  scheduler.updateDestinations(new Map())
  expect(planOf(scheduler, ['silent0']).get('silent0')).toBe(4)
})

test('prefetching stays within its limits and leaves room for others', () => {
  const scheduler = new DeliveryScheduler()
  const total = (plan: Map<string, number>) => [...plan.values()].reduce((sum, count) => sum + count, 0)
  const names = Array.from({ length: 2000 }, (_, i) => `s${i}`)
  const plan = planOf(scheduler, names)
  expect(total(plan)).toBe(1024)
  for (const [id, count] of plan) add(scheduler, some(id, count))
  expect(planOf(scheduler, names).size).toBe(0)
  const others = subscriptionsOf('other', 2000)
  const more = planOf(scheduler, others, 'other')
  expect(total(more)).toBe(512)
  for (const [id, count] of more) add(scheduler, some(id, count))
  expect(total(planOf(scheduler, subscriptionsOf('third', 10), 'third'))).toBe(4)
})

test('queued deliveries of a lost destination are dropped; a new address applies to queued deliveries', () => {
  const scheduler = new DeliveryScheduler()
  const [a, b] = [some('a', 4), some('b', 4)]
  add(scheduler, [...a, ...b])
  const [flying] = takeAll(scheduler)
  expect(scheduler.updateDestinations(new Map([['b', { ...to('b'), url: 'https://y.example' }]]))).toEqual(
    ids(a.slice(2)),
  )
  end(scheduler, flying!)
  const rest = takeAll(scheduler)
  expect(rest).toEqual([])
  expect(scheduler.updateDestinations(new Map())).toEqual(ids(b.slice(2)))
})

test('a subscription that moves to another host counts there', () => {
  const scheduler = new DeliveryScheduler()
  const names = subscriptionsOf('one', 32)
  for (const name of names) add(scheduler, some(name, 2), 'old.example')
  const flying = takeAll(scheduler)
  expect(flying).toHaveLength(64)
  scheduler.updateDestinations(new Map(names.map((name) => [name, to(name, 'new.example')])))
  add(scheduler, some('one/more', 1), 'new.example')
  expect(takeAll(scheduler)).toEqual([])
  add(scheduler, some('one/other', 1), 'old.example')
  expect(takeAll(scheduler)).toHaveLength(1)
  for (const one of flying) end(scheduler, one)
  expect(namesOf(takeAll(scheduler))).toEqual(['one/more'])
})

test('counters return to zero, however deliveries end', () => {
  const scheduler = new DeliveryScheduler()
  let seed = 7
  const random = () => {
    seed = (seed * 48271) % 2147483647
    return seed / 2147483647
  }
  const shops = new Map(['x', 'y', 'z'].map((shop) => [shop, subscriptionsOf(shop, 4)]))
  let inFlight: Taken[] = []
  let held = 0
  for (let round = 0; round < 3000; round++) {
    for (const [id, count] of scheduler.plan(shops)) {
      const more = Math.ceil(random() * count)
      add(scheduler, some(id, more), random() < 0.5 ? 'shared.example' : undefined)
      held += more
    }
    inFlight.push(...takeAll(scheduler))
    const ending = inFlight.filter(() => random() < 0.3)
    inFlight = inFlight.filter((one) => !ending.includes(one))
    for (const one of ending) held -= 1 + end(scheduler, one, random() < 0.7).length
    const hosts = () => (random() < 0.5 ? 'shared.example' : 'own.example')
    scheduler.updateDestinations(new Map([...shops.values()].flat().map((name) => [name, to(name, hosts())])))
  }
  while (inFlight.length > 0) {
    for (const one of inFlight.splice(0)) held -= 1 + end(scheduler, one).length
    inFlight.push(...takeAll(scheduler))
  }
  expect(held).toBe(0)
  // Nothing is pending, so no destination is left.
  scheduler.updateDestinations(new Map())
  expect(planOf(scheduler, ['x/0', 'new'], 'x')).toEqual(
    new Map([
      ['x/0', 4],
      ['new', 4],
    ]),
  )
  // All places are free again.
  for (const name of subscriptionsOf('big', 64)) add(scheduler, some(name, 2), 'shared.example')
  expect(takeAll(scheduler)).toHaveLength(64)
})

test('a queue keeps its concurrency until nothing is pending', () => {
  const scheduler = new DeliveryScheduler()
  const plan = () => planOf(scheduler, ['a']).get('a')
  expect(plan()).toBe(4)
  for (let round = 0; round < 4; round++) {
    add(scheduler, some('a', 2))
    for (const one of takeAll(scheduler)) end(scheduler, one)
  }
  expect(plan()).toBe(256)
  scheduler.updateDestinations(new Map([['a', to('a')]]))
  expect(plan()).toBe(256)
  scheduler.updateDestinations(new Map())
  expect(plan()).toBe(4)
})

test('a bounded scan skips few blocked subscriptions, and the next scan continues from there', () => {
  const scheduler = new DeliveryScheduler()
  for (const shop of ['one', 'two'])
    for (const name of subscriptionsOf(shop, 40)) add(scheduler, some(name, 2), 'hooks.example')
  expect(takeAll(scheduler)).toHaveLength(96)
  // Both are blocked at that host, and so are those after them that have something there.
  for (let i = 0; i < 32; i++) add(scheduler, some(`late${i}/1`, 2), 'hooks.example')
  expect(takeAll(scheduler)).toHaveLength(32)
  add(scheduler, some('free/1', 1))
  const looks = Array.from({ length: 12 }, () => scheduler.next(4)?.delivery.subscriptionId)
  expect(looks.filter(Boolean)).toEqual(['free/1'])
})
