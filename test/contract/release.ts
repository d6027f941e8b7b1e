import { copyFileSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { describeChanges, RELEASED, releasedContracts } from './changes.ts'

/**
 * Keeps openapi.yaml as what the version in package.json releases: later versions must not break it. With --changes, prints
 * what openapi.yaml changes since the last release instead.
 */
const read = (path: string) => readFileSync(path, 'utf8')
const at = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const document = at('openapi.yaml')
if (process.argv.includes('--changes')) {
  // The copy of the version that is being released equals openapi.yaml.
  const last = releasedContracts().findLast((name) => read(`${RELEASED}${name}`) !== read(document))
  const changes = last && describeChanges(parse(read(`${RELEASED}${last}`)), parse(read(document)))
  console.log(changes ?? 'The first release.')
} else {
  const { version } = JSON.parse(read(at('package.json')))
  const kept = `test/contract/released/openapi-${version}.yaml`
  copyFileSync(document, at(kept))
  console.log(`openapi.yaml is kept as ${kept}`)
}
