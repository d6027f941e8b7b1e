import { createServer } from 'node:http'
import { assert, smoke } from './smoke.mjs'

const checkNode = async ({ node }, { signedDelivery }) => {
  const secret = 'a shared secret'
  let events = 0
  const handler = () => {
    events++
  }
  const server = createServer(node.webhook({ secret, onRejected: () => undefined }, handler))
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${server.address().port}/`
  const large = { event: 'test', data: { text: 'x'.repeat(1_048_576) } }
  const { body, headers } = await signedDelivery(large, { secret })
  const accepted = await fetch(url, { method: 'POST', headers, body })
  await accepted.text()
  const rejected = await fetch(url, { method: 'POST', headers, body: '{}' })
  const { error } = await rejected.json()
  server.close()
  server.closeAllConnections?.()
  assert(accepted.status === 200 && events === 1, 'node')
  assert(rejected.status === 400 && error === 'signature_mismatch', 'node, rejected')
}

/** The smoke test for runtimes with Node's modules, plus a server over HTTP. */
export const smokeNode = async (modules, vectors) => {
  await smoke(modules, vectors)
  await checkNode(modules, modules.testing)
  for (const name of ['express', 'fastify']) assert(typeof modules[name].webhook === 'function', name)
}
