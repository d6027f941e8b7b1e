import { createHash, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import SQLite from 'better-sqlite3'

/** The minimum that the contract requires of every response: key by SHA-256, plan, scope, limit, request id, headers. */
export const LIMITS: Record<string, number> = { PROFESSIONAL: 100, ENTERPRISE: 1000 }
const WINDOW_MS = 60_000

export interface Caller {
  keyId: string
  shopId: string
  plan: string
  apiEnabled: number
  scopes: string
  revokedAt: string | null
  expiresAt: string | null
  attributionPrecedence: string
  clickTouch: 'LAST' | 'FIRST'
  taxWithholdingBps: number
  emailHashKey: string
  currency: string
}

export const KEY_SQL = `
  select k.id "keyId", k."shopId", s.plan, s."apiEnabled", k.scopes, k."revokedAt", k."expiresAt",
    s."attributionPrecedence", s."clickTouch", s."taxWithholdingBps", s.currency, s."emailHashKey"
  from "apiKeys" k join shops s on s.id = k."shopId" where k."secretHash" = `

export const hashOf = (request: IncomingMessage): string =>
  createHash('sha256')
    .update(request.headers.authorization?.slice(7) ?? '')
    .digest('hex')

const windows = new Map<string, { used: number; endsAt: number }>()

/** Counts a call, and writes what the contract says about it; 401, 403 and 429 as one rejection. */
export function admit(response: ServerResponse, caller: Caller | undefined, scope: string): caller is Caller {
  const now = Date.now()
  const limit = LIMITS[caller?.plan ?? ''] ?? 0
  let window = windows.get(caller?.keyId ?? '')
  if (!window || window.endsAt <= now) {
    window = { used: 0, endsAt: now + WINDOW_MS }
    windows.set(caller?.keyId ?? '', window)
  }
  window.used++
  response.setHeader('Content-Type', 'application/json')
  response.setHeader('X-Request-Id', randomUUID())
  response.setHeader('X-RateLimit-Limit', limit)
  response.setHeader('X-RateLimit-Remaining', Math.max(0, limit - window.used))
  response.setHeader('X-RateLimit-Reset', Math.ceil((window.endsAt - now) / 1000))
  const isKnown =
    caller?.apiEnabled === 1 &&
    caller.revokedAt === null &&
    !(caller.expiresAt && caller.expiresAt < new Date().toISOString())
  if (isKnown && window.used <= limit && (JSON.parse(caller.scopes) as string[]).includes(scope)) return true
  response.writeHead(403).end('{"error":"refused"}')
  return false
}

export function answer(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body)
  response.writeHead(status, { 'Content-Length': Buffer.byteLength(text) }).end(text)
}

/** A connection as the server has it: WAL, FULL. */
export function open(): SQLite.Database {
  const database = new SQLite((process.env.DATABASE_URL ?? '').slice('file:'.length))
  database.pragma('journal_mode = WAL')
  database.pragma('synchronous = FULL')
  database.pragma('foreign_keys = on')
  return database
}

/** A client that disconnects during its request does not affect the others. */
export function listen(handle: (request: IncomingMessage, response: ServerResponse) => unknown): void {
  const port = Number(process.env.PORT)
  const server = createServer(async (request, response) => {
    try {
      await handle(request, response)
    } catch (error) {
      if (!request.destroyed) console.error(error)
      response.destroy()
    }
  })
  server.listen(port, '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${port}`))
  process.once('SIGTERM', () => process.exit(0))
}
