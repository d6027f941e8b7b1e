import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

interface Runtime {
  name: string
  command: string
  args: string[]
}

interface RuntimePackage extends Runtime {
  /** The npm package with the binary. */
  spec: string
}

const { arch } = process
const os = process.platform === 'linux' ? 'linux' : 'darwin'

const packages: RuntimePackage[] = [
  ...[20, 22, 24, 26].map((major) => ({
    name: `Node ${major}`,
    spec: `node-${major}@npm:node-${os}-${arch}@${major}`,
    command: `node-${major}/bin/node`,
    args: [],
  })),
  {
    name: 'Deno',
    spec: os === 'linux' ? `@deno/linux-${arch}-glibc` : `@deno/darwin-${arch}`,
    command: os === 'linux' ? `@deno/linux-${arch}-glibc/deno` : `@deno/darwin-${arch}/deno`,
    args: ['run', '--allow-all', '--node-modules-dir=manual'],
  },
  {
    name: 'Bun',
    spec: arch === 'arm64' ? `@oven/bun-${os}-aarch64` : `@oven/bun-${os}-x64-baseline`,
    command: arch === 'arm64' ? `@oven/bun-${os}-aarch64/bin/bun` : `@oven/bun-${os}-x64-baseline/bin/bun`,
    args: [],
  },
]

/** Installs every runtime into a directory, one at a time, so that a missing one does not fail the others. */
export const runtimes = (
  directory: string,
): { commands: Runtime[]; compiler: string | undefined; missing: string[] } => {
  mkdirSync(directory)
  writeFileSync(join(directory, 'package.json'), '{ "private": true }')
  const install = (spec: string) =>
    spawnSync('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', spec], { cwd: directory })
  const found = packages.map(({ spec, ...runtime }) => {
    install(spec)
    return { ...runtime, command: join(directory, 'node_modules', runtime.command) }
  })
  install('typescript@5.7.3')
  const compiler = join(directory, 'node_modules/.bin/tsc')
  return {
    commands: found.filter(({ command }) => existsSync(command)),
    compiler: existsSync(compiler) ? compiler : undefined,
    missing: found.filter(({ command }) => !existsSync(command)).map(({ name }) => name),
  }
}
