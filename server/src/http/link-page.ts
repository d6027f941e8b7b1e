import { type ApiResponse, inlineStyleSource, pageHeaders } from './response.ts'

const STYLE =
  ':root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;max-width:30rem;margin:20vh auto;padding:0 1rem}'

const pageOf = (heading: string, advice: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${heading}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${heading}</h1>
<p>${advice}</p>
</main>
</body>
</html>
`

const BROKEN = pageOf(
  'This link does not work',
  'Visit the shop’s own website, or ask whoever shared the link for a new one.',
)
const UNAVAILABLE = pageOf(
  'This link is not available at the moment',
  'Try again later, or visit the shop’s own website.',
)

/** Replaces the error of an affiliate link by a page for its visitor, with the same status and code, if a browser asked. */
export function toLinkPage(response: ApiResponse, accept = ''): ApiResponse {
  const { status, headers } = response
  if (!accept.includes('text/html')) return { ...response, headers: { ...headers, Vary: 'Accept' } }
  const body = status === 429 || status >= 500 ? UNAVAILABLE : BROKEN
  const page = pageHeaders({ style: inlineStyleSource(STYLE) })
  return { status, body, headers: { ...page, 'Cache-Control': 'no-store', Vary: 'Accept', ...headers } }
}
