#!/usr/bin/env node
import { enableCompileCache } from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'

// Before other modules are loaded, so that they are cached for the next start. The folder is not writable by others.
enableCompileCache(join(homedir(), '.cache', 'referral-server'))
const { VERSION } = await import('./config.ts')
const { addOperatorCommands } = await import('./operator/commands.ts')

const program = new Command('referral-server')
  .version(VERSION)
  .description('Serve and operate the referral program API.')
  .showHelpAfterError()

program
  .command('serve', { isDefault: true })
  .description('serve the API (what `start` runs)')
  // Operator commands do not load the HTTP server.
  .action(async () => (await import('./serve.ts')).serve())
addOperatorCommands(program)

try {
  await program.parseAsync()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  // A server that failed to start may have open connections, which would keep the process alive for a minute.
  process.exit(1)
}
