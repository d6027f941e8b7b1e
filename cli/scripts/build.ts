// Bundles the published files into dist, or into the directory given. One chunk for each lazily loaded command: a single
// file would evaluate every command and dependency at each start.
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { rolldown } from 'rolldown'
import { writeBin } from '../../scripts/write-bin.ts'

const root = join(import.meta.dirname, '..')
const out = resolve(process.argv[2] ?? join(root, 'dist'))

rmSync(out, { recursive: true, force: true })
/** The Model Context Protocol SDK, without the validator that `referral mcp` replaces. */
const MCP_SHIMS = '@modelcontextprotocol/server/_shims'
const withoutValidator = {
  name: 'without-validator',
  resolveId: (id: string) => (id === MCP_SHIMS ? id : null),
  load: (id: string) =>
    id === MCP_SHIMS
      ? `export { default as process } from 'node:process'; export class DefaultJsonSchemaValidator {}`
      : null,
}
const bundler = await rolldown({
  input: join(root, 'src/main.ts'),
  platform: 'node',
  plugins: [withoutValidator],
})
const { output } = await bundler.write({
  dir: out,
  comments: false,
  chunkFileNames: '[name].js',
  codeSplitting: { groups: [{ name: 'mcp-sdk', test: /node_modules\/(@modelcontextprotocol|zod)\// }] },
})
await bundler.close()
/** The folder of the package that a bundled module belongs to. */
const packageOf = (module: string) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(module)?.[0]
const packages = new Set(
  output.flatMap((file) =>
    file.type === 'chunk' ? file.moduleIds.map(packageOf).filter((path) => path !== undefined) : [],
  ),
)
const licenses = [...packages].sort().map((path) => {
  const { name, version, license } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'))
  const [file] = globSync('{LICENSE,LICENCE,license}*', { cwd: path })
  if (!file) throw new Error(`${name} has no license file`)
  return `${name} ${version} (${license})\n\n${readFileSync(join(path, file), 'utf8').trim()}\n`
})
writeFileSync(join(out, 'THIRD-PARTY-LICENSES.txt'), licenses.join(`\n${'-'.repeat(80)}\n\n`))
writeBin(root, out)
