import { type Side, schemaChanges } from './breaking-schema.ts'

// biome-ignore lint/suspicious/noExplicitAny: documents are walked as plain JSON
export type Json = any

export const METHODS = ['get', 'post', 'put', 'patch', 'delete']

/**
 * What of a contract no longer holds in a later version of it: changes that break a caller or a receiver who was written
 * for the earlier one. Additions are none.
 *
 * @param today An ISO 8601 date: a deprecated operation may go once its sunset is over.
 */
export function breakingChanges(earlier: Json, later: Json, today = new Date().toISOString()): string[] {
  const [before, after] = [dereferenced(earlier), dereferenced(later)]
  const names = gone(before.components.schemas, after.components.schemas).map((name) => `schema ${name} is gone`)
  const operations = Object.entries<Json>(before.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method]).flatMap((method) => {
      const [was, is] = [item[method], after.paths[path]?.[method]]
      const isOver = was.deprecated && was['x-sunset'] < today
      if (!is) return isOver ? [] : [`${method.toUpperCase()} ${path} is gone`]
      const security = [was.security ?? before.security, is.security ?? after.security] as const
      return prefixed(`${method.toUpperCase()} ${path}`, [
        ...credentialChanges(...security),
        ...operationChanges(was, is, { sent: 'request', received: 'response' }),
      ])
    }),
  )
  const webhooks = Object.entries<Json>(before.webhooks ?? {}).flatMap(([event, { post }]) => {
    const is = after.webhooks?.[event]?.post
    // Reversed: a receiver must accept what the server sends.
    return prefixed(
      `webhook ${event}`,
      is ? operationChanges(post, is, { sent: 'response', received: 'request' }) : ['is gone'],
    )
  })
  return [...names, ...operations, ...webhooks]
}

/** Follows every reference; a recursive schema stays one object. */
export function dereferenced(document: Json): Json {
  const known = new Map<string, Json>()
  const follow = (node: Json): Json => {
    if (node === null || typeof node !== 'object') return node
    if (Array.isArray(node)) return node.map(follow)
    if (typeof node.$ref !== 'string') {
      return Object.fromEntries(Object.entries(node).map(([key, one]) => [key, follow(one)]))
    }
    if (!known.has(node.$ref)) {
      const target = {}
      known.set(node.$ref, target)
      const steps: string[] = node.$ref.slice('#/'.length).split('/')
      Object.assign(target, follow(steps.reduce((at, step) => at[step], document)))
    }
    return known.get(node.$ref)
  }
  return follow(document)
}

const gone = (before: object = {}, after: object = {}) => Object.keys(before).filter((name) => !(name in after))
const prefixed = (where: string, changes: string[]) => changes.map((change) => `${where}: ${change}`)

/** Every earlier caller can still call: each credential needs at most the same scopes and allows at least the same roles. */
function credentialChanges(before: Json[], after: Json[]): string[] {
  if (before.length === 0) return after.length === 0 ? [] : ['needs a credential']
  return before.flatMap((was) => {
    const kept = after.some((is) =>
      Object.entries<string[]>(is).every(([scheme, needed]) => {
        const had: string[] | undefined = was[scheme]
        if (!had) return false
        return scheme === 'apiKey' ? within(needed, had) : within(had, needed)
      }),
    )
    return kept || after.length === 0 ? [] : [`no longer takes ${JSON.stringify(was)}`]
  })
}

const within = (some: string[], all: string[]) => some.every((one) => all.includes(one))

/** `sent`: the side of what the document calls the request. */
function operationChanges(was: Json, is: Json, sides: { sent: Side; received: Side }): string[] {
  const changes: string[] = []
  if (was.operationId !== is.operationId) changes.push(`operationId ${was.operationId} is gone`)
  if ((is['x-max-body-bytes'] ?? Infinity) < (was['x-max-body-bytes'] ?? Infinity))
    changes.push('takes fewer bytes in a body')
  changes.push(...parameterChanges(was.parameters ?? [], is.parameters ?? [], sides.sent))
  if (is.requestBody?.required && !was.requestBody?.required) changes.push('needs a body')
  changes.push(...contentChanges(was.requestBody?.content, is.requestBody?.content, { side: sides.sent, at: 'body' }))
  for (const [status, response] of Object.entries<Json>(was.responses)) {
    const now = is.responses[status]
    if (!now) changes.push(...(status.startsWith('2') ? [`no longer answers ${status}`] : []))
    else {
      changes.push(...gone(response.headers, now.headers).map((name) => `${status} is without ${name}`))
      changes.push(...contentChanges(response.content, now.content, { side: sides.received, at: status }))
    }
  }
  return changes
}

function parameterChanges(before: Json[], after: Json[], side: Side): string[] {
  const key = (one: Json) => `${one.in} ${one.in === 'header' ? one.name.toLowerCase() : one.name}`
  const now = new Map(after.map((one) => [key(one), one]))
  const earlier = new Set(before.map(key))
  return [
    ...before.flatMap((was) => {
      const is = now.get(key(was))
      if (!is) return [`${was.name} is gone`]
      const newly = is.required && !was.required ? [`${was.name} is newly required`] : []
      return [...newly, ...schemaChanges(was.schema, is.schema, { side, at: was.name })]
    }),
    ...after.filter((one) => one.required && !earlier.has(key(one))).map(({ name }) => `${name} is newly required`),
  ]
}

function contentChanges(before: Json = {}, after: Json = {}, where: { side: Side; at: string }): string[] {
  const kept = Object.keys(before).filter((type) => type in after)
  return [
    ...gone(before, after).map((type) => `${where.at} is no longer ${type}`),
    ...kept.flatMap((type) => schemaChanges(before[type].schema ?? {}, after[type].schema ?? {}, where)),
  ]
}
