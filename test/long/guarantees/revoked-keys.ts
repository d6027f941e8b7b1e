import { call } from '../../support/calls.ts'
import type { RunningServer } from '../../support/process.ts'
import { figure, type LongTest, type RunOptions, sized } from '../guarantee.ts'
import { createWorld } from '../world.ts'

const KEYS = 50
const CALLS_PER_KEY = 20

let callers = 0

/** Calls without a valid key are counted by address, so each uses a different one. */
async function codeOf({ url }: RunningServer, secret: string): Promise<string> {
  const address = `10.0.${callers >> 8}.${callers++ & 255}`
  const headers = { Authorization: `Bearer ${secret}`, 'X-Forwarded-For': address }
  const response = await fetch(`${url}/api/v1/programs`, { headers })
  await response.arrayBuffer()
  return `${response.status} ${response.headers.get('X-Error-Code')}`
}

/** A key that process A has revoked is rejected by process B from the next call on, however often B has just accepted it. */
async function run(options: RunOptions): Promise<string> {
  const world = await createWorld(options, { REFERRAL_TRUST_PROXY: '1' })
  const keys = sized(KEYS, options)
  const shop = await world.createShop(keys)
  const [a, b] = await Promise.all([world.start(), world.start()])
  let refused = 0
  try {
    const { body } = await call(a, shop.ownerToken, ['GET', '/admin/v1/keys'])
    const idOf = (secret: string) =>
      body.data.find(({ prefix }: { prefix: string }) => secret.startsWith(prefix))?.id as string
    for (const secret of shop.keys) {
      const warm = await call(b, secret, ['GET', '/api/v1/programs'])
      if (warm.status !== 200) throw new Error(`a living key got ${warm.status}`)
      const gone = await call(a, shop.ownerToken, ['DELETE', `/admin/v1/keys/${idOf(secret)}`])
      if (gone.status !== 200) throw new Error(`revoking answered ${gone.status}`)
      const codes = await Promise.all(Array.from({ length: CALLS_PER_KEY }, () => codeOf(b, secret)))
      const wrong = codes.filter((code) => code !== '403 key_revoked')
      if (wrong.length > 0) throw new Error(`after it was revoked: ${wrong.join(', ')}`)
      refused += codes.length
    }
  } finally {
    await Promise.all([a.stop('SIGKILL'), b.stop('SIGKILL')])
    await world.remove()
  }
  return `revoked in one process, refused in another: ${figure(refused)} of ${figure(keys * CALLS_PER_KEY)}`
}

export const guarantee: LongTest = {
  title: 'A revoked key grants nothing',
  engines: ['sqlite', 'postgres'],
  minutes: 2,
  run,
}
