// Runs the packed package as an outsider would. The modules are handed in: imported in smoke-esm.mjs, required in smoke-cjs.cjs.
import { createServer } from 'node:http'

const assert = (condition, what) => {
  if (!condition) throw new Error(`failed: ${what}`)
}

const fromHex = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))

const codeOf = (attempt) =>
  attempt.then(
    () => 'accepted',
    (error) => error.code,
  )

const checkVectors = async ({ sign, verify, WebhookError }, { signWebhook }, vectors) => {
  for (const { name, body, secret, signature, id, timestamp, standardSignature } of vectors.accept) {
    const bytes = fromHex(body)
    assert((await verify(bytes, signature, ['other', secret])).secretIndex === 1, name)
    assert((await sign(bytes, secret)) === signature, name)
    const headers = await signWebhook(bytes, secret, { id, timestamp })
    assert(headers['webhook-signature'] === standardSignature, name)
  }
  for (const { name, body, secret, signature } of vectors.refuse) {
    const error = await verify(fromHex(body), signature, secret).catch((caught) => caught)
    assert(error instanceof WebhookError && error.name === 'WebhookError', name)
  }
}

const checkUnwrap = async ({ unwrap, receive, isKnownEvent }, { signedRequest, signedDelivery }) => {
  const secret = 'a shared secret'
  const event = await unwrap(await signedRequest({ event: 'test' }, { secret }), { secret })
  assert(event.event === 'test' && isKnownEvent(event), 'unwrap')
  const bom = await signedDelivery('\ufeff{"event":"later","data":{}}', { secret: ['new', secret] })
  const { facts, event: later } = await receive(bom, { secret })
  assert(!isKnownEvent(later) && facts.secretIndex === 0 && /^[0-9a-f]{64}$/.test(facts.dedupeKey), 'receive')
  const late = await signedRequest({ event: 'test' }, { secret, timestamp: 5 })
  assert((await codeOf(unwrap(late, { secret }))) === 'timestamp_too_far', 'tolerance')
  const read = await signedRequest({ event: 'test' }, { secret })
  await read.text()
  assert((await codeOf(unwrap(read, { secret }))) === 'body_parsed', 'a body read before')
}

const checkAdapters = async ({ hono, next, node }, { signedRequest, signedDelivery }) => {
  const secret = 'a shared secret'
  const large = { event: 'test', data: { text: 'x'.repeat(1_048_576) } }
  let events = 0
  const work = () => {
    events++
  }
  const viaNext = await next.webhook({ secret }, work)(await signedRequest(large, { secret }))
  const viaHono = await hono.webhook({ secret }, work)({ req: { raw: await signedRequest(large, { secret }) } })
  const server = createServer(node.webhook({ secret }, work))
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { body, headers } = await signedDelivery(large, { secret })
  const url = `http://127.0.0.1:${server.address().port}/`
  const viaNode = await fetch(url, { method: 'POST', headers, body })
  await viaNode.text()
  const refused = await fetch(url, { method: 'POST', headers, body: '{}' })
  const { error } = await refused.json()
  server.close()
  server.closeAllConnections?.()
  assert([viaNext, viaHono, viaNode].every(({ status }) => status === 200) && events === 3, 'adapters')
  assert(refused.status === 400 && error === 'signature_mismatch', 'an adapter that refuses')
}

export const smoke = async (modules, vectors) => {
  await checkVectors(modules.core, modules.sender, vectors)
  await checkUnwrap(modules.core, modules.testing)
  await checkAdapters(modules, modules.testing)
  for (const name of ['express', 'fastify']) assert(typeof modules[name].webhook === 'function', name)
}
