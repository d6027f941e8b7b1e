import type { Transport, TransportOptions } from './transport.ts'

/** A transport that loads its HTTP client with the first delivery: a start need not wait for it. */
export function lazyTransport(options: TransportOptions): Transport {
  let loading: Promise<Transport> | undefined
  let isClosed = false
  const load = async () => (await import('./transport.ts')).createTransport(options)
  return {
    post: async (target, headers, body) => {
      if (isClosed) return undefined
      loading ??= load()
      return (await loading).post(target, headers, body)
    },
    close: async () => {
      isClosed = true
      await (await loading)?.close()
    },
  }
}
