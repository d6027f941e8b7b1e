import { CompiledQuery, type Kysely, type QueryResult } from 'kysely'
import type pg from 'pg'
import { isReading, kyselyOver, rowsOf, run } from './postgres-executor.ts'
import { toStorageError } from './postgres-pool.ts'
import type { StorageError } from './storage-error.ts'
import type { Tables } from './tables.ts'

/** The first statement that failed; PostgreSQL refuses all later ones of the transaction. */
interface Failure {
  error: StorageError
  /** Who asked for it. */
  owner: unknown
}

/** One transaction after another on one connection. */
export class PostgresSession {
  readonly trx: Kysely<Tables>
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

  constructor(client: pg.PoolClient) {
    this.#client = client
    this.trx = kyselyOver<Tables>((query) => this.#send(query))
  }

  /**
   * Begins; with a shop, after every other transaction on it has ended. Nothing is awaited here, what follows stands in
   * line. `isEager`: an insert whose answer says nothing new counts as done before the database has said so, which saves
   * a round trip each; that it failed shows in `failure`, at the latest after `commit`.
   */
  begin(shopId: string | undefined, isEager: boolean): void {
    this.owner = undefined
    this.writes = 0
    this.failure = undefined
    this.xid = undefined
    this.#isEager = isEager
    this.#posted = []
    this.#post(CompiledQuery.raw('begin'))
    if (shopId !== undefined)
      this.#post(CompiledQuery.raw('select pg_advisory_xact_lock(hashtextextended($1, 0))', [shopId]))
    this.#post(CompiledQuery.raw('select pg_current_xact_id()::text as xid'), (rows) => {
      this.xid = (rows[0] as { xid: string }).xid
    })
  }

  /** Answers whether the transaction was kept; it is not when a statement failed. @throws StorageError */
  async commit(): Promise<boolean> {
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
    if (!isReading(query)) this.writes++
    const rows = this.#isEager ? rowsOf(query) : undefined
    if (rows === undefined) return this.#noting(run<R>(this.#client, query))
    this.#post(query)
    return { rows: [], numAffectedRows: rows }
  }

  #post(query: CompiledQuery, then: (rows: unknown[]) => void = () => {}): void {
    const sent = this.#noting(run(this.#client, query)).then(
      ({ rows }) => then(rows),
      // `failure` holds it.
      () => {},
    )
    this.#posted.push(sent)
  }

  async #noting<T>(pending: Promise<T>): Promise<T> {
    const { owner } = this
    try {
      return await pending
    } catch (error) {
      this.failure ??= { error: error as StorageError, owner }
      throw error
    }
  }
}
