/** Writes src/operations.ts from openapi.yaml; with `--check` it only says whether the file is up to date. */
import { readFileSync, writeFileSync } from 'node:fs'
import { parse } from 'yaml'

interface Operation {
  operationId: string
  'x-retry': 'safe' | 'keyed' | 'repeatable' | 'never'
}

const here = (path: string) => new URL(path, import.meta.url)
const spec = parse(readFileSync(here('../../openapi.yaml'), 'utf8')) as {
  paths: Record<string, Record<string, Operation>>
  webhooks: Record<string, unknown>
}
const { version } = JSON.parse(readFileSync(here('../package.json'), 'utf8')) as { version: string }

const rows = Object.entries(spec.paths).flatMap(([path, item]) =>
  Object.entries(item)
    .filter(([, operation]) => operation.operationId)
    .map(
      ([method, operation]) =>
        `  ${operation.operationId}: ['${method.toUpperCase()}', '${path}', '${operation['x-retry']}'],`,
    ),
)

const text = `// Generated from openapi.yaml by \`pnpm run generate\`. Do not edit.

/** The version of this package. */
export const version = '${version}'

/** Method, path and what may be sent again (\`x-retry\`), by operation. */
export const operations = {
${rows.join('\n')}
} as const

/** Every webhook event that is described. */
export const eventNames = [
${Object.keys(spec.webhooks)
  .map((name) => `  '${name}',`)
  .join('\n')}
] as const
`

const file = here('../src/operations.ts')
const written = (): string => {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
if (process.argv.includes('--check')) {
  if (written() !== text) {
    console.error('sdk/src/operations.ts is stale: run `pnpm run generate`.')
    process.exitCode = 1
  }
} else writeFileSync(file, text)
