import { CompiledQuery, type QueryResult } from 'kysely'
import type pg from 'pg'
import { type AuditChain, type AuditHead, NO_CHAIN, type Transaction } from './database.ts'
import { StatementBatch } from './postgres-batch.ts'
import { createPostgresKysely, describeStatement, run } from './postgres-executor.ts'
import { toStorageError } from './postgres-pool.ts'
import type { StorageError } from './storage-error.ts'
import type { Tables } from './tables.ts'

/** The first statement that failed; PostgreSQL rejects all later ones of the transaction. */
interface Failure<Job> {
  error: StorageError
  /** The jobs that asked for it; none when the transaction could not begin. */
  owners: Job[]
}

/** What a job runs with. */
export interface JobHandle {
  trx: Transaction
  chain: AuditChain
  /** Whether it asked for a statement that may write. */
  hasWritten: boolean
}

/** A statement in the order in which jobs asked for it, and its result. */
export interface TracedStatement<Job> {
  owner: Job
  query: CompiledQuery
}

/** A write to the audit chain that is linked after the jobs of its wave. */
interface QueuedAudit<Job> {
  owner: Job
  write: (last: AuditHead) => Promise<AuditHead>
}

interface BeginOptions {
  /** The shop to lock. */
  shopId: string | undefined
  /** Whether jobs run side by side; otherwise each statement is awaited. */
  isBatched: boolean
}

/** The transaction has failed already. */
const ABORTED = '25P02'

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

/** Runs transactions on one connection, one at a time. */
export class PostgresSession<Job> {
  failure: Failure<Job> | undefined
  /** The transaction id, to query the outcome of a commit over another connection. */
  xid: string | undefined
  /** Set to record the statements of the jobs. */
  trace: TracedStatement<Job>[] | undefined
  readonly #client: pg.PoolClient
  readonly #beginSql: string
  readonly #batch: StatementBatch<Job>
  #options: BeginOptions = { shopId: undefined, isBatched: false }
  #pending: Promise<void>[] = []
  /** Incremented with each transaction: a statement of an earlier one is rejected. */
  #transaction = 0
  #head: Promise<AuditHead> | undefined
  /** The head of the audit chain, if it has moved. */
  #movedHead: AuditHead | undefined
  #audits: QueuedAudit<Job>[] = []

  constructor(client: pg.PoolClient, beginSql: string) {
    this.#client = client
    this.#beginSql = beginSql
    this.#batch = new StatementBatch(client, (error, owners) => this.#fail(error, owners))
  }

  /**
   * Begins a transaction; with a shop, it waits for the shop's lock. Nothing is awaited here: later statements are pipelined
   * behind it. `isBatched`: statements of one turn are merged, and an insert whose result is known in advance resolves
   * before the database confirms it, which saves a round trip each; an error appears in `failure`, at the latest after
   * `commit`.
   */
  begin(options: BeginOptions): void {
    this.failure = undefined
    this.xid = undefined
    this.#options = options
    this.#pending = []
    this.#transaction++
    this.#movedHead = undefined
    this.#audits = []
    // Several statements cannot be prepared.
    this.#track(this.#client.query(this.#beginSql).catch((error) => this.#fail(error, [])))
    const { shopId } = options
    const first = shopId === undefined ? FIND_XID : CompiledQuery.raw(LOCK_SHOP, [shopId])
    const begun = this.#run<AuditHead & { xid: string }>([], first).then(({ rows }) => {
      this.xid = rows[0]!.xid
      return rows[0]!
    })
    this.#track(begun)
    this.#head = shopId === undefined ? undefined : begun
  }

  /** The handle of a job that runs in this transaction. */
  open(owner: Job): JobHandle {
    const transaction = this.#transaction
    const handle: JobHandle = {
      trx: createPostgresKysely<Tables>((query) => {
        if (transaction !== this.#transaction) throw new Error('The transaction has ended')
        if (!describeStatement(query).isRead) handle.hasWritten = true
        return this.#send(owner, query)
      }),
      chain: this.#options.shopId === undefined ? NO_CHAIN : { append: (write) => this.#append({ owner, write }) },
      hasWritten: false,
    }
    return handle
  }

  async #append(audit: QueuedAudit<Job>): Promise<void> {
    if (this.#options.isBatched) this.#audits.push(audit)
    else await this.#link(audit)
  }

  /** Links the audit rows that a job has appended, once it has run. */
  async linkAudits(job: Job): Promise<void> {
    for (const audit of this.#audits) if (audit.owner === job) await this.#link(audit)
  }

  async #link({ write }: QueuedAudit<Job>): Promise<void> {
    this.#movedHead = await write(this.#movedHead ?? (await this.#head!))
  }

  /** Returns whether the transaction was committed; it was not when a statement failed. @throws StorageError */
  async commit(): Promise<boolean> {
    this.#transaction++
    this.#batch.flush()
    if (this.#movedHead) {
      const { seq, hash } = this.#movedHead
      this.#track(this.#run([], CompiledQuery.raw(STORE_HEAD, [this.#options.shopId, seq, hash])))
    }
    try {
      const { command } = await this.#client.query('commit')
      await Promise.all(this.#pending)
      // PostgreSQL rolls back instead when a statement has failed.
      if (command !== 'COMMIT') this.failure ??= { error: toStorageError(new Error('The commit failed')), owners: [] }
      return command === 'COMMIT'
    } catch (error) {
      throw toStorageError(error)
    }
  }

  /** @throws StorageError when the connection is lost. */
  async rollback(): Promise<void> {
    this.#transaction++
    this.#batch.discard(new Error('The transaction was rolled back'))
    await run(this.#client, CompiledQuery.raw('rollback'))
    await Promise.all(this.#pending)
  }

  /** Sends what the jobs asked for and waits for all results. */
  async settle(): Promise<void> {
    this.#batch.flush()
    await Promise.all(this.#pending)
  }

  /** Sends a statement without merging it with others. @throws StorageError */
  execute<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    return run<R>(this.#client, query)
  }

  async #send<R>(owner: Job, query: CompiledQuery): Promise<QueryResult<R>> {
    if (!this.#options.isBatched) return this.#run<R>([owner], query)
    this.trace?.push({ owner, query })
    const { insertedRows } = describeStatement(query)
    const sent = this.#batch.add<R>(owner, query)
    this.#track(sent)
    return insertedRows === undefined ? sent : { rows: [], numAffectedRows: insertedRows }
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

  async #run<R>(owners: Job[], query: CompiledQuery): Promise<QueryResult<R>> {
    try {
      return await run<R>(this.#client, query)
    } catch (error) {
      this.#fail(error, owners)
      throw error
    }
  }

  #fail(error: unknown, owners: Job[]): void {
    const storageError = toStorageError(error)
    // Statements that were sent behind the one that failed.
    if (storageError.code !== ABORTED) this.failure ??= { error: storageError, owners }
  }
}
