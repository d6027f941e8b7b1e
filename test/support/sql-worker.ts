import { type MessagePort, workerData } from 'node:worker_threads'
import pg from 'pg'

export interface Question {
  url: string
  /** Empty: close the connection. */
  text: string
  /** Without any, the text may hold several statements. */
  values?: unknown[]
  /** Of a statement that stays prepared. */
  name?: string | undefined
}

export interface Answer {
  rows: Record<string, unknown>[]
  changes: number
  error?: string
}

/** Queries PostgreSQL for a thread that sleeps until the result is in its port. */
const { port, signal } = workerData as { port: MessagePort; signal: Int32Array<SharedArrayBuffer> }
const clients = new Map<string, Promise<pg.Client>>()

// Whole numbers as numbers, as the product reads them.
for (const oid of [20, 1700]) pg.types.setTypeParser(oid, Number)

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, lock_timeout: 5000, statement_timeout: 15_000 })
  // The database may be dropped or restarted between two queries.
  client.on('error', () => clients.delete(url))
  await client.connect()
  return client
}

async function answer({ url, text, values, name }: Question): Promise<Answer> {
  if (text === '') {
    await (await clients.get(url))?.end()
    clients.delete(url)
    return { rows: [], changes: 0 }
  }
  if (!clients.has(url)) clients.set(url, connect(url))
  const client = (await clients.get(url)) as pg.Client
  const result = values ? await client.query({ text, values, name }) : await client.query(text)
  return { rows: result.rows ?? [], changes: result.rowCount ?? 0 }
}

port.on('message', async (question: Question) => {
  const said = await answer(question).catch((error: Error) => ({ rows: [], changes: 0, error: error.message }))
  port.postMessage(said)
  Atomics.store(signal, 0, 1)
  Atomics.notify(signal, 0)
})
