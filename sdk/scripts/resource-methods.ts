import { anyReply } from './any-reply.ts'
import { type Operation, operations } from './spec.ts'

type Client = Record<string, Record<string, (first: unknown, second: object) => Promise<unknown>>>
type CreateClient = (options: object) => Client

// Not a static import: the sources are another TypeScript project, which references this one.
const load = async (name: string) => import(new URL(`../src/${name}.ts`, import.meta.url).href)
const { createReferralClient }: { createReferralClient: CreateClient } = await load('index')
const { createAdminClient }: { createAdminClient: CreateClient } = await load('admin')

/** Returns the operation that each method sends, by `resource.method`. Calls every method of a client to find out. */
const operationsOf = async (create: CreateClient): Promise<Map<string, Operation>> => {
  let sent = ''
  const fetch = (request: Request): Response => {
    sent = `${request.method} ${new URL(request.url).pathname}`
    return Response.json(anyReply)
  }
  const client = create({ apiKey: 'any', baseUrl: 'https://api.example', fetch })
  const found = new Map<string, Operation>()
  for (const [resource, methods] of Object.entries(client)) {
    if (typeof methods !== 'object') continue
    for (const [name, method] of Object.entries(methods)) {
      // The first argument is an ID, a query or a body; the second one a notification's options.
      await method('an-id', { shopId: 'an-id', secret: 'any' })
      const operation = operations.find((one) => `${one.method} ${one.path.replaceAll(/\{\w+\}/g, 'an-id')}` === sent)
      if (!operation) throw new Error(`${resource}.${name} sends ${sent}, which openapi.yaml does not have`)
      found.set(`${resource}.${name}`, operation)
    }
  }
  return found
}

export const clientOperations = await operationsOf(createReferralClient)
export const adminOperations = await operationsOf(createAdminClient)
