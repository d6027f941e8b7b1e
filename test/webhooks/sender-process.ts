import { pino } from 'pino'
import { createVault } from '../../server/src/core/vault.ts'
import { openDatabase } from '../../server/src/database/open.ts'
import { createDispatcher } from '../../server/src/domains/webhooks/delivery/dispatcher.ts'

/** A sender in a separate process with the test server's database; it runs until it is killed. */
const [, , url = '', receiver = ''] = process.argv
const dispatcher = createDispatcher({
  db: await openDatabase(url),
  vault: createVault([new Uint8Array(32).fill(7)]),
  log: pino({ level: 'silent' }),
  now: Date.now,
  config: { webhookAllow: [receiver] },
})
await dispatcher.start()
process.on('disconnect', () => process.exit(0))
