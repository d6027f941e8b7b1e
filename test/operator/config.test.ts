import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Config, readConfig, SECRET_SETTINGS } from '../../server/src/config.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')
const marked = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text)

/** The rows of the settings table: the variables of a row and its default, as written. */
const rows = [...read('docs/self-hosting/settings.md').matchAll(/^\| (`[A-Z_]+`.*?) \| .+ \| (.+) \|$/gm)].map(
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

test('docs/self-hosting/settings.md documents exactly the existing settings', () => {
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
  ['REFERRAL_PENDING_REFUND_RETENTION_DAYS', ({ pendingRefundRetentionDays = 'none' }) => pendingRefundRetentionDays],
  ['REFERRAL_OIDC_ISSUER', ({ oidc = 'none' }) => oidc],
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

const VALUES = {
  DATABASE_URL: 'postgres://referral:secret@db/referral',
  REDIS_URL: 'redis://cache:6379',
  REFERRAL_ENCRYPTION_KEY: Buffer.alloc(32, 3).toString('base64'),
  METRICS_TOKEN: 'token',
  REFERRAL_OPERATOR_TOKEN: 'x'.repeat(32),
  REFERRAL_OIDC_CLIENT_SECRET: 'client secret',
}
/** What the secret of a client needs. */
const OIDC = {
  REFERRAL_PUBLIC_URL: 'https://referral.example',
  REFERRAL_OIDC_ISSUER: 'https://login.example',
  REFERRAL_OIDC_CLIENT_ID: 'referral',
}
const settingsOf = ({ databaseUrl, redisUrl, encryptionKeys, metricsToken, operatorToken, oidc }: Config) => [
  databaseUrl,
  redisUrl,
  Buffer.from(encryptionKeys[0]!).toString('base64'),
  metricsToken,
  operatorToken,
  oidc?.clientSecret,
]

describe('secrets from files', () => {
  const secret = (name: string, text: string) => {
    const file = join(folder.path, name)
    writeFileSync(file, text)
    return { [`${name}_FILE`]: file }
  }

  test('each documented secret is read from the file that its variable with _FILE names', () => {
    expect(Object.keys(VALUES)).toEqual([...SECRET_SETTINGS])
    const documented = /^(.+) can also be read from a file/m.exec(read('docs/self-hosting/settings.md'))?.[1] ?? ''
    expect(marked(documented).sort()).toEqual(Object.keys(VALUES).sort())
    const files = Object.entries(VALUES).map(([name, text]) => secret(name, `${text}\n`))
    expect(settingsOf(readConfig(Object.assign({}, OIDC, ...files)))).toEqual(Object.values(VALUES))
  })

  test('a file that is missing, empty or given twice prevents startup', () => {
    expect(() => readConfig({ METRICS_TOKEN_FILE: join(folder.path, 'none') })).toThrow(/METRICS_TOKEN_FILE .*ENOENT/)
    expect(() => readConfig(secret('REDIS_URL', '\n'))).toThrow(/REDIS_URL_FILE is empty/)
    expect(() => readConfig({ ...secret('METRICS_TOKEN', 'a'), METRICS_TOKEN: 'b' })).toThrow(
      'METRICS_TOKEN and METRICS_TOKEN_FILE',
    )
  })
})

test.each([['too short'], ['x'.repeat(31)], [`${'x'.repeat(32)} with a space`]])(
  'the operator token %s prevents startup, and the message omits it',
  (token) => {
    const read = () => readConfig({ REFERRAL_DATA_DIR: folder.path, REFERRAL_OPERATOR_TOKEN: token })
    expect(read).toThrow(/^REFERRAL_OPERATOR_TOKEN must .*32/)
    expect(read).not.toThrow(token)
  },
)

test('OpenID Connect needs an https issuer, a client and the public URL; messages omit the secret', () => {
  const read = (more: Record<string, string>) => readConfig({ REFERRAL_DATA_DIR: folder.path, ...more })
  const all = { ...OIDC, REFERRAL_OIDC_CLIENT_SECRET: 'hush' }
  expect(read(all).oidc).toMatchObject({ issuer: 'https://login.example', name: 'single sign-on' })
  for (const name of Object.keys(all)) {
    const some = () => read({ ...all, [name]: '' })
    expect(some, name).toThrow(/^OpenID Connect requires REFERRAL_OIDC_ISSUER/)
    expect(some, name).not.toThrow('hush')
  }
  for (const issuer of ['http://login.example', 'http://localhost.example', 'login.example', 'https://'])
    expect(() => read({ ...all, REFERRAL_OIDC_ISSUER: issuer }), issuer).toThrow('https')
  expect(read({ ...all, REFERRAL_OIDC_ISSUER: 'http://localhost:9000/realm' }).oidc).toBeDefined()
  for (const url of ['referral.example', 'https://referral.example/path', 'ftp://referral.example'])
    expect(() => read({ REFERRAL_PUBLIC_URL: url }), url).toThrow(/^REFERRAL_PUBLIC_URL must/)
  expect(read({ REFERRAL_PUBLIC_URL: 'https://referral.example/' }).publicUrl).toBe('https://referral.example')
})

describe('unknown settings', () => {
  const unknown = (variable: string, value = 'x') =>
    readConfig({ REFERRAL_DATA_DIR: folder.path, [variable]: value }).unknownSettings

  test.each([
    ['REFERRAL_ENCRYPTON_KEY', 'REFERRAL_ENCRYPTION_KEY'],
    ['REFERRAL_DATADIR', 'REFERRAL_DATA_DIR'],
    ['REFERRAL_DEMOS', 'REFERRAL_DEMO'],
  ])('%s prevents startup, and the message names %s', (variable, nearest) => {
    expect(() => unknown(variable)).toThrow(new RegExp(`^${variable} .*${nearest}\\?`))
  })

  test('a name that differs by more than two letters is reported with the nearest one', () => {
    const variable = 'REFERRAL_TRUST_PROXIES'
    expect(unknown(variable)).toEqual([{ variable, nearest: 'REFERRAL_TRUST_PROXY' }])
  })

  test('every documented setting is known', () => {
    const names = rows.flatMap((row) => row.names).filter((name) => name.startsWith('REFERRAL_'))
    expect(names.length).toBeGreaterThan(8)
    for (const name of names) {
      const typo = `${name.slice(0, -1)}__`
      expect(() => unknown(typo), typo).toThrow(`${name}?`)
    }
  })

  test('variables of the clients and of Kubernetes are ignored', () => {
    const client = ['BASE_URL', 'API_KEY', 'OWNER_TOKEN', 'SHOP_ID', 'PROFILE', 'CONFIG_DIR', 'WEBHOOK_SECRET']
    const kubernetes = ['PORT', 'PORT_8787_TCP_ADDR', 'SERVICE_HOST', 'SERVER_SERVICE_PORT', 'SERVER_PORT_8787_TCP']
    for (const name of [...client, ...kubernetes]) expect(unknown(`REFERRAL_${name}`), name).toEqual([])
    expect(unknown('REFERRAL_DEMOO', '')).toEqual([])
  })
})

test('other pages link to the table instead of repeating it', () => {
  for (const file of ['README.md', 'SECURITY.md', 'CONTRIBUTING.md', 'docs/stores.md', 'examples/README.md'])
    expect([file, read(file).match(/^\| `[A-Z]+_[A-Z_]+`/gm)]).toEqual([file, null])
  expect(read('README.md')).toContain('(docs/self-hosting/settings.md)')
})
