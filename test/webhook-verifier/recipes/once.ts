import { webhook } from '@referral/webhook-verifier/hono'
import Database from 'better-sqlite3'
import { Hono } from 'hono'

const db = new Database(process.env.DATABASE_FILE ?? ':memory:')
db.exec('create table if not exists seen (key text primary key)')
const find = db.prepare('select 1 from seen where key = ?')
const insert = db.prepare('insert into seen (key) values (?) on conflict do nothing')

const options = {
  secret: process.env.WEBHOOK_SECRET!,
  seen: (key: string) => find.get(key) !== undefined,
}

export const app = new Hono()
app.post(
  '/webhooks',
  webhook(options, (event, { dedupeKey }) =>
    db.transaction(() => {
      // Of concurrent deliveries, only one inserts the key.
      if (insert.run(dedupeKey).changes === 0) return
      console.log('processing', event.event, 'in the same transaction')
    })(),
  ),
)
