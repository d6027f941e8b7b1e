import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A separate folder that is removed afterwards. */
export function temporaryFolder(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), 'referral-test-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}
