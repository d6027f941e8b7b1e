import { randomBytes } from 'node:crypto'
import { pino } from 'pino'
import { monotonicFactory } from 'ulid'
import type { Config } from './config.ts'
import type { Deps } from './context.ts'
import type { Database } from './db/database.ts'
import { createVault } from './vault.ts'

/** The real world: the system's clock, randomness and standard error. */
export function createDeps(config: Config, db: Database): Deps {
  const ulid = monotonicFactory()
  const now = () => Date.now()
  return {
    config,
    db,
    log: pino({ level: config.logLevel }, pino.destination({ dest: 2, sync: true })),
    vault: createVault(config.encryptionKeys),
    now,
    newId: (prefix) => `${prefix}_${ulid(now())}`,
    random: (bytes) => new Uint8Array(randomBytes(bytes)),
    stopping: new AbortController().signal,
    wakeDispatcher: () => {},
  }
}
