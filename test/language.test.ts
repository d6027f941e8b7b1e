import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../', import.meta.url))

/** Wording that the project does not use, with the standard form. Add an entry once it occurs nowhere. */
const BANNED: [pattern: RegExp, standard: string][] = [
  [/\bwhat is no\b/i, 'malformed …, not a …'],
  [/\bsays that the process lives\b/i, 'reports liveness'],
  [/\b(finishes|delivers) what (is under way|waits)\b/i, 'drains in-flight requests and pending deliveries'],
  [/\bis missing, or is no key\b/i, 'is missing or malformed'],
  [/\bkeep(s|ing)? ?house\b|\bhousekeeping\b/i, 'purge expired data, retention'],
  [/\bapproves? by (itself|themselves)\b/i, 'auto-approves'],
  [/\b(tried|retried|sent|done|shown) (again )?by (itself|themselves)\b/i, 'automatically'],
  [/\bby a hair\b/i, 'narrowly'],
  [/\ba second truth\b/i, 'a second source of truth'],
  [/\b(that )?runs? dry\b/i, 'empties'],
  [/\bwhat one would\b/i, 'name the alternatives'],
  [/\banswers (whether|undefined|null)\b/i, 'returns'],
  [/\bto the byte\b/i, 'byte-identical'],
  [/\b(lies|hangs) beside\b/i, 'is next to'],
  [/\bputs? right\b/i, 'corrects'],
  [/\bas it (is|was) there\b/i, 'unchanged'],
  [/\bwho looked\b/i, 'the access, the user'],
  [/\bAsideThread\b|\brunAside\b|\bisAside\b|\baside =/, 'ReportWorker, runReport'],
  [/\bkeepHouse\b/, 'purgeExpired'],
  [/\b(findReply|keepReply)\b/, 'findStoredResponse, storeResponse'],
  [/\b(letIn|leaveOut)\b/, 'authenticateRequest'],
  [/\bcomplain\b/, 'validationMessage'],
  [/\bforetell\b/, 'preview'],
  [/\bBrought\b/, 'ImportResult'],
  [/\bWalked\b/, 'CursorPage'],
  [/\bWanted\b/, 'Input'],
  [/\brefusalOf\b/, 'toApiError'],
  [/\b(MOST|FAR|EVER)\b/, 'MAX_…, DEEP_OFFSET, EPOCH'],
  [/\b(LINGER_MS|LOT)\b/, 'FLUSH_INTERVAL_MS, BATCH_SIZE'],
  [/\bstanding\.ts\b/, 'effective status'],
  [/\b(macs|mac|hmac)\.ts\b/, 'signature.ts'],
  [/\bsentence\.ts\b/, 'validator.ts'],
  [/\b(placeAfter|usualHeaders)\b/, 'readCursor, commonHeaders'],
  [/\bclass Lanes\b|#mute\b/, 'DeliveryScheduler, #unresponsive'],
  [/\bclass Hole\b/, 'Placeholder'],
  [/\bof ours\b/i, 'our, of this project'],
  [/\bbroke off\b/i, 'ended unexpectedly'],
  [/\bnobody knows\b/i, 'outcome unknown'],
  [/\bnothing at this path\b/i, 'No such path.'],
  [/\bsection \d/i, 'the rule itself'],
  [/\b(outer whitespace|white space)\b/i, 'leading and trailing whitespace, whitespace'],
  [/\btells of\b/i, 'describes'],
  [
    /\b(?<!there )(is|are) no (JSON|text|day|form|field|address|proof|constants?|objects?|database|HTTP)\b/i,
    'is not …',
  ],
  [/\bcounts? (that )?knows?\b/i, 'there is a stored count for …'],
  [/\bclass Turns\b/, 'FairQueue'],
  [/\bsomebody else\b/i, 'another request, another user'],
  [/\banew\b/i, 'again'],
  [/\bunder way\b/i, 'in flight'],
  [/\brefusals?\b/i, 'rejection, error response'],
  [/\bmeanwhile\b/i, 'concurrently, during the request'],
  [/\bfor good\b(?!s)/i, 'permanently'],
  [/\bwhat waits\b/i, 'pending, queued'],
  [/\bstands?\b(?! for)|\bstands for\b/i, 'is, is stored, means'],
  [/\bstops? the start\b/i, 'prevents startup'],
  [/\bpower[ -]cuts?\b/i, 'power loss'],
  [/\boutside (tools?|generators?|code generators?|part(y|ies))\b/i, 'third-party'],
  [/\bsaid nothing\b|\bbrings? about\b/i, 'without output; causes'],
  [/\bhangs? up\b/i, 'closes the connection'],
  [/\bbroken off\b/i, 'stopped, truncated'],
  [/(\/\*\*|\/\/) Answers\b/, 'Returns, Resolves to, Responses'],
  [/\. Answers (how|what|which|when|the)\b/, 'Returns'],
  [/\balso (when|while|with|without|where|if|in parallel|through|by)\b/i, 'even when, including'],
  [/\bone (\w+ )?after the other\b/i, 'one at a time, in sequence'],
  [/(\/\*\*|\/\/) As \{@link\b|\b400 as `/, 'Like {@link …}, same as'],
  [/, see (\[|\{@)/, '; see'],
  [/\d %( (of|are|and|tax|for|at|in|becomes)\b|[.,;:)'`]|$)/, 'N% without a space'],
  [/\bin private\b/i, 'privately'],
  [/\b(until then|in this time)\b/i, 'before that, during this time'],
  [/\bthus\b/i, 'so, therefore'],
  [/\b(the|largest) exact numbers?\b(?! of)/i, 'the largest exact integer'],
  [/\bexists since\b/i, 'has existed since'],
  [/\bany more\b/i, 'no longer'],
  [/\bwhoever\b/i, 'a caller that …, anyone who'],
  [/\bbeside\b/i, 'next to, alongside, in addition to'],
  [/\bcookie (duration|window)\b|\battribution window\b/i, 'click window'],
  [/\b(for|of) so many\b|\*\* So many\b/i, 'this many, the number of'],
]

const EXCLUDED =
  /^(CHANGELOG\.md|pnpm-lock\.yaml|LICENSE|test\/language\.test\.ts|test\/(contract|database)\/released\/|test\/long\/\w+\/package-lock\.json)|\.(png|svg|db|gz|ico)$/
const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8', maxBuffer: 1e8 }).split('\0')
const files = tracked.filter((file) => file && !EXCLUDED.test(file))
const texts = files.map((file) => [file, readFileSync(`${ROOT}${file}`, 'utf8')] as const)

test('the list covers the whole repository', () => {
  expect(files).toEqual(
    expect.arrayContaining(['README.md', 'openapi.yaml', 'server/src/app.ts', 'docs/self-hosting.md']),
  )
})

test.each(BANNED)('no file contains %s; write: %s', (pattern) => {
  const linesOf = (file: string, text: string) =>
    text.split('\n').flatMap((line, at) => (pattern.test(line) ? [`${file}:${at + 1}: ${line.trim()}`] : []))
  expect(texts.flatMap(([file, text]) => (pattern.test(text) ? linesOf(file, text) : []))).toEqual([])
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
