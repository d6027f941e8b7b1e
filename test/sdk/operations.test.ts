// SQLite only: it tests routes and methods, not storage.
import { createReferralClient } from '@referral/sdk'
import { afterAll, beforeAll, expect, test } from 'vitest'
import * as shops from '../../server/src/domains/accounts/shops.ts'
import { causes, sharedCauses, type World } from '../contract/causes.ts'
import { callOperation, exampleServer } from '../contract/fixture.ts'
import { type DocumentedOperation, operations } from '../support/document.ts'
import { success } from './support/scripted-client.ts'

let world: World
let methods: Map<string, string[]>
let page: string

beforeAll(async () => {
  const server = await exampleServer()
  const scopeless = await server.createShop('PROFESSIONAL', ['webhooks:read'])
  const switchedOff = await server.createShop()
  await shops.update(server.deps, switchedOff.shopId, { apiEnabled: false })
  const [other, starter] = [await server.createShop(), await server.createShop('STARTER')]
  const suspended = await server.createShop()
  await shops.suspend(server.deps, suspended.shopId)
  world = { server, scopeless, switchedOff, suspended, other, starter }
  methods = await methodsByRoute()
  page = (await server.client.GET('/api/v1/docs')).data ?? ''
})
afterAll(() => world.server.close())

type Method = (first: object, second: object) => Promise<unknown>

/** All resource methods, by the route they call. */
const methodsByRoute = async (): Promise<Map<string, string[]>> => {
  const found = new Map<string, string[]>()
  let route = ''
  const fetch = (request: Request): Response => {
    route = `${request.method} ${new URL(request.url).pathname}`
    return Response.json({ ...success, data: [{ id: 'id_1' }] })
  }
  const client = createReferralClient({ apiKey: 'rk', baseUrl: 'https://api.example', fetch })
  for (const [resource, of] of Object.entries(client).filter(([, value]) => typeof value === 'object')) {
    for (const [name, method] of Object.entries(of as Record<string, Method>)) {
      await method({}, {})
      found.set(route, [...(found.get(route) ?? []), `${resource}.${name}`])
    }
  }
  return found
}

/** The status of a valid call with a key of these scopes; `forbidden` when it lacks the scope. */
const statusWith = async (op: DocumentedOperation, scopes: string[]): Promise<string> => {
  const { key } = await world.server.createShop('PROFESSIONAL', scopes)
  const { status, body } = await callOperation(world.server, op, { key })
  return status === 403 && body.error?.includes(op.scope) ? 'forbidden' : `${status}`
}

const everyScope = () => [...new Set(operations.map(({ scope }) => scope))].filter((scope) => scope !== undefined)

const checks: Record<string, (op: DocumentedOperation) => Promise<string>> = {
  'server route': async (op) => {
    const { status } = await callOperation(world.server, op, { key: null })
    return status === (op.isPublic ? 200 : 401) ? 'yes' : ''
  },
  'SDK method': async ({ method, path, id }) =>
    methods.get(`${method} ${path}`)?.join(', ') ?? (id === 'getDocs' && page ? 'GET' : ''),
  'example replayed': async (op) => {
    const bodies = Object.values(op.requestExamples).map(({ value }) => value)
    let replayed = 0
    for (const body of bodies.length ? bodies : [undefined]) {
      const server = await exampleServer()
      const { status } = await callOperation(server, op, { body })
      await server.close()
      if (status < 300) replayed += 1
    }
    return replayed === Math.max(1, bodies.length) ? `${replayed}` : ''
  },
  'scope enforced': async (op) => {
    if (op.isPublic) return 'none'
    // Any valid key.
    if (op.scope === undefined) return (await statusWith(op, ['webhooks:read'])) === '200' ? 'any' : ''
    const others = everyScope().filter((scope) => scope !== op.scope)
    const isEnforced = (await statusWith(op, others)) === 'forbidden' && (await statusWith(op, [op.scope!])) !== '403'
    return isEnforced ? op.scope! : ''
  },
  'error statuses': async (op) => {
    const documented = Object.entries(op.responses).filter(([status]) => Number(status) >= 400)
    const exercised: string[] = []
    for (const [status, codes] of documented) {
      const code = codes.find((one) => causes[`${op.id} ${one}`] ?? sharedCauses[one])
      const reply = code && (await (causes[`${op.id} ${code}`] ?? sharedCauses[code])!(world, op))
      if (reply && reply.status === Number(status) && reply.headers.get('X-Error-Code') === code) exercised.push(status)
    }
    return exercised.length === documented.length ? exercised.join(' ') || 'none' : ''
  },
}

test('every operation has a route, an SDK method, a working example, a scope and its errors', async () => {
  const table: Record<string, Record<string, string>> = {}
  for (const op of operations) {
    const row: Record<string, string> = {}
    for (const [name, check] of Object.entries(checks)) row[name] = (await check(op)) || 'MISSING'
    table[op.id] = row
  }
  console.table(table)
  const gaps = Object.entries(table).flatMap(([id, row]) =>
    Object.keys(row)
      .filter((name) => row[name] === 'MISSING')
      .map((name) => `${id}: ${name}`),
  )
  expect(gaps).toEqual([])
}, 180_000)
