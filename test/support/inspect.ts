import { expect } from 'vitest'
import { pointerTo, problems } from './document.ts'
import type { TestServer } from './server.ts'

// What the database holds, for tests whose subject is what is stored: the outbox, the audit log and row counts.

export interface Announced {
  event: string
  timestamp: string
  shop_id: string
  // biome-ignore lint/suspicious/noExplicitAny: checked against the document where it is read
  data: any
}

/** Inserts a webhook subscription and returns its id; without event names it receives every event. */
export function subscribe({ sql, shop, deps }: TestServer, events: string[] = [], shopId = shop.shopId): string {
  const id = deps.newId('whs')
  const now = new Date(deps.now()).toISOString()
  sql
    .prepare(
      `insert into subscriptions (id, "shopId", url, events, source, secret, "createdAt", "updatedAt")
       values (?, ?, 'https://hooks.example.com/', ?, 'api', null, ?, ?)`,
    )
    .run(id, shopId, JSON.stringify(events), now, now)
  return id
}

/** Returns a function that returns the events added to the outbox since its last call, each validated against its schema. */
export function outbox({ sql }: TestServer) {
  const rows = () =>
    sql.prepare('select id, event, body from "webhookEvents" order by id').all() as Record<
      'id' | 'event' | 'body',
      string
    >[]
  let seen = rows().length
  return (): Announced[] => {
    const fresh = rows().slice(seen)
    seen += fresh.length
    return fresh.map(({ event, body }) => {
      const announced: Announced = JSON.parse(body)
      const schema = pointerTo('webhooks', event, 'post', 'requestBody', 'content', 'application/json', 'schema')
      expect(problems(schema, announced)).toEqual([])
      expect(announced.event).toBe(event)
      return announced
    })
  }
}

export interface Audited {
  action: string
  subjectId: string | null
  actor: string
  data: Record<string, unknown>
  shopId: string
}

/** Returns a function that returns the audit rows added since its last call, oldest first. */
export function auditLog({ sql }: TestServer) {
  const rows = () =>
    sql.prepare('select action, "subjectId", actor, data, "shopId" from audits order by id').all() as (Omit<
      Audited,
      'data'
    > & { data: string })[]
  let seen = rows().length
  return (): Audited[] => {
    const fresh = rows().slice(seen)
    seen += fresh.length
    return fresh.map((row) => ({ ...row, data: JSON.parse(row.data) }))
  }
}

/** Inserts one row, past every check of the server. */
export function insertRow({ sql }: TestServer, table: string, row: Record<string, unknown>): void {
  const names = Object.keys(row)
  sql
    .prepare(`insert into "${table}" (${names.map((name) => `"${name}"`)}) values (${names.map(() => '?')})`)
    .run(...Object.values(row))
}

/** The number of rows of a table. */
export const countOf = ({ sql }: TestServer, table: string, where = '1 = 1'): number =>
  sql.prepare(`select count(*) from "${table}" where ${where}`).pluck().get() as number

/** Every row of every table, to show that a secret is stored nowhere. */
export const allRows = ({ sql }: TestServer): unknown[] =>
  sql.tables().flatMap((table) => sql.prepare(`select * from "${table}"`).all())
