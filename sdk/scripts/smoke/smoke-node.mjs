import { createServer } from 'node:http'
import { smoke } from './smoke.mjs'

/** The smoke test for runtimes with Node's modules, plus a call over a socket that is destroyed first. */
export const smokeNode = async (sdk, msw) => {
  await smoke(sdk)
  let calls = 0
  const server = createServer((request, response) => {
    calls++
    if (calls === 1) request.socket.destroy()
    else response.setHeader('content-type', 'application/json').end('{"currency":"USD","totals":{}}')
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const client = sdk.createReferralClient({ apiKey: 'rk_test', baseUrl: `http://127.0.0.1:${server.address().port}` })
  const { currency } = await client.analytics.get()
  server.close()
  server.closeAllConnections?.()
  if (currency !== 'USD' || calls !== 2) throw new Error('failed: a retry after a destroyed socket')

  const paths = []
  const add = (path) => paths.push(path)
  msw.referralHandlers({ get: add, post: add, put: add, patch: add, delete: add }, { baseUrl: 'https://api.example' })
  if (!paths.includes('https://api.example/api/v1/affiliates')) throw new Error('failed: handlers')
}
