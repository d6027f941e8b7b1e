import { ApiError, type Call } from '@referral/sdk'
import { expect } from 'vitest'
import type { Reply } from './server.ts'

/** The status and error code of a rejected call; a call that succeeds fails the test. */
export async function rejection(call: Call<unknown>): Promise<[number, string | undefined]> {
  const { error } = await call.safe()
  expect(error, 'the call was not rejected').toBeInstanceOf(ApiError)
  return [(error as ApiError).status, error?.code]
}

/** Parameters, properties and paths like `lineItems[0].quantity`, or a header. */
const FIELD = /^([a-z_][\w.[\]]*|X-[\w-]+)(?: (?:or|and) \w+)? (?:must|is)\b/

/** Status, code, and the field that the message names first, if any. The sentences are asserted in test/contract. */
export const rejectionOf = ({ status, headers, body }: Reply) => ({
  status,
  code: headers.get('X-Error-Code'),
  field: FIELD.exec(body.error)?.[1],
})
