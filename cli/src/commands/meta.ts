import type { Command } from 'commander'
import { Argument } from 'commander'
import { leaf } from '../command.ts'
import type { Run } from '../run.ts'
import { requireSettings } from '../settings.ts'
import { version } from '../version.ts'

/** What is about the CLI itself. */
export function addMeta(program: Command): void {
  const address = (run: Run, path: string) => requireSettings(run.world.env, run.globals.profile).baseUrl + path
  leaf<{ print?: boolean }>(program, 'open', {
    summary: "open the service's Developer page",
    output: 'Address',
    work: async (run, { options }) => show(run, address(run, '/developer'), options),
  }).option('--print', 'print the address instead')
  leaf<{ print?: boolean }>(program, 'docs', {
    summary: 'open the quick start of the API',
    output: 'Address',
    work: async (run, { options }) => show(run, address(run, '/api/v1/docs'), options),
  }).option('--print', 'print the address instead')

  leaf(program, 'completion', {
    summary: 'a completion script for your shell',
    output: 'Text',
    examples: [
      'source <(referral completion bash)',
      'referral completion fish > ~/.config/fish/completions/referral.fish',
    ],
    work: async (run, { args: [shell = ''] }) => {
      const { completionFor } = await import('../completion/completion.ts')
      run.text(completionFor(await wholeTree(), shell))
    },
  }).addArgument(new Argument('<shell>', 'your shell').choices(['bash', 'zsh', 'fish', 'powershell']))

  leaf(program, 'commands', {
    summary: 'every command in one list',
    output: 'CommandInfo[]',
    work: async (run) => {
      const { describeTree } = await import('../tree.ts')
      run.rows(describeTree(await wholeTree()), ['command', 'summary'])
    },
  })

  leaf(program, 'version', {
    summary: 'versions of the CLI and of Node',
    output: 'Version',
    work: async (run) => {
      run.record({ version, node: process.versions.node })
    },
  })
}

const wholeTree = async () => (await import('../program.ts')).createProgram()

async function show(run: Run, url: string, { print }: { print?: boolean }): Promise<undefined> {
  const opened = !print && run.style.isTerminal && (await (await import('../browser.ts')).openBrowser(url))
  if (opened) run.talk.note(`opened ${url}`)
  if (!opened || run.style.format === 'json') run.record({ url })
}
