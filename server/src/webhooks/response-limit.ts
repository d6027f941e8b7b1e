import { subscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import { DeliveryError } from './outcome.ts'

/** How much is read in answer to one request, as bytes on the connection. */
const MAX_BYTES = 64 * 1024

/** Ends a request whose answer is longer than that. */
export const TOO_LONG = new DeliveryError('connect')

/** How many bytes a connection had received when its current request went out. */
const starts = new WeakMap<Socket, number>()
let isWatching = false

/**
 * Ends a connection that receives more than 64 KiB in answer to one request. The bytes of the connection are counted:
 * informational responses, chunk extensions and headers have no end either, and the HTTP client reports none of them.
 */
export function limitResponses(socket: Socket): void {
  starts.set(socket, 0)
  if (isWatching) return
  isWatching = true
  // Published right before a request is written to its connection; one at a time goes over each.
  subscribe('undici:client:sendHeaders', (message) => startCounting((message as { socket: Socket }).socket))
}

function startCounting(socket: Socket): void {
  if (!starts.has(socket)) return
  starts.set(socket, socket.bytesRead)
  // The client listens already, so what has come is read before it is judged.
  if (!socket.listeners('readable').includes(check)) socket.on('readable', check)
}

function check(this: Socket): void {
  if (this.bytesRead - (starts.get(this) ?? 0) > MAX_BYTES) this.destroy(TOO_LONG)
}
