// Uses the package with Web APIs only. The modules are parameters, so that they can be imported or required.
export const assert = (condition, what) => {
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
  for (const { name, body, secret, signature } of vectors.reject) {
    const error = await verify(fromHex(body), signature, secret).catch((caught) => caught)
    assert(error instanceof WebhookError && error.name === 'WebhookError', name)
  }
}

const checkUnwrap = async ({ unwrap, receive, isKnownEvent }, { signedRequest, signedDelivery }) => {
  const secret = 'a shared secret'
  const event = await unwrap(await signedRequest({ event: 'test' }, { secret }), { secret })
  assert(event.event === 'test' && isKnownEvent(event), 'unwrap')
  const bom = await signedDelivery('\ufeff{"event":"later","data":{}}', { secret: ['new', secret] })
  const { verification, event: later } = await receive(bom, { secret })
  assert(
    !isKnownEvent(later) && verification.secretIndex === 0 && /^[0-9a-f]{64}$/.test(verification.dedupeKey),
    'receive',
  )
  const late = await signedRequest({ event: 'test' }, { secret, timestamp: 5 })
  assert((await codeOf(unwrap(late, { secret }))) === 'timestamp_too_far', 'tolerance')
  const read = await signedRequest({ event: 'test' }, { secret })
  await read.text()
  assert((await codeOf(unwrap(read, { secret }))) === 'body_parsed', 'a body that was already read')
}

const checkAdapters = async ({ hono, next }, { signedRequest }) => {
  const secret = 'a shared secret'
  const large = { event: 'test', data: { text: 'x'.repeat(1_048_576) } }
  let events = 0
  const options = { secret, maxBytes: 2_000_000, onRejected: () => undefined }
  const handler = () => {
    events++
  }
  const responses = [
    await next.webhook(options, handler)(await signedRequest(large, { secret })),
    await hono.webhook(options, handler)({ req: { raw: await signedRequest(large, { secret }) } }),
    await next.webhook(options, handler)(await signedRequest(large, { secret: 'another' })),
    await next.webhook({ ...options, maxBytes: 1000 }, handler)(await signedRequest(large, { secret })),
  ]
  assert(responses.map(({ status }) => status).join() === '200,200,400,413' && events === 2, 'adapters')
}

export const smoke = async (modules, vectors) => {
  await checkVectors(modules.core, modules.testing, vectors)
  await checkUnwrap(modules.core, modules.testing)
  await checkAdapters(modules, modules.testing)
}
