import { setTimeout as sleep } from 'node:timers/promises'
import type { Deps } from '../core/context.ts'
import { createDispatcher } from '../webhooks/delivery/dispatcher.ts'
import type { Transport } from '../webhooks/delivery/transport.ts'

/** A webhook delivery, as the receiver gets it. */
export interface CapturedDelivery {
  url: string
  headers: Record<string, string>
  /** The exact text that was signed. */
  body: string
  /** The event's name. */
  event: string
}

/** Captures webhooks instead of sending them, with a 200 response from the receiver. */
export const captureDeliveries = async (deps: Deps) => {
  const captured: CapturedDelivery[] = []
  const transport: Transport = {
    post: async ({ origin, path }, headers, body) => {
      captured.push({ url: `${origin}${path}`, headers, body, event: headers['X-Service-Event'] ?? '' })
      return { code: 'ok', httpStatus: 200, isComplete: true }
    },
    close: async () => {},
  }
  const dispatcher = createDispatcher({ ...deps, transport })
  deps.wakeDispatcher = dispatcher.wake
  await dispatcher.start()
  const waiting = deps.db.read.selectFrom('deliveries').select('id').where('status', '=', 'PENDING').limit(1)
  const idle = async (): Promise<void> => {
    dispatcher.wake()
    while ((await waiting.execute()).length > 0) await sleep(2)
  }
  return { captured, idle, stop: dispatcher.stop }
}
