// Writes the types of openapi.yaml for the server and the SDK. With --check it writes nothing and fails when one is stale.
// A package of its own, because openapi-typescript needs the compiler API of TypeScript 5.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import openapiTS, { astToString, COMMENT_HEADER, type OpenAPITSOptions } from 'openapi-typescript'

const root = new URL('../', import.meta.url)

const targets: Record<string, OpenAPITSOptions> = {
  'server/src/contract/schema.d.ts': {},
  // A caller may leave out a field that has a default.
  'sdk/src/schema.ts': { defaultNonNullable: false },
}

for (const [path, options] of Object.entries(targets)) {
  const target = new URL(path, root)
  const text = `${COMMENT_HEADER}${astToString(await openapiTS(new URL('openapi.yaml', root), { silent: true, ...options }))}`
  if (existsSync(target) && readFileSync(target, 'utf8') === text) continue
  if (process.argv.includes('--check')) {
    console.error(`${path} is stale. Run \`pnpm run generate\`.`)
    process.exitCode = 1
  } else writeFileSync(target, text)
}
