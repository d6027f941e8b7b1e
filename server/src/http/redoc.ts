import { readFileSync } from 'node:fs'
import { runsFromSource } from '../runs-from-source.ts'

/** The logo that Redoc would load from its vendor's server, as an inline image. */
const LOGO = /https:\/\/cdn\.redoc\.ly\/redoc\/logo-mini(-full)?\.svg/g
const WORDMARK = `data:image/svg+xml,${encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" width="44" height="12"><text y="10" font-family="sans-serif" font-size="11" fill="#fff">Redocly</text></svg>')}`

/** Whether the script is installed. A checkout without development dependencies does not have it. */
export function hasRedoc(): boolean {
  if (script !== undefined) return true
  if (!runsFromSource) return true
  try {
    redoclyCli()
    return true
  } catch {
    return false
  }
}

/**
 * The script of Redoc, which renders the API reference. The published package contains it; a checkout takes it from the
 * tool that lints the contract.
 */
export function readRedoc(): string {
  script ??= readScript()
  return script
}
let script: string | undefined

function readScript(): string {
  if (!runsFromSource) return readFileSync(new URL('redoc/redoc.js', import.meta.url), 'utf8')
  return readFileSync(new URL('lib/chunks/redoc.standalone.js', redoclyCli()), 'utf8').replaceAll(LOGO, WORDMARK)
}

/** The licenses of Redoc and the software it contains. */
export const redocLicenses = (): URL[] => ['LICENSE', 'THIRD_PARTY_NOTICES'].map((file) => new URL(file, redoclyCli()))

const redoclyCli = () => new URL(import.meta.resolve('@redocly/cli/package.json'))
