import { copyFileSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Keeps openapi.yaml as what the version in package.json releases: later versions must not break it. */
const at = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const { version } = JSON.parse(readFileSync(at('package.json'), 'utf8'))
const kept = `test/contract/released/openapi-${version}.yaml`
copyFileSync(at('openapi.yaml'), at(kept))
console.log(`openapi.yaml is kept as ${kept}`)
