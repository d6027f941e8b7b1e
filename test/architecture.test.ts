import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../server/src/', import.meta.url))

interface Import {
  from: string
  to: string
  /** Erased at run time. */
  typeOnly: boolean
}

const imports: Import[] = globSync('**/*.ts', { cwd: root }).flatMap((file) => {
  const text = readFileSync(join(root, file), 'utf8')
  return [...text.matchAll(/^(?:import|export) (type )?[^'"]*?from '([^']+)'/gms)].map(([, type, to = '']) => ({
    from: file,
    to: to.startsWith('.') ? relative(root, join(root, dirname(file), to)) : to,
    typeOnly: Boolean(type),
  }))
})

const area = (file: string) => (file.includes('/') ? file.split('/')[0] : 'root')
const between = (from: string, to: string) =>
  imports.filter((one) => !one.typeOnly && area(one.from) === from && area(one.to) === to)

test('the tree was read', () => {
  expect(imports.length).toBeGreaterThan(100)
})

test('the engine knows nothing but itself', () => {
  expect(imports.filter((one) => area(one.from) === 'engine' && area(one.to) !== 'engine')).toEqual([])
})

test('repositories know the database and the engine, never use cases or HTTP', () => {
  const allowed = ['repositories', 'db', 'engine']
  const wrong = imports.filter(
    (one) =>
      !one.typeOnly &&
      area(one.from) === 'repositories' &&
      !allowed.includes(area(one.to) ?? '') &&
      one.to !== 'kysely',
  )
  expect(wrong).toEqual([])
})

test('use cases never reach up into HTTP', () => {
  expect(between('services', 'http')).toEqual([])
})

test('HTTP reaches rows through use cases, but for the key of a call', () => {
  const wrong = between('http', 'repositories').filter((one) => one.from !== 'http/authenticate.ts')
  expect(wrong).toEqual([])
})

test('pages stand beside HTTP: they reach rows through use cases, and only the app knows them', () => {
  expect(between('admin', 'http').length).toBeGreaterThan(0)
  expect([...between('admin', 'repositories'), ...between('admin', 'db'), ...between('admin', 'engine')]).toEqual([])
  const known = imports.filter((one) => area(one.to) === 'admin' && area(one.from) !== 'admin')
  expect(known.map((one) => one.from)).toEqual(['http/app.ts'])
})

test('pages escape whatever they show', () => {
  const pages = globSync('admin/**/*.ts', { cwd: root })
  expect(pages.length).toBeGreaterThan(10)
  const imported = pages.filter((file) => readFileSync(join(root, file), 'utf8').includes(`from 'hono/html'`))
  expect(imported).toEqual(['admin/html.ts'])
  expect(readFileSync(join(root, 'admin/html.ts'), 'utf8')).not.toMatch(/\braw\b/)
})

test('only db/ names a driver', () => {
  const drivers = ['better-sqlite3', 'pg']
  expect(imports.filter((one) => drivers.includes(one.to) && area(one.from) !== 'db')).toEqual([])
})

test('only config.ts reads the environment', () => {
  const readers = globSync('**/*.ts', { cwd: root }).filter((file) =>
    readFileSync(join(root, file), 'utf8').includes('process.env'),
  )
  expect(readers).toEqual(['config.ts'])
})

test('no file grows beyond 250 lines unless it is generated', () => {
  const long = globSync('{server,sdk,cli,webhook-verifier}/src/**/*.ts', { cwd: join(root, '../..') })
    .filter((file) => !/schema(\.d)?\.ts$|generated/.test(file))
    .filter((file) => readFileSync(join(root, '../..', file), 'utf8').split('\n').length > 251)
  expect(long).toEqual([])
})
