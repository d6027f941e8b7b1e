/** Environment variables. Only `main.ts` reads them from the process. */
export type Environment = Readonly<Record<string, string | undefined>>

/** The parts of the process that a command uses. */
export interface CliContext {
  env: Environment
  stdin: NodeJS.ReadStream
  stdout: NodeJS.WriteStream
  stderr: NodeJS.WriteStream
  /** Milliseconds since the Unix epoch. */
  now: () => number
}

/** Whether the user can answer a prompt: it is written to standard error and read from standard input. */
export const isInteractive = ({ stdin, stderr }: CliContext): boolean => Boolean(stdin.isTTY && stderr.isTTY)
