import { anyReply } from './any-reply.ts'
import { operations } from './spec.ts'

type Resources = Record<string, Record<string, (first: object, second: object) => Promise<unknown>>>

// Not a static import: the sources are another TypeScript project, which references this one.
const entry = new URL('../src/index.ts', import.meta.url).href
const { createReferralClient } = (await import(entry)) as { createReferralClient: (options: object) => Resources }

/** Returns the operation id that each method sends, by `resource.method`. Calls every method to find out. */
export const operationsByMethod = async (): Promise<Map<string, string>> => {
  let sent = ''
  const fetch = (request: Request): Response => {
    sent = `${request.method} ${new URL(request.url).pathname}`
    return Response.json(anyReply)
  }
  const client = createReferralClient({ apiKey: 'rk', baseUrl: 'https://api.example', fetch })
  const found = new Map<string, string>()
  for (const [resource, methods] of Object.entries(client)) {
    if (typeof methods !== 'object') continue
    for (const [name, method] of Object.entries(methods)) {
      await method({}, {})
      const operation = operations.find((one) => `${one.method} ${one.path}` === sent)
      if (!operation) throw new Error(`client.${resource}.${name} sends ${sent}, which openapi.yaml does not have`)
      found.set(`${resource}.${name}`, operation.id)
    }
  }
  return found
}
