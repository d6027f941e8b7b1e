import type { Reply, RequestOptions, TestServer } from './server.ts'

/** A call whose body never ends, on a server with a short timeout. */
export async function withStalledBody(
  { bodies }: TestServer,
  call: (given: RequestOptions) => Promise<Reply>,
): Promise<Reply> {
  const { stallMs } = bodies.limits
  bodies.limits.stallMs = 20
  try {
    return await call({ raw: new ReadableStream({ start: (body) => body.enqueue(new TextEncoder().encode('{"a"')) }) })
  } finally {
    bodies.limits.stallMs = stallMs
  }
}

/** A call while no memory is left for bodies. */
export async function withoutMemory({ bodies }: TestServer, call: () => Promise<Reply>): Promise<Reply> {
  const { ...limits } = bodies.limits
  bodies.limits.bytes = 0
  try {
    return await call()
  } finally {
    Object.assign(bodies.limits, limits)
  }
}
