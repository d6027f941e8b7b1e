import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  ConfigError,
  type Environment,
  editDistance,
  flag,
  hostsAndPorts,
  integer,
  keysAndValues,
  oneOf,
  origins,
} from './config-values.ts'
import { runsFromSource } from './runs-from-source.ts'

export interface Config {
  host: string
  port: number
  dataDir: string
  databaseUrl: string
  redisUrl: string | undefined
  demo: boolean
  /** The origin at which browsers reach the server. */
  publicUrl: string | undefined
  /** Signs users in at an OpenID Connect provider. */
  oidc: OidcConfig | undefined
  /** 32 bytes each, newest first. */
  encryptionKeys: Uint8Array[]
  apiDisabled: boolean
  minimumPayoutCents: number
  journeyRetentionDays: number | undefined
  /** How long refunds and cancellations are kept if their order is never reported. */
  pendingRefundRetentionDays: number | undefined
  metricsToken: string | undefined
  /** Gives access to `/operator/v1`. Without it, that path does not exist. */
  operatorToken: string | undefined
  /** Private `host:port` that webhooks may reach; for development only. */
  webhookAllow: string[]
  /** Origins whose pages may read `/api/v1`. */
  corsOrigins: string[]
  /** The number of trusted proxies that set `X-Forwarded-For`. */
  trustProxy: number
  logLevel: string
  /** Undefined if no collector is configured. */
  tracing: TracingConfig | undefined
  /** Unknown `REFERRAL_*` variables, each with the nearest known one. */
  unknownSettings: { variable: string; nearest: string }[]
  /** How long an idle connection stays open for another request. */
  keepAliveSeconds: number
  /** How long requests are accepted after the stop signal. */
  shutdownDelaySeconds: number
}

/** An OpenID Connect provider, and this server's client credentials. */
export interface OidcConfig {
  issuer: string
  clientId: string
  clientSecret: string
  /** Shown on the sign-in page. */
  name: string
}

/** Where traces are sent, read from the standard OpenTelemetry variables. */
export interface TracingConfig {
  /** The trace collector's URL. */
  endpoint: string
  headers: Record<string, string>
  /** Attributes of this process, such as `service.name`. */
  resource: Record<string, string>
  sampler: string
  /** The share of traces to send, from 0 to 1. */
  ratio: number
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']
/** The base for relative data folders: the root of a checkout, or the current folder. */
const ROOT = runsFromSource ? fileURLToPath(new URL('../../', import.meta.url)) : process.cwd()

/** This package's version. */
export const VERSION: string = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version

/** Whether {@link readConfig} treats a missing database and key as a first start or as an error. */
type FirstStart = 'allowed' | 'rejected'

/** Reads the environment, the only place that does. Creates the encryption key on the first start. */
export function readConfig(variables: Environment = process.env, firstStart: FirstStart = 'allowed'): Config {
  const unknownSettings = findUnknownSettings(variables)
  const env = withSecretFiles(variables)
  const { dataDir, databaseUrl } = readDataLocation(env)
  return {
    unknownSettings,
    host: env.HOST || '127.0.0.1',
    port: integer(env, 'PORT', { usual: 8787, minimum: 1, maximum: 65_535 }) ?? 8787,
    dataDir,
    databaseUrl,
    redisUrl: env.REDIS_URL ? checkRedisUrl(env.REDIS_URL) : undefined,
    demo: flag(env, 'REFERRAL_DEMO', !isPostgresUrl(databaseUrl)),
    publicUrl: env.REFERRAL_PUBLIC_URL ? checkPublicUrl(env.REFERRAL_PUBLIC_URL) : undefined,
    oidc: readOidc(env),
    encryptionKeys: encryptionKeys(env.REFERRAL_ENCRYPTION_KEY, { dataDir, databaseUrl, firstStart }),
    apiDisabled: flag(env, 'REFERRAL_API_DISABLED', false),
    minimumPayoutCents: integer(env, 'REFERRAL_MINIMUM_PAYOUT_CENTS', { usual: 0, maximum: 2_147_483_647 }) ?? 0,
    journeyRetentionDays: integer(env, 'REFERRAL_JOURNEY_RETENTION_DAYS', { minimum: 1, maximum: 36_500 }),
    pendingRefundRetentionDays: integer(env, 'REFERRAL_PENDING_REFUND_RETENTION_DAYS', { minimum: 1, maximum: 36_500 }),
    metricsToken: env.METRICS_TOKEN || undefined,
    operatorToken: operatorToken(env.REFERRAL_OPERATOR_TOKEN),
    webhookAllow: hostsAndPorts(env, 'REFERRAL_WEBHOOK_ALLOW'),
    corsOrigins: origins(env, 'REFERRAL_CORS_ORIGINS'),
    trustProxy: integer(env, 'REFERRAL_TRUST_PROXY', { usual: 0, maximum: 20 }) ?? 0,
    keepAliveSeconds: integer(env, 'REFERRAL_KEEP_ALIVE_SECONDS', { usual: 75, minimum: 1, maximum: 3600 }) ?? 75,
    shutdownDelaySeconds: integer(env, 'REFERRAL_SHUTDOWN_DELAY_SECONDS', { usual: 0, maximum: 300 }) ?? 0,
    logLevel: oneOf(env, 'LOG_LEVEL', LOG_LEVELS, 'info'),
    tracing: readTracing(env),
  }
}

/** Reads the data folder. Unlike {@link readConfig}, it neither needs nor creates an encryption key. */
export function readDataLocation(variables: Environment = process.env): Pick<Config, 'dataDir' | 'databaseUrl'> {
  const env = withSecretFiles(variables)
  const dataDir = resolve(ROOT, env.REFERRAL_DATA_DIR || '.referral')
  return { dataDir, databaseUrl: checkDatabaseUrl(env.DATABASE_URL || `file:${dataDir}/referral.db`) }
}

/** The URL on which this process listens. */
export const baseUrlOf = ({ host, port }: Pick<Config, 'host' | 'port'>): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`

/** Where the encryption key is stored, for messages. */
export const encryptionKeySource = (dataDir: string, env: Environment = process.env): string =>
  env[fileVariable('REFERRAL_ENCRYPTION_KEY')] ||
  (env.REFERRAL_ENCRYPTION_KEY ? 'REFERRAL_ENCRYPTION_KEY' : keyFile(dataDir))

/** Settings that can also be read from a file, whose path is in `<name>_FILE`. */
export const SECRET_SETTINGS = [
  'DATABASE_URL',
  'REDIS_URL',
  'REFERRAL_ENCRYPTION_KEY',
  'METRICS_TOKEN',
  'REFERRAL_OPERATOR_TOKEN',
  'REFERRAL_OIDC_CLIENT_SECRET',
] as const

const fileVariable = (name: string) => `${name}_FILE`

/** The environment with the content of the files that `<name>_FILE` names. */
function withSecretFiles(env: Environment): Environment {
  const secrets: Environment = {}
  for (const name of SECRET_SETTINGS) {
    const path = env[fileVariable(name)]
    if (!path) continue
    if (env[name]) throw new ConfigError(`${name} and ${fileVariable(name)} are both set. Remove one of them.`)
    secrets[name] = readSecret(fileVariable(name), path)
  }
  return { ...env, ...secrets, ...Object.fromEntries(SECRET_SETTINGS.map((name) => [fileVariable(name), undefined])) }
}

function readSecret(variable: string, path: string): string {
  let text: string
  try {
    text = readFileSync(path, 'utf8').trim()
  } catch (error) {
    throw new ConfigError(`The file of ${variable} cannot be read: ${(error as Error).message}.`)
  }
  if (!text) throw new ConfigError(`The file of ${variable} is empty: ${path}.`)
  return text
}

/** Every setting whose name starts with `REFERRAL_`. */
const KNOWN_SETTINGS = [
  'REFERRAL_API_DISABLED',
  'REFERRAL_CORS_ORIGINS',
  'REFERRAL_DATA_DIR',
  'REFERRAL_DEMO',
  'REFERRAL_ENCRYPTION_KEY',
  'REFERRAL_ENCRYPTION_KEY_FILE',
  'REFERRAL_JOURNEY_RETENTION_DAYS',
  'REFERRAL_PENDING_REFUND_RETENTION_DAYS',
  'REFERRAL_KEEP_ALIVE_SECONDS',
  'REFERRAL_MINIMUM_PAYOUT_CENTS',
  'REFERRAL_OIDC_CLIENT_ID',
  'REFERRAL_OIDC_CLIENT_SECRET',
  'REFERRAL_OIDC_CLIENT_SECRET_FILE',
  'REFERRAL_OIDC_ISSUER',
  'REFERRAL_OIDC_NAME',
  'REFERRAL_OPERATOR_TOKEN',
  'REFERRAL_OPERATOR_TOKEN_FILE',
  'REFERRAL_PUBLIC_URL',
  'REFERRAL_SHUTDOWN_DELAY_SECONDS',
  'REFERRAL_TRUST_PROXY',
  'REFERRAL_WEBHOOK_ALLOW',
]
/** Read by the CLI, the SDK and the examples, which often share an environment with the server. */
const CLIENT_SETTINGS = /^REFERRAL_(BASE_URL|API_KEY|OWNER_TOKEN|SHOP_ID|PROFILE|CONFIG_DIR|WEBHOOK_SECRET)$/
/** Set by Kubernetes for a service whose name begins with `referral`. */
const KUBERNETES_VARIABLES = /^REFERRAL_(\w+_)?(PORT|SERVICE)(_|$)/
/** The largest edit distance that counts as a typo. */
const TYPO_DISTANCE = 2

/** @throws ConfigError for a misspelled name, because the intended setting would be ignored. */
function findUnknownSettings(env: Environment): Config['unknownSettings'] {
  const isUnknown = (name: string) =>
    name.startsWith('REFERRAL_') &&
    !KNOWN_SETTINGS.includes(name) &&
    !CLIENT_SETTINGS.test(name) &&
    !KUBERNETES_VARIABLES.test(name)
  return Object.keys(env)
    .filter((name) => env[name] && isUnknown(name))
    .map((variable) => {
      const distances = KNOWN_SETTINGS.map((name) => ({ nearest: name, distance: editDistance(variable, name) }))
      const { nearest, distance } = distances.sort((a, b) => a.distance - b.distance)[0]!
      if (distance <= TYPO_DISTANCE) throw new ConfigError(`${variable} is not a setting. Did you mean ${nearest}?`)
      return { variable, nearest }
    })
}

const keyFile = (dataDir: string) => resolve(dataDir, 'encryption.key')

/** Marks a new encryption key until its database exists. */
const firstStartFile = (dataDir: string) => resolve(dataDir, 'first-start')

/** Records that the database exists. From then on, a missing database next to its encryption key prevents startup. */
export function endFirstStart({ dataDir }: Pick<Config, 'dataDir'>): void {
  rmSync(firstStartFile(dataDir), { force: true })
}

/**
 * Whether a database that was in use is missing. If two processes make the first start at once, the one that finds the
 * other's key also finds its first-start file or database, because that file is written before the key.
 */
function isLost(database: string, dataDir: string): boolean {
  if (existsSync(firstStartFile(dataDir))) return false
  return !existsSync(database) || statSync(database).size === 0
}

/** The message omits the token. */
function operatorToken(text: string | undefined): string | undefined {
  if (!text) return undefined
  if (/^[!-~]{32,512}$/.test(text)) return text
  throw new ConfigError(
    'REFERRAL_OPERATOR_TOKEN must be 32 to 512 printable characters without spaces (openssl rand -base64 32 makes one).',
  )
}

const SAMPLERS = ['always_on', 'always_off', 'traceidratio'].flatMap((name) => [name, `parentbased_${name}`])

function readTracing(env: Environment): TracingConfig | undefined {
  const base = env.OTEL_EXPORTER_OTLP_ENDPOINT
  const endpoint = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || (base && `${base.replace(/\/$/, '')}/v1/traces`)
  const isOff = env.OTEL_SDK_DISABLED?.toLowerCase() === 'true' || env.OTEL_TRACES_EXPORTER === 'none'
  if (!endpoint || isOff) return undefined
  if (!/^https?:\/\//.test(endpoint) || !URL.canParse(endpoint))
    throw new ConfigError(`OTEL_EXPORTER_OTLP_ENDPOINT must be an http or https URL, not "${endpoint}".`)
  oneOf(env, 'OTEL_EXPORTER_OTLP_PROTOCOL', ['http/json'], 'http/json')
  const sampler = oneOf(env, 'OTEL_TRACES_SAMPLER', SAMPLERS, 'parentbased_always_on')
  const share = Number(env.OTEL_TRACES_SAMPLER_ARG || 1)
  if (!(share >= 0 && share <= 1))
    throw new ConfigError(`OTEL_TRACES_SAMPLER_ARG must be from 0 to 1, not "${env.OTEL_TRACES_SAMPLER_ARG}".`)
  const named = { 'service.name': 'referral-server', 'service.version': VERSION }
  const resource = { ...named, ...keysAndValues(env, 'OTEL_RESOURCE_ATTRIBUTES') }
  if (env.OTEL_SERVICE_NAME) resource['service.name'] = env.OTEL_SERVICE_NAME
  const ratio = sampler.endsWith('traceidratio') ? share : Number(sampler.endsWith('always_on'))
  return { endpoint, headers: keysAndValues(env, 'OTEL_EXPORTER_OTLP_HEADERS'), resource, sampler, ratio }
}

function checkDatabaseUrl(url: string): string {
  if (/^file:./.test(url) || isPostgresUrl(url)) return url
  throw new ConfigError(`DATABASE_URL must start with file: or postgres://, not with ${url.split(':')[0]}:.`)
}

function checkRedisUrl(url: string): string {
  if (/^rediss?:\/\/./.test(url) && URL.canParse(url)) return url
  // The message omits the URL, which may contain a password.
  throw new ConfigError('REDIS_URL must be redis://host:port, or rediss:// for TLS.')
}

function checkPublicUrl(url: string): string {
  const text = url.replace(/\/$/, '')
  if (/^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text) return text
  throw new ConfigError(`REFERRAL_PUBLIC_URL must be an origin like https://referral.example.com, not "${url}".`)
}

const LOOPBACK_ISSUER = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(:|\/|$)/

/** The messages omit the secret. */
function readOidc(env: Environment): OidcConfig | undefined {
  const issuer = env.REFERRAL_OIDC_ISSUER || undefined
  const clientId = env.REFERRAL_OIDC_CLIENT_ID || undefined
  const clientSecret = env.REFERRAL_OIDC_CLIENT_SECRET || undefined
  if (!issuer && !clientId && !clientSecret) return undefined
  if (!issuer || !clientId || !clientSecret || !env.REFERRAL_PUBLIC_URL) {
    throw new ConfigError(
      'OpenID Connect requires REFERRAL_OIDC_ISSUER, REFERRAL_OIDC_CLIENT_ID, REFERRAL_OIDC_CLIENT_SECRET, and REFERRAL_PUBLIC_URL.',
    )
  }
  const isEncrypted = issuer.startsWith('https://') || LOOPBACK_ISSUER.test(issuer)
  if (!isEncrypted || !URL.canParse(issuer))
    throw new ConfigError(`REFERRAL_OIDC_ISSUER must be an https URL, not "${issuer}".`)
  return { issuer, clientId, clientSecret, name: env.REFERRAL_OIDC_NAME || 'single sign-on' }
}

/**
 * Reads the keys from the environment, or from `<data>/encryption.key`, which is created together with the database. With
 * PostgreSQL no key file is created, because all instances must share the key.
 */
function encryptionKeys(
  text: string | undefined,
  { dataDir, databaseUrl, firstStart }: Pick<Config, 'dataDir' | 'databaseUrl'> & { firstStart: FirstStart },
): Uint8Array[] {
  const isFile = !isPostgresUrl(databaseUrl)
  const database = databaseUrl.replace(/^file:/, '')
  const file = keyFile(dataDir)
  // Opening a SQLite database would create it.
  if (isFile && firstStart === 'rejected' && !existsSync(database) && (text || !existsSync(file)))
    throw new ConfigError(`There is no database at ${database}. Correct DATABASE_URL or restore a backup.`)
  if (text) return decodeKeys(text)
  if (!isFile) {
    throw new ConfigError(
      'REFERRAL_ENCRYPTION_KEY must be set with PostgreSQL, the same for every instance (generate one with openssl rand -base64 32).',
    )
  }
  if (existsSync(file)) {
    // Otherwise, the server would start with an empty database, as on a first start.
    if (isLost(database, dataDir)) {
      throw new ConfigError(
        `${database} is missing or empty, but ${file} belongs to a database: correct DATABASE_URL or restore a backup (referral-server restore <file>); to start with an empty database, move the key file away first.`,
      )
    }
  } else {
    // A new key could not decrypt the existing secrets.
    if (existsSync(database)) {
      throw new ConfigError(`${file} is missing: restore the encryption key of this database.`)
    }
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    writeFileSync(firstStartFile(dataDir), '', { mode: 0o600 })
    const key = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64')
    // wx: if two processes start at once, one creates the key and the other reads it.
    try {
      writeFileSync(file, `${key}\n`, { mode: 0o600, flag: 'wx' })
    } catch (error) {
      if (!existsSync(file))
        throw new ConfigError(`The encryption key cannot be written to ${file}: ${(error as Error).message}.`)
    }
  }
  return [decodeKey(readFileSync(file, 'utf8'), file)]
}

/** The configured keys, newest first; undefined when there are none. Unlike {@link readConfig}, does not create one. */
export function findEncryptionKeys(variables: Environment = process.env): Uint8Array[] | undefined {
  const text = withSecretFiles(variables).REFERRAL_ENCRYPTION_KEY
  if (text) return decodeKeys(text)
  const file = keyFile(readDataLocation(variables).dataDir)
  return existsSync(file) ? [decodeKey(readFileSync(file, 'utf8'), file)] : undefined
}

const decodeKeys = (text: string) => text.split(',').map((key) => decodeKey(key, 'REFERRAL_ENCRYPTION_KEY'))

function decodeKey(text: string, where: string): Uint8Array {
  const bytes = Buffer.from(text.trim(), 'base64')
  if (bytes.length !== 32)
    throw new ConfigError(`${where} must contain 32 bytes in base64 (openssl rand -base64 32 makes them).`)
  return bytes
}

/** Whether a `DATABASE_URL` names a PostgreSQL database. */
export const isPostgresUrl = (url: string): boolean => /^postgres(ql)?:\/\//.test(url)
