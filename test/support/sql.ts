import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads'
import SQLite from 'better-sqlite3'
import type { Answer, Question } from './sql-worker.ts'

type Row = Record<string, unknown>

export interface Statement {
  all: (...values: unknown[]) => unknown[]
  get: (...values: unknown[]) => unknown
  run: (...values: unknown[]) => { changes: number }
  /** Returns first columns instead of rows. */
  pluck: () => Statement
}

/**
 * A separate connection to the server's database, to inspect and to damage it. It is synchronous on both engines: write
 * `?` or `@name` for values and quote names with capitals.
 */
export interface Sql {
  /** With a name, PostgreSQL plans the statement once. */
  prepare: (text: string, name?: string) => Statement
  exec: (text: string) => void
  /** Wraps work in one transaction, which runs when the returned function is called. */
  transaction: <Given extends unknown[]>(work: (...given: Given) => void) => (...given: Given) => void
  /** The names of the product's tables. */
  tables: () => string[]
  close: () => void
}

const OWN = /kysely|^sqlite|^rateLimits$/

export function openSqliteSql(file: string): Sql {
  const database = new SQLite(file)
  const names = database.prepare(`select name from sqlite_schema where type = 'table' order by name`).pluck()
  return {
    prepare: (text) => database.prepare(text) as unknown as Statement,
    exec: (text) => void database.exec(text),
    transaction: (work) => database.transaction(work),
    tables: () => (names.all() as string[]).filter((name) => !OWN.test(name)),
    close: () => void database.close(),
  }
}

const ANSWER_MS = 20_000
const signal = new Int32Array(new SharedArrayBuffer(4))
let port: MessagePort | undefined

function startWorker(): MessagePort {
  const { port1, port2 } = new MessageChannel()
  const options = { workerData: { port: port2, signal }, transferList: [port2] }
  new Worker(new URL('./sql-worker.ts', import.meta.url), options).unref()
  port1.unref()
  return port1
}

/** Sleeps until a worker has queried PostgreSQL, and blocks the event loop as SQLite does. */
function ask(question: Question): Row[] & { changes?: number } {
  port ??= startWorker()
  Atomics.store(signal, 0, 0)
  port.postMessage(question)
  // The notification of the previous result may arrive late, so waking up is not enough.
  const until = performance.now() + ANSWER_MS
  for (let left = ANSWER_MS; left > 0 && Atomics.load(signal, 0) === 0; left = until - performance.now())
    Atomics.wait(signal, 0, 0, left)
  const answer: Answer | undefined = receiveMessageOnPort(port)?.message
  if (!answer || answer.error) throw new Error(`${answer?.error ?? 'no answer'}: ${question.text}`)
  return Object.assign(answer.rows, { changes: answer.changes })
}

export function openPostgresSql(url: string): Sql {
  const statement = (text: string, isPlucked: boolean, name?: string): Statement => {
    const query = (given: unknown[]) => ask({ url, name, ...withPlaces(text, given) })
    const all = (...given: unknown[]) => (isPlucked ? query(given).map(firstOf) : [...query(given)])
    return {
      all,
      get: (...given) => all(...given)[0],
      run: (...given) => ({ changes: query(given).changes ?? 0 }),
      pluck: () => statement(text, true, name),
    }
  }
  const exec = (text: string) => void ask({ url, text: inPostgres(text) })
  return {
    prepare: (text, name) => statement(text, false, name),
    exec,
    transaction:
      (work) =>
      (...given) => {
        exec('begin')
        try {
          work(...given)
          exec('commit')
        } catch (error) {
          exec('rollback')
          throw error
        }
      },
    tables: () =>
      ask({ url, text: `select tablename from pg_tables where schemaname = 'public' order by tablename` })
        .map(firstOf)
        .filter((name): name is string => !OWN.test(String(name))),
    close: () => void ask({ url, text: '' }),
  }
}

const firstOf = (row: Row) => Object.values(row)[0]

/** `?` and `@name` as `$1`, `$2` … */
function withPlaces(text: string, given: unknown[]): { text: string; values: unknown[] } {
  const [first] = given
  const named = first !== null && typeof first === 'object' ? (first as Row) : undefined
  const values: unknown[] = []
  const placed = text.replace(/'[^']*'|\?|@(\w+)/g, (found, name) => {
    if (found.startsWith("'")) return found
    values.push(named ? named[name] : given[values.length])
    return `$${values.length}`
  })
  return { text: placed, values }
}

/** The only SQLite-specific statements of the tests: creating and dropping a trigger that makes writes to a table fail. */
function inPostgres(text: string): string {
  const trigger = /^create trigger (\w+) (before|after) (\w+) on "?(\w+)"? (when \(.*?\) )?begin (.*); end$/is.exec(
    text,
  )
  if (!trigger) return text.replace(/^drop trigger (\w+)$/i, 'drop function $1 cascade')
  const [, name, moment, event, table, when = '', body = ''] = trigger
  const steps = body.replace(/select raise\(abort, ('[^']*')\)/gi, 'raise $1')
  return `create function ${name}() returns trigger language plpgsql as $$ begin ${steps}; return new; end $$;
    create trigger ${name} ${moment} ${event} on "${table}" for each row ${when}execute function ${name}()`
}
