/** The paths of PostgreSQL's binaries for this platform. Rejects when there are none. */
export const findBinaries: () => Promise<{ postgres: string; initdb: string }>
