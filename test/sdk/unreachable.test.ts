import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { ConnectionError, createReferralClient } from '@referral/sdk'
import { expect, test } from 'vitest'

/** A port of this machine on which nothing listens. */
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

const failureOf = async (baseUrl: string, fetch?: typeof globalThis.fetch): Promise<unknown> => {
  const client = createReferralClient({ apiKey: 'rk_test', baseUrl, maxRetries: 0, ...(fetch && { fetch }) })
  return (await client.programs.list().safe()).error
}

test('the message of a refused connection names the cause and the address', async () => {
  const origin = `http://127.0.0.1:${await closedPort()}`
  const error = await failureOf(origin)
  expect(error).toBeInstanceOf(ConnectionError)
  const { message } = error as ConnectionError
  expect(message).toBe(`Connection to ${origin} failed: connect ECONNREFUSED ${origin.slice('http://'.length)}`)
})

test('a host with several addresses, none of which responds, is reported by its error code', async () => {
  const refused = Object.assign(new AggregateError([], ''), { code: 'ECONNREFUSED' })
  const { message } = (await failureOf('https://api.example', async () => {
    throw new TypeError('fetch failed', { cause: refused })
  })) as ConnectionError
  expect(message).toBe('Connection to https://api.example failed: ECONNREFUSED')
})
