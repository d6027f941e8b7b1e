import { CompiledQuery, type QueryResult } from 'kysely'
import type pg from 'pg'
import { type AuditChain, type AuditHead, NO_CHAIN, type Transaction } from './database.ts'
import {
  createPostgresKysely,
  describeStatement,
  type Joinable,
  joinInserts,
  joinReads,
  run,
  type SqlText,
} from './postgres-executor.ts'
import { toStorageError } from './postgres-pool.ts'
import { StorageError } from './storage-error.ts'
import type { Tables } from './tables.ts'

/** An audit row that only this transaction can have written. */
export interface AuditTrace {
  shopId: string
  seq: number
  hash: string
}

/** The first failed statement. PostgreSQL rejects all later ones in the transaction. */
interface Failure {
  error: StorageError
  /** The work that sent it. Undefined for the transaction's own statements. */
  work: OpenWork | undefined
}

interface TransactionOptions {
  beginSql: string
  /** The lock timeout for statements other than the shop's lock. 0 means no limit. */
  lockTimeoutMs: number
  /** The shop to lock. */
  shopId: string | undefined
  /**
   * Statements do not wait for each other. Reads that are asked for in one turn of the event loop are sent in one statement.
   * An insert whose result is known in advance resolves at once, and is sent in one statement with the inserts that follow;
   * its error appears in `failure`, at the latest after `commit`. Otherwise each statement is awaited.
   */
  isPipelined: boolean
  isPrepared: boolean
}

/** A read that is sent with the others of its turn of the event loop. */
interface PendingRead extends Joinable {
  resolve: (reply: Promise<QueryResult<never>>) => void
}

/** How long a transaction waits for the lock of its shop before the connection serves another shop. */
const LOCK_WAIT_MS = 50
/** How many inserts one statement joins, and how many values each may have. PostgreSQL accepts 65,535 per statement. */
const MAX_INSERTS = 16
const MAX_VALUES = 1000
/**
 * The error codes after an earlier failure: the transaction is aborted, or a statement was not prepared because of it.
 */
const CONSEQUENCES = ['25P02', '26000']
export const LOCK_TIMEOUT = '55P03'

/**
 * Locks the row of a shop and returns the head of its audit chain. Inserts a missing row, so that there is one to lock. Later
 * statements wait longer for a lock.
 */
const LOCK_SHOP = `with locked as materialized
    (select seq, hash, "eventId" from "auditHeads" where "shopId" = $1 for no key update),
  inserted as (insert into "auditHeads" ("shopId", seq, hash, "eventId")
    select $1, 0, '', '' where not exists (select from locked)
    on conflict do nothing returning seq, hash, "eventId")
  select held.*, pg_current_xact_id()::text as xid, set_config('lock_timeout', $2, true)
    from (table locked union all table inserted) as held`
const STORE_HEAD = 'update "auditHeads" set seq = $2, hash = $3, "eventId" = $4 where "shopId" = $1'
const FIND_XID = 'select pg_current_xact_id()::text as xid'

/** Work that runs in a transaction. */
export interface OpenWork {
  trx: Transaction
  chain: AuditChain
  /** Ends the work: rejects later statements. */
  end: () => void
  /** Whether it changed a row, known once the database has responded. */
  hasChanged: () => Promise<boolean>
}

/** A transaction that runs one shop's work sequentially. It starts when it is created. */
export class PostgresTransaction {
  failure: Failure | undefined
  /** The transaction ID, to query the outcome of a commit over another connection. */
  xid: string | undefined
  /** Set when the commit is sent. After a crash, PostgreSQL may assign `xid` again, so a committed `xid` proves nothing. */
  auditTrace: AuditTrace | undefined
  readonly #client: pg.PoolClient
  readonly #shopId: string | undefined
  readonly #isPipelined: boolean
  readonly #isPrepared: boolean
  readonly #pending: Promise<unknown>[] = []
  readonly #locking: Promise<AuditHead>
  #movedHead: AuditHead | undefined
  /** Inserts of one work that are not sent yet. */
  #inserts: Joinable[] = []
  #sendInserts = () => {}

  constructor(client: pg.PoolClient, { beginSql, lockTimeoutMs, shopId, ...options }: TransactionOptions) {
    this.#client = client
    this.#shopId = shopId
    this.#isPipelined = options.isPipelined
    this.#isPrepared = options.isPrepared
    // Later statements are sent without waiting for these, and run after them.
    this.#sendText(shopId === undefined ? beginSql : `${beginSql}; set local lock_timeout = ${LOCK_WAIT_MS}`)
    this.#locking = this.#lock(shopId, lockTimeoutMs)
    this.#track(this.#locking)
  }

  /** Sends one or more statements without preparing them. */
  #sendText(text: string): void {
    this.#track(this.#client.query(text))
  }

  async #lock(shopId: string | undefined, lockTimeoutMs: number): Promise<AuditHead> {
    const query =
      shopId === undefined ? CompiledQuery.raw(FIND_XID) : CompiledQuery.raw(LOCK_SHOP, [shopId, String(lockTimeoutMs)])
    const { rows } = await run<AuditHead & { xid: string }>(this.#client, query)
    const [row] = rows
    // Meanwhile, another transaction inserted the missing row.
    if (!row) throw new StorageError('The shop is locked', { code: LOCK_TIMEOUT, isLost: false })
    this.xid = row.xid
    return { seq: row.seq, hash: row.hash, eventId: row.eventId }
  }

  /** Opens the transaction for the next work. */
  open(): OpenWork {
    let hasEnded = false
    let changed = false
    const writing: Promise<unknown>[] = []
    let reads: PendingRead[] = []
    this.#sendInserts()
    const send = <R>(query: SqlText): Promise<QueryResult<R>> => {
      const reply = run<R>(this.#client, query, { isPrepared: this.#isPrepared })
      this.#track(reply, work)
      return reply
    }
    const sendInserts = () => {
      const inserts = this.#inserts
      this.#inserts = []
      const joined = inserts.length > 1 ? joinInserts(inserts) : undefined
      for (const insert of joined ? [joined] : inserts) void send(insert).catch(() => {})
    }
    this.#sendInserts = sendInserts
    const sendReads = () => {
      const asked = reads
      reads = []
      const joined = asked.length > 1 ? joinReads(asked) : undefined
      const reply = joined && send<Record<string, never[] | null>>(joined)
      for (const [n, read] of asked.entries())
        read.resolve(reply ? reply.then(({ rows: [row] }) => ({ rows: row![`r${n}`] ?? [] })) : send(read))
    }
    const execute = async <R>(query: CompiledQuery): Promise<QueryResult<R>> => {
      if (hasEnded) throw new Error('The work has ended')
      const { isRead, insertedRows, key } = describeStatement(query)
      const { sql, parameters } = query
      if (this.#isPipelined && insertedRows !== undefined && parameters.length <= MAX_VALUES) {
        sendReads()
        changed = true
        if (this.#inserts.length === MAX_INSERTS) sendInserts()
        this.#inserts.push({ sql, parameters, key })
        return { rows: [], numAffectedRows: insertedRows }
      }
      sendInserts()
      if (this.#isPipelined && isRead) {
        if (reads.length === 0) process.nextTick(sendReads)
        return new Promise((resolve) => void reads.push({ sql, parameters, key, resolve }))
      }
      sendReads()
      const reply = send<R>(query)
      if (isRead) return reply
      // A statement that failed or matched nothing has changed nothing.
      const note = ({ rows, numAffectedRows = BigInt(rows.length) }: QueryResult<R>) => {
        changed ||= numAffectedRows > 0n
      }
      writing.push(reply.then(note, () => {}))
      return reply
    }
    const work: OpenWork = {
      trx: createPostgresKysely<Tables>(execute),
      chain: this.#shopId === undefined ? NO_CHAIN : { append: (write) => this.#append(write) },
      end: () => {
        sendReads()
        hasEnded = true
      },
      hasChanged: async () => {
        await Promise.all(writing)
        return changed
      },
    }
    return work
  }

  async #append(write: (last: AuditHead) => Promise<AuditHead>): Promise<void> {
    this.#movedHead = await write(this.#movedHead ?? (await this.#locking))
  }

  /** Leaves awaiting the statement to the end of the transaction. `failure` has its error. */
  #track(reply: Promise<unknown>, work?: OpenWork): void {
    this.#pending.push(
      reply.catch((cause) => {
        const error = toStorageError(cause)
        if (!CONSEQUENCES.includes(error.code)) this.failure ??= { error, work }
      }),
    )
  }

  /** Returns whether the transaction was committed. It was not if a statement failed. @throws StorageError */
  async commit(): Promise<boolean> {
    try {
      await this.#locking
    } catch {
      await this.rollback()
      return false
    }
    this.#storeHead()
    try {
      const { command } = await this.#client.query('commit')
      await Promise.all(this.#pending)
      // If a statement has failed, PostgreSQL rolls back instead.
      if (command !== 'COMMIT')
        this.failure ??= { error: toStorageError(new Error('The commit failed')), work: undefined }
      return command === 'COMMIT'
    } catch (error) {
      throw toStorageError(error)
    }
  }

  /** Sends the last inserts, with the head that has moved in the same statement. */
  #storeHead(): void {
    const shopId = this.#shopId
    const head = this.#movedHead
    if (shopId !== undefined && head) {
      this.auditTrace = { shopId, seq: head.seq, hash: head.hash }
      const query = CompiledQuery.raw(STORE_HEAD, [shopId, head.seq, head.hash, head.eventId])
      this.#inserts.push({ ...query, key: describeStatement(query).key })
    }
    this.#sendInserts()
  }

  /** @throws StorageError when the connection is lost. */
  async rollback(): Promise<void> {
    this.#inserts = []
    await run(this.#client, CompiledQuery.raw('rollback'))
    await Promise.all(this.#pending)
  }
}
