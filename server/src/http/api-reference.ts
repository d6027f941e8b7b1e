import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants } from 'node:zlib'
import type { Context, Hono } from 'hono'
import { accepts } from 'hono/accepts'
import { html, raw } from 'hono/html'
import { document, readContract } from '../contract/document.ts'
import { ApiError } from '../contract/errors.ts'
import { limitPublic } from './rate-limit.ts'
import { hasRedoc, readRedoc } from './redoc.ts'
import { inlineStyleSource, pageHeaders } from './response.ts'
import type { Env, Server } from './server.ts'

const STYLE = 'body { margin: 0 }\nnoscript { display: block; padding: 2rem; font: 16px/1.5 system-ui, sans-serif }\n'

/** Redoc stores the reader's color scheme. The default is the browser's. */
const SCRIPT = `import { init } from './redoc.js'
const stored = localStorage.getItem('redoc.colorMode')
const scheme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'
document.documentElement.classList.add(['light', 'dark'].includes(stored) ? stored : scheme)
const response = await fetch('/openapi.json')
const servers = [{ url: location.origin }]
const options = { disableTelemetry: true, showExtensions: ['x-error-codes'] }
init({ ...(await response.json()), servers }, options, document.getElementById('redoc'))
`

/** Redoc inserts its styles through the CSSOM, into a style element that is empty. */
const { 'Content-Security-Policy': policy, ...others } = pageHeaders({
  style: `'self' ${inlineStyleSource('')}`,
  script: "'self'",
  image: "'self' data:",
})
const PAGE_HEADERS = { ...others, 'Content-Security-Policy': `${policy}; connect-src 'self'; font-src data:` }

/**
 * Serves the API reference at `/docs`, rendered from this server's contract. Its script is part of the server, and the
 * page can load nothing from other hosts. Without the script, as in an installation without development dependencies,
 * `/docs` redirects to the quick start.
 */
export function mountApiReference(app: Hono<Env>, server: Server): void {
  const files: Record<string, () => StaticFile> = {
    'style.css': once(() => staticFile(STYLE, 'text/css; charset=utf-8')),
    'reference.js': once(() => staticFile(SCRIPT, 'text/javascript; charset=utf-8')),
    'redoc.js': once(() => staticFile(readRedoc(), 'text/javascript; charset=utf-8')),
  }
  app.get('/docs', async (c) => {
    await limitPublic(server, c.get('request'))
    if (!hasRedoc()) return c.redirect('/api/v1/docs')
    for (const [name, value] of Object.entries(PAGE_HEADERS)) c.header(name, value)
    return c.html(page())
  })
  for (const [name, file] of Object.entries(files)) {
    app.get(`/docs/${name}`, async (c) => {
      await limitPublic(server, c.get('request'))
      if (!hasRedoc()) throw new ApiError(404, 'path_unknown', 'No such path.')
      return sendStaticFile(c, file(), { 'Cross-Origin-Resource-Policy': 'same-origin' })
    })
  }
}

const page = () => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${document.info.title}</title>
${raw('<link rel="icon" href="data:,"><link rel="stylesheet" href="/docs/style.css">')}
</head>
<body>
<div id="redoc"></div>
<noscript>The reference requires JavaScript. The <a href="/api/v1/docs">quick start</a> does not.</noscript>
<script type="module" src="/docs/reference.js"></script>
</body>
</html>`

/** Serves the contract without a credential. */
export function mountDocument(app: Hono<Env>, server: Server): void {
  const json = once(() => staticFile(JSON.stringify(document), 'application/json'))
  const serve = (file: () => StaticFile) => async (c: Context<Env>) => {
    await limitPublic(server, c.get('request'))
    return sendStaticFile(c, file())
  }
  app.get('/', async (c) => {
    await limitPublic(server, c.get('request'))
    return c.redirect('/api/v1/docs')
  })
  for (const name of ['openapi.yaml', 'referral.arazzo.yaml'] as const)
    app.get(`/${name}`, serve(once(() => staticFile(readContract(name), 'application/yaml; charset=utf-8'))))
  app.get('/openapi.json', serve(json))
}

interface StaticFile {
  content: string
  type: string
  tag: string
  /** The content as brotli, compressed once. */
  compressed: () => Promise<Uint8Array<ArrayBuffer>>
}

const staticFile = (content: string, type: string): StaticFile => ({
  content,
  type,
  tag: `"${createHash('sha256').update(content).digest('hex').slice(0, 16)}"`,
  compressed: once(async () => new Uint8Array(await compress(content, { params: BROTLI }))),
})

const compress = promisify(brotliCompress)
/** For Redoc, this takes another thread a quarter of a second. The best quality would take seconds. */
const BROTLI = { [constants.BROTLI_PARAM_QUALITY]: 9 }

/** Sends a file that does not change while the server runs. Supports conditional requests. */
async function sendStaticFile(c: Context<Env>, file: StaticFile, extra: Record<string, string> = {}) {
  const { content, type, tag, compressed } = file
  const headers = { ...extra, ETag: tag, 'Cache-Control': 'no-cache', Vary: 'Accept-Encoding' }
  if (matchesTag(c.req.header('If-None-Match'), tag)) return c.body(null, 304, headers)
  if (!acceptsBrotli(c)) return c.body(content, 200, { ...headers, 'Content-Type': type })
  const encoded = { ETag: `W/${tag}`, 'Content-Encoding': 'br', 'Content-Type': type }
  return c.body(await compressed(), 200, { ...headers, ...encoded })
}

const acceptsBrotli = (c: Context<Env>): boolean =>
  accepts(c, {
    header: 'Accept-Encoding',
    supports: ['br'],
    default: '',
    match: (encodings) => (encodings.some(({ type, q }) => type === 'br' && q > 0) ? 'br' : ''),
  }) === 'br'

/** Whether `If-None-Match` matches the tag, by the weak comparison that RFC 9110 requires. */
export const matchesTag = (header: string | undefined, tag: string): boolean =>
  (header ?? '')
    .split(',')
    .some((candidate) => candidate.trim() === '*' || candidate.trim().replace(/^W\//, '') === tag)

function once<T>(make: () => T): () => T {
  let made: T | undefined
  return () => {
    made ??= make()
    return made
  }
}
