#!/usr/bin/env node
import { enableCompileCache } from 'node:module'
import { Command } from 'commander'

// Before anything else is loaded, so that the next start finds it compiled.
enableCompileCache()
const { addOperatorCommands } = await import('./operator/commands.ts')
const { addDataCommands } = await import('./operator/data-commands.ts')

const program = new Command('referral-server')
  .description('The referral program API: serve it and operate it.')
  .showHelpAfterError()

program
  .command('serve', { isDefault: true })
  .description('serve the API (what `start` runs)')
  // An operator's command need not load what answers requests.
  .action(async () => (await import('./serve.ts')).serve())
addOperatorCommands(program)
addDataCommands(program)

try {
  await program.parseAsync()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  // A server that did not start may have connections open, which would keep it for a minute.
  process.exit(1)
}
