/** Writes what the client needs of openapi.yaml at run time; with `--check` it only says whether the files are up to date. */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { parse } from 'yaml'

interface Operation {
  operationId: string
  'x-retry': 'safe' | 'keyed' | 'repeatable' | 'never'
  responses: Record<string, { content?: Record<string, unknown> }>
}

const here = (path: string) => new URL(path, import.meta.url)
const spec = parse(readFileSync(here('../../openapi.yaml'), 'utf8')) as {
  paths: Record<string, Record<string, Operation>>
  webhooks: Record<string, unknown>
}
const { version } = JSON.parse(readFileSync(here('../package.json'), 'utf8')) as { version: string }

const isText = ({ responses }: Operation) => 'text/html' in (responses['200']?.content ?? {})

const routes = Object.entries(spec.paths).flatMap(([path, item]) =>
  Object.entries(item)
    .filter(([, operation]) => operation.operationId)
    .map(([method, operation]) => {
      const parts = [method.toUpperCase(), path, operation['x-retry'], ...(isText(operation) ? ['text'] : [])]
      const id = operation.operationId
      return `export const ${id}: Route<'${id}'> = [${parts.map((part) => `'${part}'`).join(', ')}]`
    }),
)

const note = '// Generated from openapi.yaml by `pnpm run generate`. Do not edit.\n'
const files = {
  'operations.ts': `${note}import type { Route } from './route.ts'\n\n${routes.join('\n')}\n`,
  'event-names.ts': `${note}
/** Every webhook event that is described. */
export const eventNames = [
${Object.keys(spec.webhooks)
  .map((name) => `  '${name}',`)
  .join('\n')}
] as const
`,
  'version.ts': `// Generated from package.json by \`pnpm run generate\`. Do not edit.

/** The version of this package. */
export const version = '${version}'
`,
}

const biome = here('../../node_modules/.bin/biome').pathname
const format = (name: string, input: string) =>
  execFileSync(biome, ['format', `--stdin-file-path=${name}`], { input, encoding: 'utf8' })

for (const [name, source] of Object.entries(files)) {
  const text = format(name, source)
  const file = here(`../src/${name}`)
  if (!process.argv.includes('--check')) writeFileSync(file, text)
  else if (readFileSync(file, 'utf8') !== text) {
    console.error(`sdk/src/${name} is stale: run \`pnpm run generate\`.`)
    process.exitCode = 1
  }
}
