import type { Command } from 'commander'
import { Argument } from 'commander'
import { defineCommand } from '../command.ts'
import type { Run } from '../run.ts'
import { version } from '../version.ts'

const PAGES = { admin: '/admin', docs: '/api/v1/docs', spec: '/openapi.yaml' }

/** What is about the CLI itself. */
export function addMeta(program: Command): void {
  defineCommand<{ print?: boolean }>(program, 'open', {
    summary: 'open a page of the service',
    output: 'Address',
    examples: ['referral open admin', 'referral open spec'],
    action: (run, { options, args: [page = 'docs'] }) => openPage(run, PAGES[page as keyof typeof PAGES], options),
  })
    .addArgument(
      new Argument('[page]', 'the Developer page, the quick start, or the contract')
        .choices(Object.keys(PAGES))
        .default('docs'),
    )
    .option('--print', 'print the address instead')
  defineCommand<{ print?: boolean }>(program, 'docs', {
    summary: 'open the quick start of the API',
    output: 'Address',
    action: (run, { options }) => openPage(run, PAGES.docs, options),
  }).option('--print', 'print the address instead')
  addCliInfo(program)
}

function addCliInfo(program: Command): void {
  defineCommand(program, 'completion', {
    summary: 'a completion script for your shell',
    output: 'Text',
    examples: [
      'source <(referral completion bash)',
      'referral completion fish > ~/.config/fish/completions/referral.fish',
    ],
    action: async (run, { args: [shell = ''] }) => {
      const { completionFor } = await import('../completion/completion.ts')
      run.printText(completionFor(await createFullProgram(), shell))
    },
  }).addArgument(new Argument('<shell>', 'your shell').choices(['bash', 'zsh', 'fish', 'powershell']))

  defineCommand(program, 'commands', {
    summary: 'every command in one list',
    output: 'CommandInfo[]',
    action: async (run) => {
      const { describeCommands: describeTree } = await import('../tree.ts')
      run.printRows(describeTree(await createFullProgram()), ['command', 'summary'])
    },
  })

  defineCommand(program, 'version', {
    summary: 'versions of the CLI and of Node',
    output: 'Version',
    action: async (run) => {
      run.printRecord({ version, node: process.versions.node })
    },
  })
}

const createFullProgram = async () => (await import('../program.ts')).createProgram()

async function openPage(run: Run, path: string, { print }: { print?: boolean }): Promise<undefined> {
  const url = run.settings.baseUrl + path
  const opened = !print && run.style.isTerminal && (await (await import('../browser.ts')).openBrowser(url))
  if (opened) run.reporter.info(`opened ${url}`)
  if (!opened || run.style.format === 'json') run.printRecord({ url })
}
