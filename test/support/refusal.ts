import { ApiError, type Call } from '@referral/sdk'
import { expect } from 'vitest'

/** The status and error code of a rejected call; a call that succeeds fails the test. */
export async function refusal(call: Call<unknown>): Promise<[number, string | undefined]> {
  const { error } = await call.safe()
  expect(error, 'the call was not refused').toBeInstanceOf(ApiError)
  return [(error as ApiError).status, error?.code]
}
