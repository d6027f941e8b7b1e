import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { expect } from 'vitest'
import { CHROMIUM } from '../support/chromium.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { FLAGS } from './fixture.ts'

export type Serve = (request: Request) => Response | Promise<Response>

/** Serves sites over HTTPS to a browser in which every host name that ends in `.example` leads to them. */
export async function openSites(serve: Serve) {
  const folder = temporaryFolder()
  const key = join(folder.path, 'key.pem')
  const cert = join(folder.path, 'cert.pem')
  const options = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=shop.example', '-keyout', key, '-out', cert]
  expect(spawnSync('openssl', ['req', ...options]).status).toBe(0)
  const https = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, async (request, response) => {
    // The check of the contract reads JSON.
    const { host, 'accept-encoding': _encoding, ...headers } = request.headers as Record<string, string>
    const body = request.method === 'POST' ? Buffer.concat(await request.toArray()) : null
    const url = `https://${host}${request.url}`
    const reply = await serve(new Request(url, { method: request.method!, headers, body, redirect: 'manual' }))
    response.setHeaders(reply.headers)
    response.writeHead(reply.status)
    response.end(Buffer.from(await reply.arrayBuffer()))
  })
  await once(https.listen(0, '127.0.0.1'), 'listening')
  const { port } = https.address() as AddressInfo
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: [...FLAGS, '--ignore-certificate-errors', `--host-resolver-rules=MAP *.example 127.0.0.1:${port}`],
  })
  const close = async () => {
    await browser.close()
    https.close()
    https.closeAllConnections()
    folder.remove()
  }
  return { browser, close }
}
