import { CliError } from './exit.ts'
import { toFailure } from './failure.ts'

/** What the service refused, as the failure of a command. */
export function apiError(message: string, response: Response): CliError {
  const code = response.headers.get('X-Error-Code') ?? `http_${response.status}`
  const { exitCode: exit } = toFailure(Object.assign(new Error(message), { status: response.status, code }))
  const requestId = response.headers.get('X-Request-Id')
  return new CliError(exit, message, { status: response.status, code, requestId })
}

/** The data of a raw call, or its refusal thrown. */
export function unwrap<T>(result: { data?: T; error?: { error: string }; response: Response }): T {
  if (result.error) throw apiError(result.error.error, result.response)
  return result.data as T
}
