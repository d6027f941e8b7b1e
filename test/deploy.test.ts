import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'

const read = (file: string) => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')

test('nginx lets the largest documented body through', () => {
  const [, mebibytes] = /client_max_body_size (\d+)m;/.exec(read('docs/guides/reverse-proxies.md')) ?? []
  const largest = [...read('openapi.yaml').matchAll(/to (\d+) MiB/g)].map(([, size]) => Number(size))
  expect(largest).toContain(4)
  expect(Number(mebibytes)).toBe(Math.max(...largest))
})

test('every documented setting in deploy/.env reaches the server of the compose file, except the two that it sets', () => {
  const rows = read('docs/self-hosting/settings.md').matchAll(/^\| (`[A-Z_]+`.*?) \| /gm)
  const names = [...rows].flatMap(([, cell = '']) => cell.match(/[A-Z_]+/g) ?? [])
  expect(names).toContain('REFERRAL_PUBLIC_URL')
  const { env_file, environment } = parse(read('deploy/compose.yaml')).services.server
  const settings = Object.fromEntries(names.map((name) => [name, `value of ${name}`]))
  const substitute = (text: string) => text.replace(/\$\{(\w+):\?[^}]*\}/g, (_, name) => settings[name] ?? '')
  const received: Record<string, string> = {
    ...(env_file === '.env' && settings),
    ...Object.fromEntries(Object.entries<string>(environment).map(([name, text]) => [name, substitute(text)])),
  }
  expect(names.filter((name) => received[name] !== settings[name])).toEqual(['DATABASE_URL', 'REDIS_URL'])
})
