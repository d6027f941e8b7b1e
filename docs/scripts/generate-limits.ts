// Writes the table of limits in reference/index.md. With --check it only compares.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { LIMITS } from '../../server/src/http/documented-limits.ts'

const file = join(import.meta.dirname, '../reference/index.md')
const current = readFileSync(file, 'utf8')
const rows = LIMITS.map(([limit, value]) => `| ${limit} | ${value} |\n`)
// The table is the end of the page.
const text = current.replace(/^\| limit \| value \|.*/ms, () => `| limit | value |\n|---|---|\n${rows.join('')}`)

if (!process.argv.includes('--check')) writeFileSync(file, text)
else if (text !== current) {
  console.error('docs/reference/index.md is stale. Run `pnpm run generate`.')
  process.exitCode = 1
}
