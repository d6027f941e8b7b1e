// Full: it starts several servers.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { metric, until } from '../support/calls.ts'
import { type Instances, missing, startInstances } from './fixture.ts'

/** The timeout of a load balancer or a scrape. */
const RESPONSE_MS = 2000
/** A commit is due every 5 seconds. */
const NOTICED_MS = 15_000
const LONG = { timeout: 60_000 }

describe.skipIf(missing)('the health of a server whose PostgreSQL fails', () => {
  let instances: Instances
  beforeAll(async () => {
    instances = await startInstances(1)
  }, 90_000)
  afterAll(() => instances?.stop())

  const server = () => instances.servers[0]!
  const get = async (path: string) => {
    const startedAt = performance.now()
    const response = await fetch(`${server().url}${path}`)
    const text = await response.text()
    return { status: response.status, text, ms: performance.now() - startedAt }
  }
  const readiness = async () => (await get('/readyz')).status

  test('a database that hangs: /readyz is 503 and /metrics 200, both within two seconds', LONG, async () => {
    expect(await readiness()).toBe(200)
    instances.postgres.freeze()
    try {
      // Even with many repeated probes, nothing queues up at the database.
      for (let round = 0; round < 3; round++) {
        const probes = await Promise.all(['/readyz', '/metrics', '/readyz', '/metrics', '/healthz'].map(get))
        expect(probes.map(({ status }) => status)).toEqual([503, 200, 503, 200, 200])
        expect(Math.max(...probes.map(({ ms }) => ms))).toBeLessThan(RESPONSE_MS)
        expect(probes[1]!.text).toMatch(/^referral_database_up 0$/m)
      }
    } finally {
      instances.postgres.thaw()
    }
    await until(async () => (await readiness()) === 200, NOTICED_MS, 'ready again')
    expect(await metric(server(), 'referral_database_up')).toBe(1)
    const reports = server()
      .log()
      .split('\n')
      .filter((line) => /"not ready"|"ready again"/.test(line))
    expect(reports.filter((line) => line.includes('"not ready"'))).toHaveLength(1)
  })

  test('a read-only database: /readyz is 503 although reads succeed', LONG, async () => {
    const change = async (how: string) => {
      await instances.query(`begin read write; alter database postgres ${how}; commit`)
      await instances.query(
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
      )
    }
    await change('set default_transaction_read_only = on')
    await until(async () => (await readiness()) === 503, NOTICED_MS, '503')
    expect(await metric(server(), 'referral_database_up')).toBe(1)
    expect(await metric(server(), 'referral_database_writable')).toBe(0)
    await change('reset default_transaction_read_only')
    await until(async () => (await readiness()) === 200, NOTICED_MS, '200')
  })

  test('metrics name the version, the pools, and the time of queries', async () => {
    const { text } = await get('/metrics')
    expect(text).toMatch(/^referral_build_info\{version="\d+\.\d+\.\d+",node="\d+[^"]*",database="postgres"\} 1$/m)
    expect(text).toMatch(/^referral_database_connections\{pool="write",state="waiting"\} 0$/m)
    for (const kind of ['read', 'change'])
      expect(text).toMatch(new RegExp(`^referral_database_seconds_count\\{kind="${kind}"\\} [1-9]`, 'm'))
    expect(text).toMatch(/^referral_database_oldest_snapshot_seconds 0/m)
  })
})
