// Full: it waits for receivers that hang or fail.
// SQLite only: connections to receivers do not depend on the database.
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:https'
import type { AddressInfo, LookupFunction } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Fixture, names, until, webhookFixture } from './fixture.ts'

const openssl = (...args: string[]) => spawnSync('openssl', args, { stdio: 'ignore' }).status === 0
const hasOpenssl = openssl('version')
if (!hasOpenssl) console.warn('skipped: no openssl to make a certificate with')

/** A certificate for hooks.example.com, and the authority that signed it. */
function makeCertificate(dir: string) {
  const at = (name: string) => join(dir, name)
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  openssl('req', '-x509', ...key, '-subj', '/CN=Test authority', '-keyout', at('ca.key'), '-out', at('ca.pem'))
  openssl('req', ...key, '-subj', '/CN=hooks', '-keyout', at('key.pem'), '-out', at('request.pem'))
  writeFileSync(at('names'), 'subjectAltName=DNS:hooks.example.com')
  const signer = ['-CA', at('ca.pem'), '-CAkey', at('ca.key'), '-CAcreateserial', '-extfile', at('names')]
  openssl('x509', '-req', '-in', at('request.pem'), ...signer, '-out', at('cert.pem'))
  return {
    ca: readFileSync(at('ca.pem'), 'utf8'),
    cert: readFileSync(at('cert.pem')),
    key: readFileSync(at('key.pem')),
  }
}

// Checked addresses are public; connections to one go to this machine instead.
const route =
  (lookup: LookupFunction): LookupFunction =>
  (host, how, done) =>
    lookup(host, how, (error, found) =>
      error ? done(error, found) : done(null, [{ address: '127.0.0.1', family: 4 }]),
    )

describe.skipIf(!hasOpenssl)('https', () => {
  const seen: { servername: unknown; host: string | undefined; version: string }[] = []
  let dir: string
  let ca: string
  let server: Server
  let at: Fixture
  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'referral-tls-'))
    const made = makeCertificate(dir)
    ca = made.ca
    server = createServer(made, (request, response) => {
      const { servername } = request.socket as TLSSocket
      seen.push({ servername, host: request.headers.host, version: request.httpVersion })
      if (request.url !== '/endless') return void request.resume().on('end', () => response.end())
      const hints = 'HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n'.repeat(200)
      const pouring = setInterval(() => request.socket.write(hints), 10)
      request.socket.on('error', () => {}).on('close', () => clearInterval(pouring))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
  })
  afterAll(() => {
    server.close()
    rmSync(dir, { recursive: true })
  })
  beforeEach(async () => {
    seen.length = 0
    at = await webhookFixture()
    for (const name of ['hooks.example.com', 'other.example.com']) names.set(name, ['8.8.8.8'])
  })
  afterEach(() => at.close())

  const codeOf = async (name: string, path = '/') => {
    at.plant(`https://${name}:${(server.address() as AddressInfo).port}${path}`)
    await at.test()
    await until(() => at.finished().length === 1)
    return at.deliveries()[0]!.code
  }

  test('the certificate is verified for the host name, which is sent as SNI', async () => {
    await at.send({ ca, route })
    expect(await codeOf('hooks.example.com')).toBe('ok')
    const host = `hooks.example.com:${(server.address() as AddressInfo).port}`
    expect(seen).toEqual([{ servername: 'hooks.example.com', host, version: '1.1' }])
  })

  test('at most 64 KiB of an endless response are read', async () => {
    await at.send({ ca, route })
    expect(await codeOf('hooks.example.com', '/endless')).toBe('connect')
    expect(at.deliveries()[0]!.durationMs).toBeLessThan(5000)
  })

  test('tls when the certificate is for another host', async () => {
    await at.send({ ca, route })
    expect(await codeOf('other.example.com')).toBe('tls')
    expect(seen).toEqual([])
  })

  test('tls when the certificate authority is not trusted', async () => {
    await at.send({ route })
    expect(await codeOf('hooks.example.com')).toBe('tls')
    expect(seen).toEqual([])
  })
})
