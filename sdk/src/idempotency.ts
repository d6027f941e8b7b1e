const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, item]) => [name, sorted(item)]),
  )
}

/** The key of an order's report: the same for the same content, in whatever order its fields stand. */
export const orderKey = async (body: unknown): Promise<string> => {
  const bytes = new TextEncoder().encode(JSON.stringify(sorted(JSON.parse(JSON.stringify(body)))))
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  return `order-${Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}
