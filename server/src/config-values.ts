/** An invalid setting, which prevents startup. The message is shown to the operator. */
export class ConfigError extends Error {}

export type Environment = Record<string, string | undefined>

/** The number of letters to insert, delete or replace (Levenshtein). */
export function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, n) => n)
  for (let i = 1; i <= a.length; i++) {
    const above = row
    row = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = above[j - 1]! + Number(a[i - 1] !== b[j - 1])
      row.push(Math.min(replaced, above[j]! + 1, row[j - 1]! + 1))
    }
  }
  return row[b.length]!
}

export function integer(
  env: Environment,
  name: string,
  range: { usual?: number; minimum?: number; maximum: number },
): number | undefined {
  const text = env[name]
  if (!text) return range.usual
  const value = Number(text)
  const minimum = range.minimum ?? 0
  if (!/^\d+$/.test(text) || value < minimum || value > range.maximum) {
    throw new ConfigError(`${name} must be an integer from ${minimum} to ${range.maximum}, not "${text}".`)
  }
  return value
}

export function flag(env: Environment, name: string, usual: boolean): boolean {
  const text = env[name]
  if (!text) return usual
  if (text !== '0' && text !== '1') throw new ConfigError(`${name} must be 0 or 1, not "${text}".`)
  return text === '1'
}

export function oneOf(env: Environment, name: string, values: string[], usual: string): string {
  const text = env[name] || usual
  if (!values.includes(text)) throw new ConfigError(`${name} must be one of ${values.join(', ')}, not "${text}".`)
  return text
}

/** Comma-separated `key=value` pairs, percent-encoded. The message omits the values, which may be secret. */
export function keysAndValues(env: Environment, name: string): Record<string, string> {
  const entries = (env[name] ?? '').split(',').filter((entry) => entry.trim())
  return Object.fromEntries(
    entries.map((entry) => {
      const [key = '', value] = entry.split(/=(.*)/s).map((text) => text.trim())
      try {
        if (key && value !== undefined) return [key, decodeURIComponent(value)]
      } catch {
        // Rejected below, as an entry without a value is.
      }
      throw new ConfigError(`${name} must list key=value, comma-separated and percent-encoded.`)
    }),
  )
}

export function hostsAndPorts(env: Environment, name: string): string[] {
  const entries = (env[name] ?? '').split(',').map((entry) => entry.trim().toLowerCase())
  return entries.filter(Boolean).map((entry) => {
    const [, port] = /^(?:\[[\da-f:.]+\]|[^\s:/@[\]]+):(\d{1,5})$/.exec(entry) ?? []
    if (Number(port) >= 1 && Number(port) <= 65_535) return entry
    throw new ConfigError(`${name} must list host:port, comma-separated, not "${entry}".`)
  })
}

export function origins(env: Environment, name: string): string[] {
  const entries = (env[name] ?? '').split(',').map((entry) => entry.trim())
  return entries.filter(Boolean).map((entry) => {
    if (/^https?:/.test(entry) && URL.canParse(entry) && new URL(entry).origin === entry) return entry
    throw new ConfigError(
      `${name} must list origins like https://dashboard.example.com, comma-separated, not "${entry}".`,
    )
  })
}
