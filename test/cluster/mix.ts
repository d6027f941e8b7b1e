import { setTimeout as sleep } from 'node:timers/promises'
import { call, withAffiliate } from '../support/calls.ts'
import type { Instances, Shop } from './fixture.ts'

/** Load during the tests: callers of a shop report, repeat, click and read on every instance. */
export interface Mix {
  shop: Shop
  /** The acknowledged orders, with the text of the response. */
  orders: Map<string, string>
  /** Unexpected responses, one line each. */
  wrong: string[]
  stop: () => Promise<void>
}

const PAUSE_MS = 100

export async function startMix(at: Instances, hook: string): Promise<Mix> {
  const shop = await at.createShop({ keys: at.servers.length })
  await withAffiliate(at.servers[0]!, shop.keys[0]!)
  await call(at.servers[0]!, shop.keys[0]!, ['POST', '/api/v1/webhooks', { url: hook, secret: 'shh' }])
  const mix: Mix = { shop, orders: new Map(), wrong: [], stop: async () => {} }
  let isOver = false
  const ask = async (n: number, ...request: Parameters<typeof call>[2]): Promise<string> => {
    const answer = await call(at.servers[n % at.servers.length]!, shop.keys[n % shop.keys.length]!, request)
    if (answer.headers.get('X-Error-Code') === 'api_disabled') {
      await sleep(PAUSE_MS)
      return ask(n, ...request)
    }
    if (answer.status >= 300) mix.wrong.push(`${request[1]}: ${answer.status} ${answer.text}`)
    return answer.text
  }
  const round = async (worker: number, id: string) => {
    const order = { externalOrderId: id, amountCents: 1000, couponCode: 'NISA16' }
    const report = (n: number) => ask(n, 'POST', '/api/v1/events', order, `key-${id}`)
    const answers = await Promise.all([report(worker), report(worker + 1)])
    mix.orders.set(id, answers[0])
    if (answers[0] !== answers[1]) mix.wrong.push(`${id}: ${answers.join(' and ')}`)
    await ask(worker, 'POST', '/api/v1/events', { type: 'click', ref: 'nisa16' }, `click-${id}`)
    await ask(worker + 2, 'GET', '/api/v1/analytics')
    await ask(worker + 1, 'GET', `/api/v1/commissions?externalOrderId=${id}`)
  }
  const workers = at.servers.map(async (_, worker) => {
    for (let n = 0; !isOver; n++) {
      await round(worker, `mix-${worker}-${n}`)
      await sleep(PAUSE_MS)
    }
  })
  mix.stop = async () => {
    isOver = true
    await Promise.all(workers)
  }
  return mix
}
