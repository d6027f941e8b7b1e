import { createHmac } from 'node:crypto'
import { allOperations, type DocumentedOperation, requiredHeaders } from '../support/document.ts'
import { admin, ID, type OwnerServer, ownerServer } from '../support/owner.ts'
import { OPERATOR_TOKEN, type TestShop } from '../support/server.ts'
import { expectOk } from '../support/shop.ts'
import { isOfSite, ORIGIN } from '../support/site.ts'
import { stripeSignature } from '../support/store-signature.ts'
import { watchRows } from '../support/watch-rows.ts'
import type { Call } from './call.ts'
import type { Known } from './from-schema.ts'

const SECRET = 'hush-hush-hush-hush'
const STRANGE = 'hush-hush, stranger'
const STRIPE_SECRET = `whsec_${'own'.repeat(10)}`
const STRANGE_STRIPE = `whsec_${'other'.repeat(10)}`

/** Streams never end; they have their own tests. */
export const fuzzed = allOperations

export interface FuzzWorld extends Known {
  server: OwnerServer
  stranger: TestShop
  storeSecret: string
  send: (op: DocumentedOperation, call: Call) => Promise<Response>
  /** One text for every row, except those that only record accesses. */
  state: () => string
}

/** The server of the examples, without rate limits. The other shop is a new one unless it is created here. */
export async function fuzzWorld(createStranger?: (server: OwnerServer) => Promise<TestShop>): Promise<FuzzWorld> {
  const server = await ownerServer()
  Object.assign(server.deps, { resolve: async () => ['8.8.8.8'] })
  await expectOk(
    admin(server, 'PATCH', '/settings', {
      storeWebhookSecret: SECRET,
      stripeWebhookSecret: STRIPE_SECRET,
      siteDomains: ['shop.example'],
    }),
  )
  const stranger = createStranger ? await createStranger(server) : await server.createShop()
  await expectOk(
    admin(
      server,
      'PATCH',
      '/settings',
      { storeWebhookSecret: STRANGE, stripeWebhookSecret: STRANGE_STRIPE },
      { key: stranger.ownerToken },
    ),
  )
  const ids = [
    ...Object.values(ID),
    'NISA16',
    'nisa-karim',
    'nisa@example.com',
    '1000',
    'm-1',
    stranger.shopId,
    'aff_none',
    's-1',
  ]
  return {
    server,
    stranger,
    storeSecret: SECRET,
    ids,
    send: (op, call) => send(server, stranger, op, call),
    // The audit of the installation records every request of the operator, rejected or not.
    state: watchRows(server, ({ shopId }) => shopId !== 'installation'),
  }
}

function send(server: OwnerServer, stranger: TestShop, op: DocumentedOperation, call: Call): Promise<Response> {
  const path = call.path.startsWith('/integrations/')
    ? call.path.replace(/(shopify|stripe)\/[^/]+/, `$1/${server.shop.shopId}`)
    : call.path.replace(/^\/(t|r)\/[^/.]+/, `/$1/${server.shop.shopId}`)
  const search = new URLSearchParams(call.query).toString()
  const headers = new Headers({ ...requiredHeaders(op), ...call.headers })
  const token = credentialOf(server, stranger, op, call)
  if (token) headers.set('Authorization', `Bearer ${token}`)
  if (path.startsWith('/integrations/') && (call.credential === 'own' || call.credential === 'foreign')) {
    headers.set(
      'X-Shopify-Hmac-Sha256',
      createHmac('sha256', call.credential === 'own' ? SECRET : STRANGE)
        .update(call.body ?? '')
        .digest('base64'),
    )
    const stripeSecret = call.credential === 'own' ? STRIPE_SECRET : STRANGE_STRIPE
    const stripe = stripeSignature(call.body ?? '', stripeSecret, server.deps.now())
    headers.set('Stripe-Signature', stripe['Stripe-Signature'])
  }
  if (isOfSite(op) && call.credential === 'own') headers.set('Origin', ORIGIN)
  const body = op.method === 'GET' ? undefined : call.body
  return server.fetch(`http://test${path}${search && `?${search}`}`, { method: op.method, headers, body })
}

function credentialOf({ shop }: OwnerServer, stranger: TestShop, op: DocumentedOperation, { credential }: Call) {
  if (op.path.startsWith('/operator/') && credential === 'own') return OPERATOR_TOKEN
  const isOwners = op.path.startsWith('/admin/')
  if (credential === 'none') return undefined
  if (credential === 'odd') return isOwners ? shop.key : shop.ownerToken
  const whose = credential === 'own' ? shop : stranger
  return isOwners ? whose.ownerToken : whose.key
}
