import { existsSync } from 'node:fs'
import { resolve } from 'node:path'

/*
 * Where the examples find the service: REFERRAL_BASE_URL and REFERRAL_API_KEY, else the demo shop that the first start
 * of the server wrote down. A key is only sent to the address it came with.
 */
export function credentials(): { baseUrl: string; apiKey: string } {
  const { env } = process
  const file = resolve(import.meta.dirname, '..', env.REFERRAL_DATA_DIR || '.referral', 'demo.env')
  if (!env.REFERRAL_BASE_URL && !env.REFERRAL_API_KEY && existsSync(file)) process.loadEnvFile(file)
  const { REFERRAL_BASE_URL: baseUrl, REFERRAL_API_KEY: apiKey } = env
  if (baseUrl && apiKey) return { baseUrl, apiKey }
  console.error(
    `Set REFERRAL_BASE_URL and REFERRAL_API_KEY, or neither: the first start of the server writes both to ${file}.`,
  )
  process.exit(1)
}
