import { existsSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'

export const ROOT = join(import.meta.dirname, '../..')
export const REPOSITORY = 'https://github.com/referral-program/referral'

/** Pages of the repository outside of docs that are pages of the site too. */
export const PAGES: Record<string, { page: string; title?: string }> = {
  'cli/MIGRATING.md': { page: 'guides/moving' },
  'examples/README.md': { page: 'guides/examples' },
  'examples/cli/README.md': { page: 'guides/cli-examples' },
  'sdk/README.md': { page: 'reference/sdk' },
  'sdk/api.md': { page: 'reference/sdk-api', title: 'SDK: all exports' },
  'cli/REFERENCE.md': { page: 'reference/cli', title: 'CLI' },
  'webhook-verifier/README.md': { page: 'reference/webhook-verifier' },
  'test/conformance/README.md': { page: 'reference/conformance-suite' },
  'SECURITY.md': { page: 'operations/security' },
  'CONTRIBUTING.md': { page: 'contributing' },
  'CHANGELOG.md': { page: 'changelog' },
}

const fileOf = new Map(Object.entries(PAGES).map(([file, { page }]) => [`docs/${page}.md`, file]))

/** The file of the repository that a page of the site is written in. */
export const sourceOf = (page: string): string => fileOf.get(`docs/${page}`) ?? `docs/${page}`

/** A page's text; a title replaces its first heading. */
export function readPage(file: string): string {
  const text = readFileSync(join(ROOT, file), 'utf8')
  const { title } = PAGES[file] ?? {}
  return title ? text.replace(/^# .*$/m, `# ${title}`) : text
}

/**
 * Resolves a relative link of a page. Links that work in the repository work on the site too: to a page of the site if
 * there is one, otherwise to the file in the repository.
 */
export function resolveLink(from: string, href: string): string {
  if (/^([a-z]+:|#|\/)/.test(href)) return href
  const [path = '', anchor] = href.split('#')
  const target = posix.join(posix.dirname(from), path)
  const hash = anchor ? `#${anchor}` : ''
  const own = PAGES[target]?.page
  if (own) return `/${own}${hash}`
  if (target.startsWith('docs/') && target.endsWith('.md'))
    return `/${target.slice(5, -3).replace(/(^|\/)README$/, '$1')}${hash}`
  if (!existsSync(join(ROOT, target))) throw new Error(`${from} links to ${href}, which does not exist.`)
  return `${REPOSITORY}/blob/main/${target}${hash}`
}

/** Anchors like those of GitHub, so that one link works in the repository and on the site. */
export const slugify = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
