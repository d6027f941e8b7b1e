// Full: it measures connections that stall or flood.
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type RunningServer, startServer } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

let folder: ReturnType<typeof temporaryFolder>
let server: RunningServer
beforeEach(async () => {
  folder = temporaryFolder()
  server = await startServer({ REFERRAL_DATA_DIR: folder.path })
})
afterEach(async () => {
  await server.stop('SIGKILL')
  folder.remove()
})

/** A client that announces 100 bytes and sends only 4. */
async function stall() {
  const key = /^REFERRAL_API_KEY=(.*)$/m.exec(readFileSync(join(folder.path, 'demo.env'), 'utf8'))?.[1]
  const { port } = new URL(server.url)
  const socket = connect(Number(port), '127.0.0.1')
  socket.on('error', () => socket.destroy())
  const head = ['POST /api/v1/events HTTP/1.1', 'Host: x', `Authorization: Bearer ${key}`, 'Content-Length: 100']
  socket.write(`${head.join('\r\n')}\r\n\r\n{"a"`)
  await sleep(300)
  return socket
}

test('SIGTERM ends the server although a client stalls', async () => {
  const socket = await stall()
  expect(await server.stop()).toBe(0)
  socket.destroy()
})

test('a client that disconnects while sending its body is not logged as a bug', async () => {
  const socket = await stall()
  socket.destroy()
  await sleep(500)
  await server.stop()
  expect(server.log()).not.toContain('"bug"')
})
