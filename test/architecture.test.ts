import { globSync, readFileSync } from 'node:fs'
import { dirname, join, posix, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const repository = fileURLToPath(new URL('../', import.meta.url))
const root = join(repository, 'server/src/')
const read = (file: string) => readFileSync(join(root, file), 'utf8')

interface Import {
  from: string
  to: string
}

/** Every import and re-export of a package, those of types and `import()` included. */
const importsOf = (folder: string): Import[] =>
  globSync('**/*.ts', { cwd: folder }).flatMap((file) => {
    const text = readFileSync(join(folder, file), 'utf8')
    return [...text.matchAll(/(?:^(?:import|export) [^'"]*?from |\bimport\()'([^']+)'/gms)].map(([, to = '']) => ({
      from: file,
      to: to.startsWith('.') ? relative(folder, join(folder, dirname(file), to)) : to,
    }))
  })

const imports = importsOf(root)
const files = globSync('**/*.ts', { cwd: root })

/** In this order: a domain imports only those before it. */
const DOMAINS = [
  'programs',
  'accounts',
  'journey',
  'affiliates',
  'coupons',
  'customers',
  'ledger',
  'webhooks',
  'analytics',
  'commissions',
  'orders',
  'payouts',
  'payments',
  'stores',
  'tracking',
  'privacy',
  'shops',
]
/** Each folder imports only itself and the folders of the rows below it. `config` and `runs-from-source` are files. */
const LAYERS = [
  ['testing'],
  ['root'],
  ['operator', 'dashboard'],
  ['http'],
  DOMAINS,
  ['core'],
  ['database'],
  ['contract', 'config'],
  ['runs-from-source'],
]

const areaOf = (file: string) => {
  if (file === 'runs-from-source.ts') return 'runs-from-source'
  if (file === 'config.ts' || file === 'config-values.ts') return 'config'
  const [folder = '', domain = ''] = posix.dirname(file).split('/')
  if (folder === 'domains') return domain
  return file.includes('/') ? folder : 'root'
}
const layerOf = (file: string) => LAYERS.findIndex((areas) => areas.includes(areaOf(file)))
const isInternal = ({ to }: Import) => files.includes(to)

/** A list of nodes that lead back to themselves, or nothing. */
function findCycle(edges: Map<string, Set<string>>): string[] | undefined {
  const done = new Set<string>()
  const path: string[] = []
  function visit(node: string): string[] | undefined {
    if (path.includes(node)) return [...path.slice(path.indexOf(node)), node]
    if (done.has(node)) return undefined
    path.push(node)
    for (const next of edges.get(node) ?? []) {
      const cycle = visit(next)
      if (cycle) return cycle
    }
    path.pop()
    done.add(node)
    return undefined
  }
  for (const node of edges.keys()) {
    const cycle = visit(node)
    if (cycle) return cycle
  }
  return undefined
}

function edgesBetween(list: Import[], nodeOf: (file: string) => string): Map<string, Set<string>> {
  const edges = new Map<string, Set<string>>()
  for (const { from, to } of list) {
    const [a, b] = [nodeOf(from), nodeOf(to)]
    if (a !== b) edges.set(a, (edges.get(a) ?? new Set()).add(b))
  }
  return edges
}

test('the source files are found', () => {
  expect(files.length).toBeGreaterThan(100)
  expect(imports.filter(isInternal).length).toBeGreaterThan(500)
  expect(files.filter((file) => areaOf(file) !== 'engine' && layerOf(file) < 0)).toEqual([])
})

test('a cycle is detected', () => {
  const edges = edgesBetween(
    [
      { from: 'a.ts', to: 'b.ts' },
      { from: 'b.ts', to: 'c.ts' },
      { from: 'c.ts', to: 'a.ts' },
    ],
    (file) => file,
  )
  expect(findCycle(edges)).toEqual(['a.ts', 'b.ts', 'c.ts', 'a.ts'])
})

describe('imports of the server go one way', () => {
  test('each folder imports only folders below it', () => {
    const wrong = imports.filter(
      (one) =>
        isInternal(one) &&
        areaOf(one.from) !== 'engine' &&
        areaOf(one.to) !== 'engine' &&
        areaOf(one.from) !== areaOf(one.to) &&
        layerOf(one.to) <= layerOf(one.from) &&
        !(DOMAINS.includes(areaOf(one.from)) && DOMAINS.includes(areaOf(one.to))),
    )
    expect(wrong).toEqual([])
  })

  test('the engine imports nothing but itself', () => {
    expect(imports.filter((one) => areaOf(one.from) === 'engine' && areaOf(one.to) !== 'engine')).toEqual([])
  })

  test('a domain imports only the domains before it', () => {
    const place = (file: string) => DOMAINS.indexOf(areaOf(file))
    const between = imports.filter((one) => place(one.from) >= 0 && place(one.to) >= 0)
    expect(between.length).toBeGreaterThan(100)
    expect(between.filter((one) => place(one.to) > place(one.from))).toEqual([])
  })

  test('a domain reaches no subfolder of another one', () => {
    const deep = imports.filter(
      (one) =>
        DOMAINS.includes(areaOf(one.from)) && areaOf(one.from) !== areaOf(one.to) && one.to.split('/').length > 3,
    )
    expect(deep.filter((one) => DOMAINS.includes(areaOf(one.to)))).toEqual([])
  })
})

test.each(['server/src', 'sdk/src', 'cli/src', 'webhook-verifier/src'])('no import cycle in %s', (folder) => {
  expect(findCycle(edgesBetween(importsOf(join(repository, folder)), (file) => file))).toBeUndefined()
})

/** Folders that access the database: they test or measure storage, or kill its servers, or hold the shared helpers. */
const STORAGE_TESTS = ['attack', 'bench', 'cluster', 'database', 'long', 'mutation', 'support']
/** Other files, with the reason. */
const STORAGE_EXCEPTIONS: Record<string, string> = {
  'test/browser/gallery.ts': 'makes affiliates of its screenshots older',
  'test/fuzz/hostile.ts': 'sends SQL as hostile input',
  'test/revocation/ways.ts': 'opens the database as a second process does',
  'test/webhooks/sender-process.ts': 'opens the database as a second process does',
  'test/webhook-verifier/recipes/once.ts': 'is the receiver of an example, with its own database',
}
const STORAGE_ACCESS =
  /\.sql\b|\bsql`|\.db\.(?!sha256)|\b(selectFrom|insertInto|updateTable|deleteFrom|openDatabase)\(|'better-sqlite3'|\b(select [^'`]+ from|insert into|delete from|update "?\w+"? set|(create|drop|alter) (table|trigger)) /i

test('tests of behavior access the database only through test/support', () => {
  const accesses = globSync('test/**/*.ts', { cwd: repository, exclude: ['**/node_modules/**'] })
    .filter((file) => !STORAGE_TESTS.includes(file.split('/')[1]!))
    .filter((file) => file !== 'test/architecture.test.ts')
    .filter((file) => STORAGE_ACCESS.test(readFileSync(join(repository, file), 'utf8')))
  expect(accesses.sort()).toEqual(Object.keys(STORAGE_EXCEPTIONS).sort())
})

test('pages escape all output', () => {
  const pages = globSync('dashboard/**/*.ts', { cwd: root })
  expect(pages.length).toBeGreaterThan(10)
  expect(pages.filter((file) => read(file).includes(`from 'hono/html'`))).toEqual(['dashboard/kit/html.ts'])
  expect(read('dashboard/kit/html.ts')).not.toMatch(/\braw\b/)
})

test('pages access rows through use cases', () => {
  const wrong = imports.filter((one) => areaOf(one.from) === 'dashboard' && /queries\.ts$/.test(one.to))
  expect(wrong).toEqual([])
})

test('only database/ imports a driver', () => {
  const drivers = ['better-sqlite3', 'pg']
  expect(imports.filter((one) => drivers.includes(one.to) && areaOf(one.from) !== 'database')).toEqual([])
})

test('only config.ts reads the environment', () => {
  // The docs page shows code that reads it.
  expect(files.filter((file) => read(file).includes('process.env'))).toEqual(['config.ts', 'http/docs.ts'])
})

test('no expression is built from text, which a caller may have written to take minutes', () => {
  expect(files.filter((file) => /RegExp\(/.test(read(file)))).toEqual([])
})

test('the report thread finds each report under its name', () => {
  const reports = files.flatMap((file) =>
    [...read(file).matchAll(/(?:export const (\w+) = )?define(?:List|Report)\(\s*import\.meta\.url,\s*'(\w+)'/g)].map(
      ([, exported, name]) => ({ file, exported, name }),
    ),
  )
  expect(reports.length).toBeGreaterThan(20)
  expect(reports.filter(({ exported, name }) => exported !== name)).toEqual([])
})
