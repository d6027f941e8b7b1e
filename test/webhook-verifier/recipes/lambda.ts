// AWS Lambda with a function URL or API Gateway.
import { unwrap } from '@referral/webhook-verifier'
import { handle } from './handle.ts'

interface Invocation {
  body?: string
  isBase64Encoded: boolean
  headers: Record<string, string>
}

export const handler = async ({ body = '', isBase64Encoded, headers }: Invocation) => {
  const bytes = Buffer.from(body, isBase64Encoded ? 'base64' : 'utf8')
  await handle(await unwrap({ body: bytes, headers }, { secret: process.env.WEBHOOK_SECRET! }))
  return { statusCode: 200 }
}
