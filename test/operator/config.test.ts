import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')

/** What the server reads from its environment. */
const variables = [
  ...new Set([...read('server/src/config.ts').matchAll(/env(?:\.|, ')([A-Z_]+)/g)].map(([, name]) => name)),
]

test.each(['README.md', 'docs/self-hosting.md'])('%s tells every setting, and none that does not exist', (file) => {
  const rows = read(file).match(/^\| `[A-Z_]+`.*/gm) ?? []
  const told = rows.flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`([A-Z_]+)`/g)].map(([, name]) => name))
  expect(told.sort()).toEqual([...variables].sort())
})
