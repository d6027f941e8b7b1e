import { isStorageError, TooMuchWaiting } from '../db/storage-error.ts'
import { ApiError, internalError, storageUnavailable, tooMuchWaiting } from '../errors.ts'
import type { Server } from './server.ts'

/** What the caller is told of what went wrong; what only the operator may know goes to the log. */
export function refusalOf({ deps }: Pick<Server, 'deps'>, thrown: Error, requestId: string): ApiError {
  const error = isStorageError(thrown) ? unavailable(thrown) : thrown
  if (!(error instanceof ApiError)) {
    deps.log.error({ requestId, name: error.name, stack: error.stack }, 'bug')
    return internalError()
  }
  // The driver's code says whether a disk is full or a statement is wrong; its message may hold data and stays out.
  const cause = error.cause as { code?: string; name?: string } | undefined
  if (error.status === 503 && cause)
    deps.log.error({ requestId, code: error.code, cause: cause.code ?? cause.name }, 'unavailable')
  return error
}

const unavailable = (cause: Error) =>
  cause instanceof TooMuchWaiting ? tooMuchWaiting(cause) : storageUnavailable(cause)
