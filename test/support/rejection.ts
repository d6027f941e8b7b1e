import { ApiError, type Call } from '@referral/sdk'
import { expect } from 'vitest'

/** The status and error code of a rejected call; a call that succeeds fails the test. */
export async function rejection(call: Call<unknown>): Promise<[number, string | undefined]> {
  const { error } = await call.safe()
  expect(error, 'the call was not rejected').toBeInstanceOf(ApiError)
  return [(error as ApiError).status, error?.code]
}
