import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Env, Hono } from 'hono'
import { pageHeaders } from '../http/response.ts'

interface Asset {
  /** Contains a hash of the content, so browsers can cache it indefinitely. */
  path: string
  type: string
  content: string | Uint8Array<ArrayBuffer>
}

const FONT = '@fontsource-variable/inter'
const FONT_STYLE = 'wght.css'
/** The part of the font that every page uses. Browsers load the others for the characters that they contain. */
const LATIN = /-latin-wght-normal\.woff2$/

const fontFile = (file: string): Buffer<ArrayBuffer> => readFileSync(new URL(import.meta.resolve(`${FONT}/${file}`)))

const fonts: Asset[] = []
/** The rules of the font, with the paths of its files here. */
const fontStyle = fontFile(FONT_STYLE)
  .toString()
  .replace(/url\(\.\/(files\/([\w-]+\.woff2))\)/g, (_all, file: string, name: string) => {
    const font = asset(name, 'font/woff2', fontFile(file))
    fonts.push(font)
    return `url(${font.path})`
  })

export const STYLE = asset('admin.css', 'text/css; charset=utf-8', fontStyle + read('admin.css'))
export const SCRIPT = asset('admin.js', 'text/javascript; charset=utf-8', read('admin.js'))
export const ICON = asset('icon.svg', 'image/svg+xml; charset=utf-8', read('icon.svg'))
export const TEXT_FONT = fonts.find(({ path }) => LATIN.test(path))!

export function mountAssets<E extends Env>(app: Hono<E>): void {
  for (const { path, type, content } of [STYLE, SCRIPT, ICON, ...fonts]) {
    const headers = {
      'Content-Type': type,
      'Cache-Control': 'public, max-age=31536000, immutable',
      'X-Content-Type-Options': 'nosniff',
      'Cross-Origin-Resource-Policy': 'same-origin',
    }
    app.get(path, (c) => c.body(content, 200, headers))
  }
}

function read(name: string): string {
  return readFileSync(new URL(`assets/${name}`, import.meta.url), 'utf8')
}

function asset(name: string, type: string, content: Asset['content']): Asset {
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 16)
  return { path: `/admin/assets/${hash}-${name}`, type, content }
}

/** Headers of every page. */
export const PAGE_HEADERS = {
  ...pageHeaders({
    style: "'self'",
    script: "'self'",
    image: "'self'",
    form: "'self'",
    font: "'self'",
    connect: "'self'",
  }),
  'Cache-Control': 'no-store',
}
