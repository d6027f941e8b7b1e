import { createHash } from 'node:crypto'

/** What a page may load; everything else is refused. */
interface Sources {
  style: string
  script?: string
  image?: string
  form?: string
}

/** Headers of every HTML page: it loads nothing from elsewhere, and no other page frames it or learns where it links to. */
export function pageHeaders({ style, script = "'none'", image = "'none'", form = "'none'" }: Sources) {
  return {
    'Content-Security-Policy': [
      "default-src 'none'",
      `style-src ${style}`,
      `script-src ${script}`,
      `img-src ${image}`,
      `form-action ${form}`,
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
    ...NOSNIFF,
    'X-Frame-Options': 'DENY',
    // With no-referrer browsers would send `Origin: null` with forms of these pages; no other site receives it either way.
    'Referrer-Policy': 'same-origin',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
  }
}

/** The source of one inline `<style>`, which then is the only one that applies. */
export const inlineSource = (content: string): string =>
  `'sha256-${createHash('sha256').update(content).digest('base64')}'`

/** No browser takes a response for another type than it says. */
export const NOSNIFF = { 'X-Content-Type-Options': 'nosniff' }
