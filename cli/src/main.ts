#!/usr/bin/env node
import { enableCompileCache } from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { version } from './version.ts'

const argv = process.argv.slice(2)
const { env } = process

if (argv.length === 1 && argv[0] === '--version') console.log(version)
else void main()

async function main(): Promise<void> {
  // The cache is in the user's home, where nobody else can write. It halves the startup time of later runs.
  if (!env.NODE_COMPILE_CACHE)
    enableCompileCache(join(env.XDG_CACHE_HOME || join(env.HOME || homedir(), '.cache'), 'referral'))
  const { stdin, stdout, stderr } = process
  // A reader such as `head` may close the pipe early.
  stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
  process.on('SIGINT', () => process.exit(130))
  // Exiting runs the exit handlers, which end child processes.
  process.once('SIGTERM', () => process.exit(143))
  process.once('SIGHUP', () => process.exit(129))
  const { runCli } = await import('./cli.ts')
  process.exitCode = await runCli({ env, stdin, stdout, stderr, now: Date.now }, argv)
}
