import { createInterface } from 'node:readline/promises'
import { type CliContext, isInteractive } from './context.ts'
import { CliError, exitCode } from './errors.ts'

const interruptedError = () => new CliError(exitCode.interrupted, 'Interrupted.', { code: 'interrupted' })

/** Prompts for one line of text. */
export async function promptLine(context: CliContext, question: string): Promise<string> {
  const lines = createInterface({ input: context.stdin, output: context.stderr })
  const stopped = new AbortController()
  lines.once('SIGINT', () => stopped.abort())
  lines.once('close', () => stopped.abort())
  try {
    return await lines.question(question, { signal: stopped.signal })
  } catch (error) {
    if (stopped.signal.aborted) throw interruptedError()
    throw error
  } finally {
    lines.close()
  }
}

/** Prompts for a secret without echoing it. */
export function promptSecret(context: CliContext, question: string): Promise<string> {
  const { stdin, stderr } = context
  return new Promise((resolve, reject) => {
    let typed = ''
    const finish = (end: () => void) => {
      stdin.off('data', read)
      stdin.setRawMode(false)
      stdin.pause()
      stderr.write('\n')
      end()
    }
    const read = (chunk: Buffer) => {
      for (const character of chunk.toString('utf8')) {
        if (character === '\r' || character === '\n') return finish(() => resolve(typed.trim()))
        if (character === '\u0003' || character === '\u0004') return finish(() => reject(interruptedError()))
        typed = character === '\u007f' || character === '\b' ? typed.slice(0, -1) : typed + character
      }
    }
    stderr.write(question)
    stdin.setRawMode(true)
    stdin.on('data', read)
    stdin.resume()
  })
}

/** Reads standard input to its end. */
export async function readStdin({ stdin }: CliContext): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stdin) chunks.push(Buffer.from(chunk as Uint8Array))
  return Buffer.concat(chunks)
}

export const confirmationError = (message: string, hint?: string) =>
  new CliError(exitCode.confirmation, message, { code: 'confirmation_required', hint })

/**
 * Asks a yes/no question, unless `yes` is set.
 *
 * @throws {CliError} confirmation_required if the user declines or there is no terminal
 */
export async function confirm(context: CliContext, question: string, yes: boolean | undefined): Promise<void> {
  if (yes) return
  if (!isInteractive(context))
    throw confirmationError('Confirmation is required, but there is no terminal.', 'Add --yes.')
  const answer = await promptLine(context, `${question} [y/N] `)
  if (!/^y(es)?$/i.test(answer.trim())) throw confirmationError('Declined. Nothing was changed.')
}
