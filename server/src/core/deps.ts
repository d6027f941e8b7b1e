import { randomBytes } from 'node:crypto'
import { monotonicFactory } from 'ulid'
import type { Config } from '../config.ts'
import type { Database } from '../database/database.ts'
import type { Deps } from './context.ts'
import { createLog } from './log.ts'
import { createVault } from './vault.ts'

/** Random numbers from 0 to 1, from a pool: one system call per number would cost more than the rest of an id. */
function createRandom(random: (bytes: number) => Uint8Array): () => number {
  let pool: Uint8Array = new Uint8Array()
  let next = 0
  return () => {
    if (next >= pool.length) {
      pool = random(4096)
      next = 0
    }
    return (pool[next++] ?? 0) / 256
  }
}

/** The dependencies of a real server: system clock, secure randomness, logs on standard error. */
export function createDeps(config: Config, db: Database): Deps {
  const ulid = monotonicFactory(createRandom(randomBytes))
  const now = () => Date.now()
  return {
    config,
    db,
    log: createLog(config.logLevel),
    vault: createVault(config.encryptionKeys),
    now,
    newId: (prefix) => `${prefix}_${ulid(now())}`,
    random: (bytes) => new Uint8Array(randomBytes(bytes)),
    stopping: new AbortController().signal,
    wakeDispatcher: () => {},
  }
}
