import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

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
