import { CompiledQuery, type QueryResult } from 'kysely'
import type pg from 'pg'
import { type AuditChain, type AuditHead, NO_CHAIN, type Transaction } from './database.ts'
import { StatementBatch } from './postgres-batch.ts'
import { createPostgresKysely, describeStatement, run } from './postgres-executor.ts'
import { toStorageError } from './postgres-pool.ts'
import type { StorageError } from './storage-error.ts'
import type { Tables } from './tables.ts'

/** An audit row that a transaction has written, which no other transaction can have written. */
export interface AuditTrace {
  shopId: string
  seq: number
  hash: string
}

/** The first statement that failed; PostgreSQL rejects all later ones of the transaction. */
interface Failure<Job> {
  error: StorageError
  /** The jobs that asked for it; none when the transaction could not begin. */
  owners: Job[]
}

/** Work on one shop, or on none. */
export interface ShopJob {
  shopId: string | undefined
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

/** Audit rows or webhook events that are linked after the jobs of their wave. */
interface QueuedAppend<Job> {
  owner: Job
  write: (last: AuditHead) => Promise<AuditHead>
}

/** The heads of the audit chains of the shops that a transaction has locked. */
type LockedHeads = Map<string, AuditHead>

interface LockRow extends AuditHead {
  /** Null when no shop is locked. */
  shopId: string | null
  xid: string
}

/** The transaction has failed already. */
const ABORTED = '25P02'
const LOCK_TIMEOUT = '55P03'

/**
 * Locks the rows of the shops that no other transaction has locked, and returns the heads of their audit chains. Inserts
 * missing rows, so that there is always a row to lock.
 */
const LOCK_FREE_SHOPS = `with locked as materialized
    (select head.* from unnest($1::text[]) as given ("shopId") cross join lateral (
      select "shopId", seq, hash, "eventId" from "auditHeads" as latest where latest."shopId" = given."shopId"
      order by generation desc limit 1 for no key update skip locked) as head),
  inserted as (insert into "auditHeads" ("shopId", seq, hash, "eventId")
    select given."shopId", 0, '', '' from unnest($1::text[]) as given ("shopId")
    where (select max(generation) from "auditHeads" as known where known."shopId" = given."shopId") is null order by 1
    on conflict do nothing returning "shopId", seq, hash, "eventId")
  select held.*, pg_current_xact_id()::text as xid
  from (values (1)) as one left join (table locked union all table inserted) as held on true`
const WAIT_FOR_SHOP = `select "shopId", seq, hash, "eventId", pg_current_xact_id()::text as xid
  from "auditHeads" where "shopId" = $1 order by generation desc limit 1 for no key update`
const FIND_FREE_SHOPS = `select head."shopId" from unnest($1::text[]) as given ("shopId") cross join lateral (
    select "shopId" from "auditHeads" as latest where latest."shopId" = given."shopId"
    order by generation desc limit 1 for no key update skip locked) as head`
/**
 * The only row of a shop moves to a new key after 64 audit rows; see row-counts.ts. The row is locked, so the highest
 * generation does not change.
 */
const STORE_HEADS = `update "auditHeads" as head
  set seq = moved.seq, hash = moved.hash, "eventId" = moved."eventId",
    generation = greatest(head.generation, moved.seq / 64)
  from unnest($1::text[], $2::integer[], $3::text[], $4::text[]) as moved ("shopId", seq, hash, "eventId")
  where head."shopId" = moved."shopId"
    and head.generation = (select max(generation) from "auditHeads" as latest where latest."shopId" = moved."shopId")`
const FIND_XID = CompiledQuery.raw('select pg_current_xact_id()::text as xid')

/** Runs transactions on one connection, one at a time. */
export class PostgresSession<Job extends ShopJob> {
  failure: Failure<Job> | undefined
  /** The transaction id, to query the outcome of a commit over another connection. */
  xid: string | undefined
  /** Set when the commit is sent. After a crash, PostgreSQL may assign `xid` again, so a committed `xid` proves nothing. */
  auditTrace: AuditTrace | undefined
  /**
   * Statements of one turn are merged, and an insert whose result is known in advance resolves before the database confirms
   * it, which saves a round trip each; an error appears in `failure`, at the latest after `commit`. Otherwise each statement
   * is awaited.
   */
  isBatched = true
  /** Set to record the statements of the jobs. */
  trace: TracedStatement<Job>[] | undefined
  readonly #client: pg.PoolClient
  readonly #beginSql: string
  readonly #batch: StatementBatch<Job>
  #pending: Promise<void>[] = []
  /** Incremented with each transaction: a statement of an earlier one is rejected. */
  #transaction = 0
  #locking: Promise<LockedHeads> = Promise.resolve(new Map())
  /** Undefined until the database has responded. */
  #heads: LockedHeads | undefined
  /** The heads that have moved. */
  #movedHeads = new Map<string, AuditHead>()
  #changedShops = new Set<string>()
  #appends: QueuedAppend<Job>[] = []

  constructor(client: pg.PoolClient, beginSql: string) {
    this.#client = client
    this.#beginSql = beginSql
    this.#batch = new StatementBatch(client, (error, owners) => this.#fail(error, owners))
  }

  /**
   * Begins a transaction and locks the shops that no other transaction has locked. Nothing is awaited here: later reads are
   * pipelined behind it.
   */
  begin(shopIds: string[]): void {
    this.#start()
    this.#lock(shopIds.length > 0 ? CompiledQuery.raw(LOCK_FREE_SHOPS, [shopIds]) : FIND_XID)
  }

  /**
   * Begins a transaction and waits for the lock of a shop, behind the transactions that wait for it already. Returns whether
   * it was locked; if not, the transaction has ended. @throws StorageError
   */
  async beginWaiting(
    shopId: string,
    { waitMs, lockTimeoutMs }: { waitMs: number; lockTimeoutMs: number },
  ): Promise<boolean> {
    this.#start()
    const setTimeout = (ms: number) => this.#sendText(`set local lock_timeout = ${ms}`)
    setTimeout(waitMs)
    this.#lock(CompiledQuery.raw(WAIT_FOR_SHOP, [shopId]))
    setTimeout(lockTimeoutMs)
    const heads = await this.#locking.catch(() => undefined)
    if (heads?.has(shopId)) return true
    if (this.failure && this.failure.error.code !== LOCK_TIMEOUT) throw this.failure.error
    await this.rollback()
    return false
  }

  #start(): void {
    this.failure = undefined
    this.xid = undefined
    this.auditTrace = undefined
    this.#pending = []
    this.#transaction++
    this.#movedHeads = new Map()
    this.#changedShops = new Set()
    this.#appends = []
    this.#heads = undefined
    this.#sendText(this.#beginSql)
  }

  /** Sends one or more statements without preparing them. */
  #sendText(text: string): void {
    this.#track(this.#client.query(text).catch((error) => this.#fail(error, [])))
  }

  #lock(query: CompiledQuery): void {
    this.#locking = this.#run<LockRow>([], query).then(({ rows }) => {
      // Known before anything else can fail.
      this.xid = rows[0]?.xid
      this.#heads = new Map(
        rows.flatMap(({ shopId, seq, hash, eventId }) => (shopId ? [[shopId, { seq, hash, eventId }]] : [])),
      )
      return this.#heads
    })
    this.#track(this.#locking)
  }

  /** Resolves when it is known which shops are locked. @throws StorageError when the transaction could not begin. */
  async locked(): Promise<void> {
    await this.#locking
  }

  /** Which of the shops no transaction has locked. @throws StorageError */
  async findFreeShops(shopIds: string[]): Promise<string[]> {
    const sent = [
      this.#client.query(this.#beginSql),
      run<{ shopId: string }>(this.#client, CompiledQuery.raw(FIND_FREE_SHOPS, [shopIds])),
      this.#client.query('rollback'),
    ] as const
    const [, found] = await Promise.all(sent)
    return found.rows.map(({ shopId }) => shopId)
  }

  /** The handle of a job that runs in this transaction. */
  open(owner: Job): JobHandle {
    const transaction = this.#transaction
    /** Set until the locks are known; keeps the order of the statements. */
    let isHeld = false
    const handle: JobHandle = {
      trx: createPostgresKysely<Tables>(async (query) => {
        const { isRead } = describeStatement(query)
        // What another transaction may change can be read in advance, but not written.
        if (!this.#heads && (isHeld || !isRead || !this.isBatched)) {
          isHeld = true
          await this.#locking
        }
        if (transaction !== this.#transaction) throw new Error('The transaction has ended')
        this.#requireLock(owner)
        if (!isRead) {
          handle.hasWritten = true
          if (owner.shopId !== undefined) this.#changedShops.add(owner.shopId)
        }
        return this.#send(owner, query)
      }),
      chain: owner.shopId === undefined ? NO_CHAIN : { append: (write) => this.#append({ owner, write }) },
      hasWritten: false,
    }
    return handle
  }

  /** Whether the job's shop is locked; true for a job without a shop, and until the locks are known. */
  holds({ shopId }: Job): boolean {
    return shopId === undefined || !this.#heads || this.#heads.has(shopId)
  }

  #requireLock(job: Job): void {
    if (!this.holds(job)) throw new Error('Another transaction has locked the shop')
  }

  async #append(append: QueuedAppend<Job>): Promise<void> {
    if (this.isBatched) this.#appends.push(append)
    else await this.#link(append)
  }

  /** Links the audit rows and webhook events that a job has appended, once it has run. */
  async linkAppends(job: Job): Promise<void> {
    for (const append of this.#appends) if (append.owner === job) await this.#link(append)
  }

  async #link({ owner, write }: QueuedAppend<Job>): Promise<void> {
    const shopId = owner.shopId!
    const head = this.#movedHeads.get(shopId) ?? (await this.#locking).get(shopId)!
    this.#movedHeads.set(shopId, await write(head))
  }

  /** Returns whether the transaction was committed; it was not when a statement failed. @throws StorageError */
  async commit(): Promise<boolean> {
    this.#transaction++
    this.#batch.flush()
    this.#storeHeads()
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

  /** Stores the audit head of each changed shop. */
  #storeHeads(): void {
    const shopIds = [...this.#changedShops]
    const heads = this.#heads
    if (shopIds.length === 0 || !heads) return
    const stored = shopIds.map((shopId) => this.#movedHeads.get(shopId) ?? heads.get(shopId)!)
    const at = stored.findIndex(({ seq }, n) => seq > (heads.get(shopIds[n]!)?.seq ?? 0))
    if (at >= 0) this.auditTrace = { shopId: shopIds[at]!, seq: stored[at]!.seq, hash: stored[at]!.hash }
    const columns = [
      shopIds,
      stored.map(({ seq }) => seq),
      stored.map(({ hash }) => hash),
      stored.map(({ eventId }) => eventId),
    ]
    this.#track(this.#run([], CompiledQuery.raw(STORE_HEADS, columns)))
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
    if (!this.isBatched) return this.#run<R>([owner], query)
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
