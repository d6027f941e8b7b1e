/** What one promise is tested on. */
export type Engine = 'sqlite' | 'postgres'

export interface Given {
  /** 1 is the stated size; less for a trial. */
  scale: number
  engine: Engine
}

/** One promise, kept in `promises/<name>.ts` as `export const promise`. It runs in a process of its own. */
export interface LongTest {
  /** What is promised, as its line begins. */
  says: string
  /** Runs once for each, with `TEST_ENGINE` set; SQLite alone when not given. */
  engines?: Engine[]
  /** The timeout, after which it has failed. */
  minutes: number
  /** Returns the figures. @throws the violation, or `Missing`. */
  run: (given: Given) => Promise<string>
}

/** A required tool is missing: the runner logs that the check is skipped. */
export class Missing extends Error {}

/** The stated size, or less in a trial; at least one. */
export const sized = (full: number, { scale }: Given): number => Math.max(1, Math.round(full * scale))

/** Whole numbers as people read them. */
export const figure = (n: number): string => n.toLocaleString('en-US')
