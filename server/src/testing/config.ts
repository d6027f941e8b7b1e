import type { Config } from '../config.ts'

/** A test server's settings. */
export const testConfig = (dataDir: string, overrides: Partial<Config> = {}): Config => ({
  host: '127.0.0.1',
  port: 0,
  dataDir,
  databaseUrl: '',
  redisUrl: undefined,
  demo: false,
  publicUrl: undefined,
  oidc: undefined,
  encryptionKeys: [new Uint8Array(32).fill(7)],
  apiDisabled: false,
  minimumPayoutCents: 0,
  journeyRetentionDays: undefined,
  pendingRefundRetentionDays: undefined,
  metricsToken: undefined,
  operatorToken: undefined,
  webhookAllow: [],
  corsOrigins: [],
  trustProxy: 0,
  unknownSettings: [],
  keepAliveSeconds: 75,
  shutdownDelaySeconds: 0,
  logLevel: 'silent',
  tracing: undefined,
  ...overrides,
})
