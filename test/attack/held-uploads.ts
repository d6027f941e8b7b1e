import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createWorld } from '../long/world.ts'
import { signed } from '../revocation/ways.ts'
import { call } from '../support/calls.ts'

const MIB = 1024 * 1024
const UPLOAD = 4 * MIB
/** Time for the uploads to arrive and nearly all to be rejected; shorter than the pause that ends an upload. */
const ARRIVAL_MS = 9000
const HELD_MS = 1000

export interface Memory {
  uploads: number
  beforeMiB: number
  /** The peak memory of the process while the uploads were held open. */
  heldMiB: number
  /** Answered before their last byte. */
  refused: number
  /** The result of a concurrent call with the shop's key. */
  status: number
}

/**
 * The memory of a real server process while notifications without a valid signature are held open one byte short, each
 * from its own address, so that only the bounds for all addresses together apply.
 */
export async function holdUploads(uploads: number): Promise<Memory> {
  const world = await createWorld({ engine: 'sqlite' }, { REFERRAL_TRUST_PROXY: '1' })
  const sockets: Socket[] = []
  try {
    const { shopId, ownerToken, keys } = await world.createShop(1)
    const server = await world.start()
    const port = Number(new URL(server.url).port)
    const rss = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1]) / 1024
    try {
      const set = await call(server, ownerToken, [
        'PATCH',
        '/admin/v1/settings',
        { storeWebhookSecret: 'hush-hush-hush-hush' },
      ])
      if (set.status !== 200) throw new Error(`the secret was refused: ${set.text}`)
      const signature = signed('another body')['X-Shopify-Hmac-Sha256']
      const body = Buffer.alloc(UPLOAD - 1, ' ')
      const beforeMiB = rss()
      let refused = 0
      for (let n = 0; n < uploads; n++) {
        const socket = connect(port, '127.0.0.1')
        socket.on('error', () => {})
        socket.once('data', () => refused++)
        socket.write(
          `POST /integrations/shopify/${shopId}/orders-paid HTTP/1.1\r\nHost: x\r\nContent-Length: ${UPLOAD}\r\n` +
            `X-Forwarded-For: 10.1.${n >> 8}.${n & 255}\r\nX-Shopify-Hmac-Sha256: ${signature}\r\n\r\n`,
        )
        socket.write(body)
        sockets.push(socket)
      }
      let heldMiB = 0
      const watch = async (ms: number, isDone = () => false) => {
        for (const until = performance.now() + ms; performance.now() < until && !isDone(); await sleep(20))
          heldMiB = Math.max(heldMiB, rss())
      }
      await watch(ARRIVAL_MS, () => refused >= 0.95 * uploads)
      await watch(HELD_MS)
      const { status } = await call(server, keys[0]!, ['GET', '/api/v1/programs'])
      return { uploads, beforeMiB, heldMiB, refused, status }
    } finally {
      for (const socket of sockets) socket.destroy()
      await server.stop('SIGKILL')
    }
  } finally {
    await world.remove()
  }
}
