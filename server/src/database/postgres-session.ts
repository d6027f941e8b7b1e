import { CompiledQuery, type QueryResult } from 'kysely'
import type pg from 'pg'
import { type AuditChain, type AuditHead, NO_CHAIN, type Transaction } from './database.ts'
import { createPostgresKysely, insertedRowCount, isReadOnly, run } from './postgres-executor.ts'
import { toStorageError } from './postgres-pool.ts'
import type { StorageError } from './storage-error.ts'
import type { Tables } from './tables.ts'

/** The first statement that failed; PostgreSQL rejects all later ones of the transaction. */
interface Failure<Owner> {
  error: StorageError
  /** The job that ran it. */
  owner: Owner | undefined
}

const BEGIN = CompiledQuery.raw('begin')
/** The transaction id, queried first so that it is known before anything can fail. */
const FIND_XID = CompiledQuery.raw('select pg_current_xact_id()::text as xid')
/**
 * Locks the shop's row, after every other transaction on the shop has ended, and returns the head of its audit chain.
 * Inserts the row if it is missing, so that there is always a row to lock.
 */
const LOCK_SHOP = `insert into "auditHeads" as head ("shopId", seq, hash) values ($1, 0, '')
  on conflict ("shopId") do update set seq = head.seq
  returning seq, hash, pg_current_xact_id()::text as xid`
const STORE_HEAD = 'update "auditHeads" set seq = $2, hash = $3 where "shopId" = $1'

/** Runs transactions one after the other on one connection. */
export class PostgresSession<Owner> {
  readonly trx: Transaction
  /** The audit chain of the transaction's shop. */
  chain = NO_CHAIN
  /** The job that runs now. */
  owner: Owner | undefined
  /** The number of statements that may have written. */
  writes = 0
  failure: Failure<Owner> | undefined
  /** The transaction id, to query the outcome of a commit over another connection. */
  xid: string | undefined
  readonly #client: pg.PoolClient
  #isEager = false
  #pending: Promise<void>[] = []
  /** The update of the chain's head, if it has moved. */
  #storeHead: CompiledQuery | undefined

  constructor(client: pg.PoolClient) {
    this.#client = client
    this.trx = createPostgresKysely<Tables>((query) => this.#send(query))
  }

  /**
   * Begins a transaction; with a shop, it waits for the shop's lock. Nothing is awaited here: later statements are pipelined
   * behind it. `isEager`: an insert whose result is known in advance resolves before the database confirms it, which saves a
   * round trip each; an error appears in `failure`, at the latest after `commit`.
   */
  begin(shopId: string | undefined, isEager: boolean): void {
    this.owner = undefined
    this.writes = 0
    this.failure = undefined
    this.xid = undefined
    this.#isEager = isEager
    this.#pending = []
    this.#storeHead = undefined
    this.#track(this.#run(BEGIN))
    const first = shopId === undefined ? FIND_XID : CompiledQuery.raw(LOCK_SHOP, [shopId])
    const begun = this.#run<AuditHead & { xid: string }>(first).then(({ rows }) => {
      this.xid = rows[0]!.xid
      return rows[0]!
    })
    this.#track(begun)
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

  /** Returns whether the transaction was committed; it was not when a statement failed. @throws StorageError */
  async commit(): Promise<boolean> {
    this.owner = undefined
    if (this.#storeHead) this.#track(this.#run(this.#storeHead))
    try {
      const { command } = await this.#client.query('commit')
      await Promise.all(this.#pending)
      return command === 'COMMIT'
    } catch (error) {
      throw toStorageError(error)
    }
  }

  /** @throws StorageError when the connection is lost. */
  async rollback(): Promise<void> {
    await run(this.#client, CompiledQuery.raw('rollback'))
    await Promise.all(this.#pending)
  }

  async #send<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    if (!isReadOnly(query)) this.writes++
    const rows = this.#isEager ? insertedRowCount(query) : undefined
    const sent = this.#run<R>(query)
    if (rows === undefined) return sent
    this.#track(sent)
    return { rows: [], numAffectedRows: rows }
  }

  /** Awaits the statement at the end of the transaction; `failure` has its error. */
  #track(sent: Promise<unknown>): void {
    this.#pending.push(
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
