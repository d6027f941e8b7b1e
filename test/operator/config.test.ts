import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Config, readConfig } from '../../server/src/config.ts'
import { temporaryFolder } from '../support/process.ts'

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')
const marked = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text)

/** The rows of the settings table: the variables of a row and its default, as written. */
const rows = [...read('docs/self-hosting.md').matchAll(/^\| (`[A-Z_]+`.*?) \| .+ \| (.+) \|$/gm)].map(
  ([, names = '', text = '']) => ({ names: marked(names), text }),
)
const defaultOf = (variable: string) => {
  const row = rows.find(({ names }) => names.includes(variable))
  const values = marked(row?.text ?? '')
  return (row && values.length === row.names.length ? values[row.names.indexOf(variable)] : values[0]) ?? 'none'
}

const folder = temporaryFolder()
let config: Config
beforeAll(() => {
  config = readConfig({ REFERRAL_DATA_DIR: folder.path })
})
afterAll(folder.remove)

test('docs/self-hosting.md documents exactly the existing settings', () => {
  const variables = [...read('server/src/config.ts').matchAll(/env(?:\.|, ')([A-Z_]+)/g)].map(([, name]) => name)
  expect(rows.flatMap(({ names }) => names).sort()).toEqual([...new Set(variables)].sort())
})

test.each<[string, (config: Config) => unknown]>([
  ['HOST', ({ host }) => host],
  ['PORT', ({ port }) => port],
  ['DATABASE_URL', ({ databaseUrl, dataDir }) => databaseUrl.replace(dataDir, '<data>')],
  ['REDIS_URL', ({ redisUrl = 'none' }) => redisUrl],
  ['REFERRAL_DEMO', ({ demo }) => Number(demo)],
  ['REFERRAL_API_DISABLED', ({ apiDisabled }) => Number(apiDisabled)],
  ['REFERRAL_MINIMUM_PAYOUT_CENTS', ({ minimumPayoutCents }) => minimumPayoutCents],
  ['REFERRAL_JOURNEY_RETENTION_DAYS', ({ journeyRetentionDays = 'none' }) => journeyRetentionDays],
  ['METRICS_TOKEN', ({ metricsToken = 'none' }) => metricsToken],
  ['REFERRAL_WEBHOOK_ALLOW', ({ webhookAllow }) => webhookAllow[0] ?? 'none'],
  ['REFERRAL_TRUST_PROXY', ({ trustProxy }) => trustProxy],
  ['REFERRAL_KEEP_ALIVE_SECONDS', ({ keepAliveSeconds }) => keepAliveSeconds],
  ['REFERRAL_SHUTDOWN_DELAY_SECONDS', ({ shutdownDelaySeconds }) => shutdownDelaySeconds],
  ['LOG_LEVEL', ({ logLevel }) => logLevel],
])('the documented default of %s is the one the server uses', (variable, actual) => {
  expect(defaultOf(variable)).toBe(String(actual(config)))
})

test('the encryption key is generated in the documented file, and required with PostgreSQL', () => {
  const file = defaultOf('REFERRAL_ENCRYPTION_KEY').replace('<data>', config.dataDir)
  expect(file).toBe(join(config.dataDir, 'encryption.key'))
  expect(Buffer.from(readFileSync(file, 'utf8'), 'base64')).toEqual(Buffer.from(config.encryptionKeys[0]!))
  expect(() => readConfig({ REFERRAL_DATA_DIR: folder.path, DATABASE_URL: 'postgres://localhost/x' })).toThrow(
    'REFERRAL_ENCRYPTION_KEY must be set with PostgreSQL',
  )
})

test('other pages link to the table instead of repeating it', () => {
  for (const file of ['README.md', 'SECURITY.md', 'CONTRIBUTING.md', 'docs/stores.md', 'examples/README.md'])
    expect([file, read(file).match(/^\| `[A-Z]+_[A-Z_]+`/gm)]).toEqual([file, null])
  expect(read('README.md')).toContain('(docs/self-hosting.md#settings)')
})
