import { ApiError, type Call } from '@referral/sdk'
import { expect } from 'vitest'
import { pointerTo, problems } from './document.ts'
import type { TestServer } from './server.ts'

/** Status and code of a refused call; a call that succeeds fails the test. */
export async function refusal(call: Call<unknown>): Promise<[number, string | undefined]> {
  const { error } = await call.safe()
  expect(error, 'the call was not refused').toBeInstanceOf(ApiError)
  return [(error as ApiError).status, error?.code]
}

export interface Announced {
  event: string
  timestamp: string
  shop_id: string
  // biome-ignore lint/suspicious/noExplicitAny: checked against the document where it is read
  data: any
}

/** A subscription of the shop as it is stored; without names it takes every event. */
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

/** What was written to the outbox since the last look, in its order, each checked against the document. */
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

/** The audit rows since the last look, oldest first. */
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

/** Inserts one row as it is stored. */
export function insertRow({ sql }: TestServer, table: string, row: Record<string, unknown>): void {
  const names = Object.keys(row)
  sql
    .prepare(`insert into "${table}" (${names.map((name) => `"${name}"`)}) values (${names.map(() => '?')})`)
    .run(...Object.values(row))
}

export const countOf = ({ sql }: TestServer, table: string, where = '1 = 1'): number =>
  sql.prepare(`select count(*) from "${table}" where ${where}`).pluck().get() as number
