/** The variables of the process. Only `main.ts` reads them from it. */
export type Environment = Readonly<Record<string, string | undefined>>
