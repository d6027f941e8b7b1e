import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Env, Hono } from 'hono'
import { pageHeaders } from '../http/response.ts'

interface Asset {
  /** Contains a hash of the content, so browsers can cache it indefinitely. */
  path: string
  type: string
  content: string
}

export const STYLE = load('admin.css', 'text/css')
export const SCRIPT = load('admin.js', 'text/javascript')
export const ICON = load('icon.svg', 'image/svg+xml')

export function mountAssets<E extends Env>(app: Hono<E>): void {
  for (const { path, type, content } of [STYLE, SCRIPT, ICON]) {
    const headers = {
      'Content-Type': `${type}; charset=utf-8`,
      'Cache-Control': 'public, max-age=31536000, immutable',
      'X-Content-Type-Options': 'nosniff',
      'Cross-Origin-Resource-Policy': 'same-origin',
    }
    app.get(path, (c) => c.body(content, 200, headers))
  }
}

function load(name: string, type: string): Asset {
  const content = readFileSync(new URL(`assets/${name}`, import.meta.url), 'utf8')
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 16)
  return { path: `/admin/assets/${hash}-${name}`, type, content }
}

/** Headers of every page. */
export const PAGE_HEADERS = {
  ...pageHeaders({ style: "'self'", script: "'self'", image: "'self'", form: "'self'" }),
  'Cache-Control': 'no-store',
}
