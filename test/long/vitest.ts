import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from '../support/temporary-folder.ts'
import type { Engine } from './guarantee.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

interface Report {
  /** Also false when a file could not be read. */
  success: boolean
  numPassedTests: number
  testResults: { message: string; assertionResults: { failureMessages: string[] }[] }[]
}

/** Runs files of the normal suite in one project, with additional environment variables. Returns how many tests passed. */
export async function runTests(
  files: string[],
  project: Engine | 'pure',
  env: Record<string, string> = {},
): Promise<number> {
  const folder = temporaryFolder()
  const outputFile = join(folder.path, 'report.json')
  // The run has its own PostgreSQL.
  const { TEST_ENGINE: _, TEST_POSTGRES_URL: __, ...inherited } = process.env
  const options = [
    'run',
    '--mode',
    'full',
    '--project',
    project,
    '--reporter=json',
    `--outputFile=${outputFile}`,
    ...files,
  ]
  const child = spawn(process.execPath, [join(ROOT, 'node_modules/vitest/vitest.mjs'), ...options], {
    cwd: ROOT,
    env: { ...inherited, ...env },
    stdio: 'ignore',
  })
  const code = await new Promise<number | null>((done) => child.once('exit', done))
  const report: Report = JSON.parse(readFileSync(outputFile, 'utf8'))
  folder.remove()
  const failures = report.testResults.flatMap(({ message, assertionResults }) => [
    message,
    ...assertionResults.flatMap(({ failureMessages }) => failureMessages),
  ])
  if (!report.success || code !== 0 || report.testResults.length < files.length || report.numPassedTests === 0) {
    throw new Error(failures.filter(Boolean).join('\n') || `vitest ended with ${code}`)
  }
  return report.numPassedTests
}
