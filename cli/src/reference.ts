import type { Command } from 'commander'
import { type CommandInfo, describeCommands, describeOption } from './command-tree.ts'
import { exitCodeMeanings } from './errors.ts'
import { credentialOrder, environmentVariables } from './topics.ts'

const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('<', '&lt;')

const optionTable = (options: CommandInfo['options']): string =>
  options.length === 0
    ? ''
    : `\n| option | description |\n|---|---|\n${options.map((option) => `| \`${option.flags.replaceAll('|', '\\|')}\` | ${cell(option.description)}${option.choices.length ? `: ${option.choices.join(', ')}` : ''} |\n`).join('')}`

const section = (command: CommandInfo): string => `### referral ${command.usage}

${sentence(command.summary)}${command.owner ? ' Requires an owner token.' : ''}${command.details ? `\n\n${command.details}` : ''}
${optionTable(command.options)}${command.output ? `\nPrints ${outputOf(command.output)}.\n` : ''}${
  command.examples.length ? `\n\`\`\`sh\n${command.examples.join('\n')}\n\`\`\`\n` : ''
}`

const sentence = (text: string) => `${text[0]?.toUpperCase()}${text.slice(1)}.`

const outputOf = (name: string) =>
  name === 'Text' ? 'text' : name.endsWith('[]') ? `a list of \`${name.slice(0, -2)}\`` : `one \`${name}\``

/** Renders REFERENCE.md from the command tree. */
export function reference(program: Command): string {
  const commands = describeCommands(program)
  const exits = Object.entries(exitCodeMeanings).map(([code, meaning]) => `| ${code} | ${meaning} |\n`)
  const variables = Object.entries(environmentVariables).map(([name, meaning]) => `| \`${name}\` | ${meaning} |\n`)
  return `# referral

<!-- Generated from the command tree by scripts/generate.ts. Do not edit. -->

Data goes to standard output, messages go to standard error. Lists are printed as tables on a terminal, and as tab-separated
lines without a header in a pipe. \`--json\` and \`--output\` select another format. The schemas of the JSON output are components of
\`openapi.yaml\` or definitions in \`schemas.json\`.

## Global options
${optionTable(program.options.map(describeOption))}
## Exit codes

| code | meaning |
|---|---|
${exits.join('')}
On failure, standard output is empty. With \`--json\`, standard error contains one object
\`{ status, code, message, hint, requestId }\`. Reports (of an import, \`doctor\`, \`webhooks check\` or an export) are printed even when
they contain failures.

## Credentials

${credentialOrder}
Secrets are read from a hidden prompt, standard input, the environment or a file, never from an argument.

## Environment variables

| variable | meaning |
|---|---|
${variables.join('')}
## Commands

${commands.map(section).join('\n')}`
}
