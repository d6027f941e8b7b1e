import { existsSync } from 'node:fs'
import { resolve } from 'node:path'

/*
 * Reads the server's URL and the API key from REFERRAL_BASE_URL and REFERRAL_API_KEY, or from the demo.env that the server's first start wrote. Never mixes the two, so that a key is only sent to its own server.
 */
export function credentials(): { baseUrl: string; apiKey: string } {
  const { env } = process
  const file = resolve(import.meta.dirname, '..', env.REFERRAL_DATA_DIR || '.referral', 'demo.env')
  if (!env.REFERRAL_BASE_URL && !env.REFERRAL_API_KEY && existsSync(file)) process.loadEnvFile(file)
  const { REFERRAL_BASE_URL: baseUrl, REFERRAL_API_KEY: apiKey } = env
  if (baseUrl && apiKey) return { baseUrl, apiKey }
  console.error(`Set REFERRAL_BASE_URL and REFERRAL_API_KEY, or start the server once: it writes both to ${file}.`)
  process.exit(1)
}
