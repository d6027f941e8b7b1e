// Every length of a list is a statement of its own, and the cache of statements is small.
const LENGTH = 50

/** A list in parts that a query can name one by one. */
export function chunks<T>(list: T[]): T[][] {
  const parts: T[][] = []
  for (let start = 0; start < list.length; start += LENGTH) parts.push(list.slice(start, start + LENGTH))
  return parts
}
