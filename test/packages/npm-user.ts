import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import type { Finished } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

export const UNREACHABLE = /\b(ENOTFOUND|EAI_AGAIN|ECONNRESET|ENETUNREACH|ETIMEDOUT|ENOTCACHED)\b/

/** The npm registry does not respond. */
export class Unreachable extends Error {}

/** Where a command runs. */
export interface Place {
  folder: string
  /** The folder of the `node` to use. Default: the one that runs npm on this machine. */
  node?: string
  env?: Record<string, string>
}

/** A user of npm outside the workspace, with a separate home folder. */
export interface NpmUser {
  path: string
  /** Creates an empty project. */
  project: (name: string) => string
  /** Runs a command to its end and returns its output. @throws {Error} with the output when it fails. */
  run: (command: string[], place: Place) => Promise<string>
  /** Runs a command to its end, whatever its exit code is. */
  finish: (command: string[], place: Place) => Promise<Finished>
  /** Starts a command as the leader of a process group: npx does not forward signals. */
  start: (command: string[], place: Place) => ChildProcess
  /** Installs a Node.js release. Returns the folder of its `node`, or undefined if there is none for this machine. */
  installNode: (version: string) => Promise<string | undefined>
  remove: () => void
}

export interface NpmUserOptions {
  /** The registry of `@referral` packages. */
  registry: string
  /** Downloads everything again. By default, the packages in the cache of the current user are used. */
  coldCache?: boolean
}

export function npmUser({ registry, coldCache = false }: NpmUserOptions): NpmUser {
  const { path, remove } = temporaryFolder()
  const home = join(path, 'home')
  mkdirSync(join(home, '.npm'), { recursive: true })
  const lines = [`@referral:registry=${registry}`, `${registry.replace('http:', '')}:_authToken=local`]
  writeFileSync(join(home, '.npmrc'), `${lines.join('\n')}\naudit=false\nfund=false\nupdate-notifier=false\n`)
  const cache = join(homedir(), '.npm/_cacache')
  // Only the downloads are shared: npx keeps its installations in the same folder, and would not install them again.
  if (!coldCache && existsSync(cache)) symlinkSync(cache, join(home, '.npm/_cacache'))

  const ownPath = (process.env.PATH ?? '').split(delimiter).filter((folder) => !folder.includes('node_modules'))
  const own = Object.entries(process.env).filter(([name]) =>
    /^(tmpdir|npm_config_registry|\w+_proxy|node_extra_ca_certs)$/i.test(name),
  )
  const spawnIn = ([command = '', ...args]: string[], { folder, node, env }: Place, options: SpawnOptions = {}) =>
    spawn(command, args, {
      cwd: folder,
      env: { ...Object.fromEntries(own), HOME: home, PATH: [node ?? [], ownPath].flat().join(delimiter), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      ...options,
    })

  const finish: NpmUser['finish'] = (command, place) => {
    const child = spawnIn(command, place)
    const output = { stdout: '', stderr: '' }
    for (const name of ['stdout', 'stderr'] as const)
      child[name]?.on('data', (chunk) => {
        output[name] += chunk
      })
    return new Promise((done, fail) => {
      child.once('error', fail)
      child.once('close', (code) => done({ code, ...output }))
    })
  }
  const run: NpmUser['run'] = async (command, place) => {
    const { code, stdout, stderr } = await finish(command, place)
    if (code === 0) return stdout
    const message = `${command.join(' ')} exited with ${code}:\n${stdout}${stderr}`
    throw UNREACHABLE.test(stderr) ? new Unreachable(message) : new Error(message)
  }
  const project: NpmUser['project'] = (name) => {
    const folder = join(path, name)
    mkdirSync(folder)
    writeFileSync(join(folder, 'package.json'), '{ "private": true }\n')
    return folder
  }
  const installNode: NpmUser['installNode'] = async (version) => {
    const name = `node-${process.platform}-${process.arch}`
    const folder = project(`node-${version}`)
    const install = ['npm', 'install', '--ignore-scripts', '--prefer-offline', `${name}@${version}`]
    const { code, stderr } = await finish(install, { folder })
    if (UNREACHABLE.test(stderr)) throw new Unreachable(stderr)
    return code === 0 ? join(folder, 'node_modules', name, 'bin') : undefined
  }
  const start: NpmUser['start'] = (command, place) => spawnIn(command, place, { detached: true })
  return { path, project, run, finish, start, installNode, remove }
}
