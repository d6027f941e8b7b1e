import { engine } from './database.ts'
import { allTables, type Connection } from './inspect.ts'

/**
 * Returns a function that returns the text of every row, except the last use of keys. It is called after each of
 * thousands of requests, so it reads as little as possible.
 *
 * @param isWatched which rows count, on SQLite
 */
export function watchRows(
  server: Connection,
  isWatched: (row: Record<string, unknown>) => boolean = () => true,
): () => string {
  const { sql } = server
  if (engine === 'postgres') {
    const each = sql.tables().map(
      (name) => `select '${name}' as t, md5(coalesce(string_agg(r, ',' order by r), '')) as h
        from (select (to_jsonb(x) - 'lastUsedAt')::text as r from "${name}" x) y`,
    )
    const all = sql.prepare(`select string_agg(t || h, ',' order by t) from (${each.join(' union all ')}) z`).pluck()
    return () => String(all.get())
  }
  // Every commit of another connection changes this number, so most calls read no table.
  const commits = sql.prepare('pragma data_version').pluck()
  let seen: unknown
  let text = ''
  return () => {
    const version = commits.get()
    if (version !== seen) {
      seen = version
      text = allTables(server)
        .map(([, rows]) =>
          rows
            .filter(isWatched)
            .map(({ lastUsedAt, ...row }) => JSON.stringify(row))
            .sort()
            .join('\n'),
        )
        .join('\n\n')
    }
    return text
  }
}
