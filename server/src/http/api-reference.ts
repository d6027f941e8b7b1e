import { createHash } from 'node:crypto'
import type { Hono } from 'hono'
import { html, raw } from 'hono/html'
import { document } from '../contract/document.ts'
import { ApiError } from '../contract/errors.ts'
import { matchesTag } from './docs.ts'
import { limitPublic } from './rate-limit.ts'
import { hasRedoc, readRedoc } from './redoc.ts'
import { inlineStyleSource, NOSNIFF, pageHeaders } from './response.ts'
import type { Env, Server } from './server.ts'

const STYLE = 'body { margin: 0 }\nnoscript { display: block; padding: 2rem; font: 16px/1.5 system-ui, sans-serif }\n'

/** Redoc stores the color scheme that a reader chooses; the default is that of the browser. */
const SCRIPT = `import { init } from './redoc.js'
const stored = localStorage.getItem('redoc.colorMode')
const scheme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'
document.documentElement.classList.add(['light', 'dark'].includes(stored) ? stored : scheme)
const response = await fetch('/openapi.json')
init(await response.json(), { disableTelemetry: true }, document.getElementById('redoc'))
`

/** Redoc inserts its styles through the CSSOM, into a style element that is empty. */
const { 'Content-Security-Policy': policy, ...others } = pageHeaders({
  style: `'self' ${inlineStyleSource('')}`,
  script: "'self'",
  image: "'self' data:",
})
const PAGE_HEADERS = { ...others, 'Content-Security-Policy': `${policy}; connect-src 'self'; font-src data:` }

/**
 * Serves the API reference at `/docs`, rendered from the contract of this server. Its script is part of the server, and
 * the page can load nothing from other hosts. Without the script, in an installation without development dependencies,
 * `/docs` leads to the quick start.
 */
export function mountApiReference(app: Hono<Env>, server: Server): void {
  let files: Map<string, { type: string; content: string; tag: string }> | undefined
  const load = () => {
    files ??= new Map(
      [
        ['style.css', 'text/css', STYLE],
        ['reference.js', 'text/javascript', SCRIPT],
        ['redoc.js', 'text/javascript', readRedoc()],
      ].map(([name = '', type = '', content = '']) => [
        name,
        { type, content, tag: `"${createHash('sha256').update(content).digest('hex').slice(0, 16)}"` },
      ]),
    )
    return files
  }
  app.get('/docs', async (c) => {
    await limitPublic(server, c.get('request'))
    if (!hasRedoc()) return c.redirect('/api/v1/docs')
    for (const [name, value] of Object.entries(PAGE_HEADERS)) c.header(name, value)
    return c.html(page())
  })
  for (const name of ['style.css', 'reference.js', 'redoc.js']) {
    app.get(`/docs/${name}`, async (c) => {
      await limitPublic(server, c.get('request'))
      if (!hasRedoc()) throw new ApiError(404, 'path_unknown', 'No such path.')
      const { type, content, tag } = load().get(name)!
      const headers = {
        ...NOSNIFF,
        ETag: tag,
        'Cache-Control': 'no-cache',
        'Cross-Origin-Resource-Policy': 'same-origin',
      }
      if (matchesTag(c.req.header('If-None-Match'), tag)) return c.body(null, 304, headers)
      return c.body(content, 200, { ...headers, 'Content-Type': `${type}; charset=utf-8` })
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
