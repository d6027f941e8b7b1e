import { spawn } from 'node:child_process'
import { cpSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Finished } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { Missing } from './guarantee.ts'

const DOCUMENT = fileURLToPath(new URL('../../openapi.yaml', import.meta.url))
const UNREACHABLE = /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|ETIMEDOUT|ERR_SOCKET_TIMEOUT)\b/

/** A temporary folder outside the workspace, with its own packages and a copy of openapi.yaml. */
export interface NpmFolder {
  path: string
  /** Runs a command of its packages to the end. @throws its output when it fails. */
  run: (command: string, args: string[], env?: Record<string, string>) => Promise<string>
  /** Starts a command of its packages and waits until it prints `ready`. Returns a function that ends it. */
  start: (command: string, args: string[], ready: RegExp) => Promise<() => Promise<void>>
  remove: () => void
}

/** Copies `test/long/<name>` and installs what its package-lock.json names. @throws {Missing} without npm or registry. */
export async function npmFolder(name: string): Promise<NpmFolder> {
  const folder = temporaryFolder()
  try {
    cpSync(new URL(name, import.meta.url), folder.path, { recursive: true })
    cpSync(DOCUMENT, join(folder.path, 'openapi.yaml'))
    const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
    const installed = await finish('npm', args, folder.path).catch((error: Error) => {
      throw new Missing(`npm does not start: ${error.message}`)
    })
    if (installed.code !== 0) {
      if (UNREACHABLE.test(installed.stderr)) throw new Missing('the npm registry cannot be reached')
      throw new Error(`npm ci ended with ${installed.code}: ${installed.stderr}`)
    }
  } catch (error) {
    folder.remove()
    throw error
  }
  const pathOf = (command: string) => join(folder.path, 'node_modules/.bin', command)
  const run: NpmFolder['run'] = async (command, args, env = {}) => {
    const { code, stdout, stderr } = await finish(process.execPath, [pathOf(command), ...args], folder.path, env)
    if (code !== 0) throw new Error(`${command} ended with ${code}:\n${stdout}${stderr}`)
    return stdout
  }
  const start: NpmFolder['start'] = async (command, args, ready) => {
    const child = spawn(process.execPath, [pathOf(command), ...args], {
      cwd: folder.path,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const ended = new Promise<void>((done) => child.once('close', () => done()))
    let output = ''
    await new Promise<void>((up, fail) => {
      const read = (chunk: Buffer) => {
        output += chunk
        if (ready.test(output)) up()
      }
      child.stdout.on('data', read)
      child.stderr.on('data', read)
      child.once('close', (code) => fail(new Error(`${command} ended with ${code}:\n${output}`)))
    })
    return () => {
      child.kill()
      return ended
    }
  }
  return { path: folder.path, run, start, remove: folder.remove }
}

function finish(command: string, args: string[], cwd: string, env: Record<string, string> = {}): Promise<Finished> {
  // npm and what it starts run on the Node.js of the tests.
  const PATH = [dirname(process.execPath), process.env.PATH].join(delimiter)
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env, PATH }, stdio: ['ignore', 'pipe', 'pipe'] })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk) => {
    stdout += chunk
  })
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  return new Promise((done, fail) => {
    child.once('error', fail)
    child.once('close', (code) => done({ code, stdout, stderr }))
  })
}
