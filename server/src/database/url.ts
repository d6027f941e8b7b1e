/** Whether a `DATABASE_URL` names a PostgreSQL database. */
export const isPostgresUrl = (url: string): boolean => /^postgres(ql)?:\/\//.test(url)
