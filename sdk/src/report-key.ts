/** Derives the idempotency key of a report from its content, regardless of field order. */
export const keyOf = async (body: unknown): Promise<string> => {
  const bytes = new TextEncoder().encode(JSON.stringify(body, sortKeys))
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  return `order-${Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}

const sortKeys = (_: string, value: unknown): unknown =>
  value && typeof value === 'object' && !Array.isArray(value) ? Object.fromEntries(Object.entries(value).sort()) : value
