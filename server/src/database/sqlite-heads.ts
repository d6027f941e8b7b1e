import type SQLite from 'better-sqlite3'
import { type AuditChain, type AuditHead, NO_CHAIN } from './audit-chain.ts'

const FIND = 'select seq, hash from "auditHeads" where "shopId" = ?'
const STORE = `insert into "auditHeads" ("shopId", seq, hash) values (?, ?, ?)
  on conflict ("shopId") do update set seq = excluded.seq, hash = excluded.hash`

/** The audit chains of the shops that one transaction works on. */
export class SqliteHeads {
  readonly #database: SQLite.Database
  readonly #heads = new Map<string, AuditHead>()
  readonly #moved = new Set<string>()
  #find: SQLite.Statement | undefined
  #store: SQLite.Statement | undefined

  constructor(database: SQLite.Database) {
    this.#database = database
  }

  /** Other processes move heads between transactions. */
  begin(): void {
    this.#heads.clear()
    this.#moved.clear()
  }

  /** Stores the heads that have moved, before the commit. */
  store(): void {
    for (const shopId of this.#moved) {
      const { seq, hash } = this.#headOf(shopId)
      this.#store ??= this.#database.prepare(STORE)
      this.#store.run(shopId, seq, hash)
    }
  }

  chainOf(shopId: string | undefined): AuditChain {
    if (shopId === undefined) return NO_CHAIN
    return {
      head: async () => this.#headOf(shopId),
      advance: (to) => {
        this.#heads.set(shopId, to)
        this.#moved.add(shopId)
      },
    }
  }

  #headOf(shopId: string): AuditHead {
    // Prepared with the first use, for the table may not be there when the database is opened.
    this.#find ??= this.#database.prepare(FIND)
    const head = this.#heads.get(shopId) ?? (this.#find.get(shopId) as AuditHead | undefined) ?? { seq: 0, hash: '' }
    this.#heads.set(shopId, head)
    return head
  }
}
