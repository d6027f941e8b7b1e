import { readFileSync } from 'node:fs'
import { type CliContext, isInteractive } from './context.ts'
import { CliError, exitCode, usageError } from './errors.ts'
import { promptSecret, readStdin } from './prompt.ts'

const SECRET = /\br[ko]_[0-9A-Za-z]{20,}/

/** Rejects API keys and owner tokens in arguments: they end up in shell history and process lists. */
export function rejectSecretArguments(argv: readonly string[]): void {
  if (!argv.some((argument) => SECRET.test(argument))) return
  throw new CliError(exitCode.usage, 'Secrets are not accepted on the command line.', {
    code: 'secret_in_arguments',
    hint: 'This one is now in your shell history: revoke it. `referral login` prompts for a key or reads it from standard input.',
  })
}

/** The source of a webhook's signing secret. */
export interface SecretOptions {
  secretFile?: string
  secretStdin?: boolean
}

/** Reads a signing secret from a file, standard input or REFERRAL_WEBHOOK_SECRET. */
export async function readSecret(context: CliContext, options: SecretOptions): Promise<string | undefined> {
  if (options.secretFile && options.secretStdin) throw usageError('Pass --secret-file or --secret-stdin, not both.')
  if (options.secretFile) return readSecretFile(options.secretFile)
  if (options.secretStdin) return requireNonEmpty((await readStdin(context)).toString('utf8'), 'Standard input')
  return context.env.REFERRAL_WEBHOOK_SECRET || undefined
}

/** Like {@link readSecret}, but prompts for a missing secret on a terminal. */
export async function requireSecret(context: CliContext, options: SecretOptions): Promise<string> {
  const secret = await readSecret(context, options)
  if (secret) return secret
  if (isInteractive(context))
    return requireNonEmpty(await promptSecret(context, 'Signing secret (hidden): '), 'The input')
  throw usageError(
    'No signing secret was given.',
    'Set REFERRAL_WEBHOOK_SECRET, or use --secret-file or --secret-stdin.',
  )
}

export function readSecretFile(file: string): string {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (cause) {
    throw usageError(`Cannot read ${file}: ${(cause as NodeJS.ErrnoException).code}.`)
  }
  return requireNonEmpty(text, file)
}

// Editors and echo append a line break, which is not part of the secret.
function requireNonEmpty(text: string, source: string): string {
  const secret = text.replace(/\r?\n$/, '')
  if (!secret.trim()) throw usageError(`${source} contains no secret.`)
  return secret
}
