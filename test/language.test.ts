// Full: it starts other processes.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../', import.meta.url))

/** One term for each concept. Style is a matter of review; another name for the same thing misleads readers. */
const TERMS: [term: string, otherNames: RegExp][] = [
  ['dashboard', /\b(control|admin) panel\b|\bback office\b/i],
  ['click window', /\bcookie (duration|window)\b|\battribution window\b/i],
  ['idempotency key', /\bidempotence key\b|\bdeduplication key\b/i],
  ['error response, rejection', /\brefusals?\b/i],
  ['clawback', /\bclaw[ -]backs?\b|\bcharge[ -]?backs? of commissions?\b/i],
  ['retention, purge', /\bhouse-?keeping\b/i],
  ['auto-approve', /\bapproves? by (itself|themselves)\b/i],
  ['third-party', /\boutside (tools?|generators?|part(y|ies))\b/i],
  ['in flight', /\bunder way\b/i],
  ['power loss', /\bpower[ -]cuts?\b/i],
  ['whitespace', /\bwhite space\b/i],
  ['percent', /\bper cent\b/i],
]

const EXCLUDED =
  /^(CHANGELOG\.md|pnpm-lock\.yaml|LICENSE|test\/language\.test\.ts|test\/(contract|database)\/released\/|test\/long\/\w+\/package-lock\.json)|\.(png|svg|db|gz|ico)$/
const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8', maxBuffer: 1e8 }).split('\0')
const files = tracked.filter((file) => file && !EXCLUDED.test(file))
const texts = files.map((file) => [file, readFileSync(`${ROOT}${file}`, 'utf8')] as const)

test('the list covers the whole repository', () => {
  expect(files).toEqual(
    expect.arrayContaining(['README.md', 'openapi.yaml', 'server/src/app.ts', 'docs/self-hosting/settings.md']),
  )
})

test.each(TERMS)('the term is %s: no file uses another name for it', (_term, otherNames) => {
  const linesOf = (file: string, text: string) =>
    text.split('\n').flatMap((line, at) => (otherNames.test(line) ? [`${file}:${at + 1}: ${line.trim()}`] : []))
  expect(texts.flatMap(([file, text]) => (otherNames.test(text) ? linesOf(file, text) : []))).toEqual([])
})

/** The headings of a page, as anchors of GitHub. */
const anchorsOf = (text: string) =>
  [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )

test('every relative link of a page leads to a file and heading that exist', () => {
  const pages = new Map(texts.filter(([file]) => file.endsWith('.md')))
  const broken = [...pages].flatMap(([file, text]) =>
    [...text.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].flatMap(([link, path = '', anchor]) => {
      const target = path ? posix.join(posix.dirname(file), path) : file
      const isThere = tracked.some((one) => one === target || one.startsWith(`${target.replace(/\/$/, '')}/`))
      const hasAnchor = !anchor || anchorsOf(pages.get(target) ?? '').includes(anchor)
      return isThere && hasAnchor ? [] : [`${file}: ${link}`]
    }),
  )
  expect(broken).toEqual([])
})

/** A path of a source file or page, such as `engine/decide.ts`, or of a folder, such as `test/fuzz/`. */
const PATH = /^(?:\.{1,2}\/)*((?:[\w.-]+\/)*[\w.-]+(?:\.(?:ts|md|sh|yaml)|\/))$/

/** The paths that a page names in code spans and a source file in comments. */
function pathsIn(file: string, text: string): string[] {
  const isPage = file.endsWith('.md')
  const prose = isPage
    ? text.replace(/^```.*?^```/gms, '').match(/`[^`\n]+`/g)
    : text.match(/^\s*(?:\/\*\*|\*|\/\/) .*$/gm)
  const words = (prose ?? []).flatMap((part) => part.replace(/[`,;()]|[.:](?=\s|$)/g, ' ').split(/\s+/))
  return words.flatMap((word) => PATH.exec(word)?.[1] ?? []).filter((path) => isPage || /\/[\w.-]+$/.test(path))
}

test('every path in a page or a comment exists', () => {
  const exists = (path: string) =>
    tracked.some(
      (file) => file === path || file.endsWith(`/${path}`) || `/${file}`.includes(`/${path.replace(/\/$/, '')}/`),
    )
  const pages = texts.filter(([file]) => /\.(md|ts)$/.test(file) && !/\/(recipes|generated)\//.test(file))
  const paths = pages.flatMap(([file, text]) => pathsIn(file, text).map((path) => `${file}: ${path}`))
  expect(paths.length).toBeGreaterThan(100)
  expect(paths.filter((one) => !exists(one.split(': ')[1] ?? ''))).toEqual([])
})

test('every decision record has a number of its own and a line in the list', () => {
  const names = files.filter((file) => /^docs\/decisions\/\d/.test(file)).map((file) => posix.basename(file))
  const numbers = names.map((name) => Number.parseInt(name, 10)).sort((a, b) => a - b)
  expect(numbers).toEqual(numbers.map((_, n) => n + 1))
  const list = readFileSync(`${ROOT}docs/decisions/README.md`, 'utf8')
  expect(
    names.filter((name) => !list.includes(`- [${Number.parseInt(name, 10)}. `) || !list.includes(`](${name})`)),
  ).toEqual([])
})
