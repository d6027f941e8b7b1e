// Full: it starts other processes.
import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openDatabase } from '../../server/src/database/open.ts'
import { createCluster, LENT, type PostgresCluster, whyNoPostgres } from '../support/postgres-cluster.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const openssl = (...args: string[]) => spawnSync('openssl', args, { stdio: 'ignore' }).status === 0
const missing =
  (await whyNoPostgres()) ?? (openssl('version') ? undefined : 'there is no openssl to make a certificate')
if (missing) console.warn(`skipped: PostgreSQL over TLS, because ${missing}`)

const IS_ENCRYPTED = sql<{ ssl: boolean }>`select ssl from pg_stat_ssl where pid = pg_backend_pid()`

describe.skipIf(missing)('PostgreSQL over TLS', () => {
  const folder = temporaryFolder()
  const [key, certificate] = [join(folder.path, 'key.pem'), join(folder.path, 'certificate.pem')]
  let cluster: PostgresCluster
  beforeAll(async () => {
    const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
    openssl(...made, '-subj', '/CN=db', '-addext', 'subjectAltName=DNS:localhost', '-keyout', key, '-out', certificate)
    chmodSync(folder.path, 0o711)
    chmodSync(key, 0o600)
    if (LENT.uid) chownSync(key, LENT.uid, LENT.gid)
    cluster = await createCluster(['fsync=off', 'ssl=on', `ssl_key_file=${key}`, `ssl_cert_file=${certificate}`])
  }, 60_000)
  afterAll(async () => {
    await cluster?.remove()
    folder.remove()
  })

  const named = () => cluster.url.replace('127.0.0.1', 'localhost')
  /** `encrypted`, `plain`, or why there is no connection. */
  async function connect(url: string): Promise<string> {
    const db = await openDatabase(url)
    try {
      await db.migrate()
      const { rows } = await db.transact((trx) => IS_ENCRYPTED.execute(trx))
      return rows[0]?.ssl ? 'encrypted' : 'plain'
    } catch (error) {
      return (error as Error).message
    } finally {
      await db.close()
    }
  }

  test('verify-full accepts only a certificate of the authority for the host name', async () => {
    expect(await connect(`${named()}?sslmode=verify-full&sslrootcert=${certificate}`)).toBe('encrypted')
    expect(await connect(`${named()}?sslmode=verify-full`)).toMatch(/^Cannot connect to PostgreSQL: self-signed/)
    const byAddress = `${cluster.url}?sslmode=verify-full&sslrootcert=${certificate}`
    expect(await connect(byAddress)).toMatch(/^Cannot connect to PostgreSQL: .*127\.0\.0\.1.* not .*cert/i)
  })

  test('no-verify encrypts without verifying the certificate; without sslmode nothing is encrypted', async () => {
    expect(await connect(`${cluster.url}?sslmode=no-verify`)).toBe('encrypted')
    expect(await connect(cluster.url)).toBe('plain')
  })
})
