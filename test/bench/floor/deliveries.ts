import { createHmac } from 'node:crypto'
import { Pool } from 'undici'
import { open } from './contract.ts'

/** The floor of deliveries: an undici Pool and an HMAC, without an outbox or storage. */
const rows = open()
  .prepare<[], { body: string }>(
    `select e.body from deliveries d join "webhookEvents" e on e."shopId" = d."shopId" and e.id = d."eventId" where d.status = 'PENDING'`,
  )
  .all()
const pool = new Pool(process.env.RECEIVER ?? '', { connections: 64 })
const started = performance.now()
let next = 0
await Promise.all(
  Array.from({ length: 64 }, async () => {
    for (let row = rows[next++]; row; row = rows[next++]) {
      const signature = createHmac('sha256', 'whsec').update(row.body).digest('hex')
      const headers = { 'Content-Type': 'application/json', 'X-Service-Signature': signature }
      const { body } = await pool.request({ path: '/floor', method: 'POST', headers, body: row.body })
      await body.dump()
    }
  }),
)
console.log(JSON.stringify({ seconds: (performance.now() - started) / 1000 }))
process.exit(0)
