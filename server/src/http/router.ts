import type { Result, Router } from 'hono/router'
import { TrieRouter } from 'hono/router/trie-router'

/**
 * A path without parameters that was added before anything for all paths is found with one look, and only its own handler
 * runs. Everything else is found as ever.
 */
export class PlainPathsFirst<T> implements Router<T> {
  readonly name = 'PlainPathsFirst'
  readonly #plain = new Map<string, Result<T>>()
  readonly #rest = new TrieRouter<T>()
  #isFirst = true

  add(method: string, path: string, handler: T): void {
    if (path.includes('*')) this.#isFirst = false
    const key = `${method} ${path}`
    const isPlain = this.#isFirst && method !== 'ALL' && !/[:{]/.test(path)
    if (isPlain && !this.#plain.has(key)) this.#plain.set(key, [[[handler, {}]]])
    this.#rest.add(method, path, handler)
  }

  match(method: string, path: string): Result<T> {
    return this.#plain.get(`${method} ${path}`) ?? this.#rest.match(method, path)
  }
}
