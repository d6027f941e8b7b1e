// A local receiver for `referral webhooks listen --forward-to http://127.0.0.1:3000`.
// Pass the secret that `listen` prints: REFERRAL_WEBHOOK_SECRET=… node receiver.ts
import { createServer } from 'node:http'
import { webhook } from '@referral/webhook-verifier/node'

const port = Number(process.env.PORT ?? 3000)
const secret = process.env.REFERRAL_WEBHOOK_SECRET
if (!secret) {
  console.error('Set REFERRAL_WEBHOOK_SECRET to the secret that `referral webhooks listen` prints.')
  process.exit(1)
}

const server = createServer(
  webhook({ secret }, (event) => {
    console.log(`${event.event} ${event.timestamp}`)
  }),
)
server.listen(port, '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${port}`))
