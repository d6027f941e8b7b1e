export type Engine = 'sqlite' | 'postgres'

export interface RunOptions {
  /** 1 for the full size, less for a shorter run. */
  scale: number
  engine: Engine
}

/** One guarantee, kept in `guarantees/<name>.ts` as `export const guarantee`. It runs in a separate process. */
export interface LongTest {
  /** The guarantee, as the start of its line in the report. */
  title: string
  /** Runs once per engine, with `TEST_ENGINE` set. Defaults to SQLite only. */
  engines?: Engine[]
  /** Settings of its own PostgreSQL, which is otherwise as installed; without them, one that is fast to set up. */
  postgres?: string[]
  /** The timeout. */
  minutes: number
  /** Returns the figures. @throws the violation, or `Missing`. */
  run: (options: RunOptions) => Promise<string>
}

/** A required tool is missing: the runner logs that the check is skipped. */
export class Missing extends Error {}

/** The full size times the scale, at least 1. */
export const sized = (full: number, { scale }: RunOptions): number => Math.max(1, Math.round(full * scale))

/** Formats an integer with thousands separators. */
export const figure = (n: number): string => n.toLocaleString('en-US')
