import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export const ROOT = join(import.meta.dirname, '../..')

/** A code block of a page. */
export interface Snippet {
  page: string
  /** The first line of its code in the page. */
  line: number
  language: string
  /** The file that the block is, from `ts [app/route.ts]`. */
  path?: string
  /** The file of the repository that the block repeats, from `file=examples/x.ts`. */
  file?: string
  /** The output of the block before, from `text output`. */
  isOutput: boolean
  code: string
}

/** The code blocks of a page, in order. */
export function snippetsOf(page: string): Snippet[] {
  const text = readFileSync(join(ROOT, page), 'utf8')
  return [...text.matchAll(/^( *)```(\w+)([^\n]*)\n(.*?)^ *```$/gms)].map((match) => {
    const [, indent = '', language = '', attributes = '', code = ''] = match
    return {
      page,
      line: text.slice(0, match.index).split('\n').length + 1,
      language,
      path: /\[([^\]]+(?:\[[^\]]+\])?[^\]]*\.ts)\]/.exec(attributes)?.[1],
      file: /\bfile=(\S+)/.exec(attributes)?.[1],
      isOutput: /\boutput\b/.test(attributes),
      code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    }
  })
}

/** The introductions and the skills, then the pages that are written for the site, without decision records, which contain no code. */
export const PAGES = ['README.md', 'docs/start.md', 'sdk/SKILL.md', 'webhook-verifier/SKILL.md'].concat(
  globSync('docs/**/*.md', { cwd: ROOT })
    .filter((page) => !/node_modules|decisions|\[page\]|start\.md/.test(page))
    .sort(),
)

/** The file of a snippet that {@link writeModules} writes. */
export const moduleOf = (folder: string, { page, path, line }: Snippet): string =>
  join(folder, page.replace(/\.md$/, ''), path ?? `line-${line}.ts`)

/** Writes the modules of pages to an empty folder. */
export function writeModules(folder: string, snippets: Snippet[]): void {
  rmSync(folder, { recursive: true, force: true })
  const write = (file: string, text: string) => {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
  for (const snippet of snippets) write(moduleOf(folder, snippet), snippet.code)
  for (const [name, text] of Object.entries(NEXT)) write(join(folder, 'node_modules/next', name), text)
}

/** What the guide uses of Next.js, which downloads 80 MB with its compiler. */
const NEXT = {
  'package.json': '{ "type": "module", "exports": { "./server": "./server.js" } }',
  'server.js': `export class NextResponse extends Response {
  static next = () => new NextResponse(null, { headers: { 'x-middleware-next': '1' } })
}
`,
  'server.d.ts': `export class NextResponse extends Response {
  static next(): NextResponse
}
export type NextRequest = Request
export interface NextFetchEvent {
  waitUntil(promise: Promise<unknown>): void
}
`,
}
