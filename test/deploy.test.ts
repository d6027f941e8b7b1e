import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'

const read = (file: string) => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')

test('nginx lets the largest documented body through', () => {
  const [, mebibytes] = /client_max_body_size (\d+)m;/.exec(read('deploy/nginx.conf')) ?? []
  const largest = [...read('openapi.yaml').matchAll(/to (\d+) MiB/g)].map(([, size]) => Number(size))
  expect(largest).toContain(4)
  expect(Number(mebibytes)).toBe(Math.max(...largest))
})

test('every documented setting reaches the server of the compose file', () => {
  const { server } = parse(read('deploy/compose.yaml')).services
  expect(server.env_file).toBe('.env')
  // What is set here as well cannot be changed in the file.
  expect(Object.keys(server.environment)).toEqual(['DATABASE_URL', 'REDIS_URL', 'REFERRAL_ENCRYPTION_KEY'])
})
