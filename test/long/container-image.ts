import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { Missing } from './guarantee.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const REGISTRY = 'https://registry-1.docker.io/v2/'
const TAG = 'localhost/referral-server'
/** Read-only, without capabilities, and with limits that an unprivileged user may set. */
const RUN = '--rm --read-only --read-only-tmpfs=false --cap-drop=ALL --security-opt=no-new-privileges --network=host'
const LIMITS = '--cgroups=disabled --ulimit=nofile=1024:1024 --ulimit=nproc=4096:4096'
const HYBRID_CGROUPS = '/sys/fs/cgroup/unified'

/** The image of deploy/Dockerfile, in its own storage. */
export interface ContainerImage {
  /** The base image: the one that the Dockerfile names, or what replaced it. */
  base: string
  /** Runs podman to its end. @throws {Error} with its output when it fails. */
  podman: (...args: string[]) => Promise<string>
  /** Starts a container in the foreground. Its output is piped; SIGTERM is forwarded. */
  run: (name: string, options: string[]) => ChildProcess
  remove: () => Promise<void>
}

/** Builds deploy/Dockerfile as it is, with buildah. @throws {Missing} without buildah, podman, and a base image. */
export async function buildImage(): Promise<ContainerImage> {
  for (const tool of ['buildah', 'podman']) await requireTool(tool)
  const { path, remove } = temporaryFolder()
  const storage = ['--storage-driver', 'vfs', '--root', join(path, 'storage'), '--runroot', join(path, 'run')]
  const buildah = (...args: string[]) => finish('buildah', [...storage, ...args])
  const podman = (...args: string[]) => finish(...podmanCommand([...storage, ...args]))
  const removeAll = async () => {
    // Without root, the files belong to the users of a namespace.
    const [command = '', ...args] = [...(process.getuid?.() === 0 ? [] : ['buildah', 'unshare']), 'rm', '-rf', path]
    await finish(command, args)
    remove()
  }
  try {
    const [, named = ''] = /^ARG NODE_IMAGE=(.+)$/m.exec(readFileSync(`${ROOT}deploy/Dockerfile`, 'utf8')) ?? []
    const isReachable = await fetch(REGISTRY, { signal: AbortSignal.timeout(5_000) }).catch(() => undefined)
    const base = isReachable ? `docker.io/library/${named}` : `localhost/${named}`
    if (!isReachable) await importBase(base, path, podman)
    const options = ['--isolation', 'chroot', '--format', 'docker', '--build-arg', `NODE_IMAGE=${base}`, '--tag', TAG]
    const files = ['--file', 'deploy/Dockerfile', '--ignorefile', 'deploy/Dockerfile.dockerignore']
    await buildah('bud', ...options, ...files, ROOT)
    return {
      base: isReachable ? named : `Debian bookworm with Node.js ${process.versions.node} in place of ${named}`,
      podman,
      run: (name, own) => {
        const options = [...RUN.split(' '), ...LIMITS.split(' '), ...own]
        const [command, args] = podmanCommand([...storage, 'run', '--name', name, ...options, TAG])
        return spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
      },
      remove: removeAll,
    }
  } catch (error) {
    await removeAll()
    throw error
  }
}

/**
 * Without a container registry: Debian from its mirror, with Node.js from pnpm-lock.yaml and the npm of this machine, laid
 * out as in the official image.
 */
async function importBase(name: string, path: string, podman: ContainerImage['podman']): Promise<void> {
  await requireTool('mmdebstrap')
  if (process.getuid?.() !== 0) throw new Missing('no container registry can be reached, and mmdebstrap requires root')
  const files = join(path, 'base')
  mkdirSync(join(files, 'usr/local/bin'), { recursive: true })
  cpSync(process.execPath, join(files, 'usr/local/bin/node'), { dereference: true })
  const npm = await finish('sh', ['-c', 'command -v npm'])
  const folder = dirname(dirname(realpathSync(npm.trim())))
  cpSync(folder, join(files, 'usr/local/lib/node_modules/npm'), { recursive: true, dereference: true })
  for (const bin of ['npm', 'npx'])
    writeFileSync(
      join(files, 'usr/local/bin', bin),
      `#!/bin/sh\nexec node /usr/local/lib/node_modules/npm/bin/${bin}-cli.js "$@"\n`,
      { mode: 0o755 },
    )
  const certificates = process.env.NODE_EXTRA_CA_CERTS
  if (certificates) cpSync(certificates, join(files, 'usr/local/lib/certificates.crt'), { dereference: true })
  const archive = join(path, 'base.tar')
  const packages = '--include=libatomic1,libstdc++6,ca-certificates'
  await finish('mmdebstrap', [
    '--quiet',
    '--variant=minbase',
    packages,
    `--customize-hook=copy-in ${files}/usr /`,
    'bookworm',
    archive,
    'http://deb.debian.org/debian',
  ])
  rmSync(files, { recursive: true })
  const change = certificates ? ['--change', 'ENV NODE_EXTRA_CA_CERTS=/usr/local/lib/certificates.crt'] : []
  await podman('import', '--quiet', ...change, archive, name)
  rmSync(archive)
}

async function requireTool(name: string): Promise<void> {
  await finish(name, ['--version']).catch(() => {
    throw new Missing(`${name} is not installed`)
  })
}

/** crun rejects a machine with both versions of cgroups, which this container does not use. */
function podmanCommand(args: string[]): [command: string, args: string[]] {
  if (process.getuid?.() !== 0 || !existsSync(HYBRID_CGROUPS)) return ['podman', args]
  return ['unshare', ['--mount', 'sh', '-c', `umount ${HYBRID_CGROUPS}; exec podman "$@"`, 'podman', ...args]]
}

async function finish(command: string, args: string[]): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(command, args, { maxBuffer: 64 * 1024 ** 2 })
    return stdout
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }
    throw new Error(`${command} ${args.join(' ')} failed: ${error}\n${stdout.slice(-4000)}${stderr.slice(-4000)}`)
  }
}
