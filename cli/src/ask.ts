import { createInterface } from 'node:readline/promises'
import { CliError, exitCode } from './exit.ts'
import { type CliContext, isInteractive } from './world.ts'

const interruptedError = () => new CliError(exitCode.interrupted, 'Interrupted.', { code: 'interrupted' })

/** A line that somebody types after the question. */
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

/** A secret that is typed or pasted; nothing of it is shown. */
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
      for (const letter of chunk.toString('utf8')) {
        if (letter === '\r' || letter === '\n') return finish(() => resolve(typed.trim()))
        if (letter === '\u0003' || letter === '\u0004') return finish(() => reject(interruptedError()))
        typed = letter === '\u007f' || letter === '\b' ? typed.slice(0, -1) : typed + letter
      }
    }
    stderr.write(question)
    stdin.setRawMode(true)
    stdin.on('data', read)
    stdin.resume()
  })
}

/** Everything on standard input. */
export async function readStdin({ stdin }: CliContext): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stdin) chunks.push(Buffer.from(chunk as Uint8Array))
  return Buffer.concat(chunks)
}

export const confirmationError = (message: string, hint?: string) =>
  new CliError(exitCode.confirmation, message, { code: 'confirmation_required', hint })

/** Yes by flag or by a typed y. Without a terminal nobody is asked: the flag is needed. */
export async function confirm(context: CliContext, question: string, yes: boolean | undefined): Promise<void> {
  if (yes) return
  if (!isInteractive(context))
    throw confirmationError('This needs a confirmation, and there is no terminal to ask on.', 'Add --yes.')
  const answer = await promptLine(context, `${question} [y/N] `)
  if (!/^y(es)?$/i.test(answer.trim())) throw confirmationError('Declined. Nothing was changed.')
}
