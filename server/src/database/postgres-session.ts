import { CompiledQuery, type QueryResult } from 'kysely'
import type pg from 'pg'
import { type AuditChain, type AuditHead, NO_CHAIN, type Transaction } from './database.ts'
import { createPostgresKysely, insertedRowCount, isReadOnly, run } from './postgres-executor.ts'
import { toStorageError } from './postgres-pool.ts'
import type { StorageError } from './storage-error.ts'
import type { Tables } from './tables.ts'

/** The first statement that failed; PostgreSQL refuses all later ones of the transaction. */
interface Failure {
  error: StorageError
  /** Who asked for it. */
  owner: unknown
}

const BEGIN = CompiledQuery.raw('begin')
/** The transaction's number; as the first thing that is asked, it is there before anything can fail. */
const FIND_XID = CompiledQuery.raw('select pg_current_xact_id()::text as xid')
/**
 * Waits until every other transaction on the shop has ended, and returns where its audit ends. A shop without a row gets
 * one, so that there is always something to lock.
 */
const LOCK_SHOP = `insert into "auditHeads" as head ("shopId", seq, hash) values ($1, 0, '')
  on conflict ("shopId") do update set seq = head.seq
  returning seq, hash, pg_current_xact_id()::text as xid`
const STORE_HEAD = 'update "auditHeads" set seq = $2, hash = $3 where "shopId" = $1'

/** One transaction after another on one connection. */
export class PostgresSession {
  readonly trx: Transaction
  /** The audit of the shop that the transaction names. */
  chain = NO_CHAIN
  /** On whose behalf statements are sent now. */
  owner: unknown
  /** Statements so far that may have written. */
  writes = 0
  failure: Failure | undefined
  /** The transaction's number: the database knows it by that when the connection is gone. */
  xid: string | undefined
  readonly #client: pg.PoolClient
  #isEager = false
  #posted: Promise<void>[] = []
  /** Stores the head of the chain, once it has moved. */
  #storeHead: CompiledQuery | undefined

  constructor(client: pg.PoolClient) {
    this.#client = client
    this.trx = createPostgresKysely<Tables>((query) => this.#send(query))
  }

  /**
   * Begins; with a shop, after every other transaction on it has ended. Nothing is awaited here, what follows is queued
   * behind it. `isEager`: an insert whose result says nothing new counts as done before the database has confirmed it,
   * which saves a round trip each; that it failed shows in `failure`, at the latest after `commit`.
   */
  begin(shopId: string | undefined, isEager: boolean): void {
    this.owner = undefined
    this.writes = 0
    this.failure = undefined
    this.xid = undefined
    this.#isEager = isEager
    this.#posted = []
    this.#storeHead = undefined
    this.#post(this.#run(BEGIN))
    const first = shopId === undefined ? FIND_XID : CompiledQuery.raw(LOCK_SHOP, [shopId])
    const begun = this.#run<AuditHead & { xid: string }>(first).then(({ rows }) => {
      this.xid = rows[0]!.xid
      return rows[0]!
    })
    this.#post(begun)
    this.chain = shopId === undefined ? NO_CHAIN : this.#chainOf(shopId, begun)
  }

  #chainOf(shopId: string, locked: Promise<AuditHead>): AuditChain {
    let head = locked
    return {
      head: () => head,
      advance: (to) => {
        head = Promise.resolve(to)
        this.#storeHead = CompiledQuery.raw(STORE_HEAD, [shopId, to.seq, to.hash])
      },
    }
  }

  /** Returns whether the transaction was kept; it is not when a statement failed. @throws StorageError */
  async commit(): Promise<boolean> {
    this.owner = undefined
    if (this.#storeHead) this.#post(this.#run(this.#storeHead))
    try {
      const { command } = await this.#client.query('commit')
      await Promise.all(this.#posted)
      return command === 'COMMIT'
    } catch (error) {
      throw toStorageError(error)
    }
  }

  /** @throws StorageError when the connection is gone. */
  async rollback(): Promise<void> {
    await run(this.#client, CompiledQuery.raw('rollback'))
    await Promise.all(this.#posted)
  }

  async #send<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    if (!isReadOnly(query)) this.writes++
    const rows = this.#isEager ? insertedRowCount(query) : undefined
    const sent = this.#run<R>(query)
    if (rows === undefined) return sent
    this.#post(sent)
    return { rows: [], numAffectedRows: rows }
  }

  /** Nobody awaits it before the end of the transaction; `failure` holds its error. */
  #post(sent: Promise<unknown>): void {
    this.#posted.push(
      sent.then(
        () => {},
        () => {},
      ),
    )
  }

  async #run<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const { owner } = this
    try {
      return await run<R>(this.#client, query)
    } catch (error) {
      this.failure ??= { error: error as StorageError, owner }
      throw error
    }
  }
}
